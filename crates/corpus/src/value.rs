//! Values in the fields of a record, in any format.

use std::borrow::Cow;
use std::fmt;

/// Separator between the texts of several fields, or of several elements of a list.
pub(super) const TEXT_SEPARATOR: &str = "\n";

/// Value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    /// From a Parquet column that is not text.
    Bytes(Cow<'a, [u8]>),
    /// In decimal notation.
    Integer(Cow<'a, str>),
    Float(f64),
    /// Milliseconds since 1970.
    Time(i64),
    Null,
    /// A value of no use as a field; holds the name of its kind.
    Other(&'static str),
}

impl<'a> Value<'a> {
    /// Returns the value of bytes not said to be text: some programs write strings so.
    pub(super) fn of_untold(bytes: &'a [u8]) -> Self {
        let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
        match std::str::from_utf8(bytes) {
            Ok(text) if !bytes.iter().any(is_control) => Self::Text(text.into()),
            _ => Self::Bytes(bytes.into()),
        }
    }

    /// Returns bytes as the hexadecimal digits by which they are known, other values as they are.
    pub(super) fn named(self) -> Self {
        let Self::Bytes(bytes) = &self else { return self };
        Self::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }

    pub(super) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Text(text) => Value::Text(text.into_owned().into()),
            Self::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
            Self::Integer(digits) => Value::Integer(digits.into_owned().into()),
            Self::Float(number) => Value::Float(number),
            Self::Time(ms) => Value::Time(ms),
            Self::Null => Value::Null,
            Self::Other(what) => Value::Other(what),
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "a string",
            Self::Bytes(_) => "binary data",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number that is no 64-bit integer",
            Self::Time(_) => "a date or a time",
            Self::Null => "null",
            Self::Other(what) => what,
        })
    }
}

/// Values of a record: the id, the texts, the source and the rank, as far as each is requested.
/// `None` stands for a field missing from the record.
pub(super) type Values<'a> = Vec<Option<Value<'a>>>;
