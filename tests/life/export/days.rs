//! What many services note of a person's days.

use std::path::Path;

use serde_json::{Value, json};

use super::super::days::{Chat, Days, Event};
use super::super::person::{At, Human, Person, iso, stamp};
use super::file;

/// Chats as WhatsApp exports them, from an iPhone and from Android.
pub fn whatsapp(days: &Days, folder: &Path) {
    let mut text = format!(
        "[14.01.25, 17:00:00] {}: \u{200e}Messages and calls are end-to-end encrypted.\r\n",
        days.choir.title
    );
    for line in &days.choir.lines {
        let when = stamp(line.at).strftime("%d.%m.%y, %H:%M:%S").to_string();
        match &line.file {
            Some(file) => {
                text += &format!("\u{200e}[{when}] {}: \u{200e}<attached: {file}>\r\n", line.author)
            }
            None => text += &format!("[{when}] {}: {}\r\n", line.author, line.text),
        }
    }
    file(folder, "WhatsApp Chat - Harbor Choir/_chat.txt", text);
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

/// A calendar.
pub fn calendar(days: &Days, folder: &Path) {
    let mut text =
        String::from("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//life//EN\r\nX-WR-CALNAME:Home\r\n");
    let utc = |at: At| stamp(at).strftime("%Y%m%dT%H%M%SZ").to_string();
    let event = |event: &Event| {
        let mut out = format!(
            "BEGIN:VEVENT\r\nUID:{}\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:{}\r\nDTEND:{}\r\nSUMMARY:{}\r\nLOCATION:{}\r\nSTATUS:CONFIRMED\r\n",
            event.uid,
            utc(event.start),
            utc(event.end),
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

/// A current account as a bank's table, and a card as OFX.
pub fn bank(days: &Days, folder: &Path) {
    let mut text = String::from(
        "\"Auftragskonto\";\"Buchungstag\";\"Valutadatum\";\"Buchungstext\";\"Verwendungszweck\";\"Beguenstigter/Zahlungspflichtiger\";\
         \"Kontonummer/IBAN\";\"BIC (SWIFT-Code)\";\"Betrag\";\"Waehrung\";\"Info\";\"Kategorie\"\r\n",
    );
    // The newest first, as a bank gives them.
    for one in days.giro.iter().rev() {
        let (on, kind) =
            (one.on.strftime("%d.%m.%y"), if one.cents < 0 { "LASTSCHRIFT" } else { "GUTSCHRIFT" });
        text += &format!(
            "\"DE99990000000040012345\";\"{on}\";\"{on}\";\"{kind}\";\"{}\";\"{}\";\"\";\"\";\"{}\";\"EUR\";\"Umsatz gebucht\";\"{}\"\r\n",
            one.memo,
            one.name,
            euros(one.cents, ','),
            one.category
        );
    }
    file(folder, "giro.csv", text);
    let mut text = String::from(
        "OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nSECURITY:NONE\r\nENCODING:USASCII\r\nCHARSET:1252\r\nCOMPRESSION:NONE\r\nOLDFILEUID:NONE\r\n\
         NEWFILEUID:NONE\r\n\r\n<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><DTSERVER>20270101120000<LANGUAGE>ENG</SONRS>\
         </SIGNONMSGSRSV1><CREDITCARDMSGSRSV1><CCSTMTTRNRS><TRNUID>1<STATUS><CODE>0<SEVERITY>INFO</STATUS><CCSTMTRS><CURDEF>EUR<CCACCTFROM>\
         <ACCTID>5555000011112222</CCACCTFROM><BANKTRANLIST><DTSTART>20250101<DTEND>20261231\r\n",
    );
    for one in &days.card {
        text += &format!(
            "<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>{}<TRNAMT>{}<FITID>{}<NAME>{}<MEMO>{}</STMTTRN>\r\n",
            one.on.strftime("%Y%m%d"),
            euros(one.cents, '.'),
            one.id,
            one.name,
            one.memo
        );
    }
    text += "</BANKTRANLIST><LEDGERBAL><BALAMT>-1234.56<DTASOF>20261231</LEDGERBAL></CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1></OFX>\r\n";
    file(folder, "card.ofx", text);
}

/// What was listened to.
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

/// What was watched and searched for.
pub fn takeout(days: &Days, folder: &Path) {
    let mut newest: Vec<Value> = days.watched.iter().enumerate().map(|(n, one)| {
        json!({"header": "YouTube", "title": format!("Watched {}", one.title), "titleUrl": format!("https://www.youtube.com/watch?v=life{n:07}"),
            "subtitles": [{"name": one.channel, "url": format!("https://www.youtube.com/channel/UC{}", one.channel.len())}], "time": iso(one.at),
            "products": ["YouTube"], "activityControls": ["YouTube watch history"]})
    }).collect();
    newest.reverse();
    file(
        folder,
        "Takeout/YouTube and YouTube Music/history/watch-history.json",
        Value::from(newest).to_string(),
    );
    let mut newest: Vec<Value> = days.searched.iter().map(|(at, query)| {
        json!({"header": "Search", "title": format!("Searched for {query}"), "titleUrl": format!("https://www.google.com/search?q={}", query.replace(' ', "+")),
            "time": iso(*at), "products": ["Search"], "activityControls": ["Web & App Activity"]})
    }).collect();
    newest.reverse();
    file(folder, "Takeout/My Activity/Search/MyActivity.json", Value::from(newest).to_string());
}

/// Firefox' history.
pub fn browser(days: &Days, folder: &Path) {
    let path = folder.join("firefox/places.sqlite");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
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

/// Who is invited to an event and has not answered.
pub fn unanswered(event: &Event) -> Vec<&Human> {
    event.invited.iter().filter(|(_, has_answered)| !has_answered).map(|(human, _)| human).collect()
}
