//! Symbols that count: see [`shingles`](super#symbols).

use super::characters::{CJK, CODE_MASK, Code, SPACE, SYMBOL};

/// Returns true if a symbol may count at some place.
pub(super) fn may_count(c: char) -> bool {
    matches!(c, '+' | '#' | '%' | '‰' | '<' | '>' | '=' | '*' | '&' | '@' | '^' | '/' | '∗' | '⁄' | '∕')
        || is_currency(c)
        || is_operator(c)
}

/// Returns true for signs of currencies, the general category Sc.
fn is_currency(c: char) -> bool {
    matches!(c,
        '$' | '\u{a2}'..='\u{a5}'
        | '\u{58f}'
        | '\u{60b}'
        | '\u{7fe}'..='\u{7ff}'
        | '\u{9f2}'..='\u{9f3}'
        | '\u{9fb}'
        | '\u{af1}'
        | '\u{bf9}'
        | '\u{e3f}'
        | '\u{17db}'
        | '\u{20a0}'..='\u{20c1}'
        | '\u{a838}')
}

/// Returns true for mathematical operators that are nothing else: no dash, dot, bar, tilde, colon,
/// star or ellipsis.
fn is_operator(c: char) -> bool {
    match c {
        '\u{2212}'
        | '\u{2215}'
        | '\u{2217}'..='\u{2219}'
        | '\u{2223}'
        | '\u{2236}'
        | '\u{223c}'
        | '\u{22c5}'..='\u{22c6}'
        | '\u{22ee}'..='\u{22f1}' => false,
        '¬' | '±' | '×' | '÷' | '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}' => true,
        _ => false,
    }
}

/// Replaces `out` by the codes without symbols, with a space where only a symbol parts two words.
/// Returns false, and leaves `out` unchanged, if there are no symbols.
pub(super) fn leave_out(codes: &[Code], out: &mut Vec<Code>) -> bool {
    /// Codes that are copied together if none is a symbol.
    const BLOCK_LEN: usize = 16;
    let has_symbols = |codes: &[Code]| codes.iter().fold(0, |all, code| all | code) & SYMBOL != 0;
    if !codes.chunks(BLOCK_LEN).any(has_symbols) {
        return false;
    }
    out.clear();
    out.reserve(codes.len());
    let mut is_after_symbol = false;
    for block in codes.chunks(BLOCK_LEN) {
        if !is_after_symbol && !has_symbols(block) {
            out.extend_from_slice(block);
            continue;
        }
        for &code in block {
            if code & SYMBOL != 0 {
                is_after_symbol = true;
                continue;
            }
            let parts = |last: &Code| (last | code) & CJK == 0 && *last != SPACE && code != SPACE;
            if is_after_symbol && out.last().is_some_and(parts) {
                out.push(SPACE);
            }
            is_after_symbol = false;
            out.push(code);
        }
    }
    true
}

/// Symbols in a row, of which the first two are kept, and the gap before them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    symbols: [Code; 2],
    n: u32,
    gap: u8,
}

/// One side of a run: the nearest compared character of the line, and true in `is_at` if nothing is
/// between the two.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) code: Option<Code>,
    pub(super) is_at: bool,
}

impl Side {
    fn is_digit(self) -> bool {
        self.code.is_some_and(|code| {
            code & (CJK | SYMBOL) == 0 && char::from_u32(code & CODE_MASK).is_some_and(char::is_numeric)
        })
    }

    fn is_cjk(self) -> bool {
        self.code.is_some_and(|code| code & CJK != 0)
    }
}

impl Run {
    pub(super) fn new(c: char, gap: u8) -> Self {
        Self { symbols: [u32::from(c), 0], n: 1, gap }
    }

    pub(super) fn push(&mut self, c: char) {
        if self.n == 1 {
            self.symbols[1] = u32::from(c);
        }
        self.n = self.n.saturating_add(1);
    }

    /// The flags of the gap between the character before and the symbols.
    pub(super) fn gap(&self) -> u8 {
        self.gap
    }

    pub(super) fn codes(&self) -> impl Iterator<Item = Code> {
        self.symbols.into_iter().take(self.n as usize).map(|code| code | SYMBOL)
    }

    /// Returns true if the symbols count between these two sides; the first symbol decides.
    pub(super) fn counts(&self, left: Side, right: Side) -> bool {
        let Some(symbol) = char::from_u32(self.symbols[0]).filter(|_| self.n <= 2) else { return false };
        let at_word = left.is_at && left.code.is_some_and(|code| code & CJK == 0);
        let is_between = left.code.is_some() && right.code.is_some() && left.is_at == right.is_at;
        let is_beside_digit = left.is_digit() || right.is_digit();
        match symbol {
            '#' => at_word,
            '+' => at_word || is_between,
            '%' | '‰' => at_word || is_beside_digit,
            '=' => is_between || right.is_at && right.is_digit(),
            '<' | '>' => is_between && !(left.is_cjk() && right.is_cjk()) || right.is_at && right.is_digit(),
            '*' | '∗' | '&' | '@' | '^' => is_between,
            '/' | '⁄' | '∕' => is_between && left.is_digit() && right.is_digit(),
            _ if is_currency(symbol) => is_beside_digit,
            _ => true,
        }
    }
}
