//! Reads calendars (RFC 5545): what an event is about, where, with whom and when.

use super::{Budget, Stop, Text, charset};

/// The properties that are read.
const READ: [&str; 12] = [
    "summary",
    "description",
    "location",
    "comment",
    "contact",
    "categories",
    "organizer",
    "attendee",
    "dtstart",
    "dtend",
    "due",
    "url",
];
/// The longest line, including the lines that continue it.
const LONGEST_LINE: usize = 256 << 10;

pub fn read(bytes: &[u8], declared: Option<&str>, budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
    budget.pay(bytes.len().saturating_mul(2))?;
    let (decoded, _) = charset::decode(bytes, declared);
    if !decoded
        .trim_start_matches('\u{feff}')
        .trim_start()
        .get(..15)
        .is_some_and(|head| head.eq_ignore_ascii_case("BEGIN:VCALENDAR"))
    {
        return Err(Stop::Failed);
    }
    let mut line = String::new();
    // Time zones have times too, which are not read.
    let mut is_zone = false;
    for next in decoded.lines().map(Some).chain([None]) {
        if let Some(next) = next
            && let Some(rest) = next.strip_prefix([' ', '\t'])
        {
            if line.len() + rest.len() <= LONGEST_LINE {
                line.push_str(rest);
            }
            continue;
        }
        property(&line, &mut is_zone, text)?;
        line.clear();
        if let Some(next) = next {
            line.push_str(&next[..next.floor_char_boundary(LONGEST_LINE)]);
        }
    }
    Ok(())
}

fn property(line: &str, is_zone: &mut bool, text: &mut Text) -> Result<(), Stop> {
    // A colon within quotes does not end the parameters.
    let mut is_quoted = false;
    let colon = line.char_indices().find(|(_, c)| {
        is_quoted ^= *c == '"';
        *c == ':' && !is_quoted
    });
    let Some((colon, _)) = colon else { return Ok(()) };
    let (head, value) = (&line[..colon], &line[colon + 1..]);
    let (name, parameters) = head.split_once(';').unwrap_or((head, ""));
    let name = name.trim().to_ascii_lowercase();
    if matches!(name.as_str(), "begin" | "end") && value.trim().eq_ignore_ascii_case("vtimezone") {
        *is_zone = name == "begin";
    }
    if *is_zone || !READ.contains(&name.as_str()) {
        return Ok(());
    }
    text.line()?;
    if matches!(name.as_str(), "organizer" | "attendee") {
        let called = parameters.split(';').find_map(|parameter| {
            let (key, value) = parameter.split_once('=')?;
            key.eq_ignore_ascii_case("cn").then(|| value.trim_matches('"'))
        });
        if let Some(called) = called {
            text.push(called)?;
            text.blank()?;
        }
        let address = value.trim();
        let is_mail = address.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
        return text.push(if is_mail { &address[7..] } else { address });
    }
    let mut rest = value;
    while let Some(at) = rest.find('\\') {
        text.push(&rest[..at])?;
        let mut chars = rest[at + 1..].chars();
        match chars.next() {
            Some('n' | 'N') => text.push("\n")?,
            Some(c) => text.push(c.encode_utf8(&mut [0; 4]))?,
            None => {}
        }
        rest = chars.as_str();
    }
    text.push(rest)
}
