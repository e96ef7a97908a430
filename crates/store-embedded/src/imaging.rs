//! Writes an image beside other readers and writers: reads the records in steps, sorts outside of
//! any transaction, and writes blocks in short transactions. A last one puts the header in place.
//! A writer adds a layer of the records that are in none, and merges with them the entries of the
//! layers that are small beside it.
//!
//! A lock lets one writer at a time begin. Each layer is of a generation of its
//! own: a writer leaves off where a later one was begun all the same, by a program of before or
//! since the image was dropped. Leftovers of a killed writer are of no header's generation, and the
//! next writer drops them.

mod cutter;
mod drop;
mod earlier;
mod pipe;
mod plan;

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use heed::{PutFlags, RoTxn, RwTxn};
use index::{Error, Family, Metadata, Result, Sketch, SketchKind};
use runs::WordSorter;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use self::cutter::{Cutter, Ready};
pub(super) use self::drop::drop_all;
use self::drop::drop_others;
use self::earlier::{Earlier, Ending, Entries, Merged};
use self::pipe::pipe;
use super::directory::IMAGE_LOCK_FILE;
use super::environment::Opened;
use super::errors::{Failure, io_error};
use super::image::{
    self, FINGERPRINTS, GENERATION_KEY, HEADER_KEYS, Header, Place, Section, place_of, word_of,
};
use super::record;
use super::shared::Shared;

/// The records read in one snapshot.
const STEP: usize = 10_000;
/// The memory in which keys are sorted.
const SORT_BYTES: usize = 64 << 20;
/// The share of an image's work that is reading records.
const READING: f64 = 0.4;
/// Flags are the sorter's parts.
const N_FLAGS: usize = 256;
/// Numbers of documents have 32 bits in an image. Those above stay in tables.
const UP_TO_MAX: u64 = u32::MAX as u64;

/// Writes a layer of the image where enough has changed and no other writer is at work, and returns
/// true if it did. Hands the share of the work done to `progress` after each step.
pub(super) fn write(shared: &Shared, progress: &mut dyn FnMut(f64)) -> Result<bool> {
    // Two writers that each find the other's generation begun would get nowhere.
    let _locked = match lock(shared.environment.directory()) {
        Ok(Some(locked)) => Some(locked),
        Ok(None) => {
            tracing::info!("another program writes the image of the search tables");
            return Ok(false);
        }
        Err(error) => {
            tracing::warn!(%error, "the image cannot be locked: of two writers of it one begins anew");
            None
        }
    };
    write_unlocked(shared, progress)
}

/// The lock of the writer of an image.
struct Locked(File);

impl Drop for Locked {
    /// A forked process may hold the file open.
    fn drop(&mut self) {
        if let Err(error) = flock(&self.0, FlockOperation::Unlock) {
            tracing::warn!(%error, "the lock of the image cannot be released");
        }
    }
}

/// Takes the lock. `None` where another writer of an image has it.
fn lock(directory: &Path) -> io::Result<Option<Locked>> {
    let path = directory.join(IMAGE_LOCK_FILE);
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Locked(file))),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// As [`write`], also where another writer is at work: that one leaves off.
pub(super) fn write_unlocked(shared: &Shared, progress: &mut dyn FnMut(f64)) -> Result<bool> {
    let mut damaged = Vec::new();
    loop {
        shared.environment.with(Opened::look_for_image)?;
        let found = shared.read(|opened, txn, _| plan::find(shared, opened, txn, &damaged))?;
        let Some(plan) = found else { return Ok(false) };
        shared.environment.with(Opened::make_image)?;
        let Some(claim) = Claim::take(shared, plan.kept)? else { continue };
        drop_others(shared, claim.generation)?;
        let mut earlier = Earlier::of_all(shared, claim.next_change(), plan.taken, plan.has_gone)?;
        let is_written = claim.make(&mut earlier, progress).inspect_err(|_| {
            // What could not be ended must not take the disk that documents need.
            if let Err(error) = drop_others(shared, claim.generation.saturating_add(1)) {
                tracing::warn!(%error, "blocks of an image that failed stay until the next one is written");
            }
        })?;
        let found = earlier.iter().find(|earlier| earlier.ending() == Some(Ending::Damaged));
        if let Some(found) = found {
            tracing::warn!(
                "the image of the search tables is damaged; the next one is made from the records, which takes longer"
            );
            damaged.push(found.generation());
            continue;
        }
        if is_written {
            drop_others(shared, claim.generation)?;
        }
        return Ok(is_written);
    }
}

/// A generation begun by this process.
struct Claim<'a> {
    shared: &'a Shared,
    /// The layers below, from the lowest one on.
    kept: Vec<Header>,
    generation: u32,
    /// The last change when it was begun.
    up_to: u64,
    n_documents: Cell<u64>,
}

impl<'a> Claim<'a> {
    /// Begins a generation. `None` where another writer has replaced the layers below meanwhile.
    fn take(shared: &'a Shared, kept: Vec<Header>) -> Result<Option<Self>> {
        let begun = shared.environment.with(|opened| {
            let mut txn = opened.write_txn()?;
            shared.metadata(opened, &txn)?;
            if let Some(below) = kept.last()
                && !below.is_in(opened, &txn)?
            {
                return Ok(None);
            }
            let last = last_generation(opened, &txn)?;
            let generation = u32::try_from(last + 1)
                .map_err(|_| Error::corrupt("the generations of the image are used up"))?;
            opened.meta.put(&mut txn, GENERATION_KEY, &record::encode_number(generation.into()))?;
            let up_to = opened.last_change(&txn)?.min(UP_TO_MAX);
            txn.commit()?;
            Ok(Some((generation, up_to)))
        })?;
        Ok(begun.map(|(generation, up_to)| {
            let n_documents = Cell::new(0);
            Self { shared, kept, generation, up_to, n_documents }
        }))
    }

    /// The first change after the layers below.
    fn next_change(&self) -> u64 {
        self.kept.last().map_or(0, |below| below.up_to + 1)
    }

    /// Makes the layer. Returns false if another writer has begun, if a document has facets for
    /// which an image has no place, or if the entries of `earlier` end before their time.
    fn make(&self, earlier: &mut [Earlier<'_>], progress: &mut dyn FnMut(f64)) -> Result<bool> {
        let mut cutter = Cutter::new(self.generation, self.shared.limits.block_bytes);
        let Some(sorter) = self.collect(earlier, &mut cutter, progress)? else {
            return Ok(false);
        };
        let Some(sections) = self.file(sorter, earlier, cutter, progress)? else { return Ok(false) };
        self.end(sections)
    }

    /// Puts the fingerprints of all documents into blocks, and the keys of those that are not in
    /// `earlier` into a sorter. `None` where [`make`](Self::make) returns false.
    fn collect(
        &self,
        earlier: &mut [Earlier<'_>],
        cutter: &mut Cutter,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<WordSorter>> {
        let mut sorter = WordSorter::new(self.shared.environment.directory(), N_FLAGS);
        let (shared, first, up_to) = (self.shared, self.next_change(), self.up_to);
        let n_changes = up_to.saturating_sub(first) + 1;
        let mut n_documents = earlier.iter().map(Earlier::n_documents).sum();
        let collected = pipe(
            |steps| {
                let mut first = first;
                for earlier in earlier {
                    if !read_earlier(earlier, steps)? {
                        return Ok(None);
                    }
                    first = earlier.up_to() + 1;
                }
                read_steps(shared, first, up_to, steps)
            },
            |Step { n, last, fingerprints, keys }| {
                for (word, bits) in fingerprints {
                    cutter.push(FINGERPRINTS, word, Some(bits));
                }
                for (flag, word) in keys {
                    sorter.push(flag.into(), word).map_err(|error| unsorted(&error))?;
                }
                n_documents += n;
                progress(READING * (last + 1).saturating_sub(first) as f64 / n_changes as f64);
                self.put(&mut cutter.ready)
            },
        )?;
        self.n_documents.set(n_documents);
        Ok(collected.map(|()| sorter))
    }

    /// Writes the keys into blocks, in their order. `None` where [`make`](Self::make) returns
    /// false.
    fn file(
        &self,
        sorter: WordSorter,
        earlier: &mut [Earlier<'_>],
        mut cutter: Cutter,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<Vec<Section>>> {
        let blocks_at_once = self.shared.limits.blocks_at_once;
        let n_keys = sorter.len() + earlier.iter().map(Earlier::n_keys).sum::<u64>();
        pipe(
            |to: &SyncSender<(Vec<Ready>, u64)>| {
                let mut keys = Merged::new(sorter.finish(SORT_BYTES), earlier)?;
                let mut n_taken = 0;
                while let Some((flag, word)) = keys.next_key()? {
                    cutter.push(flag, word, None);
                    n_taken += 1;
                    if cutter.ready.len() >= blocks_at_once
                        && to.send((mem::take(&mut cutter.ready), n_taken)).is_err()
                    {
                        return Ok(None);
                    }
                }
                if earlier.iter().any(|earlier| earlier.ending() != Some(Ending::Whole)) {
                    return Ok(None);
                }
                let sections = cutter.finish();
                Ok(to.send((cutter.ready, n_taken)).is_ok().then_some(sections))
            },
            |(mut ready, n_taken)| {
                progress(READING + (1.0 - READING) * n_taken as f64 / n_keys.max(1) as f64);
                self.put(&mut ready)
            },
        )
    }

    /// Writes the blocks that are ready, a few at a time. Returns false if another writer has
    /// begun.
    fn put(&self, ready: &mut Vec<Ready>) -> Result<bool> {
        for blocks in ready.chunks(self.shared.limits.blocks_at_once) {
            let is_put = self.shared.environment.with(|opened| {
                self.write(opened, |txn| {
                    for (key, value) in blocks {
                        opened.blocks()?.put_with_flags(txn, PutFlags::APPEND, key, value)?;
                    }
                    Ok(())
                })
            })?;
            if !is_put {
                return Ok(false);
            }
        }
        ready.clear();
        Ok(true)
    }

    /// Puts the header in place, above the layers that stay. Returns false if another writer has
    /// begun.
    fn end(&self, sections: Vec<Section>) -> Result<bool> {
        self.shared.environment.with(|opened| {
            self.write(opened, |txn| {
                let header = Header {
                    generation: self.generation,
                    below: self.kept.last().map_or(0, |below| below.generation),
                    up_to: self.up_to,
                    n_documents: self.n_documents.get(),
                    digest: image::digest(opened, txn)?,
                    sections: sections.clone(),
                };
                let (_, keys) = HEADER_KEYS.split_at(self.kept.len());
                for key in keys {
                    opened.meta.delete(txn, key)?;
                }
                if let Some(key) = keys.first() {
                    opened.meta.put(txn, key, &header.encode())?;
                }
                Ok(())
            })
        })
    }

    /// Does `work` in a write transaction, unless another writer has begun.
    fn write(
        &self,
        opened: &Opened,
        work: impl FnOnce(&mut RwTxn<'_>) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let mut txn = opened.write_txn()?;
        self.shared.metadata(opened, &txn)?;
        if last_generation(opened, &txn)? != u64::from(self.generation) {
            return Ok(false);
        }
        work(&mut txn)?;
        txn.commit()?;
        Ok(true)
    }
}

/// The last generation that was begun, 0 before the first. A damaged note counts as none: the keys
/// of blocks tell as much.
fn last_generation(opened: &Opened, txn: &RoTxn<'_>) -> Result<u64, Failure> {
    let noted = opened.meta.get(txn, GENERATION_KEY)?.and_then(|bytes| record::decode_number(bytes).ok());
    let last = opened.blocks()?.last(txn)?.and_then(|(key, _)| Place::decode(key));
    let written = last.map_or(0, |place| place.generation);
    Ok(noted.unwrap_or(0).max(written.into()))
}

/// The fingerprints and keys of some documents, as an image has them.
struct Step {
    n: u64,
    /// The number of the last one.
    last: u64,
    /// Words of numbers and families, ascending, with the fingerprints.
    fingerprints: Vec<(u64, u64)>,
    /// Flags and words of the keys.
    keys: Vec<(u8, u64)>,
}

/// Hands on the fingerprints of an earlier layer. Returns false if nothing takes them any more, or
/// if they end before their time.
fn read_earlier(earlier: &mut Earlier<'_>, to: &SyncSender<Step>) -> Result<bool> {
    while let Some(Entries { words, bits, .. }) = earlier.next_fingerprints()? {
        let last = words.last().map_or(0, |word| word >> 8);
        let fingerprints = words.into_iter().zip(bits).collect();
        if to.send(Step { n: 0, last, fingerprints, keys: Vec::new() }).is_err() {
            return Ok(false);
        }
    }
    Ok(earlier.ending().is_none_or(|ending| ending == Ending::Whole))
}

/// Reads the documents of some changes, and hands them on in steps. `None` where nothing takes them
/// any more, or where a document has facets for which an image has no place.
fn read_steps(shared: &Shared, mut first: u64, up_to: u64, to: &SyncSender<Step>) -> Result<Option<()>> {
    loop {
        let read = shared.read(|opened, txn, Metadata { kind, .. }| {
            let mut step = Step { n: 0, last: 0, fingerprints: Vec::new(), keys: Vec::new() };
            for entry in opened.log.range(txn, &(first..=up_to))?.take(STEP) {
                let (number, bytes) = entry?;
                let sketch = record::decode_sketch(number, bytes, kind)?;
                let Some(fingerprints) = fingerprints(kind, &sketch) else { return Ok(None) };
                step.n += 1;
                step.last = number;
                let words = fingerprints.iter().map(|&(family, bits)| (word_of(number, family), bits));
                step.fingerprints.extend(words);
                step.keys.extend(sketch.keys().map(|key| (key.flag, u64::from(key.segment) << 32 | number)));
            }
            Ok(Some(step))
        })?;
        let Some(step) = read else { return Ok(None) };
        if step.n == 0 {
            return Ok(Some(()));
        }
        first = step.last + 1;
        if to.send(step).is_err() {
            return Ok(None);
        }
    }
}

/// The families under whose flags a document is filed, ascending, each with the bits filed there;
/// `None` where two facets have flags of one family.
fn fingerprints(kind: &SketchKind, sketch: &Sketch) -> Option<Vec<(Family, u64)>> {
    let mut found = Vec::new();
    for (_, facet) in sketch.facets() {
        let bits = facet.fingerprint().0;
        found.extend(facet.keys().iter().map(|key| (kind.family(key.flag), bits)));
    }
    found.sort_unstable_by_key(|&(family, bits)| (place_of(family), bits));
    found.dedup();
    found.is_sorted_by(|(one, _), (next, _)| place_of(*one) < place_of(*next)).then_some(found)
}

fn unsorted(error: &io::Error) -> Error {
    io_error(error, format!("the image of the search tables could not be sorted: {error}"))
}
