//! The pages that the owner sees, as HTML without a script, and the headers that each has.

use axum::http::StatusCode;
use indicatif::HumanCount;

use super::ends::{ASKED, ENDS, USUAL};
use crate::vault::Profile;
use crate::vault::html::Html;
use crate::vault::oauth::authorization_details::{AI_TRAINING, AuthorizationDetails, Choice};
use crate::vault::oauth::flows::{Decision, Pending, URI_PREFIX, Way};
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::Reply;

/// A page with the form of a request. What it is sent to may answer with the way back to the app, and a
/// browser counts that as where the form goes.
pub(super) fn form_reply(status: StatusCode, page: Html, pending: &Pending) -> Reply {
    let back = match &pending.way {
        Way::Redirect(redirect) => back_to(&redirect.uri),
        _ => None,
    };
    page_with(status, page, back.as_deref())
}

/// Where a browser goes back to, as a policy names it: an origin, or an app's own scheme.
fn back_to(uri: &str) -> Option<String> {
    let url = url::Url::parse(uri).ok()?;
    let origin = url.origin();
    Some(if origin.is_tuple() { origin.ascii_serialization() } else { format!("{}:", url.scheme()) })
}

/// A page, with the headers of every page.
pub(super) fn page_reply(status: StatusCode, page: Html) -> Reply {
    page_with(status, page, None)
}

fn page_with(status: StatusCode, page: Html, form_action: Option<&str>) -> Reply {
    let mut form_actions = "'self'".to_owned();
    if let Some(more) = form_action {
        form_actions.push(' ');
        form_actions.push_str(more);
    }
    Reply { status, headers: Vec::new(), body: page.into_bytes() }
        .with("content-type", "text/html; charset=utf-8")
        .with(
            "content-security-policy",
            format!(
                "default-src 'none'; style-src 'self'; form-action {form_actions}; frame-ancestors 'none'; base-uri 'none'"
            ),
        )
        .with("x-frame-options", "DENY")
        .with("x-content-type-options", "nosniff")
        // Not no-referrer: that makes a browser send `Origin: null` with the form.
        .with("referrer-policy", "same-origin")
        .no_store()
}

/// `GET /consent.css`
pub fn stylesheet() -> Reply {
    Reply { status: StatusCode::OK, headers: Vec::new(), body: include_bytes!("page.css").to_vec() }
        .with("content-type", "text/css; charset=utf-8")
        .with("x-content-type-options", "nosniff")
        .with("cache-control", "no-cache")
}

fn shell(profile: &Profile, title: &str, main: &Html) -> Html {
    let mut page = Html::new();
    page.markup(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
    );
    page.text(title).markup(" – ").text(profile.title);
    page.markup("</title>\n<link rel=\"stylesheet\" href=\"/consent.css\">\n</head>\n<body>\n<header><p>")
        .text(profile.title)
        .markup("</p><p>")
        .text(profile.owner)
        .markup("</p></header>\n<main>\n");
    page.html(main).markup("</main>\n</body>\n</html>\n");
    page
}

fn message(profile: &Profile, title: &str, text: &str) -> Html {
    let mut main = Html::new();
    main.markup("<h1>").text(title).markup("</h1>\n<p>").text(text).markup("</p>\n");
    shell(profile, title, &main)
}

pub(super) struct Form<'a> {
    pub(super) profile: &'a Profile,
    pub(super) pending: &'a Pending,
    pub(super) id: &'a str,
    pub(super) csrf: String,
    pub(super) catalog: &'a Catalog,
    pub(super) counts: &'a serde_json::Map<String, serde_json::Value>,
    pub(super) turned_back: Option<&'a TurnedBack<'a>>,
}

/// A form that could not be accepted: it comes back as the owner left it, so that nothing is ticked again
/// that they had unticked.
pub(super) struct TurnedBack<'a> {
    pub(super) problem: &'a str,
    pub(super) posted: &'a [(String, String)],
}

impl Form<'_> {
    /// Whether a box is ticked: as the owner left it, or else `at_first`.
    fn is_ticked(&self, name: &str, value: &str, at_first: bool) -> bool {
        self.turned_back.map_or(at_first, |back| {
            back.posted.iter().any(|(known, posted)| known == name && posted == value)
        })
    }

    /// What a control holds: what the owner left there, or else `at_first`.
    fn value<'a>(&'a self, name: &str, at_first: &'a str) -> &'a str {
        let posted = self.turned_back.and_then(|back| back.posted.iter().find(|(known, _)| known == name));
        posted.map_or(at_first, |(_, value)| value)
    }
}

pub(super) fn form(form: &Form<'_>) -> Html {
    let (pending, asked) = (form.pending, &form.pending.asked);
    let name = pending.client.name.as_str();
    let mut main = Html::new();
    who_asks(&mut main, form);
    purpose(&mut main, name, asked);
    main.markup("<form method=\"post\" action=\"/consent/approve\">\n");
    hidden(&mut main, form);
    limits(&mut main, form);
    main.markup(
        "<section aria-labelledby=\"what\">\n<h2 id=\"what\">What it could read</h2>\n<p>It asks for ",
    );
    main.text(&counted(asked.choices.len(), "stream", "streams"))
        .markup(" from ")
        .text(&counted(by_connection(asked).len(), "account", "accounts"))
        .markup(". Untick what it should not see.");
    if asked.choices.iter().any(|choice| !choice.preselected) {
        main.markup(" The app did not say which account it means: tick the one you want to share.");
    }
    main.markup("</p>\n");
    for (connection, choices) in by_connection(asked) {
        source(&mut main, form, connection, &choices);
    }
    main.markup("</section>\n");
    if asked.purpose_code == AI_TRAINING {
        main.markup(
            "<p class=\"training\"><label><input type=\"checkbox\" name=\"ai_training\" value=\"yes\"",
        )
        .markup(tick(form.is_ticked("ai_training", "yes", false)))
        .markup("> I agree that this data is used to train AI models</label></p>\n");
    }
    main.markup(
        "<div class=\"actions\">\n<button type=\"submit\" class=\"approve\">Approve</button>\n\
         <button type=\"submit\" class=\"deny\" formaction=\"/consent/deny\" formnovalidate>Deny</button>\n",
    );
    if pending.offer.is_some() {
        main.markup(
            "<button type=\"submit\" class=\"deny\" name=\"again\" value=\"yes\" formaction=\"/consent/sources\" formnovalidate>\
             Other accounts</button>\n",
        );
    }
    main.markup("</div>\n</form>\n");
    let not_yet = if form.turned_back.is_some() { "Not approved yet: " } else { "" };
    shell(form.profile, &format!("{not_yet}{name} asks to read your data"), &main)
}

/// Who asks, as far as that is known, and where the answer goes.
fn who_asks(main: &mut Html, form: &Form<'_>) {
    let client = &form.pending.client;
    main.markup("<h1><q>").text(&client.name).markup("</q> asks to read your data</h1>\n");
    if let Some(back) = form.turned_back {
        main.markup("<p class=\"problem\" role=\"alert\"><strong>Not approved yet.</strong> ")
            .text(back.problem)
            .markup(".</p>\n");
    }
    match &client.domain {
        // Control of a domain, and no more than that (draft §6).
        Some(domain) => main
            .markup("<p class=\"unverified\"><strong>Verified domain: <span>")
            .text(domain)
            .markup("</span>.</strong> Whoever runs that site published this app’s name; nobody checked more. Its id here: <code>"),
        None => main.markup(
            "<p class=\"unverified\"><strong>Unverified app.</strong> It gave itself this name; nobody checked who it is. Its id here: <code>",
        ),
    };
    main.text(&client.id).markup("</code></p>\n");
    match &form.pending.way {
        Way::AgentConnect => {}
        Way::Device { user_code } => {
            main.markup("<p class=\"code\">The device that asks has to show this code: <strong>")
                .text(user_code)
                .markup("</strong>. If it shows another one, or you have started nothing, deny.</p>\n");
        }
        Way::Redirect(redirect) => {
            let place = url::Url::parse(&redirect.uri).ok().and_then(|url| match url.scheme() {
                "http" => Some("the app on this computer".to_owned()),
                _ => url.host_str().map(str::to_owned),
            });
            main.markup("<p class=\"said\">When you have decided, your browser goes back to ")
                .text(place.as_deref().unwrap_or("the app"))
                .markup(".</p>\n");
        }
    }
}

/// What every form of a request holds.
fn hidden(main: &mut Html, form: &Form<'_>) {
    main.markup("<input type=\"hidden\" name=\"request_uri\"")
        .attribute("value", &format!("{URI_PREFIX}{}", form.id))
        .markup(">\n<input type=\"hidden\" name=\"csrf\"")
        .attribute("value", &form.csrf)
        .markup(">\n");
}

/// The page on which the owner picks sources, before it is said what could be read of them.
pub(super) fn picker(form: &Form<'_>) -> Html {
    let mut main = Html::new();
    who_asks(&mut main, form);
    main.markup("<form method=\"post\" action=\"/consent/sources\">\n");
    hidden(&mut main, form);
    main.markup(
        "<section aria-labelledby=\"sources\">\n<h2 id=\"sources\">Which accounts may it read?</h2>\n\
         <p>Nothing is ticked beforehand. On the next page you see what it could read of them, and can narrow that. \
         Accounts of different kinds become a package: a grant for each kind.</p>\n<ul class=\"picker\">\n",
    );
    let none = Vec::new();
    let offered = form.pending.offer.as_ref().map_or(&none, |offer| &offer.choices);
    for connection in &form.catalog.connections {
        let streams = offered.iter().filter(|choice| choice.connection == connection.id).count();
        if streams == 0 {
            continue;
        }
        let records: u64 = offered
            .iter()
            .filter(|choice| choice.connection == connection.id)
            .filter_map(|choice| {
                form.counts.get(&format!("{}/{}", choice.connection, choice.stream))?.as_u64()
            })
            .sum();
        main.markup("<li><label class=\"whole\"><input type=\"checkbox\" name=\"source\"")
            .attribute("value", &connection.id)
            .markup(tick(form.is_ticked("source", &connection.id, false)))
            .markup("> ")
            .text(&connection.display_name);
        if let Some(connector) = form.catalog.connector(&connection.connector) {
            main.markup(" <span class=\"kind\">").text(&connector.name).markup("</span>");
        }
        main.markup("</label> <span class=\"count\">")
            .text(&counted(streams, "stream", "streams"))
            .markup(", ")
            .text(&HumanCount(records).to_string())
            .markup(" records</span></li>\n");
    }
    main.markup(
        "</ul>\n</section>\n<div class=\"actions\">\n<button type=\"submit\" class=\"approve\">Continue</button>\n\
         <button type=\"submit\" class=\"deny\" formaction=\"/consent/deny\" formnovalidate>Deny</button>\n</div>\n</form>\n",
    );
    let not_yet = if form.turned_back.is_some() { "Not approved yet: " } else { "" };
    shell(form.profile, &format!("{not_yet}{} asks to read your data", form.pending.client.name), &main)
}

/// The form for the code of a device; `problem` says why the one before did not do.
pub(super) fn device_code(profile: &Profile, csrf: &str, code: &str, problem: Option<&str>) -> Html {
    let mut main = Html::new();
    main.markup("<h1>Connect a device</h1>\n");
    if let Some(problem) = problem {
        main.markup("<p class=\"problem\" role=\"alert\"><strong>That did not work.</strong> ")
            .text(problem)
            .markup(".</p>\n");
    }
    main.markup(if code.is_empty() || problem.is_some() {
        "<p>A program without a browser of its own shows you a code. Type it here; on the next page you see who asks \
         for what, and decide.</p>\n"
    } else {
        "<p>Compare this code with the one on your device. Go on only if they are the same, and if you started this \
         yourself: whoever sent you this address could be asking for themselves.</p>\n"
    });
    main.markup("<form method=\"post\" action=\"/consent/device\">\n<input type=\"hidden\" name=\"csrf\"")
        .attribute("value", csrf)
        .markup(
            ">\n<p class=\"usercode\"><label for=\"user_code\">Code on your device</label>\n\
             <input type=\"text\" id=\"user_code\" name=\"user_code\" required maxlength=\"40\" autocomplete=\"off\" \
             autocapitalize=\"characters\" spellcheck=\"false\"",
        )
        .attribute("value", code)
        .markup(
            "></p>\n<div class=\"actions\">\n<button type=\"submit\" class=\"approve\">Continue</button>\n</div>\n</form>\n",
        );
    let not_yet = if problem.is_some() { "Not found: " } else { "" };
    shell(profile, &format!("{not_yet}Connect a device"), &main)
}

const fn tick(is_ticked: bool) -> &'static str {
    if is_ticked { " checked" } else { "" }
}

fn counted(count: usize, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

fn purpose(main: &mut Html, name: &str, asked: &AuthorizationDetails) {
    main.markup("<section aria-labelledby=\"why\">\n<h2 id=\"why\">What for</h2>\n");
    match &asked.purpose_description {
        Some(description) => main
            .markup("<blockquote><p>")
            .text(description)
            .markup("</p></blockquote>\n<p class=\"said\">That is what the app says. Declared purpose: <em>"),
        None => main.markup("<p>The app did not say.</p>\n<p class=\"said\">Declared purpose: <em>"),
    };
    let label = match asked.purpose_code.rsplit('/').next() {
        Some(last) if asked.purpose_code.starts_with("https://pdpp.dev/purpose/") => last.replace('_', " "),
        _ => asked.purpose_code.clone(),
    };
    main.text(&label).markup("</em>. It asks for ").markup(if asked.single_use {
        "one-time access.</p>\n"
    } else {
        "ongoing access until the end you pick below.</p>\n"
    });
    if !asked.commitments.is_empty() {
        main.markup("<p class=\"said\"><q>")
            .text(name)
            .markup("</q> also says, and nobody can enforce it:</p>\n<ul class=\"claims\">\n");
        for commitment in &asked.commitments {
            main.markup("<li>").text(commitment).markup("</li>\n");
        }
        main.markup("</ul>\n");
    }
    main.markup("</section>\n");
}

type Numbered<'a> = Vec<(usize, &'a Choice)>;

fn by_connection(asked: &AuthorizationDetails) -> Vec<(&str, Numbered<'_>)> {
    let mut groups: Vec<(&str, Numbered<'_>)> = Vec::new();
    for (number, choice) in asked.choices.iter().enumerate() {
        match groups.iter_mut().find(|(connection, _)| *connection == choice.connection) {
            Some((_, group)) => group.push((number, choice)),
            None => groups.push((&choice.connection, vec![(number, choice)])),
        }
    }
    groups
}

fn source(main: &mut Html, form: &Form<'_>, connection: &str, choices: &Numbered<'_>) {
    let display = form.catalog.connection(connection).map_or(connection, |known| known.display_name.as_str());
    let connector = choices.first().and_then(|(_, choice)| form.catalog.connector(&choice.connector));
    let checked = choices.iter().any(|(_, choice)| choice.preselected);
    main.markup("<fieldset class=\"source\">\n<legend>").text(display);
    if let Some(connector) = connector {
        main.markup(" <span class=\"kind\">").text(&connector.name).markup("</span>");
    }
    main.markup("</legend>\n<label class=\"whole\"><input type=\"checkbox\" name=\"connection\"")
        .attribute("value", connection)
        .markup(tick(form.is_ticked("connection", connection, checked)))
        .markup("> Share from this account</label>\n<ul class=\"streams\">\n");
    for (number, choice) in choices {
        let Some(stream) = connector.and_then(|connector| connector.stream(&choice.stream)) else { continue };
        let count = form.counts.get(&format!("{connection}/{}", choice.stream));
        let count = count.and_then(serde_json::Value::as_u64).unwrap_or(0);
        let value = number.to_string();
        main.markup("<li>\n<label><input type=\"checkbox\" name=\"stream\"")
            .markup(tick(form.is_ticked("stream", &value, true)))
            .attribute("value", &value)
            .markup("> ")
            .text(&choice.stream.replace('_', " "))
            .markup("</label> <span class=\"count\">")
            .text(&HumanCount(count).to_string())
            .markup(if count == 1 { " record" } else { " records" });
        if let Some(keys) = &choice.resources {
            main.markup(", of which ").text(&keys.len().to_string()).markup(" asked for");
        }
        main.markup(if stream.consent_time_field.is_none() { ", not dated" } else { "" });
        period(main, choice);
        main.markup("</span>\n");
        main.markup("<details><summary>")
            .text(&choice.fields.len().to_string())
            .markup(if choice.fields.len() == 1 { " field" } else { " fields" })
            .markup("<span class=\"hidden\"> of ")
            .text(&choice.stream.replace('_', " "))
            .markup(", ")
            .text(display)
            .markup("</span></summary>\n<ul class=\"fields\"")
            .attribute("aria-label", &format!("Fields of {}", choice.stream.replace('_', " ")))
            .markup(">\n");
        for name in &choice.fields {
            let required = stream.field(name).is_some_and(|field| field.required);
            let value = format!("{number}.{name}");
            main.markup("<li><label><input type=\"checkbox\"")
                .markup(if required { " disabled" } else { " name=\"field\"" })
                .attribute("value", &value)
                .markup(tick(required || form.is_ticked("field", &value, true)))
                .markup("> ")
                .text(name)
                .markup(if required { " <span class=\"kind\">always part of it</span>" } else { "" })
                .markup("</label></li>\n");
        }
        main.markup("</ul></details>\n</li>\n");
    }
    main.markup("</ul>\n</fieldset>\n");
}

fn period(main: &mut Html, choice: &Choice) {
    if let Some(since) = choice.since {
        main.markup(", only those from ").text(&time::format_ms(since)[..10]).markup(" on");
    }
    if let Some(until) = choice.until {
        main.markup(", only those before ").text(&time::format_ms(until)[..10]);
    }
}

fn limits(main: &mut Html, form: &Form<'_>) {
    main.markup(
        "<section aria-labelledby=\"far\">\n<h2 id=\"far\">How far</h2>\n<div class=\"limits\">\n\
         <p><label for=\"since\">Only records from this day on</label>\
         <input type=\"date\" id=\"since\" name=\"since\" aria-describedby=\"since-hint\"",
    )
    .attribute("value", form.value("since", ""))
    .markup(
        "><span class=\"hint\" id=\"since-hint\">Leave it empty for all. Streams marked “not dated” are not narrowed by it: \
         untick them if they should stay private.</span></p>\n\
         <p><label for=\"expires\">The access ends after</label>\
         <select id=\"expires\" name=\"expires\" aria-describedby=\"expires-hint\">",
    );
    let asked = form.pending.asked.expires_ms;
    let at_first = match (asked, form.pending.asked.single_use) {
        (Some(_), _) => ASKED,
        (None, true) => "1d",
        (None, false) => USUAL,
    };
    let usual = form.value("expires", at_first);
    if let Some(asked) = asked {
        let until = time::format_ms(asked);
        main.markup("<option")
            .attribute("value", ASKED)
            .markup(if usual == ASKED { " selected>" } else { ">" })
            .text(&format!("as the app asks: {} {} UTC", &until[..10], &until[11..16]))
            .markup("</option>");
    }
    for (value, label, _) in ENDS {
        main.markup("<option")
            .attribute("value", value)
            .markup(if value == usual { " selected>" } else { ">" })
            .text(label)
            .markup("</option>");
    }
    main.markup(
        "</select><span class=\"hint\" id=\"expires-hint\">The app can end it sooner. What was read by then stays with the app.\
         </span></p>\n</div>\n</section>\n",
    );
}

/// What a form of another site is answered with.
pub fn foreign_page(profile: &Profile) -> Reply {
    let page = message(
        profile,
        "This form is not from here",
        "The decision did not come from the page of this request, so nothing was decided. Open the address that \
         the app showed you again, and decide there.",
    );
    page_reply(StatusCode::FORBIDDEN, page)
}

/// What a browser is shown whose app asked for something that cannot be shown to its owner.
pub fn refused_page(profile: &Profile, why: &str) -> Reply {
    let mut main = Html::new();
    main.markup("<h1>This app cannot ask</h1>\n<p>The app that sent you here made a mistake: ")
        .text(why)
        .markup(
            ". Nothing was decided, and nothing was sent to it. Go back to the app and start again.</p>\n",
        );
    page_reply(StatusCode::BAD_REQUEST, shell(profile, "This app cannot ask", &main))
}

/// What a form is told whose request was decided from another page, or from the one before.
pub(super) fn already(profile: &Profile, pending: &Pending) -> Option<Reply> {
    let (title, text) = match &pending.decision {
        Decision::Approved(_) => (
            "Already approved",
            "This request was approved before; what you pressed just now changed nothing. The access ends by itself at the \
             time that was chosen.",
        ),
        Decision::Denied => (
            "Already denied",
            "This request was denied before; what you pressed just now changed nothing. The app can read nothing. To \
             approve after all, start again from the app.",
        ),
        Decision::Open => return None,
    };
    Some(page_reply(StatusCode::CONFLICT, message(profile, title, text)))
}

/// How a request ended, if it did.
pub(super) fn ended(profile: &Profile, pending: &Pending) -> Option<Reply> {
    let (title, text) = match &pending.decision {
        Decision::Approved(_) => (
            "Access approved",
            "The app has been told. You can close this page and go back to it. The access ends by itself at the time that \
             you chose.",
        ),
        Decision::Denied => {
            ("Access denied", "The app has been told, and can read nothing. You can close this page.")
        }
        Decision::Open if pending.is_expired() => (
            "This request has expired",
            "Nothing was decided in time, so nothing was granted. Start again from the app.",
        ),
        Decision::Open => return None,
    };
    Some(page_reply(StatusCode::OK, message(profile, title, text)))
}

pub(super) fn unknown(profile: &Profile) -> Reply {
    let page = message(
        profile,
        "There is no such request",
        "It may be old, or the address may be incomplete. Start again from the app that asked.",
    );
    page_reply(StatusCode::NOT_FOUND, page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(
            ["0", "999", "1,000", "25,304"],
            [0, 999, 1000, 25304].map(|count| HumanCount(count).to_string())
        );
    }
}
