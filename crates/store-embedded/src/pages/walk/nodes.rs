//! The nodes of a page, and the order of their keys in a tree.
//!
//! LMDB seeks by halving: a key out of its place hides others.

use std::cmp::Ordering;
use std::ops::{Range, RangeInclusive};

use heed::byteorder::{ByteOrder, NativeEndian};

use super::super::{self as pages, BIG, HEADER_BYTES, NODE_BYTES, NUMBER_BYTES, TREE_BYTES, Tree};

/// `F_SUBDATA` of `mn_flags`: the value is the root of a database.
const DATABASE: u16 = 0x02;

/// The keys that a tree can have.
#[derive(Clone)]
pub(super) enum Keys {
    /// Numbers of transactions, in the machine's byte order (`MDB_INTEGERKEY`).
    Transactions,
    /// Bytes of so many, in the order of the bytes.
    Bytes(RangeInclusive<usize>),
}

impl Keys {
    /// The names of databases, and keys without a fixed length: LMDB takes no others.
    pub(super) const NAMES: Self = Self::Bytes(1..=511);

    /// The keys that a database can have.
    pub(super) fn of_database(name: &[u8]) -> Self {
        match name {
            b"pigeonhole.log" | b"pigeonhole.removals" | b"pigeonhole.texts" => Self::Bytes(8..=8),
            b"pigeonhole.image" => Self::Bytes(13..=13),
            _ => Self::NAMES,
        }
    }

    fn is_one(&self, key: &[u8]) -> bool {
        match self {
            Self::Transactions => key.len() == NUMBER_BYTES,
            Self::Bytes(lens) => lens.contains(&key.len()),
        }
    }

    /// Compares two keys that the tree can have.
    fn order(&self, one: &[u8], other: &[u8]) -> Ordering {
        match self {
            Self::Transactions => NativeEndian::read_u64(one).cmp(&NativeEndian::read_u64(other)),
            Self::Bytes(_) => one.cmp(other),
        }
    }
}

/// The place of a walk in the ascending keys of a tree.
pub(super) struct Place {
    keys: Keys,
    /// The last key; empty before the first.
    last: Vec<u8>,
    /// True where the last key is a separator: the next key of a leaf may equal it.
    is_separator: bool,
}

impl Place {
    pub(super) fn before(keys: Keys) -> Self {
        Self { keys, last: Vec::new(), is_separator: false }
    }

    /// Goes on to the page behind a separator. Returns false if LMDB cannot have written the
    /// separator there.
    pub(super) fn pass(&mut self, key: &[u8]) -> bool {
        let is_next = self.keys.is_one(key) && self.is_below(key, false);
        self.is_separator = true;
        key.clone_into(&mut self.last);
        is_next
    }

    fn is_below(&self, key: &[u8], may_equal: bool) -> bool {
        self.last.is_empty()
            || match self.keys.order(&self.last, key) {
                Ordering::Less => true,
                Ordering::Equal => may_equal,
                Ordering::Greater => false,
            }
    }

    /// Goes on to the end of a leaf, and calls `visit` with the place of each key and its value.
    /// Returns the number of keys; `None` if LMDB cannot have written the leaf there.
    pub(super) fn leaf(&mut self, page: &[u8], mut visit: impl FnMut(Range<usize>, Value)) -> Option<u64> {
        let nodes = Nodes::of(page)?;
        let (mut n_bytes, mut n_keys, mut before) = (0, 0, None);
        for node in nodes.iter() {
            let node = node?;
            let (key, value) = (node.key(), node.value()?);
            let is_next = self.keys.is_one(key)
                && match before {
                    None => self.is_below(key, self.is_separator),
                    Some(before) => self.keys.order(before, key) == Ordering::Less,
                };
            if !is_next {
                return None;
            }
            n_bytes += node.n_bytes(value.n_bytes_here());
            n_keys += 1;
            before = Some(key);
            visit(node.key_place(), value);
        }
        before?.clone_into(&mut self.last);
        self.is_separator = false;
        nodes.are_all(n_bytes).then_some(n_keys)
    }
}

/// The nodes of a branch: separators, the first of which does not count, and pages. `None` if LMDB
/// cannot have written them.
pub(super) fn branch(page: &[u8]) -> Option<impl Iterator<Item = (&[u8], u64)>> {
    let nodes = Nodes::of(page)?;
    let mut n_bytes = 0;
    for node in nodes.iter() {
        n_bytes += node?.n_bytes(0);
    }
    let entries = nodes.iter().flatten().map(|node| (node.key(), node.node().child()));
    nodes.are_all(n_bytes).then_some(entries)
}

/// The nodes of a page, which are behind each other up to the end of the page.
#[derive(Clone, Copy)]
struct Nodes<'a> {
    page: &'a [u8],
    offsets: &'a [u8],
    /// Where the nodes begin.
    upper: usize,
}

impl<'a> Nodes<'a> {
    fn of(page: &'a [u8]) -> Option<Self> {
        let end = usize::from(NativeEndian::read_u16(&page[12..]));
        let upper = usize::from(NativeEndian::read_u16(&page[14..]));
        let offsets = page.get(HEADER_BYTES..end)?;
        let is_sound = !offsets.is_empty() && offsets.len().is_multiple_of(2) && end <= upper;
        is_sound.then_some(Self { page, offsets, upper })
    }

    /// The nodes, with `None` for one that lies outside of the page.
    fn iter(self) -> impl Iterator<Item = Option<Node<'a>>> {
        let Self { page, offsets, upper } = self;
        offsets.chunks_exact(2).map(move |offset| {
            let at = usize::from(NativeEndian::read_u16(offset));
            let bytes = page.get(at..).filter(|bytes| at >= upper && bytes.len() >= NODE_BYTES)?;
            let key_end = at + NODE_BYTES + pages::Node(bytes).key_len();
            (key_end <= page.len()).then_some(Node { page, at, key_end })
        })
    }

    /// Returns true if the nodes have so many bytes together.
    fn are_all(self, n_bytes: usize) -> bool {
        n_bytes == self.page.len() - self.upper
    }
}

/// `MDB_node`, by its start in its page.
#[derive(Clone, Copy)]
struct Node<'a> {
    page: &'a [u8],
    at: usize,
    key_end: usize,
}

/// The value of a key.
pub(super) enum Value {
    /// Its place in the page.
    Here(Range<usize>),
    Overflow {
        number: u64,
        len: usize,
    },
    Database(Tree),
}

impl Value {
    /// The bytes in the page itself.
    fn n_bytes_here(&self) -> usize {
        match self {
            Self::Here(place) => place.len(),
            Self::Overflow { .. } => NUMBER_BYTES,
            Self::Database(_) => TREE_BYTES,
        }
    }
}

impl<'a> Node<'a> {
    fn node(self) -> pages::Node<'a> {
        pages::Node(&self.page[self.at..])
    }

    fn key_place(self) -> Range<usize> {
        self.at + NODE_BYTES..self.key_end
    }

    fn key(self) -> &'a [u8] {
        &self.page[self.key_place()]
    }

    /// The bytes of the node with `n_value_bytes` of a value. LMDB makes them even.
    fn n_bytes(self, n_value_bytes: usize) -> usize {
        (self.key_end - self.at + n_value_bytes).next_multiple_of(2)
    }

    /// Returns the value of the key; `None` if it lies outside of the page.
    fn value(self) -> Option<Value> {
        let (node, from) = (self.node(), self.key_end);
        let len = node.low() as usize;
        match node.flags() {
            0 => (len <= self.page.len() - from).then(|| Value::Here(from..from + len)),
            BIG => {
                let number = self.page.get(from..from + NUMBER_BYTES).map(NativeEndian::read_u64)?;
                Some(Value::Overflow { number, len })
            }
            DATABASE => {
                let tree = self.page.get(from..from + TREE_BYTES)?;
                (len == TREE_BYTES).then(|| Value::Database(Tree::read(tree)))
            }
            _ => None,
        }
    }
}
