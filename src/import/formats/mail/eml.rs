//! A mail in a file of its own: `.eml`.

use std::io;

use super::facts::Facts;
use super::{account, message, whole};
use crate::import::format::{
    Ask, Bad, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};

/// The format.
pub struct Eml;

impl Format for Eml {
    fn name(&self) -> &'static str {
        "eml"
    }

    fn title(&self) -> &'static str {
        "a mail in a file of its own (.eml)"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        whole::begins_with_header(peek.head).then_some(Sure::Likely)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        account::plan(members, ask)
    }

    fn split(&self, _plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        whole::split(unit, from, Facts::default(), out)
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
