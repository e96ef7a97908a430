//! Methods to sketch a set in 256 bins, side by side: the time for sets of several sizes, and the
//! error of the share of bins in which two sets of similarity .8 agree.
//!
//! `cargo bench -p pigeonhole-minhash --bench methods`.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::hint::black_box;
use std::time::Instant;

use pigeonhole_minhash::{Bins, Sketcher, hash_words};

const N_BINS: usize = 256;
const SIZES: [usize; 6] = [5, 20, 60, 300, 3_000, 30_000];
const SHARED: f64 = 0.8;
const ROUNDS: usize = 5;
const ROUND_MS: u128 = 100;
/// Pairs over which the error is taken.
const N_PAIRS: u64 = 400;

type Method = (&'static str, fn(&[u64]) -> [u64; N_BINS]);

const METHODS: [Method; 4] = [
    ("fast similarity sketching", fast_similarity),
    ("256 independent MinHashes", independent),
    ("one permutation, optimal densification", one_permutation),
    ("SuperMinHash", super_min_hash),
];

fn main() {
    println!("| ns a set of | {} |", SIZES.map(|size| size.to_string()).join(" | "));
    println!("|---{}|", "|---".repeat(SIZES.len()));
    for (name, method) in METHODS {
        println!("| {name} | {} |", SIZES.map(|size| format!("{:.0}", time_ns(size, method))).join(" | "));
    }
    let streamed = |size| {
        let mut sketcher = Sketcher::<N_BINS>::new();
        let sets = sets(size);
        median_ns(sets.len(), || {
            for set in &sets {
                sketcher.extend(set);
                black_box(sketcher.finish());
            }
        })
    };
    println!(
        "| the first, as a stream, with sizes | {} |",
        SIZES.map(|n| format!("{:.0}", streamed(n))).join(" | ")
    );

    println!("\n| deviation at J = {SHARED}; bias | {} |", SIZES.map(|size| size.to_string()).join(" | "));
    println!("|---{}|", "|---".repeat(SIZES.len()));
    for (name, method) in METHODS {
        println!("| {name} | {} |", SIZES.map(|size| error(size, method)).join(" | "));
    }
    let binomial = (SHARED * (1.0 - SHARED) / N_BINS as f64).sqrt();
    println!("| binomial | {} |", SIZES.map(|_| format!("{binomial:.4}")).join(" | "));
}

/// Returns some 100,000 elements in sets of this size.
fn sets(size: usize) -> Vec<Vec<u64>> {
    let n_sets = (100_000 / size).max(4) as u64;
    (0..n_sets).map(|set| (0..size as u64).map(|i| hash_words(i, set + 1)).collect()).collect()
}

fn time_ns(size: usize, method: fn(&[u64]) -> [u64; N_BINS]) -> f64 {
    let sets = sets(size);
    median_ns(sets.len(), || {
        for set in &sets {
            black_box(method(set));
        }
    })
}

/// Returns the processor time a set, in the median round.
fn median_ns(n_sets: usize, mut work: impl FnMut()) -> f64 {
    let started = Instant::now();
    let now = || cpu_seconds().unwrap_or_else(|| started.elapsed().as_secs_f64());
    let mut round = |_| {
        // The system counts processor time in ticks of some milliseconds.
        let (before, wall) = (now(), Instant::now());
        let mut n_done = 0;
        while wall.elapsed().as_millis() < ROUND_MS {
            work();
            n_done += n_sets;
        }
        (now() - before) * 1e9 / n_done as f64
    };
    let mut rounds: Vec<f64> = (0..ROUNDS).map(&mut round).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// Returns the processor time of this thread, without other work on a shared machine; `None` where
/// Linux does not report it.
fn cpu_seconds() -> Option<f64> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = schedstat.split(' ').next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e9)
}

/// Returns the standard deviation and the bias, over pairs whose union has `size` elements.
fn error(size: usize, method: fn(&[u64]) -> [u64; N_BINS]) -> String {
    let n_shared = (size as f64 * SHARED).round() as usize;
    let errors: Vec<f64> = (0..N_PAIRS)
        .map(|seed| {
            let union: Vec<u64> = (0..size as u64).map(|i| hash_words(i, seed << 32)).collect();
            let (shared, rest) = union.split_at(n_shared);
            let (a, b) = rest.split_at(rest.len() / 2);
            let [a, b] = [a, b].map(|own| method(&[shared, own].concat()));
            let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count() as f64 / N_BINS as f64;
            equal - n_shared as f64 / size as f64
        })
        .collect();
    let mean = errors.iter().sum::<f64>() / N_PAIRS as f64;
    let variance = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / (N_PAIRS - 1) as f64;
    format!("{:.4}; {mean:+.4}", variance.sqrt())
}

fn fast_similarity(elements: &[u64]) -> [u64; N_BINS] {
    *Bins::of(elements).expect("no set is empty").values()
}

/// MinHash with a hash for each bin (Broder 1997).
fn independent(elements: &[u64]) -> [u64; N_BINS] {
    std::array::from_fn(|bin| {
        let seed = hash_words(bin as u64, 77);
        elements.iter().map(|&element| mix(element, seed)).min().unwrap_or(0)
    })
}

/// One-permutation hashing (Li, Owen and Zhang, NIPS 2012); an empty bin takes from a bin that its
/// own hash chooses (Shrivastava, ICML 2017).
fn one_permutation(elements: &[u64]) -> [u64; N_BINS] {
    const EMPTY: u64 = u64::MAX;
    let mut bins = [EMPTY; N_BINS];
    for &element in elements {
        let bin = &mut bins[(element >> 56) as usize];
        *bin = (*bin).min(element);
    }
    std::array::from_fn(|bin| {
        let (mut from, mut attempt) = (bin, 0);
        while bins[from] == EMPTY {
            attempt += 1;
            from = (mix(bin as u64 + 1, attempt * 0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        }
        bins[from]
    })
}

/// SuperMinHash (Ertl, 2017, arXiv:1706.05698), algorithm 3, with the value's integer part kept
/// beside the value.
fn super_min_hash(elements: &[u64]) -> [u64; N_BINS] {
    let mut values = [u64::MAX; N_BINS];
    let (mut permutation, mut drawn_for) = ([0_u16; N_BINS], [usize::MAX; N_BINS]);
    let mut rounds_of = [0_usize; N_BINS];
    rounds_of[N_BINS - 1] = N_BINS;
    let mut bin_round = [N_BINS - 1; N_BINS];
    let mut last_round = N_BINS - 1;
    for (number, &element) in elements.iter().enumerate() {
        let mut round = 0;
        while round <= last_round {
            let random = mix(element, (round as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let other = round + (((random >> 48) * (N_BINS - round) as u64) >> 16) as usize;
            for at in [round, other] {
                if drawn_for[at] != number {
                    (drawn_for[at], permutation[at]) = (number, at as u16);
                }
            }
            permutation.swap(round, other);
            let bin = permutation[round] as usize;
            let value = (round as u64) << 48 | random & 0xffff_ffff_ffff;
            if value < values[bin] {
                let before = bin_round[bin];
                values[bin] = value;
                if round < before {
                    rounds_of[before] -= 1;
                    rounds_of[round] += 1;
                    bin_round[bin] = round;
                    while rounds_of[last_round] == 0 {
                        last_round -= 1;
                    }
                }
            }
            round += 1;
        }
    }
    values
}

fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ b) * 0x2d35_8dcc_aa6c_78a5;
    product as u64 ^ (product >> 64) as u64
}
