//! A tier of as many simhashes as `PIGEONHOLE_TIER=N,FILE` says: one run makes the file, the next
//! one reads it and asks for near ones. `cargo test --release -p pigeonhole-store-hbase --lib
//! tier::size -- --nocapture` prints the figures.

use std::path::{Path, PathBuf};
use std::time::Instant;

use index::Identity;
use index::testsuite::spread;

use super::ascending::Growing;
use super::*;

const IDENTITY: Identity = Identity::new([1; 16]);

const N_QUERIES: u64 = 200_000;

/// Queries whose answers are held against all simhashes.
const N_CHECKED: u64 = 16;

fn make(n: u64, path: &Path) {
    let set = |n_bits| {
        let mut growing = Growing::default();
        (0..n).for_each(|n| growing.add(spread(n).rotate_left(n_bits)));
        growing.into_set()
    };
    let tier = Tier::new(0, None, [Arc::default(), set(0), set(HALF_BITS)]);
    file::save(&tier, IDENTITY, path).unwrap();
}

/// A number with so many bits of another one turned.
fn turned(bits: u64, n_bits: u64, seed: u64) -> u64 {
    let first = spread(seed);
    (0..n_bits).fold(bits, |bits, n| bits ^ 1 << ((first + n * (1 + first % 20)) % 64))
}

/// Bytes of memory that the process had at most.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) << 10
}

fn ask(n: u64, path: &Path) {
    let begun = Instant::now();
    let tier = file::load(IDENTITY, path, usize::MAX).unwrap().unwrap();
    assert_eq!(tier.simhashes.set.len() as u64, n);
    println!(
        "{n} simhashes, {:.1} bytes each, {:.2} GB at most, read in {:.0} s",
        tier.n_bytes() as f64 / n as f64,
        peak_bytes() as f64 / 1e9,
        begun.elapsed().as_secs_f64()
    );
    let near = |number: u64| turned(spread(spread(number) % n), number % 4, number);
    let stranger = |number: u64| spread(n + number);
    for (name, query) in [("near", &near as &dyn Fn(u64) -> u64), ("strangers", &stranger)] {
        let queries: Vec<u64> = (0..N_QUERIES).map(query).collect();
        let begun = Instant::now();
        let has_near = |query: &&u64| tier.has_near(Fingerprint(**query), WITHIN_MAX);
        let n_near = queries.iter().filter(has_near).count() as u64;
        println!("{name}: {:.0} queries/s", N_QUERIES as f64 / begun.elapsed().as_secs_f64());
        assert!(n_near == N_QUERIES || name != "near", "{n_near} of {N_QUERIES} near ones are known");
    }
    // Strangers, and what differs from a simhash in one bit too many.
    let far = |number: u64| turned(spread(spread(number) % n), 4, number);
    let checked: Vec<u64> = (0..N_CHECKED).map(far).chain((0..N_CHECKED).map(stranger)).collect();
    let mut is_near = vec![false; checked.len()];
    for stored in tier.simhashes.set.from(0).map(Fingerprint) {
        for (query, is_near) in checked.iter().zip(&mut is_near) {
            *is_near |= stored.distance(Fingerprint(*query)) <= WITHIN_MAX;
        }
    }
    let has_near = checked.iter().map(|&query| tier.has_near(Fingerprint(query), WITHIN_MAX));
    assert!(has_near.eq(is_near));
}

#[test]
fn a_tier_is_exact_at_any_size() {
    let folder = tempfile::tempdir().unwrap();
    let asked = std::env::var("PIGEONHOLE_TIER").ok();
    let asked = asked.as_deref().and_then(|asked| asked.split_once(','));
    let (n, path) = match asked {
        Some((n, path)) => (n.parse().unwrap(), PathBuf::from(path)),
        None => (50_000, folder.path().join("tier")),
    };
    if !path.exists() {
        make(n, &path);
        if asked.is_some() {
            return println!("made {}", path.display());
        }
    }
    ask(n, &path);
}
