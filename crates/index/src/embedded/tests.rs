//! What only this store has: files, a map that grows, removals that are forgotten.

use simhash::{Fingerprint, TableScheme};

use super::*;
use crate::FORMAT_VERSION;

const SMALL: Limits = Limits { map_bytes: 1 << 16, removals_kept_max: 5, follow_step: 7 };

fn metadata() -> Metadata {
    let scheme = TableScheme::default();
    Metadata {
        format_version: FORMAT_VERSION,
        max_distance: scheme.max_distance(),
        scheme,
        recipe: [].into(),
    }
}

fn document(n: u64) -> Document {
    let bits = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Document {
        id: DocumentId::new(format!("document {n}")).unwrap(),
        sketch: TableScheme::default().sketch(Fingerprint(bits)),
    }
}

fn documents(numbers: impl IntoIterator<Item = u64>) -> Vec<Document> {
    numbers.into_iter().map(document).collect()
}

fn sketches(documents: &[Document]) -> Vec<Sketch> {
    documents.iter().map(|document| document.sketch.clone()).collect()
}

#[test]
fn the_map_grows_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open_with(directory.path(), Mode::CreateIfMissing, SMALL).unwrap();
    store.create(&metadata()).unwrap();
    // The first batch alone needs several doublings, the later ones grow what others are searching.
    let all = documents(0..6_000);
    for batch in all.chunks(2_000) {
        let insertions = store.insert_if_new(batch, 3).unwrap();
        assert!(insertions.iter().all(|insertion| *insertion == Insertion::Inserted));
    }
    assert!(store.status().unwrap().n_disk_bytes.unwrap() > 4 * SMALL.map_bytes as u64);
    let found = store.near(&sketches(&all), 0, 1).unwrap();
    assert!(found.iter().zip(&all).all(|(found, document)| found.matches[0].id == document.id));
}
