//! Plain reads of LMDB's file, to check that it has all pages it refers to. An access to a page of
//! a map beyond the end of the file kills the process (SIGBUS), and LMDB never checks for this,
//! neither when it maps a file nor later.
//!
//! The format is LMDB's own, version 1 on 64-bit machines: integers are in the byte order of the
//! machine. Two pages at the start are roots, and the root of the later transaction counts
//! (`MDB_meta`). Each root has the number of the last page, the tree of free pages, and the tree of
//! everything else. The file may be shorter than the last page's number says, where the pages at
//! its end were given back in the transaction that had taken them: they are free, and were never
//! written. So the missing pages of a short file are looked for among the free ones.

mod walk;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use heed::byteorder::{ByteOrder, NativeEndian};
use index::{Error, ErrorKind, Result};

pub(super) use self::walk::{Pages, check};

use super::errors::io_error;

/// `MDB_MAGIC` and `MDB_DATA_VERSION`.
const MAGIC: u32 = 0xbeef_c0de;
const VERSION: u32 = 1;
/// `MDB_meta` behind the header of its page.
const META_BYTES: usize = 136;
/// `PAGEHDRSZ`.
const HEADER_BYTES: usize = 16;
const ROOT_BYTES: u64 = (HEADER_BYTES + META_BYTES) as u64;
/// `MDB_db`.
const TREE_BYTES: usize = 48;
/// `NODESIZE`.
const NODE_BYTES: usize = 8;
/// The bytes of a number of a page or a transaction.
const NUMBER_BYTES: usize = 8;
/// `P_INVALID`, the root of an empty tree.
const NO_PAGE: u64 = u64::MAX;
/// `CURSOR_STACK`: no tree of LMDB is deeper.
const DEPTH_MAX: usize = 32;
/// The most readings of a file while another process writes it.
const ATTEMPTS_MAX: usize = 64;

// `mp_flags`.
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;
/// `F_BIGDATA` of `mn_flags`: the value is in pages of its own.
const BIG: u16 = 0x01;

/// Reads the number of the last commit from a lock file (`MDB_txbody`). LMDB keeps it there for
/// readers; any number but 0 means that a commit was made. `None` for a file that is no lock file
/// yet.
pub(super) fn last_commit(lock: &File) -> Option<u64> {
    let mut body = [0; 16];
    lock.read_exact_at(&mut body, 0).ok()?;
    (NativeEndian::read_u32(&body) == MAGIC).then(|| NativeEndian::read_u64(&body[8..]))
}

/// The length of a file, and its length with all pages numbered by LMDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) n_bytes: u64,
    /// Greater than `n_bytes` only where all missing pages are free.
    pub(super) n_bytes_numbered: u64,
    pub(super) page_bytes: u64,
}

/// One root of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Root {
    page_bytes: u64,
    /// The tree of free pages.
    free: Tree,
    /// The tree of everything else: names of databases, each with the root of its own.
    main: Tree,
    last_page: u64,
    txn_id: u64,
}

/// A tree of pages (`MDB_db`).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tree {
    /// `md_flags`: the order of the keys, and whether a key has several values.
    flags: u16,
    /// The number of levels from the root to the leaves.
    depth: u16,
    n_entries: u64,
    /// The number of its first page.
    root: u64,
}

impl Tree {
    fn read(bytes: &[u8]) -> Self {
        Self {
            flags: NativeEndian::read_u16(&bytes[4..]),
            depth: NativeEndian::read_u16(&bytes[6..]),
            n_entries: NativeEndian::read_u64(&bytes[32..]),
            root: NativeEndian::read_u64(&bytes[40..]),
        }
    }
}

/// Returns the extent of LMDB's file; `None` for a file without both roots, which LMDB will begin
/// or refuse.
///
/// # Errors
/// `Corrupt` where a used page is missing, or a root is none.
pub(super) fn extent(file: &File) -> Result<Option<Extent>> {
    for _ in 0..ATTEMPTS_MAX {
        let Some(root) = read_root(file)? else { return Ok(None) };
        // In this order: pages are written before a root that has them, so a file under writes is
        // never found too short.
        let n_bytes = file.metadata().map_err(unreadable)?.len();
        let n_bytes_numbered = root
            .last_page
            .checked_add(1)
            .and_then(|n| n.checked_mul(root.page_bytes))
            .ok_or_else(not_lmdb)?;
        let extent = Extent { n_bytes, n_bytes_numbered, page_bytes: root.page_bytes };
        if n_bytes >= n_bytes_numbered {
            return Ok(Some(extent));
        }
        let n_whole = n_bytes / root.page_bytes;
        let free = free_pages(file, &root, n_whole);
        if read_root(file)? != Some(root) {
            // Pages of an older tree are used again, so the reads may be of two trees.
            continue;
        }
        match free {
            Ok(free) if free.len() as u64 == root.last_page + 1 - n_whole => return Ok(Some(extent)),
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            // The tree of free pages may be what is cut off.
            Ok(_) | Err(_) => return Err(truncated(n_bytes, n_bytes_numbered)),
        }
    }
    Err(written_meanwhile())
}

/// What is told where no look came to its end before others had written twice.
pub(super) fn written_meanwhile() -> Error {
    Error::new(ErrorKind::Busy, "the store was written again and again while it was looked at; try again")
}

/// The error of a file without some of the pages written by LMDB.
pub(super) fn truncated(n_bytes: u64, n_bytes_before: u64) -> Error {
    Error::corrupt(format!(
        "the store's file data.mdb has {n_bytes} bytes and had {n_bytes_before}: it was truncated; restore it from a backup \
         or build the index anew"
    ))
}

fn not_lmdb() -> Error {
    Error::corrupt(
        "the store's file is damaged or not this program's; restore it from a backup or build the index anew",
    )
}

fn unreadable(error: io::Error) -> Error {
    io_error(&error, "the store's files cannot be read or written").caused_by(error)
}

/// Reads the root that counts.
fn read_root(file: &File) -> Result<Option<Root>> {
    // LMDB takes the later one, and the first of two that are as late.
    Ok(read_roots(file)?.map(|[first, second]| if second.txn_id > first.txn_id { second } else { first }))
}

/// Reads the root of a transaction; `None` if it is overwritten already.
fn root_of(file: &File, txn_id: u64) -> Result<Option<Root>> {
    Ok(read_roots(file)?.into_iter().flatten().find(|root| root.txn_id == txn_id))
}

/// Reads both roots, as of one moment.
///
/// # Errors
/// `Corrupt` where a root is none, or where one is not of the transaction after the other one's.
fn read_roots(file: &File) -> Result<Option<[Root; 2]>> {
    let mut before = None;
    for _ in 0..ATTEMPTS_MAX {
        let Some(roots) = read_each_root(file)? else { return Ok(None) };
        if follow_each_other(roots.each_ref().map(|root| root.txn_id)) {
            return Ok(Some(roots));
        }
        // Others may have written between the two reads. What is read again the same has stood so.
        if before == Some(roots) {
            return Err(not_lmdb());
        }
        before = Some(roots);
    }
    Err(written_meanwhile())
}

/// Returns true for the numbers of the transactions of two roots that LMDB has written. It writes
/// them in turn, the odd ones to the second page. A new file has 0 in both.
fn follow_each_other([first, second]: [u64; 2]) -> bool {
    [first, second] == [0, 0] || first & 1 == 0 && second & 1 == 1 && first.abs_diff(second) == 1
}

/// Reads one root after the other.
fn read_each_root(file: &File) -> Result<Option<[Root; 2]>> {
    let n_bytes = file.metadata().map_err(unreadable)?.len();
    if n_bytes < ROOT_BYTES {
        return Ok(None);
    }
    let first = read_root_at(file, 0, 0)?;
    if n_bytes < first.page_bytes + ROOT_BYTES {
        return Ok(None);
    }
    let second = read_root_at(file, 1, first.page_bytes)?;
    let is_sound = |root: &Root| {
        (512..=1 << 16).contains(&root.page_bytes)
            && root.page_bytes.is_power_of_two()
            && root.page_bytes == first.page_bytes
            && root.last_page >= 1
            && (root.free.root == NO_PAGE || (2..=root.last_page).contains(&root.free.root))
    };
    if is_sound(&first) && is_sound(&second) { Ok(Some([first, second])) } else { Err(not_lmdb()) }
}

fn read_root_at(file: &File, number: u64, at: u64) -> Result<Root> {
    let mut bytes = [0; HEADER_BYTES + META_BYTES];
    read_at(file, &mut bytes, at)?;
    let (header, meta) = bytes.split_at(HEADER_BYTES);
    let is_root = NativeEndian::read_u64(header) == number
        && NativeEndian::read_u16(&header[10..]) & META != 0
        && NativeEndian::read_u32(meta) == MAGIC
        && NativeEndian::read_u32(&meta[4..]) == VERSION;
    if !is_root {
        return Err(not_lmdb());
    }
    Ok(Root {
        page_bytes: NativeEndian::read_u32(&meta[24..]).into(),
        free: Tree::read(&meta[24..]),
        main: Tree::read(&meta[72..]),
        last_page: NativeEndian::read_u64(&meta[120..]),
        txn_id: NativeEndian::read_u64(&meta[128..]),
    })
}

/// Reads the numbers of the free pages from `first` on. Their tree maps a transaction to a count of
/// pages, then their numbers.
fn free_pages(file: &File, root: &Root, first: u64) -> Result<BTreeSet<u64>> {
    let mut found = BTreeSet::new();
    each_freed(file, root, first, &mut |freed| {
        let pages = match freed {
            Value::Here(pages) => pages.to_vec(),
            Value::Overflow { number, len } => read_overflow(file, number, len, root.page_bytes, first)?,
        };
        let mut pages = pages.chunks_exact(NUMBER_BYTES).map(NativeEndian::read_u64);
        let n = pages.next().ok_or_else(not_lmdb)?;
        let is_missing = |page: &u64| (first..=root.last_page).contains(page);
        found.extend(pages.take(usize::try_from(n).map_err(|_| not_lmdb())?).filter(is_missing));
        Ok(())
    })?;
    Ok(found)
}

/// Returns the bytes of the free pages in the snapshot of transaction `txn_id`, which a reader must
/// hold. `None` if its root is overwritten already, because two transactions have ended since.
pub(super) fn n_free_bytes(file: &File, txn_id: u64) -> Result<Option<u64>> {
    let Some(root) = root_of(file, txn_id)? else { return Ok(None) };
    let mut n_free: u64 = 0;
    each_freed(file, &root, root.last_page, &mut |freed| {
        let mut count = [0; NUMBER_BYTES];
        match freed {
            Value::Here(pages) => count.copy_from_slice(pages.get(..NUMBER_BYTES).ok_or_else(not_lmdb)?),
            Value::Overflow { number, .. } => {
                read_at(file, &mut count, number.saturating_mul(root.page_bytes) + HEADER_BYTES as u64)?;
            }
        }
        n_free = n_free.saturating_add(NativeEndian::read_u64(&count));
        Ok(())
    })?;
    Ok(Some(n_free.saturating_mul(root.page_bytes)))
}

/// Reads the tree of free pages, of at most `n_pages_max` pages, and calls `visit` with the value
/// of each transaction.
fn each_freed(
    file: &File,
    root: &Root,
    n_pages_max: u64,
    visit: &mut dyn FnMut(Value<'_>) -> Result<()>,
) -> Result<()> {
    let mut n_read = 0;
    let mut to_read = Vec::new();
    if root.free.root != NO_PAGE {
        to_read.push((root.free.root, 1));
    }
    while let Some((number, depth)) = to_read.pop() {
        n_read += 1;
        // No page is in a tree twice.
        if depth > DEPTH_MAX || n_read > n_pages_max {
            return Err(not_lmdb());
        }
        let page = Page::read(file, number, root.page_bytes)?;
        for node in page.nodes()? {
            if page.flags & BRANCH != 0 {
                to_read.push((node.child(), depth + 1));
            } else {
                visit(node.value()?)?;
            }
        }
    }
    Ok(())
}

/// Reads a value in pages of its own, behind one header.
fn read_overflow(file: &File, number: u64, len: usize, page_bytes: u64, n_pages: u64) -> Result<Vec<u8>> {
    let is_there = len as u64 <= n_pages.saturating_mul(page_bytes);
    let page = Page::read(file, number, page_bytes)?;
    if !is_there || page.flags & OVERFLOW == 0 {
        return Err(not_lmdb());
    }
    let mut value = vec![0; len];
    read_at(file, &mut value, number * page_bytes + HEADER_BYTES as u64)?;
    Ok(value)
}

/// A page with nodes, or the first page of a value.
struct Page {
    flags: u16,
    bytes: Vec<u8>,
}

impl Page {
    fn read(file: &File, number: u64, page_bytes: u64) -> Result<Self> {
        let at = number.checked_mul(page_bytes).ok_or_else(not_lmdb)?;
        let mut bytes = vec![0; page_bytes as usize];
        read_at(file, &mut bytes, at)?;
        let flags = NativeEndian::read_u16(&bytes[10..]);
        let is_sound = NativeEndian::read_u64(&bytes) == number
            && matches!(flags & (BRANCH | LEAF | OVERFLOW | META), BRANCH | LEAF | OVERFLOW);
        if is_sound { Ok(Self { flags, bytes }) } else { Err(not_lmdb()) }
    }

    /// The nodes of the page. Their offsets begin behind the header and end at `mp_lower`.
    fn nodes(&self) -> Result<Vec<Node<'_>>> {
        let end = usize::from(NativeEndian::read_u16(&self.bytes[12..]));
        let offsets = self.bytes.get(HEADER_BYTES..end).ok_or_else(not_lmdb)?;
        let node = |offset: &[u8]| {
            let bytes = self.bytes.get(usize::from(NativeEndian::read_u16(offset))..);
            bytes.filter(|bytes| bytes.len() >= NODE_BYTES).map(Node).ok_or_else(not_lmdb)
        };
        if self.flags & OVERFLOW != 0 { Err(not_lmdb()) } else { offsets.chunks_exact(2).map(node).collect() }
    }
}

/// `MDB_node`: a key, and a page below it or a value. Holds all bytes of the page from the node on.
struct Node<'a>(&'a [u8]);

enum Value<'a> {
    Here(&'a [u8]),
    Overflow { number: u64, len: usize },
}

impl<'a> Node<'a> {
    /// The first 32 bits, `mn_lo` and `mn_hi`, ordered so as to be one number in the machine's byte
    /// order.
    fn low(&self) -> u32 {
        NativeEndian::read_u32(self.0)
    }

    fn flags(&self) -> u16 {
        NativeEndian::read_u16(&self.0[4..])
    }

    fn key_len(&self) -> usize {
        usize::from(NativeEndian::read_u16(&self.0[6..]))
    }

    fn child(&self) -> u64 {
        u64::from(self.flags()) << 32 | u64::from(self.low())
    }

    fn value(&self) -> Result<Value<'a>> {
        let bytes = self.0.get(NODE_BYTES + self.key_len()..).ok_or_else(not_lmdb)?;
        let len = self.low() as usize;
        let value = if self.flags() & BIG != 0 {
            let number = bytes.get(..8).map(NativeEndian::read_u64);
            number.map(|number| Value::Overflow { number, len })
        } else {
            bytes.get(..len).map(Value::Here)
        };
        value.ok_or_else(not_lmdb)
    }
}

fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<()> {
    match file.read_exact_at(bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(not_lmdb()),
        read => read.map_err(unreadable),
    }
}
