//! What of a text is compared: letters, digits and marks in normal form, and one space for what is between words.

use std::sync::OnceLock;

use unicode_normalization::char::is_combining_mark;

/// A character to compare: its code, and [`CJK`].
pub(super) type Code = u32;

/// On top of the code of a character of the scripts that are written without spaces, or where four characters are a phrase:
/// Han, kana, bopomofo and hangul.
pub(super) const CJK: Code = 1 << 31;

/// The code alone.
pub(super) const CODE_MASK: Code = 0x1f_ffff;

/// What a character does to the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    /// As if it were not there: joiners, soft hyphens, variation selectors.
    Ignored,
    /// Ends a word.
    Gap,
    /// Is compared.
    Letter,
    /// Is compared, and has no space beside it.
    Cjk,
}

/// The classes of the Basic Multilingual Plane.
pub(super) struct Classes {
    of: Box<[Class; 1 << 16]>,
}

impl Classes {
    pub(super) fn get() -> &'static Self {
        static CLASSES: OnceLock<Classes> = OnceLock::new();
        CLASSES.get_or_init(|| {
            let class = |code| char::from_u32(code).map_or(Class::Gap, class);
            let of: Vec<Class> = (0..1 << 16).map(class).collect();
            Self { of: of.try_into().unwrap_or_else(|_| unreachable!("one class a code")) }
        })
    }

    #[inline]
    fn class(&self, c: char) -> Class {
        self.of.get(c as usize).copied().unwrap_or_else(|| class(c))
    }
}

/// By definition.
fn class(c: char) -> Class {
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

/// The characters of a text to compare, as its normal form comes in pieces.
#[derive(Default)]
pub(super) struct Characters {
    codes: Vec<Code>,
    after_gap: bool,
}

impl Characters {
    pub(super) fn clear(&mut self) {
        self.codes.clear();
        self.after_gap = false;
    }

    pub(super) fn codes(&self) -> &[Code] {
        &self.codes
    }

    pub(super) fn shrink_to(&mut self, n_max: usize) {
        self.codes.shrink_to(n_max);
    }

    #[inline]
    pub(super) fn push(&mut self, classes: &Classes, c: char) {
        let class = classes.class(c);
        match class {
            Class::Letter | Class::Cjk => {
                let code = u32::from(c) | if class == Class::Cjk { CJK } else { 0 };
                if std::mem::take(&mut self.after_gap)
                    && let Some(last) = self.codes.last()
                    && (last | code) & CJK == 0
                {
                    self.codes.push(u32::from(' '));
                }
                self.codes.push(code);
            }
            Class::Gap => self.after_gap = true,
            Class::Ignored => {}
        }
    }
}

/// The symbols of a text in normal form that has no letters: without white space, and of three and more in a row two.
pub(super) fn symbols(normalized: &str, classes: &Classes) -> Vec<Code> {
    let mut codes: Vec<Code> = Vec::new();
    for c in normalized.chars().filter(|&c| !c.is_whitespace() && classes.class(c) != Class::Ignored) {
        let code = u32::from(c);
        if !codes.ends_with(&[code, code]) {
            codes.push(code);
        }
    }
    codes
}
