//! Similarity of two sets.

use std::cmp::Ordering;

/// Returns the number of elements that two sets share. Both must be ascending, without repeats.
#[must_use]
pub fn overlap<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut n_shared = 0;
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            Ordering::Less => drop(a.next()),
            Ordering::Greater => drop(b.next()),
            Ordering::Equal => {
                n_shared += 1;
                a.next();
                b.next();
            }
        }
    }
    n_shared
}

/// Returns the Jaccard similarity of two sets, |A ∩ B| / |A ∪ B| in 0..=1 (Broder 1997, "On the
/// resemblance and containment of documents", section 2). Both must be ascending, without repeats.
/// Two empty sets are not similar: there is nothing to compare.
#[must_use]
pub fn jaccard<T: Ord>(a: &[T], b: &[T]) -> f64 {
    ratio(overlap(a, b), a.len(), b.len())
}

/// Returns the similarity of sets of these sizes that share `n_shared` elements.
pub(crate) fn ratio(n_shared: usize, a_len: usize, b_len: usize) -> f64 {
    match a_len + b_len - n_shared {
        0 => 0.0,
        n_union => n_shared as f64 / n_union as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sets() {
        for (a, b, expected) in [
            (&[][..], &[][..], 0.0),
            (&[1], &[], 0.0),
            (&[1], &[1], 1.0),
            (&[1, 2, 3], &[2, 3, 4], 0.5),
            (&[1, 2], &[3, 4], 0.0),
            (&[1, 2, 3, 4], &[1, 2, 3, 4, 5], 0.8),
        ] {
            assert!((jaccard(a, b) - expected).abs() < 1e-12, "{a:?} {b:?}");
            assert!((jaccard(b, a) - expected).abs() < 1e-12, "{b:?} {a:?}");
        }
    }
}
