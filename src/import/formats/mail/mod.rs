//! Mail, in each of the files that it lies in. The same mail gives the same records, whichever file it came in.

mod account;
mod charset;
mod eml;
mod emlx;
mod facts;
mod folder;
mod header;
mod html;
mod maildir;
mod mbox;
mod message;
mod mime;
mod security;
mod separator;
#[cfg(test)]
mod tests;
mod whole;

pub use eml::Eml;
pub use emlx::Emlx;
pub use maildir::Maildir;
pub use mbox::Mbox;

/// How large a mail may be, in bytes (O4.14).
const LARGEST: usize = 80 * 1024 * 1024;
