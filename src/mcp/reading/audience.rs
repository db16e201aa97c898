//! Who reads what is answered, and so what a model is told to do about a grant that is over.

use std::borrow::Cow;

use crate::advice::Command;

/// Who reads an answer, and so how a grant that is over is approved again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Audience {
    /// The owner, on the machine that the grant is kept on: by this command, as `pdpp status` gives it.
    Owner(Command),
    /// Somebody whose own host got the grant, and has no `pdpp`.
    #[default]
    Caller,
}

/// What a model is to do where a command of the owner's helps. Nothing but a command may follow.
pub(in crate::mcp) fn ask_to_run(command: &Command) -> String {
    format!("ask the user to run: {command}")
}

impl Audience {
    /// What a model is to do about a grant that is over.
    pub fn next(&self) -> String {
        match self {
            Self::Owner(renew) => ask_to_run(renew),
            Self::Caller => "ask the user to authorize this server again in their host".to_owned(),
        }
    }

    /// The same in few words, for a place in a sentence.
    pub fn brief(&self) -> Cow<'_, str> {
        match self {
            Self::Owner(renew) => renew.to_string().into(),
            Self::Caller => "authorize this server again in the host".into(),
        }
    }
}
