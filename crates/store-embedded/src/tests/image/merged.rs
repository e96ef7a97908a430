//! An image that takes over the entries of the one before, and one made from the records alone.

use crate::image::{self, Header, Place, Section};
use crate::imaging;

use super::super::*;
use super::damage::blocks;
use super::{FLAT, examine, forget, layers, meddle};

/// The blocks without what tells their generation, and the amounts in the header.
type Content = (Vec<(Vec<u8>, Vec<u8>)>, u64, u64, Vec<Section>);

const GENERATION_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;

fn content(store: &EmbeddedStore) -> Content {
    let Header { up_to, n_documents, sections, .. } = layers(store).pop().unwrap();
    let blocks = blocks(store).into_iter().map(|(key, mut value)| {
        value.truncate(value.len() - CHECKSUM_BYTES);
        (key[GENERATION_BYTES..].to_vec(), value)
    });
    (blocks.collect(), up_to, n_documents, sections)
}

/// The content of an image made from the records alone.
fn made_anew(store: &EmbeddedStore) -> Content {
    imaging::drop_all(&store.shared).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    content(store)
}

#[test]
fn both_are_the_same_to_the_byte() {
    let directory = directory();
    let store = open_with(directory.path(), FLAT);
    for round in 0..6 {
        let first = 50 * round;
        // The first of each round, some of earlier ones, and all of two rounds in one go.
        store.insert(&documents(first..first + 50)).unwrap();
        let gone = match round {
            0 | 3 => vec![],
            4 => documents(0..100),
            _ => documents([first, first + 49, first - 25, first - 40]),
        };
        let ids: Vec<DocumentId> = gone.into_iter().map(|document| document.id).collect();
        store.remove(&ids).unwrap();
        assert!(store.write_image(&mut |_| {}).unwrap(), "round {round}");
        let merged = content(&store);
        assert_eq!(examine(&store, false), [], "round {round}");
        assert_eq!(merged, made_anew(&store), "round {round}");
    }
}

/// An image whose documents are all gone leaves no entry to the next one.
#[test]
fn all_are_gone() {
    let directory = directory();
    let store = open_with(directory.path(), FLAT);
    store.insert(&documents(0..50)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    store.remove(&documents(0..50).into_iter().map(|document| document.id).collect::<Vec<_>>()).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!((content(&store).2, blocks(&store)), (0, vec![]));
    store.insert(&documents(20..90)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(content(&store), made_anew(&store));
}

/// A store with an image, and as many documents after it.
fn imaged(path: &Path) -> EmbeddedStore {
    let store = open_with(path, FLAT);
    store.insert(&documents(0..20)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    store.insert(&documents(20..40)).unwrap();
    store.remove(&[document(7).id]).unwrap();
    store
}

/// A block whose checksum fits, and whose first word is not one that it answers for.
fn with_another_beginning(key: &[u8], value: &[u8]) -> Vec<u8> {
    let (until, body) = value[..value.len() - CHECKSUM_BYTES].split_first_chunk().unwrap();
    let mut body = body.to_vec();
    body[..8].fill(0xff);
    image::encode(Place::decode(key).unwrap(), u64::from_be_bytes(*until), &body)
}

/// The next image is made from the records where a block is damaged, missing or not sound.
#[test]
fn a_damaged_image_is_not_taken_over() {
    let directory = directory();
    let intact = blocks(&imaged(&directory.path().join("intact")));
    assert!(intact.len() > 30, "{}", intact.len());
    let mut expected = None;
    for (n, (key, value)) in intact.iter().enumerate() {
        for how in 0..4 {
            let store = imaged(&directory.path().join(format!("{n}-{how}")));
            meddle(&store, |opened, txn| {
                let blocks = opened.image().unwrap();
                let mut changed = value.clone();
                match how {
                    0 => changed[n * 5 % value.len()] ^= 1 << (n % 8),
                    1 => return blocks.delete(txn, key).map(drop),
                    2 => changed.truncate(n % value.len()),
                    _ => changed = with_another_beginning(key, value),
                }
                blocks.put(txn, key, &changed)
            });
            assert!(store.write_image(&mut |_| {}).unwrap(), "block {n}, {how}");
            assert_eq!(examine(&store, false), []);
            let found = content(&store);
            assert_eq!(&found, expected.get_or_insert_with(|| made_anew(&store)), "block {n}, {how}");
            forget(&store);
            assert_found(&store, &documents((0..40).filter(|&n| n != 7)));
            assert_not_found(&store, &documents([7]));
        }
    }
}

/// A second writer of an image leaves the first one alone, however long that takes.
#[test]
fn one_writer_of_an_image_at_a_time() {
    let directory = directory();
    let store = imaged(directory.path());
    imaging::drop_all(&store.shared).unwrap();
    let mut n_tried = 0;
    let is_written = store.write_image(&mut |_| {
        assert!(!store.write_image(&mut |_| {}).unwrap());
        n_tried += 1;
    });
    assert!(is_written.unwrap() && n_tried > 1, "{n_tried}");
    assert_eq!(content(&store), made_anew(&store));
}

/// A writer of an image leaves off where another image takes the place of the one that it reads,
/// and where all images are dropped.
#[test]
fn images_change_under_a_writer() {
    let directory = directory();
    for how in ["another image", "dropped", "the first one dropped"] {
        let store = imaged(&directory.path().join(how));
        if how == "the first one dropped" {
            imaging::drop_all(&store.shared).unwrap();
        }
        let mut is_done = false;
        let is_written = store.write_image(&mut |share| {
            if share > 0.5 && !std::mem::replace(&mut is_done, true) {
                match how {
                    "another image" => {
                        assert!(imaging::write_unlocked(&store.shared, &mut |_| {}).unwrap());
                    }
                    _ => imaging::drop_all(&store.shared).unwrap(),
                }
            }
        });
        assert!(is_done && !is_written.unwrap(), "{how}");
        assert_eq!(examine(&store, false), [], "{how}");
        forget(&store);
        assert_found(&store, &documents((0..40).filter(|&n| n != 7)));
        if how == "another image" {
            assert_eq!(content(&store), made_anew(&store));
        } else {
            assert!(store.status().unwrap().image.is_none(), "{how}");
        }
    }
}
