//! Cursors that only this server can read or make. Their holder must not see what they contain (how many changes
//! there were, a value of a hidden field), and a forged cursor is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The key of one store.
pub struct Seal(LessSafeKey);

/// The bytes of a key.
pub const KEY_LEN: usize = 32;

impl Seal {
    /// A seal with this key.
    ///
    /// # Errors
    /// Never fails for a key of this length.
    pub fn new(key: &[u8; KEY_LEN]) -> Result<Self, ring::error::Unspecified> {
        Ok(Self(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key)?)))
    }

    /// Seals `value` for `context`. It opens only in the same context.
    pub fn close<T: Serialize>(&self, context: &str, value: &T) -> Option<String> {
        let mut bytes = serde_json::to_vec(value).ok()?;
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let aad = Aad::from(context.as_bytes());
        self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut bytes).ok()?;
        let mut sealed = nonce.to_vec();
        sealed.append(&mut bytes);
        Some(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// The value that was sealed for `context`; `None` for anything else.
    pub fn open<T: DeserializeOwned>(&self, context: &str, sealed: &str) -> Option<T> {
        let mut bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let nonce: [u8; NONCE_LEN] = bytes.get(..NONCE_LEN)?.try_into().ok()?;
        let aad = Aad::from(context.as_bytes());
        let plain = self
            .0
            .open_in_place(Nonce::assume_unique_for_key(nonce), aad, bytes.get_mut(NONCE_LEN..)?)
            .ok()?;
        serde_json::from_slice(plain).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_seal_opens_in_its_context_only() {
        let seal = Seal::new(&[7; KEY_LEN]).unwrap();
        let sealed = seal.close("here", &(3, "x")).unwrap();
        assert_eq!(seal.open("here", &sealed), Some((3, "x".to_owned())));
        assert_eq!(seal.open::<(i32, String)>("there", &sealed), None);
        assert_eq!(Seal::new(&[8; KEY_LEN]).unwrap().open::<(i32, String)>("here", &sealed), None);
    }

    proptest! {
        #[test]
        fn nothing_made_up_opens(text in any::<String>()) {
            prop_assert_eq!(Seal::new(&[7; KEY_LEN]).unwrap().open::<i32>("", &text), None);
        }
    }
}
