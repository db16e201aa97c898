//! Recognises what an activity is from its link, which is the same in every language.

use std::borrow::Cow;

use url::Url;

/// The kind of page that a link leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// A video: its product and its id.
    Video(&'static str, String),
    /// A search: its product and its words.
    Search(&'static str, String),
    /// Another page of a product that has searches.
    Product(Option<&'static str>),
    /// Another page.
    Other,
}

/// Longer links are not read.
const LONGEST: usize = 16 * 1024;

/// The kind of page that `link` leads to.
pub fn kind(link: &str) -> Kind {
    let Some(url) = Some(link).filter(|link| link.len() <= LONGEST).and_then(|link| Url::parse(link).ok())
    else {
        return Kind::Other;
    };
    let Some(host) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else {
        return Kind::Other;
    };
    let host = host.strip_prefix("www.").unwrap_or(host);
    let steps: Vec<&str> = url.path().split('/').filter(|step| !step.is_empty()).take(4).collect();
    let value = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value);
        found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    if host == "youtu.be" {
        return steps.first().map_or(Kind::Other, |id| Kind::Video("youtube", (*id).to_owned()));
    }
    if host == "youtube.com" || host.ends_with(".youtube.com") {
        let product = if host == "music.youtube.com" { "youtube_music" } else { "youtube" };
        let video = |id: Option<String>| id.map(|id| Kind::Video(product, id));
        let search = |words: Option<String>| words.map(|words| Kind::Search(product, words));
        return match steps.as_slice() {
            ["watch"] => video(value("v")),
            ["shorts" | "live" | "embed" | "v", id] => video(Some((*id).to_owned())),
            ["results"] => search(value("search_query").or_else(|| value("q"))),
            ["search"] => search(value("q")),
            _ => None,
        }
        .unwrap_or(Kind::Product(Some(product)));
    }
    google(host, &steps, &value)
}

fn google(host: &str, steps: &[&str], value: &dyn Fn(&str) -> Option<String>) -> Kind {
    // google.de, maps.google.co.uk
    let Some((before, _)) = host.split_once("google.") else { return Kind::Other };
    let place = match before {
        "" => "",
        "maps." | "news." | "play." | "books." | "images." | "scholar." | "shopping." => {
            before.trim_end_matches('.')
        }
        _ => return Kind::Other,
    };
    let words = || value("q").or_else(|| value("query"));
    let (product, words) = match (place, steps) {
        ("", ["search", ..]) => (Some(by_kind(value)), words()),
        ("", ["maps", "search", words, ..])
        | ("maps", ["maps", "search", words, ..] | ["search", words, ..]) => (Some("maps"), decoded(words)),
        ("" | "maps", ["maps", "search"] | ["maps"]) | ("maps", []) => (Some("maps"), words()),
        ("", ["maps", ..]) | ("maps", _) => (Some("maps"), None),
        ("play", ["store", "search", ..]) => (Some("play"), words()),
        ("play", _) => (Some("play"), None),
        ("news", ["search", ..]) => (Some("news"), words()),
        ("news", _) => (Some("news"), None),
        ("books", ["books", ..] | []) => (Some("books"), words()),
        ("scholar", ["scholar", ..]) => (Some("scholar"), words()),
        ("images", ["search" | "images", ..] | []) => (Some("images"), words()),
        ("shopping", ["search", ..]) => (Some("shopping"), words()),
        _ => (None, None),
    };
    match (product, words) {
        (Some(product), Some(words)) => Kind::Search(product, words),
        (product, _) => Kind::Product(product),
    }
}

/// The product for the kind of results that Google was asked for.
fn by_kind(value: &dyn Fn(&str) -> Option<String>) -> &'static str {
    match value("tbm").as_deref() {
        Some("isch") => "images",
        Some("vid") => "videos",
        Some("nws") => "news",
        Some("shop") => "shopping",
        Some("bks") => "books",
        _ => match value("udm").as_deref() {
            Some("2") => "images",
            Some("7") => "videos",
            Some("28") => "shopping",
            _ => "search",
        },
    }
}

/// Decodes the words in a path segment.
fn decoded(step: &str) -> Option<String> {
    let with_blanks = step.replace('+', " ");
    let words: Cow<'_, str> = percent_encoding::percent_decode_str(&with_blanks).decode_utf8_lossy();
    // "@46.9,7.4,14z" is the position of the map.
    Some(words.trim().to_owned()).filter(|words| !words.is_empty() && !words.starts_with('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o5_1_links_say_what_was_done_and_where() {
        let video = |product, id: &str| Kind::Video(product, id.to_owned());
        let search = |product, words: &str| Kind::Search(product, words.to_owned());
        for (link, expected) in [
            ("https://www.youtube.com/watch?v=abc&t=3", video("youtube", "abc")),
            ("http://youtube.com/watch?t=3&v=abc", video("youtube", "abc")),
            ("https://m.youtube.com/watch?v=abc", video("youtube", "abc")),
            ("https://youtu.be/abc?si=x", video("youtube", "abc")),
            ("https://www.youtube.com/shorts/abc", video("youtube", "abc")),
            ("https://music.youtube.com/watch?v=abc", video("youtube_music", "abc")),
            (
                "https://www.youtube.com/results?search_query=night+moths%21",
                search("youtube", "night moths!"),
            ),
            ("https://music.youtube.com/search?q=moor", search("youtube_music", "moor")),
            ("https://www.youtube.com/channel/UCx", Kind::Product(Some("youtube"))),
            ("https://www.youtube.com/post/x", Kind::Product(Some("youtube"))),
            ("https://www.youtube.com/watch", Kind::Product(Some("youtube"))),
            ("https://www.google.com/search?q=caf%C3%A9+moor", search("search", "café moor")),
            ("https://www.google.co.uk/search?client=x&q=a%2Bb", search("search", "a+b")),
            ("https://www.google.de/search?q=moor&tbm=isch", search("images", "moor")),
            ("https://www.google.com/search?q=moor&udm=2", search("images", "moor")),
            ("https://www.google.com/search?q=moor&tbm=nws", search("news", "moor")),
            ("https://www.google.com/search?q=", Kind::Product(Some("search"))),
            ("https://www.google.com/maps/search/caf%C3%A9+moor/@46.9,7.4,14z", search("maps", "café moor")),
            ("https://www.google.com/maps/search/?api=1&query=moor", search("maps", "moor")),
            ("https://maps.google.com/?q=moor", search("maps", "moor")),
            ("https://www.google.com/maps/dir/a/b", Kind::Product(Some("maps"))),
            ("https://www.google.com/maps/@46.9,7.4,14z", Kind::Product(Some("maps"))),
            ("https://play.google.com/store/search?q=moor&c=apps", search("play", "moor")),
            ("https://play.google.com/store/apps/details?id=x", Kind::Product(Some("play"))),
            ("https://news.google.com/search?q=moor", search("news", "moor")),
            ("https://www.google.com/url?q=https://example.org/search?q=x", Kind::Product(None)),
            ("https://mail.google.com/search?q=x", Kind::Other),
            ("https://google.example.org/search?q=x", search("search", "x")),
            ("https://notgoogle.com/search?q=x", Kind::Other),
            ("https://example.org/watch?v=abc", Kind::Other),
            ("ftp://www.google.com/search?q=x", Kind::Other),
            ("not a link", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(kind(link), expected, "{link}");
        }
    }
}
