//! The context that the operations of a store share.

use std::hash::{BuildHasher, RandomState};

use index::backend::Horizon;
use index::{Clock, Rule, SketchKind};

use super::rows::Rows;

/// The context of one call: the rows and the settings of an index.
pub(super) struct Access<'a> {
    pub(super) rows: &'a dyn Rows,
    pub(super) kind: &'a SketchKind,
    pub(super) clock: &'a Clock,
    /// The horizon at the beginning of the call.
    pub(super) horizon: Horizon,
    /// True if the index keeps the texts of its documents.
    pub(super) keeps_texts: bool,
}

impl Access<'_> {
    /// Returns the time in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        self.clock.now().as_ms()
    }

    /// Returns true if `rule` is decided by a count over texts.
    pub(super) fn counts_by(&self, rule: &Rule) -> bool {
        self.keeps_texts && rule.counter.is_some()
    }
}

/// Draws a random number to identify one owner of claims, or one mark; no two draw the same.
pub(super) fn owner() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
