//! Mail in a Maildir: a file for each mail, in `cur` or `new`, its flags in its name.

use std::io;

use super::facts::Facts;
use super::{account, folder, message, whole};
use crate::import::format::{
    Ask, Bad, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};

/// The format.
pub struct Maildir;

impl Format for Maildir {
    fn name(&self) -> &'static str {
        "maildir"
    }

    fn title(&self) -> &'static str {
        "mail in a Maildir (cur and new)"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        folder::of_maildir(peek.label, "")?;
        whole::begins_with_header(peek.head).then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        account::plan(members, ask)
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let (folder, flags) = folder::of_maildir(unit.label, account::source_name(plan)).unzip();
        whole::split(unit, from, Facts { folder, flags, ..Facts::default() }, out)
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
