//! jieba's words for Han text, UAX #29 for the rest.
//!
//! jieba reads runs of the characters in its own class: Han, ASCII letters and digits, and
//! `+#&._%-`. jieba gets every such run with a Han character in it, and finds words like `t恤`.
//! ASCII at either end of a run is left to UAX #29 where the word goes on outside the run, as in
//! `don't`, `1,000` and `naïve`. jieba ignores everything outside the run between two cuts of its
//! own: each run can be cut by itself.

mod characters;
mod codes;
mod double_array;
mod hmm;
mod places;
mod run;
mod segmenter;
#[cfg(test)]
mod tests;
mod user_words;

use std::ops::Range;

use characters::{is_han, is_jieba_ascii};
pub(crate) use hmm::Hmm;
pub(crate) use segmenter::{CutBuffers, Jieba};
pub(crate) use user_words::UserWords;

use super::{is_punctuation, is_wordlike, words};

/// The most bytes of a run that is cut at once, which bounds the memory; a longer one is cut here,
/// at a character. No sentence comes near. Another number changes the words of such runs, and so
/// fingerprints.
const RUN_LEN_MAX: usize = 1 << 15;

/// Hands each word of `text` to `emit`. Calls `jieba` only for texts with Han characters.
pub(crate) fn for_each_word<'t, 'd>(
    jieba: impl Fn() -> &'d Jieba,
    hmm: bool,
    text: &'t str,
    buffers: &mut CutBuffers,
    emit: &mut impl FnMut(&'t str),
) {
    let mut done = 0;
    while let Some(run) = next_run(text, done) {
        for_each_word_outside(&text[done..run.start], emit);
        done = run.end;
        let mut rest = &text[run];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(piece_len(rest));
            jieba().cut(piece, hmm, buffers, |word| {
                // Nearly every word starts with one of the main block, E4 B8 80 to E9 BF BF.
                if matches!(word.as_bytes()[0], 0xe5..=0xe9) || is_wordlike(word) {
                    emit(word);
                }
            });
            rest = after;
        }
    }
    for_each_word_outside(&text[done..], emit);
}

/// Hands the words between two runs to `emit`.
fn for_each_word_outside<'t>(text: &'t str, emit: &mut impl FnMut(&'t str)) {
    if !is_all_punctuation(text) {
        words::for_each_word(text, emit);
    }
}

fn is_all_punctuation(text: &str) -> bool {
    text.chars().all(|c| if c.is_ascii() { !c.is_ascii_alphanumeric() } else { is_punctuation(c) })
}

/// Returns the length of the piece of a run that is cut next.
fn piece_len(run: &str) -> usize {
    if run.len() <= RUN_LEN_MAX {
        return run.len();
    }
    (0..=RUN_LEN_MAX).rev().find(|&len| run.is_char_boundary(len)).unwrap_or(run.len())
}

/// Returns the first run that ends after `from`; no run may reach across `from`.
fn next_run(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let first_han = find_han(text, from)?;
    let mut start = first_han;
    while start > from && is_jieba_ascii(bytes[start - 1]) {
        start -= 1;
    }
    let (mut end, mut han_end) = (first_han, first_han);
    loop {
        match bytes.get(end) {
            // Most of the main block, without decoding.
            Some(0xe5..=0xe9) => {
                end += 3;
                han_end = end;
            }
            Some(&byte) if byte.is_ascii() => {
                if !is_jieba_ascii(byte) {
                    break;
                }
                end += 1;
            }
            Some(_) => match text[end..].chars().next().filter(|&c| is_han(c)) {
                Some(c) => {
                    end += c.len_utf8();
                    han_end = end;
                }
                None => break,
            },
            None => break,
        }
    }
    let cut_start = start < first_han && text[from..start].ends_with(binds);
    let cut_end = han_end < end && text[end..].starts_with(binds);
    let (start, end) = (if cut_start { first_han } else { start }, if cut_end { han_end } else { end });
    Some(start..end)
}

/// Returns the start of the first Han character at or after `from`.
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

/// Returns true if a word of UAX #29 may reach across `c` to an ASCII letter or digit: for letters,
/// digits, marks, joiners, and the signs inside words and numbers (MidLetter, MidNum, MidNumLet).
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
