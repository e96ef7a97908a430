//! The characters of a run, and the most probable way through it.

use std::ops::Range;

use super::codes::{Code, Codes};

/// The characters of a run.
#[derive(Default)]
pub(super) struct Run {
    codes: Vec<Code>,
    /// The first byte of each character, and the length of the run in bytes.
    starts: Vec<u32>,
}

/// The words that may stand in a run. Its text goes along, since a user's words may have characters
/// without a code.
pub(super) trait Lexicon {
    /// Returns the natural logarithm of the sum of all frequencies.
    fn log_total(&self) -> f64;

    /// Hands the number of characters and the natural logarithm of the frequency of each word that
    /// starts at this character of a run to `emit`, shortest first.
    fn for_each_word_at(&self, text: &str, run: &Run, start: usize, emit: impl FnMut(usize, f64));
}

/// The most probable way from one character to the end of a run.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The natural logarithm of its probability.
    score: f64,
    /// The number of the character after its first word.
    pub(super) end: usize,
}

impl Run {
    /// Replaces the characters by those of `text`.
    pub(super) fn read(&mut self, text: &str, codes: &Codes) {
        self.codes.clear();
        self.starts.clear();
        for (start, c) in text.char_indices() {
            self.codes.push(codes.get(c));
            self.starts.push(start as u32);
        }
        self.starts.push(text.len() as u32);
    }

    pub(super) fn n_chars(&self) -> usize {
        self.codes.len()
    }

    /// Returns the codes of these characters.
    #[inline]
    pub(super) fn codes(&self, chars: Range<usize>) -> &[Code] {
        &self.codes[chars]
    }

    /// Returns the codes of a character and of all after it.
    #[inline]
    pub(super) fn codes_from(&self, start: usize) -> &[Code] {
        &self.codes[start..]
    }

    /// Returns where these characters stand, in bytes.
    #[inline]
    pub(super) fn bytes(&self, chars: Range<usize>) -> Range<usize> {
        self.starts[chars.start] as usize..self.starts[chars.end] as usize
    }

    /// Returns true if a character is an ASCII letter or digit.
    #[inline]
    pub(super) fn is_alphanumeric(&self, text: &str, at: usize) -> bool {
        text.as_bytes()[self.starts[at] as usize].is_ascii_alphanumeric()
    }

    /// Leaves the most probable way from each character in `route`. Of equally probable ways the
    /// one with the longer word is taken; a character that no word starts with is a word that was
    /// seen once.
    #[inline]
    pub(super) fn find_route(&self, text: &str, lexicon: &impl Lexicon, route: &mut Vec<Step>) {
        let n = self.n_chars();
        let log_total = lexicon.log_total();
        route.clear();
        route.resize(n + 1, Step { score: 0.0, end: n });
        for start in (0..n).rev() {
            let mut best = Step { score: f64::NEG_INFINITY, end: start };
            lexicon.for_each_word_at(text, self, start, |len, log_frequency| {
                let end = start + len;
                let score = log_frequency - log_total + route[end].score;
                // A score is no number where all frequencies are 0.
                if best.end == start || score >= best.score {
                    best = Step { score, end };
                }
            });
            if best.end == start {
                best = Step { score: -log_total + route[start + 1].score, end: start + 1 };
            }
            route[start] = best;
        }
    }
}

/// Hands the parts of a route to `emit`: each word of several characters by itself, and
/// neighbouring single characters that `joins` accepts as one part. The flag is true for such a
/// part, even if it is one character.
#[inline]
pub(super) fn for_each_part(
    route: &[Step],
    joins: impl Fn(usize) -> bool,
    mut emit: impl FnMut(Range<usize>, bool),
) {
    let n = route.len() - 1;
    let (mut at, mut joined) = (0, None);
    while at < n {
        let end = route[at].end;
        if end - at == 1 && joins(at) {
            joined.get_or_insert(at);
        } else {
            if let Some(start) = joined.take() {
                emit(start..at, true);
            }
            emit(at..end, false);
        }
        at = end;
    }
    if let Some(start) = joined {
        emit(start..n, true);
    }
}
