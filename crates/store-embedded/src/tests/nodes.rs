//! Nodes of pages with other headers or keys than were written, each of which would hide documents.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::bits::{HEADER_BYTES, PAGE_BYTES, Pagefile};
use super::examine::examine;
use super::pages::{Pages, check};
use super::*;

const N_DOCUMENTS: u64 = 300;

/// An index, each place of which can be changed and changed back.
struct Changed {
    sound: Pagefile,
    file: File,
    answers: Answers,
}

impl Changed {
    fn new() -> Self {
        // Few blocks: each has a checksum, and is tested elsewhere.
        let sound = Pagefile::of(N_DOCUMENTS, Limits { block_bytes: 4096, ..SMALL });
        let path = sound.directory.path().join(directory::DATA_FILE);
        let file = File::options().read(true).write(true).open(path).unwrap();
        let answers = answers(&open(sound.directory.path())).unwrap();
        Self { sound, file, answers }
    }

    /// The places of the nodes of all branches and leaves in use.
    fn nodes(&self) -> Vec<usize> {
        let is_of_nodes = |page: &usize| self.sound.short(page + 10) & 3 != 0;
        let is_used = |page: &usize| self.is_told(*page, &[0; 8]);
        let pages = (2 * PAGE_BYTES..self.sound.bytes.len()).step_by(PAGE_BYTES);
        let pages = pages.filter(is_of_nodes).filter(is_used);
        let offsets = pages.flat_map(|page| {
            let end = usize::from(self.sound.short(page + 12));
            (HEADER_BYTES..end).step_by(2).map(move |offset| (page, page + offset))
        });
        offsets.map(|(page, offset)| page + usize::from(self.sound.short(offset))).collect()
    }

    fn key(&self, node: usize) -> &[u8] {
        &self.sound.bytes[node + 8..][..self.sound.short(node + 6).into()]
    }

    /// Returns true if a changed place is told by a look at the pages. Asserts that no other one
    /// changes an answer.
    fn is_told(&self, at: usize, other: &[u8]) -> bool {
        let was = &self.sound.bytes[at..at + other.len()];
        self.file.write_all_at(other, at as u64).unwrap();
        let checked = check(&self.file, self.sound.txn_id, Pages::All);
        match &checked {
            Ok(is_done) => {
                assert!(is_done);
                self.assert_answers(at);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{at}"),
        }
        self.file.write_all_at(was, at as u64).unwrap();
        checked.is_err()
    }

    fn assert_answers(&self, at: usize) {
        let path = self.sound.directory.path();
        let opened = EmbeddedStore::open_with(path, Mode::MustExist, SMALL, Clock::system());
        match opened.and_then(|store| Ok((answers(&store)?, examine(&store, false)))) {
            Ok(((found, by_ids), findings)) => {
                assert!(found == self.answers.0, "{at}");
                // A key of an id that is another one in its place is found by an examination alone.
                assert!(by_ids == self.answers.1 || !findings.is_empty(), "{at}");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{at}: {error}"),
        }
    }
}

type Answers = (Vec<String>, Vec<bool>);

/// All that is found but by ids, and which ids are found.
fn answers(store: &EmbeddedStore) -> Result<Answers> {
    let mut found = vec![format!("{:?} {:?}", store.status()?.n_documents, Index::digest_of(store)?)];
    let sketches: Vec<_> =
        documents((0..N_DOCUMENTS).step_by(9)).into_iter().map(|document| document.sketch).collect();
    for near in store.near(&sketches, &within(3), 5)? {
        found.extend(near.matches.into_iter().map(|found| found.id.as_str().to_owned()));
    }
    let ids: Vec<_> = documents(0..N_DOCUMENTS).into_iter().map(|document| document.id).collect();
    Ok((found, store.get(&ids)?.iter().map(Option::is_some).collect()))
}

/// Four of the headers led to fewer documents, and to a search without its matches.
#[test]
fn headers_of_zeros_are_told() {
    let file = Changed::new();
    for node in file.nodes() {
        assert!(file.is_told(node, &[0; 8]), "{node}");
    }
}

/// The length of a value in pages of its own is told by the value's checksum, where its pages are
/// as many as before.
#[test]
fn headers_with_other_bits_are_told_or_change_no_answer() {
    let file = Changed::new();
    let nodes = file.nodes();
    let mut n_told = 0;
    for (place, &node) in nodes.iter().enumerate() {
        file.is_told(node, &[0; 2]);
        let bit = place * 5 % 64;
        let byte = file.sound.bytes[node + bit / 8] ^ 1 << (bit % 8);
        n_told += usize::from(file.is_told(node + bit / 8, &[byte]));
    }
    assert!(nodes.len() > 500 && n_told * 10 > nodes.len() * 9, "{n_told} of {}", nodes.len());
}

/// One bit of each key, and in branches each bit. A key that stays between its neighbours is told
/// by its record.
#[test]
fn keys_with_another_bit_are_told_or_change_no_answer() {
    let file = Changed::new();
    let (mut n_told, mut n_changed) = (0, 0);
    for (place, node) in file.nodes().into_iter().enumerate() {
        let key = file.key(node);
        let is_of_branch = file.sound.bytes[node / PAGE_BYTES * PAGE_BYTES + 10] & 1 != 0;
        let n_bits = 8 * key.len();
        for bit in (0..n_bits).filter(|bit| is_of_branch || *bit == place * 5 % n_bits) {
            let byte = key[bit / 8] ^ 1 << (bit % 8);
            n_told += usize::from(file.is_told(node + 8 + bit / 8, &[byte]));
            n_changed += 1;
        }
    }
    assert!(n_changed > 500 && n_told * 2 > n_changed, "{n_told} of {n_changed}");
}
