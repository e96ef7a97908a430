//! A user's words beside those of a dictionary.

use std::collections::HashMap;
use std::sync::Arc;

use super::characters;
use super::run::{self, Lexicon, Run};
use super::segmenter::Jieba;

/// The words of a dictionary and some of the user's; one that is in both has the user's frequency.
pub(crate) struct UserWords<'d> {
    base: &'d Jieba,
    added: HashMap<String, u64>,
    /// The nodes of the added words as a trie, from the root on: the natural logarithm of the
    /// frequency of the word that ends there.
    nodes: Vec<Option<f64>>,
    /// The nodes by their parents and last characters.
    children: HashMap<(u32, char), u32>,
    /// The sum of all frequencies.
    total: u64,
}

const ROOT: u32 = 0;

impl Lexicon for UserWords<'_> {
    fn log_total(&self) -> f64 {
        (self.total as f64).ln()
    }

    fn for_each_word_at(&self, text: &str, run: &Run, start: usize, mut emit: impl FnMut(usize, f64)) {
        let words = &self.base.words;
        let (mut prefix, mut node) = (None, Some(ROOT));
        let codes = run.codes_from(start);
        let chars = text[run.bytes(start..run.n_chars())].chars();
        for (len, (c, &code)) in (1..).zip(chars.zip(codes)) {
            prefix = if len == 1 {
                Some(words.first(code))
            } else {
                prefix.and_then(|prefix| words.next(prefix, code))
            };
            node = node.and_then(|node| self.children.get(&(node, c)).copied());
            let of_user = node.and_then(|node| self.nodes[node as usize]);
            if let Some(log_frequency) = of_user.or_else(|| prefix?.log_frequency()) {
                emit(len, log_frequency);
            }
            if prefix.is_none() && node.is_none() {
                return;
            }
        }
    }
}

impl<'d> UserWords<'d> {
    /// Creates a list without words of the user.
    pub(crate) fn new(base: &'d Jieba) -> Self {
        let (added, children) = (HashMap::new(), HashMap::new());
        Self { base, added, nodes: vec![None], children, total: base.total }
    }

    /// Adds a word, or gives it another frequency. Without a frequency it gets one that makes it
    /// at least as probable as its parts. Returns the frequency.
    pub(crate) fn add(&mut self, word: &str, frequency: Option<u64>) -> u64 {
        if word.is_empty() {
            return 0;
        }
        let frequency = frequency.unwrap_or_else(|| self.suggest_frequency(word));
        self.total = self.total + frequency - self.frequency(word).unwrap_or(0);
        self.added.insert(word.to_owned(), frequency);
        let mut node = ROOT;
        for c in word.chars() {
            node = *self.children.entry((node, c)).or_insert_with(|| {
                self.nodes.push(None);
                self.nodes.len() as u32 - 1
            });
        }
        self.nodes[node as usize] = Some((frequency as f64).ln());
        frequency
    }

    /// Builds the segmenter of all words. Those of the dictionary are handed in.
    pub(crate) fn build(self, dictionary: &[(&str, u64)]) -> Jieba {
        let Self { base: Jieba { hmm, .. }, added, .. } = self;
        let mut words = Vec::from_iter(added.iter().map(|(word, &frequency)| (word.as_str(), frequency)));
        words.extend(dictionary);
        // Of equal words the first one stays.
        words.sort_by_key(|&(word, _)| word);
        words.dedup_by_key(|&mut (word, _)| word);
        Jieba::new(&words, Arc::clone(hmm))
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

    /// Hands the parts of a word, by the dictionary alone, to `emit`. A word has no line end.
    fn for_each_part(&self, word: &str, mut emit: impl FnMut(&str)) {
        let (mut run, mut route) = (Run::default(), Vec::new());
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let len = rest.find(|c| !characters::is_of_run(c)).unwrap_or(rest.len());
            let (text, after) = rest.split_at(len.max(first.len_utf8()));
            rest = after;
            if len == 0 {
                emit(text);
                continue;
            }
            run.read(text, &self.base.codes);
            run.find_route(text, self, &mut route);
            let is_alphanumeric = |at: usize| run.is_alphanumeric(text, at);
            run::for_each_part(&route, is_alphanumeric, |chars, _| emit(&text[run.bytes(chars)]));
        }
    }
}
