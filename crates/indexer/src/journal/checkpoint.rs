//! The state of a job at a checkpoint.

use std::time::Duration;

use corpus::{LeftOut, Position};
use index::WriteMark;
use serde::{Deserialize, Serialize};

use crate::numbers::is_zero;
use crate::output::Lengths;
use crate::report::Report;

/// The complete state of a job between two records.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) stage: Stage,
    pub(crate) position: Position,
    pub(crate) n_read: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_passed_over: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_whole_pages: u64,
    pub(crate) n_text_bytes: u64,
    /// Files in archives that are not read.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub(crate) left_out: LeftOut,
    /// Number of short texts, if these are counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_short: u64,
    pub(crate) n_rejected: u64,
    /// Records named on stderr so far.
    pub(crate) n_named: u64,
    pub(crate) time: Duration,
    pub(crate) lengths: Lengths,
    /// The last write to the index, which a resumed job requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_write: Option<WriteMark>,
    /// The state of the command itself.
    pub(crate) command: serde_json::Value,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Stage {
    #[default]
    Reading,
    /// All outputs are written; they remain to be moved into their places.
    Written,
    Done(Report),
}
