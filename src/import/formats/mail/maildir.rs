//! Mail in a Maildir: one file per message in `cur` or `new`, with its flags in the file name.

use std::io;

use super::facts::Facts;
use super::{MailFile, account, folder, whole};
use crate::import::format::{End, Out, Peek, Plan, Sure, Unit};

/// The Maildir format.
pub struct Maildir;

impl MailFile for Maildir {
    const NAME: &'static str = "maildir";
    const TITLE: &'static str = "mail in a Maildir (cur and new)";

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        folder::of_maildir(peek.label, "")?;
        whole::begins_with_header(peek.head).then_some(Sure::Certain)
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let (folder, flags) = folder::of_maildir(unit.label, account::source_name(plan)).unzip();
        whole::split(unit, from, Facts { folder, flags, ..Facts::default() }, out)
    }
}
