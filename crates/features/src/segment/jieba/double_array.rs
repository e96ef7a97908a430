//! A trie of words as a double array: J. Aoe, "An Efficient Digital Search Algorithm by Using a
//! Double-Array Structure", IEEE Transactions on Software Engineering 15(9), 1989, section II.

use super::codes::{Code, Codes};
use super::places::Places;

/// The place of a prefix in the array. That of a first character is its code.
type Place = u32;

/// The parent of first characters and of free places.
const NONE: Place = u32::MAX;

/// One prefix.
#[derive(Clone, Copy)]
struct Node {
    /// The prefix without its last character.
    parent: Place,
    /// The place of a longer prefix, less the code of its last character.
    base: u32,
    /// The natural logarithm of the word's frequency; NaN where no word ends.
    log_frequency: f64,
}

/// A place without a prefix, or a first character without longer ones so far.
const FREE: Node = Node { parent: NONE, base: 0, log_frequency: f64::NAN };

/// A trie of words, each with its frequency.
pub(super) struct DoubleArray {
    nodes: Vec<Node>,
}

impl DoubleArray {
    /// Builds the trie of words sorted by their bytes, each there once.
    pub(super) fn new(words: &[(&str, u64)], codes: &Codes) -> Self {
        let mut places = Places::new(codes.len());
        let mut nodes = Vec::with_capacity(codes.len() + words.len() * 3 / 2);
        nodes.resize(codes.len(), FREE);
        let mut level = Vec::new();
        Group::all(words).add_children(words, codes, &mut level);
        for &Group { place, log_frequency, .. } in &level {
            nodes[place as usize].log_frequency = log_frequency;
        }
        let mut child_codes = Vec::new();
        while !level.is_empty() {
            let (mut families, mut children) = (Vec::new(), Vec::new());
            for group in level {
                let first = children.len();
                group.add_children(words, codes, &mut children);
                if children.len() > first {
                    families.push((group.place, first as u32..children.len() as u32));
                }
            }
            // Many children find places while most are free; single ones fill what is left.
            families.sort_by_key(|(_, children)| std::cmp::Reverse(children.len()));
            for (parent, range) in families {
                let family = &mut children[range.start as usize..range.end as usize];
                child_codes.clear();
                child_codes.extend(family.iter().map(|child| child.place));
                let base = places.take(&child_codes);
                nodes.resize(places.len(), FREE);
                nodes[parent as usize].base = base;
                for Group { place, log_frequency, .. } in family {
                    *place += base;
                    nodes[*place as usize] = Node { parent, base: 0, log_frequency: *log_frequency };
                }
            }
            level = children;
        }
        Self { nodes }
    }

    /// Returns the prefix of one character.
    #[inline]
    pub(super) fn first(&self, code: Code) -> Prefix<'_> {
        Prefix { place: code, node: &self.nodes[code as usize] }
    }

    /// Returns a prefix with one more character, if words have it.
    #[inline]
    pub(super) fn next(&self, prefix: Prefix<'_>, code: Code) -> Option<Prefix<'_>> {
        let place = prefix.node.base.wrapping_add(code);
        let node = self.nodes.get(place as usize).filter(|node| node.parent == prefix.place)?;
        Some(Prefix { place, node })
    }

    /// Hands the length and the natural logarithm of the frequency of each word that these
    /// characters begin with to `emit`, shortest first.
    #[inline]
    pub(super) fn for_each_word(&self, text: &[Code], mut emit: impl FnMut(usize, f64)) {
        let Some(&first) = text.first() else { return };
        let (mut prefix, mut len) = (self.first(first), 1);
        loop {
            if let Some(log_frequency) = prefix.log_frequency() {
                emit(len, log_frequency);
            }
            match text.get(len).and_then(|&code| self.next(prefix, code)) {
                Some(next) => (prefix, len) = (next, len + 1),
                None => return,
            }
        }
    }
}

/// A prefix of words.
#[derive(Clone, Copy)]
pub(super) struct Prefix<'a> {
    place: Place,
    node: &'a Node,
}

impl Prefix<'_> {
    /// Returns the natural logarithm of the frequency of the word that this is, if it is one.
    #[inline]
    pub(super) fn log_frequency(&self) -> Option<f64> {
        Some(self.node.log_frequency).filter(|log| !log.is_nan())
    }
}

/// The words that begin with one prefix, by their numbers among all.
struct Group {
    /// The place of the prefix; before it has one, the code of its last character. Both are equal
    /// for a first character.
    place: Place,
    start: u32,
    end: u32,
    /// Bytes of the prefix.
    prefix_len: u32,
    /// The natural logarithm of the frequency of the word that is the prefix, or NaN.
    log_frequency: f64,
}

impl Group {
    /// Creates the group of all words, whose prefix is empty.
    fn all(words: &[(&str, u64)]) -> Self {
        Self { place: NONE, start: 0, end: words.len() as u32, prefix_len: 0, log_frequency: f64::NAN }
    }

    /// Adds the groups of the prefixes with one more character, in the order of its code.
    fn add_children(&self, words: &[(&str, u64)], codes: &Codes, children: &mut Vec<Self>) {
        let first = children.len();
        let mut last = None;
        for number in self.start..self.end {
            let (word, frequency) = words[number as usize];
            let Some(next) = word[self.prefix_len as usize..].chars().next() else { continue };
            if last != Some(next) {
                let prefix_len = self.prefix_len + next.len_utf8() as u32;
                let is_word = word.len() == prefix_len as usize;
                let log_frequency = if is_word { (frequency as f64).ln() } else { f64::NAN };
                let place = codes.get(next);
                children.push(Self { place, start: number, end: number, prefix_len, log_frequency });
                last = Some(next);
            }
            if let Some(child) = children.last_mut() {
                child.end = number + 1;
            }
        }
        children[first..].sort_unstable_by_key(|child| child.place);
    }
}
