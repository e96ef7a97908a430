//! The characters of a text that are compared: letters, digits and marks in normal form, symbols
//! with a meaning, and one space between words.

use std::sync::OnceLock;

use unicode_normalization::char::is_combining_mark;

use crate::{NormalForm, numbers};

use super::symbols;

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

/// The effect of a character on the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Class {
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

/// The classes of the Basic Multilingual Plane.
pub(crate) struct Classes {
    of: Box<[Class; 1 << 16]>,
    form: NormalForm,
}

impl Classes {
    /// Returns the classes of a form.
    pub(crate) fn get(form: NormalForm) -> &'static Self {
        static CLASSES: [OnceLock<Classes>; 2] = [const { OnceLock::new() }; 2];
        CLASSES[usize::from(!form.is_first())].get_or_init(|| {
            let class = |code| char::from_u32(code).map_or(Class::Gap, |c| class(form, c));
            let of: Vec<Class> = (0..1 << 16).map(class).collect();
            Self { of: of.try_into().unwrap_or_else(|_| unreachable!("one class a code")), form }
        })
    }

    #[inline]
    fn class(&self, c: char) -> Class {
        self.of.get(c as usize).copied().unwrap_or_else(|| class(self.form, c))
    }
}

impl std::fmt::Debug for Classes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Classes").field("form", &self.form).finish_non_exhaustive()
    }
}

fn class(form: NormalForm, c: char) -> Class {
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
    pub(crate) fn clear(&mut self) {
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

    /// Replaces the characters by those of a text in normal form, and hands its numbers to
    /// `numbers`.
    pub(crate) fn read(&mut self, classes: &Classes, normal_form: &str, numbers: &mut numbers::Digest) {
        self.clear();
        let mut number_end = 0;
        for (at, c) in normal_form.char_indices() {
            if self.push(classes, c) && at >= number_end {
                number_end = numbers.read(normal_form, at);
            }
        }
        self.finish();
    }

    /// Returns the characters that are compared, as a text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.codes.len() + self.codes.len() / 8);
        text.extend(self.codes.iter().filter_map(|code| char::from_u32(code & CODE_MASK)));
        text
    }

    /// Replaces the characters by those of a [`text`](Self::text) made with the same classes.
    pub(crate) fn read_text(&mut self, classes: &Classes, text: &str) {
        self.clear();
        let code = |c: char| {
            let flag = match classes.class(c) {
                Class::Symbol => SYMBOL,
                Class::Cjk | Class::Numeral | Class::Variant => CJK,
                _ => 0,
            };
            u32::from(c) | flag
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

    /// Reads a character. Returns true if a number may begin with it.
    #[inline]
    pub(crate) fn push(&mut self, classes: &Classes, c: char) -> bool {
        let class = classes.class(c);
        if class >= Class::Letter {
            let mut code = u32::from(c) | u32::from(class >= Class::Cjk) << CJK.trailing_zeros();
            if class == Class::Variant {
                code = u32::from(variant(c)) | CJK;
            }
            if self.gap != 0 {
                self.close_gap(code);
            }
            self.codes.push(code);
            return matches!(class, Class::Digit | Class::Numeral);
        }
        match class {
            Class::Gap => self.gap |= GAP,
            Class::LineEnd => self.gap |= GAP | LINE_END,
            Class::Symbol => self.push_symbol(c),
            _ => {}
        }
        false
    }

    /// Ends a text: decides on the symbols at its end.
    pub(crate) fn finish(&mut self) {
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
pub(super) fn symbols_of(normalized: &str, classes: &Classes) -> Vec<Code> {
    let mut codes: Vec<Code> = Vec::new();
    for c in normalized.chars().filter(|&c| !c.is_whitespace() && classes.class(c) != Class::Ignored) {
        let code = u32::from(c);
        if !codes.ends_with(&[code, code]) {
            codes.push(code);
        }
    }
    codes
}
