//! The characters of a text that are compared: letters, digits and marks in normal form, symbols
//! with a meaning, and one space between words.

use unicode_normalization::char::is_combining_mark;

use crate::{NormalForm, numbers};

use super::symbols;
use super::table::{Effect, Table};

/// A character to compare: its code, with a flag on top for CJK or a symbol.
pub type Code = u32;

/// The flag of a character of Han, kana, bopomofo or hangul: of the scripts without spaces, or in
/// which four characters are a phrase.
pub(crate) const CJK: Code = 1 << 31;

/// The flag of a symbol, which has no space beside it either.
pub(crate) const SYMBOL: Code = 1 << 30;

/// The space between words.
pub(crate) const SPACE: Code = ' ' as Code;

/// The code alone.
pub(crate) const CODE_MASK: Code = 0x1f_ffff;

/// The class of a character of a normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Is as if absent: joiners, soft hyphens, variation selectors.
    Ignored,
    /// Ends a word.
    Gap,
    /// Ends a word and a line.
    LineEnd,
    /// Ends a word, and is compared if it carries meaning.
    Symbol,
    /// Is compared.
    Letter,
    /// Is compared, and a number may begin with it.
    Digit,
    /// Is compared, and has no space beside it.
    Cjk,
    /// Is as [`Cjk`](Self::Cjk), and a number may begin with it.
    Numeral,
    /// Is as [`Cjk`](Self::Cjk), but compared as another character.
    Variant,
}

/// Returns the class of a character in a form.
pub(super) fn class(form: NormalForm, c: char) -> Class {
    let first = first_class(c);
    match first {
        _ if form.is_first() => first,
        Class::Gap if c == '\n' => Class::LineEnd,
        Class::Gap if symbols::may_count(c) => Class::Symbol,
        Class::Letter if numbers::is_digit(c) => Class::Digit,
        Class::Cjk if numbers::is_numeral(c) => Class::Numeral,
        Class::Cjk if variant(c) != c => Class::Variant,
        _ => first,
    }
}

/// Returns the character that stands for its variants: regional ways to write one, of
/// `HKVariants.txt` and `TWVariants.txt` of OpenCC, that no conversion to simplified Chinese
/// unites; and `沈`, which books before 1935 have for `沉`. Not part of the normal form, where words
/// are looked up: the name `沈` is no `沉`.
fn variant(c: char) -> char {
    match c {
        '沈' => '沉',
        '著' => '着',
        '簷' => '檐',
        '痺' => '痹',
        '衞' => '卫',
        '枱' => '台',
        _ => c,
    }
}

/// Returns the class of a character in version 1.
fn first_class(c: char) -> Class {
    match c {
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' => Class::Ignored,
        // Marks that go around symbols, as of keycaps.
        '\u{20d0}'..='\u{20ff}' => Class::Gap,
        '\u{1100}'..='\u{11ff}'
        | '々'..='〇'
        | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{3035}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{318e}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97c}'
        | '\u{ac00}'..='\u{d7fb}'
        | '\u{f900}'..='\u{faff}'
        | '\u{1b000}'..='\u{1b16f}'
        | '\u{20000}'..='\u{3ffff}' => Class::Cjk,
        _ if c.is_alphanumeric() || is_combining_mark(c) => Class::Letter,
        _ => Class::Gap,
    }
}

/// The characters of a text to compare, read one by one from its normal form.
#[derive(Debug, Default)]
pub(crate) struct Characters {
    codes: Vec<Code>,
    gap: u8,
    run: symbols::Run,
}

/// Flags for everything since the last code: white space or punctuation, the end of a line,
/// symbols.
const GAP: u8 = 1;
const LINE_END: u8 = 2;
const RUN: u8 = 4;

impl Characters {
    /// Forgets the text.
    fn clear(&mut self) {
        self.codes.clear();
        self.gap = 0;
    }

    /// The characters that are compared.
    pub(crate) fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// Gives back the memory beyond `n_max` codes.
    pub(crate) fn shrink_to(&mut self, n_max: usize) {
        self.codes.shrink_to(n_max);
    }

    /// Replaces the characters by those of a text, and hands its numbers to `numbers`. Returns
    /// false, with some of the characters, if the table does not know one of the text.
    pub(crate) fn read(&mut self, table: &Table, text: &str, numbers: &mut numbers::Digest) -> bool {
        self.clear();
        let bytes = text.as_bytes();
        let (mut at, mut number_end) = (0, 0_usize);
        while at < bytes.len() {
            if bytes[at].is_ascii() && self.gap & RUN == 0 {
                at += self.read_ascii(table, &bytes[at..], number_end.saturating_sub(at));
            } else {
                at += self.read_letters(table, &bytes[at..]);
            }
            let Some(c) = text[at..].chars().next() else { break };
            let entry = table.entry(c);
            match entry.effect() {
                Effect::Letter => self.push(entry.code()),
                Effect::Nothing => {}
                Effect::Gap => self.gap |= GAP,
                Effect::LineEnd => self.gap |= GAP | LINE_END,
                Effect::Symbol => self.push_symbol(entry.char()),
                Effect::Numeric => {
                    if at >= number_end {
                        number_end = table.read_numbers(text, at, numbers);
                    }
                    self.push(entry.code());
                }
                Effect::Double => (0..2).for_each(|_| self.push_char(table.form(), entry.char())),
                Effect::Phrase if table.may_be_in_phrase(text, at) => return false,
                Effect::Phrase if table.form().is_first() => self.push(entry.code()),
                Effect::Variant | Effect::Phrase => self.push(u32::from(variant(entry.char())) | CJK),
                Effect::Unknown => return false,
            }
            at += c.len_utf8();
        }
        self.finish();
        true
    }

    /// Reads letters of three bytes, as of Chinese. Returns the number of bytes that they take.
    #[inline]
    fn read_letters(&mut self, table: &Table, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while let [first @ 0xe0..=0xef, second, third, after @ ..] = rest {
            let bits = |byte: u8| u16::from(byte & 0x3f);
            let entry = table.entry_of_code(u16::from(*first) << 12 | bits(*second) << 6 | bits(*third));
            if !entry.is_letter() {
                break;
            }
            self.push(entry.code());
            rest = after;
        }
        bytes.len() - rest.len()
    }

    /// Reads words of ASCII up to a byte that must be looked at alone; `number_len` bytes are part
    /// of numbers that were read. Returns the number of bytes that they take.
    fn read_ascii(&mut self, table: &Table, bytes: &[u8], number_len: usize) -> usize {
        // A space stands at the end of the codes as long as a gap is open.
        let gap_before = self.gap;
        let is_beside_word = self.codes.last().is_some_and(|last| last & (CJK | SYMBOL) == 0);
        if gap_before != 0 && is_beside_word {
            self.codes.push(SPACE);
        }
        let after_gap = gap_before != 0 || !is_beside_word;
        let (len, _) = table.words().read(bytes, number_len, after_gap, &mut self.codes);
        if self.codes.last() == Some(&SPACE) {
            self.codes.pop();
        }
        if len > 0 {
            let (mut gap, mut n_gap) = (0, 0);
            for &byte in bytes[..len].iter().rev().take_while(|&&byte| table.words().is_gap(byte)) {
                let is_line_end = table.entry(char::from(byte)).effect() == Effect::LineEnd;
                gap |= if is_line_end { GAP | LINE_END } else { GAP };
                n_gap += 1;
            }
            self.gap = if n_gap == len { gap_before | gap } else { gap };
        }
        len
    }

    /// Returns the characters that are compared, as a text.
    pub(crate) fn text(&self) -> String {
        lanes::text_of(&self.codes)
    }

    /// Replaces the characters by those of a [`text`](Self::text) made with the same classes.
    pub(crate) fn read_text(&mut self, table: &Table, text: &str) {
        self.clear();
        let code = |c: char| {
            let entry = table.entry(c);
            match entry.effect() {
                Effect::Symbol => u32::from(c) | SYMBOL,
                _ => u32::from(c) | entry.code() & CJK,
            }
        };
        // ASCII apart from all else, as an iterator of known length is several times as fast.
        for run in text.as_bytes().chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
            if run[0].is_ascii() {
                self.codes.extend(run.iter().map(|&byte| code(char::from(byte))));
            } else {
                self.codes.extend(str::from_utf8(run).unwrap_or_default().chars().map(code));
            }
        }
    }

    #[inline]
    fn push(&mut self, code: Code) {
        if self.gap != 0 {
            self.close_gap(code);
        }
        self.codes.push(code);
    }

    /// Reads a character of a normal form by its class.
    #[cold]
    fn push_char(&mut self, form: NormalForm, c: char) {
        match class(form, c) {
            Class::Ignored => {}
            Class::Gap => self.gap |= GAP,
            Class::LineEnd => self.gap |= GAP | LINE_END,
            Class::Symbol => self.push_symbol(c),
            Class::Letter | Class::Digit => self.push(u32::from(c)),
            Class::Cjk | Class::Numeral => self.push(u32::from(c) | CJK),
            Class::Variant => self.push(u32::from(variant(c)) | CJK),
        }
    }

    /// Does as [`read`](Self::read) with a text in normal form, one character after the other: what
    /// the table is held against.
    #[cfg(test)]
    pub(super) fn read_plain(&mut self, form: NormalForm, normal_form: &str) {
        self.clear();
        normal_form.chars().for_each(|c| self.push_char(form, c));
        self.finish();
    }

    /// Ends a text: decides on the symbols at its end.
    fn finish(&mut self) {
        if self.gap & RUN != 0 {
            self.end_run(None);
        }
    }

    #[inline]
    fn close_gap(&mut self, code: Code) {
        if self.gap & RUN != 0 {
            self.end_run(Some(code));
        }
        self.gap = 0;
        if let Some(last) = self.codes.last()
            && (last | code) & (CJK | SYMBOL) == 0
        {
            self.codes.push(SPACE);
        }
    }

    #[inline(never)]
    fn push_symbol(&mut self, c: char) {
        if self.gap == RUN {
            self.run.push(c);
            return;
        }
        if self.gap & RUN != 0 {
            self.end_run(None);
        }
        self.run = symbols::Run::new(c, self.gap);
        self.gap = RUN;
    }

    /// Decides if the last symbols count, with `next` as the character after them.
    #[inline(never)]
    fn end_run(&mut self, next: Option<Code>) {
        let (before, after) = (self.run.gap(), self.gap & !RUN);
        let side = |code: Option<Code>, gap: u8| symbols::Side {
            code: code.filter(|_| gap & LINE_END == 0),
            is_at: gap == 0,
        };
        self.gap = before | after | GAP;
        if self.run.counts(side(self.codes.last().copied(), before), side(next, after)) {
            self.codes.extend(self.run.codes());
            self.gap = after;
        }
    }
}

/// Returns the symbols of a text in normal form without letters: no white space, and two for three
/// and more of a kind in a row.
pub(super) fn symbols_of(normal_form: &str, table: &Table) -> Vec<Code> {
    let mut codes: Vec<Code> = Vec::new();
    let is_symbol = |&c: &char| !c.is_whitespace() && table.entry(c).effect() != Effect::Nothing;
    for c in normal_form.chars().filter(is_symbol) {
        let code = u32::from(c);
        if !codes.ends_with(&[code, code]) {
            codes.push(code);
        }
    }
    codes
}
