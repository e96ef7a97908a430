//! Which documents of a batch must not overtake which, so that all ends as if they had come one after another.

use std::collections::HashMap;

use index::backend::search;
use index::{Document, DocumentId};
use simhash::{Distance, Sketch};

use super::documents::Stored;

/// For each document of a batch those before it that it has to wait for, by their places:
/// - those it is near to, and an earlier document of its own id;
/// - those whose old version it is near to, which is gone when it is its turn;
/// - those that its own old version is near to, because they have to meet that.
pub(super) fn waits_for(
    documents: &[Document],
    stored: &HashMap<&DocumentId, Stored>,
    max_distance: Distance,
) -> Vec<Vec<usize>> {
    let mut waits_for: Vec<Vec<usize>> = Vec::with_capacity(documents.len());
    let (mut new, mut old) = (search::new_tables(), search::new_tables());
    let mut versions: HashMap<&DocumentId, Vec<(Option<usize>, &Sketch)>> = HashMap::new();
    for (place, document) in documents.iter().enumerate() {
        let mut before = Vec::new();
        let mut near = |tables: &dyn tables::Tables, sketch: &Sketch| {
            tables.near(std::slice::from_ref(sketch), max_distance, &mut |hit| {
                before.extend(hit.numbers.iter().map(|&number| number as usize));
            });
        };
        near(&*new, &document.sketch);
        near(&*old, &document.sketch);
        let own = versions.entry(&document.id).or_insert_with(|| {
            let live = stored.get(&document.id).and_then(|stored| stored.live.as_ref());
            live.map(|live| (None, &live.sketch)).into_iter().collect()
        });
        for (_, sketch) in own.iter().filter(|(_, sketch)| **sketch != document.sketch) {
            near(&*new, sketch);
            old.insert(sketch, place as u64);
        }
        before.extend(own.iter().filter_map(|(place, _)| *place));
        own.push((Some(place), &document.sketch));
        new.insert(&document.sketch, place as u64);
        before.sort_unstable();
        before.dedup();
        waits_for.push(before);
    }
    waits_for
}
