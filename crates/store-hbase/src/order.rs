//! The order within a batch: the documents that must not overtake each other, for the result of
//! inserting them one by one.

use std::collections::HashMap;

use index::backend::search;
use index::{Document, DocumentId, Glance, Rule, Sketch};
use tables::Tables;

use super::documents::Stored;

/// Returns, for each document of a batch, the places of the earlier documents for which it has to
/// wait:
/// - documents near to it, and an earlier document of its own id;
/// - documents whose old version is near to it: the old version is gone when its turn comes;
/// - documents near to its own old version, because they have to meet the old version.
pub(super) fn waits_for(
    documents: &[Document],
    stored: &HashMap<&DocumentId, Stored>,
    rule: &Rule,
) -> Vec<Vec<usize>> {
    let mut waits_for: Vec<Vec<usize>> = Vec::with_capacity(documents.len());
    let (mut new, mut old) = (Versions::new(), Versions::new());
    let mut versions: HashMap<&DocumentId, Vec<(Option<usize>, &Sketch)>> = HashMap::new();
    for (place, document) in documents.iter().enumerate() {
        let mut before = Vec::new();
        new.near(&document.sketch, rule, &mut before);
        old.near(&document.sketch, rule, &mut before);
        let own = versions.entry(&document.id).or_insert_with(|| {
            let live = stored.get(&document.id).and_then(|stored| stored.live.as_ref());
            live.map(|live| (None, &live.sketch)).into_iter().collect()
        });
        for (_, sketch) in own.iter().filter(|(_, sketch)| **sketch != document.sketch) {
            new.near(sketch, rule, &mut before);
            old.push(place, sketch);
        }
        before.extend(own.iter().filter_map(|(place, _)| *place));
        own.push((Some(place), &document.sketch));
        new.push(place, &document.sketch);
        before.sort_unstable();
        before.dedup();
        waits_for.push(before);
    }
    waits_for
}

/// Sketches of documents of the batch.
struct Versions<'a> {
    tables: Box<dyn Tables>,
    /// Each sketch with the place of its document; the number in the tables is the index.
    filed: Vec<(usize, &'a Sketch)>,
}

impl<'a> Versions<'a> {
    fn new() -> Self {
        Self { tables: search::new_tables(), filed: Vec::new() }
    }

    fn push(&mut self, place: usize, sketch: &'a Sketch) {
        search::file(&mut *self.tables, sketch, self.filed.len() as u64);
        self.filed.push((place, sketch));
    }

    /// Adds the places of near sketches.
    fn near(&self, sketch: &Sketch, rule: &Rule, places: &mut Vec<usize>) {
        let mut numbers = Vec::new();
        for (family, facet) in sketch.facets() {
            self.tables.near(&[facet], rule.within(*family), &mut |hit| {
                numbers.extend_from_slice(hit.numbers);
            });
        }
        numbers.sort_unstable();
        numbers.dedup();
        let proposed = numbers.into_iter().map(|number| self.filed[number as usize]);
        let near = proposed.filter(|(_, other)| may_be_near(rule, sketch, other));
        places.extend(near.map(|(place, _)| place));
    }
}

/// Returns true if a proposed sketch is near, or might be by an unavailable text (an old
/// version's). A wait in vain costs time only.
fn may_be_near(rule: &Rule, sketch: &Sketch, other: &Sketch) -> bool {
    match rule.glance(sketch.features(), other.features()) {
        Glance::Far => false,
        Glance::Near(_) => true,
        Glance::Worth { .. } => {
            other.text().is_none() || rule.count(sketch.features(), other.features()).is_some()
        }
    }
}
