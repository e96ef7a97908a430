//! The self-join at size. `cargo bench -p pigeonhole-tables --bench join [N] [scheme…]`.
//!
//! Before anything is timed, every planted pair must be among the answers, or the bench panics.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

mod data;

use data::{Corpus, Stopwatch, median};
use pigeonhole_tables::{Groups, Pair, self_join};
use simhash::{Fingerprint, TableScheme};

const DEFAULT_N: usize = 10_000_000;
const SCHEMES: [&str; 4] = ["5c2", "t6", "t8", "t11"];
const CORPORA: [&str; 4] = ["uniform", "skewed", "alike", "equal"];
const ROUNDS: usize = 3;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let n = args.first().map_or(DEFAULT_N, |n| n.parse().expect("the first argument is N"));
    let schemes: Vec<&str> =
        if args.len() > 1 { args[1..].iter().map(String::as_str).collect() } else { SCHEMES.into() };
    println!(
        "| corpus | scheme | N | groups | pairs | grouping s | join s | sum s |\n|---|---|---|---|---|---|---|---|"
    );
    for name in CORPORA {
        let corpus = Corpus::new(name, n);
        let fingerprints: Vec<Fingerprint> = corpus.fingerprints.iter().copied().map(Fingerprint).collect();
        let mut groups = Groups::new(&[]);
        let grouping_s = median((0..ROUNDS).map(|_| {
            let start = Stopwatch::start();
            groups = Groups::new(&fingerprints);
            start.seconds()
        }));
        for scheme in &schemes {
            let scheme: TableScheme = scheme.parse().expect("a named scheme");
            check_planted(&corpus, &groups, &scheme);
            let mut n_pairs = 0_u64;
            let join_s = median((0..ROUNDS).map(|_| {
                n_pairs = 0;
                let start = Stopwatch::start();
                self_join(&groups, &scheme, &mut |_| n_pairs += 1);
                start.seconds()
            }));
            println!(
                "| {name} | {} | {n} | {} | {n_pairs} | {grouping_s:.2} | {join_s:.2} | {:.2} |",
                scheme.name(),
                groups.len(),
                grouping_s + join_s
            );
        }
    }
}

fn check_planted(corpus: &Corpus, groups: &Groups, scheme: &TableScheme) {
    let group = |bits| groups.find(Fingerprint(bits)).expect("it is of the corpus");
    let mut pairs = Vec::new();
    self_join(groups, scheme, &mut |Pair { first, second, .. }| pairs.push((first as u32, second as u32)));
    pairs.sort_unstable();
    assert!(pairs.windows(2).all(|two| two[0] != two[1]), "a pair was reported twice");
    for &(bits, other) in &corpus.planted {
        let (a, b) = (group(bits) as u32, group(other) as u32);
        assert!(pairs.binary_search(&(a.min(b), a.max(b))).is_ok(), "a planted pair was missed");
    }
}
