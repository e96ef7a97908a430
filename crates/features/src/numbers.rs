//! The numbers of a text, in their order: two texts may differ in these although nearly all of
//! their n-grams are equal.
//!
//! Numbers are read from the text in its newest [normal form](crate::NormalForm), and written as
//! decimals: with a point, without leading zeros, separators of thousands and signs.
//!
//! - **Digits** of any script, in a row. `,` and `.` between digits join the digits. One `,` before
//!   exactly three digits separates thousands, as do several of a kind before three digits each
//!   (`1,000,000`, `1.000.000`). Of two kinds the last, once, is the point (`1,000.50`,
//!   `1.000,50`). One alone is the point (`3,14`, `9.30`), also `.` before three digits. Anything
//!   else is several numbers: `23.11.2026`, `1.2.3`, `1,2,3`. Zeros at the end of a fraction count:
//!   `3.10` is not `3.1`. Arabic `٬` is read as `,`, and `٫` as `.`. Chinese units after the digits
//!   multiply: `3万` is `30000`, `1.5亿`.
//! - **Chinese numerals** in a row, two and more: with units as spoken (`二十三`, `一百零五`, `两千`,
//!   `三百五`), or digit by digit (`二〇二四`), and with `点` and digits a fraction (`三点五`). A row that is
//!   no well-formed number is none, as `万一`, `千万`, `三三两两` and `一一`; nor is a row of digits for
//!   banks (`壹贰`) without a unit.
//! - **One numeral** by itself is a number where its neighbours make it one: after `第`, `分之`, `星期`,
//!   `周` or `礼拜`; `一` to `十` before `月`, `日`, `号` or `分之`; and `二` to `十`, not `一`, before a word
//!   of measure as `人` and `年`. `一些`, `统一`, `三国` and `十分` hold no number.
//!
//! `½` is a 1 and a 2, and the digits of an exponent are digits like others: NFKC writes both this
//! way. Numbers in words of other languages are not read.

mod chinese;
mod decimal;

use minhash::hash_words;

use crate::NormalForm;
use crate::normalize::Normalizer;

pub(crate) use chinese::{POINT, is_numeral};
pub(crate) use decimal::{is_digit, is_separator};

/// The most Chinese numerals in a row that are read as a number.
const NUMERALS_MAX: usize = 64;

/// Returns the numbers of a text as decimals, in their order: to show in which two texts differ.
/// Equal sequences have an equal [`digest`].
///
/// ```
/// use pigeonhole_features::numbers;
/// assert_eq!(numbers::sequence("第二十三条：1,000.50元，统一"), ["23", "1000.50"]);
/// assert_ne!(numbers::digest("2:0"), numbers::digest("0:2"));
/// ```
#[must_use]
pub fn sequence(text: &str) -> Vec<String> {
    let mut numbers = Vec::new();
    for_each(&normal_form(text), |number| numbers.push(number.to_owned()));
    numbers
}

/// Returns a digest of the numbers of a text in their order: 0 for a text without numbers. Two
/// different sequences collide for one pair in 2^32.
#[must_use]
pub fn digest(text: &str) -> u32 {
    let mut digest = Digest::default();
    for_each(&normal_form(text), |number| digest.push(number));
    digest.get()
}

fn normal_form(text: &str) -> String {
    let mut normal_form = String::new();
    Normalizer::new(NormalForm::default(), true).normalize(text, &mut normal_form);
    normal_form
}

/// Returns true for the characters of a normal form that take part in numbers, or decide beside a
/// numeral if it is one.
pub(crate) fn is_read(c: char) -> bool {
    is_digit(c) || is_separator(c) || chinese::is_read(c)
}

/// Hands each number of a text in normal form to `emit`.
fn for_each(normal_form: &str, mut emit: impl FnMut(&str)) {
    let (mut end, mut decimal) = (0, String::new());
    for (at, c) in normal_form.char_indices() {
        if at >= end && (is_digit(c) || is_numeral(c)) {
            end = read(normal_form, at, &mut decimal, &mut emit);
        }
    }
}

/// Hands the numbers that begin at `at` to `emit`, written in `buffer`. Returns the place where the
/// next one may begin.
fn read(text: &str, at: usize, buffer: &mut String, emit: &mut impl FnMut(&str)) -> usize {
    match text[at..].chars().next() {
        Some(c) if is_digit(c) => decimal::read(text, at, buffer, emit),
        _ => chinese::read(text, at, buffer, emit),
    }
}

/// The digest of a sequence of numbers, fed one by one.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    state: u64,
    buffer: String,
}

impl Digest {
    /// Forgets the sequence.
    pub fn clear(&mut self) {
        self.state = 0;
    }

    /// Adds a number of few ASCII digits that begins at `at` in any text, if such a number ends
    /// before a character of ASCII there. Returns its end.
    #[inline]
    pub(crate) fn read_ascii(&mut self, text: &str, at: usize) -> Option<usize> {
        let (number, end) = decimal::read_plain(text, at)?;
        // A control may be left out of the normal form, and the next digit belong to the number,
        // also after a separator.
        let is_kept =
            |at| text.as_bytes().get(at).is_none_or(|byte| matches!(byte, b'\t'..=b'\r' | b' '..=b'~'));
        let is_separated = text[end..].starts_with([',', '.']);
        if !is_kept(end) || is_separated && !is_kept(end + 1) {
            return None;
        }
        self.push(number);
        Some(end)
    }

    /// Adds the numbers of a text in normal form from `at` to `end`.
    pub(crate) fn read_row(&mut self, normal_form: &str, at: usize, end: usize) {
        let mut number_end = at;
        for (offset, c) in normal_form[at..end].char_indices() {
            if at + offset >= number_end && (is_digit(c) || is_numeral(c)) {
                number_end = self.read(normal_form, at + offset);
            }
        }
        debug_assert!(number_end <= end, "no number is longer than its row");
    }

    /// Adds the numbers that begin at `at`. Returns the place where the next one may begin.
    #[inline(never)]
    fn read(&mut self, normal_form: &str, at: usize) -> usize {
        if let Some((number, end)) = decimal::read_plain(normal_form, at) {
            self.push(number);
            return end;
        }
        if let Some(end) = chinese::passes(normal_form, at) {
            return end;
        }
        let (mut state, mut buffer) = (self.state, std::mem::take(&mut self.buffer));
        let end = read(normal_form, at, &mut buffer, &mut |number| state = next(state, number));
        (self.state, self.buffer) = (state, buffer);
        end
    }

    fn push(&mut self, number: &str) {
        self.state = next(self.state, number);
    }

    /// Returns the digest of the sequence so far: 0 for none.
    #[must_use]
    pub fn get(&self) -> u32 {
        match (self.state, (self.state >> 32) as u32) {
            (0, _) => 0,
            (_, upper) => upper.max(1),
        }
    }
}

/// Returns the state after one number more.
fn next(mut state: u64, number: &str) -> u64 {
    let (words, rest) = number.as_bytes().as_chunks::<8>();
    for word in words {
        state = hash_words(state, u64::from_be_bytes(*word));
    }
    // At most seven bytes are left: the top byte is free for the number of them.
    let last = rest.iter().fold(rest.len() as u64, |word, &byte| word << 8 | u64::from(byte));
    hash_words(state, last)
}

#[cfg(test)]
mod tests;
