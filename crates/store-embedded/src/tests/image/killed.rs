//! A writer of images that is killed, at moments of which some are in the middle of an image.

use super::super::processes::{Other, tell};
use super::super::*;
use super::{examine, forget, generations};

/// The documents of a call.
const N: u64 = 40;

/// Inserts documents and writes an image, again and again, until the process is killed.
pub(in crate::tests) fn images_on(store: &EmbeddedStore, mut lines: impl Iterator<Item = String>) {
    for n in lines.next().unwrap().parse::<u64>().unwrap().. {
        store.insert(&documents(N * n..N * (n + 1))).unwrap();
        tell(&n.to_string());
        store.write_image().unwrap();
    }
}

#[test]
fn kill_9_leaves_the_last_image_or_none() {
    let directory = directory();
    let store = open(directory.path());
    let (mut n_done, mut n_leftovers) = (0, 0);
    for round in 0..30 {
        let mut writer = Other::start("imager", directory.path());
        writer.say(&n_done.to_string());
        n_done = writer.hear().unwrap().parse::<u64>().unwrap() + 1;
        // The image is being written now.
        let begun = generations(&store);
        for _ in 0..1_000_000 {
            if generations(&store) != begun {
                break;
            }
        }
        if let Some(last) = writer.kill().last() {
            n_done = last.parse::<u64>().unwrap() + 1;
        }
        n_leftovers += usize::from(generations(&store).len() > 1);
        assert_eq!(examine(&store, false), [], "round {round}");
        forget(&store);
        let n_there = store.status().unwrap().n_documents.unwrap();
        assert!(n_there == N * n_done || n_there == N * (n_done + 1), "{n_there} after {n_done}");
        assert_found(&store, &documents(0..n_there));
        assert_not_found(&store, &documents(n_there..n_there + 10));
        assert_eq!(store.shared.terms.refused(), 0);
    }
    assert!(n_leftovers > 3, "only {n_leftovers} of 30 were killed while they wrote an image");
    store.write_image().unwrap();
    assert!(generations(&store).len() <= 1, "{:?}", generations(&store));
}
