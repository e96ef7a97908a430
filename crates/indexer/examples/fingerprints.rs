//! Makes Parquet files of fingerprints without texts: input of `indexer import`, for measurements.
//!
//! ```text
//! cargo run --release --locked -p indexer --example fingerprints -- N SEED FILE.parquet
//! ```
//! The columns are `id`, an ascending integer, and `fingerprint`, an unsigned integer. Three in ten
//! fingerprints differ in up to three bits from an earlier one; the others are random. The example
//! `scale` makes near-duplicates in known numbers.

#![expect(clippy::unwrap_used, reason = "what goes wrong here ends a measurement")]

mod made;

use made::SplitMix64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [n, seed, path] = &args[..] else { panic!("usage: fingerprints N SEED FILE.parquet") };
    let mut random = SplitMix64(seed.parse().unwrap());
    // Earlier fingerprints are taken from the same row group.
    made::write(path, n.parse().unwrap(), |first, end| {
        let mut fingerprints: Vec<u64> = Vec::new();
        for i in 0..end - first {
            let mut bits = random.next();
            if i > 0 && random.next() % 10 < 3 {
                bits = fingerprints[(random.next() % i) as usize];
                for _ in 0..random.next() % 4 {
                    bits ^= 1 << (random.next() % 64);
                }
            }
            fingerprints.push(bits);
        }
        fingerprints
    });
}
