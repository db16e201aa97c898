//! The code with which an owner admits a stranger's request (`pairing.rs`). There is one at a time, and it works
//! once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use secrecy::zeroize::Zeroizing;

use super::flows::{LETTERS, letters};
use crate::vault::id::token_hash;

/// The number of letters in a code, and in each group.
const CODE: usize = 12;
const GROUP: usize = 4;
/// The current code.
pub struct Pairing(Mutex<Zeroizing<String>>);

impl Pairing {
    /// Makes the first code.
    ///
    /// # Errors
    /// Returns an error if the system supplies no random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        Ok(Self(Mutex::new(new_code()?)))
    }

    /// The code in the form in which it is shown.
    pub fn code(&self) -> String {
        self.lock().as_str().to_owned()
    }

    /// Whether `typed` is the code. If so, the code is used up and replaced by a new one.
    ///
    /// # Errors
    /// Returns an error if the system supplies no random numbers; the code is then not used up.
    pub fn take(&self, typed: &str) -> Result<bool, getrandom::Error> {
        let typed = plain(typed);
        let mut code = self.lock();
        // Compares hashes, so that the time taken reveals nothing about the code.
        if token_hash(&plain(&code)) != token_hash(&typed) {
            return Ok(false);
        }
        *code = new_code()?;
        Ok(true)
    }

    fn lock(&self) -> MutexGuard<'_, Zeroizing<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn new_code() -> Result<Zeroizing<String>, getrandom::Error> {
    let mut code = Zeroizing::new(String::with_capacity(CODE + CODE / GROUP));
    letters(CODE, GROUP, &mut code)?;
    Ok(code)
}

/// A code without the characters that only make it readable.
fn plain(typed: &str) -> Zeroizing<String> {
    let mut plain = Zeroizing::new(String::with_capacity(CODE));
    let letters = typed.chars().map(|c| c.to_ascii_uppercase());
    // One letter too many is enough to make it wrong, however much was sent.
    plain.extend(letters.filter(|c| LETTERS.contains(&u8::try_from(*c).unwrap_or(0))).take(CODE));
    if typed.chars().filter(|c| !matches!(c, ' ' | '-' | '\t')).count() != CODE {
        plain.clear();
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_three_groups_of_four_and_good_once() {
        let pairing = Pairing::new().unwrap();
        let code = pairing.code();
        assert_eq!(code.len(), 14);
        assert!(
            code.split('-')
                .all(|group| group.len() == 4 && group.bytes().all(|byte| LETTERS.contains(&byte)))
        );
        let plain = code.replace('-', "");
        for wrong in
            ["", "A", &plain[1..], &format!("{plain}B"), &format!("{code}{code}"), &"B".repeat(100_000)]
        {
            assert!(!pairing.take(wrong).unwrap(), "{wrong:.40}");
        }
        assert_eq!(pairing.code(), code, "a wrong one changes nothing");
        assert!(pairing.take(&format!(" {} ", plain.to_ascii_lowercase())).unwrap());
        assert_ne!(pairing.code(), code);
        assert!(!pairing.take(&code).unwrap(), "a second time");
        assert!(pairing.take(&pairing.code()).unwrap());
    }
}
