//! The table of codes: what a character of a text adds to the characters that are compared, in one
//! look-up.

use std::sync::OnceLock;

use lanes::{ByteKind, Words};

use super::characters::{CJK, CODE_MASK, Class, Code, class};
use crate::NormalForm;
use crate::normalize::{Form, Normalizer};
use crate::numbers;

const LEN: usize = 1 << 16;

/// The effect of a character on the sequence of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Effect {
    /// Is compared.
    Letter,
    /// Is as if absent.
    Nothing,
    /// Ends a word.
    Gap,
    /// Ends a word and a line.
    LineEnd,
    /// Ends a word, and is compared if it carries meaning.
    Symbol,
    /// Is compared, and a number may begin with it.
    Numeric,
    /// Is compared as another character.
    Variant,
    /// Has the effect of its form, twice.
    Double,
    /// Is compared, unless a phrase changes it.
    Phrase,
    /// Is not known without the libraries.
    Unknown,
}

const EFFECTS: [Effect; 10] = [
    Effect::Letter,
    Effect::Nothing,
    Effect::Gap,
    Effect::LineEnd,
    Effect::Symbol,
    Effect::Numeric,
    Effect::Variant,
    Effect::Double,
    Effect::Phrase,
    Effect::Unknown,
];

/// The entry of a character: the code of its form, and above the 21 bits of a character its effect
/// and its part in numbers.
#[derive(Clone, Copy)]
pub(super) struct Entry(u32);

const EFFECT_SHIFT: u32 = CODE_MASK.trailing_ones();
const EFFECT_MASK: u32 = 15 << EFFECT_SHIFT;
/// The form is a digit; a numeral or the word for a point; a separator of digits.
const DIGIT: u32 = 1 << 25;
const NUMERAL: u32 = 1 << 26;
const SEPARATOR: u32 = 1 << 27;
/// A reader of numbers must see the form, not the character.
const CHANGED: u32 = 1 << 28;

impl Entry {
    fn new(c: char, form: Form, class: impl Fn(char) -> Class) -> Self {
        let one = match form {
            Form::LeftOut => return Self((Effect::Nothing as u32) << EFFECT_SHIFT | CHANGED),
            Form::Unknown => return Self((Effect::Unknown as u32) << EFFECT_SHIFT | CHANGED),
            Form::One(one) | Form::Double(one) | Form::UnlessInPhrase(one) => one,
        };
        let class = class(one);
        let effect = match (form, class) {
            // No such character is known.
            (Form::Double(_), Class::Digit | Class::Numeral | Class::Variant) => Effect::Unknown,
            (Form::Double(_), _) => Effect::Double,
            (Form::UnlessInPhrase(_), Class::Cjk | Class::Variant) => Effect::Phrase,
            (Form::UnlessInPhrase(_), _) => Effect::Unknown,
            (_, Class::Ignored) => Effect::Nothing,
            (_, Class::Gap) => Effect::Gap,
            (_, Class::LineEnd) => Effect::LineEnd,
            (_, Class::Symbol) => Effect::Symbol,
            (_, Class::Letter | Class::Cjk) => Effect::Letter,
            (_, Class::Digit | Class::Numeral) => Effect::Numeric,
            (_, Class::Variant) => Effect::Variant,
        };
        let mut bits = u32::from(one) | (effect as u32) << EFFECT_SHIFT;
        if class >= Class::Cjk {
            bits |= CJK;
        }
        bits |= if numbers::is_digit(one) { DIGIT } else { 0 };
        bits |= if numbers::is_numeral(one) || one == numbers::POINT { NUMERAL } else { 0 };
        bits |= if numbers::is_separator(one) { SEPARATOR } else { 0 };
        if (one != c || matches!(form, Form::Double(_))) && (numbers::is_read(one) || numbers::is_read(c)) {
            bits |= CHANGED;
        }
        Self(bits)
    }

    #[inline]
    pub(super) fn effect(self) -> Effect {
        EFFECTS.get(((self.0 & EFFECT_MASK) >> EFFECT_SHIFT) as usize).copied().unwrap_or(Effect::Unknown)
    }

    /// Returns true for [`Effect::Letter`].
    #[inline]
    pub(super) fn is_letter(self) -> bool {
        self.0 & EFFECT_MASK == 0
    }

    /// The code of a letter.
    #[inline]
    pub(super) fn code(self) -> Code {
        self.0 & (CJK | CODE_MASK)
    }

    /// The form.
    #[inline]
    pub(super) fn char(self) -> char {
        char::from_u32(self.0 & CODE_MASK).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn is_left_out(self) -> bool {
        self.effect() == Effect::Nothing && self.0 & CODE_MASK == 0
    }

    fn has(self, flags: u32) -> bool {
        self.0 & flags != 0
    }
}

/// The codes of the characters of texts, or of texts in normal form.
pub(crate) struct Table {
    of: Box<[Entry; LEN]>,
    words: Words,
    form: NormalForm,
    normalizer: Option<Normalizer>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("form", &self.form).finish_non_exhaustive()
    }
}

impl Table {
    /// Returns the table for texts that are to be brought into a form, with simplified Chinese.
    pub(crate) fn of_texts(form: NormalForm) -> &'static Self {
        static TABLES: [OnceLock<Table>; 3] = [const { OnceLock::new() }; 3];
        let of_form = if form.is_first() { 0 } else { 1 + usize::from(form.folds()) };
        TABLES[of_form].get_or_init(|| Self::new(form, Some(Normalizer::new(form, true))))
    }

    /// Returns the table for texts that are in a form. It knows all characters.
    pub(crate) fn of_normal_forms(form: NormalForm) -> &'static Self {
        static TABLES: [OnceLock<Table>; 2] = [const { OnceLock::new() }; 2];
        TABLES[usize::from(!form.is_first())].get_or_init(|| Self::new(form, None))
    }

    fn new(form: NormalForm, normalizer: Option<Normalizer>) -> Self {
        let make = |c| Self::make(form, normalizer.as_ref(), c);
        let mut of = vec![make('\0'); LEN];
        ('\0'..='\u{ffff}').for_each(|c| of[c as usize] = make(c));
        let words = Words::new(|byte| {
            let entry = of[usize::from(byte)];
            match entry.effect() {
                Effect::Letter if entry.code() == Code::from(byte | 0x20) => ByteKind::Letter,
                Effect::Numeric if entry.code() == Code::from(byte) => ByteKind::Digit,
                Effect::Gap | Effect::LineEnd => ByteKind::Gap,
                _ => ByteKind::Other,
            }
        });
        let of = of.try_into().unwrap_or_else(|_| unreachable!("one entry a code"));
        Self { of, words, form, normalizer }
    }

    fn make(form: NormalForm, normalizer: Option<&Normalizer>, c: char) -> Entry {
        let form_of_c = normalizer.map_or(Form::One(c), |normalizer| normalizer.form_of(c));
        Entry::new(c, form_of_c, |c| class(form, c))
    }

    #[inline]
    pub(super) fn entry(&self, c: char) -> Entry {
        self.of.get(c as usize).copied().unwrap_or_else(|| Self::make(self.form, self.normalizer.as_ref(), c))
    }

    #[inline]
    pub(super) fn entry_of_code(&self, code: u16) -> Entry {
        self.of[usize::from(code)]
    }

    pub(super) fn form(&self) -> NormalForm {
        self.form
    }

    /// The bytes of ASCII that are read many at a time.
    #[inline]
    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    pub(super) fn may_be_in_phrase(&self, text: &str, at: usize) -> bool {
        self.normalizer.as_ref().is_some_and(|normalizer| normalizer.may_be_in_phrase(text, at))
    }

    /// Hands the numbers of the row that begins at `at` to `numbers`: of all characters there that
    /// can be part of a number. Returns the end of the row.
    #[inline(never)]
    pub(super) fn read_numbers(&self, text: &str, at: usize, numbers: &mut numbers::Digest) -> usize {
        if let Some(end) = numbers.read_ascii(text, at) {
            return end;
        }
        let (end, mut is_changed) = self.row(text, at);
        // Two characters on either side may decide if a single numeral is a number.
        let beside =
            |chars: &mut dyn Iterator<Item = char>| chars.take(2).any(|c| self.entry(c).has(CHANGED));
        is_changed |= beside(&mut text[..at].chars().rev()) || beside(&mut text[end..].chars());
        if is_changed {
            self.read_changed(text, at, end, numbers);
        } else {
            numbers.read_row(text, at, end);
        }
        end
    }

    /// Returns the end of the row at `at`, and true if its form is another.
    fn row(&self, text: &str, at: usize) -> (usize, bool) {
        let (mut end, mut is_changed, mut after_digit) = (at, false, false);
        let mut rest = text[at..].chars();
        while let Some(c) = rest.next() {
            let entry = self.entry(c);
            if !entry.is_left_out() {
                let is_part = if entry.has(SEPARATOR) {
                    let mut after = rest.clone().map(|c| self.entry(c)).filter(|entry| !entry.is_left_out());
                    after_digit && after.next().is_some_and(|entry| entry.has(DIGIT))
                } else {
                    entry.has(DIGIT | NUMERAL)
                };
                if !is_part {
                    break;
                }
                after_digit = entry.has(DIGIT);
            }
            is_changed |= entry.has(CHANGED);
            end = text.len() - rest.as_str().len();
        }
        (end, is_changed)
    }

    /// Reads a row by the form of its characters and of two on either side.
    #[cold]
    fn read_changed(&self, text: &str, at: usize, end: usize, numbers: &mut numbers::Digest) {
        let is_there = |&c: &char| !self.entry(c).is_left_out();
        let before: Vec<char> = text[..at].chars().rev().filter(is_there).take(2).collect();
        let mut form = String::new();
        let push = |c: char, form: &mut String| {
            let entry = self.entry(c);
            match entry.effect() {
                Effect::Double => form.extend([entry.char(); 2]),
                _ => form.push(entry.char()),
            }
        };
        before.into_iter().rev().for_each(|c| push(c, &mut form));
        let from = form.len();
        text[at..end].chars().filter(is_there).for_each(|c| push(c, &mut form));
        let to = form.len();
        text[end..].chars().filter(is_there).take(2).for_each(|c| push(c, &mut form));
        numbers.read_row(&form, from, to);
    }
}
