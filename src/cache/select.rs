//! Which credentials a command is about: all, unless the user selects some (R1.2, R1.9, R6.1).

use std::fmt::{self, Write as _};
use std::str::FromStr;

use jiff::Timestamp;

use super::credential::Credential;
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::provider::grant::TokenKind;
use crate::provider::url::ProviderUrl;
use crate::text::shell_word;
use crate::time_text::day_and_time;

/// A person's name for one grant: its id, its label, or a beginning of its id that no other has. `--grant`
/// means the same in every command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantName(String);

/// The text cannot be a [`GrantName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a grant's id, the beginning of one, or a name: it must be 1 to 512 bytes")]
pub struct NotAGrantName;

impl FromStr for GrantName {
    type Err = NotAGrantName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if (1..=512).contains(&text.len()) { Ok(Self(text.to_owned())) } else { Err(NotAGrantName) }
    }
}

impl fmt::Display for GrantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl GrantName {
    /// The credentials in `among` that it can mean: by their whole id, or otherwise by their label, or
    /// otherwise by the beginning of their id.
    pub fn meant<'a>(&self, among: &[&'a Credential]) -> Vec<&'a Credential> {
        let by = |is_meant: &dyn Fn(&Credential) -> bool| {
            among.iter().copied().filter(|credential| is_meant(credential)).collect::<Vec<_>>()
        };
        let whole = by(&|credential| credential.grant_id.as_str() == self.0);
        let called = if whole.is_empty() { by(&|credential| credential.label == self.0) } else { whole };
        if called.is_empty() {
            by(&|credential| credential.grant_id.as_str().starts_with(&self.0))
        } else {
            called
        }
    }
}

/// The part of `credential`'s id that `--grant` needs among `all`: at least 12 characters, if that is less than
/// the whole id.
pub fn short_id<'a>(credential: &'a Credential, all: &[Credential]) -> &'a str {
    const LEAST: usize = 12;
    let id = credential.grant_id.as_str();
    let is_free = |short: &str| {
        let mut others = all.iter().filter(|other| other.id != credential.id);
        others.all(|other| !other.grant_id.as_str().starts_with(short) && other.label != short)
    };
    let ends = id.char_indices().map(|(at, _)| at).skip(LEAST);
    ends.map(|end| &id[..end]).find(|short| short.len() + 4 < id.len() && is_free(short)).unwrap_or(id)
}

/// The name of `credential` when `all` are listed: its label, preceded by what distinguishes it from others
/// with that label, because a label may be cut.
pub fn distinct_label(credential: &Credential, all: &[Credential]) -> String {
    let namesakes =
        || all.iter().filter(|other| other.label == credential.label && !other.is_same_grant(credential));
    if namesakes().any(|other| other.provider == credential.provider) {
        format!("{}: {}", short_id(credential, all), credential.label)
    } else if namesakes().next().is_some() {
        let provider = credential.provider.in_short();
        let address = provider.split_once("://").map_or(provider, |(_, address)| address);
        format!("{address}: {}", credential.label)
    } else {
        credential.label.clone()
    }
}

/// The command that renews and replaces the grant of `credential`, given `all` grants on this computer.
pub fn renew_command(credential: &Credential, all: &[Credential]) -> Command {
    let is_another =
        |other: &Credential| other.provider == credential.provider && other.grant_id != credential.grant_id;
    if all.iter().any(is_another) {
        return renew_exactly(credential);
    }
    Command::connect(credential.provider.typed()).words("--renew")
}

/// The same, if it is unknown what else is on this computer.
pub fn renew_exactly(credential: &Credential) -> Command {
    Command::connect(credential.provider.typed())
        .words("--renew")
        .option("--grant", credential.grant_id.as_str())
}

/// The command that ends the grant of `credential`, and no other.
pub fn disconnect_command(credential: &Credential) -> Command {
    Command::new("disconnect")
        .value(credential.provider.typed())
        .option("--grant", credential.grant_id.as_str())
}

/// What a command is about, as far as the user selected it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this provider's credentials.
    pub provider: Option<ProviderUrl>,
    /// Only this grant.
    pub grant: Option<GrantName>,
    /// For this host: only the grants made for it alone.
    pub host: Option<String>,
}

impl Selection {
    /// The selected credentials of `credentials`, in their order; exactly one if a grant is named. May be empty
    /// if no grant is named.
    ///
    /// # Errors
    /// `not_connected` (78): none matches. `several_credentials` (2): the grant's name matches several.
    pub fn named<'a>(&self, credentials: &'a [Credential]) -> Result<Vec<&'a Credential>> {
        let of_provider: Vec<&Credential> = credentials
            .iter()
            .filter(|credential| {
                self.provider.as_ref().is_none_or(|provider| *provider == credential.provider)
            })
            .collect();
        let found = match &self.grant {
            Some(grant) => grant.meant(&of_provider),
            None => of_provider,
        };
        match found.as_slice() {
            [] if *self != Self::default() => Err(self.not_connected(credentials)),
            [_, _, ..] if self.grant.is_some() => Err(several(&found)),
            _ => Ok(found),
        }
    }

    /// The one selected credential.
    ///
    /// # Errors
    /// Same as [`Selection::named`], even if nothing is named.
    pub fn single<'a>(&self, credentials: &'a [Credential]) -> Result<&'a Credential> {
        match self.named(credentials)?.as_slice() {
            [credential] => Ok(credential),
            [] => Err(self.not_connected(credentials)),
            found => Err(several(found)),
        }
    }

    /// The credentials of `credentials` to serve together at `now`, in their order. They include credentials
    /// that no longer work, so that their purpose can be reported; at least one works. Touches nothing.
    ///
    /// # Errors
    /// - `not_connected`, `grant_expired` (78): none could work; the error names the `pdpp connect` to type.
    /// - `several_credentials` (2): the grant's name matches several.
    /// - `owner_credential_in_cache` (77): an agent must not have it.
    pub fn all<'a>(&self, credentials: &'a [Credential], now: Timestamp) -> Result<Vec<&'a Credential>> {
        let mut matching = self.named(credentials)?;
        // A grant that serves one host alone serves no other, unless it is named.
        if self.host.is_some() || self.grant.is_none() {
            matching.retain(|credential| credential.host == self.host);
        }
        if let Some(owner) = matching.iter().find(|credential| credential.token_kind == TokenKind::Owner) {
            return Err(Error::new(
                Kind::Refused,
                "owner_credential_in_cache",
                format!(
                    "The credential for {} belongs to an owner, and an agent must never have it",
                    owner.provider
                ),
            )
            .hint(Hint::new("Get a scoped token instead: ").run(Command::connect(owner.provider.typed()))));
        }
        let live: Vec<&Credential> =
            matching.iter().copied().filter(|credential| !credential.is_expired(now)).collect();
        match live.first() {
            None if matching.is_empty() => Err(self.not_connected(credentials)),
            None => Err(expired(&matching, credentials)),
            Some(_) => Ok(matching),
        }
    }

    /// The name, among the grants of the selected provider, that is most similar to the given one; `None` if none is
    /// similar.
    fn nearest(&self, credentials: &[Credential]) -> Option<String> {
        let GrantName(typed) = self.grant.as_ref()?;
        let typed = typed.to_lowercase();
        let among: Vec<&Credential> = credentials
            .iter()
            .filter(|credential| {
                self.provider.as_ref().is_none_or(|provider| *provider == credential.provider)
            })
            .collect();
        let labels = among.iter().map(|credential| (credential.label.as_str(), 0.6));
        // All ids begin alike, so an id that is only somewhat similar was not intended.
        let ids = among.iter().map(|credential| (short_id(credential, credentials), 0.8));
        let is_clear = |name: &str| name.parse().is_ok_and(|name: GrantName| name.meant(&among).len() == 1);
        let likeness = |(name, least): (&str, f64)| {
            let name = name.to_lowercase();
            let likeness = strsim::jaro_winkler(&typed, &name);
            let is_near = likeness >= least || name.contains(&typed);
            is_near.then_some(likeness)
        };
        let names = ids.chain(labels).filter(|(name, _)| is_clear(name));
        let near = names.filter_map(|name| Some((name.0, likeness(name)?)));
        near.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(name, _)| name.to_owned())
    }

    fn not_connected(&self, credentials: &[Credential]) -> Error {
        if let Some(host) = &self.host {
            let message = format!("No grant on this computer is for {host} alone");
            let next = Command::connect("local").option("--for", host);
            if !credentials.iter().any(|credential| credential.host.is_none()) {
                return Error::new(Kind::NotConnected, "not_connected", message).run(next);
            }
            // The host's entry, which names the host, stays until it is removed.
            let remove = Command::new("mcp setup").value(host).words("--remove");
            let hint = Hint::new("")
                .run(next)
                .then("; or, to serve the grants for all hosts, ")
                .run(remove)
                .then(" and ")
                .run(Command::new("mcp setup").value(host));
            return Error::new(Kind::NotConnected, "not_connected", message).hint(hint);
        }
        let is_meant =
            |one: &&Credential| self.provider.as_ref().is_none_or(|provider| *provider == one.provider);
        let meant: Vec<&Credential> = credentials.iter().filter(is_meant).collect();
        if let (None, [first, ..]) = (&self.grant, meant.as_slice()) {
            return kept_for_others(first, &meant);
        }
        let mut message = match (&self.provider, &self.grant) {
            (None, None) => "No provider is connected on this computer".to_owned(),
            (Some(provider), None) => format!("{provider} is not connected on this computer"),
            (None, Some(grant)) => format!("There is no grant {grant} on this computer"),
            (Some(provider), Some(grant)) => {
                format!("There is no grant {grant} of {provider} on this computer")
            }
        };
        if !credentials.is_empty() {
            message.push_str("; these are connected:");
            // If `--grant` was wrong, lists each grant with the value to give.
            list(&mut message, &credentials.iter().collect::<Vec<_>>(), self.grant.is_some());
        }
        if let Some(near) = self.nearest(credentials) {
            return Error::new(Kind::NotConnected, "not_connected", message)
                .run(Command::typed_with("--grant", &near, "status"));
        }
        let error = Error::new(Kind::NotConnected, "not_connected", message);
        match &self.provider {
            // That provider has grants, or there are others: the name is wrong.
            _ if self.grant.is_some() && !meant.is_empty() => error.run(Command::new("status")),
            Some(provider) => error.run(Command::connect(provider.typed())),
            None => error.hint(Hint::connect_own_or(Command::connect_any())),
        }
    }
}

/// The error for grants that each serve one host, if the caller names none of these hosts.
fn kept_for_others(first: &Credential, all: &[&Credential]) -> Error {
    let mut message = "No grant on this computer is for every host; these are for one host alone:".to_owned();
    for one in all {
        let host = one.host.as_deref().unwrap_or_default();
        let _ = write!(message, "\n  {} ({}) for {host}", one.provider, one.label);
    }
    let typed = first.provider.typed();
    Error::new(Kind::NotConnected, "not_connected", message)
        .hint(Hint::new("To allow every host: ").run(Command::connect(typed)))
}

fn expired(expired: &[&Credential], all: &[Credential]) -> Error {
    let mut message = "Every grant on this computer that could be served has expired:".to_owned();
    for credential in expired {
        let end = credential.expires_at().map(day_and_time).unwrap_or_default();
        let _ = write!(
            message,
            "\n  {} ({}), grant {}, ended {end}",
            credential.provider, credential.label, credential.grant_id
        );
    }
    let next = expired.first().map_or_else(Command::connect_any, |first| renew_command(first, all));
    Error::new(Kind::NotConnected, "grant_expired", message).run(next)
}

/// The error for a name that matches several grants; lists a name for each.
pub fn several(found: &[&Credential]) -> Error {
    let mut message = "Several grants match:".to_owned();
    list(&mut message, found, true);
    let first = found.first().map_or("", |credential| credential.grant_id.as_str());
    let is_clear = found.iter().filter(|credential| credential.grant_id.as_str() == first).count() == 1;
    let next =
        if is_clear { Command::typed_with("--grant", first, "status") } else { Command::new("status") };
    Error::new(Kind::Usage, "several_credentials", message).run(next)
}

/// One line per credential, with the options that select exactly it: with its grant if its provider has
/// several, or if `each` is to be named.
pub fn list(message: &mut String, credentials: &[&Credential], each: bool) {
    for credential in credentials {
        let alone = credentials.iter().filter(|other| other.provider == credential.provider).count() == 1;
        let _ = write!(message, "\n  --provider {}", shell_word(credential.provider.typed()));
        if each || !alone {
            let _ = write!(message, " --grant {}", shell_word(credential.grant_id.as_str()));
        }
        let _ = write!(message, "   ({})", credential.label);
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
        let text = format!("{} {}", error.message(), error.next_step().unwrap_or_default());
        (error.code(), error.kind().exit_code(), text)
    }

    fn of(provider: &str) -> Selection {
        Selection { provider: Some(provider.parse().unwrap()), ..Selection::default() }
    }

    #[test]
    fn r1_9_neither_filter_is_needed_for_one() {
        let all = [credential("https://a.example/t", "g1")];
        assert_eq!(Selection::default().all(&all, now()).unwrap(), [&all[0]]);
        assert_eq!(of("https://a.example/t/").all(&all, now()).unwrap(), [&all[0]]);
        let grant = Selection { grant: Some("g1".parse().unwrap()), ..Selection::default() };
        assert_eq!(grant.all(&all, now()).unwrap(), [&all[0]]);
    }

    #[test]
    fn r1_2_no_credential_names_the_connect_to_type() {
        let (code_, exit, text) = code(&Selection::default(), &[]);
        assert_eq!((code_, exit), ("not_connected", 78));
        assert!(text.ends_with("pdpp connect <provider-url>"), "{text}");
        let other = [credential("https://a.example", "g1")];
        let (code_, exit, text) = code(&of("https://b.example/x"), &other);
        assert_eq!((code_, exit), ("not_connected", 78));
        assert!(text.ends_with("pdpp connect https://b.example/x") && text.contains("https://a.example"));
    }

    #[test]
    fn a_grant_that_matches_none_leads_to_the_list_unless_there_is_none() {
        let all = [credential("https://a.example", "grt_1"), credential("https://b.example", "grt_2")];
        let named = |provider: Option<&str>, grant: &str, all: &[Credential]| {
            let provider = provider.map(|provider| provider.parse().unwrap());
            code(&Selection { provider, grant: Some(grant.parse().unwrap()), host: None }, all).2
        };
        for (provider, grant) in [(None, "foo"), (Some("https://a.example"), "foo")] {
            let text = named(provider, grant, &all);
            assert!(text.ends_with(" pdpp status"), "{text}");
        }
        // A similar name is suggested, and not another one.
        let text = named(None, "Diry", &all[..1]);
        assert!(text.ends_with("pdpp status --grant Diary"), "{text}");
        let text = named(None, "foo", &[]);
        assert!(
            text.contains("pdpp connect local") && text.ends_with("pdpp connect <provider-url>"),
            "{text}"
        );
        let text = named(Some("https://c.example"), "foo", &all);
        assert!(text.ends_with("pdpp connect https://c.example"), "{text}");
    }

    #[test]
    fn r1_2_only_expired_ones_are_named() {
        let mut old = credential("https://a.example/t", "g1");
        old.grant_expires_at = Some(Timestamp::from_second(1_000).unwrap());
        let (code_, exit, text) = code(&Selection::default(), std::slice::from_ref(&old));
        assert_eq!((code_, exit), ("grant_expired", 78));
        assert!(
            text.contains("grant g1") && text.ends_with("pdpp connect https://a.example/t --renew"),
            "{text}"
        );
        // An expired grant does not block a live one, and is not forgotten.
        let all = [old, credential("https://a.example/t", "g2")];
        assert_eq!(Selection::default().all(&all, now()).unwrap(), [&all[0], &all[1]]);
    }

    #[test]
    fn r1_2_what_serves_another_host_alone_is_named_so() {
        let mut all = [credential("https://a.example/t", "g1"), credential("https://b.example", "g2")];
        for one in &mut all {
            one.host = Some("claude".to_owned());
        }
        for selection in [Selection::default(), of("https://a.example/t")] {
            let (code_, exit, text) = code(&selection, &all);
            assert_eq!((code_, exit), ("not_connected", 78));
            assert!(text.contains("https://a.example/t (Diary) for claude"), "{text}");
            assert!(!text.contains("No provider") && !text.contains("connected are"), "{text}");
            assert!(text.ends_with("To allow every host: pdpp connect https://a.example/t"), "{text}");
        }
        let (_, _, text) = code(&of("https://c.example"), &all);
        assert!(text.contains("https://c.example is not connected on this computer"), "{text}");
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
        let both = Selection { grant: Some("g3".parse().unwrap()), ..of("https://b.example") };
        assert_eq!(both.all(&all, now()).unwrap(), [&all[2]]);
        let (code_, exit, text) = code(&of("https://c.example"), &all);
        assert_eq!((code_, exit), ("not_connected", 78));
        assert!(text.contains("--provider https://a.example   ("), "{text}");
        assert!(text.contains("--provider https://b.example --grant g3"), "{text}");
    }

    #[test]
    fn r1_9_a_grant_is_named_by_its_id_its_label_or_how_its_id_begins() {
        let mut all = [
            credential("https://a.example", "grt_one"),
            credential("https://a.example", "grt_one_more"),
            credential("https://b.example", "grt_one"),
            credential("https://b.example", "grt_two"),
        ];
        for (one, label) in all.iter_mut().zip(["Home", "grt_t", "Home", "Work mail"]) {
            label.clone_into(&mut one.label);
        }
        let named = |provider: Option<&str>, grant: &str| {
            let provider = provider.map(|provider| provider.parse().unwrap());
            let selection = Selection { provider, grant: Some(grant.parse().unwrap()), host: None };
            selection
                .single(&all)
                .map(|one| one.id.clone())
                .map_err(|error| (error.code(), error.to_string()))
        };
        let (a, b) = (Some("https://a.example"), Some("https://b.example"));
        assert_eq!(named(a, "grt_one").as_ref(), Ok(&all[0].id), "a whole id, though another begins with it");
        assert_eq!(named(None, "grt_one_").as_ref(), Ok(&all[1].id), "a beginning");
        assert_eq!(named(None, "grt_t").as_ref(), Ok(&all[1].id), "a label, though an id begins with it");
        assert_eq!(named(None, "Work mail").as_ref(), Ok(&all[3].id));
        assert_eq!(named(b, "Home").as_ref(), Ok(&all[2].id));
        for several in ["Home", "grt_one", "grt_"] {
            let (code, text) = named(None, several).unwrap_err();
            assert_eq!(code, "several_credentials", "{several}");
            assert!(text.contains("--provider https://b.example --grant grt_one "), "{text}");
        }
        for none in ["home", "Work", "rt_one"] {
            assert_eq!(named(None, none).unwrap_err().0, "not_connected", "{none}");
        }
        assert_eq!(Selection::default().single(&all).unwrap_err().code(), "several_credentials");
        assert_eq!(Selection::default().named(&[]).unwrap(), [] as [&Credential; 0]);
        assert!("".parse::<GrantName>().is_err() && "x".repeat(513).parse::<GrantName>().is_err());
    }

    #[test]
    fn a_shown_id_is_one_that_names_it() {
        let ids = ["grt_0123456789abcdef0123", "grt_0123456789abcdeF0123", "grt_1123456789abcdef", "short"];
        let all = ids.map(|id| credential("https://a.example", id));
        let shown: Vec<_> = all.iter().map(|one| short_id(one, &all)).collect();
        assert_eq!(shown, [ids[0], ids[1], "grt_11234567", "short"]);
        for (one, shown) in all.iter().zip(shown) {
            let named = Selection { grant: Some(shown.parse().unwrap()), ..Selection::default() };
            assert_eq!(named.single(&all).unwrap().id, one.id);
        }
    }

    #[test]
    fn grants_of_one_label_are_called_apart() {
        let mut all = [
            credential("https://a.example/me", "grt_1"),
            credential("https://b.example", "grt_1"),
            credential("https://c.example", "grt_2"),
        ];
        all[2].label = "Mail".to_owned();
        let called = |all: &[Credential]| all.iter().map(|one| distinct_label(one, all)).collect::<Vec<_>>();
        assert_eq!(called(&all), ["a.example/me: Diary", "b.example: Diary", "Mail"]);
        let same = [credential("https://a.example", "grt_1"), credential("https://a.example", "grt_2")];
        assert_eq!(called(&same), ["grt_1: Diary", "grt_2: Diary"]);
    }

    #[test]
    fn the_command_that_renews_names_the_grant_where_there_are_several() {
        let all = [
            credential("https://a.example", "g 1"),
            credential("https://a.example", "g2"),
            credential("https://b.example", "g3"),
        ];
        let renew = |at: usize| renew_command(&all[at], &all).to_string();
        let name = crate::text::shell_word("g 1");
        assert_eq!(renew(0), format!("pdpp connect https://a.example --renew --grant {name}"));
        assert_eq!(renew(2), "pdpp connect https://b.example --renew");
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
