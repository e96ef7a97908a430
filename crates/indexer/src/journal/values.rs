//! Serializers of values that a journal compares, in the form known to the user.

use std::fmt::Display;
use std::path::Path;

use serde::Serializer;

/// Serializes a value as displayed.
pub(crate) fn text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Serializes an optional value as displayed.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
pub(crate) fn shown<S: Serializer>(value: &Option<impl Display>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// Serializes an optional path. Distinct paths differ even if they are not Unicode.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
pub(crate) fn path<S: Serializer>(path: &Option<impl AsRef<Path>>, serializer: S) -> Result<S::Ok, S::Error> {
    match path.as_ref().map(|path| (path.as_ref(), path.as_ref().to_str())) {
        Some((_, Some(text))) => serializer.serialize_str(text),
        Some((path, None)) => serializer.collect_str(&format_args!("{path:?}")),
        None => serializer.serialize_none(),
    }
}
