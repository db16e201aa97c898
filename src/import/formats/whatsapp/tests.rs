use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::head::Head;
use super::said::said;
use super::*;
use crate::import::harness::{
    Counts, Kept, ask, assert_cut_and_finished_is_whole, assert_twice_is_once_in_any_order, imported, plan,
    plan_beside, sniff, split,
};

const LRM: char = '\u{200e}';

/// A chat of Ana and Ben on an Android phone, with a message every few hours, starting with message `from`.
fn android(from: u32, to: u32) -> String {
    let mut text = String::new();
    for at in from..to {
        let (day, month) = ((at / 5 + 12) % 28 + 1, (at / 5 + 12) / 28 + 1);
        let hour = at % 5 * 4 + 2;
        let author = if at % 2 == 0 { "Ana" } else { "Ben" };
        let _ = writeln!(text, "{day:02}/{month:02}/2026, {hour:02}:{:02} - {author}: message {at}", at % 60);
    }
    text
}

fn import(files: &[(&str, &str)]) -> (Kept, Counts) {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    imported(&WhatsApp, &files)
}

fn more(kept: &mut Kept, name: &str, text: &str) -> Counts {
    kept.import(&WhatsApp, &[(name, text.as_bytes())])
}

fn all(kept: &Kept, stream: &str) -> Vec<Value> {
    kept.sorted(stream, |record| (record["sent_at"].to_string(), record["content"].to_string()))
}

fn titles(kept: &Kept) -> Vec<String> {
    all(kept, CHATS).iter().map(|chat| chat["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn o5_1_a_chat_becomes_messages_of_its_people() {
    let text = "31/01/2026, 14:03 - Messages and calls are end-to-end encrypted. Tap to learn more.\n\
        31/01/2026, 14:03 - Ana: Which beds?\n31/01/2026, 14:05 - Ben: Both.\nAnd: the north one\n";
    let (kept, counts) = import(&[("WhatsApp Chat with Garden.txt", text)]);
    assert_eq!((counts.read, counts.new), (3, 3));
    let chat = &all(&kept, CHATS)[0];
    let id = chat["id"].as_str().unwrap();
    assert_eq!(
        *chat,
        json!({"id": id, "title": "Garden", "participants": ["Ana", "Ben"],
            "first_message_date": "2026-01-31T14:03:00.000Z", "last_message_date": "2026-01-31T14:05:00.000Z"})
    );
    let messages = all(&kept, MESSAGES);
    assert_eq!(messages[0]["is_system"], true);
    assert_eq!(messages[0]["author"], Value::Null);
    assert_eq!(
        messages[2],
        json!({"id": messages[2]["id"], "chat_id": id, "author": "Ben", "content": "Both.\nAnd: the north one",
            "sent_at": "2026-01-31T14:05:00.000Z", "has_attachment": false, "is_system": false, "is_edited": false,
            "is_deleted": false})
    );
    assert_eq!(kept.records.keys().next().unwrap().0, "whatsapp");
}

#[test]
fn o5_2_streams_are_upstreams_and_nobody_is_named() {
    let text = android(0, 5);
    let plans = plan(&WhatsApp, &[("a.txt", text.as_bytes())], ask()).unwrap();
    assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/whatsapp");
    let chats = plans[0].connector.stream(CHATS).unwrap();
    assert_eq!(chats.consent_time_field.as_deref(), Some("first_message_date"));
    assert_eq!(
        chats.relations.iter().map(|to| to.stream.as_str()).collect::<Vec<_>>(),
        [MESSAGES, ATTACHMENTS]
    );
    assert!(plans[0].notes.iter().any(|note| note.contains("--account NAME")));
    let named = Ask { account: Some("ana".to_owned()), ..ask() };
    let plans = plan(&WhatsApp, &[("a.txt", text.as_bytes())], named).unwrap();
    assert_eq!(plans[0].account, "ana");
    assert!(!plans[0].notes.iter().any(|note| note.contains("--account")));
}

#[test]
fn heads_of_many_languages_are_read() {
    use DateOrder::{DayMonthYear, MonthDayYear, YearMonthDay};
    for (line, order, at) in [
        ("[31.01.26, 14:03:22] A: x", DayMonthYear, "2026-01-31T14:03:22"),
        ("\u{200e}[31.01.26, 14:03:22] A: x", DayMonthYear, "2026-01-31T14:03:22"),
        ("[1/31/26, 2:03:22\u{202f}PM] A: x", MonthDayYear, "2026-01-31T14:03:22"),
        ("[31/01/2026 14:03:22] A: x", DayMonthYear, "2026-01-31T14:03:22"),
        ("[2026-01-31, 14:03:22] A: x", YearMonthDay, "2026-01-31T14:03:22"),
        ("[2026/1/31 下午2:03:22] A: x", YearMonthDay, "2026-01-31T14:03:22"),
        ("[2026/1/31 中午12:03:22] A: x", YearMonthDay, "2026-01-31T12:03:22"),
        ("[2026/1/31 凌晨2:03:22] A: x", YearMonthDay, "2026-01-31T02:03:22"),
        ("[2026. 1. 31. 오후 2:03:22] A: x", YearMonthDay, "2026-01-31T14:03:22"),
        ("2026년 1월 31일 오후 2:03 - A: x", YearMonthDay, "2026-01-31T14:03:00"),
        ("2026年1月31日 午後2:03 - A: x", YearMonthDay, "2026-01-31T14:03:00"),
        ("1/31/26, 2:03 PM - A: x", MonthDayYear, "2026-01-31T14:03:00"),
        ("1/31/26, 12:03 am - A: x", MonthDayYear, "2026-01-31T00:03:00"),
        ("31/1/26, 2:03 p. m. - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31/1/26 2:03 p.\u{a0}m. - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31/01/2026 à 14:03 - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31.01.26, 14:03 - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31.1.2026 klo 14.03 - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31-01-2026 14:03 - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("2026. 01. 31. 14:03 - A: x", YearMonthDay, "2026-01-31T14:03:00"),
        ("2026. 01. 31. du. 2:03 - A: x", YearMonthDay, "2026-01-31T14:03:00"),
        ("2026-01-31 14 h 03 - A: x", YearMonthDay, "2026-01-31T14:03:00"),
        ("٣١\u{200f}/١\u{200f}/٢٠٢٦، ٢:٠٣ م - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("३१/०१/२६, २:०३ अपराह्न - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31/1/26, 2:03 μ.μ. - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31.01.2026 ÖS 2:03 - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31/1/2569 14:03 - A: x", DayMonthYear, "2026-01-31T14:03:00"),
        ("31.1.2026, 14:03 – A: x", DayMonthYear, "2026-01-31T14:03:00"),
    ] {
        let head = Head::of(line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(head.at(order).unwrap().to_string(), at, "{line}");
        assert_eq!(&line[head.end..], "A: x", "{line}");
    }
    for other in [
        "",
        "A: x",
        "31.01.26",
        "[31.01.26] A: x",
        "[14:03, 31/01/2026] A: x",
        "1/31/26, 2:03 soon - A: x",
        "31.01.26, 25:03 - A: x",
        "31.01.26, 14:73 - A: x",
        "31.01-26, 14:03 - A: x",
        "2026-01-31T14:03:22Z - A",
        "31.01.26, 14:03-A: x",
        "12.5.3, 4",
    ] {
        assert_eq!(Head::of(other).filter(|head| head.day(DayMonthYear).is_some()), None, "{other}");
    }
}

#[test]
fn o4_12_the_order_of_dates_is_found_or_asked() {
    let lines =
        |dates: &[&str]| dates.iter().fold(String::new(), |all, date| all + date + ", 10:00 - Ana: x\n");
    let order = |text: &str| match plan(&WhatsApp, &[("_chat.txt", text.as_bytes())], ask()) {
        Ok(plans) => plans[0].state.downcast_ref::<State>().unwrap().files["_chat.txt"].order,
        Err(other) => panic!("{other:?}"),
    };
    // A number above 12.
    assert_eq!(order(&lines(&["1/2/26", "13/2/26", "1/3/26"])), DateOrder::DayMonthYear);
    assert_eq!(order(&lines(&["1/2/26", "2/13/26", "3/1/26"])), DateOrder::MonthDayYear);
    // The dates ascend in one order only.
    assert_eq!(order(&lines(&["10/1/26", "11/1/26", "1/2/26", "2/2/26"])), DateOrder::DayMonthYear);
    assert_eq!(order(&lines(&["1/10/26", "1/11/26", "2/1/26", "2/2/26"])), DateOrder::MonthDayYear);
    assert_eq!(order(&lines(&["2026/1/2", "2026/1/3", "2026/2/1"])), DateOrder::YearMonthDay);
    assert_eq!(order(&lines(&["15-01-20", "15-01-21", "15-02-01"])), DateOrder::YearMonthDay);
    // Both orders give the same dates, or dots decide.
    assert_eq!(order(&lines(&["1/1/26", "1/1/26", "2/2/26"])), DateOrder::DayMonthYear);
    assert_eq!(order(&lines(&["1.2.26", "1.2.26", "2.2.26"])), DateOrder::DayMonthYear);
    let unclear = lines(&["1/2/26", "1/2/26", "2/3/26"]);
    let asked = plan(&WhatsApp, &[("_chat.txt", unclear.as_bytes())], ask());
    let Err(Refused::Undecided { option, choices, .. }) = asked else { panic!("not asked") };
    assert_eq!((option, choices), ("--date-order", vec!["dmy".to_owned(), "mdy".to_owned()]));
    let told = Ask { date_order: Some(DateOrder::MonthDayYear), ..ask() };
    assert!(plan(&WhatsApp, &[("_chat.txt", unclear.as_bytes())], told).is_ok());
    // Another export that looks the same decides.
    let clear = lines(&["1/2/26", "13/2/26", "1/3/26"]);
    let both = [("a.txt", unclear.as_bytes()), ("b.txt", clear.as_bytes())];
    let plans = plan(&WhatsApp, &both, ask()).unwrap();
    assert_eq!(plans[0].state.downcast_ref::<State>().unwrap().files["a.txt"].order, DateOrder::DayMonthYear);
    assert!(plans[0].notes.iter().any(|note| note.starts_with("The dates of a.txt")));
}

#[test]
fn o4_12_the_repeated_hour_of_autumn_goes_by_the_order() {
    let text = "25/10/2026, 01:50 - Ana: a\n25/10/2026, 02:40 - Ana: b\n25/10/2026, 02:10 - Ana: c\n25/10/2026, 03:00 - Ana: d\n";
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let mut kept = Kept::default();
    kept.import_some(&WhatsApp, &[("a.txt", text.as_bytes())], Ask { zone, ..ask() }, usize::MAX);
    let times: Vec<Value> =
        all(&kept, MESSAGES).into_iter().map(|message| message["sent_at"].clone()).collect();
    let wanted = ["2026-10-24T23:50", "2026-10-25T00:40", "2026-10-25T01:10", "2026-10-25T02:00"];
    assert_eq!(times, wanted.map(|minute| json!(format!("{minute}:00.000Z"))));
}

#[test]
fn contents_decide_what_is_a_chat() {
    assert_eq!(sniff(&WhatsApp, "notes.md", android(0, 5).as_bytes()), Some(Sure::Certain));
    assert_eq!(
        sniff(&WhatsApp, "_chat.txt", b"\xef\xbb\xbf[31.01.26, 14:03:22] Ana: x"),
        Some(Sure::Certain)
    );
    assert_eq!(
        sniff(&WhatsApp, "WhatsApp Chat with Ana.txt", b"1/31/26, 2:03 PM - Ana: x"),
        Some(Sure::Certain)
    );
    assert_eq!(sniff(&WhatsApp, "a.txt", b"1/31/26, 2:03 PM - Ana: x"), None);
    assert_eq!(sniff(&WhatsApp, "_chat.txt", b"Hello"), None);
    assert_eq!(
        sniff(&WhatsApp, "a.csv", b"31.01.26,14:03,Ana,x\n31.01.26,14:04,Ana,y\n31.01.26,14:05,Ana,y\n"),
        None
    );
    let long = format!("{0}\n{1}{0}\n", "31/01/2026, 14:03 - Ana: x", "a line\n".repeat(40)).repeat(4);
    assert_eq!(sniff(&WhatsApp, "a", long.as_bytes()), Some(Sure::Certain));
    let peek = Peek { label: "a.txt", head: b"Hello\n", is_whole: true };
    assert!(WhatsApp.why_not(&peek).unwrap().starts_with("0 of its first 20 lines"));
}

#[test]
fn files_are_read_in_the_words_of_many_languages() {
    let named = |rest: &str, name: &str, words: Option<&str>| {
        let said = said(rest, true);
        assert_eq!(said.file.as_ref().and_then(|file| file.name.as_deref()), Some(name), "{rest}");
        assert_eq!(said.content.as_deref(), words, "{rest}");
        assert!(!said.is_system, "{rest}");
    };
    named(
        "Ana: \u{200e}<attached: 00000012-PHOTO-2026-01-31-14-03-22.jpg>",
        "00000012-PHOTO-2026-01-31-14-03-22.jpg",
        None,
    );
    named("Ana: Look!\nHere \u{200e}<Anhang: 00000012-a.jpg>", "00000012-a.jpg", Some("Look!\nHere"));
    named("Ana: \u{200e}<pièce jointe : 00000012-a.jpg>", "00000012-a.jpg", None);
    named("Ana: \u{200e}<添付ファイル: 00000012-a.opus>", "00000012-a.opus", None);
    named("Ana: IMG-20260131-WA0001.jpg (file attached)\nLook!", "IMG-20260131-WA0001.jpg", Some("Look!"));
    named("Ana: \u{200e}beds (2).pdf (archivo adjunto)", "beds (2).pdf", None);
    named("Ana: PTT-20260131-WA0002.opus (quelque chose de neuf)", "PTT-20260131-WA0002.opus", None);
    let omitted = |rest: &str, kind: Option<&str>, words: Option<&str>| {
        let said = said(rest, true);
        assert_eq!(
            said.file,
            Some(said::File { name: None, media_type: said.file.as_ref().and_then(|f| f.media_type) }),
            "{rest}"
        );
        assert_eq!((said.file.unwrap().media_type, said.content.as_deref()), (kind, words), "{rest}");
    };
    omitted("Ana: <Media omitted>", None, None);
    omitted("Ana: <Medien ausgeschlossen>\nSchau!", None, Some("Schau!"));
    omitted("Ana: <Multimedia omitido>", None, None);
    omitted("Ana: \u{200e}image omitted", Some("image/*"), None);
    omitted("Ana: \u{200e}GIF weggelassen", Some("image/gif"), None);
    omitted("Ana: Look! \u{200e}Bild weggelassen", Some("image/*"), Some("Look!"));
    omitted("Ana: beds.pdf • \u{200e}12 pages \u{200e}document omitted", None, Some("beds.pdf • 12 pages"));
    for text in [
        "Ana: see a.pdf (my file)",
        "Ana: <3",
        "Ana: <not: a file>",
        "Ana: the image omitted",
        "Ana: x (file attached)",
    ] {
        assert_eq!(said(text, true).file, None, "{text}");
    }
    // With or without the file, it is the same text.
    for (with, without) in [
        ("Ana: IMG-20260131-WA0001.jpg (file attached)\nLook!", "Ana: <Media omitted>\nLook!"),
        ("Ana: \u{200e}<attached: 00000012-a.jpg>", "Ana: \u{200e}image omitted"),
        ("Ana: Look! \u{200e}<attached: 00000012-a.jpg>", "Ana: Look! \u{200e}image omitted"),
        (
            "Ana: a.pdf • \u{200e}2 pages \u{200e}<attached: 00000012-a.pdf>",
            "Ana: a.pdf • \u{200e}2 pages \u{200e}document omitted",
        ),
    ] {
        assert_eq!(said(with, true).same, said(without, true).same);
    }
}

#[test]
fn who_says_it_and_what_whatsapp_says() {
    let of = |rest: &str| {
        let said = said(rest, rest.contains(LRM));
        (said.author, said.is_system, said.is_edited, said.is_deleted, said.content.unwrap_or_default())
    };
    let ana = || Some("Ana".to_owned());
    assert_eq!(of("Ana: at 10:30: go"), (ana(), false, false, false, "at 10:30: go".to_owned()));
    assert_eq!(of("+49 151 1234567: x").0.as_deref(), Some("+49 151 1234567"));
    assert_eq!(of("Ana:"), (ana(), false, false, false, String::new()));
    assert_eq!(of("Ana added Ben"), (None, true, false, false, "Ana added Ben".to_owned()));
    assert_eq!(of("Ana changed the subject to “Trip: Rome”").0, None);
    assert_eq!(
        of("Garden: \u{200e}Ana added Ben"),
        (Some("Garden".to_owned()), true, false, false, "Ana added Ben".to_owned())
    );
    assert!(of("Ana: \u{200e}Missed voice call").1);
    assert!(!of("Ana: \u{200e}Location: https://maps.google.com/?q=1,2").1);
    assert_eq!(of("Ana: Both <This message was edited>"), (ana(), false, true, false, "Both".to_owned()));
    assert_eq!(
        of("Ana: Beide \u{200e}<Diese Nachricht wurde bearbeitet.>"),
        (ana(), false, true, false, "Beide".to_owned())
    );
    for deleted in [
        "Ana: This message was deleted",
        "Ana: \u{200e}Du hast diese Nachricht gelöscht.",
        "Ana: \u{200e}此消息已删除。",
    ] {
        let (_, is_system, _, is_deleted, _) = of(deleted);
        assert_eq!((is_system, is_deleted), (false, true), "{deleted}");
    }
    // Letters joined by an invisible character stay joined.
    assert_eq!(of("Ana: 👩\u{200d}🌾 می\u{200c}خواهم").4, "👩\u{200d}🌾 می\u{200c}خواهم");
}

#[test]
fn a_poll_is_one_message_however_many_voted() {
    let poll = |votes: u32| {
        format!(
            "31/01/2026, 14:03 - Ana: POLL:\nWhich bed?\nOPTION: North ({votes} votes)\nOPTION: South (0 votes)\n31/01/2026, {}:04 - Ben: x\n",
            14 + votes
        )
    };
    for order in [[0, 3], [3, 0]] {
        let mut kept = Kept::default();
        for votes in order {
            more(&mut kept, &format!("{votes}/WhatsApp Chat with Garden.txt"), &poll(votes));
        }
        let messages = all(&kept, MESSAGES);
        assert_eq!(messages.len(), 3);
        assert_eq!(
            messages[0]["content"],
            "POLL:\nWhich bed?\nOPTION: North (3 votes)\nOPTION: South (0 votes)"
        );
    }
}

#[test]
fn a_later_export_joins_with_and_without_what_was_sent() {
    let with = format!(
        "{}31/12/2026, 10:00 - Ana: IMG-20261231-WA0001.jpg (file attached)\nLook!\n",
        android(0, 60)
    );
    let without = format!("{}31/12/2026, 10:00 - Ana: <Media omitted>\nLook!\n", android(0, 60));
    for order in [[&with, &without], [&without, &with]] {
        let mut kept = Kept::default();
        for (at, text) in order.into_iter().enumerate() {
            more(&mut kept, &format!("{at}/WhatsApp Chat with Ana.txt"), text);
        }
        assert_eq!(
            (all(&kept, CHATS).len(), all(&kept, MESSAGES).len(), all(&kept, ATTACHMENTS).len()),
            (1, 61, 1)
        );
        let file = &all(&kept, ATTACHMENTS)[0];
        assert_eq!(
            (&file["filename"], &file["content_type"]),
            (&json!("IMG-20261231-WA0001.jpg"), &json!("image/jpeg"))
        );
        assert_eq!(file["hydration_status"], "deferred");
        let message = all(&kept, MESSAGES).pop().unwrap();
        assert_eq!((&message["content"], &message["has_attachment"]), (&json!("Look!"), &json!(true)));
        assert_eq!(file["message_id"], message["id"]);
    }
}

#[test]
fn a_cut_export_and_a_renamed_contact_are_the_same_chat() {
    let (mut kept, _) = import(&[("WhatsApp Chat with Ana.txt", &android(0, 200))]);
    // A longer export, cut off at its start.
    let counts = more(&mut kept, "b/WhatsApp Chat with Ana.txt", &android(100, 250));
    // The last message carries the chat too.
    assert_eq!((counts.new, counts.changed, counts.same), (49, 1, 100));
    assert_eq!((all(&kept, CHATS).len(), all(&kept, MESSAGES).len()), (1, 250));
    assert_eq!(all(&kept, CHATS)[0]["first_message_date"], "2026-01-13T02:00:00.000Z");
    // After a rename, the author and the title change, and no message is stored twice.
    let renamed = android(50, 260).replace("- Ana:", "- Ana Green:");
    let counts = more(&mut kept, "c/WhatsApp Chat with Ana Green.txt", &renamed);
    assert_eq!((counts.new, counts.changed), (9, 101));
    assert_eq!((titles(&kept), all(&kept, MESSAGES).len()), (vec!["Ana Green".to_owned()], 260));
    assert_eq!(all(&kept, MESSAGES).iter().filter(|message| message["author"] == "Ana").count(), 25);
    // An older export with the previous name changes nothing.
    let counts = more(&mut kept, "d/WhatsApp Chat with Ana.txt", &android(40, 200));
    assert_eq!((counts.new, counts.changed, counts.same), (0, 0, 160));
    assert_eq!(titles(&kept), ["Ana Green"]);
    // A later export under a new name, with all messages.
    let counts = more(&mut kept, "e/WhatsApp Chat with Someone.txt", &android(30, 90));
    assert_eq!((counts.new, counts.same), (0, 60));
    assert_eq!(titles(&kept), ["Ana Green"]);
}

#[test]
fn exports_of_one_chat_in_one_import_are_one() {
    let (whole, cut) = (android(0, 100), android(60, 120).replace("- Ana:", "- Ana Green:"));
    let (kept, counts) =
        import(&[("a/WhatsApp Chat with Ana Green.txt", &cut), ("b/WhatsApp Chat with Ana.txt", &whole)]);
    assert_eq!((titles(&kept), all(&kept, MESSAGES).len()), (vec!["Ana Green".to_owned()], 120));
    assert_eq!(counts.read, 160);
    let plans =
        plan(&WhatsApp, &[("a/x.txt", cut.as_bytes()), ("b/y.txt", whole.as_bytes())], ask()).unwrap();
    assert!(
        plans[0].notes.iter().any(|note| note.starts_with("One of these exports has messages of a chat"))
    );
}

#[test]
fn other_chats_stay_others() {
    let other = android(0, 100).replace("message", "note");
    let (kept, counts) = import(&[
        ("a/WhatsApp Chat with Ana.txt", &android(0, 100)),
        ("b/WhatsApp Chat with Ben.txt", &other),
    ]);
    let found: BTreeSet<String> = titles(&kept).into_iter().collect();
    assert_eq!((counts.new, found), (200, ["Ana", "Ben"].map(str::to_owned).into()));
    // Short chats with the same words are two chats.
    let greeting = "31/01/2026, 14:03 - Cleo: Happy birthday!\n31/01/2026, 14:04 - Ana: Thanks\n31/01/2026, 14:04 - Cleo: Bye\n";
    let (kept, _) =
        import(&[("a/WhatsApp Chat with Cleo.txt", greeting), ("b/WhatsApp Chat with Dan.txt", greeting)]);
    assert_eq!((titles(&kept).len(), all(&kept, MESSAGES).len()), (2, 6));
    // The same short chat, exported again from another phone, is one chat.
    let ios = "[31.01.26, 14:03:10] Cleo: Happy birthday!\n[31.01.26, 14:04:00] Ana: Thanks\n[31.01.26, 14:04:30] Cleo: Bye\n";
    let (kept, _) =
        import(&[("a/WhatsApp Chat with Cleo.txt", greeting), ("b/WhatsApp Chat - Cleo/_chat.txt", ios)]);
    assert_eq!((titles(&kept).len(), all(&kept, MESSAGES).len()), (1, 3));
}

#[test]
fn two_chats_of_one_title_and_day_without_a_common_message_are_two() {
    let name = |folder: &str| format!("{folder}/WhatsApp Chat with Mum.txt");
    let (first, second) = (android(0, 10), android(0, 10).replace("message", "note"));
    for [first, second] in [[&first, &second], [&second, &first]] {
        let (mut kept, _) = import(&[(&name("a"), first)]);
        let plans = plan_beside(&WhatsApp, &[(&name("b"), second.as_bytes())], ask(), &kept).unwrap();
        assert!(
            plans[0]
                .notes
                .iter()
                .any(|note| note.contains("none of its messages: it becomes a separate chat"))
        );
        assert_eq!(more(&mut kept, &name("b"), second).new, 10);
        assert_eq!((all(&kept, CHATS).len(), all(&kept, MESSAGES).len()), (2, 20));
        // Each is recognised, also in a longer export.
        let before = kept.records.clone();
        for text in [first, second] {
            assert_eq!(more(&mut kept, &name("c"), text).same, 10);
        }
        assert_eq!(kept.records, before);
        let longer =
            android(0, 15).replace("message", if second.contains("note") { "note" } else { "message" });
        let plans = plan_beside(&WhatsApp, &[(&name("d"), longer.as_bytes())], ask(), &kept).unwrap();
        assert!(!plans[0].notes.iter().any(|note| note.contains("none of its messages")));
        // The last message carries the chat, which changed.
        assert_eq!(more(&mut kept, &name("d"), &longer).new, 4);
        assert_eq!((all(&kept, CHATS).len(), all(&kept, MESSAGES).len()), (2, 25));
    }
    // In one import, whatever the names of the folders.
    let (both, _) = import(&[(&name("a"), &first), (&name("b"), &second)]);
    let (turned, _) = import(&[(&name("b"), &first), (&name("a"), &second)]);
    assert_eq!((all(&both, CHATS).len(), all(&both, MESSAGES).len()), (2, 20));
    assert_eq!(both.records, turned.records);
}

#[test]
fn a_later_export_goes_to_the_account_that_has_its_chat() {
    let name = "WhatsApp Chat with Dad.txt";
    let (short, long, other) = (android(0, 50), android(0, 84), android(0, 9).replace("message", "note"));
    let mut kept = Kept::default();
    let mums = || Ask { account: Some("Mums phone".to_owned()), ..ask() };
    kept.import_some(&WhatsApp, &[(name, short.as_bytes())], mums(), usize::MAX);
    let files = [
        ("a/WhatsApp Chat with Dad.txt", long.as_bytes()),
        ("b/WhatsApp Chat with Ben.txt", other.as_bytes()),
    ];
    let plans = plan_beside(&WhatsApp, &files, ask(), &kept).unwrap();
    let of: Vec<(&str, &[usize])> =
        plans.iter().map(|plan| (plan.account.as_str(), &plan.units[..])).collect();
    assert_eq!(of, [("Mums phone", &[0][..]), ("whatsapp", &[1][..])]);
    assert_eq!(
        plans[0].whose.note.as_deref(),
        Some("The account is Mums phone: it already has this chat. --account NAME names another.")
    );
    assert_eq!(plans[1].whose.note, None);
    // Two overlapping exports go together.
    let parts = [android(0, 60), android(40, 84)];
    let files = [
        ("a/WhatsApp Chat with Dad.txt", parts[0].as_bytes()),
        ("b/WhatsApp Chat with Dad.txt", parts[1].as_bytes()),
    ];
    let plans = plan_beside(&WhatsApp, &files, ask(), &kept).unwrap();
    assert_eq!((plans.len(), plans[0].account.as_str()), (1, "Mums phone"));
    assert_eq!(more(&mut kept, "later/WhatsApp Chat with Dad.txt", &long).new, 33);
    assert_eq!((all(&kept, CHATS).len(), all(&kept, MESSAGES).len()), (1, 84));
    // Only an explicit --account puts it elsewhere.
    let named = Ask { account: Some("whatsapp".to_owned()), ..ask() };
    let plans = plan_beside(&WhatsApp, &[(name, long.as_bytes())], named, &kept).unwrap();
    assert_eq!((plans[0].account.as_str(), &plans[0].whose.note), ("whatsapp", &None));
}

#[test]
fn a_chat_that_was_read_with_the_other_order_of_dates_is_told() {
    let text = "1/2/26, 10:00 - Ana: a\n1/2/26, 10:01 - Ben: b\n2/3/26, 10:00 - Ana: c\n";
    let of = |order| Ask { date_order: Some(order), ..ask() };
    let file = [("WhatsApp Chat with Ana.txt", text.as_bytes())];
    let mut kept = Kept::default();
    kept.import_some(&WhatsApp, &file, of(DateOrder::MonthDayYear), usize::MAX);
    for (order, is_told) in [(DateOrder::DayMonthYear, true), (DateOrder::MonthDayYear, false)] {
        let plans = plan_beside(&WhatsApp, &file, of(order), &kept).unwrap();
        assert_eq!(plans[0].notes.iter().any(|note| note.contains("pdpp provider forget")), is_told);
    }
}

#[test]
fn equal_messages_of_a_minute_are_each_one() {
    let text = "31/01/2026, 14:03 - Ana: ok\n".repeat(3) + "31/01/2026, 14:04 - Ben: ok\n";
    let (mut kept, counts) = import(&[("WhatsApp Chat with Ana.txt", &text)]);
    assert_eq!((counts.new, all(&kept, MESSAGES).len()), (4, 4));
    assert_eq!(more(&mut kept, "b/WhatsApp Chat with Ana.txt", &text).same, 4);
}

#[test]
fn titles_are_found_in_names() {
    let of = |label: &str, source: &str| title(label, source, None);
    for (label, source, wanted) in [
        ("WhatsApp Chat with Ana.txt", "x.zip", Some("Ana")),
        ("WhatsApp Chat with Ana (2).txt", "x.zip", Some("Ana")),
        ("_chat.txt", "WhatsApp Chat - Family.zip", Some("Family")),
        ("_chat.txt", "WhatsApp Chat - \u{200e}Family (1).zip", Some("Family")),
        ("exports/WhatsApp Chat - Trip: Rome.zip/_chat.txt", "exports", Some("Trip: Rome")),
        ("WhatsApp-Chat mit Opa.txt", "", Some("Opa")),
        ("Chat de WhatsApp con Luz.txt", "", Some("Luz")),
        ("Conversa do WhatsApp com Zé.txt", "", Some("Zé")),
        ("Чат WhatsApp с контактом Аня.txt", "", Some("Аня")),
        ("Ali ile WhatsApp Sohbeti.txt", "", Some("Ali")),
        ("family.txt", "family.txt", Some("family")),
        ("_chat.txt", "Family.zip", Some("Family")),
        ("_chat.txt", "Downloads", None),
    ] {
        assert_eq!(of(label, source).as_deref(), wanted, "{label} {source}");
    }
    // The name that WhatsApp uses for the chat in the file.
    let text = "[31.01.26, 14:03:10] Garden: \u{200e}Messages and calls are end-to-end encrypted.\n[31.01.26, 14:03:11] Ana: x\n[31.01.26, 14:04:00] Ben: y\n";
    let (kept, _) = import(&[("_chat.txt", text)]);
    assert_eq!(titles(&kept), ["Garden"]);
    assert_eq!(all(&kept, CHATS)[0]["participants"], json!(["Ana", "Ben"]));
    let (kept, _) = import(&[("_chat.txt", &text.replace('\u{200e}', "").replace("Garden", "Cleo"))]);
    assert_eq!(titles(&kept), ["Ana, Ben, Cleo"]);
}

#[test]
fn what_was_sent_is_part_of_a_chat() {
    let text = format!(
        "{}31/12/2026, 10:00 - Ana: Ben.vcf (file attached)\n31/12/2026, 10:01 - Ana: \u{200e}<attached: 00000001-t.csv>\n",
        android(0, 5)
    );
    let bytes = text.clone().into_bytes();
    let open =
        || Ok(Box::new(io::Cursor::new(bytes.clone())) as Box<dyn crate::import::format::ReadFrom + Send>);
    let member = Member { label: "zip/_chat.txt", head: &[], size: None, modified_ms: None, open: &open };
    let others = ["zip/Ben.vcf", "zip/other.vcf", "Ben.vcf", "zip/00000001-t.csv"];
    assert_eq!(WhatsApp.companions(&[member], &others).unwrap(), [0, 3]);
}

#[test]
fn pasted_heads_are_no_messages() {
    let text = "[31.01.26, 14:03:22] Ana: See:\n31.01.26, 14:03 - Ben: pasted\n[14:03, 31/01/2026] Ben: pasted\n[99.99.26, 14:03:22] Ben: x\n[31.01.26, 14:04:00] Ben: y\n[31.01.26, 14:05:00] Ben: z\n";
    let (kept, counts) = import(&[("a.txt", text)]);
    assert_eq!(counts.read, 3);
    assert!(all(&kept, MESSAGES)[0]["content"].as_str().unwrap().ends_with("Ben: x"));
}

#[test]
fn what_stands_before_the_first_message_is_bad() {
    let text = format!("\nthe end of a message\nthat was cut\n{}", android(0, 3));
    let (_, counts) = import(&[("a.txt", &text)]);
    assert_eq!((counts.read, counts.new, counts.bad), (4, 3, [("no date", 1)].into()));
}

#[test]
fn a_last_line_that_may_become_a_head_is_not_lost() {
    let text = android(0, 3) + "and\n12";
    let (mut kept, _) = import(&[("a.txt", &text)]);
    assert_eq!(all(&kept, MESSAGES)[2]["content"], "message 2\nand\n12");
    let more = format!("{text}/12/2026, 10:00 - Ana: x\n");
    kept.import_some(&WhatsApp, &[("a.txt", more.as_bytes())], ask(), usize::MAX);
    let messages = all(&kept, MESSAGES);
    assert_eq!(
        (messages.len(), &messages[2]["content"], &messages[3]["content"]),
        (4, &json!("message 2\nand"), &json!("x"))
    );
}

#[test]
fn o4_11_bytes_that_are_no_text_are_replaced() {
    let text =
        [&b"\xef\xbb\xbf"[..], android(0, 3).as_bytes(), b"31/12/2026, 10:00 - Ana: a\xff\xfeb\r\nnext\r\n"]
            .concat();
    let (kept, counts) = imported(&WhatsApp, &[("a.txt", &text)]);
    assert_eq!(counts.new, 4);
    assert_eq!(all(&kept, MESSAGES)[3]["content"], "a\u{fffd}\u{fffd}b\nnext");
}

/// Exports of one chat: a part of it, with one of two names for Ana.
fn export() -> impl Strategy<Value = String> {
    (0_u32..60, 30_u32..60, any::<bool>()).prop_map(|(from, size, is_renamed)| {
        let text = android(from, from + size);
        let named = if is_renamed { "IMG-1-WA1.jpg (file attached)" } else { "<Media omitted>" };
        let text = text.replace("message 1", &format!("{named}\nmessage 1"));
        if is_renamed { text.replace("- Ana:", "- Ana Green:") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn twice_is_once_and_no_order_counts(first in export(), second in export()) {
        // All begin on the same first day; otherwise the one that is read first would give the chat its id.
        let begin = android(0, 2);
        let files = [begin.clone() + &first, begin + &second];
        let named = [("a/WhatsApp Chat with Ana.txt", files[0].as_bytes()), ("b/WhatsApp Chat with Ana.txt", files[1].as_bytes())];
        assert_twice_is_once_in_any_order(&WhatsApp, &named);
    }

    #[test]
    fn parts_in_any_order_are_one_chat(first in export(), second in export()) {
        let count = |files: [&String; 2]| {
            let mut kept = Kept::default();
            for (at, file) in files.iter().enumerate() {
                more(&mut kept, &format!("{at}/WhatsApp Chat with Ana.txt"), file);
            }
            let messages: Vec<Value> = all(&kept, MESSAGES).into_iter().map(|mut message| {
                message["id"] = Value::Null;
                message["chat_id"] = Value::Null;
                message
            }).collect();
            (all(&kept, CHATS).len(), messages)
        };
        let (chats, messages) = count([&first, &second]);
        prop_assert_eq!(&count([&second, &first]), &(chats, messages));
    }

    #[test]
    fn cut_anywhere_and_finished_is_whole(cut in 0_usize..4000, limit in 1_usize..30) {
        let whole = android(13, 60).replace("message 2", "IMG-1-WA1.jpg (file attached)\nmessage 2\nand more");
        // A plan needs at least one message.
        let cut = cut.max(200);
        assert_cut_and_finished_is_whole(&WhatsApp, whole.as_bytes(), cut, limit);
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in ".{0,40}", at in 0_usize..3000) {
        let mut changed = android(0, 60).into_bytes();
        let at = at % changed.len();
        changed.splice(at..at, bytes.into_iter().chain(text.bytes()));
        sniff(&WhatsApp, "a", &changed);
        let told = Ask { date_order: Some(DateOrder::DayMonthYear), ..ask() };
        if let Ok(plans) = plan(&WhatsApp, &[("a", &changed)], told) {
            let (items, _) = split(&WhatsApp, &plans[0], "a", &changed, 0);
            for raw in items {
                let _ = WhatsApp.parse(&plans[0], &raw);
            }
        }
        for line in text.lines() {
            let _ = (Head::of(line), said(line, true));
        }
    }
}
