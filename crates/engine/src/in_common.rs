//! What two texts or documents have in common: exactly where both are texts, else by their signatures.

use features::shingles::{Grams, TextSketcher};
use features::{NormalForm, numbers};
use index::Features;
use minhash::{Basis, Comparison, Signature};

/// What two documents share, by what is stored of them; none where one of them has no signature, or one is short and
/// the other long.
#[must_use]
pub fn by_signatures(a: &Features, b: &Features) -> Option<Comparison> {
    let (a, b) = a.signature.as_ref().zip(b.signature.as_ref())?;
    Some(Signature::compare(a, b)).filter(|compared| compared.basis != Basis::NoCommonKind)
}

/// The similarity of two texts in a normal form, and the share of each that is in the other, counted. The basis is
/// [`NoCommonKind`](Basis::NoCommonKind) where one is so much longer that no index takes the two for near.
#[must_use]
pub fn by_texts(form: NormalForm, a: &str, b: &str) -> Comparison {
    let mut sketcher = TextSketcher::new(form);
    let [a, b] = [a, b].map(|text| sketcher.grams(text));
    Grams::compare(&a, &b)
}

/// Says whether two texts have other [numbers], or in another order.
#[must_use]
pub fn numbers_differ(a: &str, b: &str) -> bool {
    numbers::digest(a) != numbers::digest(b)
}

#[cfg(test)]
mod tests {
    use minhash::Similarity;

    use super::*;

    /// The sets do not see it, and that is why it is said.
    #[test]
    fn a_digit_that_is_doubled_is_another_number() {
        let [a, b] = ["the fine is 1000", "the fine is 10000"];
        assert_eq!(by_texts(NormalForm::default(), a, b).similarity, Similarity::ONE);
        assert!(numbers_differ(a, b) && !numbers_differ(a, "THE FINE IS 1,000"));
    }

    /// Also where the one is so much longer that no index would compare the two.
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
