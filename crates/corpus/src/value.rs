//! What stands in the fields of a record, whatever its format.

use std::borrow::Cow;
use std::fmt;

/// What stands in a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    /// Of a column of Parquet that is no text.
    Bytes(Cow<'a, [u8]>),
    /// In its decimal form.
    Integer(Cow<'a, str>),
    Float(f64),
    /// In milliseconds since 1970.
    Time(i64),
    Null,
    /// Of no use as any field; holds what it is.
    Other(&'static str),
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

/// The values of a record: the id, the texts, the source and what it is ranked by, where these are looked for. `None` for
/// a field that it does not have.
pub(super) type Values<'a> = Vec<Option<Value<'a>>>;
