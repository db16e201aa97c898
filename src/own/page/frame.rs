//! The frame of every page: head, navigation and foot; and the pages that show no data.

use axum::http::StatusCode;

use super::session::Session;
use crate::time_text::day_and_time;
use crate::vault::Profile;
use crate::vault::html::Html;
use crate::vault::oauth::consent::{document, page_reply};
use crate::vault::wire::Reply;

/// What every page is built from.
pub(super) struct Frame<'a> {
    pub(super) profile: &'a Profile,
    pub(super) session: &'a Session,
    pub(super) asks_passphrase: bool,
}

/// The pages that the navigation links to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Sources,
    Grants,
    Reads,
    Search,
}

impl Part {
    const ALL: [Self; 4] = [Self::Sources, Self::Grants, Self::Reads, Self::Search];

    const fn name(self) -> &'static str {
        match self {
            Self::Sources => "Sources",
            Self::Grants => "Grants",
            Self::Reads => "Reads",
            Self::Search => "Search",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Sources => "",
            Self::Grants => "/grants",
            Self::Reads => "/reads",
            Self::Search => "/search",
        }
    }
}

impl Frame<'_> {
    /// Begins a form that posts to `rest`.
    pub(super) fn begin_form(&self, main: &mut Html, rest: &str) {
        main.markup("<form method=\"post\"").attribute("action", &self.session.path(rest));
        main.markup(">\n<input type=\"hidden\" name=\"csrf\"");
        main.attribute("value", &self.session.csrf).markup(">\n");
    }

    /// A link to `rest`.
    pub(super) fn link(&self, main: &mut Html, rest: &str, text: &str) {
        main.markup("<a").attribute("href", &self.session.path(rest)).markup(">").text(text).markup("</a>");
    }

    /// A link whose text occurs several times on a page: `about` tells the links apart for anyone who
    /// cannot see the layout.
    pub(super) fn link_about(&self, main: &mut Html, rest: &str, text: &str, about: &str) {
        main.markup("<a").attribute("href", &self.session.path(rest)).markup(">").text(text);
        main.markup("<span class=\"hidden\">: ").text(about).markup("</span></a>");
    }

    /// The passphrase field. If a page asks for nothing else (`is_all`), the field has the focus, so that
    /// the owner can type at once.
    pub(super) fn passphrase_field(main: &mut Html, is_all: bool) {
        main.markup(
            "<p class=\"passphrase\"><label for=\"passphrase\">Your passphrase</label>\n<input id=\"passphrase\" \
             type=\"password\" name=\"passphrase\" autocomplete=\"current-password\" required",
        )
        .markup(if is_all { " autofocus></p>\n" } else { "></p>\n" });
    }
}

/// A page of a visit.
pub(super) fn page(
    frame: &Frame<'_>,
    status: StatusCode,
    title: &str,
    part: Option<Part>,
    main: &Html,
) -> Reply {
    page_that_reloads(frame, status, title, part, main, false)
}

/// A page of a visit; with `reloads`, it reloads every few seconds while work is in progress.
pub(super) fn page_that_reloads(
    frame: &Frame<'_>,
    status: StatusCode,
    title: &str,
    part: Option<Part>,
    main: &Html,
    reloads: bool,
) -> Reply {
    let mut nav = Html::new();
    nav.markup("<nav aria-label=\"Pages\">\n<ul>\n");
    for one in Part::ALL {
        nav.markup("<li><a").attribute("href", &frame.session.path(one.path()));
        nav.markup(if Some(one) == part { " aria-current=\"page\">" } else { ">" });
        nav.text(one.name()).markup("</a></li>\n");
    }
    nav.markup("</ul>\n</nav>\n");
    let mut foot = Html::new();
    foot.markup("<footer>\n<p>");
    let ends = jiff::Timestamp::from_millisecond(frame.session.ends_ms).map(day_and_time);
    if frame.asks_passphrase {
        foot.markup("This page closes at ").text(&ends.unwrap_or_default());
        foot.markup(", ten minutes after you typed your passphrase. After that you need a new link.");
    } else {
        foot.markup("This page closes after ten minutes without use.");
    }
    foot.markup("</p>\n");
    frame.begin_form(&mut foot, "/close");
    foot.markup("<button type=\"submit\" class=\"deny\">Close this page now</button>\n</form>\n</footer>\n");
    let mut head = Html::new();
    if reloads {
        head.markup("<meta http-equiv=\"refresh\" content=\"3\">\n");
    }
    head.markup("<link rel=\"stylesheet\"").attribute("href", &frame.session.path("/page.css")).markup(">\n");
    page_reply(status, shell(frame.profile, title, &head, &nav, main, &foot))
}

fn shell(profile: &Profile, title: &str, head: &Html, nav: &Html, main: &Html, foot: &Html) -> Html {
    let mut page = document(profile, title);
    page.html(head).markup("</head>\n<body>\n");
    if *nav != Html::new() {
        page.markup("<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
    }
    page.markup("<header><p>");
    page.text(profile.title).markup("</p><p>").text(profile.owner).markup("</p></header>\n");
    page.html(nav).markup("<main id=\"main\" tabindex=\"-1\">\n").html(main).markup("</main>\n");
    page.html(foot).markup("</body>\n</html>\n");
    page
}

/// A page for a browser that has no visit.
fn bare(profile: &Profile, status: StatusCode, title: &str, head: &Html, main: &Html) -> Reply {
    page_reply(status, shell(profile, title, head, &Html::new(), main, &Html::new()))
}

/// The page for a browser that has no visit, whatever it asks for.
pub(super) fn stranger(profile: &Profile) -> Reply {
    let title = "This page is private";
    let mut main = Html::new();
    main.markup(
        "<h1>This page is private</h1>\n<p>It opens with a link that works once, within ten minutes. On \
         this computer, <code>pdpp provider open</code> opens it in a browser.</p>\n<p>If you had it \
         open, it has closed.</p>\n",
    );
    bare(profile, StatusCode::OK, title, &Html::new(), &main)
}

/// The page behind a link that was used, never existed or has expired.
pub(super) fn spent_link(profile: &Profile) -> Reply {
    let mut main = Html::new();
    main.markup(
        "<h1>This link no longer works</h1>\n<p>A link works once, within ten minutes. If you opened it \
         before, continue in the tab or window that it opened first.</p>\n<p>To get a new one: \
         <code>pdpp provider open</code>. If you did not open it, and its ten minutes are not over, \
         someone else opened it.</p>\n",
    );
    bare(profile, StatusCode::NOT_FOUND, "This link no longer works", &Html::new(), &main)
}

/// The page that a link opens.
pub(super) fn leads_on(profile: &Profile, to: &str) -> Reply {
    let mut head = Html::new();
    head.markup("<meta http-equiv=\"refresh\"").attribute("content", &format!("0; url={to}")).markup(">\n");
    let mut main = Html::new();
    main.markup("<h1>Your own data</h1>\n<p><a").attribute("href", to).markup(">Continue</a></p>\n");
    bare(profile, StatusCode::OK, "Continue", &head, &main)
}

/// The page after a visit was closed.
pub(super) fn closed(profile: &Profile) -> Reply {
    let mut main = Html::new();
    main.markup(
        "<h1>This page is closed</h1>\n<p>To open it again you need a new link: <code>pdpp provider \
         open</code>.</p>\n",
    );
    bare(profile, StatusCode::OK, "This page is closed", &Html::new(), &main)
}

/// The page that asks for the passphrase before it shows anything.
pub(super) fn asks(frame: &Frame<'_>, status: StatusCode, problem: Option<&str>) -> Reply {
    let mut main = Html::new();
    main.markup("<h1>Enter your passphrase</h1>\n");
    if let Some(problem) = problem {
        main.markup("<p class=\"problem\" role=\"alert\">").text(problem).markup("</p>\n");
    }
    main.markup("<p>Your data opens once you enter it. The page then stays open for ten minutes.</p>\n");
    frame.begin_form(&mut main, "/passphrase");
    Frame::passphrase_field(&mut main, true);
    main.markup(
        "<p class=\"buttons\"><button type=\"submit\" class=\"approve\">Open</button></p>\n</form>\n",
    );
    let title =
        if problem.is_some() { "Not opened yet: enter your passphrase" } else { "Enter your passphrase" };
    let mut head = Html::new();
    head.markup("<link rel=\"stylesheet\"").attribute("href", &frame.session.path("/page.css")).markup(">\n");
    bare(frame.profile, status, title, &head, &main)
}

/// The stylesheet of these pages, which adds to that of the consent pages.
pub(super) fn stylesheet() -> Reply {
    Reply { status: StatusCode::OK, headers: Vec::new(), body: include_bytes!("page.css").to_vec() }
        .with("content-type", "text/css; charset=utf-8")
        .with("x-content-type-options", "nosniff")
        .no_store()
}

/// Shows the result of the last action at the top of a page.
pub(super) fn notice(main: &mut Html, notice: Option<String>) {
    if let Some(notice) = notice {
        main.markup("<div class=\"done\" role=\"status\">\n");
        for line in notice.lines() {
            main.markup("<p>").text(line).markup("</p>\n");
        }
        main.markup("</div>\n");
    }
}

/// A name from a declaration, in words.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::PROFILE;

    fn session() -> Session {
        Session { page: "0a".to_owned(), csrf: "0b".to_owned(), ends_ms: 1_796_000_000_000, is_let_in: true }
    }

    fn shown(reply: Reply) -> String {
        String::from_utf8(reply.body).unwrap()
    }

    #[test]
    fn o7_15_a_page_has_its_parts_and_says_when_it_ends() {
        let session = session();
        let frame = Frame { profile: &PROFILE, session: &session, asks_passphrase: true };
        let mut main = Html::new();
        main.markup("<h1>What was read</h1>\n");
        notice(&mut main, Some("One <b>.\nTwo\u{202e}.".to_owned()));
        let reply = page(&frame, StatusCode::OK, "What was read", Some(Part::Reads), &main);
        insta::assert_snapshot!("page", shown(reply));
        let frame = Frame { asks_passphrase: false, ..frame };
        let text = shown(page(&frame, StatusCode::OK, "x", None, &main));
        assert!(
            text.contains("closes after ten minutes without use") && !text.contains("aria-current"),
            "{text}"
        );
    }

    #[test]
    fn o7_15_what_strangers_see_has_no_way_in() {
        let session = session();
        let frame = Frame { profile: &PROFILE, session: &session, asks_passphrase: true };
        insta::assert_snapshot!(
            "asks",
            shown(asks(&frame, StatusCode::FORBIDDEN, Some("That is not the passphrase.")))
        );
        for reply in [stranger(&PROFILE), spent_link(&PROFILE), closed(&PROFILE)] {
            let text = shown(reply);
            assert!(
                !text.contains("<form") && !text.contains("0a") && text.contains("pdpp provider open"),
                "{text}"
            );
        }
    }
}
