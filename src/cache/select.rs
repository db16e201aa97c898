//! Which credentials `mcp serve` reads with: all, unless the user narrows (R1.2, R1.9, R6.1).

use std::fmt::Write as _;

use jiff::Timestamp;

use super::credential::{Credential, TokenKind};
use crate::error::{Error, Kind, Result};
use crate::provider::url::ProviderUrl;
use crate::text::shell_word;

/// What to serve, where the user said so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this provider's.
    pub provider: Option<ProviderUrl>,
    /// Only this grant.
    pub grant: Option<String>,
}

impl Selection {
    /// The credentials of `credentials` to serve together, at `now`, in their order. Those that are of no use
    /// any more are among them, so that what they were for can be told; at least one is of use. Touches nothing.
    ///
    /// # Errors
    /// - `not_connected`, `grant_expired` (78): none that could work; names the `pdpp connect` to type.
    /// - `owner_credential_in_cache` (77): not for an agent.
    pub fn all<'a>(&self, credentials: &'a [Credential], now: Timestamp) -> Result<Vec<&'a Credential>> {
        let matching: Vec<&Credential> = credentials.iter().filter(|one| self.matches(one)).collect();
        if let Some(owner) = matching.iter().find(|one| one.token_kind == TokenKind::Owner) {
            return Err(Error::new(
                Kind::Refused,
                "owner_credential_in_cache",
                format!(
                    "The credential for {} is an owner's, which an agent must never have",
                    owner.provider
                ),
            )
            .hint(format!("Get a scoped one: pdpp connect {}", owner.provider)));
        }
        let live: Vec<&Credential> = matching.iter().copied().filter(|one| !one.is_expired(now)).collect();
        match live.first() {
            None if matching.is_empty() => Err(self.not_connected(credentials)),
            None => Err(expired(&matching)),
            Some(_) => Ok(matching),
        }
    }

    fn matches(&self, one: &Credential) -> bool {
        self.provider.as_ref().is_none_or(|provider| *provider == one.provider)
            && self.grant.as_ref().is_none_or(|grant| grant == one.grant_id.as_str())
    }

    fn not_connected(&self, credentials: &[Credential]) -> Error {
        let mut message = match (&self.provider, &self.grant) {
            (None, None) => "No provider is connected on this machine".to_owned(),
            (Some(provider), None) => format!("{provider} is not connected on this machine"),
            (None, Some(grant)) => format!("Grant {grant} is not on this machine"),
            (Some(provider), Some(grant)) => format!("Grant {grant} of {provider} is not on this machine"),
        };
        if !credentials.is_empty() {
            message.push_str("; connected are:");
            list(&mut message, &credentials.iter().collect::<Vec<_>>());
        }
        let url = self.provider.as_ref().map_or("<provider-url>", ProviderUrl::as_str);
        Error::new(Kind::NotConnected, "not_connected", message).hint(format!("pdpp connect {url}"))
    }
}

fn expired(expired: &[&Credential]) -> Error {
    let mut message = "Every grant on this machine that could be served has expired:".to_owned();
    for one in expired {
        let end = one.expires_at().map(|end| end.to_string()).unwrap_or_default();
        let _ = write!(message, "\n  {} ({}), grant {}, ended {end}", one.provider, one.label, one.grant_id);
    }
    let next = expired.first().map_or("<provider-url>", |one| one.provider.as_str());
    Error::new(Kind::NotConnected, "grant_expired", message).hint(format!("pdpp connect {next}"))
}

/// One line a credential, with the options that pick exactly it.
fn list(message: &mut String, credentials: &[&Credential]) {
    for one in credentials {
        let alone = credentials.iter().filter(|other| other.provider == one.provider).count() == 1;
        let _ = write!(message, "\n  --provider {}", shell_word(one.provider.as_str()));
        if !alone {
            let _ = write!(message, " --grant {}", shell_word(one.grant_id.as_str()));
        }
        let _ = write!(message, "   ({})", one.label);
    }
}

#[cfg(test)]
mod tests {
    use super::super::credential::tests::credential;
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_000).unwrap()
    }

    fn code(selection: &Selection, credentials: &[Credential]) -> (&'static str, u8, String) {
        let error = selection.all(credentials, now()).unwrap_err();
        let said = format!("{} {}", error.message(), error.next_step().unwrap_or_default());
        (error.code(), error.kind().exit_code(), said)
    }

    fn of(provider: &str) -> Selection {
        Selection { provider: Some(provider.parse().unwrap()), grant: None }
    }

    #[test]
    fn r1_9_neither_filter_is_needed_for_one() {
        let all = [credential("https://a.example/t", "g1")];
        assert_eq!(Selection::default().all(&all, now()).unwrap(), [&all[0]]);
        assert_eq!(of("https://a.example/t/").all(&all, now()).unwrap(), [&all[0]]);
        let grant = Selection { provider: None, grant: Some("g1".to_owned()) };
        assert_eq!(grant.all(&all, now()).unwrap(), [&all[0]]);
    }

    #[test]
    fn r1_2_no_credential_names_the_connect_to_type() {
        let (code_, exit, said) = code(&Selection::default(), &[]);
        assert_eq!((code_, exit), ("not_connected", 78));
        assert!(said.ends_with("pdpp connect <provider-url>"), "{said}");
        let other = [credential("https://a.example", "g1")];
        let (code_, exit, said) = code(&of("https://b.example/x"), &other);
        assert_eq!((code_, exit), ("not_connected", 78));
        assert!(said.ends_with("pdpp connect https://b.example/x") && said.contains("https://a.example"));
    }

    #[test]
    fn r1_2_only_expired_ones_are_named() {
        let mut old = credential("https://a.example/t", "g1");
        old.grant_expires_at = Some(Timestamp::from_second(1_000).unwrap());
        let (code_, exit, said) = code(&Selection::default(), std::slice::from_ref(&old));
        assert_eq!((code_, exit), ("grant_expired", 78));
        assert!(said.contains("grant g1") && said.ends_with("pdpp connect https://a.example/t"), "{said}");
        // An expired one does not stand in the way of a live one, and is not forgotten.
        let all = [old, credential("https://a.example/t", "g2")];
        assert_eq!(Selection::default().all(&all, now()).unwrap(), [&all[0], &all[1]]);
    }

    #[test]
    fn r6_1_all_are_served_and_filters_narrow() {
        let all = [
            credential("https://a.example", "g1"),
            credential("https://b.example", "g2"),
            credential("https://b.example", "g3"),
        ];
        assert_eq!(Selection::default().all(&all, now()).unwrap(), [&all[0], &all[1], &all[2]]);
        assert_eq!(of("https://b.example").all(&all, now()).unwrap(), [&all[1], &all[2]]);
        let both = Selection { grant: Some("g3".to_owned()), ..of("https://b.example") };
        assert_eq!(both.all(&all, now()).unwrap(), [&all[2]]);
        let (code_, exit, said) = code(&of("https://c.example"), &all);
        assert_eq!((code_, exit), ("not_connected", 78));
        assert!(said.contains("--provider https://a.example   ("), "{said}");
        assert!(said.contains("--provider https://b.example --grant g3"), "{said}");
    }

    #[test]
    fn r1_3_an_owner_credential_is_refused_even_beside_a_good_one() {
        let mut owner = credential("https://a.example", "g1");
        owner.token_kind = TokenKind::Owner;
        let all = [credential("https://b.example", "g2"), owner];
        assert_eq!(code(&Selection::default(), &all).0, "owner_credential_in_cache");
        assert_eq!(code(&Selection::default(), &all).1, 77);
        assert_eq!(of("https://b.example").all(&all, now()).unwrap(), [&all[0]]);
    }
}
