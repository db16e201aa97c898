//! Calendars, events and who was invited: an attendee's key is compound.

use super::prose::{PEOPLE, TOPICS, moment, prose};
use super::records::{Object, Records, date, instant, list};
use super::rng::Rng;
use crate::vault::declaration::StreamSpec;

/// What the calendar declares.
pub const STREAMS: &[StreamSpec] = &[
    StreamSpec {
        name: "calendars",
        key: "id",
        time: None,
        fields: "id string! eq
            name string! role=primary-title eq lex
            time_zone string eq group
            is_primary boolean eq group",
        views: &[],
        relations: &[("events", "events", "calendar_id", true)],
    },
    StreamSpec {
        name: "events",
        key: "id",
        time: Some("start_at"),
        fields: "id string! eq
            calendar_id string! eq group distinct
            title text? role=primary-title eq lex
            description text? role=secondary lex
            location string? eq lex group
            start_at timestamp! role=event-time eq range time min max
            end_at timestamp eq range time
            day date eq range group
            is_all_day boolean eq group
            status string eq group
            attendee_count integer eq range sum min max
            recurrence array",
        views: &[("agenda", "Title, place and time", "id calendar_id title location start_at end_at")],
        relations: &[("attendees", "attendees", "event_id", true)],
    },
    StreamSpec {
        name: "attendees",
        key: "event_id email",
        time: None,
        fields: "event_id string! eq
            email string! eq group distinct
            name person? role=primary-title eq lex
            response string eq group",
        views: &[],
        relations: &[],
    },
];

const PLACES: [&str; 8] = [
    "Room Gaupe",
    "Room Ørn",
    "Video call",
    "Nidelven track",
    "Café Løkka",
    "東京オフィス",
    "Bank, 2nd floor",
    "Home",
];
const ANSWERS: [&str; 4] = ["accepted", "declined", "tentative", "needs_action"];

/// The records of the calendar.
pub fn fill(rng: &mut Rng, records: &mut Records<'_>) {
    for (index, name) in ["Maren", "Kestrel Maps", "Choir", "Family / Familie"].iter().enumerate() {
        let id = format!("cal{index}");
        records.put(
            "calendars",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("name", name)
                .text("time_zone", "Europe/Oslo")
                .raw("is_primary", index == 0),
        );
    }
    for index in 0..1000_usize {
        let start = moment(rng, index, 1000) / 900 * 900;
        let id = format!("ev{index:04}_R{}", date(start).replace('-', ""));
        let note = prose(rng, 2);
        let attendees = index % 3;
        records.put(
            "events",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("calendar_id", &format!("cal{}", index % 4))
                .text("title", TOPICS[index % TOPICS.len()])
                .maybe("description", (index % 2 == 0).then_some(note.as_str()))
                .maybe("location", (index % 5 != 0).then_some(rng.pick(&PLACES)))
                .text("start_at", &instant(start))
                .text("end_at", &instant(start + 1_800 * (1 + i64::try_from(index % 4).unwrap_or(0))))
                .text("day", &date(start))
                .raw("is_all_day", index % 40 == 0)
                .text("status", if index % 19 == 0 { "cancelled" } else { "confirmed" })
                .raw("attendee_count", attendees)
                .raw("recurrence", if index % 10 == 0 { "[\"RRULE:FREQ=WEEKLY\"]" } else { "[]" }),
        );
        for nth in 0..attendees {
            let person = PEOPLE[(index + nth * 5) % PEOPLE.len()];
            records.put(
                "attendees",
                list(&[&id, person.email]),
                Object::new()
                    .text("event_id", &id)
                    .text("email", person.email)
                    .text("name", person.name)
                    .text("response", rng.pick(&ANSWERS)),
            );
        }
    }
}
