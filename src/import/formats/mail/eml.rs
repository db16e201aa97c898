//! A single message in a file: `.eml`.

use std::io;

use super::facts::Facts;
use super::{MailFile, whole};
use crate::import::format::{End, Out, Peek, Plan, Sure, Unit};

/// The `.eml` format.
pub struct Eml;

impl MailFile for Eml {
    const NAME: &'static str = "eml";
    const TITLE: &'static str = "a single message (.eml)";

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        whole::begins_with_header(peek.head).then_some(Sure::Likely)
    }

    fn split(&self, _plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        whole::split(unit, from, Facts::default(), out)
    }
}
