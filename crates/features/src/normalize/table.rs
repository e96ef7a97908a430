//! The table of normal forms, with an entry for each character of the Basic Multilingual Plane: the
//! character's form, if it is a single character whatever its neighbours.

use std::sync::OnceLock;

use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::ignored::is_ignored;
use super::simplify::{Simplifier, is_ideograph};
use super::write_plain;
use crate::NormalForm;

const LEN: usize = 1 << 16;

/// The normal form of a character: 21 bits for the character, and flags.
#[derive(Clone, Copy)]
pub(super) struct Entry(u32);

const CHAR_MASK: u32 = 0x1f_ffff;
const ALONE: u32 = 1 << 31;
const HAN: u32 = 1 << 30;
const NEIGHBOURS: u32 = 1 << 29;
const SPACE: u32 = 1 << 28;
const LEFT_OUT: u32 = 1 << 27;
const DOUBLE: u32 = 1 << 26;

impl Entry {
    /// The entry of a character whose form only the libraries know.
    const UNKNOWN: Self = Self(0);

    /// Returns the entry of a character outside the table: pictures, which no form changes and
    /// nothing composes with, or unknown.
    fn beyond(c: char) -> Self {
        match c {
            '\u{1f300}'..='\u{1faff}' => Self(u32::from(c) | ALONE),
            _ => Self::UNKNOWN,
        }
    }

    /// Returns true if the character becomes one character, and composes with no character beside
    /// it that stands alone too.
    #[inline]
    pub(super) fn stands_alone(self) -> bool {
        self.0 & ALONE != 0
    }

    /// Returns true if phrases of the simplifier may reach across the character.
    #[inline]
    pub(super) fn is_han(self) -> bool {
        self.0 & HAN != 0
    }

    /// Returns true if a phrase of the simplifier may change the character.
    #[inline]
    pub(super) fn depends_on_neighbours(self) -> bool {
        self.0 & NEIGHBOURS != 0
    }

    /// Returns true if the character becomes white space.
    #[inline]
    pub(super) fn is_space(self) -> bool {
        self.0 & SPACE != 0
    }

    /// Returns true if `c`, the character of this entry, becomes itself. `c` must stand alone.
    #[inline]
    pub(super) fn stays(self, c: char) -> bool {
        self.0 & CHAR_MASK == u32::from(c)
    }

    /// Returns the form of a character that stands alone.
    #[inline]
    pub(super) fn char(self) -> char {
        char::from_u32(self.0 & CHAR_MASK).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Returns true if the normal form leaves the character out.
    #[inline]
    pub(super) fn is_left_out(self) -> bool {
        self.0 & LEFT_OUT != 0
    }

    /// Returns true if the character becomes [`char`](Self::char) twice.
    #[inline]
    pub(super) fn is_double(self) -> bool {
        self.0 & DOUBLE != 0
    }

    fn of(c: char, form: NormalForm, simplifier: Option<&Simplifier>) -> Self {
        if !form.is_first() && is_ignored(c) {
            return Self(LEFT_OUT);
        }
        let Some((folded, is_double)) = fold(c, form) else { return Self::UNKNOWN };
        if folded.is_whitespace() {
            let space = if form.is_first() { ' ' } else { super::line_end(folded) };
            return Self(u32::from(space) | ALONE | SPACE);
        }
        let mut flags = if is_double { ALONE | DOUBLE } else { ALONE };
        let mut simplified = simplifier.map_or(folded, |s| s.convert_char(folded));
        if simplifier.is_some() && is_ideograph(folded) {
            flags |= HAN;
            if Simplifier::depends_on_neighbours(folded) {
                flags |= NEIGHBOURS;
            }
            if !form.is_first() {
                simplified = super::letters::later_simplified(simplified);
            }
        }
        Self(u32::from(simplified) | flags)
    }
}

/// Returns the folded form of a character that becomes one character, or one twice, and starts a
/// normalisation boundary: nothing before it composes with it (UAX #15, section 9: a starter whose
/// NFC quick check is `Yes`). A character after it may compose with it: a combining mark starts no
/// boundary, and takes its predecessor with it to the libraries.
fn fold(c: char, form: NormalForm) -> Option<(char, bool)> {
    // Three fifths of the table become themselves: the libraries give the same answer.
    if is_ideograph(c) || matches!(c, '\u{ac00}'..='\u{d7a3}') {
        return Some((c, false));
    }
    let mut nfkc = std::iter::once(c).nfkc();
    let composed = nfkc.next().filter(|_| nfkc.next().is_none())?;
    let starts_boundary =
        |c| canonical_combining_class(c) == 0 && is_nfc_quick([c].into_iter()) == IsNormalized::Yes;
    // The character itself must start one too: a decomposition may start with a character that
    // composes, even if the composed form does not.
    let first = std::iter::once(c).nfkd().next()?;
    if !starts_boundary(composed) || !starts_boundary(first) {
        return None;
    }
    // A mark that is left out only on letters depends on the character before it.
    if form.folds() && is_combining_mark(composed) {
        return None;
    }
    if c.is_whitespace() || composed.is_whitespace() {
        return Some((composed, false));
    }
    let mut written = String::new();
    write_plain(c.encode_utf8(&mut [0; 4]), form, None, &mut written);
    let mut folded = written.chars();
    match [folded.next(), folded.next(), folded.next()] {
        [Some(one), None, None] if starts_boundary(one) => Some((one, false)),
        [Some(one), Some(other), None] if one == other && starts_boundary(one) => Some((one, true)),
        _ => None,
    }
}

/// The table.
pub(super) struct Table {
    entries: Box<[Entry; LEN]>,
}

impl Table {
    /// Returns the process's one table for a form and `simplify`.
    pub(super) fn get(form: NormalForm, simplify: bool) -> &'static Self {
        static TABLES: [OnceLock<Table>; 6] = [const { OnceLock::new() }; 6];
        let of_form = if form.is_first() { 0 } else { 1 + usize::from(form.folds()) };
        let simplifier = || simplify.then(Simplifier::get);
        TABLES[2 * of_form + usize::from(simplify)].get_or_init(|| Self::new(form, simplifier()))
    }

    fn new(form: NormalForm, simplifier: Option<&Simplifier>) -> Self {
        let entry = |code| char::from_u32(code).map_or(Entry::UNKNOWN, |c| Entry::of(c, form, simplifier));
        let entries: Vec<Entry> = (0..LEN as u32).map(entry).collect();
        Self {
            entries: entries.try_into().unwrap_or_else(|_| unreachable!("the table has one entry a code")),
        }
    }

    #[inline]
    pub(super) fn entry(&self, c: char) -> Entry {
        self.entries.get(c as usize).copied().unwrap_or_else(|| Entry::beyond(c))
    }
}
