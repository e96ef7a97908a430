//! Corpora from a fixed seed, and the median.

/// The top 26 bits are the first two blocks of `5c2`.
const BOILERPLATE_MASK: u64 = !(u64::MAX >> 26);
const BOILERPLATE: u64 = 0x5bd1_e995_7f4a_7c15 & BOILERPLATE_MASK;

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

    /// 1 to `distance_max` bits away.
    pub(crate) fn neighbour(&mut self, bits: u64, distance_max: usize) -> u64 {
        let distance = 1 + self.below(distance_max);
        let mut flips = 0_u64;
        while flips.count_ones() < distance as u32 {
            flips |= 1 << self.below(64);
        }
        bits ^ flips
    }
}

/// Fingerprints of which a tenth are within distance 3 of an earlier one. `uniform`, or `skewed`: 30 % share two blocks.
pub(crate) struct Corpus {
    pub(crate) name: String,
    pub(crate) fingerprints: Vec<u64>,
}

impl Corpus {
    pub(crate) fn new(name: &str, n: usize) -> Self {
        let is_skewed = match name {
            "uniform" => false,
            "skewed" => true,
            _ => panic!("no corpus is named {name}"),
        };
        let mut random = Random::new(42);
        let mut fingerprints = Vec::with_capacity(n);
        for i in 0..n {
            let bits = if i % 10 == 9 {
                let earlier = fingerprints[random.below(i)];
                random.neighbour(earlier, 3)
            } else if is_skewed && i % 10 < 3 {
                random.next() & !BOILERPLATE_MASK | BOILERPLATE
            } else {
                random.next()
            };
            fingerprints.push(bits);
        }
        Self { name: name.to_owned(), fingerprints }
    }

    pub(crate) fn is_boilerplate(&self, bits: u64) -> bool {
        self.name == "skewed" && bits & BOILERPLATE_MASK == BOILERPLATE
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
