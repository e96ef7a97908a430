//! The origin of records, by the names used in messages and ids.

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
