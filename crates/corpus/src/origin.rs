//! Where records come from, by the names that their readers and their ids know.

/// Where records come from.
#[derive(Debug)]
pub struct Origin {
    pub(super) name: String,
    pub(super) stem_start: usize,
}

impl Origin {
    /// As the user can find it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What stays the same when the folder of the corpus is elsewhere. Ids are made from it.
    pub fn stem(&self) -> &str {
        &self.name[self.stem_start..]
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn named(name: &str, stem_start: usize) -> Self {
        Self { name: name.to_owned(), stem_start }
    }
}
