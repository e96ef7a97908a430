//! The context that the operations of a store share.

use std::sync::Arc;

use index::backend::Horizon;
use index::{Clock, Result, Rule, SketchKind};

use super::rows::Rows;
use super::tier::Tier;

/// Returns the older cells that this process knows, if no note has ended them. Reads the notes: one
/// row.
pub(super) type GetTier<'a> = &'a dyn Fn() -> Result<Option<Arc<Tier>>>;

/// The context of one call: the rows and the settings of an index.
pub(super) struct Access<'a> {
    pub(super) rows: &'a dyn Rows,
    pub(super) kind: &'a SketchKind,
    pub(super) clock: &'a Clock,
    /// The horizon at the beginning of the call.
    pub(super) horizon: Horizon,
    /// True if the index keeps the texts of its documents.
    pub(super) keeps_texts: bool,
    /// The older cells that this process knows, for the searches of claimants. Each search asks
    /// anew: it may come minutes after the one before, and a note between them.
    pub(super) tier: Option<GetTier<'a>>,
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
