//! What `connect` says: the invitation to approve, and at the end what was granted.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::difference::Difference;
use super::keep::{AtProvider, Connected, Old};
use crate::advice::{Command, Hint};
use crate::cache::Stored;
use crate::cache::store::StoreKind;
use crate::cmd::disconnect;
use crate::provider::approve::Attempt;
use crate::provider::approve::flow::Flow;
use crate::provider::approve::wanted::Wanted;
use crate::provider::discovery::Discovery;
use crate::provider::grant::{GrantedSource, TokenKind};
use crate::provider::register::CLIENT_NAME;
use crate::text;
use crate::time_text::day_and_time;
use crate::ui::{self, Ui};

pub(super) fn invitation(discovery: &Discovery, attempt: &Attempt, wanted: &Wanted, flow: Flow) -> String {
    let name = discovery.name.as_deref().map(|name| format!("{}, ", text::one_line(text::prefix(name, 100))));
    let mut said = format!(
        "Approve the request of {} at {}{}:\n\n  {}\n",
        CLIENT_NAME,
        name.unwrap_or_default(),
        discovery.provider,
        attempt.url(),
    );
    if let Attempt::DeviceCode(device) = attempt {
        let line = "─".repeat(device.user_code.chars().count() + 4);
        let _ = write!(said, "\nThe page has to show this code, or asks for it at {}:\n\n", device.typed_at);
        let _ = writeln!(said, "    ┌{line}┐\n    │  {}  │\n    └{line}┘", text::one_line(&device.user_code));
    }
    said.push_str("\nAsked for:\n");
    let is_sent = matches!(flow, Flow::Par | Flow::DeviceCode) || !wanted.is_plain();
    let lines = if is_sent { wanted.summary() } else { Wanted::unsent_summary() };
    for line in lines {
        let _ = writeln!(said, "  {}", text::one_line(&line));
    }
    said
}

/// Says where the grant is another one `than` was asked for, or than the one before.
pub(super) fn say(difference: &Difference, than: &str, ui: &Ui) {
    for more in &difference.more {
        ui.warn(&format!("more was given {than}: {}", text::one_line(more)));
    }
    for less in &difference.less {
        ui.note(&format!("Less was given {than}: {}", text::one_line(less)));
    }
}

impl Connected {
    /// Commands to type next, a host's config first: without a host nothing reads.
    fn next() -> [(Command, &'static str); 3] {
        // With the directory even if it came from the environment: hosts start servers without the shell's.
        [
            ("mcp setup", "tell the agents on this machine"),
            ("mcp inspect", "what the tools cost a model's context"),
            ("mcp serve", "offer it to an MCP host on stdio"),
        ]
        .map(|(command, what)| (Command::new(command), what))
    }

    fn is_package(&self) -> bool {
        self.credential.token_kind == TokenKind::McpPackage
    }

    pub(super) fn to_json(&self) -> Value {
        let one = &self.credential;
        json!({
            "provider": one.provider.as_str(),
            "grant_id": one.grant_id.as_str(),
            "label": one.label,
            "token_kind": one.token_kind,
            "replaces": self.replaces.as_ref().map(|old| old.credential.grant_id.as_str()),
            "old_grant": self.replaces.as_ref().map(Old::to_json),
            "more_than_asked": self.difference.more,
            "less_than_asked": self.difference.less,
            "more_than_before": self.since_before.as_ref().map(|difference| &difference.more),
            "less_than_before": self.since_before.as_ref().map(|difference| &difference.less),
            "issuer": one.issuer,
            "access_mode": one.access_mode,
            "issued_at": one.issued_at,
            "expires_at": one.expires_at(),
            "sources": one.sources,
            "stream_count": one.stream_count(),
            "replaced": self.stored == Stored::Replaced,
            "store": one.store,
            "cache_dir": self.cache.dir().display().to_string(),
            "next": Self::next().map(|(command, _)| command),
        })
    }

    pub(super) fn to_text(&self) -> String {
        let one = &self.credential;
        let mut said = match self.stored {
            _ if self.is_package() => format!("Connected to {}, with a package of grants.\n", one.provider),
            Stored::Replaced if self.replaces.is_some() => {
                format!("Connected to {} again, in the place of the grant from before.\n", one.provider)
            }
            Stored::Added => format!("Connected to {}.\n", one.provider),
            Stored::Replaced => {
                format!("Connected to {} again: the token of this grant is replaced.\n", one.provider)
            }
        };
        let until = match one.expires_at() {
            Some(end) => format!("until {}", day_and_time(end)),
            None => "without an end date".to_owned(),
        };
        let mode = match one.access_mode.as_deref() {
            Some("continuous") | None => String::new(),
            Some(mode) => format!(" ({} access)", text::one_line(mode).replace('_', "-")),
        };
        let _ = writeln!(said, "Granted {until}{mode}, to read:");
        for source in &one.sources {
            let _ = writeln!(said, "  {}", source_line(source));
        }
        if one.stream_count() == 0 && !self.is_package() {
            said.push_str("  nothing: the token works, but this grant has no streams\n");
        }
        if one.is_expired(self.now) {
            said.push_str("By this machine's clock that is over already: check the clock.\n");
        }
        let dir = self.cache.dir().join("secrets");
        let _ = match one.store {
            StoreKind::File => {
                writeln!(said, "The token is kept in a file that only you can read, below {}", dir.display())
            }
            StoreKind::Keyring => writeln!(said, "The token is kept in the keyring."),
        };
        if let Some(old) = &self.replaces {
            let _ = writeln!(said, "{}", old.to_text());
        }
        if self.is_package() {
            let _ = write!(
                said,
                "\nA package's token is good for {}/mcp only: `pdpp mcp serve` reads through the tools there.\n",
                one.provider
            );
        }
        let next = Self::next().map(|(command, what)| (command.to_string(), what));
        let steps = ui::steps(&next.each_ref().map(|(command, what)| (command.as_str(), *what)));
        let _ = write!(said, "\nNext:\n{steps}");
        if self.has_others {
            said.push_str("\nIt serves every grant on this machine together; --provider and --grant narrow.");
        }
        said
    }
}

impl Old {
    fn to_text(&self) -> String {
        let id = text::one_line(self.credential.grant_id.as_str());
        match &self.at_provider {
            AtProvider::Ended => format!("The old grant {id} is ended at the provider, and deleted here."),
            AtProvider::Over => format!("The old grant {id} was over at the provider; it is deleted here."),
            AtProvider::Waits(code, why) | AtProvider::Stands(code, why) => {
                let until = self
                    .credential
                    .grant_expires_at
                    .map_or_else(String::new, |end| format!(" until {}", day_and_time(end)));
                let (here, then) = match &self.at_provider {
                    AtProvider::Waits(..) => (
                        "no agent's any more",
                        Hint::new("Once its token can be read: ").run(disconnect::again(&self.credential)),
                    ),
                    _ => ("deleted here", "The provider's own pages can end it".into()),
                };
                format!(
                    "The old grant {id} is {here}, but stands at the provider{until}: {}\n  {then} (code: {code})",
                    text::one_line(text::prefix(why, 500)),
                )
            }
        }
    }

    fn to_json(&self) -> Value {
        let (ended, code, why) = match &self.at_provider {
            AtProvider::Ended | AtProvider::Over => (true, None, None),
            AtProvider::Waits(code, why) | AtProvider::Stands(code, why) => (false, Some(code), Some(why)),
        };
        json!({"ended_at_provider": ended, "code": code, "why": why})
    }
}

/// `Acme Slack (slack): 14 streams: messages, users, …`
pub(super) fn source_line(source: &GrantedSource) -> String {
    const SHOWN: usize = 12;
    let label = source.label();
    let mut line = text::one_line(&label).into_owned();
    if let Some(key) = source.connector_key.as_deref().filter(|key| *key != label) {
        let _ = write!(line, " ({})", text::one_line(key));
    }
    let plural = if source.stream_count == 1 { "" } else { "s" };
    let _ = write!(line, ": {} stream{plural}", source.stream_count);
    let shown: Vec<_> = source.streams.iter().take(SHOWN).map(|name| text::one_line(name)).collect();
    if !shown.is_empty() {
        let _ = write!(line, ": {}", shown.join(", "));
    }
    if source.stream_count > shown.len() {
        let _ = write!(line, " and {} more", source.stream_count - shown.len());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::cache::credential::tests::credential;
    use crate::provider::grant::GrantedConnection;

    fn connected(edit: impl FnOnce(&mut Connected)) -> Connected {
        let mut credential = credential("https://a.example/me", "g1");
        credential.sources = vec![GrantedSource {
            connector_key: Some("diary".to_owned()),
            connections: vec![GrantedConnection {
                id: "c1".to_owned(),
                display_name: Some("Paper\u{1b}[31m diary".to_owned()),
            }],
            streams: (0..14).map(|n| format!("s{n}")).collect(),
            stream_count: 14,
            ..GrantedSource::default()
        }];
        credential.grant_expires_at = Some("2026-11-28T22:29:23Z".parse().unwrap());
        let mut connected = Connected {
            credential,
            stored: Stored::Added,
            cache: Cache::open(&Cache::default_dir().unwrap()).unwrap(),
            now: "2026-11-27T00:00:00Z".parse().unwrap(),
            replaces: None,
            has_others: false,
            difference: Difference::default(),
            since_before: None,
        };
        edit(&mut connected);
        connected
    }

    #[test]
    fn r8_1_the_end_says_what_was_granted_until_when_and_what_to_type() {
        let expected = "\
Connected to https://a.example/me.
Granted until 2026-11-28 22:29 UTC, to read:
  Paper\\u{1b}[31m diary (diary): 14 streams: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 and 2 more
The token is kept in a file that only you can read, below DIR/secrets

Next:
  pdpp mcp setup     tell the agents on this machine
  pdpp mcp inspect   what the tools cost a model's context
  pdpp mcp serve     offer it to an MCP host on stdio";
        let dir = Cache::default_dir().unwrap().display().to_string();
        assert_eq!(connected(|_| ()).to_text().replace(&dir, "DIR"), expected);
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_said() {
        let said = connected(|one| {
            one.stored = Stored::Replaced;
            one.has_others = true;
            one.now = "2026-11-29T00:00:00Z".parse().unwrap();
            one.credential.access_mode = Some("single_use".to_owned());
            one.credential.sources.clear();
        })
        .to_text();
        for part in [
            "the token of this grant is replaced",
            "(single-use access)",
            "this grant has no streams",
            "check the clock",
            "every grant on this machine together",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        let endless = connected(|one| one.credential.grant_expires_at = None).to_text();
        assert!(endless.contains("without an end date"));
    }

    #[test]
    fn json_names_the_same_things() {
        let json = connected(|_| ()).to_json();
        assert_eq!(json["expires_at"], "2026-11-28T22:29:23Z");
        assert_eq!(json["stream_count"].to_string(), "14");
        assert_eq!(json["sources"][0]["connections"][0]["id"], "c1");
        assert_eq!(json["next"], json!(["pdpp mcp setup", "pdpp mcp inspect", "pdpp mcp serve"]));
    }
}
