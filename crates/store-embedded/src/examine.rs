//! The examination of a store: each record can be read, records and ids lead to each other, each
//! text exists and belongs to a document, and the image is as written.

use std::ops::Bound;

use heed::types::DecodeIgnore;
use heed::{RoTxn, RwTxn};
use index::{Clock, Examined, Finding, FindingKind, Metadata, Result, SketchKind, StoredDocument};

use super::environment::Opened;
use super::errors::Failure;
use super::record::{self, Removal};
use super::shared::Shared;
use super::texts;
use super::{image, imaging};

/// The records of one step. A step is one snapshot, so no snapshot is held for long.
const STEP: u64 = 100_000;

/// The findings of one step.
#[derive(Default)]
struct Step {
    n_items: u64,
    findings: Vec<(FindingKind, String)>,
    /// Numbers of documents to which their ids do not lead.
    unfiled: Vec<u64>,
    /// Keys of ids that lead to no document with the id.
    ghosts: Vec<Vec<u8>>,
    /// Numbers of documents with missing texts.
    texts_lost: Vec<u64>,
    /// Numbers of texts without a document.
    orphans: Vec<u64>,
}

impl Step {
    fn report(self, is_mended: bool, report: &mut dyn FnMut(Examined)) {
        report(Examined::Items(self.n_items));
        for (kind, place) in self.findings {
            let is_mended = is_mended && kind.is_mendable();
            report(Examined::Found(Finding { kind, place, is_mended }));
        }
    }
}

/// The contract of [`Store::examine`](index::Store::examine).
pub(super) fn examine(
    shared: &Shared,
    clock: &Clock,
    mends: bool,
    report: &mut dyn FnMut(Examined),
) -> Result<()> {
    shared.environment.with(Opened::look_through)?;
    let mut first = Some(0);
    while let Some(from) = first {
        let (step, next) =
            step(shared, mends, |opened, txn, metadata| documents(opened, txn, &metadata.kind, clock, from))?;
        step.report(mends, report);
        first = next;
    }
    let mut after = Some(None);
    while let Some(from) = after {
        let (step, next) = step(shared, mends, |opened, txn, _| ids(opened, txn, from.as_deref()))?;
        step.report(mends, report);
        after = next.map(Some);
    }
    let mut first = Some(0);
    while let Some(from) = first {
        let (step, next) = step(shared, mends, |opened, txn, _| texts(opened, txn, from))?;
        step.report(mends, report);
        first = next;
    }
    // Another process may have written the first one meanwhile.
    shared.environment.with(Opened::look_for_image)?;
    let image = shared.read(|opened, txn, _| image::check(opened, txn))?;
    report(Examined::Items(image.n_blocks));
    if let Some(defect) = image.defect {
        if mends {
            imaging::drop_all(shared)?;
        }
        report(Examined::Found(Finding { kind: FindingKind::Image, place: defect, is_mended: mends }));
    }
    let removals = shared.read(|opened, txn, metadata| removals(opened, txn, &metadata.kind))?;
    removals.report(false, report);
    Ok(())
}

/// Does one step, and mends its findings in the same write transaction if `mends`.
fn step<T>(
    shared: &Shared,
    mends: bool,
    look: impl Fn(&Opened, &RoTxn<'_>, &Metadata) -> Result<(Step, Option<T>), Failure>,
) -> Result<(Step, Option<T>)> {
    if !mends {
        return shared.read(look);
    }
    shared.environment.with(|opened| {
        let mut txn = opened.write_txn()?;
        let metadata = shared.metadata(opened, &txn)?;
        let (step, next) = look(opened, &txn, metadata)?;
        for &number in &step.unfiled {
            mend(opened, &mut txn, &metadata.kind, number)?;
        }
        for key in &step.ghosts {
            opened.ids.delete(&mut txn, key)?;
        }
        for &number in &step.texts_lost {
            forget_text(opened, &mut txn, &metadata.kind, number)?;
        }
        for number in &step.orphans {
            opened.texts()?.delete(&mut txn, number)?;
        }
        txn.commit()?;
        Ok((step, next))
    })
}

/// Makes the id of a document lead to it. If the id leads to another record of the id, by which
/// calls answer, deletes this record instead.
fn mend(opened: &Opened, txn: &mut RwTxn<'_>, kind: &SketchKind, number: u64) -> Result<(), Failure> {
    let Some(bytes) = opened.log.get(txn, &number)? else { return Ok(()) };
    let stored = record::decode_document(number, bytes, kind)?;
    let key = record::id_key(&stored.document.id);
    if let Some(other) = opened.ids.get(txn, &key)?
        && let Some(bytes) = opened.log.get(txn, &other)?
        && record::decode_id(other, bytes).is_ok_and(|id| id == stored.document.id)
    {
        let change = opened.last_change(txn)? + 1;
        let removal = Removal { number, sketch: stored.document.sketch };
        opened.removals.put(txn, &change, &record::encode_removal(change, &removal, kind)?)?;
        opened.log.delete(txn, &number)?;
        if let Some(texts) = opened.texts {
            texts.delete(txn, &number)?;
        }
    } else {
        opened.ids.put(txn, &key, &number)?;
    }
    Ok(())
}

/// Writes a document's record again, as of a document without a text. The record keeps its number,
/// because searches find it as before.
fn forget_text(opened: &Opened, txn: &mut RwTxn<'_>, kind: &SketchKind, number: u64) -> Result<(), Failure> {
    let Some(bytes) = opened.log.get(txn, &number)? else { return Ok(()) };
    let StoredDocument { document, inserted_at } = record::decode_document(number, bytes, kind)?;
    let bytes = record::encode_document(number, &document, inserted_at, kind)?;
    Ok(opened.log.put(txn, &number, &bytes)?)
}

/// Examines the records of numbers from `first` on, and returns the number to go on from.
fn documents(
    opened: &Opened,
    txn: &RoTxn<'_>,
    kind: &SketchKind,
    clock: &Clock,
    first: u64,
) -> Result<(Step, Option<u64>), Failure> {
    let mut step = Step::default();
    for entry in opened.log.range(txn, &(first..))? {
        let (number, bytes) = entry?;
        if step.n_items == STEP {
            return Ok((step, Some(number)));
        }
        step.n_items += 1;
        match record::decode_document(number, bytes, kind) {
            Ok(stored) => {
                let id = &stored.document.id;
                if opened.ids.get(txn, &record::id_key(id))? != Some(number) {
                    step.findings.push((FindingKind::Unfiled, id.as_str().to_owned()));
                    step.unfiled.push(number);
                }
                if record::decode_told(number, bytes)? && !has_text(opened, txn, number)? {
                    step.findings.push((FindingKind::TextLost, id.as_str().to_owned()));
                    step.texts_lost.push(number);
                }
                let ahead = Finding::of_ahead(id, stored.inserted_at, clock);
                step.findings.extend(ahead.map(|Finding { kind, place, .. }| (kind, place)));
            }
            Err(_) => step.findings.push((FindingKind::Damaged, format!("record {number}"))),
        }
    }
    Ok((step, None))
}

/// Examines the ids after the key `after`, and returns the key to go on after. LMDB has no empty
/// key, so the start is `None`.
fn ids(opened: &Opened, txn: &RoTxn<'_>, after: Option<&[u8]>) -> Result<(Step, Option<Vec<u8>>), Failure> {
    let mut step = Step::default();
    let rest = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
    let mut last = None;
    for entry in opened.ids.range(txn, &rest)? {
        let (key, number) = entry?;
        if step.n_items == STEP {
            return Ok((step, last));
        }
        step.n_items += 1;
        last = Some(key.to_vec());
        let bytes = opened.log.get(txn, &number)?;
        // An unreadable record has been reported already.
        let is_of =
            bytes.map(|bytes| record::decode_id(number, bytes).map_or(true, |id| record::id_key(&id) == key));
        if is_of != Some(true) {
            step.findings.push((FindingKind::Ghost, key.escape_ascii().to_string()));
            step.ghosts.push(key.to_vec());
        }
    }
    Ok((step, None))
}

fn has_text(opened: &Opened, txn: &RoTxn<'_>, number: u64) -> Result<bool, Failure> {
    let Some(texts) = opened.texts else { return Ok(false) };
    Ok(texts.remap_data_type::<DecodeIgnore>().get(txn, &number)?.is_some())
}

/// Examines the texts of numbers from `first` on, and returns the number to go on from.
fn texts(opened: &Opened, txn: &RoTxn<'_>, first: u64) -> Result<(Step, Option<u64>), Failure> {
    let mut step = Step::default();
    let Some(texts) = opened.texts else { return Ok((step, None)) };
    for entry in texts.range(txn, &(first..))? {
        let (number, bytes) = entry?;
        if step.n_items == STEP {
            return Ok((step, Some(number)));
        }
        step.n_items += 1;
        let of = opened.log.get(txn, &number)?;
        // An unreadable record has been reported already.
        if of.is_none_or(|of| matches!(record::decode_told(number, of), Ok(false))) {
            step.findings.push((FindingKind::Ghost, format!("text {number}")));
            step.orphans.push(number);
        } else if texts::decode(number, bytes).is_err() {
            let id = of.and_then(|of| record::decode_id(number, of).ok());
            let id = id.map_or_else(String::new, |id| format!(" of {id}"));
            step.findings.push((FindingKind::Damaged, format!("text {number}{id}")));
        }
    }
    Ok((step, None))
}

/// Examines the removals kept for followers.
fn removals(opened: &Opened, txn: &RoTxn<'_>, kind: &SketchKind) -> Result<Step, Failure> {
    let mut step = Step::default();
    for entry in opened.removals.iter(txn)? {
        let (number, bytes) = entry?;
        step.n_items += 1;
        if record::decode_removal(number, bytes, kind).is_err() {
            step.findings.push((FindingKind::Damaged, format!("removal {number}")));
        }
    }
    Ok(step)
}
