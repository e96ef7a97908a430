//! Plain objects of JSON, read by hand: most records are such.

use std::borrow::Cow;

use memchr::memchr;
use serde::de::DeserializeSeed;

use super::super::value::Value;
use super::{At, Node};

/// Most arrays and objects within each other: one bit for each is held.
const DEPTH_MAX: u32 = u32::BITS;

/// Most digits of a number that is read here: any number of these fits 64 bits.
const DIGITS_MAX: usize = 18;

/// The same byte eight times.
const fn eight_times(byte: u8) -> u64 {
    u64::MAX / 0xff * byte as u64
}

/// Reads a line if it is a plain object, and sets the values wanted at `root`. Returns `None` for
/// any other line, valid or not: then some of the values may be set, and serde_json has to judge.
///
/// In a plain object no name has an escape. Wanted values that are no texts, whole numbers of few
/// digits or null are read by serde_json, each alone.
pub(super) fn read<'a>(line: &'a str, root: &Node, values: &mut [Option<Value<'a>>]) -> Option<()> {
    let mut rest = Rest { line, at: 0 };
    rest.take_next(b'{')?;
    if rest.next()? == b'}' {
        rest.at += 1;
        return rest.check_end();
    }
    loop {
        let name = rest.name()?;
        rest.take_next(b':')?;
        match root.child(name) {
            Some(node) => {
                rest.next()?;
                let from = rest.at;
                if let Some(value) = rest.value() {
                    At { node, values }.set(value);
                } else {
                    rest.at = from;
                    rest.skip()?;
                    let mut json = serde_json::Deserializer::from_str(&line[from..rest.at]);
                    At { node, values }.deserialize(&mut json).ok()?;
                }
            }
            None => rest.skip()?,
        }
        match rest.take_any()? {
            b',' => {}
            b'}' => return rest.check_end(),
            _ => return None,
        }
    }
}

/// The part of a line that was not read yet: from `at` on.
struct Rest<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Rest<'a> {
    fn byte(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    /// Returns the next byte that is no white space, at which the rest begins then.
    fn next(&mut self) -> Option<u8> {
        while let b' ' | b'\t' | b'\n' | b'\r' = self.byte()? {
            self.at += 1;
        }
        self.byte()
    }

    fn take_any(&mut self) -> Option<u8> {
        let next = self.next()?;
        self.at += 1;
        Some(next)
    }

    fn take_next(&mut self, expected: u8) -> Option<()> {
        (self.take_any()? == expected).then_some(())
    }

    fn check_end(mut self) -> Option<()> {
        self.next().is_none().then_some(())
    }

    /// Takes a name with its quotes.
    fn name(&mut self) -> Option<&'a str> {
        self.take_next(b'"')?;
        let name = self.letters();
        (self.byte()? == b'"').then(|| self.at += 1)?;
        Some(name)
    }

    /// Takes what stands before the next quote, backslash or control character.
    fn letters(&mut self) -> &'a str {
        let from = self.at;
        self.at += n_letters(&self.line.as_bytes()[from..]);
        &self.line[from..self.at]
    }

    /// Takes a plain value.
    fn value(&mut self) -> Option<Value<'a>> {
        match self.next()? {
            b'"' => {
                self.at += 1;
                self.text().map(Value::Text)
            }
            b'0'..=b'9' => {
                let digits = self.digits();
                let is_whole = !matches!(self.byte(), Some(b'.' | b'e' | b'E'));
                let is_plain = digits.len() <= DIGITS_MAX && (digits == "0" || !digits.starts_with('0'));
                (is_whole && is_plain).then(|| Value::Integer(digits.into()))
            }
            b'n' => self.word("null").map(|()| Value::Null),
            _ => None,
        }
    }

    /// Takes a text behind its first quote, with the last one.
    fn text(&mut self) -> Option<Cow<'a, str>> {
        let from = self.at;
        let has_escapes = self.skip_text()?;
        let written = &self.line[from..self.at - 1];
        if !has_escapes {
            return Some(written.into());
        }
        let mut text = String::with_capacity(written.len());
        let mut rest = Rest { line: written, at: 0 };
        while let Some(n) = memchr(b'\\', &written.as_bytes()[rest.at..]) {
            text.push_str(&written[rest.at..rest.at + n]);
            rest.at += n;
            text.push(char::from_u32(rest.escape()?)?);
        }
        text.push_str(&written[rest.at..]);
        // Escapes of six bytes stand for two or three.
        text.shrink_to(text.len() + text.len() / 8);
        Some(text.into())
    }

    /// Takes an escape. Returns its code, which may be one of half a character.
    fn escape(&mut self) -> Option<u32> {
        let kind = *self.line.as_bytes().get(self.at + 1)?;
        self.at += 2;
        let code = match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let digits = self.line.as_bytes().get(self.at..self.at + 4)?;
                self.at += 4;
                let digit = |code: u32, byte: &u8| Some(code << 4 | char::from(*byte).to_digit(16)?);
                return digits.iter().try_fold(0, digit);
            }
            _ => return None,
        };
        Some(code.into())
    }

    fn digits(&mut self) -> &'a str {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        &self.line[from..self.at]
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.line.as_bytes()[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Skips a value, whatever it is.
    fn skip(&mut self) -> Option<()> {
        // A bit for each array or object that is open, the innermost one last: set for an object.
        let (mut open, mut depth) = (0_u32, 0);
        loop {
            let begun = match self.next()? {
                bracket @ (b'[' | b'{') => {
                    self.at += 1;
                    depth += 1;
                    open = open << 1 | u32::from(bracket == b'{');
                    let is_empty = self.next()? == bracket + 2;
                    (depth <= DEPTH_MAX).then_some(!is_empty)?
                }
                b'"' => {
                    self.at += 1;
                    self.skip_text().map(|_| false)?
                }
                b't' => self.word("true").map(|()| false)?,
                b'f' => self.word("false").map(|()| false)?,
                b'n' => self.word("null").map(|()| false)?,
                _ => self.skip_number().map(|()| false)?,
            };
            // Behind a value come the ends of those around it, up to one that goes on.
            let mut goes_on = begun;
            while !goes_on && depth > 0 {
                match (self.take_any()?, open & 1) {
                    (b',', _) => goes_on = true,
                    (b']', 0) | (b'}', 1) => (open, depth) = (open >> 1, depth - 1),
                    _ => return None,
                }
            }
            if depth == 0 {
                return Some(());
            }
            if open & 1 == 1 {
                self.take_next(b'"')?;
                self.skip_text()?;
                self.take_next(b':')?;
            }
        }
    }

    /// Skips a text behind its first quote, with the last one. Returns true if it has escapes.
    fn skip_text(&mut self) -> Option<bool> {
        let mut has_escapes = false;
        loop {
            self.letters();
            match self.byte()? {
                b'"' => break,
                b'\\' => _ = self.escape()?,
                _ => return None,
            }
            has_escapes = true;
        }
        self.at += 1;
        Some(has_escapes)
    }

    fn skip_number(&mut self) -> Option<()> {
        self.at += usize::from(self.byte()? == b'-');
        let whole = self.digits();
        if whole.is_empty() || whole.len() > 1 && whole.starts_with('0') {
            return None;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            (!self.digits().is_empty()).then_some(())?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.byte()?, b'+' | b'-'));
            (!self.digits().is_empty()).then_some(())?;
        }
        Some(())
    }
}

/// Returns the number of bytes before the first quote, backslash or control character.
fn n_letters(bytes: &[u8]) -> usize {
    let (eights, rest) = bytes.as_chunks();
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    for (n, eight) in eights.iter().enumerate() {
        let word = u64::from_be_bytes(*eight);
        // The highest bit of each byte that is not 0: no byte carries into the next one.
        let not_0 = |word: u64| ((word & eight_times(0x7f)) + eight_times(0x7f)) | word;
        let control = word & eight_times(0xe0);
        let (quote, backslash) = (word ^ eight_times(b'"'), word ^ eight_times(b'\\'));
        let found = !(not_0(quote) & not_0(backslash) & not_0(control)) & eight_times(0x80);
        if found != 0 {
            return 8 * n + found.leading_zeros() as usize / 8;
        }
    }
    8 * eights.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
