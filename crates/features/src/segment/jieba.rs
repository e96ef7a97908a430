//! jieba's words for Han text, UAX #29 for the rest.
//!
//! jieba reads runs of the characters in its own class: Han, ASCII letters and digits, and
//! `+#&._%-`. jieba gets every such run with a Han character in it, and finds words like `t恤`.
//! ASCII at either end of a run is left to UAX #29 where the word goes on outside the run, as in
//! `don't`, `1,000` and `naïve`. jieba ignores everything outside the run between two cuts of its
//! own: each run can be cut by itself.

use jieba_rs::Jieba;

use super::{is_punctuation, is_wordlike, words};

/// The most bytes of a run that jieba gets at once; a longer run is cut here, at a character. jieba
/// needs some 100 bytes a byte of run; no sentence comes near.
const RUN_LEN_MAX: usize = 1 << 15;

/// The length up to which runs with only punctuation between them are cut in one call: every call
/// allocates its answer anew.
const WINDOW_LEN: usize = 1 << 10;

/// A run for jieba.
struct Run {
    start: usize,
    end: usize,
    /// True if ASCII was left out at the start, and at the end.
    is_cut: (bool, bool),
}

/// Hands each word of `text` to `emit`. Calls `jieba` only for texts with Han characters.
pub(crate) fn for_each_word<'t, 'd>(
    jieba: impl Fn() -> &'d Jieba,
    hmm: bool,
    text: &'t str,
    emit: &mut impl FnMut(&'t str),
) {
    let mut done = 0;
    let mut next = next_run(text, 0);
    while let Some(first) = next {
        for_each_word_outside(&text[done..first.start], emit);
        let (start, mut last) = (first.start, first);
        next = next_run(text, last.end);
        while let Some(run) = next.take_if(|run| {
            run.end - start <= WINDOW_LEN
                && !(last.is_cut.1 || run.is_cut.0)
                && is_all_punctuation(&text[last.end..run.start])
        }) {
            next = next_run(text, run.end);
            last = run;
        }
        done = last.end;
        let mut window = &text[start..last.end];
        while !window.is_empty() {
            let (piece, after) = window.split_at(piece_len(window));
            for token in jieba().cut(piece, hmm) {
                // Nearly every token starts with one of the main block, E4 B8 80 to E9 BF BF.
                if matches!(token.word.as_bytes()[0], 0xe5..=0xe9) || is_wordlike(token.word) {
                    emit(token.word);
                }
            }
            window = after;
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

/// Returns the length of the next piece of a window for jieba. Only a single run can be longer.
fn piece_len(window: &str) -> usize {
    if window.len() <= RUN_LEN_MAX {
        return window.len();
    }
    (0..=RUN_LEN_MAX).rev().find(|&len| window.is_char_boundary(len)).unwrap_or(window.len())
}

/// Returns the first run that ends after `from`; no run may reach across `from`.
fn next_run(text: &str, from: usize) -> Option<Run> {
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
    Some(Run {
        start: if cut_start { first_han } else { start },
        end: if cut_end { han_end } else { end },
        is_cut: (cut_start, cut_end),
    })
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

/// Returns true for jieba's Han characters.
fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2ebef}'
        | '\u{2f800}'..='\u{2fa1f}')
}

/// Returns true for the other characters that jieba reads in one run with Han.
fn is_jieba_ascii(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'#' | b'&' | b'.' | b'_' | b'%' | b'-')
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
