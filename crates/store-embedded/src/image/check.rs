//! The examination of an image: all blocks are there, each as written, and as many as the headers
//! say.

use heed::RoTxn;
use index::Result;

use super::Walk;
use super::header::Headers;
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
    let Headers { sound, defect, .. } = Headers::find(opened, txn)?;
    for header in sound {
        let mut walk = Walk::new(header.generation);
        let walked = walk.step(opened, txn, usize::MAX, |_| checked.n_blocks += 1)?;
        let of_layer = match walked {
            Ok(_) if walk.sections() == header.sections => None,
            Ok(_) => Some("blocks are missing".to_owned()),
            Err(place) => {
                // The damaged one was looked at too.
                checked.n_blocks += 1;
                Some(format!("block {:02x}{:016x} is damaged", place.section, place.from))
            }
        };
        checked.defect = checked.defect.or(of_layer);
    }
    checked.defect = checked.defect.or_else(|| defect.map(str::to_owned));
    Ok(checked)
}
