//! The examination of an image: all blocks are there, each as written, and as many as the header
//! says.

use std::ops::Bound;

use heed::RoTxn;
use index::Result;

use super::block::{Block, Place};
use super::header::{Header, Section};
use crate::environment::Opened;
use crate::errors::Failure;

/// The result of an examination.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The blocks looked at.
    pub(crate) n_blocks: u64,
    /// The first defect.
    pub(crate) defect: Option<String>,
}

/// Examines the image in use, if there is one.
pub(crate) fn check(opened: &Opened, txn: &RoTxn<'_>) -> Result<Checked, Failure> {
    let mut checked = Checked::default();
    let header = match Header::find(opened, txn)? {
        Ok(Some(header)) => header,
        Ok(None) => return Ok(checked),
        Err(defect) => {
            checked.defect = Some(defect.to_owned());
            return Ok(checked);
        }
    };
    match blocks(opened, txn, &header, &mut checked.n_blocks)? {
        Ok(sections) if sections == header.sections => {}
        Ok(_) => checked.defect = Some("blocks are missing".to_owned()),
        Err(place) => {
            checked.defect = Some(format!("block {:02x}{:016x} is damaged", place.section, place.from));
        }
    }
    Ok(checked)
}

/// Reads all blocks of an image, and returns what they hold; `Err` with the first that is not as
/// written, or does not go on where the one before ends.
fn blocks(
    opened: &Opened,
    txn: &RoTxn<'_>,
    header: &Header,
    n_blocks: &mut u64,
) -> Result<Result<Vec<Section>, Place>, Failure> {
    let mut sections: Vec<Section> = Vec::new();
    let Some(blocks) = opened.image() else { return Ok(Ok(sections)) };
    let start = |generation| Place { generation, section: 0, from: 0 }.encode();
    let (first, end) = (start(header.generation), start(header.generation.saturating_add(1)));
    let stretch = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
    // The word that the next block of the section begins with.
    let mut next = None;
    for entry in blocks.range(txn, &stretch)? {
        let (key, value) = entry?;
        *n_blocks += 1;
        let place = Place::decode(key).unwrap_or(Place { generation: 0, section: 0, from: 0 });
        let Some(block) = Block::decode(key, value) else { return Ok(Err(place)) };
        if sections.last().is_none_or(|section| section.number != place.section) {
            let is_ended = sections.is_empty() || next.is_none();
            sections.push(Section { number: place.section, ..Section::default() });
            if !is_ended {
                return Ok(Err(place));
            }
            next = Some(0);
        }
        let is_sound = next == Some(place.from)
            && block.words().all(|word| (place.from..=block.until).contains(&word))
            && block.words().is_sorted_by(|one, next| one < next);
        if !is_sound {
            return Ok(Err(place));
        }
        next = block.until.checked_add(1);
        if let Some(section) = sections.last_mut() {
            section.n_blocks += 1;
            section.n_entries += block.words().count() as u64;
        }
    }
    Ok(Ok(sections))
}
