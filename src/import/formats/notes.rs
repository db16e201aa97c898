//! Notes: Markdown files in folders. A folder with `.obsidian` is an Obsidian vault. Other folders are read only if the owner
//! says that they contain notes.
//!
//! A note is a file, identified by its path. A renamed note is a new note, and the old one is gone.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Read as _};
use std::sync::Arc;

use icu_normalizer::ComposingNormalizerBorrowed;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use percent_encoding::percent_decode_str;
use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde::Serialize;

use crate::import::agent_session::name;
use crate::import::charset::Charset;
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::vault::time;

/// Notes.
pub struct Notes;

/// The account's name if there is no folder to name it after.
const KEY: &str = "notes";
const NOTES: &str = "notes";
/// The folder that marks its parent as a vault.
const VAULT: &str = ".obsidian";
/// The longest note that is read, in bytes.
const LONGEST: usize = 16 << 20;
/// The longest front matter, in bytes.
const LONGEST_FRONT_MATTER: usize = 64 << 10;
/// How deeply brackets and dashes may be nested in front matter.
const DEEPEST: usize = 32;
/// The most tags, and the most links, of one note.
const MOST: usize = 1000;
/// Front matter keys for the time when a note was created, without spaces and dashes.
const CREATED: [&str; 8] =
    ["created", "createdat", "createdtime", "datecreated", "creationdate", "createdon", "date", "ctime"];

const STREAMS: [StreamLine; 1] = [StreamLine {
    name: NOTES,
    key: "id",
    time: "updated_at/created_at",
    fields: "id:k! title:h path:s folder:g body:b tags:a tag_text:x links:a created_at:t updated_at:T gone_at:t",
    relations: "",
}];

/// A record, with its fields in the declared order.
#[derive(Serialize)]
struct Note<'a> {
    id: &'a str,
    title: &'a str,
    path: &'a str,
    folder: Option<&'a str>,
    body: &'a str,
    tags: &'a [String],
    tag_text: Option<String>,
    links: Vec<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

/// The path of each member within its vault.
struct State(BTreeMap<String, String>);

impl Format for Notes {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "notes in Markdown files (Obsidian)"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        if vault_around(peek.label).is_some() {
            return matches!(peek.head.trim_ascii_start().first(), Some(b'{' | b'['))
                .then_some(Sure::Certain);
        }
        let (_, end) = peek.label.rsplit_once('.')?;
        let is_text = Charset::of_head(peek.head).is_some() || !peek.head.contains(&0);
        match end.to_ascii_lowercase().as_str() {
            "md" | "markdown" if is_text => Some(Sure::Certain),
            // Only if the owner says that these are notes.
            "txt" if is_text => Some(Sure::Fallback),
            _ => None,
        }
    }

    /// Claims the notes that are in a vault.
    fn claims(&self, members: &[Peek<'_>]) -> Vec<bool> {
        let vaults: Vec<&str> = vaults(members.iter().map(|member| member.label)).into_iter().collect();
        let is_note = |label: &str| {
            let is_plain = label.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("txt"));
            !is_plain && vaults.iter().any(|vault| is_within(vault, label))
        };
        members.iter().map(|member| is_note(member.label)).collect()
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Local, KEY, "Notes", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let vaults = vaults(members.iter().map(|member| member.label));
        let source = source_folder(ask, members);
        let mut by_vault: BTreeMap<&str, (Vec<usize>, BTreeMap<String, String>)> = BTreeMap::new();
        let mut hidden = 0_u64;
        for (at, member) in members.iter().enumerate() {
            if vault_around(member.label).is_some() {
                continue;
            }
            // Vaults may be nested. The innermost one counts.
            let vault =
                vaults.iter().filter(|vault| is_within(vault, member.label)).max_by_key(|vault| vault.len());
            let vault = vault.copied().unwrap_or_default();
            let path = &member.label[vault.len()..];
            if path.split('/').any(|part| part.starts_with('.')) {
                hidden += 1;
                continue;
            }
            let path = path.strip_prefix(source.stripped).unwrap_or(path);
            let (units, paths) = by_vault.entry(vault).or_default();
            units.push(at);
            paths.insert(member.label.to_owned(), path.to_owned());
        }
        if by_vault.is_empty() {
            return Err(Refused::Unfit { why: "it contains no notes".to_owned() });
        }
        let plans = by_vault.into_iter().map(|(vault, (mut units, paths))| {
            units.sort_by_key(|at| members[*at].label);
            let folder = vault.trim_end_matches('/').rsplit('/').next().filter(|folder| !folder.is_empty());
            let account =
                ask.account.clone().unwrap_or_else(|| folder.map_or_else(|| source.name.clone(), str::to_owned));
            let mut notes = vec![
                "Pictures, canvases and other files next to the notes are not imported.".to_owned(),
            ];
            if hidden > 0 {
                let are = if hidden == 1 { "1 note in a hidden folder, such as .trash, is".to_owned() } else { format!("{hidden} notes in hidden folders, such as .trash, are") };
                notes.push(format!("{are} left out."));
            }
            if ask.account.is_none() {
                notes.push(format!(
                    "The account is called {account} after the folder. --account NAME gives it another name: two folders of \
                     the same name would be merged."
                ));
            }
            Plan {
                connector: connector.clone(),
                account,
                units,
                notes,
                whose: Whose::default(),
                zone: ask.zone.clone(),
                state: Arc::new(State(paths)),
            }
        });
        Ok(plans.collect())
    }

    /// A note is one item, and it is read again whenever its file changes.
    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, _: u64, out: &mut Out<'_>) -> io::Result<End> {
        let mut bytes = Vec::new();
        (&mut unit.bytes).take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
        let is_long = bytes.len() > LONGEST;
        if is_long {
            bytes.truncate(1024);
        }
        let path = plan.state.downcast_ref::<State>().and_then(|State(paths)| paths.get(unit.label));
        let path = path.map_or(unit.label, String::as_str);
        let modified = unit.modified_ms.map(|ms| ms.to_string()).unwrap_or_default();
        let facts = format!("{}\n{modified}\n{path}", if is_long { "cut" } else { "" });
        let _ = out(Raw { offset: 0, next: 0, line: None, bytes, facts, copy: 0 });
        Ok(End { at: 0 })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let mut facts = raw.facts.splitn(3, '\n');
        let mut next = || facts.next().unwrap_or_default();
        let (is_cut, modified, path) = (next() == "cut", next().parse::<i64>().ok(), next());
        if is_cut {
            return Err(Bad("a note of more than 16 MiB"));
        }
        // A file system or an archive may store letters and their accents separately.
        let path = ComposingNormalizerBorrowed::new_nfc().normalize(path);
        let path = name(&path).ok_or(Bad("a path of more than 1024 bytes"))?;
        let (charset, mark) = Charset::of(&raw.bytes[..]).map_err(|_| Bad("not text"))?;
        let text = charset.decode(raw.bytes.get(mark..).unwrap_or_default());
        let (front, body) = front_matter(&text);
        let (folder, file) =
            path.rsplit_once('/').map_or((None, path), |(folder, file)| (Some(folder), file));
        let stem = stem(file);
        let seen = look(body);
        let mut tags = front.tags;
        tags.extend(seen.tags);
        let mut known = HashSet::new();
        tags.retain(|tag| known.insert(tag.to_lowercase()));
        tags.truncate(MOST);
        let created = front.created.as_deref().and_then(|text| instant(text, &plan.zone)).or_else(|| {
            // A daily note is named after its day.
            stem.get(..10).and_then(|day| day.parse::<Date>().ok())?;
            instant(&stem[..10], &plan.zone)
        });
        let title = front.title.or(seen.heading).unwrap_or_else(|| stem.to_owned());
        let note = Note {
            id: path,
            title: &title,
            path,
            folder,
            body,
            tag_text: Some(tags.join(" ")).filter(|tags| !tags.is_empty()),
            tags: &tags,
            links: seen.links,
            created_at: created.map(time::format_ms),
            updated_at: modified.map(time::format_ms),
        };
        let data = serde_json::to_string(&note).map_err(|_| Bad("cannot be written as a record"))?;
        let told = note.created_at.is_none().then_some("without a date of creation");
        // A backup has an older version of a note. The version that was changed last counts.
        let sighting = Some(data.clone());
        Ok(Parsed::Records(vec![Draft { sighting, told, ..Draft::new(NOTES, path, data) }]))
    }

    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        let order = |said: &&str| {
            let record = serde_json::from_str::<serde_json::Value>(said).unwrap_or_default();
            (record["updated_at"].as_str().map(str::to_owned), (*said).to_owned())
        };
        sightings.iter().max_by_key(|said| order(said)).map_or(data, |said| said).to_owned()
    }

    fn is_whole_alone(&self) -> bool {
        true
    }
}

/// The vault to which a configuration file belongs, including the final slash. Empty for the source itself.
fn vault_around(label: &str) -> Option<&str> {
    let (before, _) = label.split_once(&format!("{VAULT}/"))?;
    (before.is_empty() || before.ends_with('/')).then_some(before)
}

fn vaults<'a>(labels: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    labels.filter_map(vault_around).collect()
}

fn is_within(vault: &str, label: &str) -> bool {
    label.starts_with(vault)
}

/// The name of the source, and the beginning of its paths that only repeats that name.
struct SourceFolder<'a> {
    name: String,
    stripped: &'a str,
}

fn source_folder<'a>(ask: &Ask, members: &[Member<'a>]) -> SourceFolder<'a> {
    // A single file does not show what its folder is.
    if let [one] = members
        && one.label == ask.source_name
    {
        return SourceFolder { name: KEY.to_owned(), stripped: "" };
    }
    let lower = ask.source_name.to_ascii_lowercase();
    let end = [".zip", ".tgz", ".tar.gz", ".tar"].into_iter().find(|end| lower.ends_with(end));
    let name = &ask.source_name[..ask.source_name.len() - end.map_or(0, str::len)];
    // An archive of a folder contains the folder itself.
    let first = members.first().and_then(|member| {
        let length = member.label.find('/')? + 1;
        member.label.get(..length)
    });
    let stripped = first
        .filter(|first| {
            end.is_some()
                && first.trim_end_matches('/') == name
                && members.iter().all(|member| member.label.starts_with(first))
        })
        .unwrap_or_default();
    let name = Some(name).filter(|name| !name.is_empty()).unwrap_or(KEY).to_owned();
    SourceFolder { name, stripped }
}

/// The name of a file without its extension, and without the id that Notion appends.
fn stem(file: &str) -> &str {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    match stem.rsplit_once(' ') {
        Some((title, id)) if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => title,
        _ => stem,
    }
}

/// The content of front matter.
#[derive(Debug, Default, PartialEq, Eq)]
struct Front {
    title: Option<String>,
    tags: Vec<String>,
    created: Option<String>,
}

/// Reads the front matter of a note and returns it with the text after it. If the front matter cannot be read, returns the whole
/// text.
fn front_matter(text: &str) -> (Front, &str) {
    let whole = (Front::default(), text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return whole;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let Some(front) = read_front(&rest[..at]) else { return whole };
            let body = &rest[at + line.len()..];
            return (front, body.trim_start_matches(['\n', '\r']));
        }
        at += line.len();
        if at > LONGEST_FRONT_MATTER {
            break;
        }
    }
    whole
}

fn read_front(text: &str) -> Option<Front> {
    if !is_tame(text) {
        return None;
    }
    let mut front = Front::default();
    let documents = Yaml::load_from_str(text).ok()?;
    let entries = match documents.first() {
        None | Some(Yaml::Value(Scalar::Null)) => return Some(front),
        Some(Yaml::Mapping(entries)) => entries,
        Some(_) => return None,
    };
    for (key, value) in entries {
        let Some(key) = scalar(key) else { continue };
        let key: String = key.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        match key.as_str() {
            "title" if front.title.is_none() => front.title = scalar(value).filter(|title| !title.is_empty()),
            "tags" | "tag" | "keywords" => front.tags.extend(words(value)),
            key if front.created.is_none() && CREATED.contains(&key) => front.created = scalar(value),
            _ => {}
        }
    }
    Some(front)
}

/// Whether no line nests so deeply that parsing it would take too long or too much stack. The parser has no such limit.
fn is_tame(text: &str) -> bool {
    let mut open = 0_usize;
    text.lines().all(|line| {
        let mut dashes = 0;
        let mut rest = line.trim_start();
        while let Some(inner) = ["- ", "? ", ": "].into_iter().find_map(|mark| rest.strip_prefix(mark)) {
            dashes += 1;
            rest = inner.trim_start();
        }
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > DEEPEST {
                return false;
            }
        }
        dashes <= DEEPEST
    })
}

fn scalar(value: &Yaml<'_>) -> Option<String> {
    let text = match value {
        Yaml::Value(Scalar::String(text)) => text.trim().to_owned(),
        Yaml::Value(Scalar::Integer(number)) => number.to_string(),
        Yaml::Value(Scalar::FloatingPoint(number)) => number.to_string(),
        Yaml::Value(Scalar::Boolean(is)) => is.to_string(),
        _ => return None,
    };
    Some(text)
}

/// Tags as a list or in one line.
fn words(value: &Yaml<'_>) -> Vec<String> {
    let tag = |text: &str| text.trim().trim_start_matches('#').to_owned();
    let all: Vec<String> = match value {
        Yaml::Sequence(list) => list.iter().filter_map(scalar).map(|text| tag(&text)).collect(),
        value => {
            let text = scalar(value).unwrap_or_default();
            text.split([',', ' ']).map(tag).collect()
        }
    };
    all.into_iter().filter(|tag| name(tag).is_some()).take(MOST).collect()
}

/// What the text of a note contains.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    heading: Option<String>,
    tags: Vec<String>,
    links: Vec<String>,
}

/// The first heading, the tags and the links of a text. Code is skipped.
fn look(body: &str) -> Seen {
    let mut seen = Seen::default();
    let mut links = HashSet::new();
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        let bare = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)) {
            match fence {
                Some(open) if open == mark => fence = None,
                Some(_) => {}
                None => fence = Some(mark),
            }
            continue;
        }
        if fence.is_some() {
            continue;
        }
        if seen.heading.is_none()
            && let Some(heading) = line.strip_prefix("# ")
        {
            let heading = heading.trim().trim_end_matches('#').trim_end();
            seen.heading = Some(heading.to_owned()).filter(|heading| name(heading).is_some());
        }
        // Text between single backquotes is code too.
        for (at, part) in line.split('`').enumerate() {
            if at % 2 == 0 {
                tags_of(part, &mut seen.tags);
                links_of(part, &mut links, &mut seen.links);
            }
        }
    }
    seen
}

/// A tag is `#` and a word with a letter in it, at the beginning or after a space.
fn tags_of(text: &str, tags: &mut Vec<String>) {
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')')) {
        let Some(word) = word.strip_prefix('#') else { continue };
        let is_in = |c: char| {
            c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || !c.is_ascii() && !is_punctuation(c)
        };
        let end = word.find(|c: char| !is_in(c)).unwrap_or(word.len());
        let tag = word[..end].trim_end_matches('/');
        // `#fff;` in a style, `# heading` and `#12` are not tags.
        if tags.len() < MOST && tag.chars().any(|c| !c.is_ascii_digit()) && name(tag).is_some() {
            tags.push(tag.to_owned());
        }
    }
}

fn is_punctuation(c: char) -> bool {
    matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}

/// Finds `[[Note#Heading|shown]]`, `![[picture.png]]` and `[shown](Other%20note.md)`.
fn links_of(text: &str, known: &mut HashSet<String>, links: &mut Vec<String>) {
    let mut keep = |target: &str| {
        let target = target.split(['#', '|']).next().unwrap_or_default().trim().trim_end_matches('\\');
        if links.len() < MOST && name(target).is_some() && known.insert(target.to_owned()) {
            links.push(target.to_owned());
        }
    };
    let mut rest = text;
    while let Some(at) = rest.find("[[") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find("]]") else { break };
        keep(&rest[..end]);
        rest = &rest[end + 2..];
    }
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find(')') else { break };
        let target = rest[..end].trim_matches(['<', '>', ' ']);
        rest = &rest[end + 1..];
        let path = target.split('#').next().unwrap_or_default();
        let is_note = path.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("md"));
        if is_note && !target.contains("://") {
            keep(&percent_decode_str(path).decode_utf8_lossy());
        }
    }
}

/// A time in front matter, in milliseconds since 1970. It is in `zone` if it names none.
fn instant(text: &str, zone: &TimeZone) -> Option<i64> {
    let text = text.trim();
    if text.len() > 10
        && let Some(ms) = time::parse_ms(text)
    {
        return Some(ms);
    }
    // `2026-01-31 14:03`, `2026/01/31`, `[[2026-01-31]]`.
    let text = text.trim_matches(['[', ']']).replace('/', "-");
    let local: DateTime =
        text.parse::<DateTime>()
            .ok()
            .or_else(|| text.replacen(' ', "T", 1).parse().ok())
            .or_else(|| Some(text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight())))?;
    Some(zone.to_ambiguous_zoned(local).compatible().ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff,
    };

    const CONFIG: (&str, &[u8]) = ("Garden/.obsidian/app.json", b"{}");

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&Notes, files)
    }

    fn note(text: &str) -> Value {
        let (kept, _) = import(&[CONFIG, ("Garden/Beds/North bed.md", text.as_bytes())]);
        serde_json::from_str(kept.records.values().next().unwrap()).unwrap()
    }

    #[test]
    fn o5_1_a_note_has_its_title_tags_links_and_times() {
        let text = "---\ntitle: The north bed\ntags: [garden, \"2026\", Garden]\ncreated: 2026-01-31\n---\n\n# Beds\nSee [[South bed#Soil|the other]] and ![[plan.png]] \
                    #todo/now (#Soil), [list](../My%20list.md#a), [web](https://example.org/x.md).\n`#no [[no]]`\n```\n#no [[no]]\n```\n#12 a#b [[South bed]]\n";
        assert_eq!(
            note(text),
            json!({"id": "Beds/North bed.md", "title": "The north bed", "path": "Beds/North bed.md", "folder": "Beds",
                "body": text.split_once("---\n\n").unwrap().1, "tags": ["garden", "2026", "todo/now", "Soil"],
                "tag_text": "garden 2026 todo/now Soil", "links": ["South bed", "plan.png", "../My list.md"],
                "created_at": "2026-01-31T00:00:00.000Z", "updated_at": "2023-11-14T22:13:20.000Z"})
        );
    }

    #[test]
    fn a_title_is_from_front_matter_a_heading_or_the_file() {
        assert_eq!(
            note("---\nname: x\n---\n```\n# code\n```\n## Second\n# First #\n# Other")["title"],
            "First"
        );
        assert_eq!(note("Text")["title"], "North bed");
        assert_eq!(note("")["title"], "North bed");
        assert_eq!(note("---\ntitle: 2026\n---\n# First")["title"], "2026");
        // Notion appends an id to a page's name.
        assert_eq!(stem("North bed 0123456789abcdef0123456789abcdef.md"), "North bed");
        assert_eq!(stem("North bed 0123.md"), "North bed 0123");
        assert_eq!(stem("Nr. 5.md"), "Nr. 5");
    }

    #[test]
    fn broken_front_matter_is_text() {
        for text in [
            "---\ntitle: [a\n---\nText",
            "---\ntitle: \"a\n---\nText",
            "---\n- a\n---\nText",
            "---\ntitle: x\nText without an end",
            "--- \ntitle: x\n---\nText",
            "----\ntitle: x\n---\n",
        ] {
            let note = note(text);
            assert_eq!((&note["body"], &note["title"]), (&json!(text), &json!("North bed")), "{text}");
        }
        assert_eq!(note("---\n---\nText")["body"], "Text");
        assert_eq!(
            note("---\r\ntitle: x\r\ntags: a, b c\r\n---\r\nText\r\n")["tags"],
            json!(["a", "b", "c"])
        );
        assert_eq!(note("---\ntags:\n  - '#a'\n  - b c\n  - {d: e}\n...\nText")["tags"], json!(["a", "b c"]));
    }

    #[test]
    fn o4_14_front_matter_that_nests_or_multiplies_is_not_parsed() {
        for bomb in [
            "[".repeat(5000),
            "- ".repeat(5000),
            "? ".repeat(5000),
            "{a: ".repeat(5000),
            "a: &a [x]\n".to_owned() + &"b: [*a,*a]\n".repeat(3000),
        ] {
            let text = format!("---\n{bomb}\n---\nText");
            assert!(note(&text)["body"].as_str().unwrap().ends_with("Text"));
        }
        let long = format!("---\ntitle: {}\n---\nText", "x".repeat(100_000));
        assert_eq!(note(&long)["body"], long.as_str());
        let aliases = format!("---\na: &a [{}]\nb:\n{}---\nText", "x,".repeat(100), "- *a\n".repeat(2000));
        assert!(note(&aliases)["body"].as_str().unwrap().ends_with("Text"));
    }

    #[test]
    fn o4_12_times_without_a_zone_are_the_persons() {
        let oslo = TimeZone::get("Europe/Oslo").unwrap();
        for (text, expected) in [
            ("2026-01-31", Some("2026-01-30T23:00:00.000Z")),
            ("2026-07-31 14:03", Some("2026-07-31T12:03:00.000Z")),
            ("2026-01-31T14:03:22", Some("2026-01-31T13:03:22.000Z")),
            ("2026-01-31T14:03:22Z", Some("2026-01-31T14:03:22.000Z")),
            ("2026-01-31T14:03:22+02:00", Some("2026-01-31T12:03:22.000Z")),
            ("2026/01/31", Some("2026-01-30T23:00:00.000Z")),
            ("[[2026-01-31]]", Some("2026-01-30T23:00:00.000Z")),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(instant(text, &oslo).map(time::format_ms).as_deref(), expected, "{text}");
        }
        // A daily note is named after its day.
        let (kept, counts) = import(&[CONFIG, ("Garden/2026-01-31.md", b""), ("Garden/other.md", b"")]);
        assert_eq!(counts.told, [("without a date of creation", 1)].into());
        let daily: Value = serde_json::from_str(kept.records.values().next().unwrap()).unwrap();
        assert_eq!(daily["created_at"], "2026-01-31T00:00:00.000Z");
    }

    #[test]
    fn o2_1_only_a_vault_is_recognised_unless_the_person_names_the_format() {
        assert_eq!(sniff(&Notes, "a/b.md", b"Text"), Some(Sure::Certain));
        assert_eq!(sniff(&Notes, "a/b.MARKDOWN", b""), Some(Sure::Certain));
        assert_eq!(sniff(&Notes, "a/.obsidian/app.json", b"{}"), Some(Sure::Certain));
        assert_eq!(sniff(&Notes, "a/b.txt", b"Text"), Some(Sure::Fallback));
        assert_eq!(sniff(&Notes, "a/b.md", b"\0\x01\x02\x03\x04\0"), None);
        for other in ["a/b.json", "a/b", "a/.obsidian/plugins/x/main.js", "a/b.png"] {
            assert_eq!(sniff(&Notes, other, b"Text"), None, "{other}");
        }
        let claims = |labels: &[&str]| {
            let peeks: Vec<Peek<'_>> =
                labels.iter().map(|label| Peek { label, head: b"", is_whole: true }).collect();
            Notes.claims(&peeks)
        };
        assert_eq!(claims(&["README.md", "a/b.md"]), [false, false]);
        assert_eq!(
            claims(&["a/.obsidian/app.json", "a/b.md", "a/c/d.md", "a/e.txt", "README.md"]),
            [true, true, true, false, false]
        );
        assert_eq!(claims(&[".obsidian/app.json", "b.md"]), [true, true]);
        // A folder whose name only ends like that is not a vault.
        assert_eq!(claims(&["x.obsidian/app.json", "b.md"]), [false, false]);
    }

    #[test]
    fn vaults_are_accounts_and_hidden_folders_are_left_out() {
        let of = |files: &[(&str, &[u8])], source: &str| -> Vec<(String, usize, String)> {
            let ask = Ask { source_name: source.to_owned(), ..ask() };
            let plans = plan(&Notes, files, ask).unwrap();
            let paths =
                |plan: &Plan| plan.state.downcast_ref::<State>().unwrap().0.values().next().unwrap().clone();
            plans.into_iter().map(|plan| (plan.account.clone(), plan.units.len(), paths(&plan))).collect()
        };
        let found = |account: &str, units, path: &str| (account.to_owned(), units, path.to_owned());
        let (a, b) = (("x/A/.obsidian/app.json", &b"{}"[..]), ("x/A/in/B/.obsidian/app.json", &b"{}"[..]));
        assert_eq!(
            of(
                &[
                    a,
                    b,
                    ("x/A/1.md", b""),
                    ("x/A/in/B/c/2.md", b""),
                    ("x/A/.trash/3.md", b""),
                    ("x/A/.git/4.md", b"")
                ],
                "x"
            ),
            [found("A", 1, "1.md"), found("B", 1, "c/2.md")]
        );
        assert_eq!(
            of(&[(".obsidian/app.json", b"{}"), ("1.md", b"")], "Garden"),
            [found("Garden", 1, "1.md")]
        );
        // The owner named a folder, an archive of one, or a file.
        assert_eq!(of(&[("Garden/1.md", b"")], "Garden"), [found("Garden", 1, "Garden/1.md")]);
        assert_eq!(of(&[("Garden/1.md", b"")], "Garden.zip"), [found("Garden", 1, "1.md")]);
        assert_eq!(of(&[("1.md", b"")], "1.md"), [found(KEY, 1, "1.md")]);
        assert!(matches!(plan(&Notes, &[(".trash/1.md", b"")], ask()), Err(Refused::Unfit { .. })));
    }

    #[test]
    fn o4_11_notes_are_read_in_any_charset_and_a_long_one_is_bad() {
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("# Bjørg".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let long = vec![b'x'; LONGEST + 1];
        let (kept, counts) = import(&[
            CONFIG,
            ("Garden/1.md", &utf16),
            ("Garden/2.md", b"\xef\xbb\xbf# Bed"),
            ("Garden/3.md", b"# Bj\xf8rg"),
            ("Garden/4.md", &long),
        ]);
        let titles: Vec<Value> = kept
            .records
            .values()
            .map(|data| serde_json::from_str::<Value>(data).unwrap()["title"].clone())
            .collect();
        assert_eq!(titles, ["Bjørg", "Bed", "Bjørg"]);
        assert_eq!(counts.bad, [("a note of more than 16 MiB", 1)].into());
        // Some file systems store the accent separately, and others do not.
        let (apart, _) = import(&[CONFIG, ("Garden/Cafe\u{301}.md", b"")]);
        assert_eq!(apart.records.keys().next().unwrap().2, "Caf\u{e9}.md");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_and_no_order_counts(texts in proptest::collection::vec("(---\n)?(title: [a-c]\n)?(tags: \\[a\\]\n)?(---\n)?[#a-c \\[\\]`\n]{0,20}", 1..4)) {
            let files: Vec<(String, String)> = texts.into_iter().enumerate().map(|(at, text)| (format!("{at}.md"), text)).collect();
            let files: Vec<(&str, &[u8])> = files.iter().map(|(label, text)| (&label[..], text.as_bytes())).collect();
            assert_twice_is_once_in_any_order(&Notes, &files);
        }

        #[test]
        fn a_note_that_grew_or_changed_is_what_it_is_now(first in "[#a-c \n-]{0,12}", second in "[#a-c \n-]{0,12}") {
            for second in [second.clone(), format!("{first}{second}")] {
                let mut kept = Kept::default();
                kept.import(&Notes, &[("a.md", first.as_bytes())]);
                let counts = kept.import(&Notes, &[("a.md", second.as_bytes())]);
                prop_assert_eq!(counts.read, 1);
                let (now, _) = import(&[("a.md", second.as_bytes())]);
                prop_assert_eq!(&kept.records, &now.records);
            }
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120), text in "---\n[a: \\[\\]{}&*!|>'\"?#\n-]{0,60}\n---\n[\\[\\]()#`\u{e9}a\n]{0,40}") {
            for bytes in [bytes, text.into_bytes()] {
                let (kept, counts) = import(&[("a.md", &bytes)]);
                prop_assert_eq!((kept.records.len(), counts.read), (1, 1));
            }
        }
    }
}
