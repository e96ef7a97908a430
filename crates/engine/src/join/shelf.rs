//! Sketches of documents, by id, as a join has looked them up. Near documents meet in many buckets,
//! in one part of the index after another, so recently read sketches are kept.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use index::{Cell, DocumentId, Error, Index, MAX_BATCH, Sketch};

use super::Check;

/// The most bytes of each of the two generations.
const KEPT_BYTES_MAX: usize = 128 << 20;

/// Bytes of a sketch beside its id and its bucket keys.
const SKETCH_BYTES: usize = 350;

/// Bytes of a document that is read, with its sketch, on average.
const FETCHED_BYTES: usize = 1 << 10;

/// Recently read sketches, for all threads.
pub(super) struct Kept {
    generations: Mutex<Generations>,
    /// The most bytes of each of the two generations, about.
    n_bytes_max: usize,
}

/// Two generations: when the young one is full it replaces the old one, which is forgotten.
#[derive(Default)]
struct Generations {
    young: HashMap<DocumentId, Arc<Sketch>>,
    old: HashMap<DocumentId, Arc<Sketch>>,
    n_young_bytes: usize,
}

/// The known sketches of the documents of some cells.
#[derive(Default)]
pub(super) struct Shelf {
    known: HashMap<DocumentId, Arc<Sketch>>,
    wanted: BTreeSet<DocumentId>,
}

impl Generations {
    fn get(&mut self, id: &DocumentId, n_bytes_max: usize) -> Option<Arc<Sketch>> {
        if let Some(sketch) = self.young.get(id) {
            return Some(Arc::clone(sketch));
        }
        let (id, sketch) = self.old.remove_entry(id)?;
        self.put(id, Arc::clone(&sketch), n_bytes_max);
        Some(sketch)
    }

    fn put(&mut self, id: DocumentId, sketch: Arc<Sketch>, n_bytes_max: usize) {
        self.n_young_bytes += SKETCH_BYTES + id.as_str().len() + 8 * sketch.n_keys();
        self.young.insert(id, sketch);
        if self.n_young_bytes > n_bytes_max {
            self.old = mem::take(&mut self.young);
            self.n_young_bytes = 0;
        }
    }
}

impl Kept {
    /// Keeps sketches of at most about `n_bytes`.
    pub(super) fn new(n_bytes: usize) -> Self {
        Self { generations: Mutex::default(), n_bytes_max: KEPT_BYTES_MAX.min(n_bytes / 2) }
    }
}

impl Shelf {
    pub(super) fn want(&mut self, cell: &Cell) {
        if !self.known.contains_key(&cell.id) {
            self.wanted.insert(cell.id.clone());
        }
    }

    pub(super) fn want_marked(&mut self, cells: &[Cell], marks: &[bool]) {
        cells.iter().zip(marks).filter(|(_, mark)| **mark).for_each(|(cell, _)| self.want(cell));
    }

    /// Reads the wanted sketches, and keeps them.
    pub(super) fn fetch<E: From<Error>>(
        &mut self,
        index: &Index,
        kept: &Kept,
        check: Check<'_, E>,
    ) -> Result<(), E> {
        // A panic of another thread leaves the generations whole.
        let lock = || kept.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing = Vec::new();
        {
            let mut generations = lock();
            for id in mem::take(&mut self.wanted) {
                match generations.get(&id, kept.n_bytes_max) {
                    Some(sketch) => drop(self.known.insert(id, sketch)),
                    None => missing.push(id),
                }
            }
        }
        for ids in missing.chunks(MAX_BATCH) {
            check((ids.len() * FETCHED_BYTES) as u64)?;
            let stored = index.get(ids)?;
            let mut generations = lock();
            for (id, stored) in ids.iter().zip(stored) {
                if let Some(stored) = stored {
                    let sketch = Arc::new(stored.document.sketch);
                    generations.put(id.clone(), Arc::clone(&sketch), kept.n_bytes_max);
                    self.known.insert(id.clone(), sketch);
                }
            }
        }
        Ok(())
    }

    /// For each cell the sketch of its document, if the document is there and filed in this place.
    pub(super) fn sketches(&self, cells: &[Cell]) -> Vec<Option<&Sketch>> {
        let sketch =
            |cell: &Cell| self.known.get(&cell.id).map(Arc::as_ref).filter(|sketch| cell.is_of(sketch));
        cells.iter().map(sketch).collect()
    }
}
