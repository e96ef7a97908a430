//! The buckets that two documents share, by which a search for the one finds the other.

use index::{Family, Rule, Sketch};
use minhash::SetKind;
use serde::Serialize;
use utoipa::ToSchema;

/// The features by which a document is filed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Filed {
    /// By bits of the simhash: the buckets are tables.
    Simhash,
    /// By n-grams of a long text: the buckets are bands.
    Long,
    /// By n-grams of a short text.
    Short,
    /// By the whole text, of which a copy alone is found.
    Whole,
}

/// The shared buckets of one kind of features.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct FoundBy {
    filed: Filed,
    /// Numbers of the shared buckets, from 1.
    shared: Vec<usize>,
    /// Number of the buckets under which `a` is filed by these features.
    of: usize,
}

/// Returns the shared buckets of two sketches that are candidates for each other, by each kind of
/// features; empty if a search for the one does not meet the other.
pub(super) fn found_by(rule: &Rule, a: &Sketch, b: &Sketch) -> Vec<FoundBy> {
    let shared = |(family, of_a): &(Family, _)| {
        let (of_a, of_b): (&simhash::Facet, _) = (of_a, b.facet(*family)?);
        if of_a.fingerprint().distance(of_b.fingerprint()) > rule.within(*family) {
            return None;
        }
        let of = of_a.keys().len();
        let is_shared = |place: &usize| of_b.keys().binary_search(&of_a.keys()[place - 1]).is_ok();
        let shared: Vec<_> = (1..=of).filter(is_shared).collect();
        (!shared.is_empty()).then_some(FoundBy { filed: filed(*family), shared, of })
    };
    a.facets().iter().filter_map(shared).collect()
}

fn filed(family: Family) -> Filed {
    match family {
        Family::Simhash => Filed::Simhash,
        Family::Set(SetKind::Long) => Filed::Long,
        Family::Set(SetKind::Short) => Filed::Short,
        Family::Set(SetKind::Whole) => Filed::Whole,
    }
}

#[cfg(test)]
mod tests {
    use index::{Profile, SketchKind};
    use simhash::{Distance, Fingerprint};

    use super::*;

    /// Bits in two blocks of five leave three of the ten tables of 5c2, those that have neither.
    #[test]
    fn tables_without_the_differing_bits() {
        let kind = SketchKind::default().of_profile(Profile::Classic).unwrap();
        let rule = Rule::from(Distance::of_differing(0b111));
        let sketch = |bits| kind.sketch(Fingerprint(bits));
        let found = found_by(&rule, &sketch(0), &sketch(1 | 1 << 63));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].filed, found[0].shared.len(), found[0].of), (Filed::Simhash, 3, 10));
        let masks = kind.masks();
        assert!(found[0].shared.iter().all(|table| masks[table - 1] & (1 | 1 << 63) == 0));
        assert_eq!(found_by(&rule, &sketch(0), &sketch(0b1111)), [], "they share buckets, and are too far");
        assert_eq!(found_by(&rule, &sketch(0), &sketch(u64::MAX)), []);
    }
}
