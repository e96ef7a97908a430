//! Drops the blocks of generations not in use: of earlier images, and of killed writers.

use std::ops::Bound;

use heed::types::DecodeIgnore;
use index::Result;

use crate::environment::Opened;
use crate::errors::Failure;
use crate::image::{GENERATION_KEY, HEADER_KEYS, Headers, Place};
use crate::record;
use crate::shared::Shared;

use super::last_generation;

/// Drops all blocks below a generation but those of the image in use, some in each transaction.
pub(crate) fn drop_others(shared: &Shared, generation: u32) -> Result<()> {
    while !shared.environment.with(|opened| drop_some(shared, opened, generation))? {}
    Ok(())
}

/// Returns true if nothing is left.
fn drop_some(shared: &Shared, opened: &Opened, generation: u32) -> Result<bool, Failure> {
    let Some(blocks) = opened.image() else { return Ok(true) };
    let mut txn = opened.write_txn()?;
    shared.metadata(opened, &txn)?;
    let start = |generation| Place { generation, section: 0, from: 0 }.encode();
    let mut stretches = Vec::new();
    let mut next = 0;
    for kept in Headers::find(opened, &txn)?.sound.iter().map(|header| header.generation) {
        // A layer is newer than those below it.
        if (next..generation).contains(&kept) {
            stretches.push(start(next)..start(kept));
            next = kept + 1;
        }
    }
    stretches.push(start(next)..start(generation));
    let mut n_left = shared.limits.blocks_at_once;
    for stretch in stretches {
        let stretch = (Bound::Included(&stretch.start[..]), Bound::Excluded(&stretch.end[..]));
        let (mut n_found, mut last) = (0, Vec::new());
        for entry in blocks.remap_data_type::<DecodeIgnore>().range(&txn, &stretch)?.take(n_left) {
            (n_found, last) = (n_found + 1, entry?.0.to_vec());
        }
        if n_found > 0 {
            blocks.delete_range(&mut txn, &(stretch.0, Bound::Included(&last[..])))?;
        }
        n_left -= n_found;
    }
    txn.commit()?;
    Ok(n_left > 0)
}

/// Drops the image: its headers, then its blocks. An image that is being written is left off.
pub(crate) fn drop_all(shared: &Shared) -> Result<()> {
    shared.environment.with(Opened::look_for_image)?;
    let next = shared.environment.with(|opened| {
        let mut txn = opened.write_txn()?;
        shared.metadata(opened, &txn)?;
        for key in HEADER_KEYS {
            opened.meta.delete(&mut txn, key)?;
        }
        let mut next = 0;
        if opened.image().is_some() {
            next = last_generation(opened, &txn)? + 1;
            opened.meta.put(&mut txn, GENERATION_KEY, &record::encode_number(next))?;
        }
        txn.commit()?;
        Ok(next)
    })?;
    drop_others(shared, u32::try_from(next).unwrap_or(u32::MAX))
}
