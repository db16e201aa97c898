//! What many services record about a person's days.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::super::days::{Chat, Days, Event};
use super::super::person::{At, Human, Person, at, day, iso, stamp};
use super::file;

/// Chats as WhatsApp exports them, from iPhones and from Android, in several languages.
pub fn whatsapp(person: &Person, folder: &Path) {
    let days = &person.days;
    let when = |at: At| match person.dialect() {
        0 => stamp(at).strftime("[%d.%m.%y, %H:%M:%S]").to_string(),
        1 => stamp(at).strftime("[%-m/%-d/%y, %-I:%M:%S\u{202f}%p]").to_string(),
        _ => stamp(at).strftime("%d/%m/%Y, %H:%M -").to_string(),
    };
    let is_android = person.dialect() == 2;
    let begun = when(at(day(2025, 1, 14), 17, 0));
    let sealed = "Messages and calls are end-to-end encrypted.";
    let mut text = if is_android {
        format!("{begun} {sealed}\n")
    } else {
        format!("{begun} {}: \u{200e}{sealed}\r\n", days.choir.title)
    };
    for line in &days.choir.lines {
        let when = when(line.at);
        text += &match &line.file {
            Some(file) if is_android => format!("{when} {}: \u{200e}{file} (file attached)\n", line.author),
            None if is_android => format!("{when} {}: {}\n", line.author, line.text),
            Some(file) => format!("\u{200e}{when} {}: \u{200e}<attached: {file}>\r\n", line.author),
            None => format!("{when} {}: {}\r\n", line.author, line.text),
        };
    }
    if is_android {
        file(folder, "WhatsApp Chat with Harbor Choir.txt", text);
    } else if person.dialect() == 1 {
        let path = folder.join("WhatsApp Chat - Harbor Choir.zip");
        let mut packed = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
        packed.start_file("_chat.txt", zip::write::SimpleFileOptions::default()).unwrap();
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap();
    } else {
        file(folder, "WhatsApp Chat - Harbor Choir/_chat.txt", text);
    }
    let mut text = String::from(
        "15/03/2025, 10:00 - Messages and calls are end-to-end encrypted. No one outside of this chat can read them.\n",
    );
    for line in &days.pair.lines {
        text += &format!("{} - {}: {}\n", stamp(line.at).strftime("%d/%m/%Y, %H:%M"), line.author, line.text);
    }
    file(folder, &format!("WhatsApp Chat with {}.txt", days.pair.title), text);
}

/// Telegram Desktop's `result.json`.
pub fn telegram(person: &Person, folder: &Path) {
    let chat = |(n, chat): (usize, &Chat)| {
        let message = |(m, line): (usize, &super::super::days::Line)| {
            let mut one = json!({
                "id": 100 + m, "type": "message", "date": stamp(line.at).strftime("%Y-%m-%dT%H:%M:%S").to_string(), "date_unixtime": line.at.to_string(),
                "from": line.author, "from_id": format!("user{}", line.author.len() * 1000 + usize::from(line.author.as_bytes()[0])),
                "text": line.text, "text_entities": [{"type": "plain", "text": line.text}]});
            if let Some(other) = line.answers {
                one["reply_to_message_id"] = json!(100 + other);
            }
            if let Some(at) = line.edited {
                one["edited"] = stamp(at).strftime("%Y-%m-%dT%H:%M:%S").to_string().into();
                one["edited_unixtime"] = at.to_string().into();
            }
            one
        };
        let messages: Vec<Value> = chat.lines.iter().enumerate().map(message).collect();
        json!({"name": chat.title, "type": "private_group", "id": 4_000_000 + n, "messages": messages})
    };
    let chats: Vec<Value> = person.days.telegram.iter().enumerate().map(chat).collect();
    let me = &person.me;
    let all = json!({
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 777, "first_name": me.given, "last_name": me.family, "phone_number": me.phone, "username": "@me", "bio": ""},
        "chats": {"about": "This page lists all chats from this export.", "list": chats}});
    file(folder, "telegram/result.json", format!("{all:#}"));
}

/// The export of a Slack workspace.
pub fn slack(person: &Person, folder: &Path) {
    let days = &person.days;
    let user = |n: usize| format!("U{n:08}");
    let ts = |at: At| format!("{at}.000100");
    let channels: Vec<Value> = days.channels.iter().enumerate().map(|(n, name)| {
        json!({"id": format!("C{n:08}"), "name": name, "created": 1_750_000_000 + n, "creator": user(0), "is_archived": false, "is_general": n == 0,
            "members": [user(0), user(1)], "topic": {"value": format!("All of {name}"), "creator": "", "last_set": 0}, "purpose": {"value": "", "creator": "", "last_set": 0}})
    }).collect();
    file(folder, "slack/channels.json", Value::from(channels).to_string());
    let users: Vec<Value> = person.colleagues.iter().enumerate().map(|(n, human)| {
        json!({"id": user(n), "team_id": "T1", "name": human.given.to_lowercase(), "deleted": false, "real_name": human.name(), "is_bot": false,
            "profile": {"real_name": human.name(), "display_name": human.given, "email": human.email}})
    }).collect();
    file(folder, "slack/users.json", Value::from(users).to_string());
    let mut by_day: std::collections::BTreeMap<String, Vec<Value>> = std::collections::BTreeMap::new();
    for post in &days.posts {
        let mut one = json!({"client_msg_id": format!("m-{}", post.at), "type": "message", "user": user(post.user), "text": post.text, "ts": ts(post.at), "team": "T1"});
        if let Some(parent) = post.thread {
            one["thread_ts"] = ts(days.posts[parent].at).into();
            one["parent_user_id"] = user(days.posts[parent].user).into();
        }
        if !post.reactions.is_empty() {
            one["reactions"] = post.reactions.iter().map(|(name, users)| json!({"name": name, "users": users.iter().map(|n| user(*n)).collect::<Vec<_>>(), "count": users.len()})).collect();
        }
        let name =
            format!("slack/{}/{}.json", days.channels[post.channel], stamp(post.at).strftime("%Y-%m-%d"));
        by_day.entry(name).or_default().push(one);
    }
    for (name, posts) in by_day {
        file(folder, &name, Value::from(posts).to_string());
    }
}

/// A calendar: in UTC, with its own zone, or with the Windows name for one.
pub fn calendar(person: &Person, folder: &Path) {
    let days = &person.days;
    let mut text =
        String::from("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//life//EN\r\nX-WR-CALNAME:Home\r\n");
    let zone = ["", "Europe/Oslo", "W. Europe Standard Time"][person.dialect()];
    if !zone.is_empty() {
        text += &format!(
            "BEGIN:VTIMEZONE\r\nTZID:{zone}\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\n\
             TZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:19700329T020000\r\n\
             RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n"
        );
    }
    let when = |name: &str, at: At| match person.dialect() {
        0 => format!("{name}:{}", stamp(at).strftime("%Y%m%dT%H%M%SZ")),
        _ => format!(
            "{name};TZID={zone}:{}",
            stamp(at).in_tz("Europe/Oslo").unwrap().strftime("%Y%m%dT%H%M%S")
        ),
    };
    let event = |event: &Event| {
        let mut out = format!(
            "BEGIN:VEVENT\r\nUID:{}\r\nDTSTAMP:20260101T000000Z\r\n{}\r\n{}\r\nSUMMARY:{}\r\nLOCATION:{}\r\nSTATUS:CONFIRMED\r\n",
            event.uid,
            when("DTSTART", event.start),
            when("DTEND", event.end),
            event.summary,
            event.location
        );
        if event.times > 1 {
            out += &format!("RRULE:FREQ=WEEKLY;COUNT={}\r\n", event.times);
        }
        for (human, has_answered) in &event.invited {
            let answer = if *has_answered { "ACCEPTED" } else { "NEEDS-ACTION" };
            out += &format!(
                "ATTENDEE;CN={};PARTSTAT={answer};ROLE=REQ-PARTICIPANT:\r\n mailto:{}\r\n",
                human.name(),
                human.email
            );
        }
        out + "END:VEVENT\r\n"
    };
    text += &days.events.iter().map(event).collect::<String>();
    file(folder, "home.ics", text + "END:VCALENDAR\r\n");
}

fn euros(cents: i64, mark: char) -> String {
    format!("{}{}{mark}{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100)
}

/// A current account in the table of one of three banks, and a card as OFX, old or new.
pub fn bank(person: &Person, folder: &Path) {
    let days = &person.days;
    let mut text = match person.dialect() {
        0 => String::from(
            "\"Auftragskonto\";\"Buchungstag\";\"Valutadatum\";\"Buchungstext\";\"Verwendungszweck\";\"Beguenstigter/Zahlungspflichtiger\";\
             \"Kontonummer/IBAN\";\"BIC (SWIFT-Code)\";\"Betrag\";\"Waehrung\";\"Info\";\"Kategorie\"\r\n",
        ),
        1 => String::from(
            "Umsatzanzeige;Datei erstellt am: 31.12.2026 12:00\r\n\r\nIBAN;DE99 9900 0000 0040 0123 45\r\nKontoname;Girokonto\r\nBank;ING\r\n\
             Kunde;Jemand\r\nZeitraum;01.01.2025 - 31.12.2026\r\nSaldo;1.234,56;EUR\r\n\r\nSortierung;Datum absteigend\r\n\r\n\
             Buchung;Valuta;Auftraggeber/Empf\u{e4}nger;Buchungstext;Kategorie;Verwendungszweck;Saldo;W\u{e4}hrung;Betrag;W\u{e4}hrung\r\n",
        ),
        _ => String::from(
            "Transaktionstyp,Buchungsdatum,Karteneinsatz,Betrag,Zahlungsempf\u{e4}nger,IBAN,BIC,Verwendungszweck,Beschreibung,Kontonummer,Kontoname,\
             Kategorie,Unterkategorie,Bargeldabhebung\n",
        ),
    };
    // The newest first, like a bank's export.
    for one in days.giro.iter().rev() {
        let kind = if one.cents < 0 { "Lastschrift" } else { "Gutschrift" };
        let (short, long) = (one.on.strftime("%d.%m.%y"), one.on.strftime("%d.%m.%Y"));
        let (amount, memo, name, category) = (euros(one.cents, ','), &one.memo, &one.name, one.category);
        text += &match person.dialect() {
            0 => format!(
                "\"DE99990000000040012345\";\"{short}\";\"{short}\";\"{kind}\";\"{memo}\";\"{name}\";\"\";\"\";\"{amount}\";\"EUR\";\"Umsatz gebucht\";\"{category}\"\r\n"
            ),
            1 => {
                let (whole, rest) = amount.split_once(',').unwrap();
                let sign = if one.cents < 0 { "-" } else { "" };
                let digits = whole.trim_start_matches('-');
                let grouped = if digits.len() > 3 {
                    format!("{}.{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..])
                } else {
                    digits.to_owned()
                };
                format!(
                    "{long};{long};{name};{kind};{category};{memo};1.000,00;EUR;{sign}{grouped},{rest};EUR\r\n"
                )
            }
            _ => format!(
                "{kind},{long},,\"{amount}\",{name},DE99990000000011112222,,{memo},,DE99990000000040012345,Girokonto,{category},,\n"
            ),
        };
    }
    // One of them writes like its program did long ago.
    let latin = |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>();
    let bytes = if person.dialect() == 1 { latin(&text) } else { text.into_bytes() };
    file(folder, "giro.csv", bytes);
    let is_new = person.dialect() > 0;
    let tag = |name: &str, value: &str| {
        if is_new { format!("<{name}>{value}</{name}>") } else { format!("<{name}>{value}\r\n") }
    };
    let mut text = String::from(if is_new {
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n<?OFX OFXHEADER=\"200\" VERSION=\"211\" SECURITY=\"NONE\" OLDFILEUID=\"NONE\" NEWFILEUID=\"NONE\"?>\n"
    } else {
        "OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nSECURITY:NONE\r\nENCODING:USASCII\r\nCHARSET:1252\r\nCOMPRESSION:NONE\r\nOLDFILEUID:NONE\r\n\
         NEWFILEUID:NONE\r\n\r\n"
    });
    let status = format!("<STATUS>{}{}</STATUS>", tag("CODE", "0"), tag("SEVERITY", "INFO"));
    text += &format!(
        "<OFX><SIGNONMSGSRSV1><SONRS>{status}{}{}</SONRS></SIGNONMSGSRSV1><CREDITCARDMSGSRSV1><CCSTMTTRNRS>{}{status}<CCSTMTRS>{}\
         <CCACCTFROM>{}</CCACCTFROM><BANKTRANLIST>{}{}",
        tag("DTSERVER", "20270101120000"),
        tag("LANGUAGE", "ENG"),
        tag("TRNUID", "1"),
        tag("CURDEF", "EUR"),
        tag("ACCTID", "5555000011112222"),
        tag("DTSTART", "20250101"),
        tag("DTEND", "20261231")
    );
    for one in &days.card {
        text += &format!(
            "<STMTTRN>{}{}{}{}{}{}</STMTTRN>\r\n",
            tag("TRNTYPE", "DEBIT"),
            tag("DTPOSTED", &format!("{}120000[-5:EST]", one.on.strftime("%Y%m%d"))),
            tag("TRNAMT", &euros(one.cents, '.')),
            tag("FITID", &one.id),
            tag("NAME", &one.name),
            tag("MEMO", &one.memo)
        );
    }
    let balance =
        format!("<LEDGERBAL>{}{}</LEDGERBAL>", tag("BALAMT", "-1234.56"), tag("DTASOF", "20261231"));
    text += &format!("</BANKTRANLIST>{balance}</CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1></OFX>\r\n");
    file(folder, "card.ofx", text);
}

/// Playback history.
pub fn spotify(days: &Days, folder: &Path) {
    let plays: Vec<Value> = days.plays.iter().map(|play| {
        let id: String = play.track.chars().filter(char::is_ascii_alphanumeric).chain(std::iter::repeat('0')).take(22).collect();
        json!({"ts": stamp(play.at).strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), "username": "me", "platform": "linux", "ms_played": play.ms, "conn_country": "NO",
            "ip_addr": "192.0.2.1", "master_metadata_track_name": play.track, "master_metadata_album_artist_name": play.artist,
            "master_metadata_album_album_name": play.album, "spotify_track_uri": format!("spotify:track:{id}"), "episode_name": null,
            "episode_show_name": null, "spotify_episode_uri": null, "reason_start": "trackdone", "reason_end": if play.is_skipped { "fwdbtn" } else { "trackdone" },
            "shuffle": false, "skipped": play.is_skipped, "offline": false, "offline_timestamp": null, "incognito_mode": false})
    }).collect();
    file(folder, "spotify/Streaming_History_Audio_2025-2026_0.json", Value::from(plays).to_string());
}

/// Watch and search history, as JSON or as pages, which is Google's default.
pub fn takeout(person: &Person, folder: &Path) {
    let days = &person.days;
    let watched: Vec<(At, Value)> = days.watched.iter().enumerate().map(|(n, one)| {
        (one.at, json!({"header": "YouTube", "title": format!("Watched {}", one.title), "titleUrl": format!("https://www.youtube.com/watch?v=life{n:07}"),
            "subtitles": [{"name": one.channel, "url": format!("https://www.youtube.com/channel/UC{}", one.channel.len())}], "time": iso(one.at),
            "products": ["YouTube"], "activityControls": ["YouTube watch history"]}))
    }).collect();
    let searched: Vec<(At, Value)> = days.searched.iter().map(|(at, query)| {
        (*at, json!({"header": "Search", "title": format!("Searched for {query}"), "titleUrl": format!("https://www.google.com/search?q={}", query.replace(' ', "+")),
            "time": iso(*at), "products": ["Search"], "activityControls": ["Web & App Activity"]}))
    }).collect();
    for (name, mut all) in [
        ("YouTube and YouTube Music/history/watch-history", watched),
        ("My Activity/Search/MyActivity", searched),
    ] {
        all.reverse();
        if person.dialect() == 1 {
            let cells: String = all.iter().map(|(at, one)| cell(*at, one)).collect();
            let page = format!(
                "<!DOCTYPE html><html><head><meta charset=\"UTF-8\"><title>My Activity</title></head><body><div class=\"mdl-grid\">{cells}</div></body></html>"
            );
            file(folder, &format!("Takeout/{name}.html"), page);
        } else {
            let all: Vec<Value> = all.into_iter().map(|(_, one)| one).collect();
            file(folder, &format!("Takeout/{name}.json"), Value::from(all).to_string());
        }
    }
}

/// An activity on a page.
fn cell(at: At, one: &Value) -> String {
    let (verb, what) = one["title"]
        .as_str()
        .unwrap()
        .split_once(if one["header"] == "Search" { " for " } else { " " })
        .unwrap();
    let verb = if one["header"] == "Search" { format!("{verb} for") } else { verb.to_owned() };
    let channel = one["subtitles"][0].as_object();
    let channel = channel
        .map(|of| format!("<a href={}>{}</a><br>", of["url"], of["name"].as_str().unwrap()))
        .unwrap_or_default();
    format!(
        "<div class=\"outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp\"><div class=\"mdl-grid\"><div class=\"header-cell mdl-cell mdl-cell--12-col\">\
         <p class=\"mdl-typography--title\">{}<br></p></div><div class=\"content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1\">{verb}\u{a0}\
         <a href={}>{what}</a><br>{channel}{} UTC<br></div><div class=\"content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1 mdl-typography--text-right\">\
         </div><div class=\"content-cell mdl-cell mdl-cell--12-col mdl-typography--caption\"><b>Products:</b><br>&emsp;{}<br></div></div></div>",
        one["header"].as_str().unwrap(),
        one["titleUrl"],
        stamp(at).strftime("%b %-d, %Y, %-I:%M:%S\u{202f}%p"),
        one["products"][0].as_str().unwrap()
    )
}

/// A browser's history: Firefox, or Chrome.
pub fn browser(person: &Person, folder: &Path) {
    if person.dialect() == 1 { chrome(&person.days, folder) } else { firefox(&person.days, folder) }
}

/// Chrome's history.
fn chrome(days: &Days, folder: &Path) {
    let path = folder.join("firefox/Default/History");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    drop(std::fs::remove_file(&path));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN;
         CREATE TABLE meta (key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
         CREATE TABLE urls (id INTEGER PRIMARY KEY AUTOINCREMENT, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER DEFAULT 0 NOT NULL,
           typed_count INTEGER DEFAULT 0 NOT NULL, last_visit_time INTEGER NOT NULL, hidden INTEGER DEFAULT 0 NOT NULL);
         CREATE TABLE visits (id INTEGER PRIMARY KEY AUTOINCREMENT, url INTEGER NOT NULL, visit_time INTEGER NOT NULL, from_visit INTEGER,
           transition INTEGER DEFAULT 0 NOT NULL, segment_id INTEGER, visit_duration INTEGER DEFAULT 0 NOT NULL);",
    )
    .unwrap();
    for (n, visit) in days.visits.iter().enumerate() {
        let (n, at) = (n as i64 + 1, (visit.at + 11_644_473_600) * 1_000_000);
        db.execute(
            "INSERT INTO urls (id, url, title, visit_count, last_visit_time) VALUES (?1, ?2, ?3, 1, ?4)",
            (n, &visit.url, &visit.title, at),
        )
        .unwrap();
        db.execute("INSERT INTO visits (id, url, visit_time, from_visit, transition) VALUES (?1, ?1, ?2, 0, 805306368)", (n, at)).unwrap();
    }
    db.execute_batch("COMMIT").unwrap();
}

/// Firefox's history.
fn firefox(days: &Days, folder: &Path) {
    let path = folder.join("firefox/places.sqlite");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    drop(std::fs::remove_file(&path));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN;
         CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR, visit_count INTEGER DEFAULT 0,
           hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER, guid TEXT,
           foreign_count INTEGER DEFAULT 0 NOT NULL, url_hash INTEGER DEFAULT 0 NOT NULL, description TEXT, preview_image_url TEXT, origin_id INTEGER);
         CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER, visit_type INTEGER,
           session INTEGER, source INTEGER DEFAULT 0 NOT NULL, triggeringPlaceId INTEGER);
         CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER, parent INTEGER, position INTEGER, title LONGVARCHAR);
         CREATE TABLE moz_origins (id INTEGER PRIMARY KEY, prefix TEXT NOT NULL, host TEXT NOT NULL, frecency INTEGER NOT NULL);",
    )
    .unwrap();
    for (n, visit) in days.visits.iter().enumerate() {
        let n = n as i64 + 1;
        db.execute("INSERT INTO moz_places (id, url, title, visit_count, last_visit_date, guid) VALUES (?1, ?2, ?3, 1, ?4, ?5)", (n, &visit.url, &visit.title, visit.at * 1_000_000, format!("guid{n:08}"))).unwrap();
        db.execute("INSERT INTO moz_historyvisits (id, from_visit, place_id, visit_date, visit_type, session) VALUES (?1, 0, ?1, ?2, 1, 0)", (n, visit.at * 1_000_000)).unwrap();
    }
    db.execute_batch("COMMIT").unwrap();
}

/// A vault of notes.
pub fn notes(days: &Days, folder: &Path) {
    file(folder, "vault/.obsidian/app.json", "{}");
    for note in &days.notes {
        let tags: Vec<String> = note.tags.iter().map(|tag| format!("  - {tag}\n")).collect();
        let created = stamp(note.at).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let name = format!("vault/{}", note.path);
        file(
            folder,
            &name,
            format!(
                "---\ntags:\n{}created: {created}\nupdated: {created}\n---\n\n{}\n",
                tags.concat(),
                note.body
            ),
        );
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(note.at.cast_unsigned());
        std::fs::File::options().write(true).open(folder.join(name)).unwrap().set_modified(at).unwrap();
    }
}

/// Apple Health's export.
pub fn health(days: &Days, folder: &Path) {
    let when = |at: At| stamp(at).strftime("%Y-%m-%d %H:%M:%S +0000").to_string();
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData [\n<!ELEMENT HealthData (ExportDate,Me,(Record|Workout)*)>\n\
         <!ATTLIST HealthData\n  locale CDATA #REQUIRED\n>\n]>\n<HealthData locale=\"en_NO\">\n <ExportDate value=\"2026-10-01 10:00:00 +0000\"/>\n <Me HKCharacteristicTypeIdentifierBiologicalSex=\"HKBiologicalSexNotSet\"/>\n",
    );
    for one in &days.steps {
        text += &format!(
            " <Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"Watch\" sourceVersion=\"11\" unit=\"count\" creationDate=\"{}\" startDate=\"{}\" endDate=\"{}\" value=\"{}\"/>\n",
            when(one.at + 1800),
            when(one.at),
            when(one.at + 1800),
            one.count
        );
    }
    for one in &days.workouts {
        let (duration, end) = (format!("{}.{}", one.tenths / 10, one.tenths % 10), one.at + one.tenths * 6);
        text += &format!(
            " <Workout workoutActivityType=\"{}\" duration=\"{duration}\" durationUnit=\"min\" sourceName=\"Watch\" creationDate=\"{}\" startDate=\"{}\" endDate=\"{}\"/>\n",
            one.kind,
            when(end),
            when(one.at),
            when(end)
        );
    }
    file(folder, "apple_health_export/export.xml", text + "</HealthData>\n");
}

/// Invited guests who have not answered.
pub fn unanswered(event: &Event) -> Vec<&Human> {
    event.invited.iter().filter(|(_, has_answered)| !has_answered).map(|(human, _)| human).collect()
}
