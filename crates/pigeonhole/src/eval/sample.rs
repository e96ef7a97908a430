//! A random sample of documents that go by: so many as are asked for, or as fit in memory.

use std::fs;

use minhash::hash_words;
use program::MemoryLimits;

/// Of samples, unless another is asked for; any number would do.
pub(super) const SEED: u64 = 1;

/// What a byte of text takes at the peak, with the sets of its n-grams and their exact join.
const BYTES_PER_BYTE: u64 = 48;

/// Memory that may be used where the system does not say how much there is.
const MEMORY: u64 = 4 << 30;

/// A document that is in the sample so far.
pub(super) struct Chosen {
    /// Its number among all that came.
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) text: String,
    pub(super) family: Option<u32>,
}

/// The sample so far, in which each document that came has the same chance to be (Vitter 1985, "Random sampling with a
/// reservoir", algorithm R). The same documents give the same sample.
pub(super) struct Sample {
    seed: u64,
    n_max: Option<usize>,
    n_bytes_max: u64,
    n_bytes: u64,
    pub(super) n_seen: u64,
    /// Said where documents went because memory is short.
    pub(super) is_cut: bool,
    chosen: Vec<Chosen>,
}

impl Sample {
    /// At most so many documents, and at most so many bytes of text.
    pub(super) fn new(seed: u64, n_max: Option<usize>, n_bytes_max: u64) -> Self {
        Self { seed, n_max, n_bytes_max, n_bytes: 0, n_seen: 0, is_cut: false, chosen: Vec::new() }
    }

    pub(super) fn offer(&mut self, id: &str, text: String, family: Option<u32>) {
        let n_before = self.n_seen;
        self.n_seen += 1;
        let is_full = self.n_max.is_some_and(|n_max| n_before >= n_max as u64);
        let place = if is_full { hash_words(self.seed, n_before) % self.n_seen } else { u64::MAX };
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if is_full && place >= self.chosen.len() {
            return;
        }
        self.n_bytes += text.len() as u64;
        let new = Chosen { number: n_before, id: id.to_owned(), text, family };
        match self.chosen.get_mut(place) {
            Some(old) => self.n_bytes -= std::mem::replace(old, new).text.len() as u64,
            None => self.chosen.push(new),
        }
        while self.n_bytes > self.n_bytes_max && self.chosen.len() > 2 {
            let victim = hash_words(!self.seed, self.n_seen ^ self.n_bytes) % self.chosen.len() as u64;
            self.n_bytes -= self.chosen.swap_remove(victim as usize).text.len() as u64;
            self.n_max = Some(self.chosen.len());
            self.is_cut = true;
        }
    }

    /// In the order in which they came.
    pub(super) fn into_chosen(mut self) -> Vec<Chosen> {
        self.chosen.sort_unstable_by_key(|chosen| chosen.number);
        self.chosen
    }
}

/// How many bytes of text fit in half of the memory that is free.
pub(super) fn text_bytes_max() -> u64 {
    let free = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|n| n << 10)
    });
    let bound = MemoryLimits::of_process().least();
    free.unwrap_or(MEMORY).min(bound.unwrap_or(u64::MAX)) / 2 / BYTES_PER_BYTE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n_max: Option<usize>, n_bytes_max: u64, seed: u64) -> (Vec<u64>, bool) {
        let mut sample = Sample::new(seed, n_max, n_bytes_max);
        for number in 0..1_000 {
            sample.offer(&number.to_string(), "x".repeat(10), None);
        }
        assert_eq!(sample.n_seen, 1_000);
        let is_cut = sample.is_cut;
        (sample.into_chosen().iter().map(|chosen| chosen.number).collect(), is_cut)
    }

    /// Each of 1,000 documents is in a sample of 100 with the same chance: of each hundred about ten.
    #[test]
    fn a_sample_is_from_everywhere() {
        for (n_max, n_bytes_max, is_cut) in [(Some(100), u64::MAX, false), (None, 1_000, true)] {
            let (chosen, was_cut) = numbers(n_max, n_bytes_max, SEED);
            assert_eq!((chosen.len(), was_cut), (100, is_cut));
            assert!(chosen.is_sorted_by(|a, b| a < b));
            for hundred in 0..10 {
                let n = chosen.iter().filter(|&&number| number / 100 == hundred).count();
                assert!((2..=20).contains(&n), "{n} of the hundred {hundred}");
            }
            assert_eq!(chosen, numbers(n_max, n_bytes_max, SEED).0);
            assert_ne!(chosen, numbers(n_max, n_bytes_max, SEED + 1).0);
        }
        assert_eq!(numbers(None, u64::MAX, SEED), ((0..1_000).collect(), false));
    }
}
