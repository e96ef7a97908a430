//! Scripts compare signatures as this program does: the numbers are equal to the last bit.

use index::testsuite::word_counter;
use index::{Glance, Rule};
use minhash::{Basis, Bins, LONG_BINS, Signature, Similarity, hash_words};

use crate::server::server;

/// Compares pairs, and returns for each the similarity, with all digits of the double, and the
/// number of agreeing bins.
const COMPARE: &str = concat!(
    "local byte, sub = string.byte, string.sub\n",
    include_str!("../../src/compare.lua"),
    "local answers = {}
    for i = 1, #ARGV, 2 do
      local similarity, n = compare(prepare(ARGV[i]), ARGV[i + 1])
      answers[#answers + 1] = similarity and string.format('%.17g', similarity) or 'none'
      answers[#answers + 1] = n and tostring(n) or 'none'
    end
    return answers"
);

/// Returns the similarity for each number of agreeing bins, likewise.
const ESTIMATE: &str = concat!(
    "local byte, sub = string.byte, string.sub\n",
    include_str!("../../src/compare.lua"),
    "local answers = {}
    for n = 0, 256 do answers[n + 1] = string.format('%.17g', similarity_of_agreeing(n)) end
    return answers"
);

/// Signatures of every kind and of many sizes, of sets that overlap to every degree.
fn signatures() -> Vec<Signature> {
    let mut signatures = vec![Signature::equality(0), Signature::equality(u64::MAX), Signature::equality(1)];
    for (seed, n) in [1_u64, 2, 3, 17, 50, 99, 254, 255, 256, 400, 3_000].into_iter().enumerate() {
        for shift in 0..6 {
            let from = shift * n.div_ceil(9) + 100_000 * (seed as u64 % 2);
            let set: Vec<u64> = (from..from + n).map(|element| hash_words(element, 7)).collect();
            let bins: Bins<LONG_BINS> = Bins::of(&set).expect("it has elements");
            signatures.push(Signature::long(&bins, n));
            signatures.extend(Signature::short(&set));
            signatures.extend(Signature::both(&bins, n, &set));
        }
    }
    // Bins that agree by chance, and those of all shares in between.
    let values = |share: u64, salt: u64| -> [u64; LONG_BINS] {
        std::array::from_fn(|bin| {
            let salt = if hash_words(bin as u64, 3) % 100 < share { 0 } else { salt };
            hash_words(bin as u64, salt)
        })
    };
    for share in (0..=100).step_by(7) {
        let set: Vec<u64> = values(share, share + 9).to_vec();
        signatures.push(Signature::long(&Bins::of(&set).expect("it has elements"), share << 20));
    }
    // Both versions: with numbers, and a hash equal to that of an element.
    let element = hash_words(100_000, 7);
    signatures.extend([element, element + 1].map(Signature::equality));
    let is_small = |of: &&Signature| of.as_bytes().len() < 70;
    let numbered = signatures.iter().step_by(5).chain(signatures.iter().filter(is_small));
    let numbered: Vec<Signature> = (7..).zip(numbered).map(|(n, of)| of.clone().with_numbers(n)).collect();
    signatures.extend(numbered);
    signatures
}

#[test]
fn redis_compares_as_this_program_does() {
    let Some(server) = server() else { return };
    let mut connection = server.connection();
    let all = signatures();
    let (mut n_estimates, mut n_exact, mut n_beside_sets) = (0, 0, 0);
    let is_hash = |of: &Signature| of.as_bytes()[0] & 0xf == 1;
    for a in &all {
        let mut compare = redis::cmd("EVAL");
        compare.arg(COMPARE).arg(0);
        for b in &all {
            compare.arg(a.as_bytes()).arg(b.as_bytes());
        }
        let answers: Vec<String> = compare.query(&mut connection).unwrap();
        assert_eq!(answers.len(), 2 * all.len());
        for (b, answer) in all.iter().zip(answers.chunks(2)) {
            let expected = Signature::compare(a, b);
            if expected.basis == Basis::NoCommonKind {
                assert_eq!(answer, ["none", "none"], "{a:?} {b:?}");
                continue;
            }
            let similarity: f64 = answer[0].parse().unwrap();
            assert_eq!(similarity.to_bits(), expected.similarity.get().to_bits(), "{a:?} {b:?}");
            assert_eq!(answer[1] != "none", expected.basis == Basis::Estimate);
            let n_bins = (answer[1] != "none").then(|| answer[1].parse::<u32>().unwrap());
            check_decisions(a, b, similarity, n_bins);
            if let Some(n_bins) = n_bins {
                assert_eq!(Signature::similarity_of_agreeing(n_bins), expected.similarity);
                n_estimates += 1;
            } else {
                n_exact += 1;
                n_beside_sets += u32::from(is_hash(a) != is_hash(b) && similarity > 0.0);
            }
        }
    }
    assert!(n_estimates > 10_000 && n_exact > 5_000, "{n_estimates} {n_exact}");
    assert!(n_beside_sets > 2, "{n_beside_sets}");
}

/// A script decides by the number of bins or by the similarity, this program by the similarity.
/// Asserts that they agree on near documents, and on those worth a count.
fn check_decisions(a: &Signature, b: &Signature, similarity: f64, n_bins: Option<u32>) {
    let [a, b] = [a, b].map(|of| index::Features { simhash: None, signature: Some(of.clone()), text: None });
    for share in [0.0, 0.3, 0.5, 0.8, 0.9, 0.999, 1.0] {
        let min_similarity = Some(Similarity::clamped(share));
        let near = Rule { min_similarity, ..index::testsuite::within(64) };
        let worth = Rule { counter: Some(word_counter()), ..near };
        let is_enough = |rule: &Rule| match n_bins {
            Some(n_bins) => n_bins >= rule.min_agreeing_bins(),
            None => rule.least_of_sets().is_some_and(|least| similarity >= least.get()),
        };
        // A similarity of 1 takes the same numbers, which the script compares by a flag.
        let are_others = share == 1.0 && near.measure((&a, None), (&b, None)).numbers_differ == Some(true);
        assert_eq!(is_enough(&near) && !are_others, near.confirms(&a, &b).is_some(), "{a:?} {b:?} {share}");
        let is_worth = matches!(worth.glance_at(&a, &b, true), Glance::Worth { .. });
        assert_eq!(is_enough(&worth), is_worth, "{a:?} {b:?} {share}");
    }
}

#[test]
fn redis_estimates_as_this_program_does() {
    let Some(server) = server() else { return };
    let answers: Vec<String> =
        redis::cmd("EVAL").arg(ESTIMATE).arg(0).query(&mut server.connection()).unwrap();
    assert_eq!(answers.len(), LONG_BINS + 1);
    for (n, answer) in (0..).zip(answers) {
        let expected = Signature::similarity_of_agreeing(n).get();
        assert_eq!(answer.parse::<f64>().unwrap().to_bits(), expected.to_bits(), "{n}");
    }
}
