//! An Apple Mail message: its length in bytes, the message, and its flags.

use std::io;

use memchr::memchr;

use super::facts::Facts;
use super::{MailFile, folder, whole};
use crate::import::format::{End, Out, Peek, Plan, Sure, Unit};

/// The `.emlx` format.
pub struct Emlx;

impl MailFile for Emlx {
    const NAME: &'static str = "emlx";
    const TITLE: &'static str = "an Apple Mail message (.emlx)";

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let (count, mail) =
            peek.head.split_at_checked(memchr(b'\n', &peek.head[..peek.head.len().min(24)])? + 1)?;
        let count = count.trim_ascii();
        let is_count = !count.is_empty() && count.iter().all(u8::is_ascii_digit);
        (is_count && whole::begins_with_header(mail)).then_some(Sure::Certain)
    }

    fn split(&self, _plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        whole::split(
            unit,
            from,
            Facts { is_emlx: true, folder: folder::of_emlx(unit.label), ..Facts::default() },
            out,
        )
    }
}
