//! Audit of a job that keeps the first of each group: dropped and kept documents compared with the
//! truth.

use std::collections::HashMap;

use crate::Pair;

/// Faults among the dropped and kept documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// Number of documents kept.
    pub n_kept: u64,
    /// Number of documents dropped.
    pub n_dropped: u64,
    /// Documents dropped without a kept near-duplicate, each with the document for which it was
    /// dropped; the least similar first.
    pub wrongly_dropped: Vec<Pair>,
    /// Documents kept beside an earlier kept near-duplicate; the most similar first.
    pub wrongly_kept: Vec<Pair>,
}

/// Audits all documents. `dropped_for` has the document for which each one was dropped, or `None`
/// if it was kept. `pairs` are all near-duplicates, and `similarity` returns the true similarity of
/// any two documents.
///
/// Time is linear in documents and pairs, plus one similarity for each document wrongly dropped.
pub fn audit(
    dropped_for: &[Option<usize>],
    pairs: &[Pair],
    similarity: impl Fn(usize, usize) -> f64,
) -> Audit {
    let is_kept = |number: usize| dropped_for[number].is_none();
    let mut has_kept = vec![false; dropped_for.len()];
    let mut earlier: HashMap<usize, Pair> = HashMap::new();
    for pair in pairs {
        has_kept[pair.b] |= is_kept(pair.a);
        has_kept[pair.a] |= is_kept(pair.b);
        if is_kept(pair.a) {
            let most = earlier.entry(pair.b).or_insert(*pair);
            if pair.similarity > most.similarity {
                *most = *pair;
            }
        }
    }
    let mut audit = Audit::default();
    for (number, of) in dropped_for.iter().enumerate() {
        let Some(of) = *of else {
            audit.n_kept += 1;
            audit.wrongly_kept.extend(earlier.get(&number));
            continue;
        };
        audit.n_dropped += 1;
        if !has_kept[number] {
            let (a, b) = (number.min(of), number.max(of));
            audit.wrongly_dropped.push(Pair { a, b, similarity: similarity(number, of) });
        }
    }
    audit.wrongly_dropped.sort_by(|x, y| x.similarity.total_cmp(&y.similarity));
    audit.wrongly_kept.sort_by(|x, y| y.similarity.total_cmp(&x.similarity));
    audit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_be_wrong() {
        // 1 is like 0, 3 is like 2, 4 is like nothing, 5 is like 6, which is dropped, and less so
        // like 2.
        let similarity = |a: usize, b: usize| match (a.min(b), a.max(b)) {
            (2, 5) => 0.7,
            _ => 0.1,
        };
        let pair = |a, b, similarity| Pair { a, b, similarity };
        let pairs = [pair(0, 1, 0.9), pair(2, 3, 0.85), pair(2, 6, 0.8), pair(5, 6, 0.9)];
        let dropped_for = [None, Some(0), None, None, Some(0), Some(2), Some(2)];
        let audit = audit(&dropped_for, &pairs, similarity);
        assert_eq!((audit.n_kept, audit.n_dropped), (3, 4));
        assert_eq!(audit.wrongly_dropped, [pair(0, 4, 0.1), pair(2, 5, 0.7)]);
        assert_eq!(audit.wrongly_kept, [pairs[1]]);
    }
}
