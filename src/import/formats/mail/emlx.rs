//! A mail of Apple Mail: its length in bytes, the mail, its flags.

use std::io;

use memchr::memchr;

use super::facts::Facts;
use super::{account, folder, message, whole};
use crate::import::format::{
    Ask, Bad, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};

/// The format.
pub struct Emlx;

impl Format for Emlx {
    fn name(&self) -> &'static str {
        "emlx"
    }

    fn title(&self) -> &'static str {
        "a mail of Apple Mail (.emlx)"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let (count, mail) =
            peek.head.split_at_checked(memchr(b'\n', &peek.head[..peek.head.len().min(24)])? + 1)?;
        let count = count.trim_ascii();
        let is_count = !count.is_empty() && count.iter().all(u8::is_ascii_digit);
        (is_count && whole::begins_with_header(mail)).then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        account::plan(members, ask)
    }

    fn split(&self, _plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        whole::split(
            unit,
            from,
            Facts { is_emlx: true, folder: folder::of_emlx(unit.label), ..Facts::default() },
            out,
        )
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        message::parse(account::is_gmail(plan), raw)
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        message::join(stream, data, sightings)
    }

    fn add_sighting(&self, _stream: &str, first: &str, second: &str) -> String {
        message::add_sighting(first, second)
    }
}
