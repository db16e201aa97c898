//! An export of a made-up person: her mailbox as Google Takeout delivers it, and a file from her bank.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, Zoned};
use zip::write::{SimpleFileOptions, ZipWriter};

/// Where an English Takeout keeps all mail.
const MAILBOX: &str = "Takeout/Mail/All mail Including Spam and Trash.mbox";
const BORGNY: &str = "Borgny Haugen <borgny.haugen@example.com>";
const INGRID: &str = "Ingrid Solberg <ingrid.solberg@example.org>";
const JONAS: &str = "Jonas Vik <jonas.vik@example.net>";
const KARI: &str = "Kari Moen <kari.moen@example.org>";

struct Mail {
    days_ago: i64,
    at: (i8, i8),
    from: &'static str,
    subject: &'static str,
    text: &'static str,
}

/// Newest first, as in a Takeout.
const MAILS: [Mail; 15] = [
    Mail {
        days_ago: 1,
        at: (19, 52),
        from: INGRID,
        subject: "Lunch on Sunday",
        text: "Dear Maren,\n\nlunch is at one, as always. Bring a jar of the cherry jam if any is left,\nand tell Jonas that the sledge is \
               mended.\n\nYour mother",
    },
    Mail {
        days_ago: 2,
        at: (9, 15),
        from: BORGNY,
        subject: "Heating: the fitter comes on Thursday",
        text: "Hello Maren,\n\nthe fitter comes on Thursday between eight and ten. Please clear the space\nbelow the window. He brings \
               the part along, so it is warm again that day.\n\nBorgny Haugen",
    },
    Mail {
        days_ago: 3,
        at: (6, 40),
        from: "Fjordbank <no-reply@fjordbank.example>",
        subject: "Your sign-in code",
        text: "Your code to sign in is 402911. It is good for ten minutes.\nNever give it to anybody.",
    },
    Mail {
        days_ago: 6,
        at: (14, 5),
        from: "Nordlys Rail <tickets@nordlysrail.example>",
        subject: "Your ticket to Bergen",
        text: "Train 61, coach 4, seat 22, at the window.\nLeaves Oslo at 08:25, arrives in Bergen at 15:12.\nYour booking: PLUM-QX7",
    },
    Mail {
        days_ago: 9,
        at: (16, 20),
        from: BORGNY,
        subject: "The heating in the living room",
        text: "Hello Maren,\n\nI am sorry that you are cold. I have called the fitter, and write when I know more.\n\nBorgny Haugen",
    },
    Mail {
        days_ago: 15,
        at: (20, 11),
        from: KARI,
        subject: "Choir moves to the library",
        text: "The hall has no light. We sing in the library until further notice, at seven as usual.\n\nKari",
    },
    Mail {
        days_ago: 21,
        at: (11, 30),
        from: BORGNY,
        subject: "Receipt for the deposit",
        text: "Hello Maren,\n\nhere is the receipt for your deposit.\n\nBorgny Haugen",
    },
    Mail {
        days_ago: 28,
        at: (21, 3),
        from: JONAS,
        subject: "Skis",
        text: "I sell my old skis. They are too short for me, and would be right for you.\n\nJonas",
    },
    Mail {
        days_ago: 36,
        at: (18, 44),
        from: INGRID,
        subject: "Grandmother's recipe",
        text: "Two kilos of cherries, one of sugar, and patience. She never wrote down more.\n\nYour mother",
    },
    Mail {
        days_ago: 47,
        at: (8, 9),
        from: "Papyrus Books <orders@papyrus.example>",
        subject: "Your order is on its way",
        text: "One parcel: An Atlas of Small Islands. It comes within three days.",
    },
    Mail {
        days_ago: 62,
        at: (10, 27),
        from: BORGNY,
        subject: "The rent from the new year on",
        text: "Hello Maren,\n\nfrom the new year on the rent is 11,400 a month.\n\nBorgny Haugen",
    },
    Mail {
        days_ago: 77,
        at: (22, 18),
        from: JONAS,
        subject: "The hike",
        text: "It rained, and it was good. When do we go again?\n\nJonas",
    },
    Mail {
        days_ago: 131,
        at: (7, 55),
        from: "Doctor Aas <post@aas-legekontor.example>",
        subject: "The results of your blood test",
        text: "Dear Maren Solberg,\n\neverything is as it should be. You need not call.\n\nThe practice of Doctor Aas",
    },
    Mail {
        days_ago: 204,
        at: (12, 36),
        from: KARI,
        subject: "The first rehearsal",
        text: "We begin with the old songs. Bring a pencil.\n\nKari",
    },
    Mail {
        days_ago: 340,
        at: (13, 1),
        from: "Havn Harbour Works <people@havn.example>",
        subject: "Your contract",
        text: "Welcome to the harbour. Your contract is ready to be signed.",
    },
];

/// The attachment of the receipt.
const RECEIPT: &str = "Received: 33,600 as a deposit.\n";

const PAYMENTS: [(i64, &str, &str); 7] = [
    (1, "Bakery at the Corner", "-86.50"),
    (4, "Rent", "-11200.00"),
    (6, "Nordlys Rail", "-549.00"),
    (12, "Havn Harbour Works", "38450.00"),
    (19, "Pharmacy", "-212.00"),
    (33, "Doctor Aas", "-360.00"),
    (47, "Papyrus Books", "-319.00"),
];

/// A zipped Takeout that holds the mailbox.
///
/// # Errors
/// Returns the error of the zip writer.
pub(super) fn takeout(now: Timestamp) -> zip::result::ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file(MAILBOX, SimpleFileOptions::default())?;
    zip.write_all(mailbox(now).as_bytes())?;
    Ok(zip.finish()?.into_inner())
}

/// The file from the bank.
pub(super) fn bank(now: Timestamp) -> String {
    PAYMENTS.iter().fold("date,text,amount,currency\n".to_owned(), |mut text, (days_ago, to, amount)| {
        let _ = writeln!(text, "{},{to},{amount},NOK", day(now, *days_ago).date());
        text
    })
}

fn day(now: Timestamp, days_ago: i64) -> Zoned {
    let now = now.to_zoned(TimeZone::UTC);
    now.checked_sub(days_ago.days()).unwrap_or(now)
}

fn mailbox(now: Timestamp) -> String {
    let mut mailbox = String::new();
    for (number, mail) in MAILS.iter().enumerate() {
        let Mail { days_ago, at: (hour, minute), from, subject, text } = mail;
        let at = day(now, *days_ago).with().time(jiff::civil::time(*hour, *minute, 0, 0)).build();
        let at = at.unwrap_or_else(|_| day(now, *days_ago));
        let id = 1_850_000_000_000_000_000_u64 - number as u64 * 1_000_000_007;
        let separator = at.strftime("%a %b %d %H:%M:%S +0000 %Y");
        let date = at.strftime("%a, %d %b %Y %H:%M:%S +0000");
        let body = if *subject == "Receipt for the deposit" {
            format!(
                "Content-Type: multipart/mixed; boundary=part\n\n--part\nContent-Type: text/plain; charset=utf-8\n\n{text}\n--part\n\
                 Content-Type: text/plain; name=receipt.txt\nContent-Disposition: attachment; filename=receipt.txt\n\n{RECEIPT}--part--\n"
            )
        } else {
            format!("Content-Type: text/plain; charset=utf-8\n\n{text}\n")
        };
        let _ = write!(
            mailbox,
            "From {id}@xxx {separator}\nX-GM-THRID: {id}\nX-Gmail-Labels: Inbox,Opened\nDelivered-To: maren.solberg@example.org\n\
             Message-ID: <{number}@mail.example>\nDate: {date}\nFrom: {from}\nTo: Maren Solberg <maren.solberg@example.org>\n\
             Subject: {subject}\nMIME-Version: 1.0\n{body}\n"
        );
    }
    mailbox
}
