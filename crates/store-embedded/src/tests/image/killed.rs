//! A writer of images that is killed, in the middle of an image and at any moment.

use super::super::processes::{Other, tell};
use super::super::*;
use super::{assert_no_leftovers, examine, forget, generations, generations_in};
use crate::image::Headers;

/// The documents of a call.
const N: u64 = 40;

/// Inserts documents and writes an image, again and again, until the process is killed.
pub(in crate::tests) fn images_on(store: &EmbeddedStore, mut lines: impl Iterator<Item = String>) {
    for n in lines.next().unwrap().parse::<u64>().unwrap().. {
        store.insert(&documents(N * n..N * (n + 1))).unwrap();
        tell(&n.to_string());
        store.write_image(&mut |_| {}).unwrap();
    }
}

/// Kills a writer in the middle of an image that it began after generation `begun`: between two of
/// its transactions, while this process has the turn to write.
fn kill_in_an_image(store: &EmbeddedStore, writer: Other, begun: u32) -> Vec<String> {
    let mut writer = Some(writer);
    loop {
        let said = store.shared.environment.with(|opened| {
            let txn = opened.write_txn()?;
            let ended = Headers::find(opened, &txn)?.sound.last().map_or(0, |header| header.generation);
            let is_in_an_image = generations_in(opened, &txn)
                .last()
                .is_some_and(|&(generation, _)| generation > begun.max(ended));
            Ok(writer.take_if(|_| is_in_an_image).map(Other::kill))
        });
        if let Some(said) = said.unwrap() {
            return said;
        }
    }
}

#[test]
fn kill_9_leaves_the_last_image_or_none() {
    let directory = directory();
    let store = open(directory.path());
    let mut n_done = 0;
    for round in 0..30 {
        let mut writer = Other::start("imager", directory.path());
        writer.say(&n_done.to_string());
        n_done = writer.hear().unwrap().parse::<u64>().unwrap() + 1;
        let begun = generations(&store);
        let said = if round % 2 == 0 {
            let last = begun.last().map_or(0, |&(generation, _)| generation);
            kill_in_an_image(&store, writer, last)
        } else {
            // At any moment, also in the middle of a commit.
            for _ in 0..1_000_000 {
                if generations(&store) != begun {
                    break;
                }
            }
            writer.kill()
        };
        if let Some(last) = said.last() {
            n_done = last.parse::<u64>().unwrap() + 1;
        }
        assert_eq!(examine(&store, false), [], "round {round}");
        forget(&store);
        let n_there = store.status().unwrap().n_documents.unwrap();
        assert!(n_there == N * n_done || n_there == N * (n_done + 1), "{n_there} after {n_done}");
        assert_found(&store, &documents(0..n_there));
        assert_not_found(&store, &documents(n_there..n_there + 10));
        assert_eq!(store.shared.terms.refused(), 0);
    }
    store.write_image(&mut |_| {}).unwrap();
    assert_no_leftovers(&store);
}
