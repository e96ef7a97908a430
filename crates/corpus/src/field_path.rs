//! Names of fields.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A field by its name, or by a JSON pointer (RFC 6901), which begins with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    given: String,
    /// Names on the way to the field, outermost first.
    pub(super) steps: Vec<String>,
}

impl FieldPath {
    /// Returns the path as given.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Returns the name of the field, if it is one of the record itself and not nested.
    pub fn as_name(&self) -> Option<&str> {
        let [name] = &self.steps[..] else { return None };
        Some(name)
    }

    /// Returns the path of the record's field of this name.
    #[must_use]
    pub fn name(name: &str) -> Self {
        Self { given: name.to_owned(), steps: vec![name.to_owned()] }
    }
}

impl FromStr for FieldPath {
    type Err = Infallible;

    fn from_str(given: &str) -> Result<Self, Infallible> {
        let steps = match given.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => return Ok(Self::name(given)),
        };
        Ok(Self { given: given.to_owned(), steps })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.given)
    }
}

/// Serializes the path as given.
impl Serialize for FieldPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers() {
        for (given, steps) in [
            ("id", &["id"][..]),
            ("a/b", &["a/b"]),
            ("/id", &["id"]),
            ("/a/0/b~1c~0d~01", &["a", "0", "b/c~d~1"]),
            ("/", &[""]),
        ] {
            assert_eq!(given.parse::<FieldPath>().unwrap().steps, steps);
        }
    }
}
