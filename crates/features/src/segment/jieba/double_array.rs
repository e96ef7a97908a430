//! A trie of words as a double array: J. Aoe, "An Efficient Digital Search Algorithm by Using a
//! Double-Array Structure", IEEE Transactions on Software Engineering 15(9), 1989, section II.

use super::codes::{Code, Codes};
use super::places::Places;

/// A prefix of words, as its place in the array. The place of a first character is its code.
type Place = u32;

/// The parent of first characters and of free places.
const NONE: Place = u32::MAX;

/// One prefix.
#[derive(Clone, Copy)]
struct Node {
    /// The prefix without its last character.
    parent: Place,
    /// What is added to the code of the next character for the place of the longer prefix.
    base: u32,
    /// The natural logarithm of the word's frequency; NaN where no word ends.
    log_frequency: f64,
}

const FREE: Node = Node { parent: NONE, base: 0, log_frequency: f64::NAN };

/// A trie of words, each with its frequency.
pub(super) struct DoubleArray {
    nodes: Vec<Node>,
}

impl DoubleArray {
    /// Builds the trie of words sorted by their bytes, each there once.
    pub(super) fn new(words: &[(&str, u64)], codes: &Codes) -> Self {
        let mut places = Places::new(codes.len());
        let mut nodes = vec![FREE; codes.len()];
        let mut level = Group::all(words).children(codes);
        while !level.is_empty() {
            let mut parents = Vec::with_capacity(level.len());
            for (place, group) in level {
                nodes[place as usize].log_frequency = group.log_frequency();
                parents.push((place, group.children(codes)));
            }
            // Many children find places while most are free; single ones fill what is left.
            parents.sort_by_key(|(_, children)| std::cmp::Reverse(children.len()));
            level = Vec::new();
            let mut child_codes = Vec::new();
            for (parent, children) in parents {
                child_codes.clear();
                child_codes.extend(children.iter().map(|&(code, _)| code));
                let base = places.take(&child_codes);
                nodes.resize(places.len(), FREE);
                nodes[parent as usize].base = base;
                for (code, group) in children {
                    let place = base.wrapping_add(code);
                    nodes[place as usize].parent = parent;
                    level.push((place, group));
                }
            }
        }
        Self { nodes }
    }

    /// Hands the length and the natural logarithm of the frequency of each word that these
    /// characters begin with to `emit`, shortest first.
    #[inline]
    pub(super) fn for_each_word(&self, text: &[Code], mut emit: impl FnMut(usize, f64)) {
        let Some(&first) = text.first() else { return };
        let (mut place, mut node, mut len) = (first, &self.nodes[first as usize], 1);
        loop {
            if !node.log_frequency.is_nan() {
                emit(len, node.log_frequency);
            }
            let Some(&code) = text.get(len) else { return };
            let next = node.base.wrapping_add(code);
            match self.nodes.get(next as usize) {
                Some(child) if child.parent == place => (place, node, len) = (next, child, len + 1),
                _ => return,
            }
        }
    }
}

/// The words that begin with one prefix.
#[derive(Clone, Copy)]
struct Group<'w> {
    words: &'w [(&'w str, u64)],
    /// Bytes of the prefix.
    prefix_len: usize,
}

impl<'w> Group<'w> {
    fn all(words: &'w [(&'w str, u64)]) -> Self {
        Self { words, prefix_len: 0 }
    }

    /// Returns the logarithm of the frequency of the word that is the prefix itself, or NaN.
    fn log_frequency(&self) -> f64 {
        match self.words.first() {
            Some(&(word, frequency)) if word.len() == self.prefix_len => (frequency as f64).ln(),
            _ => f64::NAN,
        }
    }

    /// Returns the groups of the longer prefixes by the code of the next character, in ascending
    /// order.
    fn children(&self, codes: &Codes) -> Vec<(Code, Self)> {
        let mut children = Vec::new();
        let mut rest = self.words;
        while let Some((word, _)) = rest.first() {
            let Some(next) = word[self.prefix_len..].chars().next() else {
                rest = &rest[1..];
                continue;
            };
            let prefix_len = self.prefix_len + next.len_utf8();
            let prefix = &word[..prefix_len];
            let n = rest.iter().take_while(|(word, _)| word.starts_with(prefix)).count();
            let (words, others) = rest.split_at(n);
            children.push((codes.get(next), Self { words, prefix_len }));
            rest = others;
        }
        children.sort_unstable_by_key(|&(code, _)| code);
        children
    }
}
