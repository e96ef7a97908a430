//! Normal form of a text: NFKC, case folding, simplified Chinese, single spaces.
//!
//! Version 1, in this order: Unicode NFKC; lower case, letter by letter, independent of the
//! neighbours (a final sigma `ς` is written `σ`, or upper-case Greek would not meet lower-case
//! Greek); traditional to simplified Chinese by OpenCC's phrases and characters, if wanted; every
//! run of white space to one space, none at either end. The steps of version 2 are those of
//! [`NormalForm`].
//!
//! [`Normalizer::normalize`] must equal `plain`, which asks the libraries for the whole text. The
//! normaliser takes most characters from a table, one look-up each. The libraries get only the
//! stretches where a character's form depends on its neighbours.

mod ignored;
mod letters;
mod simplify;
mod table;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::NormalForm;

use ignored::is_ignored;
use simplify::Simplifier;
use table::Table;

/// Brings texts into normal form.
pub(crate) struct Normalizer {
    form: NormalForm,
    table: &'static Table,
    simplifier: Option<&'static Simplifier>,
}

impl Normalizer {
    /// Creates a normaliser to this form, with simplified Chinese or without.
    pub(crate) fn new(form: NormalForm, simplify: bool) -> Self {
        Self { form, table: Table::get(form, simplify), simplifier: simplify.then(Simplifier::get) }
    }

    /// The form of the texts that come out.
    pub(crate) fn form(&self) -> NormalForm {
        self.form
    }

    /// Replaces `out` by the normal form of `text`.
    pub(crate) fn normalize(&self, text: &str, out: &mut String) {
        out.clear();
        out.reserve(text.len() + text.len() / 8);
        let mut open: Option<Stretch> = None;
        // Input before `copied` is in `out`; unchanged input after `copied` is copied in one piece,
        // later.
        let mut copied = 0;
        // The start of the last character that stood alone, in `text` and in `out`.
        let mut previous = Mark { input: 0, output: 0 };
        let mut after_space = true;
        for (input, c) in text.char_indices() {
            let entry = self.table.entry(c);
            if !entry.stands_alone() {
                if entry.is_left_out() {
                    out.push_str(&text[copied..input]);
                    copied = input + c.len_utf8();
                    continue;
                }
                open.get_or_insert(Stretch { from: previous, by_library: true }).by_library = true;
                continue;
            }
            if !entry.is_han()
                && let Some(stretch) = open.take()
                && stretch.by_library
            {
                self.redo(text, copied, stretch.from, input, out);
                copied = input;
                after_space = out.is_empty() || out.ends_with(SPACES);
            }
            previous = Mark { input, output: out.len() + (input - copied) };
            if entry.is_han() {
                let stretch = open.get_or_insert(Stretch { from: previous, by_library: false });
                stretch.by_library |= entry.depends_on_neighbours() && self.may_be_in_phrase(text, input);
            }
            let is_space = entry.is_space();
            if !entry.stays(c) || is_space && after_space {
                out.push_str(&text[copied..input]);
                copied = input + c.len_utf8();
                if !is_space {
                    out.push(entry.char());
                    if entry.is_double() {
                        out.push(entry.char());
                    }
                } else {
                    push(entry.char(), out);
                }
            }
            after_space = is_space;
        }
        match open {
            Some(stretch) if stretch.by_library => self.redo(text, copied, stretch.from, text.len(), out),
            _ => out.push_str(&text[copied..]),
        }
        if out.ends_with(SPACES) {
            out.pop();
        }
    }

    /// Returns true if the character at `at`, whose form depends on phrases, may be in one.
    pub(crate) fn may_be_in_phrase(&self, text: &str, at: usize) -> bool {
        Simplifier::may_be_in_phrase(text, at, |c| {
            let entry = self.table.entry(c);
            entry.stands_alone() && !entry.is_han()
        })
    }

    /// Returns the form of a character, if it does not depend on the characters beside it.
    pub(crate) fn form_of(&self, c: char) -> Form {
        let entry = self.table.entry(c);
        if entry.is_left_out() {
            Form::LeftOut
        } else if !entry.stands_alone() {
            Form::Unknown
        } else if entry.is_double() {
            Form::Double(entry.char())
        } else if entry.depends_on_neighbours() {
            Form::UnlessInPhrase(entry.char())
        } else {
            Form::One(entry.char())
        }
    }

    /// Cuts `out` back to its end at `from`, or fills it up to there from `copied` on, and appends
    /// the libraries' answer for the input from there to `end`.
    fn redo(&self, text: &str, copied: usize, from: Mark, end: usize, out: &mut String) {
        match text.get(copied..from.input) {
            Some(unchanged) => out.push_str(unchanged),
            None => out.truncate(from.output),
        }
        write_plain(&text[from.input..end], self.form, self.simplifier, out);
    }
}

/// The normal form of one character of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// None.
    LeftOut,
    /// One character; a space or line feed for white space, of which a run becomes one.
    One(char),
    /// One character, twice.
    Double(char),
    /// One character, [unless](Normalizer::may_be_in_phrase) its neighbours make a phrase of it.
    UnlessInPhrase(char),
    /// Only the libraries know it, from the whole text.
    Unknown,
}

/// A run of Han characters, of characters that need the libraries, or of both.
struct Stretch {
    from: Mark,
    by_library: bool,
}

#[derive(Clone, Copy)]
struct Mark {
    input: usize,
    output: usize,
}

/// The first character that may be in OpenCC's dictionaries.
const HAN_MIN: char = '\u{2e80}';

/// White space of a normal form.
const SPACES: [char; 2] = [' ', '\n'];

/// Appends the normal form of `text` as the libraries give it, step by step.
fn write_plain(text: &str, form: NormalForm, simplifier: Option<&Simplifier>, out: &mut String) {
    let folded = if form.is_first() {
        text.nfkc().flat_map(char::to_lowercase).map(fold_sigma).collect()
    } else {
        let mut folded = String::with_capacity(text.len());
        for c in text.chars().filter(|&c| !is_ignored(c)).nfkc() {
            letters::fold_case(c, |c| {
                if !is_ignored(c) {
                    letters::push_folded(c, &mut folded);
                }
            });
        }
        if form.folds() {
            folded = letters::without_diacritics(&folded);
        }
        match is_nfc_quick(folded.chars()) {
            IsNormalized::Yes => folded,
            _ => folded.nfc().collect(),
        }
    };
    let has_han = |text: &str| text.chars().any(|c| c >= HAN_MIN);
    let simplified = match simplifier {
        Some(simplifier) if has_han(&folded) => simplifier.convert(&folded),
        _ => folded,
    };
    for c in simplified.chars() {
        match (form.is_first(), simplifier) {
            (false, Some(_)) => push(letters::later_simplified(line_end(c)), out),
            (false, None) => push(line_end(c), out),
            (true, _) => push(if c.is_whitespace() { ' ' } else { c }, out),
        }
    }
}

fn fold_sigma(c: char) -> char {
    if c == 'ς' { 'σ' } else { c }
}

/// Returns a line feed for a character that ends a line, a space for other white space, and all
/// others unchanged.
fn line_end(c: char) -> char {
    match c {
        '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        _ if c.is_whitespace() => ' ',
        _ => c,
    }
}

/// Appends a character; white space only after something else, and a run of white space as one
/// character.
fn push(c: char, out: &mut String) {
    if !c.is_whitespace() || !out.is_empty() && !out.ends_with(SPACES) {
        out.push(c);
    } else if c == '\n' && out.ends_with(' ') {
        out.pop();
        out.push(c);
    }
}

#[cfg(test)]
pub(crate) mod tests;
