//! What inserting and removing mean, once for all stores that decide in this process.

use simhash::Sketch;

use crate::{Document, DocumentId, Insertion, Match};

/// A store in the middle of a write that nobody else can come between.
pub(crate) trait Shelf {
    /// Why a step failed.
    type Error;

    /// The number and the sketch that `id` is filed under.
    fn find(&self, id: &DocumentId) -> Result<Option<(u64, Sketch)>, Self::Error>;

    /// The nearest document by distance, then id, leaving out the one numbered `except`.
    fn nearest(
        &self,
        sketch: &Sketch,
        max_distance: u32,
        except: Option<u64>,
    ) -> Result<Option<Match>, Self::Error>;

    /// Files a document whose id is not there.
    fn put(&mut self, document: &Document) -> Result<(), Self::Error>;

    /// Takes away a document that [`find`](Self::find) has found.
    fn take(&mut self, id: &DocumentId, number: u64, sketch: &Sketch) -> Result<(), Self::Error>;
}

/// The rule of [`Store::insert`](crate::Store::insert), and with a distance that of
/// [`Store::insert_if_new`](crate::Store::insert_if_new).
pub(crate) fn insert<S: Shelf>(
    shelf: &mut S,
    document: &Document,
    if_new: Option<u32>,
) -> Result<Insertion, S::Error> {
    let old = shelf.find(&document.id)?;
    if let Some((_, sketch)) = &old
        && *sketch == document.sketch
    {
        return Ok(Insertion::Unchanged);
    }
    if let Some(max_distance) = if_new {
        let own = old.as_ref().map(|&(number, _)| number);
        if let Some(found) = shelf.nearest(&document.sketch, max_distance, own)? {
            return Ok(Insertion::Duplicate(found));
        }
    }
    let Some((number, sketch)) = old else {
        shelf.put(document)?;
        return Ok(Insertion::Inserted);
    };
    shelf.take(&document.id, number, &sketch)?;
    shelf.put(document)?;
    Ok(Insertion::Replaced)
}

/// The rule of [`Store::remove`](crate::Store::remove).
pub(crate) fn remove<S: Shelf>(shelf: &mut S, id: &DocumentId) -> Result<bool, S::Error> {
    let Some((number, sketch)) = shelf.find(id)? else { return Ok(false) };
    shelf.take(id, number, &sketch)?;
    Ok(true)
}
