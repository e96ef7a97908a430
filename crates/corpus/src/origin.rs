//! The origin of records, by the names used in messages and ids.

use std::borrow::Cow;

use super::encoding::decode;

/// The origin of records.
#[derive(Debug)]
pub struct Origin {
    pub(super) name: String,
    pub(super) stem_start: usize,
}

impl Origin {
    /// Returns the name of the input as the user can find it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the part of the name that stays the same when the folder of the corpus moves. Ids
    /// are made from the stem.
    pub fn stem(&self) -> &str {
        &self.name[self.stem_start..]
    }

    /// Returns the origin of the records in a member of this archive.
    pub(super) fn member(&self, name: &str) -> Self {
        Self { name: format!("{}/{name}", self.name), stem_start: self.stem_start }
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn named(name: &str, stem_start: usize) -> Self {
        Self { name: name.to_owned(), stem_start }
    }
}

/// Returns the stored name of a file or member as text. Some programs write names in the encoding
/// of their system; bytes of none are escaped, so that two names stay two.
pub(super) fn readable(stored: &[u8]) -> Cow<'_, str> {
    if let Ok(name) = str::from_utf8(stored) {
        return Cow::Borrowed(name);
    }
    if let Some(name) = decode(stored).ok().filter(|name| !name.contains(char::REPLACEMENT_CHARACTER)) {
        return name;
    }
    let mut name = String::new();
    for chunk in stored.utf8_chunks() {
        name.push_str(chunk.valid());
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf_8_stay_apart() {
        let lost = |byte: u8| ["地铁七号线南延段今天开始".as_bytes(), &[byte]].concat();
        for (stored, expected) in [
            ("\u{feff}a.txt".as_bytes(), "\u{feff}a.txt"),
            (&b"caf\xe9.txt"[..], "café.txt"),
            (&b"caf\xe8.txt"[..], "cafè.txt"),
            (&lost(0xe9), "地铁七号线南延段今天开始\\xE9"),
            (&lost(0xe8), "地铁七号线南延段今天开始\\xE8"),
        ] {
            assert_eq!(readable(stored), expected);
        }
    }
}
