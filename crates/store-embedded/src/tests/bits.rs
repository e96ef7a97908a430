//! Single wrong values in sound pages of `data.mdb`, which would hide documents or hand out a page
//! in use.

use std::fs::{self, File};

use heed::byteorder::{ByteOrder, NativeEndian};

use super::pages::{Pages, check};
use super::*;

pub(super) const PAGE_BYTES: usize = 4096;
pub(super) const HEADER_BYTES: usize = 16;
/// The trees in a root of the file: of free pages, and of names of databases.
const TREES: [usize; 2] = [40, 88];
const TXN_ID: usize = 144;

/// A file of pages, and the transaction that wrote it last.
pub(super) struct Pagefile {
    pub(super) directory: TempDir,
    pub(super) bytes: Vec<u8>,
    pub(super) txn_id: u64,
}

impl Pagefile {
    /// A closed index with branches, free pages and an image.
    fn new() -> Self {
        Self::of(2_000, SMALL)
    }

    pub(super) fn of(n_documents: u64, limits: Limits) -> Self {
        let directory = directory();
        let store = open_with(directory.path(), limits);
        store.insert(&documents(0..n_documents)).unwrap();
        store.write_image(&mut |_| {}).unwrap();
        store.remove(&documents(0..50).into_iter().map(|document| document.id).collect::<Vec<_>>()).unwrap();
        let txn_id = snapshot(&store, |_, txn| Ok(txn.id() as u64));
        drop(store);
        let bytes = fs::read(directory.path().join(directory::DATA_FILE)).unwrap();
        Self { directory, bytes, txn_id }
    }

    /// Where the root that counts begins.
    fn root(&self) -> usize {
        (self.txn_id & 1) as usize * PAGE_BYTES
    }

    fn number(&self, at: usize) -> u64 {
        NativeEndian::read_u64(&self.bytes[at..])
    }

    pub(super) fn short(&self, at: usize) -> u16 {
        NativeEndian::read_u16(&self.bytes[at..])
    }

    /// Where the first node of a page begins.
    fn first_node(&self, page: usize) -> usize {
        page + usize::from(self.short(page + HEADER_BYTES))
    }

    /// Where the value of a node begins.
    fn value(&self, node: usize) -> usize {
        node + 8 + usize::from(self.short(node + 6))
    }

    /// Where the first page of a tree begins, and the number of its levels, 0 for no page.
    fn tree(&self, at: usize) -> (usize, u16) {
        ((self.number(at + 40) as usize).wrapping_mul(PAGE_BYTES), self.short(at + 6))
    }

    /// Checks the file with its bytes changed at one place.
    fn checked(&self, at: usize, other: &[u8], pages: Pages) -> Option<ErrorKind> {
        let mut bytes = self.bytes.clone();
        bytes[at..at + other.len()].copy_from_slice(other);
        let path = self.directory.path().join(directory::DATA_FILE);
        fs::write(&path, &bytes).unwrap();
        let checked = check(&File::open(&path).unwrap(), self.txn_id, pages);
        checked.map(|is_done| assert!(is_done)).err().map(|error| error.kind())
    }

    /// Asserts that a change of one place is found in every way of looking.
    fn assert_told(&self, at: usize, other: &[u8]) {
        for pages in [Pages::Branches, Pages::All] {
            assert_eq!(self.checked(at, &self.bytes[at..at + other.len()], pages), None, "unchanged");
            assert_eq!(self.checked(at, other, pages), Some(ErrorKind::Corrupt), "{at} {pages:?}");
        }
        let opened = EmbeddedStore::open_with(self.directory.path(), Mode::MustExist, SMALL, Clock::system());
        assert_eq!(opened.err().map(|error| error.kind()), Some(ErrorKind::Corrupt));
    }

    /// Where the nodes with roots of databases begin.
    fn databases(&self) -> Vec<usize> {
        let (page, depth) = self.tree(self.root() + TREES[1]);
        assert_eq!(depth, 1);
        let end = usize::from(self.short(page + 12));
        (HEADER_BYTES..end)
            .step_by(2)
            .map(|offset| self.value(page + usize::from(self.short(page + offset))))
            .collect()
    }
}

/// Half of the documents under the branch were hidden, and the rest counted twice.
#[test]
fn a_branch_that_leads_to_one_leaf_twice() {
    let file = Pagefile::new();
    let mut n_branches = 0;
    for database in file.databases() {
        let (page, depth) = file.tree(database);
        if depth >= 2 {
            let [first, second] = [0, 2].map(|place| page + HEADER_BYTES + place);
            file.assert_told(second, &file.bytes[first..first + 2]);
            n_branches += 1;
        }
    }
    assert!(n_branches >= 3, "{n_branches}");
}

#[test]
fn flags_that_no_database_has() {
    let file = Pagefile::new();
    let trees = TREES.map(|tree| file.root() + tree).into_iter();
    for tree in trees.chain(file.databases()) {
        let mut flags = [0; 2];
        for bit in [0x02, 0x04, 0x08, 0x10] {
            NativeEndian::write_u16(&mut flags, file.short(tree + 4) ^ bit);
            file.assert_told(tree + 4, &flags);
        }
    }
}

/// The next write would overwrite the page.
#[test]
fn a_page_in_use_that_counts_as_free() {
    let file = Pagefile::new();
    let (leaf, depth) = file.tree(file.root() + TREES[0]);
    assert_eq!(depth, 1);
    let list = file.value(file.first_node(leaf));
    let n_free = file.number(list) as usize;
    let last = list + 8 * n_free;
    assert!(n_free >= 2, "{n_free}");
    let in_use = file.databases().into_iter().map(|database| file.number(database + 40));
    // The order of the list stays.
    let in_use = in_use.filter(|&page| page < file.number(last - 8)).collect::<Vec<_>>();
    assert!(!in_use.is_empty());
    for page in in_use {
        let mut number = [0; 8];
        NativeEndian::write_u64(&mut number, page);
        file.assert_told(last, &number);
    }
}

/// The older root counted, and the last commit was gone.
#[test]
fn roots_whose_transactions_do_not_follow_each_other() {
    let file = Pagefile::new();
    for txn_id in [file.txn_id, file.txn_id - 1] {
        let root = (txn_id & 1) as usize * PAGE_BYTES;
        assert_eq!(file.number(root + TXN_ID), txn_id);
        // The difference 2 may lead to the number on the other side of the other root's.
        for bit in [0_u32, 3, 4, 7, 20, 62] {
            let mut number = [0; 8];
            NativeEndian::write_u64(&mut number, txn_id ^ 1 << bit);
            let kind = file.checked(root + TXN_ID, &number, Pages::All);
            assert_eq!(kind, Some(ErrorKind::Corrupt), "bit {bit} of {txn_id}");
        }
    }
}

/// Sound files of all kinds: after each call, beside a writer, copied, and opened again.
#[test]
fn sound_files_are_never_refused() {
    let directory = directory();
    let store = open(directory.path());
    let path = directory.path().join(directory::DATA_FILE);
    let data = File::open(&path).unwrap();
    // False where a writer has overwritten the root already.
    let is_sound = |file: &File, txn_id| {
        [Pages::Branches, Pages::All].into_iter().all(|pages| check(file, txn_id, pages).unwrap())
    };
    let copy_path = directory.path().join("copy");
    let mut copy = File::options().create_new(true).read(true).write(true).open(&copy_path).unwrap();
    let mut assert_copy_sound = || {
        store.shared.environment.with(|opened| opened.copy_to(&mut copy)).unwrap();
        pages::extent(&copy).unwrap().unwrap();
        assert!(is_sound(&copy, 1));
    };
    assert_copy_sound();
    for n in 0..400 {
        call(&store, n).unwrap();
        if n % 50 == 49 {
            store.write_image(&mut |_| {}).unwrap();
            assert_copy_sound();
        }
        assert!(snapshot(&store, |_, txn| Ok(is_sound(&data, txn.id() as u64))));
    }
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (400..1_200).for_each(|n| call(&store, n).unwrap()));
        while !writer.is_finished() {
            pages::extent(&data).unwrap().unwrap();
            snapshot(&store, |_, txn| Ok(is_sound(&data, txn.id() as u64)));
        }
        writer.join().unwrap();
    });
    assert_copy_sound();
    let digest = Index::digest_of(&store).unwrap();
    drop(store);
    fs::rename(copy_path, path).unwrap();
    assert_eq!(Index::digest_of(&open(directory.path())).unwrap(), digest);
}
