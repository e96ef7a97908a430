//! Members of a JSON object in their written form, for removing some or adding one and leaving the
//! rest unchanged.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Names and values in written order.
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Parses `line`; `None` if it is not an object.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Removes the members with these names.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, _)| !names.contains(&&**name));
        self
    }

    /// Formats an object on one line, with one more string in front.
    pub fn with_string(&self, name: &str, value: &str) -> Vec<u8> {
        let value = serde_json::to_string(value).unwrap_or_default();
        self.write(&[(name, &value)])
    }

    /// Formats an object on one line; `None` if there are no members.
    pub fn to_object(&self) -> Option<Vec<u8>> {
        (!self.0.is_empty()).then(|| self.write(&[]))
    }

    fn write(&self, first: &[(&str, &str)]) -> Vec<u8> {
        let mut object = vec![b'{'];
        let members = self.0.iter().map(|(name, value)| (&**name, value.get()));
        for (n, (name, value)) in first.iter().copied().chain(members).enumerate() {
            if n > 0 {
                object.push(b',');
            }
            object.extend_from_slice(serde_json::to_string(name).unwrap_or_default().as_bytes());
            object.push(b':');
            object.extend_from_slice(value.as_bytes());
        }
        object.push(b'}');
        object
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<Name<'de>>()? {
                    members.push((name.0, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A name, borrowed where it is written without escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stay_as_they_are_written() {
        let line = br#" { "id" : null, "n" : 1.50, "a\u0062":[1, {"id":2}],"t":"\u00e9" } "#;
        let members = Members::of(line).unwrap().without(&["id"]);
        let rest = r#""n":1.50,"ab":[1, {"id":2}],"t":"\u00e9"}"#;
        let text = |object: Vec<u8>| String::from_utf8(object).unwrap();
        assert_eq!(text(members.with_string("id", "x\"")), format!(r#"{{"id":"x\"",{rest}"#));
        assert_eq!(text(members.to_object().unwrap()), format!("{{{rest}"));
        assert_eq!(text(Members::of(b"{}").unwrap().with_string("id", "1")), r#"{"id":"1"}"#);
        assert!(members.without(&["n", "ab", "t"]).to_object().is_none());
        for no_object in ["", "[]", "1", "{\"a\":}"] {
            assert!(Members::of(no_object.as_bytes()).is_none());
        }
    }
}
