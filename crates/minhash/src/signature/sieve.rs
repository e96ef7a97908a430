//! One small set, compared with many.

use super::{ELEMENT_LEN, Signature};
use crate::Similarity;

/// The number of marks. Elements are spread evenly, so at most one of sixteen strange ones is taken
/// for one of the set.
const N_MARKS: usize = 4_096;

/// A small set that many signatures are compared with. Most of those that are not similar to it are
/// told from their bytes, which [`Signature::compare`] would need decoded and would go through in
/// order.
pub struct Sieve {
    /// The number of elements of the set.
    size: usize,
    least: Similarity,
    /// 1 at the low bits of each element of the set.
    marks: [u8; N_MARKS],
}

impl Sieve {
    /// The sieve of a set for signatures of at least this similarity to it; `None` for a signature
    /// without a small set.
    #[must_use]
    pub fn new(of: &Signature, least: Similarity) -> Option<Self> {
        let set = of.set()?;
        let mut marks = [0; N_MARKS];
        set.iter().for_each(|element| marks[mark(element)] = 1);
        Some(Self { size: set.len(), least, marks })
    }

    /// Returns true if the [bytes](Signature::as_bytes) of a signature show that it is compared as
    /// a set, with a similarity below the least. False says nothing.
    #[must_use]
    pub fn excludes(&self, bytes: &[u8]) -> bool {
        let Some(set) = super::set_of(bytes) else { return false };
        // n / (a + b - n) < J where n (1 + J) < J (a + b); the margin is for what is rounded.
        let wanted = self.least.get() * (self.size + set.len()) as f64 - 1e-6;
        let is_below = |n_common: u32| f64::from(n_common) * (1.0 + self.least.get()) < wanted;
        if is_below(self.size.min(set.len()) as u32) {
            return true;
        }
        // A mark is met for each element in common, and for some others.
        is_below(set.iter().map(|element| u32::from(self.marks[mark(element)])).sum())
    }
}

/// The place of an element's mark.
fn mark(&[_, middle, low]: &[u8; ELEMENT_LEN]) -> usize {
    usize::from(u16::from_be_bytes([middle, low])) % N_MARKS
}
