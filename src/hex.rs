//! Bytes in hexadecimal, for names that nobody reads.

/// `bytes` in lower case, two digits each.
pub fn of(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text
}

/// The SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> String {
    of(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

/// `N` random bytes.
///
/// # Errors
/// If the system cannot provide random bytes.
pub fn random<const N: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(of(&bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_digits_a_byte() {
        assert_eq!(super::of(&[0, 10, 255]), "000aff");
        assert_eq!(super::random::<16>().unwrap().len(), 32);
        assert_ne!(super::random::<16>().unwrap(), super::random::<16>().unwrap());
    }
}
