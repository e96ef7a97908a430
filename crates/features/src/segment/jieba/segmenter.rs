//! jieba's cut of a run: the most probable words by its dictionary, and by its hidden Markov model
//! where the dictionary leaves single characters.

use std::sync::Arc;

use super::codes::{Code, Codes};
use super::double_array::DoubleArray;
use super::hmm::{self, Hmm};
use super::run::{self, Lexicon, Run, Step};

/// A segmenter by a dictionary and a hidden Markov model. Its words are those of jieba-rs.
pub(crate) struct Jieba {
    pub(super) codes: Codes,
    pub(super) words: DoubleArray,
    /// The sum of all frequencies.
    pub(super) total: u64,
    /// The natural logarithm of `total`.
    log_total: f64,
    pub(super) hmm: Arc<Hmm>,
}

/// Buffers of one thread, reused for every run.
#[derive(Default)]
pub(crate) struct CutBuffers {
    run: Run,
    route: Vec<Step>,
    choices: Vec<hmm::Choices>,
}

impl Lexicon for Jieba {
    #[inline]
    fn log_total(&self) -> f64 {
        self.log_total
    }

    #[inline]
    fn for_each_word_at(&self, _: &str, run: &Run, start: usize, emit: impl FnMut(usize, f64)) {
        self.words.for_each_word(run.codes_from(start), emit);
    }
}

impl Jieba {
    /// Builds the segmenter of words with their frequencies, sorted by their bytes, each there
    /// once.
    pub(crate) fn new(words: &[(&str, u64)], hmm: Arc<Hmm>) -> Self {
        let codes = Codes::new(words.iter().map(|&(word, _)| word));
        let total = words.iter().map(|&(_, frequency)| frequency).sum();
        let log_total = (total as f64).ln();
        Self { words: DoubleArray::new(words, &codes), codes, total, log_total, hmm }
    }

    /// Hands each word of a run of jieba's characters to `emit`; with `hmm` the model joins
    /// characters into words that the dictionary lacks.
    pub(crate) fn cut<'t>(
        &self,
        text: &'t str,
        hmm: bool,
        buffers: &mut CutBuffers,
        mut emit: impl FnMut(&'t str),
    ) {
        let CutBuffers { run, route, choices } = buffers;
        run.read(text, &self.codes);
        run.find_route(text, self, route);
        run::for_each_part(
            route,
            |at| hmm || run.is_alphanumeric(text, at),
            |chars, is_joined| {
                let part = &text[run.bytes(chars.clone())];
                if !(hmm && is_joined) || chars.len() == 1 {
                    emit(part);
                } else if self.has_word(run.codes(chars.clone())) {
                    chars.for_each(|at| emit(&text[run.bytes(at..at + 1)]));
                } else {
                    self.hmm.cut(part, choices, &mut emit);
                }
            },
        );
    }

    /// Returns the frequency of a word of the dictionary. It is exact for every word of the
    /// built-in one, which a test looks at.
    pub(super) fn frequency(&self, word: &str) -> Option<u64> {
        let codes: Vec<_> = word.chars().map(|c| self.codes.get(c)).collect();
        self.log_frequency(&codes).map(|log| log.exp().round() as u64)
    }

    fn has_word(&self, codes: &[Code]) -> bool {
        self.log_frequency(codes).is_some()
    }

    fn log_frequency(&self, word: &[Code]) -> Option<f64> {
        let mut found = None;
        self.words.for_each_word(word, |len, log| found = (len == word.len()).then_some(log));
        found
    }
}
