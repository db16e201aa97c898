//! base64url without padding (RFC 4648 §5): for opaque cursors and resource handles.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for position in 0..=chunk.len() {
            let index = (group >> (18 - 6 * position)) & 63;
            out.push(char::from(ALPHABET[index as usize]));
        }
    }
    out
}

/// Decodes `text`; `None` if it is not base64url, or not the one way to write its bytes.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        if chunk.len() == 1 {
            return None;
        }
        let mut group = 0u32;
        for symbol in chunk {
            let index = ALPHABET.iter().position(|letter| letter == symbol)?;
            group = group << 6 | u32::try_from(index).ok()?;
        }
        group <<= 6 * (4 - chunk.len());
        let [_, bytes @ ..] = group.to_be_bytes();
        if bytes[chunk.len() - 1..].iter().any(|spare| *spare != 0) && chunk.len() < 4 {
            return None;
        }
        out.extend_from_slice(&bytes[..chunk.len() - 1]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        for (plain, encoded) in [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")] {
            assert_eq!(encode(plain.as_bytes()), encoded);
        }
        assert_eq!(encode(&[0xfb, 0xff]), "-_8");
        assert_eq!(decode("Z"), None);
        assert_eq!(decode("Zh"), None, "spare bits");
        assert_eq!(decode("Zg=="), None);
    }

    proptest! {
        #[test]
        fn round_trips(bytes in any::<Vec<u8>>()) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn one_way_to_write(text in "[A-Za-z0-9_-]{0,9}") {
            if let Some(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
