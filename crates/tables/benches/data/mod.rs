//! Corpora from a fixed seed, the clock, and the median.

/// The top 26 bits are the first two blocks of `5c2`.
pub(crate) const BOILERPLATE_MASK: u64 = !(u64::MAX >> 26);
pub(crate) const BOILERPLATE: u64 = 0x5bd1_e995_7f4a_7c15 & BOILERPLATE_MASK;

/// The bits in which fingerprints that are alike in 28 bits differ: three blocks of `5c2` or so.
const ALIKE_MASK: u64 = (u64::MAX >> 28) << 10;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Returns bits that differ from `bits` in 1 to `distance_max` places.
    pub(crate) fn neighbour(&mut self, bits: u64, distance_max: usize) -> u64 {
        let distance = 1 + self.below(distance_max);
        let mut flips = 0_u64;
        while flips.count_ones() < distance as u32 {
            flips |= 1 << self.below(64);
        }
        bits ^ flips
    }
}

/// A corpus of one of these kinds:
/// - `uniform`: a tenth is within distance 3 of an earlier one, the rest is random.
/// - `skewed`: as `uniform`, but 30 % share the first two blocks of `5c2`, as texts with the same
///   boilerplate might.
/// - `alike`: random, but the same in 28 bits: a bucket of some tables holds all of them.
/// - `equal`: a thousand different ones, again and again.
pub(crate) struct Corpus {
    pub(crate) fingerprints: Vec<u64>,
    /// Different fingerprints of the corpus that are near each other.
    pub(crate) planted: Vec<(u64, u64)>,
}

impl Corpus {
    pub(crate) fn new(name: &str, n: usize) -> Self {
        let mut random = Random::new(42);
        let mut corpus = Self { fingerprints: Vec::with_capacity(n), planted: Vec::new() };
        for i in 0..n {
            let bits = match name {
                "uniform" | "skewed" if i % 10 == 9 => {
                    let earlier = corpus.fingerprints[random.below(i)];
                    let bits = random.neighbour(earlier, 3);
                    corpus.planted.push((earlier, bits));
                    bits
                }
                "skewed" if i % 10 < 3 => random.next() & !BOILERPLATE_MASK | BOILERPLATE,
                "uniform" | "skewed" => random.next(),
                "alike" => random.next() & ALIKE_MASK,
                "equal" => (i as u64 % 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                _ => panic!("no corpus is named {name}"),
            };
            corpus.fingerprints.push(bits);
        }
        corpus
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Processor time of this thread, in which other work on the machine counts less. Linux counts it
/// in steps of a few milliseconds.
pub(crate) struct Stopwatch(f64);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(cpu_seconds())
    }

    pub(crate) fn seconds(&self) -> f64 {
        cpu_seconds() - self.0
    }
}

fn cpu_seconds() -> f64 {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").expect("linux");
    let nanoseconds = line.split(' ').next().expect("its first field");
    nanoseconds.parse::<f64>().expect("nanoseconds on a processor") / 1e9
}
