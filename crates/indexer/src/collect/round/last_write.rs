//! The last write to an index at the end of a round: an index without it was put back.

use std::path::Path;

use anyhow::{Context, ensure};
use index::{Index, WriteMark};
use serde::{Deserialize, Serialize};

use crate::durable;

/// Relative to the state folder.
const LAST_WRITE: &str = "last_write.json";

/// The last write to an index.
#[derive(Serialize, Deserialize)]
struct LastWrite {
    /// The identity of the index.
    index: String,
    last_write: WriteMark,
}

/// Notes the write that the index must have when the next round begins: only the index remembers
/// the kept items.
pub(super) fn note(state: &Path, index: &Index) -> anyhow::Result<()> {
    let last_write = index.mark(true).context("failed to ask the index for its last write")?;
    let Some(last_write) = last_write else { return Ok(()) };
    let path = state.join(LAST_WRITE);
    let noted = LastWrite { index: index.metadata().identity.to_string(), last_write };
    durable::write_json(&path, &noted).with_context(|| format!("failed to write {}", path.display()))
}

/// Refuses an index restored from a copy older than the last round, where items kept since would be
/// kept again. An index of another identity is accepted: the change may be intended.
pub(super) fn check(state: &Path, index: &Index) -> anyhow::Result<()> {
    let path = state.join(LAST_WRITE);
    let Some(noted) = super::read::<LastWrite>(&path)? else { return Ok(()) };
    let has_it = noted.index != index.metadata().identity.to_string()
        || index.has_written(&noted.last_write).context("failed to ask the index for its last write")?;
    ensure!(
        has_it,
        "the index was put back to a copy that is older than the last round, and does not have what was kept since; put back \
         a copy that was made later, or, to have that kept again, remove {}",
        path.display()
    );
    Ok(())
}
