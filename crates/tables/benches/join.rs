//! The self-join at size. `cargo bench -p pigeonhole-tables --bench join [N] [scheme…]`.
//!
//! Before anything is timed, every planted pair must be among the answers, or the bench panics.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

mod data;

use data::{Corpus, Stopwatch, median};
use pigeonhole_tables::SelfJoin;
use simhash::TableScheme;

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
        "| corpus | scheme | N | different | pairs | sorting s | join s | sum s |\n|---|---|---|---|---|---|---|---|"
    );
    for name in CORPORA {
        let corpus = Corpus::new(name, n);
        let mut different = Vec::new();
        let sorting_s = median((0..ROUNDS).map(|_| {
            different.clone_from(&corpus.fingerprints);
            let start = Stopwatch::start();
            different.sort_unstable();
            different.dedup();
            start.seconds()
        }));
        for scheme in &schemes {
            let scheme: TableScheme = scheme.parse().expect("a named scheme");
            check_planted(&corpus, &different, &scheme);
            let mut n_pairs = 0_u64;
            let join_s = median((0..ROUNDS).map(|_| {
                n_pairs = 0;
                let start = Stopwatch::start();
                self_join(&different, &scheme, &mut |_, _| n_pairs += 1);
                start.seconds()
            }));
            println!(
                "| {name} | {} | {n} | {} | {n_pairs} | {sorting_s:.2} | {join_s:.2} | {:.2} |",
                scheme.name(),
                different.len(),
                sorting_s + join_s
            );
        }
    }
}

fn self_join(different: &[u64], scheme: &TableScheme, visit: &mut dyn FnMut(u64, u64)) {
    let masks = scheme.tables().iter().map(|table| table.mask()).collect();
    let mut join = SelfJoin::new(masks, scheme.max_distance());
    for table in 0..join.n_tables() {
        join.in_table(table, different, visit);
    }
}

fn check_planted(corpus: &Corpus, different: &[u64], scheme: &TableScheme) {
    let mut pairs = Vec::new();
    self_join(different, scheme, &mut |a, b| pairs.push((a, b)));
    pairs.sort_unstable();
    assert!(pairs.windows(2).all(|two| two[0] != two[1]), "a pair was reported twice");
    for &(a, b) in &corpus.planted {
        assert!(pairs.binary_search(&(a.min(b), a.max(b))).is_ok(), "a planted pair was missed");
    }
}
