//! Numbers in digits.

use super::chinese;

/// The zeros of the scripts with decimal digits (Nd) besides ASCII, of Unicode 14: nine others
/// follow each.
const ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0,
    0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50,
    0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1e140, 0x1e2f0, 0x1e950,
];

/// Returns true if a number in digits may begin with this character of a normal form.
pub(crate) fn is_digit(c: char) -> bool {
    digit(c).is_some()
}

/// Returns the digit in ASCII.
fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let code = u32::from(c);
    if matches!(code, 0x80..0x660 | 0x1c5a..0xa620 | 0xac00..0xff00) {
        return None;
    }
    let at = ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    char::from_digit(code - ZEROS[at], 10)
}

/// Returns true for a character that may part the digits of a number.
pub(crate) fn is_separator(c: char) -> bool {
    separator(c).is_some()
}

fn separator(c: char) -> Option<char> {
    match c {
        ',' | '٬' => Some(','),
        '.' | '٫' => Some('.'),
        _ => None,
    }
}

/// Returns a number of at most seven ASCII digits and its end, if the character after the digits
/// cannot be part of the number. Nearly all numbers are such.
pub(super) fn read_plain(text: &str, at: usize) -> Option<(&str, usize)> {
    let bytes = &text.as_bytes()[at..];
    let len = bytes.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
    let ends = match (bytes.get(len), bytes.get(len + 1)) {
        (None, _) => true,
        (Some(b',' | b'.'), after) => after.is_none_or(|byte| byte.is_ascii() && !byte.is_ascii_digit()),
        (Some(byte), _) if byte.is_ascii() => true,
        (Some(_), _) => {
            let next = text[at + len..].chars().next()?;
            digit(next).is_none() && separator(next).is_none() && !chinese::is_numeral(next)
        }
    };
    ((1..=7).contains(&len) && ends).then(|| (without_zeros(&text[at..at + len]), at + len))
}

/// Groups of digits with one separator between any two.
#[derive(Default)]
struct Shape {
    n_separators: usize,
    first: char,
    last: char,
    /// True if all separators before the last are of one kind.
    is_uniform: bool,
    /// Digits of the first group and of the last.
    first_len: usize,
    last_len: usize,
    /// True if all groups between the two have three digits.
    is_by_three: bool,
    begins_with_zero: bool,
    end: usize,
}

enum Parts {
    Several,
    Thousands,
    Point,
}

impl Shape {
    fn of(text: &str, at: usize) -> Self {
        let mut shape = Self {
            is_uniform: true,
            is_by_three: true,
            begins_with_zero: text[at..].chars().next().and_then(digit) == Some('0'),
            end: at,
            ..Self::default()
        };
        loop {
            let len: usize = text[shape.end..]
                .chars()
                .map_while(|c| digit(c).map(|_| c.len_utf8()))
                .inspect(|len| shape.end += len)
                .count();
            if shape.n_separators == 0 {
                shape.first_len = len;
            }
            shape.last_len = len;
            let mut after = text[shape.end..].chars();
            let Some((c, separator)) = after.next().and_then(|c| Some((c, separator(c)?))) else { break };
            if !after.next().is_some_and(is_digit) {
                break;
            }
            if shape.n_separators == 0 {
                shape.first = separator;
            } else {
                shape.is_uniform &= shape.last == shape.first;
                shape.is_by_three &= len == 3;
            }
            shape.last = separator;
            shape.n_separators += 1;
            shape.end += c.len_utf8();
        }
        shape
    }

    fn parts(&self) -> Parts {
        let groups = self.is_uniform && self.is_by_three && self.first_len <= 3 && !self.begins_with_zero;
        let is_one_kind = self.first == self.last;
        match self.n_separators {
            0 => Parts::Thousands,
            1 if self.first == ',' && groups && self.last_len == 3 => Parts::Thousands,
            1 => Parts::Point,
            _ if groups && is_one_kind && self.last_len == 3 => Parts::Thousands,
            _ if groups && !is_one_kind => Parts::Point,
            _ => Parts::Several,
        }
    }
}

/// Hands the numbers in digits that begin at `at` to `emit`. Returns their end.
pub(super) fn read(text: &str, at: usize, buffer: &mut String, emit: &mut impl FnMut(&str)) -> usize {
    let shape = Shape::of(text, at);
    let groups = &text[at..shape.end];
    buffer.clear();
    match shape.parts() {
        Parts::Several => {
            for group in groups.split(|c| separator(c).is_some()) {
                buffer.clear();
                buffer.extend(group.chars().filter_map(digit));
                emit(without_zeros(buffer));
            }
            return shape.end;
        }
        Parts::Thousands => buffer.extend(groups.chars().filter_map(digit)),
        Parts::Point => {
            let mut left = shape.n_separators;
            for c in groups.chars() {
                if let Some(digit) = digit(c) {
                    buffer.push(digit);
                } else {
                    left -= 1;
                    if left == 0 {
                        buffer.push('.');
                    }
                }
            }
        }
    }
    let (exponent, end) = chinese::units(text, shape.end);
    if exponent > 0 {
        shift(buffer, exponent);
    }
    emit(without_zeros(buffer));
    end
}

/// Multiplies a decimal by a power of ten.
fn shift(decimal: &mut String, exponent: usize) {
    let point = decimal.find('.').unwrap_or(decimal.len());
    let missing = exponent.saturating_sub(decimal.len().saturating_sub(point + 1));
    if point < decimal.len() {
        decimal.remove(point);
    }
    decimal.extend(std::iter::repeat_n('0', missing));
    if point + exponent < decimal.len() {
        decimal.insert(point + exponent, '.');
    }
}

/// Returns a decimal without leading zeros, but for one that is the whole or before a point.
pub(super) fn without_zeros(decimal: &str) -> &str {
    if !decimal.starts_with('0') {
        return decimal;
    }
    let n_integers = decimal.find('.').unwrap_or(decimal.len());
    let zeros = decimal.bytes().take(n_integers.saturating_sub(1)).take_while(|&byte| byte == b'0').count();
    &decimal[zeros..]
}
