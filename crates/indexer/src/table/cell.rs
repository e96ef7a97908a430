//! One value of a row.

use std::borrow::Cow;

use index::Timestamp;
use serde::{Deserialize, Serialize};
use simhash::{Distance, Fingerprint};

use super::Kind;

/// A value, or none. A journal stores it as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Cell<'a> {
    #[serde(rename = "n")]
    None,
    #[serde(rename = "t")]
    Text(Cow<'a, str>),
    #[serde(rename = "i")]
    Integer(i64),
    #[serde(rename = "f", with = "bits")]
    Float(f64),
    #[serde(rename = "b")]
    Boolean(bool),
    #[serde(rename = "x")]
    Bits(u64),
    #[serde(rename = "y")]
    Bytes(Cow<'a, [u8]>),
    /// In milliseconds since 1970.
    #[serde(rename = "d")]
    Time(i64),
}

/// A fingerprint as a number, for programs.
pub(crate) struct Bits(pub(crate) Fingerprint);

/// Types of values in a column.
pub(crate) trait Value<'a> {
    const KIND: Kind;
    const IS_OPTIONAL: bool = false;

    fn cell(self) -> Cell<'a>;
}

impl Cell<'_> {
    /// A cell that owns its value.
    pub(super) fn into_owned(self) -> Cell<'static> {
        match self {
            Self::None => Cell::None,
            Self::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
            Self::Integer(integer) => Cell::Integer(integer),
            Self::Float(float) => Cell::Float(float),
            Self::Boolean(boolean) => Cell::Boolean(boolean),
            Self::Bits(bits) => Cell::Bits(bits),
            Self::Bytes(bytes) => Cell::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Time(ms) => Cell::Time(ms),
        }
    }

    /// The approximate size in memory.
    pub(super) fn n_bytes(&self) -> usize {
        let n_bytes = match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        size_of::<Self>() + n_bytes
    }
}

impl<'a> Value<'a> for &'a str {
    const KIND: Kind = Kind::Text;

    fn cell(self) -> Cell<'a> {
        Cell::Text(Cow::Borrowed(self))
    }
}

/// The digits of the fingerprint, as in all JSON.
impl<'a> Value<'a> for Fingerprint {
    const KIND: Kind = Kind::Text;

    fn cell(self) -> Cell<'a> {
        Cell::Text(Cow::Owned(self.to_string()))
    }
}

impl<'a> Value<'a> for Bits {
    const KIND: Kind = Kind::Bits;

    fn cell(self) -> Cell<'a> {
        Cell::Bits(self.0.0)
    }
}

impl<'a> Value<'a> for &'a [u8] {
    const KIND: Kind = Kind::Bytes;

    fn cell(self) -> Cell<'a> {
        Cell::Bytes(Cow::Borrowed(self))
    }
}

impl<'a> Value<'a> for Timestamp {
    const KIND: Kind = Kind::Time;

    fn cell(self) -> Cell<'a> {
        Cell::Time(self.as_ms())
    }
}

/// In bits.
impl<'a> Value<'a> for Distance {
    const KIND: Kind = Kind::Integer;

    fn cell(self) -> Cell<'a> {
        Cell::Integer(self.as_bits().into())
    }
}

/// A count of fewer than 2^63.
impl<'a> Value<'a> for u64 {
    const KIND: Kind = Kind::Integer;

    fn cell(self) -> Cell<'a> {
        Cell::Integer(i64::try_from(self).unwrap_or(i64::MAX))
    }
}

impl<'a> Value<'a> for f64 {
    const KIND: Kind = Kind::Float;

    fn cell(self) -> Cell<'a> {
        Cell::Float(self)
    }
}

impl<'a> Value<'a> for bool {
    const KIND: Kind = Kind::Boolean;

    fn cell(self) -> Cell<'a> {
        Cell::Boolean(self)
    }
}

impl<'a, V: Value<'a>> Value<'a> for Option<V> {
    const KIND: Kind = V::KIND;
    const IS_OPTIONAL: bool = true;

    fn cell(self) -> Cell<'a> {
        self.map_or(Cell::None, V::cell)
    }
}

/// Floats by their bits: decimal digits may read back as a neighbouring float.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    pub(super) fn serialize<S: Serializer>(float: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        float.to_bits().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}
