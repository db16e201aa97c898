//! Reads a record's top-level fields without parsing what is below them.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The top-level fields of a record, as they are written.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A JSON string, borrowed unless it has escapes.
///
/// A plain `&str` fails on escapes, with an error that quotes the whole string.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Fields<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(24);
                while let Some((Text(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Read)
    }
}

impl<'a> Fields<'a> {
    /// Reads an object. Anything else has no fields.
    pub fn parse(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// All fields in the order in which they are written, each with the JSON of its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (&**name, value.get()))
    }

    /// The last field with this name, which is the one that other JSON readers use.
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The field's value, as it is written.
    pub fn json(&self, name: &str) -> Option<&'a str> {
        self.get(name).map(RawValue::get)
    }

    /// The field's value, if it is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.get(name)?.get();
        if !raw.starts_with('"') {
            return None;
        }
        serde_json::from_str::<Text<'a>>(raw).ok().map(|text| text.0)
    }

    /// The id of the blob that the field refers to.
    pub fn blob_id(&self, name: &str) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Reference {
            blob_id: String,
        }
        serde_json::from_str::<Reference>(self.get(name)?.get()).ok().map(|reference| reference.blob_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_digits_and_escapes() {
        let fields = Fields::parse(r#"{"a":"x\u00e9\n","b":1.10,"c":{"blob_id":"z"},"a\u0062":"k"}"#);
        assert_eq!(fields.text("a").as_deref(), Some("xé\n"));
        assert_eq!(fields.text("b"), None);
        assert_eq!(fields.blob_id("c").as_deref(), Some("z"));
        assert_eq!(fields.text("ab").as_deref(), Some("k"));
        assert!(Fields::parse("[1]").0.is_empty());
    }
}
