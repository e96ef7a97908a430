//! A walk over the trees of a snapshot by plain reads, which checks that LMDB could have written
//! each page there. LMDB trusts its pages: a page of other bytes ends the process that reads it, or
//! hides its records.
//!
//! A page of noise fails at its number. The other checks, of bounds within a page and of page
//! numbers, keep LMDB from reading outside of the page. A page named by two places hides the page
//! that one of them had, or is written while it is in use. Keys out of their order hide others.
//! Other values in a sound page are found by the checksums of records.

mod marks;
mod nodes;

use std::fs::File;
use std::ops::Range;

use heed::byteorder::{ByteOrder, NativeEndian};
use index::{Error, Result};

use self::marks::Marks;
use self::nodes::{Keys, Place, Value};
use super::{
    BRANCH, DEPTH_MAX, HEADER_BYTES, LEAF, META, NO_PAGE, NUMBER_BYTES, OVERFLOW, Root, Tree, read_at,
    root_of, unreadable,
};

/// `P_LEAF2` and `P_SUBP` of `mp_flags`: pages of databases with several values to a key. The store
/// has no such database.
const OF_DUPLICATES: u16 = 0x20 | 0x40;
/// `MDB_INTEGERKEY` of `md_flags`: LMDB's own for the tree of free pages. The other trees have no
/// flags.
const OF_FREE_PAGES: u16 = 0x08;

/// The pages of the databases that a walk reads. It always reads all pages of the trees of free
/// pages and of database names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Pages with keys alone, some hundredths of all, and roots.
    Branches,
    /// Also pages with values, and the first page of each value with pages of its own.
    All,
}

/// Checks the pages of the snapshot of transaction `txn_id`, which a reader must hold. Returns
/// false if its root is overwritten already, because two transactions have ended since.
///
/// # Errors
/// `Corrupt` with the number of the first unsound page.
pub(crate) fn check(file: &File, txn_id: u64, pages: Pages) -> Result<bool> {
    let Some(root) = root_of(file, txn_id)? else { return Ok(false) };
    // In this order: pages in use are written before their root.
    let n_pages = file.metadata().map_err(unreadable)?.len() / root.page_bytes;
    let marks = Marks::of(n_pages.min(root.last_page.saturating_add(1)));
    let bytes = vec![0; root.page_bytes as usize];
    let mut walk = Walk { file, root, n_pages, marks, is_in_free: true, bytes };
    // LMDB writes the two root pages in turn.
    let page = txn_id & 1;
    walk.tree(root.free, Keys::Transactions, page, Pages::All, &mut |walk, leaf| walk.free_pages(leaf))?;
    walk.is_in_free = false;
    let mut databases = Vec::new();
    walk.tree(root.main, Keys::NAMES, page, Pages::All, &mut |walk, leaf| {
        if let Value::Database(tree) = leaf.value {
            databases.push((tree, Keys::of_database(&walk.bytes[leaf.key.clone()]), leaf.page));
        }
        Ok(())
    })?;
    for (tree, keys, page) in databases {
        walk.tree(tree, keys, page, pages, &mut |_, leaf| match leaf.value {
            Value::Database(_) => Err(other_bytes(leaf.page)),
            Value::Here(_) | Value::Overflow { .. } => Ok(()),
        })?;
    }
    Ok(true)
}

/// The error for a page that LMDB cannot have written.
fn other_bytes(number: u64) -> Error {
    Error::corrupt(format!(
        "page {number} of the store's file data.mdb holds other bytes than were written; stop what uses the index, restore it \
         from a backup or build it anew, and see that `pigeonhole verify` finds nothing"
    ))
}

struct Walk<'a> {
    file: &'a File,
    root: Root,
    /// The pages in the file.
    n_pages: u64,
    /// The pages met, in a tree or among the free ones: none is met twice.
    marks: Marks,
    /// True in the tree of free pages.
    is_in_free: bool,
    /// The page under check.
    bytes: Vec<u8>,
}

/// A key, its value, and their page.
struct Leaf {
    page: u64,
    /// The place of the key in the page.
    key: Range<usize>,
    value: Value,
}

/// A page of a tree, still to be read.
struct Below {
    number: u64,
    level: usize,
    /// The separator before the page, and the branch that has it.
    separator: Option<(Vec<u8>, u64)>,
}

type Visit<'v> = dyn FnMut(&mut Walk<'_>, &Leaf) -> Result<()> + 'v;

impl Walk<'_> {
    /// Checks a tree with such keys whose root is in page `named_in`, and calls `visit` with the
    /// entries of its leaves in turn; outside of the free pages not with the values in their
    /// leaves.
    fn tree(
        &mut self,
        tree: Tree,
        keys: Keys,
        named_in: u64,
        pages: Pages,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let flags = if self.is_in_free { OF_FREE_PAGES } else { 0 };
        if tree.flags != flags {
            return Err(other_bytes(named_in));
        }
        if tree.root == NO_PAGE {
            return Ok(());
        }
        let depth = usize::from(tree.depth);
        if depth == 0 || depth > DEPTH_MAX {
            return Err(other_bytes(tree.root));
        }
        self.meet(tree.root)?;
        let reads_leaves = pages == Pages::All || depth == 1;
        let mut n_entries = 0;
        let mut place = Place::before(keys);
        let mut to_read = vec![Below { number: tree.root, level: 1, separator: None }];
        while let Some(Below { number, level, separator }) = to_read.pop() {
            if let Some((separator, branch)) = separator
                && !place.pass(&separator)
            {
                return Err(other_bytes(branch));
            }
            if level == depth {
                if reads_leaves {
                    n_entries += self.leaf(number, &mut place, visit)?;
                }
                continue;
            }
            let first = to_read.len();
            self.read(number, BRANCH)?;
            let children = nodes::branch(&self.bytes).ok_or_else(|| other_bytes(number))?;
            to_read.extend(children.enumerate().map(|(at, (separator, child))| {
                // Nothing is before the first page.
                let separator = (at > 0).then(|| (separator.to_vec(), number));
                Below { number: child, level: level + 1, separator }
            }));
            for child in &to_read[first..] {
                self.meet(child.number)?;
            }
            // In the order of keys, which is mostly the order in which they were written.
            to_read[first..].reverse();
        }
        if !reads_leaves || n_entries == tree.n_entries { Ok(()) } else { Err(other_bytes(tree.root)) }
    }

    /// Checks a leaf and the first page of each value elsewhere. Returns the number of its keys.
    fn leaf(&mut self, number: u64, place: &mut Place, visit: &mut Visit<'_>) -> Result<u64> {
        self.read(number, LEAF)?;
        let mut entries = Vec::new();
        let n_entries = place.leaf(&self.bytes, |key, value| {
            if self.is_in_free || !matches!(value, Value::Here(_)) {
                entries.push(Leaf { page: number, key, value });
            }
        });
        let n_entries = n_entries.ok_or_else(|| other_bytes(number))?;
        for entry in entries {
            if let Value::Overflow { number, len } = entry.value {
                self.overflow(number, len)?;
            }
            visit(self, &entry)?;
        }
        Ok(n_entries)
    }

    fn read(&mut self, number: u64, kind: u16) -> Result<()> {
        read_at(self.file, &mut self.bytes, number * self.root.page_bytes)?;
        if is_header(&self.bytes, number, kind) { Ok(()) } else { Err(other_bytes(number)) }
    }

    /// Marks a page, which no other place may have named.
    fn meet(&mut self, number: u64) -> Result<()> {
        if self.is_page(number) && self.marks.insert(number) { Ok(()) } else { Err(other_bytes(number)) }
    }

    /// The two first pages are roots.
    fn is_page(&self, number: u64) -> bool {
        (2..=self.root.last_page).contains(&number)
    }

    /// Checks a value in pages of its own, which has one header before all of it. A list of free
    /// pages that became shorter while its transaction ended keeps all of its pages.
    fn overflow(&mut self, number: u64, len: usize) -> Result<()> {
        let n_needed = (HEADER_BYTES as u64 + len as u64).div_ceil(self.root.page_bytes);
        let mut header = [0; HEADER_BYTES];
        if !self.is_page(number) {
            return Err(other_bytes(number));
        }
        read_at(self.file, &mut header, number * self.root.page_bytes)?;
        let n_pages = u64::from(NativeEndian::read_u32(&header[12..]));
        let is_sound = is_header(&header, number, OVERFLOW)
            && (n_pages == n_needed || self.is_in_free && n_pages > n_needed)
            && self.root.last_page - number + 1 >= n_pages
            && self.n_pages.saturating_sub(number) >= n_pages;
        if !is_sound {
            return Err(other_bytes(number));
        }
        (number..number + n_pages).try_for_each(|page| self.meet(page))
    }

    /// Checks the pages freed by a transaction: a count, then the page numbers in descending order.
    /// A writer takes pages from them.
    fn free_pages(&mut self, leaf: &Leaf) -> Result<()> {
        let (number, bytes) = match leaf.value {
            Value::Here(ref place) => (leaf.page, self.bytes[place.clone()].to_vec()),
            Value::Overflow { number, len } => {
                let mut bytes = vec![0; len];
                read_at(self.file, &mut bytes, number * self.root.page_bytes + HEADER_BYTES as u64)?;
                (number, bytes)
            }
            Value::Database(_) => return Err(other_bytes(leaf.page)),
        };
        let mut numbers = bytes.chunks_exact(NUMBER_BYTES).map(NativeEndian::read_u64);
        let n_numbers = numbers.next().and_then(|n| usize::try_from(n).ok());
        let numbers: Vec<u64> = numbers.collect();
        let freed = n_numbers.and_then(|n| numbers.get(..n)).ok_or_else(|| other_bytes(number))?;
        if !freed.is_sorted_by(|one, next| one > next) {
            return Err(other_bytes(number));
        }
        freed.iter().try_for_each(|&page| self.meet(page).map_err(|_| other_bytes(number)))
    }
}

fn is_header(bytes: &[u8], number: u64, kind: u16) -> bool {
    let flags = NativeEndian::read_u16(&bytes[10..]);
    NativeEndian::read_u64(bytes) == number
        && flags & (BRANCH | LEAF | OVERFLOW | META | OF_DUPLICATES) == kind
}
