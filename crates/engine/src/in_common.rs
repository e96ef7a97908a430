//! What two texts or documents have in common: exactly where both are texts, else by their signatures.

use features::shingles::{ShingleSets, TextSketcher};
use index::Features;
use minhash::{Basis, Comparison, Signature, Similarity};

/// What two documents share, by what is stored of them; none where one of them has no signature, or one is short and
/// the other long.
#[must_use]
pub fn by_signatures(a: &Features, b: &Features) -> Option<Comparison> {
    let (a, b) = a.signature.as_ref().zip(b.signature.as_ref())?;
    Some(Signature::compare(a, b)).filter(|compared| compared.basis != Basis::NoCommonKind)
}

/// What two texts share. Takes 16 bytes for each character meanwhile.
#[must_use]
pub fn by_texts(a: &str, b: &str) -> Comparison {
    let mut sketcher = TextSketcher::new();
    let [a, b] = [a, b].map(|text| sketcher.sets(text));
    match ShingleSets::compare(&a, &b) {
        // No index takes such a pair for near, but a short text may be contained in a long one.
        Comparison { basis: Basis::NoCommonKind, .. } => by_sets(&a.ngrams, &b.ngrams),
        compared => compared,
    }
}

/// What two ascending sets share.
fn by_sets(a: &[u64], b: &[u64]) -> Comparison {
    let n_common = a.iter().filter(|element| b.binary_search(element).is_ok()).count();
    let share = |size: usize| Similarity::clamped(n_common as f64 / size.max(1) as f64);
    Comparison {
        similarity: Similarity::of_sets(n_common, a.len(), b.len()),
        share_of_a: share(a.len()),
        share_of_b: share(b.len()),
        basis: Basis::Sets,
    }
}

/// Whether one text has a number that the other has not, or has it more often. Numbers are runs of digits, wherever
/// they stand, and in whatever order: `1,000` is a 1 and a 000.
#[must_use]
pub fn numbers_differ(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(numbers);
    a != b
}

/// The runs of digits of a text, in order of their digits. Full-width ones are as others.
fn numbers(text: &str) -> Vec<String> {
    let digits: String = text.chars().map(|c| digit(c).unwrap_or(' ')).collect();
    let mut numbers: Vec<String> = digits.split_ascii_whitespace().map(str::to_owned).collect();
    numbers.sort_unstable();
    numbers
}

fn digit(c: char) -> Option<char> {
    match c {
        '0'..='9' => Some(c),
        '０'..='９' => char::from_digit(c as u32 - '０' as u32, 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_runs_of_digits() {
        for (a, b, expected) in [
            ("", "", false),
            ("no numbers", "none here", false),
            ("at 9.30 on 4 May", "on 4 May at 9.30", false),
            ("1000", "10000", true),
            ("１２ 月", "12月", false),
            ("gate 7", "gate seven", true),
            ("7 and 7", "7", true),
            ("2026-11-23", "2026/11/23", false),
        ] {
            assert_eq!(numbers_differ(a, b), expected, "{a} | {b}");
        }
    }

    /// The sets do not see it, and that is why it is said.
    #[test]
    fn a_digit_that_is_doubled_is_another_number() {
        let [a, b] = ["the fine is 1000", "the fine is 10000"];
        assert_eq!(by_texts(a, b).similarity, Similarity::ONE);
        assert!(numbers_differ(a, b));
    }

    /// Also where the one is so much longer that no index would compare the two.
    #[test]
    fn what_is_contained_is_told() {
        let part = "The harbour office closes at noon on Fridays.";
        for times in [1, 20] {
            let whole =
                format!("{part}{}", " Ferries leave every ninety minutes, to both islands.".repeat(times));
            let Comparison { share_of_a, share_of_b, similarity, .. } = by_texts(part, &whole);
            assert!(share_of_a.get() > 0.9 && share_of_b.get() < 0.6, "{share_of_a} {share_of_b}");
            assert!(similarity <= share_of_b, "{similarity}");
        }
        let none = Features::default();
        assert_eq!(by_signatures(&none, &none), None);
    }
}
