//! The number of texts that are read together.

use std::sync::atomic::{AtomicUsize, Ordering};

use index::Text;

/// About the bytes of the texts that are read together.
const READ_BYTES: usize = 16 << 20;

/// The bytes of a text before any is read: so few are read first.
const TEXT_BYTES_AT_FIRST: usize = 1 << 20;

/// Tells how many texts to read together, by the mean length of those that were read last: about
/// 16 MB, and one text at least. Threads may share it.
#[derive(Debug)]
pub struct TextPace {
    mean_bytes: AtomicUsize,
}

impl Default for TextPace {
    fn default() -> Self {
        Self { mean_bytes: AtomicUsize::new(TEXT_BYTES_AT_FIRST) }
    }
}

impl TextPace {
    /// Returns the number of texts to read next.
    #[must_use]
    pub fn n_texts(&self) -> usize {
        (READ_BYTES / self.mean_bytes.load(Ordering::Relaxed).max(1)).max(1)
    }

    /// Notes texts that were read.
    pub fn note<'t>(&self, texts: impl IntoIterator<Item = &'t Text>) {
        let lengths = texts.into_iter().map(|text| text.len());
        let (n_texts, n_bytes) = lengths.fold((0, 0), |(n, sum), len| (n + 1, sum + len));
        if let Some(mean_bytes) = usize::checked_div(n_bytes, n_texts) {
            self.mean_bytes.store(mean_bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_the_fewer() {
        let pace = TextPace::default();
        assert_eq!(pace.n_texts(), 16);
        for (lengths, n_texts) in
            [(&[1_000, 3_000][..], 8_388), (&[], 8_388), (&[20 << 20], 1), (&[0], 16 << 20)]
        {
            let texts: Vec<Text> = lengths.iter().map(|&len| Text::from("x".repeat(len))).collect();
            pace.note(&texts);
            assert_eq!(pace.n_texts(), n_texts, "{lengths:?}");
        }
    }
}
