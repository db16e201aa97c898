use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::import::format::DateOrder;
use crate::import::harness::{
    self, Counts, Kept, assert_cut_and_finished_is_whole, assert_twice_is_once_in_any_order, imported, sniff,
};

fn calendar(inner: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Work\r\n{}END:VCALENDAR\r\n", crlf(inner))
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

fn event(lines: &str) -> String {
    format!("BEGIN:VEVENT\nUID:1@a\n{lines}\nEND:VEVENT\n")
}

fn kept(text: &str) -> (Kept, Counts) {
    imported(&Ical, &[("Work.ics", text.as_bytes())])
}

fn of_stream(kept: &Kept, stream: &str) -> Vec<Value> {
    kept.sorted(stream, |record| record["start"].to_string())
}

fn events(text: &str) -> Vec<Value> {
    of_stream(&kept(text).0, EVENTS)
}

fn one(lines: &str) -> Value {
    let mut all = events(&calendar(&event(lines)));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// When the occurrences begin, in a short form.
fn starts(text: &str) -> Vec<String> {
    of_stream(&kept(text).0, OCCURRENCES).iter().map(start_of).collect()
}

fn start_of(record: &Value) -> String {
    record["start"].as_str().unwrap().replace(":00.000Z", "")
}

fn told(text: &str) -> Vec<&'static str> {
    kept(text).1.told.into_keys().collect()
}

#[test]
fn o5_1_an_event_is_a_record_and_its_time_another() {
    let text = calendar(&event(
        "DTSTAMP:20260201T000000Z\nDTSTART;TZID=Europe/Berlin:20260302T090000\nDTEND;TZID=Europe/Berlin:20260302T103000\n\
         SUMMARY:Planning\\, part 1\nDESCRIPTION:First\\nsecond\\; third\nLOCATION:Room \"B\"\nSTATUS:CONFIRMED\n\
         ORGANIZER;CN=\"Berg, Bo\":mailto:bo@example.org\nATTENDEE;CN=Ana;PARTSTAT=ACCEPTED:MAILTO:ana@example.org\n\
         ATTENDEE;CN=Cy Dee;ROLE=REQ-PARTICIPANT;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:cy@example.org\n\
         ATTENDEE:mailto:di@example.org\nATTENDEE;PARTSTAT=DECLINED;CN=eva@example.org:mailto:eva@example.org\n\
         BEGIN:VALARM\nACTION:DISPLAY\nDESCRIPTION:Now\nTRIGGER:-PT10M\nEND:VALARM",
    ));
    assert_eq!(sniff(&Ical, "a", text.as_bytes()), Some(Sure::Certain));
    assert_eq!(sniff(&Ical, "a", b"\xef\xbb\xbfbegin:vcalendar\n"), Some(Sure::Certain));
    assert_eq!(sniff(&Ical, "a.ics", b"BEGIN:VCARD\r\n"), None);
    let (kept, counts) = kept(&text);
    assert_eq!((counts.read, counts.new), (1, 1));
    let found = of_stream(&kept, EVENTS).remove(0);
    let id = found["id"].as_str().unwrap().to_owned();
    assert_eq!(
        found,
        json!({"id": id, "uid": "1@a", "calendar_name": "Work", "summary": "Planning, part 1",
            "description": "First\nsecond; third", "location": "Room \"B\"", "start": "2026-03-02T08:00:00.000Z",
            "end": "2026-03-02T09:30:00.000Z", "all_day": false, "time_zone": "Europe/Berlin",
            "organizer_email": "bo@example.org",
            "attendees": [
                {"name": "Ana", "email": "ana@example.org", "status": "accepted"},
                {"name": "Cy Dee", "email": "cy@example.org", "status": "needs-action"},
                {"name": null, "email": "di@example.org", "status": "needs-action"},
                {"name": "eva@example.org", "email": "eva@example.org", "status": "declined"}],
            "attendee_text": "Berg, Bo <bo@example.org>: organizer\nAna <ana@example.org>: accepted\n\
                Cy Dee <cy@example.org>: needs-action (no answer yet)\ndi@example.org: needs-action (no answer yet)\n\
                eva@example.org: declined",
            "status": "confirmed", "rrule": null, "recurrence_id": null, "occurrences_until": null})
    );
    assert_eq!(
        of_stream(&kept, OCCURRENCES),
        [json!({"id": format!("{id}:2026-03-02T08:00:00Z"), "event_id": id, "summary": "Planning, part 1",
            "location": "Room \"B\"", "start": "2026-03-02T08:00:00.000Z", "end": "2026-03-02T09:30:00.000Z", "all_day": false})]
    );
}

#[test]
fn o5_lines_are_folded_within_characters_too() {
    let mut text = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260301T100000Z\nSUMMARY:Caf\xc3\r\n \xa9 in Ly\n\ton\n".to_vec();
    text.extend_from_slice(b"LOCATION:caf\xe9\nEND:VEVENT\nEND:VCALENDAR\n");
    let found = of_stream(&imported(&Ical, &[("a.ics", &text)]).0, EVENTS).remove(0);
    assert_eq!((&found["summary"], &found["location"]), (&json!("Café in Lyon"), &json!("café")));
}

#[test]
fn o5_whole_days_are_at_midnight_and_end_with_the_day_behind() {
    let of = |lines: &str| {
        let found = one(lines);
        (start_of(&found), found["end"].as_str().map(|end| end[..10].to_owned()), found["all_day"].clone())
    };
    let day = |end: &str| ("2026-03-01T00:00".to_owned(), Some(end.to_owned()), json!(true));
    assert_eq!(of("DTSTART;VALUE=DATE:20260301\nDTEND;VALUE=DATE:20260303"), day("2026-03-03"));
    assert_eq!(of("DTSTART;VALUE=DATE:20260301"), day("2026-03-02"));
    assert_eq!(of("DTSTART;TZID=Asia/Tokyo;VALUE=DATE:20260301\nDURATION:P2D"), day("2026-03-03"));
    assert_eq!(of("DTSTART:20260301"), day("2026-03-02"));
    assert_eq!(one("DTSTART;VALUE=DATE:20260301")["time_zone"], json!(null));
}

#[test]
fn o5_durations_and_ends_in_other_zones_are_told_apart() {
    let end = |lines: &str| one(lines)["end"].as_str().map(|end| end.replace(":00.000Z", ""));
    for (lines, expected) in [
        ("DTSTART:20260301T100000Z\nDURATION:PT1H30M", Some("2026-03-01T11:30")),
        ("DTSTART:20260301T100000Z\nDURATION:P1W", Some("2026-03-08T10:00")),
        ("DTSTART:20260301T100000Z\nDURATION:-PT1H", None),
        ("DTSTART:20260301T100000Z\nDTEND:20260301T090000Z", None),
        ("DTSTART:20260301T100000Z", None),
        // The clocks change in the night before 29 March, so a day in clock time is 23 hours.
        ("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:P1D", Some("2026-03-29T10:00")),
        ("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:PT24H", Some("2026-03-29T11:00")),
        (
            "DTSTART;TZID=Europe/Berlin:20260301T100000\nDTEND;TZID=America/New_York:20260301T130000",
            Some("2026-03-01T18:00"),
        ),
    ] {
        assert_eq!(end(lines).as_deref(), expected, "{lines}");
    }
}

#[test]
fn o5_zones_of_windows_mangled_ones_and_those_of_the_file_are_read() {
    for (zone, start) in [
        ("W. Europe Standard Time", "2026-07-01T08:00"),
        ("/mozilla.org/20070129_1/Europe/Berlin", "2026-07-01T08:00"),
        ("\"(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna\"", "2026-07-01T08:00"),
        ("Tokyo Standard Time", "2026-07-01T01:00"),
    ] {
        assert_eq!(start_of(&one(&format!("DTSTART;TZID={zone}:20260701T100000"))), start, "{zone}");
    }
    let own = "BEGIN:VTIMEZONE\nTZID:Head office\nBEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0530\nTZOFFSETTO:+0530\n\
        END:STANDARD\nEND:VTIMEZONE\n";
    let timed = event("DTSTART;TZID=Head office:20260701T100000");
    // The definition may be anywhere in the file.
    for text in [calendar(&format!("{own}{timed}")), calendar(&format!("{timed}{own}"))] {
        let found = events(&text).remove(0);
        assert_eq!(
            (start_of(&found), &found["time_zone"]),
            ("2026-07-01T04:30".to_owned(), &json!("Head office"))
        );
        assert_eq!(told(&text), Vec::<&str>::new());
    }
    let unknown = calendar(&timed);
    assert_eq!(start_of(&events(&unknown)[0]), "2026-07-01T10:00");
    assert_eq!(told(&unknown), ["in an unknown time zone: its times are read in the account's zone"]);
}

#[test]
fn o4_12_times_without_a_zone_are_the_accounts_or_the_calendars() {
    let text = calendar(&event("DTSTART:20260701T100000"));
    let mut ask = harness::ask();
    ask.zone = jiff::tz::TimeZone::get("America/New_York").unwrap();
    ask.date_order = Some(DateOrder::DayMonthYear);
    let import = |text: &str, ask| {
        let mut kept = Kept::default();
        kept.import_some(&Ical, &[("a.ics", text.as_bytes())], ask, usize::MAX);
        start_of(&of_stream(&kept, EVENTS)[0])
    };
    assert_eq!(import(&text, ask.clone()), "2026-07-01T14:00");
    let of_berlin = text.replace("VERSION:2.0", "X-WR-TIMEZONE:Europe/Berlin");
    assert_eq!(import(&of_berlin, ask), "2026-07-01T08:00");
}

#[test]
fn o5_a_rule_keeps_the_hour_when_the_clocks_change() {
    let text = calendar(&event(
        "DTSTART;TZID=Europe/Berlin:20260323T090000\nDTEND;TZID=Europe/Berlin:20260323T100000\nRRULE:FREQ=WEEKLY;COUNT=3\n\
         EXDATE;TZID=Europe/Berlin:20260406T090000\nRDATE;TZID=Europe/Berlin:20260407T140000",
    ));
    assert_eq!(starts(&text), ["2026-03-23T08:00", "2026-03-30T07:00", "2026-04-07T12:00"]);
    let all_days = calendar(&event(
        "DTSTART;VALUE=DATE:20260130\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1;UNTIL=20260430\nEXDATE;VALUE=DATE:20260228",
    ));
    assert_eq!(
        starts(&all_days),
        ["2026-01-30T00:00", "2026-01-31T00:00", "2026-03-31T00:00", "2026-04-30T00:00"]
    );
    // A date excludes the occurrence that begins on that day.
    let by_day =
        calendar(&event("DTSTART:20260301T100000Z\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20260302"));
    assert_eq!(starts(&by_day), ["2026-03-01T10:00", "2026-03-03T10:00"]);
    let excluded = calendar(&event(
        "DTSTART:20260301T100000Z\nRRULE:FREQ=DAILY;COUNT=4\nEXRULE:FREQ=DAILY;INTERVAL=2;COUNT=2\nRDATE;VALUE=PERIOD:20260310T100000Z/PT1H",
    ));
    assert_eq!(starts(&excluded), ["2026-03-02T10:00", "2026-03-04T10:00", "2026-03-10T10:00"]);
}

#[test]
fn o5_times_with_events_of_their_own_take_the_place_of_the_rules() {
    let series =
        event("DTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=WEEKLY;COUNT=4\nSUMMARY:Weekly");
    let moved = event(
        "RECURRENCE-ID;TZID=Europe/Berlin:20260309T090000\nDTSTART;TZID=Europe/Berlin:20260310T110000\nSUMMARY:Moved",
    );
    let gone =
        event("RECURRENCE-ID:20260316T080000Z\nDTSTART:20260316T080000Z\nSTATUS:CANCELLED\nSUMMARY:Off");
    // The files may come in any order.
    for parts in [[&series, &moved, &gone], [&gone, &moved, &series]] {
        let text = calendar(&parts.map(String::as_str).concat());
        assert_eq!(starts(&text), ["2026-03-02T08:00", "2026-03-10T10:00", "2026-03-23T08:00"]);
        let all = events(&text);
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|event| event["uid"] == "1@a"));
        assert_eq!(all[1]["recurrence_id"], "2026-03-09T08:00:00.000Z");
        assert_eq!(all[2]["status"], "cancelled");
    }
    let future = moved.replace("RECURRENCE-ID;", "RECURRENCE-ID;RANGE=THISANDFUTURE;");
    let text = calendar(&format!("{series}{future}"));
    assert_eq!(starts(&text).len(), 4);
    assert!(told(&text)[0].contains("THISANDFUTURE"));
    let cancelled = calendar(&event("DTSTART:20260301T100000Z\nRRULE:FREQ=DAILY\nSTATUS:CANCELLED"));
    assert_eq!((starts(&cancelled).len(), events(&cancelled)[0]["status"].clone()), (0, json!("cancelled")));
}

#[test]
fn o5_an_endless_rule_ends_two_years_behind_the_file() {
    let series = |stamp: &str| {
        calendar(&event(&format!(
            "DTSTAMP:{stamp}\nDTSTART;VALUE=DATE:19500704\nRRULE:FREQ=YEARLY\nSUMMARY:Birthday"
        )))
    };
    let text = series("20260105T000000Z");
    let found = starts(&text);
    assert_eq!(
        (found.len(), found[1].as_str(), found[29].as_str()),
        (30, "2000-07-04T00:00", "2028-07-04T00:00")
    );
    assert_eq!(events(&text)[0]["occurrences_until"], "2028-12-31T23:59:59.000Z");
    assert!(told(&text)[0].contains("without an end"));
    // Another export from the same year gives the same occurrences. A year later there is one more.
    assert_eq!(starts(&series("20261130T000000Z")), found);
    let later = series("20270105T000000Z");
    assert_eq!(starts(&later).len(), 31);
    assert_twice_is_once_in_any_order(&Ical, &[("a.ics", text.as_bytes()), ("b.ics", later.as_bytes())]);
    // A rule with an end is followed to its end.
    let long =
        calendar(&event("DTSTAMP:20260105T000000Z\nDTSTART:20260101T100000Z\nRRULE:FREQ=YEARLY;COUNT=40"));
    assert_eq!(starts(&long).len(), 40);
}

#[test]
fn o5_a_rule_that_is_not_known_leaves_the_event() {
    for rule in ["W1 MO #10", "FREQ=SECONDLY", "FREQ=WEEKLY;BYDAY=NO"] {
        let text = calendar(&event(&format!("DTSTART:20260301T100000Z\nRRULE:{rule}")));
        assert_eq!(starts(&text), ["2026-03-01T10:00"], "{rule}");
        assert_eq!(events(&text)[0]["rrule"], rule);
        assert!(told(&text)[0].contains("an unknown rule"), "{rule}");
    }
    let many = calendar(&event(
        "DTSTAMP:20260101T000000Z\nDTSTART:20200101T100000Z\nRRULE:FREQ=DAILY;COUNT=1000000",
    ));
    assert_eq!(starts(&many).len(), 3288, "up to two years behind the file");
    assert!(told(&many)[0].contains("more than 5,000"));
}

#[test]
fn o5_of_two_versions_the_newer_counts_with_its_times() {
    let of = |sequence: u32, changed: &str, rule: &str| {
        calendar(&event(&format!(
            "SEQUENCE:{sequence}\nLAST-MODIFIED:{changed}\nDTSTART:20260302T090000Z\nRRULE:{rule}\nSUMMARY:{rule}"
        )))
    };
    let old = of(0, "20260201T000000Z", "FREQ=DAILY;COUNT=5");
    let new = of(1, "20260101T000000Z", "FREQ=WEEKLY;COUNT=2");
    let newest = of(1, "20260301T000000Z", "FREQ=WEEKLY;COUNT=3");
    for order in [[&old, &new, &newest], [&newest, &new, &old], [&new, &newest, &old]] {
        let names = ["a.ics", "b.ics", "c.ics"];
        let mut kept = Kept::default();
        for (name, text) in names.iter().zip(order) {
            kept.import(&Ical, &[(name, text.as_bytes())]);
        }
        let found: Vec<String> = of_stream(&kept, OCCURRENCES).iter().map(start_of).collect();
        assert_eq!(found, ["2026-03-02T09:00", "2026-03-09T09:00", "2026-03-16T09:00"]);
        assert_eq!(of_stream(&kept, EVENTS)[0]["summary"], "FREQ=WEEKLY;COUNT=3");
    }
}

#[test]
fn o5_events_without_a_uid_or_with_one_of_several_are_apart() {
    let bare =
        |uid: &str, start: &str| format!("BEGIN:VEVENT\n{uid}DTSTART:{start}\nSUMMARY:Class\nEND:VEVENT\n");
    let (first, second) = ("20260301T100000Z", "20260302T100000Z");
    for uid in ["", "UID:\n", "UID:timetable\n"] {
        let text = calendar(&format!("{}{}", bare(uid, first), bare(uid, second)));
        let all = events(&text);
        assert_eq!(all.len(), 2, "{uid}");
        assert!(all.iter().all(|event| !event["uid"].as_str().unwrap().is_empty()));
        assert_twice_is_once_in_any_order(&Ical, &[("a.ics", text.as_bytes()), ("b.ics", text.as_bytes())]);
    }
    let same = calendar(&format!("{}{}", bare("UID:2\n", first), bare("UID:2\n", first)));
    assert_eq!(events(&same).len(), 1);
}

#[test]
fn o5_several_calendars_keep_their_names_and_apart() {
    let (work, home) =
        (calendar(&event("DTSTART:20260301T100000Z")), calendar(&event("DTSTART:20260301T100000Z")));
    let home = home.replace("CALNAME:Work", "CALNAME:Ho\r\n me");
    let nameless = work.replace("X-WR-CALNAME:Work\r\n", "");
    let both = format!("{work}{home}");
    let names = |files: &[(&str, &[u8])]| {
        let mut names: Vec<String> = of_stream(&imported(&Ical, files).0, EVENTS)
            .iter()
            .map(|event| event["calendar_name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&[("Calendar/a.ics", both.as_bytes())]), ["Home", "Work"]);
    let files: [(&str, &[u8]); 2] =
        [("Calendar/Work.ics", work.as_bytes()), ("Calendar/Home.ics", home.as_bytes())];
    assert_eq!(names(&files), ["Home", "Work"]);
    assert_eq!(names(&[("x/Club (2).ics", nameless.as_bytes())]), ["Club"]);
}

#[test]
fn o4_4_what_is_no_event_is_skipped_and_counted() {
    let text = calendar(
        "BEGIN:VTODO\nUID:2\nSUMMARY:Buy milk\nEND:VTODO\nBEGIN:VJOURNAL\nEND:VJOURNAL\nBEGIN:VFREEBUSY\nEND:VFREEBUSY\n\
         BEGIN:X-NOTE\nEND:X-NOTE\nBEGIN:VEVENT\nSUMMARY:Never\nEND:VEVENT\n",
    );
    let (_, counts) = kept(&format!("{text}stray\r\n"));
    assert_eq!(counts.read, 6);
    assert_eq!(
        counts.skipped.keys().copied().collect::<Vec<_>>(),
        [
            "a journal entry (VJOURNAL)",
            "a task (VTODO)",
            "an item that is not an event",
            "times that are free or busy (VFREEBUSY)"
        ]
    );
    assert_eq!(
        counts.bad.keys().copied().collect::<Vec<_>>(),
        ["an event without a start", "text outside of a calendar"]
    );
}

#[test]
fn an_event_whose_end_was_forgotten_takes_none_of_the_next() {
    let text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260301T100000Z\nBEGIN:VALARM\nBEGIN:VEVENT\nUID:2\nDTSTART:20260302T100000Z\n\
        END:VCALENDAR\nBEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:3\nDTSTART:20260303T100000Z\nEND:VEVENT\nEND:VCALENDAR\n";
    let uids: Vec<Value> = events(text).iter().map(|event| event["uid"].clone()).collect();
    assert_eq!(uids, ["1", "2", "3"]);
}

#[test]
fn an_old_calendar_of_1_0_is_read() {
    let text = "BEGIN:VCALENDAR\nVERSION:1.0\nBEGIN:VEVENT\nUID:1\nDTSTART:20260301T100000Z\n\
        SUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Caf=C3=A9 =\nbreak\nRRULE:D1 #3\nEND:VEVENT\nEND:VCALENDAR\n";
    assert_eq!(events(text)[0]["summary"], "Café break");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_bad(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let event = [b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:", bytes.as_slice(), b"\nEND:VEVENT\n"].concat();
        imported(&Ical, &[("a", &event)]);
        imported(&Ical, &[("a", &bytes)]);
    }

    #[test]
    fn any_lines_of_an_event_are_read_or_bad(
        lines in "((DTSTART|DTEND|DURATION|RRULE|RDATE|EXDATE|RECURRENCE-ID|UID|SEQUENCE)(;TZID=[A-Za-z/ ]{0,8}|;VALUE=DATE)?:\
            (20260[1-9]0[1-9](T100000Z?)?|PT[0-9]{1,3}H|FREQ=DAILY|FREQ=MONTHLY;COUNT=[0-9]{1,8}|[ -~]{0,10})\n){0,6}",
    ) {
        let text = calendar(&event(&lines));
        let (kept, counts) = kept(&text);
        prop_assert_eq!(counts.read, 1);
        prop_assert!(kept.records.len() <= 5001);
    }

    #[test]
    fn cut_anywhere_and_finished_is_whole(cut in 0..1_200_usize) {
        let text = calendar(&format!(
            "{}{}{}{}",
            event("DTSTAMP:20240101T000000Z\nDTSTART;TZID=X:20260302T090000\nRRULE:FREQ=WEEKLY\nSUMMARY:Weekly"),
            event("RECURRENCE-ID;TZID=X:20260309T090000\nDTSTART;TZID=X:20260310T110000\nSUMMARY:Moved"),
            event("DTSTAMP:20260101T000000Z\nDTSTART:20260302T090000Z\nSUMMARY:Other").replace("1@a", "2@a"),
            "BEGIN:VTIMEZONE\nTZID:X\nBEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0530\nTZOFFSETTO:+0530\n\
             END:STANDARD\nEND:VTIMEZONE\n",
        ));
        // A later line may affect an earlier event, so an interrupted import and a file that grew are different cases.
        assert_cut_and_finished_is_whole(&Ical, text.as_bytes(), cut, usize::MAX);
        assert_cut_and_finished_is_whole(&Ical, text.as_bytes(), text.len(), 1);
    }
}
