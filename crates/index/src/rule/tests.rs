use super::*;
use crate::testsuite::{apart, signed, word_counter, words};

fn share(share: f64) -> Similarity {
    Similarity::new(share).unwrap()
}

fn rule(min_similarity: f64) -> Rule {
    Rule { min_similarity: Some(share(min_similarity)), ..Rule::from(apart(3)) }
}

#[test]
fn estimates_decide_at_the_least_similarity_and_are_worth_a_count_from_some_deviations_below_on() {
    let estimates = |rule: Rule| {
        let n = rule.min_agreeing_bins();
        [n, n - 1].map(|n| Signature::similarity_of_agreeing(n).get())
    };
    let [last, before] = estimates(rule(0.8));
    assert!(before < 0.8 && last >= 0.8, "{before} {last}");
    let counting = Rule { counter: Some(word_counter()), ..rule(0.8) };
    let [last, before] = estimates(counting);
    assert!(before < 0.8 - 3.5 * 0.0280 + 1e-3 && last > 0.8 - 3.5 * 0.0280 - 1e-3, "{before} {last}");
    assert_eq!(rule(1.0).min_agreeing_bins(), 256);
    assert_eq!(Rule::from(apart(3)).min_agreeing_bins(), 0);
}

#[test]
fn what_is_counted_decides_whatever_the_signatures_say() {
    let counting = Rule { counter: Some(word_counter()), ..rule(0.8) };
    let told = |range: std::ops::Range<u64>| signed(0, range.clone()).with_text(Some(words(range)));
    let (a, near, far) = (told(0..300), told(30..330), told(40..340));
    let nearness = counting.nearness(&a, &near).unwrap();
    assert_eq!(nearness.similarity, Some(Similarity::of_sets(270, 300, 300)));
    assert_eq!(nearness.shares, Some([share(0.9), share(0.9)]));
    assert!(nearness.exact && counting.nearness(&a, &far).is_none());
    // A writer with the hashes makes a signature to order.
    let forged = signed(0, 0..300).with_text(Some(words(5_000..5_300)));
    assert_eq!(counting.nearness(&a, &forged), None);
    // Without a text the estimate decides, and `exact` is false.
    let untold = signed(0, 0..300);
    assert!(!counting.nearness(&a, &untold).unwrap().exact);
    assert!(!counting.nearness(&untold, &a).unwrap().exact);
    assert!(!rule(0.8).nearness(&a, &near).unwrap().exact, "this rule keeps no texts");
}

#[test]
fn similarity_decides_where_both_have_a_signature() {
    let rule = rule(0.8);
    let text = |from: u64, n: u64| signed(0, from..from + n);
    let (a, near, far) = (text(0, 300), text(10, 300), text(150, 300));
    assert!(rule.nearness(&a, &near).unwrap().similarity.unwrap() > share(0.8));
    assert_eq!(rule.nearness(&a, &far), None, "their simhashes are equal, and that only proposes");
    let unverified = Rule::from(apart(3));
    assert_eq!(unverified.nearness(&a, &far), Some(Nearness::by_distance(apart(0))));
    // The same without simhashes.
    let (a, near) = (signed(None, 0..30), signed(None, 1..31));
    assert_eq!(rule.nearness(&a, &near).unwrap().similarity, Some(share(29.0 / 31.0)));
    assert_eq!(rule.nearness(&a, &signed(None, 20..50)), None);
}

#[test]
fn other_numbers_are_told_and_make_another_document_where_that_is_asked() {
    let numbered = |numbers: Option<u32>| {
        let sketch = signed(0, 0..300);
        let features = sketch.features().clone();
        let signature = features.signature.map(|signature| match numbers {
            Some(numbers) => signature.with_numbers(numbers),
            None => signature,
        });
        Features { signature, ..features }
    };
    let (one, two, unknown) = (numbered(Some(1)), numbered(Some(2)), numbered(None));
    let strict = Rule { same_numbers: true, ..rule(0.8) };
    for (a, b, differ) in [(&one, &one, Some(false)), (&one, &two, Some(true)), (&one, &unknown, None)] {
        assert_eq!(rule(0.8).confirms(a, b).unwrap().numbers_differ, differ);
        for rule in [strict, rule(1.0)] {
            assert_eq!(rule.confirms(a, b).is_some(), differ != Some(true));
        }
    }
}

/// The whole is not near to its part: it stays beside a part that came first.
#[test]
fn a_part_is_near_to_its_whole_by_count_alone() {
    let told = |range: std::ops::Range<u64>| signed(0, range.clone()).with_text(Some(words(range)));
    let contained = Some(share(0.9));
    let counting = Rule { counter: Some(word_counter()), contained, ..rule(0.8) };
    let confirmed = |a: &Sketch, b: &Sketch| counting.confirms(a.features(), b.features());
    for n_whole in [330_u64, 400, 600, 1_000, 3_000] {
        let (part, whole) = (told(0..300), told(0..n_whole));
        let nearness = confirmed(&part, &whole).unwrap();
        assert_eq!((nearness.shares.unwrap()[0], nearness.exact), (Similarity::ONE, true), "{n_whole}");
        let is_similar = n_whole < 375;
        assert_eq!(counting.is_contained(&nearness), !is_similar);
        assert_eq!(confirmed(&whole, &part).is_some(), is_similar);
        assert_eq!(rule(0.8).confirms(part.features(), whole.features()).is_some(), is_similar);
        // Nine tenths are enough, eight are not; without a text nothing is known.
        let nine = told(n_whole - 270..n_whole + 30);
        assert!(confirmed(&nine, &whole).is_some());
        assert_eq!(confirmed(&told(n_whole - 240..n_whole + 60), &whole), None);
        let untold = signed(0, 0..n_whole);
        assert_eq!(confirmed(&part, &untold).is_some(), is_similar);
    }
    let small = (told(0..12), told(0..40));
    assert!(confirmed(&small.0, &small.1).is_some_and(|near| counting.is_contained(&near)));
    assert_eq!(counting.within(Family::Set(minhash::SetKind::Long)), Distance::MAX);
    assert_eq!(
        counting.min_agreeing_bins(),
        Rule { min_similarity: Some(Similarity::ZERO), ..rule(0.8) }.min_agreeing_bins()
    );
}

#[test]
fn the_more_similar_is_nearer() {
    let near = |similarity: Option<f64>, n_bits| Nearness {
        similarity: similarity.map(share),
        ..Nearness::by_distance(apart(n_bits))
    };
    assert!(near(Some(0.9), 9) < near(Some(0.8), 0));
    assert!(near(Some(0.9), 1) < near(Some(0.9), 2));
    assert!(near(None, 1) < near(None, 2));
}
