//! Values in the fields of a record, in any format.

use std::borrow::Cow;
use std::fmt;

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
