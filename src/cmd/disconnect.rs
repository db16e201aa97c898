//! `pdpp disconnect`: ends grants at their providers if it can, and deletes them here.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::Global;
use crate::advice::Command;
use crate::cache::credential::Credential;
use crate::cache::select::GrantName;
use crate::error::Result;
use crate::grants::disconnect::{Disconnected, Ended, Here, Request, disconnect, full_name};
use crate::grants::{Confirm, NotEnded};
use crate::provider::approve::revoke::Revoked;
use crate::text;
use crate::time_text::day_and_time;
use crate::ui::{Progress, Ui};

/// End grants, and delete their tokens from this computer
///
/// pdpp asks each provider to end its grant, and reports whether it did. The token is deleted here even without
/// a network. If the token cannot be read (a locked keyring), pdpp keeps the grant for the next `pdpp
/// disconnect` that can read it. Either way, a running `pdpp mcp serve` can no longer read with the grant.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a separate flag")]
pub struct Args {
    /// What to disconnect: a provider's address; or a grant's id, the beginning of its id, or its name, as
    /// `pdpp status` shows them
    #[arg(value_name = "PROVIDER|GRANT")]
    pub which: Vec<String>,

    /// Only this one of the matching grants
    #[arg(long, value_name = "GRANT", conflicts_with = "all")]
    pub grant: Option<GrantName>,

    /// All matching grants; if nothing else is named, all grants
    #[arg(long)]
    pub all: bool,

    /// Also delete here what cannot be ended at its provider yet: its token cannot be read, or the provider is
    /// unreachable
    #[arg(long)]
    pub forget: bool,

    /// Do not ask; required where there is no terminal to ask on
    #[arg(long, short)]
    pub yes: bool,

    /// Print one JSON object; do not ask
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp disconnect                              the only grant, or choose
  pdpp disconnect https://provider.example
  pdpp disconnect https://provider.example --grant Work
  pdpp disconnect --all --yes

Exits with 1 if a grant could not be ended at its provider.";

/// Ends and deletes grants.
///
/// # Errors
/// The errors of [`disconnect`]. A failure that comes after everything possible was done here is shown with the
/// result.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let request = Request {
        which: args.which.clone(),
        grant: args.grant.clone(),
        all: args.all,
        forget: args.forget,
        is_confirmed: args.yes,
    };
    let can_ask = ui.can_ask() && !args.json && !args.yes;
    let terminal = Terminal { ui, can_ask, progress: RefCell::default() };
    let disconnected = disconnect(&request, &global.cache()?, global.network()?, &terminal)?;
    show(&disconnected, args.json, ui);
    Ok(disconnected.failure.map_or(0, |error| error.kind().exit_code()))
}

fn show(disconnected: &Disconnected, as_json: bool, ui: &Ui) {
    let Disconnected { ended, failure, .. } = disconnected;
    if disconnected.is_done {
        let is_kept = ended.iter().any(|ended| ended.here == Here::Kept);
        let what = if is_kept { "can no longer be used by any agent" } else { "were deleted here" };
        ui.done(&format!("the disconnected grants {what}"), Command::new("status"));
    }
    if let Some(why) = &disconnected.left {
        ui.warn(&format!(
            "a token could not be deleted ({why}); nothing uses it any more, and the next `{}` that can reach it \
             deletes it",
            Command::new("disconnect")
        ));
    }
    if as_json {
        let mut result = json!({"disconnected": ended.iter().map(to_json).collect::<Vec<_>>()});
        if let Some(error) = failure {
            result["error"] = error.to_json()["error"].take();
        }
        ui.json(&result);
    } else if disconnected.is_only_leftover {
        ui.say("Nothing was connected on this computer; a leftover token was deleted.");
    } else if ended.is_empty() {
        ui.say("Nothing was connected on this computer.");
    } else {
        ui.say(&ended.iter().map(to_text).collect::<Vec<_>>().join("\n"));
        if let Some(error) = failure {
            ui.error(error);
        }
    }
}

/// The person at the terminal.
struct Terminal<'a> {
    ui: &'a Ui,
    can_ask: bool,
    progress: RefCell<Option<Progress<'a>>>,
}

impl Confirm for Terminal<'_> {
    fn can_ask(&self) -> bool {
        self.can_ask
    }

    fn confirm(&self, credentials: &[&Credential]) -> bool {
        self.ui.confirm(&format!("End and delete {}?", short_names(credentials).join("; ")))
    }

    fn choose(&self, credentials: &[&Credential]) -> Vec<usize> {
        let question = "Which grants should pdpp end and delete? (Space marks, Enter continues)";
        self.ui.choose(question, &short_names(credentials)).unwrap_or_default()
    }

    fn confirm_unread(&self) -> bool {
        let question = "pdpp cannot read the index, so it cannot end any grant at its provider. Delete every token here?";
        self.ui.confirm(question)
    }

    fn asks_providers(&self, are_asked: bool) {
        let progress = are_asked.then(|| self.ui.progress());
        if let Some(progress) = &progress {
            progress.say("Asking the providers to end the grants");
        }
        self.progress.replace(progress);
    }
}

/// Names for a question, which must fit on one line: a longer one cannot be redrawn.
fn short_names(credentials: &[&Credential]) -> Vec<String> {
    let short_name = |credential: &&Credential| {
        let label = text::one_line(text::prefix(&credential.label, 30)).into_owned();
        let cut = if label.len() < credential.label.len() { "…" } else { "" };
        format!("{label}{cut} ({})", text::prefix(credential.grant_id.as_str(), 40))
    };
    credentials.iter().map(short_name).collect()
}

fn to_text(ended: &Ended) -> String {
    let here = match ended.here {
        Here::Deleted => "deleted here",
        Here::Forgotten => "forgotten here",
        Here::Kept => "out of every agent's reach",
        Here::Left => "still here",
    };
    if ended.credential.provider.is_local() {
        return format!("{}\n  {}", full_name(&ended.credential), own_to_text(ended, here));
    }
    let line = match &ended.at_provider {
        Ok(Revoked::Grant) => format!("ended at the provider, and {here}"),
        Ok(Revoked::Tokens) => format!("its tokens are revoked at the provider, and {here}"),
        Ok(Revoked::Already) => format!("had already ended at the provider; {here}"),
        Err(NotEnded { code, why, .. }) => {
            let until = match ended.credential.grant_expires_at {
                Some(end) => format!("there it ends {}", day_and_time(end)),
                None if ended.credential.unread_ends.grant || ended.credential.has_unread_end() => {
                    "pdpp could not read when it ends there".to_owned()
                }
                None => "there it has no end date".to_owned(),
            };
            let then = match ended.here {
                Here::Kept => "the next `pdpp disconnect` tries again",
                Here::Deleted | Here::Forgotten | Here::Left => "end it on the provider's own pages",
            };
            let yet = if ended.here == Here::Kept { " yet" } else { "" };
            let why = text::one_line(text::prefix(why, 500));
            format!("{here}, but not ended at the provider{yet}: {why}\n  {until}; {then} (code: {code})")
        }
    };
    format!("{}\n  {line}", full_name(&ended.credential))
}

/// The outcome for the person's own data, where this program itself is the provider.
fn own_to_text(ended: &Ended, here: &str) -> String {
    match &ended.at_provider {
        Ok(Revoked::Grant | Revoked::Tokens) => {
            format!(
                "ended: its token no longer works, and is {here}. The agent keeps what it has read so far."
            )
        }
        Ok(Revoked::Already) => format!("had already ended; its token is {here}"),
        Err(NotEnded { code, why, .. }) => {
            let why = text::one_line(text::prefix(why, 500));
            format!(
                "its token is {here}, but the grant could not be ended in its store: {why} (code: {code})"
            )
        }
    }
}

fn to_json(ended: &Ended) -> Value {
    let (revoked, not) = match &ended.at_provider {
        Ok(Revoked::Grant) => ("grant", None),
        Ok(Revoked::Tokens) => ("tokens", None),
        Ok(Revoked::Already) => ("already", None),
        Err(not) => ("no", Some(not)),
    };
    let credential = &ended.credential;
    json!({
        "provider": credential.provider.as_str(),
        "grant_id": credential.grant_id.as_str(),
        "label": credential.label,
        "ended_at_provider": revoked,
        "code": not.map(|not| &not.code),
        "why": not.map(|not| &not.why),
        "deleted_here": ended.here == Here::Deleted,
        "kept_to_end": ended.here == Here::Kept,
        "next": ended.next(),
        "grant_expires_at": credential.grant_expires_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;

    #[test]
    fn what_became_of_it_is_shown_in_words_and_json() {
        let ended = |at_provider| {
            let mut credential = credential("https://a.example", "g1");
            credential.grant_expires_at = "2026-12-01T10:30:00Z".parse().ok();
            Ended { credential, at_provider, here: Here::Deleted, is_chosen: true }
        };
        assert!(to_text(&ended(Ok(Revoked::Grant))).ends_with("ended at the provider, and deleted here"));
        let failed = ended(Err(NotEnded {
            code: "provider_unreachable".to_owned(),
            why: "no\u{1b}[2J route".to_owned(),
            remedy: None,
        }));
        assert!(
            to_text(&failed)
                .contains("not ended at the provider: no\\u{1b}[2J route\n  there it ends 2026-12-01")
        );
        let mut unread = failed;
        unread.credential.grant_expires_at = None;
        unread.credential.unread_ends.grant = true;
        assert!(
            to_text(&unread).contains("\n  pdpp could not read when it ends there; "),
            "{}",
            to_text(&unread)
        );
        let json = to_json(&unread);
        assert_eq!(
            (&json["ended_at_provider"], &json["code"]),
            (&json!("no"), &json!("provider_unreachable"))
        );
        assert_eq!(to_json(&ended(Ok(Revoked::Tokens)))["ended_at_provider"], "tokens");
    }
}
