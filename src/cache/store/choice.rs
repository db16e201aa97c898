//! Which store new secrets go to: the one that was asked for, or otherwise the earlier choice, or otherwise the
//! keyring, if there is one.

use serde::{Deserialize, Serialize};

use super::{StoreError, StoreKind};

/// Where to keep secrets, as a person chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum StoreChoice {
    /// The keyring; a file if there is no keyring, with a note
    #[default]
    Auto,
    /// Only the keyring
    Keyring,
    /// A file that only you can read
    File,
}

/// A store that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The store.
    pub kind: StoreKind,
    /// One line for stderr, if it is not the store that `auto` prefers.
    pub note: Option<String>,
}

impl StoreChoice {
    /// Its name as an argument.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Keyring => "keyring",
            Self::File => "file",
        }
    }

    /// Decides, with `probe` to check whether the keyring works. `Auto` uses a file only if there is no
    /// keyring: a locked or silent keyring is still the one that the person has.
    ///
    /// # Errors
    /// Why the keyring, which would have been the choice, cannot be used.
    pub fn decide(self, probe: impl FnOnce() -> Result<(), StoreError>) -> Result<Chosen, StoreError> {
        let chosen = |kind, note| Ok(Chosen { kind, note });
        match self {
            Self::File => chosen(StoreKind::File, None),
            Self::Keyring => probe().and_then(|()| chosen(StoreKind::Keyring, None)),
            Self::Auto => match probe() {
                Ok(()) => chosen(StoreKind::Keyring, None),
                Err(StoreError::KeyringAbsent(why)) => chosen(
                    StoreKind::File,
                    Some(format!(
                        "No keyring works here ({why}), so the token goes into a file that only you can read."
                    )),
                ),
                Err(error) => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent() -> Result<(), StoreError> {
        Err(StoreError::KeyringAbsent("no bus".to_owned()))
    }

    #[test]
    fn r8_4_the_fallback_is_visible_and_only_for_an_absent_keyring() {
        let chosen = StoreChoice::Auto.decide(absent).unwrap();
        assert_eq!(chosen.kind, StoreKind::File);
        assert!(chosen.note.unwrap().contains("no bus"));
        for error in [StoreError::KeyringSilent, StoreError::KeyringLocked("x".to_owned())] {
            let code = error.code();
            assert_eq!(StoreChoice::Auto.decide(|| Err(error)).unwrap_err().code(), code);
        }
        assert_eq!(StoreChoice::Auto.decide(|| Ok(())).unwrap().kind, StoreKind::Keyring);
    }

    #[test]
    fn keyring_never_falls_back_and_file_never_asks() {
        assert_eq!(StoreChoice::Keyring.decide(absent).unwrap_err().code(), "keyring_absent");
        let file = StoreChoice::File.decide(|| panic!("asked")).unwrap();
        assert_eq!(file, Chosen { kind: StoreKind::File, note: None });
    }
}
