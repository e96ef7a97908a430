//! Names of fields.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A field by its name, by a JSON pointer (RFC 6901), which begins with a slash, or by a way
/// through nested fields, as `meta.url` or `messages[*].content`.
///
/// A name with dots is first looked for as it stands: some programs write nested fields as columns
/// of such names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    given: String,
    /// Steps on the way to the field, outermost first.
    pub(super) steps: Vec<Step>,
    /// Steps to take in a record without a field of the whole name.
    nested: Option<Vec<Step>>,
}

/// Step on the way to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The field of this name, or the element of this number in a list.
    Name(String),
    /// Each element of a list; their texts are joined.
    Each,
}

impl FieldPath {
    /// Returns the path as given.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Returns the name of the field, if it is one of the record itself and not nested.
    pub fn as_name(&self) -> Option<&str> {
        let [Step::Name(name)] = &self.steps[..] else { return None };
        Some(name)
    }

    /// Returns the path of the record's field of this name.
    #[must_use]
    pub fn name(name: &str) -> Self {
        Self { given: name.to_owned(), steps: vec![Step::Name(name.to_owned())], nested: None }
    }

    /// Returns the names with which the ways to the field begin.
    pub(super) fn outermost(&self) -> impl Iterator<Item = &str> {
        self.ways().filter_map(|way| match way.first()? {
            Step::Name(name) => Some(name.as_str()),
            Step::Each => None,
        })
    }

    /// Returns the ways to the field, in the order in which they are tried.
    pub(super) fn ways(&self) -> impl Iterator<Item = &[Step]> {
        std::iter::once(&self.steps[..]).chain(self.nested.as_deref())
    }
}

impl FromStr for FieldPath {
    type Err = Infallible;

    fn from_str(given: &str) -> Result<Self, Infallible> {
        let Some(pointer) = given.strip_prefix('/') else {
            return Ok(Self { nested: nested(given), ..Self::name(given) });
        };
        let name = |step: &str| Step::Name(step.replace("~1", "/").replace("~0", "~"));
        Ok(Self { given: given.to_owned(), steps: pointer.split('/').map(name).collect(), nested: None })
    }
}

/// Returns the steps of a name with dots or brackets.
fn nested(given: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in given.split('.') {
        let (name, mut indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return None;
        }
        steps.push(Step::Name(name.to_owned()));
        while !indices.is_empty() {
            let (index, rest) = indices.strip_prefix('[')?.split_once(']')?;
            steps.push(match index {
                "*" | "" => Step::Each,
                _ if index.bytes().all(|digit| digit.is_ascii_digit()) => Step::Name(index.to_owned()),
                _ => return None,
            });
            indices = rest;
        }
    }
    (steps.len() > 1).then_some(steps)
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

    /// Returns the ways of a path, with a star for each element.
    fn ways(given: &str) -> Vec<Vec<String>> {
        let path: FieldPath = given.parse().unwrap();
        let show = |step: &Step| match step {
            Step::Name(name) => name.clone(),
            Step::Each => "*each*".to_owned(),
        };
        path.ways().map(|steps| steps.iter().map(show).collect()).collect()
    }

    #[test]
    fn pointers() {
        for (given, steps) in [
            ("id", &["id"][..]),
            ("a/b", &["a/b"]),
            ("/id", &["id"]),
            ("/a/0/b~1c~0d~01", &["a", "0", "b/c~d~1"]),
            ("/a.b/*", &["a.b", "*"]),
            ("/", &[""]),
        ] {
            assert_eq!(ways(given), [steps]);
        }
    }

    #[test]
    fn names_with_dots_and_brackets_are_ways_too() {
        for (given, steps) in [
            ("meta.url", &["meta", "url"][..]),
            ("messages[*].content", &["messages", "*each*", "content"]),
            ("tags[]", &["tags", "*each*"]),
            ("a[0][12].b", &["a", "0", "12", "b"]),
        ] {
            assert_eq!(ways(given), [vec![given], steps.to_vec()]);
            assert!(given.parse::<FieldPath>().unwrap().outermost().eq([given, steps[0]]));
        }
        for name in ["", ".", "a.", ".a", "a..b", "a[x]", "a[0", "a[0]b", "[0]", "title (long)"] {
            assert_eq!(ways(name), [[name]]);
        }
    }
}
