//! Mail, in each kind of file. The same message gives the same records, whichever file it came in.

mod account;
pub mod charset;
mod eml;
mod emlx;
mod facts;
mod folder;
mod header;
pub mod html;
mod maildir;
mod mbox;
mod message;
mod mime;
mod pst;
mod security;
mod separator;
mod style;
#[cfg(test)]
mod tests;
mod whole;

pub use eml::Eml;
pub use emlx::Emlx;
pub use html::decoded as without_entities;
pub use maildir::Maildir;
pub use mbox::Mbox;
pub use pst::Pst;

use std::io;

use crate::import::declare::Declared;
use crate::import::format::{
    Ask, Bad, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};

/// A kind of mail file: how to recognise it, and where a message begins and ends in it.
trait MailFile: Sync {
    /// As [`Format::name`].
    const NAME: &'static str;
    /// As [`Format::title`].
    const TITLE: &'static str;
    /// As [`Format::is_of_folder`].
    const IS_OF_FOLDER: bool = true;

    /// As [`Format::sniff`].
    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure>;

    /// As [`Format::split`].
    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End>;
}

impl<F: MailFile> Format for F {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn title(&self) -> &'static str {
        F::TITLE
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn declares(&self) -> &'static [Declared] {
        account::DECLARED
    }

    fn is_of_folder(&self) -> bool {
        F::IS_OF_FOLDER
    }

    fn is_by_file(&self) -> bool {
        true
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        MailFile::sniff(self, peek)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        account::plan(members, F::IS_OF_FOLDER, ask)
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        MailFile::split(self, plan, unit, from, out)
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        message::parse(account::is_gmail(plan), raw)
    }

    fn delivered_to(&self, raw: &Raw) -> Option<String> {
        account::last_delivered(&raw.bytes)
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        message::join(stream, data, sightings)
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn shares(&self, stream: &str) -> bool {
        stream == "labels"
    }

    fn add_sighting(&self, _stream: &str, first: &str, second: &str) -> String {
        message::add_sighting(first, second)
    }
}

/// Increased with each change to the records of a message, or to the rule for which messages are kept separate.
const VERSION: u32 = 4;

/// The largest message, in bytes (O4.14).
const LARGEST: usize = 80 * 1024 * 1024;
