//! The checkpoints of a job.

use anyhow::Context;

use super::Sink;
use crate::journal::{Checkpoint, Journal};
use crate::rejects::Rejects;

/// Takes a checkpoint: all records so far are decided and durable, and a resumed run continues
/// here.
pub(super) fn take_checkpoint(
    journal: &mut Journal,
    so_far: &mut Checkpoint,
    sink: &mut impl Sink,
    rejects: &mut Rejects,
) -> anyhow::Result<()> {
    // The checkpoint of the sink may reject records decided only now.
    so_far.command = sink.checkpoint(rejects, &mut so_far.lengths)?;
    let last_write = sink.last_write().context("failed to ask the index for its last write")?;
    so_far.last_write = last_write.or(so_far.last_write);
    rejects.checkpoint(so_far)?;
    journal.save(so_far.clone())
}
