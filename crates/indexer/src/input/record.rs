//! One line of JSON to one record: its id, its text, and a reason where there is none.

use std::borrow::Cow;
use std::fmt;

use index::DocumentId;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// Which fields of a record hold what.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) id: String,
    pub(crate) text: String,
}

/// What a line says.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) id: DocumentId,
    pub(crate) text: Cow<'a, str>,
}

impl Fields {
    /// Reads one line; the error is the reason a person sees.
    pub(crate) fn parse<'a>(&self, line: &'a [u8]) -> Result<Record<'a>, String> {
        let line = std::str::from_utf8(line)
            .map_err(|error| format!("invalid UTF-8 after byte {} of the line", error.valid_up_to()))?;
        if line.trim_start().starts_with('[') {
            return Err("a JSON array: JSON Lines has one object on each line".to_owned());
        }
        let mut json = serde_json::Deserializer::from_str(line);
        let found =
            self.deserialize(&mut json).and_then(|found| json.end().map(|()| found)).map_err(|error| {
                // Every record is one line, so serde's line number says nothing.
                let reason = error.to_string().replace(" at line 1 column ", " at column ");
                // serde says only where the second half of a pair is missing.
                if reason.contains("hex escape") {
                    format!("{reason}: a lone surrogate is no character")
                } else {
                    reason
                }
            })?;
        let id = found.id.ok_or_else(|| {
            format!("there is no field {:?}; --id-field names the one that holds the id", self.id)
        })?;
        let text = found.text.ok_or_else(|| {
            format!("there is no field {:?}; --text-field names the one that holds the text", self.text)
        })?;
        Ok(Record { id: DocumentId::new(id.into_owned()).map_err(|error| error.to_string())?, text })
    }
}

/// What a line has of what is looked for.
#[derive(Default)]
pub(crate) struct Found<'a> {
    id: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
}

impl<'de> DeserializeSeed<'de> for &Fields {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Fields {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let mut found = Found::default();
        while let Some(key) = map.next_key_seed(Text { what: "a field name", integers: false })? {
            if key == self.id {
                found.id =
                    Some(map.next_value_seed(Text { what: "a string or an integer as id", integers: true })?);
            } else if key == self.text {
                found.text = Some(map.next_value_seed(Text { what: "a string as text", integers: false })?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A string, borrowed where it holds no escapes.
struct Text {
    what: &'static str,
    /// Whether an integer will do, in its decimal form.
    integers: bool,
}

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // Not `deserialize_str`: its error for another type would be about strings, not about the field.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
        if self.integers {
            return Ok(Cow::Owned(number.to_string()));
        }
        Err(E::invalid_type(serde::de::Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
        if self.integers {
            return Ok(Cow::Owned(number.to_string()));
        }
        Err(E::invalid_type(serde::de::Unexpected::Signed(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: impl AsRef<[u8]>, expected: Result<(&str, &str), &str>) {
        let fields = Fields { id: "id".to_owned(), text: "text".to_owned() };
        match (fields.parse(line.as_ref()), expected) {
            (Ok(record), Ok((id, text))) => assert_eq!((record.id.as_str(), &*record.text), (id, text)),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?} should say {part:?}"),
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn records() {
        check(r#"{"id":"a","text":"b"}"#, Ok(("a", "b")));
        check(r#" {"text":"b\n\u00e9\ud83d\ude00","x":{"id":[1,null]},"id":7}"#, Ok(("7", "b\né😀")));
        check("{\"id\":-1,\"text\":\"\"}\r", Ok(("-1", "")));
        check(r#"{"id":"a","text":"nul \u0000 inside"}"#, Ok(("a", "nul \0 inside")));
    }

    #[test]
    fn reasons() {
        check("", Err("EOF"));
        check("[1]", Err("one object on each line"));
        check("1", Err("expected a JSON object"));
        check(r#"{"id":"a","text":"b"} x"#, Err("trailing characters at column 23"));
        check(r#"{"id":"a"}"#, Err("no field \"text\""));
        check(r#"{"text":"a"}"#, Err("no field \"id\""));
        check(r#"{"id":"a","text":null}"#, Err("expected a string as text"));
        check(r#"{"id":"a","text":3}"#, Err("expected a string as text"));
        check(r#"{"id":1.5,"text":""}"#, Err("expected a string or an integer as id"));
        check(r#"{"id":"","text":""}"#, Err("id"));
        check(r#"{"id":"a\tb","text":""}"#, Err("id"));
        check(r#"{"id":"a","text":"\ud800"}"#, Err("lone surrogate"));
        check(r#"{"id":"a","text":"\ud800\u0041"}"#, Err("hex escape"));
        check(b"{\"id\":\"a\",\"text\":\"\xff\"}", Err("invalid UTF-8 after byte 18"));
        check(format!(r#"{{"id":"a","x":{}"#, "[".repeat(1_000_000)), Err("EOF"));
    }
}
