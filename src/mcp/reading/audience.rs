//! Who reads an answer, and so what a model should do about a grant that has ended.

use std::borrow::Cow;

use crate::advice::Command;

/// Who reads an answer, and so how a grant that has ended is approved again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Audience {
    /// The owner, on the machine that keeps the grant: with this command, as `pdpp status` shows it.
    Owner(Command),
    /// Someone whose own host got the grant, and who has no `pdpp`.
    #[default]
    Caller,
}

/// What a model should do if a command of the owner helps. Nothing may follow the command.
pub(in crate::mcp) fn ask_to_run(command: &Command) -> String {
    format!("ask the user to run: {command}")
}

impl Audience {
    /// What a model should do about a grant that has ended.
    pub fn next(&self) -> String {
        match self {
            Self::Owner(renew) => ask_to_run(renew),
            Self::Caller => "ask the user to authorize this server again in their host".to_owned(),
        }
    }

    /// The same in a few words, to use inside a sentence.
    pub fn brief(&self) -> Cow<'_, str> {
        match self {
            Self::Owner(renew) => renew.to_string().into(),
            Self::Caller => "authorize this server again in the host".into(),
        }
    }
}
