//! The page of grants: what each one gives, and how to end it.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::frame::{Frame, Part, notice, page, words};
use super::sources::segment;
use super::{Answer, Failed, Pages, reads, see};
use crate::own::state::{account_names, vault_failed};
use crate::time_text::{ago, day_and_time, left};
use crate::vault::grant::{Grant, GrantStream};
use crate::vault::html::Html;
use crate::vault::rs::Answer as Read;
use crate::vault::rs::read::{Read as Asked, Resource};
use crate::vault::time;

/// Records that are shown of each stream.
const SHOWN: usize = 10;
/// Characters that are shown of a value.
const MOST_TEXT: usize = 400;
/// Ended grants that are listed.
const MOST_ENDED: usize = 50;

/// All grants, newest first, with the time at which each was ended.
fn all(pages: &Pages) -> Result<Vec<(Grant, Option<i64>)>, Failed> {
    Ok(pages.vault.grants_made().map_err(|error| vault_failed(&error))?)
}

/// The live grant with this id.
fn live(pages: &Pages, id: &str) -> Result<Grant, Failed> {
    let now = time::now_ms();
    let found = all(pages)?.into_iter().find(|(grant, _)| grant.grant_id == id);
    let (grant, _) = found
        .filter(|(grant, ended)| ended.is_none() && !grant.is_expired(now))
        .ok_or_else(|| Failed::new(StatusCode::NOT_FOUND, "This grant is not live", "It may have ended."))?;
    Ok(grant)
}

/// The name of a grant: the label of its token on this computer, or else what the program that holds it
/// calls itself.
pub(super) fn called(pages: &Pages, grant: &Grant) -> String {
    let credentials = pages.credentials();
    let known = credentials.iter().find(|known| known.grant_id.as_str() == grant.grant_id);
    match known {
        Some(known) => known.label.clone(),
        None => pages.vault.client_name(&grant.client.client_id),
    }
}

/// Who reads with a grant, in words.
fn reader(pages: &Pages, grant: &Grant) -> String {
    let credentials = pages.credentials();
    let known = credentials.iter().find(|known| known.grant_id.as_str() == grant.grant_id);
    match known {
        Some(known) => match &known.host {
            Some(host) => format!("{host}, on this computer"),
            None => "every host on this computer that pdpp serves".to_owned(),
        },
        None => format!("{}, which has the token", pages.vault.client_name(&grant.client.client_id)),
    }
}

/// `GET …/grants`
pub(super) fn list(pages: &Pages, frame: &Frame<'_>) -> Answer {
    let now = Timestamp::now();
    let names = account_names(pages.vault.store())?;
    let made = all(pages)?;
    let last_reads = reads::last(pages, &made);
    let (live, over): (Vec<_>, Vec<_>) = made
        .into_iter()
        .partition(|(grant, ended)| ended.is_none() && !grant.is_expired(now.as_millisecond()));
    let mut main = Html::new();
    main.markup("<h1>Grants</h1>\n");
    notice(&mut main, pages.sessions.said(frame.session));
    if live.is_empty() {
        main.markup(
            "<p>No agent can read any of your data. To grant access: <code>pdpp connect \
                     local</code></p>\n",
        );
    } else {
        main.markup("<h2>Live</h2>\n");
    }
    for (grant, _) in &live {
        let called = called(pages, grant);
        main.markup("<div class=\"card\">\n<h3>").text(&called).markup("</h3>\n");
        gives(&mut main, pages, grant, &names);
        ends_and_reads(&mut main, grant, last_reads.get(&grant.grant_id).copied(), now);
        let id = segment(&grant.grant_id);
        main.markup("<p class=\"buttons\">");
        frame.link_about(&mut main, &format!("/grants/{id}"), "See what it shows", &called);
        main.markup("\n");
        frame.link_about(&mut main, &format!("/grants/{id}/end"), "End it …", &called);
        main.markup("</p>\n</div>\n");
    }
    if !over.is_empty() {
        main.markup("<h2>Ended</h2>\n<ul>\n");
        for (grant, ended) in over.iter().take(MOST_ENDED) {
            main.markup("<li>").text(&called(pages, grant)).markup(" <span class=\"said\">");
            let ended = ended.and_then(|ended| Timestamp::from_millisecond(ended).ok());
            let expired = grant.expires_at.as_deref().and_then(|end| end.parse().ok());
            match (ended, expired) {
                (Some(ended), _) => main.text(&format!("ended {}", day_and_time(ended))),
                (None, Some(expired)) => main.text(&format!("expired {}", day_and_time(expired))),
                (None, None) => main.markup("over"),
            };
            main.markup(", ").text(&grant.grant_id).markup("</span></li>\n");
        }
        main.markup("</ul>\n");
        if let Some(more) = over.len().checked_sub(MOST_ENDED).filter(|more| *more > 0) {
            main.markup("<p class=\"said\">").text(&format!("And {more} older grants.")).markup("</p>\n");
        }
    }
    Ok(page(frame, StatusCode::OK, "Grants", Some(Part::Grants), &main))
}

/// What a grant gives, in words.
fn gives(main: &mut Html, pages: &Pages, grant: &Grant, names: &BTreeMap<String, String>) {
    let purpose = grant.purpose_description.as_deref().unwrap_or(&grant.purpose_code);
    main.markup("<p>Read by: ").text(&reader(pages, grant)).markup("<br>\nFor: <q>").text(purpose);
    main.markup("</q></p>\n<ul>\n");
    for stream in &grant.streams {
        main.markup("<li><strong>").text(&words(&stream.name)).markup("</strong> of ");
        main.text(&accounts(stream, names).join(", ")).markup(" <span class=\"said\">");
        main.text(&period(stream)).markup("</span><br>\n<span class=\"said\">");
        main.text(&fields(pages, grant, stream)).markup("</span></li>\n");
    }
    main.markup("</ul>\n");
}

/// The fields that a stream of a grant gives, and those that it withholds because they reveal later days,
/// in words.
fn fields(pages: &Pages, grant: &Grant, stream: &GrantStream) -> String {
    let declared = pages.vault.store().read::<_, rusqlite::Error>(|_, catalog| {
        Ok(catalog.declared(&grant.source_of(stream).id, &stream.name).cloned())
    });
    match declared.ok().flatten().map(|declared| stream.in_words(&declared)) {
        Some((fields, Some(not_shown))) => format!("{fields}; {not_shown}"),
        Some((fields, None)) => fields,
        // The source may no longer exist.
        None => stream.fields.iter().map(|name| words(name)).collect::<Vec<_>>().join(", "),
    }
}

fn accounts(stream: &GrantStream, names: &BTreeMap<String, String>) -> Vec<String> {
    stream.instance_ids.iter().map(|id| names.get(id).unwrap_or(id).clone()).collect()
}

/// Which records of a stream the grant gives, in words.
fn period(stream: &GrantStream) -> String {
    let mut parts = Vec::new();
    if let Some(keys) = &stream.resources {
        parts.push(if keys.len() == 1 {
            "1 named record".to_owned()
        } else {
            format!("{} named records", keys.len())
        });
    }
    if let Some(limit) = &stream.time_constraint {
        parts.push(limit.in_words());
    }
    if parts.is_empty() { "all of it, including new records".to_owned() } else { parts.join(", ") }
}

fn ends_and_reads(main: &mut Html, grant: &Grant, last_read: Option<Timestamp>, now: Timestamp) {
    let end: Option<Timestamp> = grant.expires_at.as_deref().and_then(|end| end.parse().ok());
    main.markup("<p>");
    match end {
        Some(end) => {
            let left = left(end, now).map(|left| format!(" ({left})")).unwrap_or_default();
            main.text(&format!("It ends at {}{left}.", day_and_time(end)))
        }
        None => main.markup("It does not expire."),
    };
    main.markup(" Last read: ");
    match last_read {
        Some(at) => main.text(&format!("{} ({}).", ago(at, now), day_and_time(at))),
        None => main.markup("never, as far back as the logs go."),
    };
    main.markup("<br>\n<span class=\"said\">").text(&grant.grant_id).markup("</span></p>\n");
}

/// `GET …/grants/{id}`: what the holder of the grant sees.
pub(super) fn show(pages: &Pages, frame: &Frame<'_>, id: &str) -> Answer {
    let grant = live(pages, id)?;
    let names = account_names(pages.vault.store())?;
    let called = called(pages, &grant);
    let title = format!("What the grant {called} shows");
    let mut main = Html::new();
    main.markup("<h1>").text(&title).markup("</h1>\n");
    gives(&mut main, pages, &grant, &names);
    let last_reads = reads::last(pages, &[(grant.clone(), None)]);
    ends_and_reads(&mut main, &grant, last_reads.get(id).copied(), Timestamp::now());
    main.markup("<p class=\"buttons\">");
    frame.link(&mut main, &format!("/grants/{}/end", segment(id)), "End it …");
    main.markup("</p>\n<p>Below are the newest ");
    main.text(&SHOWN.to_string());
    main.markup(
        " records of each stream, exactly as the agent reads them: it gets nothing else of a record. \
         Long values are shortened here, but not for the agent.</p>\n",
    );
    for stream in &grant.streams {
        for account in &stream.instance_ids {
            let name = names.get(account).unwrap_or(account);
            main.markup("<section class=\"card\">\n<h2>").text(&words(&stream.name)).markup(" of ");
            main.text(name).markup("</h2>\n");
            match newest(pages, id, &stream.name, account) {
                Ok(records) => shown(&mut main, &records),
                Err(failed) => {
                    main.markup("<p>This stream cannot be read: ").text(&failed.text).markup("</p>\n");
                }
            }
            main.markup("</section>\n");
        }
    }
    Ok(page(frame, StatusCode::OK, &title, Some(Part::Grants), &main))
}

/// The newest records of a stream of an account, as the holder of the grant `id` gets them.
fn newest(pages: &Pages, id: &str, stream: &str, account: &str) -> Result<Vec<Value>, Failed> {
    let params =
        vec![("limit".to_owned(), SHOWN.to_string()), ("connection_id".to_owned(), account.to_owned())];
    let read = Asked::new(Resource::Records(stream.to_owned()), params);
    match pages.vault.preview(id, &read)? {
        Read::Json(mut answer) => Ok(answer["data"].as_array_mut().map(std::mem::take).unwrap_or_default()),
        Read::Blob { .. } => Ok(Vec::new()),
    }
}

fn shown(main: &mut Html, records: &[Value]) {
    if records.is_empty() {
        main.markup("<p>It has no records now.</p>\n");
    }
    for (number, record) in records.iter().enumerate() {
        let none = Map::new();
        let data = record["data"].as_object().unwrap_or(&none);
        main.markup("<table class=\"record\">\n<caption>Record ").text(&(number + 1).to_string());
        main.markup("</caption>\n<tbody>\n");
        for (field, value) in data.iter().filter(|(_, value)| !value.is_null()) {
            main.markup("<tr><th scope=\"row\">").text(&words(field)).markup("</th><td>");
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            main.lines(&shortened(&text)).markup("</td></tr>\n");
        }
        main.markup("</tbody>\n</table>\n");
    }
}

/// The beginning of a text and, if it was shortened, its full length.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let all = indicatif::HumanCount(text.chars().count() as u64);
            format!("{} … ({all} characters)", &text[..end])
        }
    }
}

/// `GET …/grants/{id}/end`
pub(super) fn ask_to_end(pages: &Pages, frame: &Frame<'_>, id: &str) -> Answer {
    let grant = live(pages, id)?;
    let title = format!("End the grant {}?", called(pages, &grant));
    let mut main = Html::new();
    main.markup("<h1>").text(&title).markup("</h1>\n");
    gives(&mut main, pages, &grant, &account_names(pages.vault.store())?);
    main.markup("<p>Its token stops working at once. The agent keeps what it has already read.</p>\n");
    frame.begin_form(&mut main, &format!("/grants/{}/end", segment(id)));
    main.markup("<p class=\"buttons\"><button type=\"submit\" class=\"end\">End it</button> ");
    frame.link(&mut main, "/grants", "Keep it");
    main.markup("</p>\n</form>\n");
    Ok(page(frame, StatusCode::OK, &title, Some(Part::Grants), &main))
}

/// `POST …/grants/{id}/end`
pub(super) fn end(pages: &Pages, frame: &Frame<'_>, id: &str, base: &str) -> Answer {
    // Ending a grant twice is not an error: the owner wants it gone.
    let known = all(pages)?.into_iter().find(|(grant, _)| grant.grant_id == id);
    let (grant, _) = known.ok_or_else(Failed::not_found)?;
    let called = called(pages, &grant);
    pages.vault.end_grants(std::iter::once(id))?;
    if let Some(cache) = &pages.cache {
        for credential in pages.credentials().iter().filter(|known| known.grant_id.as_str() == id) {
            cache.remove(credential)?;
        }
    }
    let said = format!(
        "The grant {called} has ended: its token no longer works. The agent keeps what it has already \
         read."
    );
    pages.sessions.say(frame.session, said);
    Ok(see(frame, base, "/grants"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::grant::TimeConstraint;

    #[test]
    fn o7_15_what_a_grant_gives_is_in_words() {
        let mut stream = GrantStream {
            name: "messages".to_owned(),
            instance_ids: vec!["cin_1".to_owned()],
            fields: vec!["id".to_owned()],
            time_constraint: None,
            resources: None,
            source: None,
        };
        assert_eq!(period(&stream), "all of it, including new records");
        stream.time_constraint = Some(TimeConstraint {
            field: "received_at".to_owned(),
            since: Some("2026-01-02T00:00:00.000Z".to_owned()),
            until: None,
        });
        assert_eq!(period(&stream), "received from 2026-01-02 on");
        stream.resources = Some(vec!["a".to_owned()]);
        assert_eq!(period(&stream), "1 named record, received from 2026-01-02 on");
    }

    #[test]
    fn a_long_value_is_cut_between_characters_and_says_so() {
        assert_eq!(shortened("short"), "short");
        let long = "ä".repeat(1_000);
        let shown = shortened(&long);
        assert!(
            shown.starts_with(&"ä".repeat(MOST_TEXT)) && shown.ends_with("ä … (1,000 characters)"),
            "{shown}"
        );
    }
}
