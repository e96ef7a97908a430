//! A random sample of a stream of documents: a given number, or as many as fit in memory.

use std::fs;

use minhash::hash_words;
use program::MemoryLimits;

/// Default seed, an arbitrary number.
pub(super) const SEED: u64 = 1;

/// Bytes of memory for a byte of text at the peak, with its sets of n-grams and their exact join.
const BYTES_PER_BYTE: u64 = 48;

/// Assumed free memory on a system that does not report it.
const MEMORY: u64 = 4 << 30;

/// A document in the sample so far.
pub(super) struct Chosen {
    /// Its number among all offered documents.
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) text: String,
    /// The name of its family.
    pub(super) family: Option<String>,
}

/// The sample so far, in which each offered document has the same chance to be (Vitter 1985,
/// "Random sampling with a reservoir", algorithm R). The same documents give the same sample.
pub(super) struct Sample {
    seed: u64,
    n_max: Option<usize>,
    n_bytes_max: u64,
    n_bytes: u64,
    pub(super) n_seen: u64,
    /// True if documents were removed for lack of memory.
    pub(super) is_cut: bool,
    chosen: Vec<Chosen>,
}

impl Sample {
    /// A sample of at most `n_max` documents and `n_bytes_max` bytes of text.
    pub(super) fn new(seed: u64, n_max: Option<usize>, n_bytes_max: u64) -> Self {
        Self { seed, n_max, n_bytes_max, n_bytes: 0, n_seen: 0, is_cut: false, chosen: Vec::new() }
    }

    pub(super) fn offer(&mut self, id: &str, text: String, family: Option<String>) {
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

    /// The sample in the order of the stream.
    pub(super) fn into_chosen(mut self) -> Vec<Chosen> {
        self.chosen.sort_unstable_by_key(|chosen| chosen.number);
        self.chosen
    }
}

/// Bytes of text that fit in half of the free memory.
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

    /// Each of 1,000 documents is in a sample of 100 with the same chance: about ten of each
    /// hundred.
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
