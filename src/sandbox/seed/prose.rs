//! The raw material of the made-up data: its time, its people, its topics and its sentences.

use std::fmt::Write as _;

use super::rng::Rng;

/// When the data begins: 2024-01-01T00:00:00Z, in seconds since 1970.
pub const BEGIN: i64 = 1_704_067_200;
/// When it ends, in seconds since 1970: 2026-11-01T00:00:00Z.
pub const END: i64 = 1_793_491_200;

/// A made-up person.
#[derive(Debug, Clone, Copy, Default)]
pub struct Person {
    /// Their name.
    pub name: &'static str,
    /// Their address.
    pub email: &'static str,
}

/// The people in the data; none of them exists.
pub const PEOPLE: [Person; 16] = [
    Person { name: "Ingrid Aas", email: "ingrid.aas@example.com" },
    Person { name: "Tomás Herrera", email: "tomas@example.org" },
    Person { name: "田中 美咲", email: "misaki.tanaka@example.jp" },
    Person { name: "Олена Коваль", email: "olena.koval@example.net" },
    Person { name: "ليلى حداد", email: "layla.haddad@example.com" },
    Person { name: "Björn Lindqvist", email: "bjorn@example.se" },
    Person { name: "Priya Raman", email: "priya.raman@example.in" },
    Person { name: "Kwame Mensah", email: "kwame@example.org" },
    Person { name: "Sofie Grüber", email: "sofie.grueber@example.de" },
    Person { name: "Daniel O'Connor", email: "daniel.oconnor@example.ie" },
    Person { name: "Nguyễn Thị Mai", email: "mai.nguyen@example.vn" },
    Person { name: "Jonas Dahl", email: "jonas.dahl@example.com" },
    Person { name: "Aurélie Petit", email: "aurelie@example.fr" },
    Person { name: "Marek Wójcik", email: "marek.wojcik@example.pl" },
    Person { name: "Hanne Berg", email: "hanne.berg@example.com" },
    Person { name: "김지훈", email: "jihoon.kim@example.kr" },
];

/// The topics of the data; the first half of a subject.
pub const TOPICS: [&str; 28] = [
    "Marathon training plan",
    "Flat viewing on Saturday",
    "Mortgage offer",
    "Tile server latency",
    "Kestrel release 4.2",
    "Lisbon trip",
    "Dentist appointment",
    "Tax return",
    "Bicycle repair",
    "Team offsite",
    "Insurance renewal",
    "Cabin weekend",
    "Choir rehearsal",
    "Garden delivery",
    "Contour line bug",
    "Customer interview notes",
    "Electricity bill",
    "Parental leave cover",
    "Library books due",
    "Ski pass",
    "Birthday dinner",
    "Hiring: cartographer",
    "Quarterly budget",
    "Passport renewal",
    "Moving boxes",
    "Data retention review",
    "Incident 2231 postmortem",
    "Kitchen renovation",
];

const OPENERS: [&str; 28] = [
    "Quick note about",
    "I looked again at",
    "Can we talk about",
    "Attached is the latest on",
    "Nothing new on",
    "Please confirm",
    "Thanks for sorting out",
    "We are late with",
    "Here is what I know about",
    "Good news regarding",
    "I have a question on",
    "Reminder for",
    "The numbers changed for",
    "Let us postpone",
    "Somebody has to look at",
    "I would drop",
    "Hanne asked about",
    "I finally finished",
    "My notes on",
    "We agreed to move",
    "There is a mistake in",
    "I am happy with",
    "Could you check",
    "I still owe you",
    "Everybody waits for",
    "It is time for",
    "I lost track of",
    "Do not forget",
];

const SUBJECTS: [&str; 72] = [
    "the mortgage offer",
    "the contour renderer",
    "the train tickets to Oslo",
    "the long run on Sunday",
    "the invoice from the plumber",
    "the tile cache",
    "the cabin keys",
    "the kitchen drawings",
    "the insurance claim",
    "the quarterly budget",
    "the release checklist",
    "the dentist bill",
    "the hiring panel",
    "the flat in Møllenberg",
    "the choir schedule",
    "the passport form",
    "the altitude data set",
    "the cabin heating",
    "the retention policy",
    "the birthday present",
    "the bicycle brakes",
    "the garden fence",
    "the parking permit",
    "the library card",
    "the ski wax",
    "the tax assessment",
    "the electricity meter",
    "the moving company",
    "the old sofa",
    "the coffee machine",
    "the projection library",
    "the glacier outlines",
    "the shoreline tolerance",
    "the label collisions",
    "the font licence",
    "the vector tiles",
    "the load balancer",
    "the nightly backup",
    "the error budget",
    "the on-call rota",
    "the pager noise",
    "the memory leak",
    "the search index",
    "the login page",
    "the customer from Bodø",
    "the hydrographic survey",
    "the hiking trail layer",
    "the avalanche warnings",
    "the printing proofs",
    "the exhibition poster",
    "the alto part",
    "the concert in Nidarosdomen",
    "the rehearsal room",
    "the sheet music",
    "the soup recipe",
    "the sourdough",
    "the blueberry patch",
    "the school meeting",
    "the nursery place",
    "the swimming course",
    "the vaccination card",
    "the eye test",
    "the physiotherapist",
    "the knee brace",
    "the marathon bib",
    "the interval session",
    "the heart rate strap",
    "the ferry timetable",
    "the sleeping bags",
    "the car inspection",
    "the winter tyres",
    "the bank signature",
];

const CLOSERS: [&str; 28] = [
    "before Friday if that works.",
    "and I would rather decide soon.",
    "because the price went up again.",
    "so nobody has to wait for me.",
    "after the meeting with the bank.",
    "once the tests are green.",
    "unless it rains all weekend.",
    "with the receipt from March.",
    "although the map still looks wrong.",
    "and the deposit is due on the first.",
    "when you are back from Bergen.",
    "as the surveyor suggested.",
    "then we can close it.",
    "without changing the plan.",
    "while I still remember it.",
    "for the third time.",
    "at the kitchen table.",
    "on the way to work.",
    "if Jonas agrees.",
    "since the last storm.",
    "in a single afternoon.",
    "with two signatures.",
    "by the end of the quarter.",
    "instead of guessing.",
    "from the shared folder.",
    "until the snow melts.",
    "like last year.",
    "and that was all.",
];

/// Writes a sentence.
pub fn sentence_into(out: &mut String, rng: &mut Rng) {
    let _ = write!(out, "{} {} {}", rng.pick(&OPENERS), rng.pick(&SUBJECTS), rng.pick(&CLOSERS));
}

/// `count` sentences, with a new paragraph after every fifth.
pub fn prose(rng: &mut Rng, count: usize) -> String {
    let mut out = String::with_capacity(count * 90);
    for at in 0..count {
        if at > 0 {
            out.push_str(if at % 5 == 0 { "\n\n" } else { " " });
        }
        sentence_into(&mut out, rng);
    }
    out
}

/// A text of more than 200 KB, with `needle` once near its end and once near its middle.
pub fn long_text(rng: &mut Rng, needle: &str) -> String {
    let mut out = String::with_capacity(240_000);
    let mut line = 0_u32;
    let (mut middle, mut end) = (false, false);
    while out.len() < 225_000 {
        line += 1;
        let _ = write!(out, "{line:05} ");
        sentence_into(&mut out, rng);
        if !middle && out.len() > 110_000 {
            let _ = write!(out, "\n{needle} is mentioned here for the first time.");
            middle = true;
        }
        if !end && out.len() > 210_000 {
            let _ = write!(out, "\n{needle} is mentioned here for the last time.");
            end = true;
        }
        out.push('\n');
    }
    out
}

/// The `index`th of `count` instants, spread a little unevenly over the time of the data.
pub fn moment(rng: &mut Rng, index: usize, count: usize) -> i64 {
    let span = END - BEGIN;
    let step = span / i64::try_from(count.max(1)).unwrap_or(1);
    let jitter = i64::try_from(rng.below(u64::try_from(step).unwrap_or(1).max(1))).unwrap_or(0);
    BEGIN + step * i64::try_from(index).unwrap_or(0) + jitter
}
