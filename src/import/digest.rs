//! Names made from content: the same parts give the same name on every machine.

use ring::digest::{Context, SHA256};

use crate::hex;

/// 24 hex digits of SHA-256 over the parts, each after its length (O5.4).
pub fn name<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    hex::of(&context.finish().as_ref()[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_part_ends_is_part_of_the_name() {
        let of = |parts: &[&str]| name(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["ab", "c"]).len(), 24);
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    }
}
