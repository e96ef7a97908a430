//! What a job that keeps the first of each group dropped and kept, held against the truth.

use std::collections::HashMap;

use crate::Pair;

/// What was wrong with what was dropped and kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// Documents that were kept.
    pub n_kept: u64,
    /// Documents that were dropped.
    pub n_dropped: u64,
    /// Dropped although no document that was kept has the similarity of the floor: the document, and the one that it was
    /// dropped for, the least similar first.
    pub wrongly_dropped: Vec<Pair>,
    /// Kept although an earlier document that was kept is a near-duplicate, the most similar first.
    pub wrongly_kept: Vec<Pair>,
}

/// Looks at each document: `dropped_for` says for which one it was dropped, or `None` where it was kept. `pairs` are all
/// near-duplicates, `similarity` is the true one of any two, and `floor` what a kept document must have in common with one that
/// was dropped.
///
/// Time is that of one similarity for each document that was dropped, and of all kept ones for each that was wrongly dropped
/// for the document named.
pub fn audit(
    dropped_for: &[Option<usize>],
    pairs: &[Pair],
    floor: f64,
    similarity: impl Fn(usize, usize) -> f64,
) -> Audit {
    let is_kept = |number: usize| dropped_for[number].is_none();
    let mut near: HashMap<usize, Vec<Pair>> = HashMap::new();
    for pair in pairs {
        near.entry(pair.b).or_default().push(*pair);
    }
    let mut audit = Audit::default();
    for (number, of) in dropped_for.iter().enumerate() {
        let Some(of) = *of else {
            audit.n_kept += 1;
            let earlier = near.get(&number).into_iter().flatten().filter(|pair| is_kept(pair.a));
            audit.wrongly_kept.extend(earlier.max_by(|x, y| x.similarity.total_cmp(&y.similarity)));
            continue;
        };
        audit.n_dropped += 1;
        let is_near = |other| is_kept(other) && similarity(number, other) >= floor;
        if !is_near(of) && !(0..dropped_for.len()).any(is_near) {
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
        // 1 is like 0, 3 is like 2, 4 is like nothing, 5 is near enough to 2.
        let similarity = |a: usize, b: usize| match (a.min(b), a.max(b)) {
            (0, 1) => 0.9,
            (2, 3) => 0.85,
            (2, 5) => 0.6,
            _ => 0.1,
        };
        let pairs = [Pair { a: 0, b: 1, similarity: 0.9 }, Pair { a: 2, b: 3, similarity: 0.85 }];
        let audit = audit(&[None, Some(0), None, None, Some(0), Some(0)], &pairs, 0.5, similarity);
        assert_eq!((audit.n_kept, audit.n_dropped), (3, 3));
        assert_eq!(audit.wrongly_dropped, [Pair { a: 0, b: 4, similarity: 0.1 }]);
        assert_eq!(audit.wrongly_kept, [pairs[1]]);
    }
}
