//! Comparisons of two texts or documents: exact where both texts are at hand, else by signatures.

use features::shingles::{Grams, TextSketcher};
use features::{NormalForm, numbers};
use index::Features;
use minhash::{Basis, Comparison, Signature};

/// Compares two documents by their signatures. `None` if one has no signature, or if one is short
/// and the other long.
#[must_use]
pub fn by_signatures(a: &Features, b: &Features) -> Option<Comparison> {
    let (a, b) = a.signature.as_ref().zip(b.signature.as_ref())?;
    Some(Signature::compare(a, b)).filter(|compared| compared.basis != Basis::NoCommonKind)
}

/// Counts the similarity of two texts in a normal form, and the share of each text in the other.
/// The basis is [`NoCommonKind`](Basis::NoCommonKind) if the lengths differ too much for any index
/// to take the two for near.
#[must_use]
pub fn by_texts(form: NormalForm, a: &str, b: &str) -> Comparison {
    let mut sketcher = TextSketcher::new(form);
    let [a, b] = [a, b].map(|text| sketcher.grams(text));
    Grams::compare(&a, &b)
}

/// Returns true if two texts have different [numbers], or the same ones in a different order.
#[must_use]
pub fn numbers_differ(a: &str, b: &str) -> bool {
    numbers::digest(a) != numbers::digest(b)
}

#[cfg(test)]
mod tests {
    use minhash::Similarity;

    use super::*;

    /// The sets of n-grams are equal here, so only the numbers tell.
    #[test]
    fn a_digit_that_is_doubled_is_another_number() {
        let [a, b] = ["the fine is 1000", "the fine is 10000"];
        assert_eq!(by_texts(NormalForm::default(), a, b).similarity, Similarity::ONE);
        assert!(numbers_differ(a, b) && !numbers_differ(a, "THE FINE IS 1,000"));
    }

    /// Shares are counted even if the lengths differ too much for any index to compare the two.
    #[test]
    fn what_is_contained_is_told() {
        let part = "The harbour office closes at noon on Fridays.";
        for times in [1, 20] {
            let whole =
                format!("{part}{}", " Ferries leave every ninety minutes, to both islands.".repeat(times));
            let Comparison { share_of_a, share_of_b, similarity, .. } =
                by_texts(NormalForm::default(), part, &whole);
            assert!(share_of_a.get() > 0.9 && share_of_b.get() < 0.6, "{share_of_a} {share_of_b}");
            assert!(similarity <= share_of_b, "{similarity}");
        }
        let none = Features::default();
        assert_eq!(by_signatures(&none, &none), None);
    }
}
