//! A user's words beside those of a dictionary.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::characters;
use super::run::{self, Lexicon, Run, Step};
use super::segmenter::Jieba;

/// The words of a dictionary and some of the user's; one that is in both has the user's frequency.
pub(crate) struct UserWords<'d> {
    base: &'d Jieba,
    added: BTreeMap<String, u64>,
    /// The sum of all frequencies.
    total: u64,
}

impl Lexicon for UserWords<'_> {
    fn log_total(&self) -> f64 {
        (self.total as f64).ln()
    }

    fn for_each_word_at(&self, text: &str, run: &Run, start: usize, mut emit: impl FnMut(usize, f64)) {
        let mut found = BTreeMap::new();
        self.base.for_each_word_at(text, run, start, |len, log| {
            found.insert(len, log);
        });
        for len in 1..=run.n_chars() - start {
            let prefix = &text[run.bytes(start..start + len)];
            match self.added.range::<str, _>((Bound::Included(prefix), Bound::Unbounded)).next() {
                Some((word, &frequency)) if word == prefix => {
                    found.insert(len, (frequency as f64).ln());
                }
                Some((word, _)) if word.starts_with(prefix) => {}
                _ => break,
            }
        }
        found.into_iter().for_each(|(len, log)| emit(len, log));
    }
}

impl<'d> UserWords<'d> {
    /// Creates no words beside those of `base`.
    pub(crate) fn new(base: &'d Jieba) -> Self {
        Self { base, added: BTreeMap::new(), total: base.total() }
    }

    /// Adds a word, or gives it another frequency. Without a frequency it gets one that makes it
    /// at least as probable as its parts.
    pub(crate) fn add(&mut self, word: &str, frequency: Option<u64>) {
        if word.is_empty() {
            return;
        }
        let frequency = frequency.unwrap_or_else(|| self.suggest_frequency(word));
        self.total = self.total + frequency - self.frequency(word).unwrap_or(0);
        self.added.insert(word.to_owned(), frequency);
    }

    /// Builds the segmenter of all words; `base` are those of the dictionary.
    pub(crate) fn build(&self, base: &[(&str, u64)]) -> Jieba {
        let mut words: BTreeMap<&str, u64> = base.iter().copied().collect();
        words.extend(self.added.iter().map(|(word, &frequency)| (word.as_str(), frequency)));
        Jieba::new(&Vec::from_iter(words), self.base.hmm())
    }

    fn frequency(&self, word: &str) -> Option<u64> {
        self.added.get(word).copied().or_else(|| self.base.frequency(word))
    }

    fn suggest_frequency(&self, word: &str) -> u64 {
        let log_total = self.log_total();
        let mut log = 0.0;
        self.for_each_part(word, |part| {
            log += (self.frequency(part).unwrap_or(1) as f64).ln() - log_total;
        });
        let suggested = (log + log_total).exp() as u64 + 1;
        suggested.max(self.frequency(word).unwrap_or(1))
    }

    /// Hands the parts of a word, by the dictionary alone, to `emit`.
    fn for_each_part(&self, word: &str, mut emit: impl FnMut(&str)) {
        let (mut run, mut route) = (Run::default(), Vec::<Step>::new());
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let len = rest.find(|c| !characters::is_of_run(c)).unwrap_or(rest.len());
            let (text, after) = rest.split_at(len.max(first.len_utf8()));
            rest = after;
            if len == 0 {
                emit(text);
                continue;
            }
            run.read(text, self.base.codes());
            run.find_route(text, self, &mut route);
            let is_alphanumeric = |at: usize| run.is_alphanumeric(text, at);
            run::for_each_part(&route, is_alphanumeric, |chars, _| emit(&text[run.bytes(chars)]));
        }
    }
}
