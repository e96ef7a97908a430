//! jieba's words for Han text, UAX #29 for the rest.
//!
//! jieba reads runs of the characters in its own class: Han, ASCII letters and digits, and `+#&._%-`. It is given such a
//! run where it holds a Han character, so that words like `t恤` are found. ASCII at either end of the run is left to
//! UAX #29 where it goes on outside the run, as in `don't`, `1,000` and `naïve`. Between two cuts of its own nothing
//! outside a run matters to jieba, so a run may be given to it by itself.

use jieba_rs::Jieba;

use super::{is_wordlike, words};

/// A longer run is cut here, at a character. jieba needs some 100 bytes a byte of run; no sentence comes near.
const RUN_LEN_MAX: usize = 1 << 15;

/// Hands each word of `text` to `emit`.
pub(crate) fn for_each_word<'t>(jieba: &Jieba, hmm: bool, text: &'t str, emit: &mut impl FnMut(&'t str)) {
    let mut done = 0;
    while let Some(han) = find_han(text, done) {
        let run = run_around(text, done, han);
        for_each_word_outside(&text[done..run.start], emit);
        done = run.end;
        let mut run = &text[run];
        while !run.is_empty() {
            let (piece, after) = run.split_at(piece_len(run));
            for token in jieba.cut(piece, hmm) {
                if is_wordlike(token.word) {
                    emit(token.word);
                }
            }
            run = after;
        }
    }
    for_each_word_outside(&text[done..], emit);
}

/// The words of what lies between two runs: most often nothing but punctuation, which is seen at once.
fn for_each_word_outside<'t>(text: &'t str, emit: &mut impl FnMut(&'t str)) {
    if !text.chars().all(|c| if c.is_ascii() { !c.is_ascii_alphanumeric() } else { is_punctuation(c) }) {
        words::for_each_word(text, emit);
    }
}

/// Where the first Han character at or after `from` starts.
fn find_han(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        // The first byte of every Han character is at least this, and no continuation byte is.
        at += text.as_bytes()[at..].iter().position(|&byte| byte >= 0xe3)?;
        let c = text[at..].chars().next()?;
        if is_han(c) {
            return Some(at);
        }
        at += c.len_utf8();
    }
}

/// As much of a run as jieba is given at once.
fn piece_len(run: &str) -> usize {
    if run.len() <= RUN_LEN_MAX {
        return run.len();
    }
    (0..=RUN_LEN_MAX).rev().find(|&len| run.is_char_boundary(len)).unwrap_or(run.len())
}

/// The run around the first Han character `han` at or after `from`.
fn run_around(text: &str, from: usize, han: usize) -> std::ops::Range<usize> {
    let before = text[from..han].trim_end_matches(is_jieba_ascii);
    let start = if before.ends_with(binds) { han } else { from + before.len() };
    let after = text[han..].trim_start_matches(|c| is_han(c) || is_jieba_ascii(c));
    let end = text.len() - after.len();
    let end = if after.starts_with(binds) {
        han + text[han..end].trim_end_matches(is_jieba_ascii).len()
    } else {
        end
    };
    start..end
}

/// jieba's Han characters.
fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2ebef}'
        | '\u{2f800}'..='\u{2fa1f}')
}

/// What else jieba reads in one run with them.
fn is_jieba_ascii(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
}

/// What most often stands beside Han: of General Punctuation and of CJK Symbols and Punctuation, what is no letter,
/// digit or mark and stands in no word or number.
fn is_punctuation(c: char) -> bool {
    matches!(c, '\u{201c}'..='\u{2023}' | '\u{2026}' | '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3020}')
}

/// Whether a word of UAX #29 may reach across `c` to an ASCII letter or digit: letters, digits, marks, joiners, and
/// what stands inside words and numbers (MidLetter, MidNum, MidNumLet).
fn binds(c: char) -> bool {
    !is_han(c)
        && !is_punctuation(c)
        && (c.is_alphanumeric()
            || unicode_normalization::char::is_combining_mark(c)
            || matches!(
                c,
                '\'' | '’' | '‘' | ':' | '·' | '‧' | ',' | ';' | '\u{200c}' | '\u{200d}' | '\u{ad}'
            ))
}
