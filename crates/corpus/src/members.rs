//! Members of a JSON object in their written form, for removing some or adding one and leaving the
//! rest unchanged.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json::not_a_number;

/// Names and values in written order.
pub struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Members<'a> {
    /// Parses `line`; `None` if it is not an object. `NaN` and `Infinity` become null.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().or_else(|| {
            let clean = not_a_number::without(std::str::from_utf8(line).ok()?)?;
            serde_json::from_str(&clean).ok().map(Members::into_owned)
        })
    }

    pub(super) fn into_owned(self) -> Members<'static> {
        let owned = |(name, value): (Cow<'_, str>, Cow<'_, RawValue>)| {
            (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned()))
        };
        Members(self.0.into_iter().map(owned).collect())
    }

    /// Returns names and values in their written form, in written order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, value.get()))
    }

    /// Returns the names, in written order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Returns the value of a member in its written form.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value.get())
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
                    members.push((name.0, Cow::Borrowed(map.next_value()?)));
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
        let not_a_number = Members::of(br#"{"n":NaN,"a":"NaN"}"#).unwrap();
        assert_eq!(text(not_a_number.to_object().unwrap()), r#"{"n":null,"a":"NaN"}"#);
        for no_object in ["", "[]", "1", "{\"a\":}"] {
            assert!(Members::of(no_object.as_bytes()).is_none());
        }
    }
}
