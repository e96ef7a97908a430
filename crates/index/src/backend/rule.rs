//! What inserting and removing mean, once for all stores that decide in this process.

use minhash::Similarity;

use crate::{
    Counter, Document, DocumentId, Insertion, Match, Rule, Selection, Sketch, StoredDocument, Text, Timestamp,
};

/// A store in the middle of a write that nobody else can come between.
pub trait Shelf {
    /// Why a step failed.
    type Error;

    /// The number of `id`, and what is stored under it, also where that has expired and only takes up room.
    fn find(&self, id: &DocumentId) -> Result<Option<(u64, StoredDocument)>, Self::Error>;

    /// Whether a document that was inserted then is still there, as of the beginning of the write.
    fn is_live(&self, inserted_at: Timestamp) -> bool;

    /// The nearest live document by nearness, then id, leaving out the one numbered `except`.
    fn nearest(
        &self,
        sketch: &Sketch,
        rule: &Rule,
        except: Option<u64>,
    ) -> Result<Option<Match>, Self::Error>;

    /// Says whether the index keeps texts.
    fn keeps_texts(&self) -> Result<bool, Self::Error>;

    /// The text of a document that [`find`](Self::find) has found, where it has one.
    fn text(&self, id: &DocumentId, number: u64) -> Result<Option<Text>, Self::Error>;

    /// Files a document whose id is not there.
    fn put(&mut self, document: &Document) -> Result<(), Self::Error>;

    /// Takes away a document that [`find`](Self::find) has found.
    fn take(&mut self, id: &DocumentId, number: u64, sketch: &Sketch) -> Result<(), Self::Error>;
}

/// The rule of [`Store::insert`](crate::Store::insert), and with a rule of nearness that of
/// [`Store::insert_if_new`](crate::Store::insert_if_new).
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

/// Says whether a document is what is stored under its id already.
///
/// Two texts may give one sketch, so where texts are kept these decide too: the same bytes are the same text, and so are
/// texts of which a count finds nothing that differs, where the call brings a way to count. A document that comes without
/// a text says nothing against the stored one; a stored document without a text gets the one that comes.
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

/// Says whether a text is the stored one, for stores that decide elsewhere: see [`Store::insert`](crate::Store::insert).
#[must_use]
pub fn is_same_text(stored: &Text, text: &Text, counter: Option<Counter>) -> bool {
    let counts_alike = |counter: Counter| counter.compare(stored, text).similarity == Similarity::ONE;
    stored == text || counter.is_some_and(counts_alike)
}

/// As [`insert`] with a rule of nearness, where what is there under the document's id neither counts nor stays: as if
/// it were removed first.
pub fn replace<S: Shelf>(shelf: &mut S, document: &Document, rule: &Rule) -> Result<Insertion, S::Error> {
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

/// The rule of [`Store::remove_if`](crate::Store::remove_if). One that has expired is left to who sweeps.
pub fn remove<S: Shelf>(shelf: &mut S, id: &DocumentId, selection: &Selection) -> Result<bool, S::Error> {
    let Some((number, stored)) = shelf.find(id)? else { return Ok(false) };
    if !shelf.is_live(stored.inserted_at) || !selection.matches(&stored) {
        return Ok(false);
    }
    shelf.take(id, number, &stored.document.sketch)?;
    Ok(true)
}
