//! A search over everything in the store, in the owner's words. It is the search that an agent has,
//! within a grant that covers everything and is made for this one read.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use indicatif::HumanCount;
use serde_json::Value;

use super::frame::{Frame, Part, page, words};
use super::{Answer, Failed, Pages, value};
use crate::own::state::account_names;
use crate::text::prefix;
use crate::vault::html::Html;
use crate::vault::rs::Answer as Read;
use crate::vault::rs::read::{Read as Asked, Resource};

/// Hits per page.
const ON_A_PAGE: usize = 20;
/// The most bytes of a title.
const MOST_TITLE: usize = 200;

/// `GET …/search?q=…`
pub(super) fn show(pages: &Pages, frame: &Frame<'_>, params: &[(String, String)]) -> Answer {
    let q = value(params, "q").unwrap_or_default();
    let mut main = Html::new();
    main.markup("<h1>Search</h1>\n<form method=\"get\" role=\"search\"");
    main.attribute("action", &frame.session.path("/search"));
    main.markup(
        ">\n<p class=\"field\"><label for=\"q\">Words to search for in all of your own data</label>\n",
    );
    main.markup("<input id=\"q\" name=\"q\" type=\"search\" required autocomplete=\"off\"")
        .attribute("value", q);
    main.markup("></p>\n<p class=\"buttons\"><button type=\"submit\" class=\"approve\">Search</button></p>\n</form>\n");
    let (mut status, mut title) = (StatusCode::OK, "Search".to_owned());
    if !q.trim().is_empty() {
        match found(pages, q, value(params, "cursor")) {
            Ok(answer) => {
                hits(pages, frame, &mut main, q, &answer)?;
                title = format!("Search for {}", prefix(q, MOST_TITLE));
            }
            Err(failed) => {
                status = failed.status;
                main.markup("<p class=\"problem\" role=\"alert\">").text(&failed.text).markup("</p>\n");
            }
        }
    }
    Ok(page(frame, status, &title, Some(Part::Search), &main))
}

fn found(pages: &Pages, q: &str, cursor: Option<&str>) -> Result<Value, Failed> {
    let mut params = vec![("q".to_owned(), q.to_owned()), ("limit".to_owned(), ON_A_PAGE.to_string())];
    params.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.to_owned())));
    match pages.vault.read_as_owner(&Asked::new(Resource::Search, params))? {
        Read::Json(answer) => Ok(answer),
        Read::Blob { .. } => Ok(Value::Null),
    }
}

fn hits(pages: &Pages, frame: &Frame<'_>, main: &mut Html, q: &str, answer: &Value) -> Result<(), Failed> {
    let count = answer["meta"]["count"].as_u64().unwrap_or(0);
    main.markup("<section aria-labelledby=\"hits\">\n<h2 id=\"hits\">");
    main.text(&format!("{} {}", HumanCount(count), if count == 1 { "hit" } else { "hits" }))
        .markup("</h2>\n");
    let labels = account_names(pages.vault.store())?;
    let titles = title_fields(pages)?;
    main.markup("<ol class=\"hits\">\n");
    for hit in answer["data"].as_array().map_or(&[][..], Vec::as_slice) {
        let text = |name: &str| hit[name].as_str().unwrap_or_default();
        let (account, stream) = (text("connection_id"), text("stream"));
        let field = titles.get(&(text("connector_id").to_owned(), stream.to_owned()));
        let title = field.and_then(|field| title(pages, hit, field));
        let label = labels.get(account).map_or(account, String::as_str);
        main.markup("<li class=\"card\">\n<h3>");
        match title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
            Some(title) => main.lines(prefix(title, MOST_TITLE)),
            None => main.text(&format!("{} {}", words(stream), text("record_key"))),
        };
        main.markup("</h3>\n<p class=\"said\">").text(label).markup(", ").text(&words(stream));
        let time = Some(text("sent_at")).filter(|time| !time.is_empty());
        if let Some(time) = time {
            main.markup(", ").text(&shown_time(time));
        }
        main.markup("</p>\n<p>");
        marked(main, hit["snippet"]["text"].as_str().unwrap_or_default());
        main.markup("</p>\n</li>\n");
    }
    main.markup("</ol>\n");
    if let Some(cursor) = answer["next_cursor"].as_str() {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", q).append_pair("cursor", cursor);
        main.markup("<p>");
        frame.link(main, &format!("/search?{}", query.finish()), "More hits");
        main.markup("</p>\n");
    }
    main.markup("</section>\n");
    Ok(())
}

/// Formats a time as `2026-11-28 10:00 UTC`; any other text stays as it is.
fn shown_time(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), crate::time_text::day_and_time)
}

/// The field that names a record, by connector and stream.
fn title_fields(pages: &Pages) -> Result<BTreeMap<(String, String), String>, Failed> {
    let all = pages.vault.store().read::<_, rusqlite::Error>(|_, catalog| {
        let mut fields = BTreeMap::new();
        for connector in &catalog.connectors {
            for stream in &connector.streams {
                let is_title = |role: Option<&str>| role == Some("primary-title");
                let title = stream.fields.iter().find(|field| is_title(field.role.as_deref()));
                // A body repeats the title of its message.
                let title = title.or_else(|| stream.field("subject")).or_else(|| stream.field("title"));
                if let Some(title) = title {
                    fields.insert((connector.key.clone(), stream.name.clone()), title.name.clone());
                }
            }
        }
        Ok(fields)
    });
    Ok(all?)
}

/// The title of the record that was found.
fn title(pages: &Pages, hit: &Value, field: &str) -> Option<String> {
    let resource =
        Resource::Record(hit["stream"].as_str()?.to_owned(), hit["record_key"].as_str()?.to_owned());
    let params = vec![
        ("connection_id".to_owned(), hit["connection_id"].as_str()?.to_owned()),
        ("fields".to_owned(), field.to_owned()),
    ];
    match pages.vault.read_as_owner(&Asked::new(resource, params)).ok()? {
        Read::Json(record) => record["data"][field].as_str().map(str::to_owned),
        Read::Blob { .. } => None,
    }
}

/// An excerpt with its matches marked; any marks in the text itself are escaped.
fn marked(main: &mut Html, excerpt: &str) {
    let mut parts = excerpt.split("<mark>");
    main.lines(parts.next().unwrap_or_default());
    for part in parts {
        let (found, rest) = part.split_once("</mark>").unwrap_or((part, ""));
        main.markup("<mark>").lines(found).markup("</mark>").lines(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o7_15_matches_are_marked_and_the_text_is_text() {
        let mut main = Html::new();
        marked(&mut main, "a <b> <mark>hit & run</mark> …\u{202e}");
        let shown = String::from_utf8(main.into_bytes()).unwrap();
        assert_eq!(shown, "a &lt;b&gt; <mark>hit &amp; run</mark> …\\u{202e}");
        let mut main = Html::new();
        marked(&mut main, "<mark>no end");
        assert_eq!(String::from_utf8(main.into_bytes()).unwrap(), "<mark>no end</mark>");
        assert_eq!(shown_time("2026-11-28T10:00:00Z"), "2026-11-28 10:00 UTC");
        assert_eq!(shown_time("some day"), "some day");
    }
}
