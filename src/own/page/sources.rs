//! What the store has and how old it is, the requests that wait for a decision, and the form for an
//! import.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use indicatif::{DecimalBytes, HumanCount};
use jiff::Timestamp;

use super::frame::{Frame, Part, notice, page, words};
use super::{Answer, Pages, import};
use crate::import::formats;
use crate::own::state::{State, account_names, failed, kept_apart};
use crate::time_text::{ago, day_and_time};
use crate::vault::html::Html;
use crate::vault::oauth::owners_view::WaitingRequest;
use crate::vault::oauth::wish::GUARDED;
use crate::vault::store::Store;
use crate::vault::store::ledger::Ledger;

/// Files of one account that are listed.
const MOST_FILES: usize = 200;

/// A file that an account came from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CameFrom {
    path: String,
    format: String,
    bytes: Option<u64>,
}

/// `GET …`
pub(super) fn show(pages: &Pages, frame: &Frame<'_>) -> Answer {
    let store = pages.vault.store();
    let state = State::of(store, &pages.dir)?;
    let files = came_from(store)?;
    let labels = account_names(store)?;
    let mut main = Html::new();
    main.markup("<h1>Your own data</h1>\n");
    notice(&mut main, pages.sessions.said(frame.session));
    waiting(&mut main, frame, &pages.vault.waiting_requests(), Timestamp::now());
    if let Some(code) = pages.vault.pairing_code() {
        main.markup(
            "<p>To let an app on another computer ask for access, type this pairing code there: <code>",
        )
        .text(&code)
        .markup("</code>. It works once.</p>\n");
    }
    import::form(&mut main, frame, import::is_at_work(pages, frame));
    main.markup("<section aria-labelledby=\"sources\">\n<h2 id=\"sources\">Sources</h2>\n<p>");
    if state.accounts.is_empty() {
        main.markup("Nothing is in the store yet.");
    } else {
        main.text(&format!("{}, {}, in ", state.in_short(), DecimalBytes(state.bytes))).markup("<code>");
        main.text(&pages.dir.display().to_string()).markup("</code>.");
    }
    main.markup("</p>\n");
    for account in &state.accounts {
        let label = labels.get(&account.id).map_or(account.name.as_str(), String::as_str);
        let files = files.get(&account.id).map_or(&[][..], Vec::as_slice);
        one(&mut main, frame, account, label, files, Timestamp::now());
    }
    main.markup("</section>\n");
    Ok(page(frame, StatusCode::OK, "Your own data", Some(Part::Sources), &main))
}

/// The files that each account came from, by its id.
fn came_from(store: &Store) -> Result<BTreeMap<String, Vec<CameFrom>>, super::Failed> {
    let found = store.read::<_, rusqlite::Error>(|db, _| {
        let ledger = Ledger(db);
        let mut all: BTreeMap<String, Vec<CameFrom>> = BTreeMap::new();
        for source in ledger.sources()? {
            let Some(connection) = ledger.connection(source.account)? else { continue };
            let format = formats::ALL.iter().find(|known| known.name() == source.format);
            all.entry(connection).or_default().push(CameFrom {
                path: source.path,
                format: format.map_or(source.format, |known| known.title().to_owned()),
                bytes: u64::try_from(source.mark.size).ok().filter(|bytes| *bytes > 0),
            });
        }
        Ok(all)
    });
    found.map_err(|error| failed(error).into())
}

fn waiting(main: &mut Html, frame: &Frame<'_>, all: &[WaitingRequest], now: Timestamp) {
    if all.is_empty() {
        return;
    }
    main.markup(
        "<section aria-labelledby=\"waiting\">\n<h2 id=\"waiting\">Waiting for your \
         decision</h2>\n<p>Each one opens the page where you decide. Deny any request that you did not \
         start.</p>\n",
    );
    for request in all {
        let since = Timestamp::from_millisecond(request.since_ms).unwrap_or(now);
        main.markup("<div class=\"card\">\n<h3><q>").text(&request.client).markup("</q></h3>\n<p>Code ");
        main.markup("<strong class=\"compare\">").text(&request.code).markup("</strong>, ");
        main.text(&ago(since, now)).markup("</p>\n");
        frame.begin_form(main, &format!("/requests/{}", request.id));
        main.markup("<p class=\"buttons\"><button type=\"submit\" class=\"approve\">Review it<span class=\"hidden\">: ");
        main.text(&request.client).markup("</span></button></p>\n</form>\n</div>\n");
    }
    main.markup("</section>\n");
}

fn one(
    main: &mut Html,
    frame: &Frame<'_>,
    account: &crate::own::state::AccountState,
    label: &str,
    files: &[CameFrom],
    now: Timestamp,
) {
    let time = |time: Option<Timestamp>| {
        time.map_or_else(
            || "not known".to_owned(),
            |time| format!("{} ({})", ago(time, now), day_and_time(time)),
        )
    };
    main.markup("<div class=\"card\">\n<h3>").text(label);
    if !label.contains(&account.kind) {
        main.markup(" <span class=\"kind\">").text(&account.kind).markup("</span>");
    }
    main.markup("</h3>\n<p>Last import: ").text(&time(account.as_of)).markup("<br>\nNewest record: ");
    main.text(&time(account.newest)).markup("</p>\n<table>\n<caption>Streams of ").text(label);
    main.markup("</caption>\n<thead><tr><th scope=\"col\">Stream</th><th scope=\"col\" class=\"number\">Records</th></tr></thead>\n<tbody>\n");
    for stream in &account.streams {
        main.markup("<tr><th scope=\"row\">").text(&words(&stream.name)).markup("</th><td class=\"number\">");
        main.text(&HumanCount(stream.records).to_string()).markup("</td></tr>\n");
    }
    main.markup("</tbody>\n</table>\n");
    let apart = account.streams.iter().find(|stream| stream.name == GUARDED);
    if let Some(apart) = apart.and_then(|stream| kept_apart(stream.records)) {
        main.markup("<p class=\"said\">").text(&apart).markup(".</p>\n");
    }
    if !files.is_empty() {
        let count = if files.len() == 1 { "1 place".to_owned() } else { format!("{} places", files.len()) };
        main.markup("<details><summary>It came from ").text(&count);
        main.markup("<span class=\"hidden\">: ").text(label).markup("</span></summary>\n<ul>\n");
        for file in files.iter().take(MOST_FILES) {
            main.markup("<li>").text(&file.path).markup(" <span class=\"kind\">").text(&file.format);
            if let Some(bytes) = file.bytes {
                main.markup(", ").text(&DecimalBytes(bytes).to_string());
            }
            main.markup("</span></li>\n");
        }
        if let Some(more) = files.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
            main.markup("<li>").text(&format!("and {more} more")).markup("</li>\n");
        }
        main.markup("</ul>\n</details>\n");
    }
    main.markup("<p>");
    frame.link_about(main, &format!("/forget/{}", segment(&account.id)), "Forget it …", label);
    main.markup("</p>\n</div>\n");
}

/// An id as a segment of a URL path.
pub(super) fn segment(id: &str) -> String {
    crate::vault::rs::read::segment(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::PROFILE;
    use crate::own::page::session::Session;
    use crate::own::state::{AccountState, StreamState};

    #[test]
    fn o7_15_an_account_says_how_old_it_is_and_where_it_came_from() {
        let now: Timestamp = "2026-11-30T10:00:00Z".parse().unwrap();
        let session = Session { page: "0a".to_owned(), csrf: "0b".to_owned(), ends_ms: 0, is_let_in: true };
        let frame = Frame { profile: &PROFILE, session: &session, asks_passphrase: false };
        let stream = |name: &str, records| StreamState { name: name.to_owned(), records };
        let account = AccountState {
            id: "cin_1".to_owned(),
            name: "<b>Ana</b>".to_owned(),
            kind: "Mail".to_owned(),
            as_of: Some("2026-11-27T09:00:00Z".parse().unwrap()),
            newest: None,
            streams: vec![stream("message_bodies", 12_034), stream("security_messages", 1)],
        };
        let files = [CameFrom {
            path: "/home/ana/\u{202e}All mail.mbox".to_owned(),
            format: "Mailbox (mbox)".to_owned(),
            bytes: Some(48_000_000),
        }];
        let mut main = Html::new();
        one(&mut main, &frame, &account, "<b>Ana</b>", &files, now);
        let request = WaitingRequest {
            id: "dc_1".to_owned(),
            client: "An <app>".to_owned(),
            code: "BCDF-GHJK".to_owned(),
            since_ms: now.as_millisecond() - 240_000,
        };
        waiting(&mut main, &frame, &[request], now);
        insta::assert_snapshot!("account", String::from_utf8(main.into_bytes()).unwrap());
    }
}
