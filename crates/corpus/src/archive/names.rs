//! Names of members.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::origin::readable;

/// Number of names that are told apart, which bounds memory. Among members beyond it a name may
/// repeat, as an id may in any file.
const NAMES_MAX: usize = 4 << 20;

/// Name of a member.
pub(super) struct Name {
    /// The text, without a beginning that only says where to unpack.
    pub(super) shown: String,
}

impl Name {
    pub(super) fn new(stored: &[u8]) -> Self {
        let decoded = readable(stored);
        let mut shown: &str = &decoded;
        while let Some(rest) = shown.strip_prefix("./").or_else(|| shown.strip_prefix('/')) {
            shown = rest;
        }
        Self { shown: shown.to_owned() }
    }
}

/// Names that came before, by hashes of 128 bits.
#[derive(Default)]
pub(super) struct Names(HashSet<u128>);

impl Names {
    /// Returns true for a name that did not come before, and notes it.
    pub(super) fn is_new(&mut self, name: &Name) -> bool {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, &*name.shown).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        let hash = half(0) << 64 | half(1);
        if self.0.len() < NAMES_MAX { self.0.insert(hash) } else { !self.0.contains(&hash) }
    }
}
