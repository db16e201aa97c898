//! The rest of the made-up person's data: what many kinds of services have recorded.

use jiff::ToSpan as _;
use jiff::civil::Date;
use pdpp::sandbox::seed::rng::Rng;

use super::person::{At, Human, at, day};

/// A message of a chat.
#[derive(Debug, Clone)]
pub struct Line {
    pub at: At,
    pub author: String,
    pub text: String,
    /// The file that came with it.
    pub file: Option<String>,
    /// The index of the message that it answers.
    pub answers: Option<usize>,
    pub edited: Option<At>,
}

#[derive(Debug, Clone, Default)]
pub struct Chat {
    pub title: String,
    pub lines: Vec<Line>,
}

/// A message of a channel at work.
#[derive(Debug, Clone)]
pub struct Post {
    pub at: At,
    pub channel: usize,
    pub user: usize,
    pub text: String,
    /// The index of the message whose thread it belongs to.
    pub thread: Option<usize>,
    pub reactions: Vec<(&'static str, Vec<usize>)>,
}

#[derive(Debug, Clone)]
pub struct Event {
    pub uid: String,
    pub summary: String,
    pub location: &'static str,
    pub start: At,
    pub end: At,
    /// How often it takes place, at intervals of a week.
    pub times: u32,
    /// Who is invited, and whether they have answered.
    pub invited: Vec<(Human, bool)>,
}

#[derive(Debug, Clone)]
pub struct Payment {
    pub id: String,
    pub on: Date,
    pub cents: i64,
    pub name: String,
    pub memo: String,
    pub category: &'static str,
}

#[derive(Debug, Clone)]
pub struct Play {
    /// When it ended.
    pub at: At,
    pub ms: i64,
    pub track: String,
    pub artist: String,
    pub album: String,
    pub is_skipped: bool,
}

#[derive(Debug, Clone)]
pub struct Watched {
    pub at: At,
    pub title: String,
    pub channel: String,
}

#[derive(Debug, Clone)]
pub struct Visit {
    pub at: At,
    pub title: String,
    pub url: String,
    pub host: &'static str,
}

#[derive(Debug, Clone)]
pub struct Note {
    pub path: String,
    pub tags: Vec<&'static str>,
    pub body: String,
    pub at: At,
}

#[derive(Debug, Clone)]
pub struct Steps {
    pub at: At,
    pub count: i64,
}

#[derive(Debug, Clone)]
pub struct Workout {
    pub at: At,
    pub kind: &'static str,
    /// In tenths of a minute.
    pub tenths: i64,
}

/// All of these records.
#[derive(Debug, Clone, Default)]
pub struct Days {
    pub choir: Chat,
    pub pair: Chat,
    pub telegram: Vec<Chat>,
    pub channels: Vec<&'static str>,
    pub posts: Vec<Post>,
    pub events: Vec<Event>,
    /// An account in a bank's table, and a card in OFX.
    pub giro: Vec<Payment>,
    pub card: Vec<Payment>,
    pub plays: Vec<Play>,
    pub watched: Vec<Watched>,
    pub searched: Vec<(At, String)>,
    pub visits: Vec<Visit>,
    pub notes: Vec<Note>,
    pub steps: Vec<Steps>,
    pub workouts: Vec<Workout>,
    /// A word that is in one message of the choir only, and one that is in one message of the pair.
    pub song: &'static str,
    pub arabic: &'static str,
}

/// The rent until the end of 2025, and the higher one after that.
pub const RENTS: [i64; 2] = [94_000, 97_500];

impl Days {
    pub fn new(seed: u64, me: &Human, landlord: &Human, friends: &[Human], colleagues: &[Human]) -> Self {
        let mut days = Self::default();
        let rng = |name: &str| Rng::new(seed, name);
        days.chat(&mut rng("chat"), me, friends, seed % 3 == 2);
        days.work(&mut rng("slack"), colleagues);
        days.plan(&mut rng("plans"), seed, friends);
        days.pay(&mut rng("bank"), landlord);
        days.listen(&mut rng("music"));
        days.browse(&mut rng("web"));
        days.note(&mut rng("notes"));
        days.move_about(&mut rng("health"));
        days
    }

    /// The same records, up to a given time.
    pub fn until(&self, at: At) -> Self {
        let mut then = self.clone();
        for chat in [&mut then.choir, &mut then.pair].into_iter().chain(&mut then.telegram) {
            chat.lines.retain(|line| line.at < at);
        }
        then.posts.retain(|post| post.at < at);
        then.events.retain(|event| event.start < at);
        for payments in [&mut then.giro, &mut then.card] {
            payments.retain(|one| super::person::at(one.on, 0, 0) < at);
        }
        then.plays.retain(|play| play.at < at);
        then.watched.retain(|one| one.at < at);
        then.searched.retain(|one| one.0 < at);
        then.visits.retain(|visit| visit.at < at);
        then.notes.retain(|note| note.at < at);
        then.steps.retain(|one| one.at < at);
        then.workouts.retain(|one| one.at < at);
        then
    }

    fn chat(&mut self, rng: &mut Rng, me: &Human, friends: &[Human], is_android: bool) {
        self.song = ["madrigal", "requiem", "shanty", "lullaby"][rng.below(4) as usize];
        self.arabic = "تدريب";
        let line = |at: At, author: &str, text: String| Line {
            at,
            author: author.to_owned(),
            text,
            file: None,
            answers: None,
            edited: None,
        };
        let singers: Vec<String> = friends.iter().take(5).map(Human::name).chain([me.name()]).collect();
        "Harbor Choir".clone_into(&mut self.choir.title);
        let begin = day(2025, 1, 14);
        let odd = 20 + rng.below(60) as usize;
        for n in 0..130_usize {
            let on = begin.checked_add((n as i64 * 4).days()).unwrap();
            let who = &singers[rng.below(singers.len() as u64) as usize];
            let text = match n {
                _ if n == odd => format!("The {} is moved to the second half.", self.song),
                _ if n == odd + 1 => format!("غدا {} في المساء", self.arabic),
                _ => format!("Rehearsal {n} is at {} in hall {}.", 18 + rng.below(3), 1 + rng.below(4)),
            };
            // Android writes no seconds.
            let seconds = rng.below(59) as i64 * i64::from(!is_android);
            let mut line = line(at(on, 17, (n % 60) as i8) + seconds, who, text);
            if n % 13 == 5 && n != odd && n != odd + 1 {
                line.text.clear();
                line.file = Some(format!("0000{n:04}-PHOTO-2025-01-14-17-00-00.jpg"));
            }
            self.choir.lines.push(line);
        }
        let other = friends[6].name();
        self.pair.title.clone_from(&other);
        for n in 0..60_usize {
            let on = day(2025, 3, 15).checked_add((n as i64 * 6).days()).unwrap();
            let who = if rng.chance(50) { other.clone() } else { me.name() };
            let text = format!(
                "Lunch {n}? The place at the corner has {}.",
                ["dumplings", "pierogi", "ramen"][rng.below(3) as usize]
            );
            self.pair.lines.push(line(at(on, 11, (n % 60) as i8), &who, text));
        }
        for (n, title) in ["Allotment", "Flat share"].into_iter().enumerate() {
            let mut chat = Chat { title: title.to_owned(), lines: Vec::new() };
            for m in 0..45_usize {
                let on = day(2025, 4, 2).checked_add((m as i64 * 5).days()).unwrap();
                let who = friends[(7 + n + rng.below(3) as usize) % friends.len()].name();
                let text = format!(
                    "{} number {m}: the {} is open.",
                    if n == 0 { "Bed" } else { "Bill" },
                    ["shed", "gate", "well"][rng.below(3) as usize]
                );
                let mut line = line(at(on, 9, m as i8), &who, text);
                line.answers = (m > 3 && m % 7 == 0).then(|| m - 2);
                line.edited = (m % 11 == 3).then(|| line.at + 300);
                chat.lines.push(line);
            }
            self.telegram.push(chat);
        }
    }

    fn work(&mut self, rng: &mut Rng, colleagues: &[Human]) {
        self.channels = vec!["general", "falcon", "lunch"];
        for n in 0..120_usize {
            let on = day(2025, 9, 1).checked_add((n as i64 * 2).days()).unwrap();
            let channel = rng.below(3) as usize;
            let thread = (n > 10 && rng.chance(25)).then(|| {
                let same = self
                    .posts
                    .iter()
                    .enumerate()
                    .filter(|(_, post)| post.channel == channel && post.thread.is_none());
                same.map(|(at, _)| at).next_back()
            });
            let reactions = if rng.chance(30) {
                vec![(["tada", "eyes", "rocket"][rng.below(3) as usize], vec![0, 1])]
            } else {
                Vec::new()
            };
            self.posts.push(Post {
                at: at(on, 10, (n % 60) as i8),
                channel,
                user: rng.below(colleagues.len() as u64) as usize,
                text: format!(
                    "Build {n} of the {} is green.",
                    ["parser", "router", "crawler"][rng.below(3) as usize]
                ),
                thread: thread.flatten(),
                reactions,
            });
        }
    }

    fn plan(&mut self, rng: &mut Rng, seed: u64, friends: &[Human]) {
        for n in 0..40_u32 {
            let on = day(2026, 1, 7).checked_add((i64::from(n) * 8).days()).unwrap();
            let start = at(on, 8 + rng.below(9) as i8, 30);
            let what =
                ["Dentist", "Parents' evening", "Concert", "Tax adviser", "Swimming"][rng.below(5) as usize];
            let invited = if n % 4 == 1 {
                (0..3).map(|m| (friends[(n as usize + m) % friends.len()].clone(), rng.chance(50))).collect()
            } else {
                Vec::new()
            };
            self.events.push(Event {
                uid: format!("{seed}-{n}@calendar.example"),
                summary: format!("{what} {}", n + 1),
                location: ["Town hall", "Practice in Mill Lane", "School"][rng.below(3) as usize],
                start,
                end: start + 3600,
                times: if n == 6 { 10 } else { 1 },
                invited,
            });
        }
    }

    fn pay(&mut self, rng: &mut Rng, landlord: &Human) {
        let payment = |id: String,
                       on: Date,
                       cents: i64,
                       name: String,
                       memo: String,
                       category: &'static str| {
            Payment { id, on, cents, name, memo, category }
        };
        for n in 0..24_i64 {
            let on = day(2025, 1, 2).checked_add(n.months()).unwrap();
            let rent = RENTS[usize::from(on.year() == 2026)];
            let memo = format!("Rent {}", on.strftime("%B %Y"));
            self.giro.push(payment(format!("R{n:05}"), on, -rent, landlord.name(), memo, "Wohnen"));
            let on = on.checked_add(24.days()).unwrap();
            let salary = 312_000 + 500 * n;
            self.giro.push(payment(
                format!("S{n:05}"),
                on,
                salary,
                "Tern Studio".to_owned(),
                "Salary".to_owned(),
                "Gehalt",
            ));
        }
        for n in 0..130_i64 {
            let on = day(2025, 1, 4).checked_add((n * 5).days()).unwrap();
            let (name, category) = [
                ("Greengrocer Blum", "Lebensmittel"),
                ("Bakery Ohm", "Lebensmittel"),
                ("Tramway", "Verkehr"),
                ("Bookshop Leaf", "Freizeit"),
            ][rng.below(4) as usize];
            let cents = -(300 + rng.below(9_000) as i64);
            self.giro.push(payment(
                format!("P{n:05}"),
                on,
                cents,
                name.to_owned(),
                format!("Receipt {}", 1000 + n),
                category,
            ));
        }
        self.giro.sort_by(|left, right| (left.on, &left.id).cmp(&(right.on, &right.id)));
        let dear = rng.below(60) as i64;
        for n in 0..60_i64 {
            let on = day(2025, 2, 14).checked_add((n * 9).days()).unwrap();
            let name = ["Camera Hall", "Hotel Seagull", "Ferry Line", "Garden Centre"][rng.below(4) as usize];
            let cents = if n == dear { 181_237 } else { 1_000 + rng.below(60_000) as i64 };
            self.card.push(payment(
                format!("F{n:05}"),
                on,
                -cents,
                name.to_owned(),
                format!("Voucher {n}"),
                "",
            ));
        }
    }

    fn listen(&mut self, rng: &mut Rng) {
        let albums = [
            ("Glass Harbor", "Low Tide"),
            ("Glass Harbor", "Slow Ferry"),
            ("The Lindens", "Orchard Songs"),
            ("Marrow & Pine", "Winter Radio"),
            ("Ada Quill", "Paper Boats"),
        ];
        for n in 0..260_i64 {
            let (artist, album) = albums[rng.below(albums.len() as u64) as usize];
            let on = day(2025, 1, 3).checked_add((n * 2).days()).unwrap();
            self.plays.push(Play {
                at: at(on, 21, (n % 60) as i8) + n % 50,
                ms: 20_000 + rng.below(260_000) as i64,
                track: format!("{album} part {}", 1 + rng.below(8)),
                artist: artist.to_owned(),
                album: album.to_owned(),
                is_skipped: rng.chance(15),
            });
        }
        for n in 0..90_i64 {
            let on = day(2025, 5, 1).checked_add((n * 4).days()).unwrap();
            let channel = ["Workbench Daily", "Rivers Explained", "Chess for Two"][rng.below(3) as usize];
            let what = ["dovetail", "estuary", "endgame", "chisel"][rng.below(4) as usize];
            self.watched.push(Watched {
                at: at(on, 20, 15) + n,
                title: format!("The {what}, lesson {n}"),
                channel: channel.to_owned(),
            });
            if n % 3 == 0 {
                self.searched.push((at(on, 19, 5) + n, format!("how to sharpen a {what} {n}")));
            }
        }
    }

    fn browse(&mut self, rng: &mut Rng) {
        for n in 0..140_i64 {
            let on = day(2026, 1, 2).checked_add((n * 2).days()).unwrap();
            let host = ["maps.example", "recipes.example", "library.example", "weather.example"]
                [rng.below(4) as usize];
            let what = ["bridges", "lentil stew", "tide tables", "glaciers"][rng.below(4) as usize];
            self.visits.push(Visit {
                at: at(on, 22, (n % 60) as i8),
                title: format!("About {what}, page {n}"),
                url: format!("https://{host}/page/{n}"),
                host,
            });
        }
    }

    fn note(&mut self, rng: &mut Rng) {
        for n in 0..30_i64 {
            let folder = ["Garden", "House", "Ideas"][rng.below(3) as usize];
            let what = ["quince", "gutter", "bookshelf", "raspberry"][rng.below(4) as usize];
            let on = day(2026, 2, 1).checked_add((n * 3).days()).unwrap();
            let tags = if n % 5 == 0 { vec!["todo", "spring"] } else { vec!["log"] };
            self.notes.push(Note {
                path: format!("{folder}/Note {n}.md"),
                tags,
                body: format!("The {what} needs {} screws of {} mm.", 2 + rng.below(9), 103 + n),
                at: at(on, 6, 0),
            });
        }
    }

    fn move_about(&mut self, rng: &mut Rng) {
        for n in 0..180_i64 {
            let on = day(2026, 1, 1).checked_add(n.days()).unwrap();
            self.steps.push(Steps { at: at(on, 7, 0), count: 1_500 + rng.below(9_000) as i64 });
            self.steps.push(Steps { at: at(on, 18, 0), count: 500 + rng.below(4_000) as i64 });
            if n % 6 == 0 {
                let kind = [
                    "HKWorkoutActivityTypeRunning",
                    "HKWorkoutActivityTypeSwimming",
                    "HKWorkoutActivityTypeCycling",
                ][rng.below(3) as usize];
                self.workouts.push(Workout { at: at(on, 16, 0), kind, tenths: 150 + rng.below(900) as i64 });
            }
        }
    }
}
