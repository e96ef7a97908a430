//! One entry for each character of the Basic Multilingual Plane: its normal form, where that is a single character
//! whatever stands beside it.

use std::sync::OnceLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::fold_sigma;
use super::simplify::Simplifier;

const LEN: usize = 1 << 16;

/// The normal form of a character: 21 bits of it, and flags.
#[derive(Clone, Copy)]
pub(super) struct Entry(u32);

const CHAR_MASK: u32 = 0x1f_ffff;
const ALONE: u32 = 1 << 31;
const HAN: u32 = 1 << 30;
const NEIGHBOURS: u32 = 1 << 29;
const SPACE: u32 = 1 << 28;

impl Entry {
    /// A character of which only the libraries know what becomes of it.
    const UNKNOWN: Self = Self(0);

    /// Whether the character becomes one character, neither side of which composes with anything that stands alone.
    #[inline]
    pub(super) fn stands_alone(self) -> bool {
        self.0 & ALONE != 0
    }

    /// Whether phrases of the simplifier may reach across it.
    #[inline]
    pub(super) fn is_han(self) -> bool {
        self.0 & HAN != 0
    }

    /// Whether a phrase of the simplifier may change it.
    #[inline]
    pub(super) fn depends_on_neighbours(self) -> bool {
        self.0 & NEIGHBOURS != 0
    }

    /// Whether it becomes white space.
    #[inline]
    pub(super) fn is_space(self) -> bool {
        self.0 & SPACE != 0
    }

    /// Whether `c`, whose entry this is and which stands alone, becomes itself.
    #[inline]
    pub(super) fn stays(self, c: char) -> bool {
        self.0 & CHAR_MASK == u32::from(c)
    }

    /// What a character that stands alone becomes.
    #[inline]
    pub(super) fn char(self) -> char {
        char::from_u32(self.0 & CHAR_MASK).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn of(c: char, simplifier: Option<&Simplifier>) -> Self {
        let Some(folded) = fold(c) else { return Self::UNKNOWN };
        let (simplified, mut flags) = (simplifier.map_or(folded, |s| s.convert_char(folded)), ALONE);
        if folded.is_whitespace() {
            return Self(u32::from(' ') | ALONE | SPACE);
        }
        if simplifier.is_some() && is_ideograph(folded) {
            flags |= HAN;
            if Simplifier::depends_on_neighbours(folded) {
                flags |= NEIGHBOURS;
            }
        }
        Self(u32::from(simplified) | flags)
    }
}

/// NFKC and lower case of a character that becomes one character and starts a normalisation boundary (UAX #15,
/// section 9: a starter whose NFC quick check is `Yes`), so that what is before it never touches it. What comes after
/// may: a combining mark is not such a character, and takes its predecessor with it to the libraries.
fn fold(c: char) -> Option<char> {
    let mut nfkc = std::iter::once(c).nfkc();
    let composed = nfkc.next().filter(|_| nfkc.next().is_none())?;
    let starts_boundary =
        |c| canonical_combining_class(c) == 0 && is_nfc_quick([c].into_iter()) == IsNormalized::Yes;
    // Of the character itself too: a decomposition may start with what composes, whatever its composition does.
    let first = std::iter::once(c).nfkd().next()?;
    if !starts_boundary(composed) || !starts_boundary(first) {
        return None;
    }
    let mut lower = composed.to_lowercase();
    lower.next().filter(|_| lower.next().is_none()).map(fold_sigma)
}

/// The characters of which the simplifier's phrases are made: CJK Unified Ideographs and Extension A. (Those of other
/// planes are not in the table, and so always go to the libraries.)
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// The table.
pub(super) struct Table {
    entries: Box<[Entry; LEN]>,
}

impl Table {
    /// The one table of this process for `simplify`.
    pub(super) fn get(simplify: bool) -> &'static Self {
        static TABLES: [OnceLock<Table>; 2] = [OnceLock::new(), OnceLock::new()];
        TABLES[usize::from(simplify)].get_or_init(|| Self::new(simplify.then(Simplifier::get)))
    }

    fn new(simplifier: Option<&Simplifier>) -> Self {
        let entry = |code| char::from_u32(code).map_or(Entry::UNKNOWN, |c| Entry::of(c, simplifier));
        let entries: Vec<Entry> = (0..LEN as u32).map(entry).collect();
        Self {
            entries: entries.try_into().unwrap_or_else(|_| unreachable!("the table has one entry a code")),
        }
    }

    #[inline]
    pub(super) fn entry(&self, c: char) -> Entry {
        self.entries.get(c as usize).copied().unwrap_or(Entry::UNKNOWN)
    }
}
