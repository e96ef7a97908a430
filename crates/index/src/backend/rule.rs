//! The meaning of insertion and removal, once for all stores that decide in this process.

use minhash::Similarity;

use crate::{
    Counter, Document, DocumentId, Insertion, Match, Rule, Selection, Sketch, StoredDocument, Text, Timestamp,
};

/// A store in the middle of a write, which no other writer can interrupt.
pub trait Shelf {
    /// The error of a failed step.
    type Error;

    /// Finds the number of `id` and its stored document, including an expired one that still takes
    /// space.
    fn find(&self, id: &DocumentId) -> Result<Option<(u64, StoredDocument)>, Self::Error>;

    /// Returns true if a document inserted at this time is live, as of the beginning of the write.
    fn is_live(&self, inserted_at: Timestamp) -> bool;

    /// Finds the nearest live document by nearness, then id, leaving out the number `except`.
    fn nearest(
        &self,
        sketch: &Sketch,
        rule: &Rule,
        except: Option<u64>,
    ) -> Result<Option<Match>, Self::Error>;

    /// Returns true if the index keeps texts.
    fn keeps_texts(&self) -> Result<bool, Self::Error>;

    /// Returns the text of a document found by [`find`](Self::find), if any.
    fn text(&self, id: &DocumentId, number: u64) -> Result<Option<Text>, Self::Error>;

    /// Files a document whose id is not there.
    fn put(&mut self, document: &Document) -> Result<(), Self::Error>;

    /// Removes a document found by [`find`](Self::find).
    fn take(&mut self, id: &DocumentId, number: u64, sketch: &Sketch) -> Result<(), Self::Error>;
}

/// Inserts a document by the rule of [`Store::insert`](crate::Store::insert), or with `if_new` by
/// the rule of [`Store::insert_if_new`](crate::Store::insert_if_new).
pub fn insert<S: Shelf>(
    shelf: &mut S,
    document: &Document,
    if_new: Option<&Rule>,
) -> Result<Insertion, S::Error> {
    let old = shelf.find(&document.id)?;
    let was_there = old.as_ref().is_some_and(|(_, old)| shelf.is_live(old.inserted_at));
    if let Some((number, old)) = &old
        && was_there
        && is_same(shelf, *number, old, document, if_new.and_then(|rule| rule.counter))?
    {
        return Ok(Insertion::Unchanged);
    }
    if let Some(rule) = if_new {
        let own = old.as_ref().map(|&(number, _)| number);
        if let Some(found) = shelf.nearest(&document.sketch, rule, own)? {
            return Ok(Insertion::Duplicate(found));
        }
    }
    if let Some((number, old)) = old {
        shelf.take(&document.id, number, &old.document.sketch)?;
    }
    shelf.put(document)?;
    Ok(if was_there { Insertion::Replaced } else { Insertion::Inserted })
}

/// Returns true if a document is already stored under its id.
///
/// Two texts may have one sketch, so where texts are kept the texts must be the same too. Equal
/// bytes are the same text; so are texts in which a count finds no difference, where the call
/// brings a counter. A document without a text is the same as the stored one. A stored document
/// without a text is replaced by one with a text.
fn is_same<S: Shelf>(
    shelf: &S,
    number: u64,
    old: &StoredDocument,
    document: &Document,
    counter: Option<Counter>,
) -> Result<bool, S::Error> {
    if old.document.sketch != document.sketch {
        return Ok(false);
    }
    let Some(text) = document.sketch.text() else { return Ok(true) };
    if !shelf.keeps_texts()? {
        return Ok(true);
    }
    let stored = shelf.text(&document.id, number)?;
    Ok(stored.is_some_and(|stored| is_same_text(&stored, text, counter)))
}

/// Returns true if `text` is the stored text, for stores that decide elsewhere: see
/// [`Store::insert`](crate::Store::insert).
#[must_use]
pub fn is_same_text(stored: &Text, text: &Text, counter: Option<Counter>) -> bool {
    let counts_alike = |counter: Counter| counter.compare(stored, text).similarity == Similarity::ONE;
    stored == text || counter.is_some_and(counts_alike)
}

/// Inserts a document as [`insert`] with `if_new` does, except that the stored version under the
/// document's id neither counts nor stays, as if it were removed first.
pub(crate) fn replace<S: Shelf>(
    shelf: &mut S,
    document: &Document,
    rule: &Rule,
) -> Result<Insertion, S::Error> {
    let old = shelf.find(&document.id)?;
    let near = shelf.nearest(&document.sketch, rule, old.as_ref().map(|&(number, _)| number))?;
    let was_there = old.as_ref().is_some_and(|(_, old)| shelf.is_live(old.inserted_at));
    if let Some((number, old)) = &old
        && near.is_none()
        && was_there
        && is_same(shelf, *number, old, document, rule.counter)?
    {
        return Ok(Insertion::Unchanged);
    }
    if let Some((number, old)) = old {
        shelf.take(&document.id, number, &old.document.sketch)?;
    }
    if let Some(found) = near {
        return Ok(Insertion::Duplicate(found));
    }
    shelf.put(document)?;
    Ok(if was_there { Insertion::Replaced } else { Insertion::Inserted })
}

/// Removes a document by the rule of [`Store::remove_if`](crate::Store::remove_if). Leaves an
/// expired document to the sweep.
pub fn remove<S: Shelf>(shelf: &mut S, id: &DocumentId, selection: &Selection) -> Result<bool, S::Error> {
    let Some((number, stored)) = shelf.find(id)? else { return Ok(false) };
    if !shelf.is_live(stored.inserted_at) || !selection.matches(&stored) {
        return Ok(false);
    }
    shelf.take(id, number, &stored.document.sketch)?;
    Ok(true)
}
