//! One line of JSON to one record: its id, its text, where it came from, and a reason where there is none.

use std::borrow::Cow;
use std::fmt;

use index::{DocumentId, Source};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// Which fields of a record hold what.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) id: String,
    pub(crate) text: String,
    /// None where nobody asks where documents came from.
    pub(crate) source: Option<String>,
    /// Where a record came from that does not say.
    pub(crate) source_default: Option<Source>,
}

/// What a line says.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) id: DocumentId,
    pub(crate) text: Cow<'a, str>,
    pub(crate) source: Option<Source>,
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
        let source = match found.source {
            None => self.source_default.clone(),
            Some(source) => Some(Source::new(source).map_err(|error| {
                format!("{error}; --source-field names another field to take it from than {:?}", self.source)
            })?),
        };
        Ok(Record { id: DocumentId::new(id.into_owned()).map_err(|error| error.to_string())?, text, source })
    }
}

/// What a line has of what is looked for.
#[derive(Default)]
pub(crate) struct Found<'a> {
    id: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    source: Option<Cow<'a, str>>,
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
            } else if Some(&*key) == self.source.as_deref() {
                let text = Text { what: "a string, an integer or null as source", integers: true };
                found.source = map.next_value_seed(Nullable(text))?;
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

/// The same, or null for nothing.
struct Nullable(Text);

impl<'de> DeserializeSeed<'de> for Nullable {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Nullable {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(source: Option<&str>, source_default: Option<&str>) -> Fields {
        let source_default = source_default.map(|source| Source::new(source).unwrap());
        let source = source.map(str::to_owned);
        Fields { id: "id".to_owned(), text: "text".to_owned(), source, source_default }
    }

    #[track_caller]
    fn check(line: impl AsRef<[u8]>, expected: Result<(&str, &str), &str>) {
        match (fields(Some("source"), None).parse(line.as_ref()), expected) {
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

    /// The record's own comes before the one for all; one that cannot be is named, where sources are asked for.
    #[test]
    fn sources() {
        let long = format!(r#"{{"id":"a","text":"b","source":"{}"}}"#, "s".repeat(256));
        for (line, own, without) in [
            (r#"{"id":"a","text":"b"}"#, Ok(None), Ok(Some("all"))),
            (r#"{"id":"a","text":"b","source":null}"#, Ok(None), Ok(Some("all"))),
            (r#"{"source":"feed \u00e9","id":"a","text":"b"}"#, Ok(Some("feed é")), Ok(Some("feed é"))),
            (r#"{"id":"a","text":"b","source":7}"#, Ok(Some("7")), Ok(Some("7"))),
            (r#"{"id":"a","text":"b","source":""}"#, Err("--source-field"), Err("must not be empty")),
            (r#"{"id":"a","text":"b","source":"a\tb"}"#, Err("control"), Err("--source-field")),
            (r#"{"id":"a","text":"b","source":[1]}"#, Err("or null as source"), Err("or null as source")),
            (&long, Err("at most 255 bytes"), Err("at most 255 bytes")),
        ] {
            for (fields, expected) in
                [(fields(Some("source"), None), own), (fields(Some("source"), Some("all")), without)]
            {
                match (fields.parse(line.as_bytes()), expected) {
                    (Ok(record), Ok(source)) => {
                        assert_eq!(record.source.as_ref().map(Source::as_str), source, "{line}");
                    }
                    (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?}: {part:?}"),
                    (got, expected) => panic!("{got:?} instead of {expected:?}"),
                }
            }
            // Who does not ask is not bothered.
            assert_eq!(fields(None, None).parse(line.as_bytes()).unwrap().source, None);
        }
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
