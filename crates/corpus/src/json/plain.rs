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
const ONES: u64 = u64::MAX / 0xff;
/// The highest bit of each of eight bytes.
const HIGHEST: u64 = ONES << 7;

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
        let word = u64::from_le_bytes(*eight);
        // The highest bit of each byte below a bound. A borrow may spoil what is behind the first.
        let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word & HIGHEST;
        let equals = |byte: u8| below(word ^ ONES * u64::from(byte), 1);
        let found = equals(b'"') | equals(b'\\') | below(word, 0x20);
        if found != 0 {
            return 8 * n + found.trailing_zeros() as usize / 8;
        }
    }
    8 * eights.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::field_path::FieldPath;
    use super::super::JsonFields;
    use super::*;

    const PATHS: [&str; 4] = ["id", "text", "meta.lang", "n"];

    fn fields() -> JsonFields {
        let paths = PATHS.map(|path| path.parse::<FieldPath>().unwrap());
        JsonFields::new(paths.iter())
    }

    /// The values that are read here, if any.
    fn plain<'a>(fields: &JsonFields, line: &'a str) -> Option<Vec<Option<Value<'a>>>> {
        let mut values = vec![None; fields.n_all()];
        read(line, &fields.root, &mut values)?;
        Some(values)
    }

    fn check(line: &str) -> bool {
        let fields = fields();
        let plain = plain(&fields, line);
        let mut judged = vec![None; fields.n_all()];
        let is_valid = fields.judge(line, &mut judged).is_ok();
        assert!(
            plain.is_none() || is_valid && plain.as_ref() == Some(&judged),
            "{line:?} {plain:?} {judged:?}"
        );
        plain.is_some()
    }

    #[test]
    fn plain_objects_are_read() {
        for line in [
            "{}",
            " {\t} \r",
            r#"{"id": "a", "text": "Ferries leave at noon."}"#,
            r#"{"id":7,"text":"one\ntwo\t\"three\" \\ \/ \u4e2d\u00e9 \b\f\r"}"#,
            r#"{"text": null, "n": 0, "other": [1, -2.5e+7, {"a": [], "b": {}, "c": [[true], false]}, null, "\n\ud83d"]}"#,
            r#"{"text": "one", "text": "two", "id": 123456789012345678}"#,
            r#"{ "meta" : "no object" , "text" : "" }"#,
            r#"{"text": "\ud83d\ude00", "n": -1.5, "id": 1234567890123456789}"#,
            r#"{"n": true, "meta": {"lang": "en", "other": [1]}, "id": [{}], "text": "last"}"#,
        ] {
            assert!(check(line), "{line}");
        }
    }

    #[test]
    fn a_text_takes_the_memory_of_its_own_letters() {
        let line =
            format!(r#"{{"text": "a\n{}", "other": "{}"}}"#, "\\u0416".repeat(100), "x".repeat(10_000));
        let mut values = vec![None; PATHS.len() + 1];
        read(&line, &fields().root, &mut values).unwrap();
        let Some(Value::Text(Cow::Owned(text))) = &values[1] else { panic!("{values:?}") };
        assert!(text.starts_with("a\nЖ") && text.capacity() < 300, "{}", text.capacity());
    }

    #[test]
    fn all_else_is_left_to_serde_json() {
        let deep = format!(r#"{{"other": {}1{}}}"#, "[".repeat(33), "]".repeat(33));
        for line in [
            "",
            "{",
            "[]",
            "{}{}",
            r#"{"text": "one",}"#,
            r#"{"text": "one" "id": 1}"#,
            r#"{"te\u0078t": "one"}"#,
            r#"{"text": "\ud83d"}"#,
            r#"{"text": "\x"}"#,
            "{\"text\": \"a\tb\"}",
            r#"{"n": 01}"#,
            r#"{"n": 1e999}"#,
            r#"{"n": trup}"#,
            r#"{"other": 01}"#,
            r#"{"other": 1.}"#,
            r#"{"other": -}"#,
            r#"{"other": [1,]}"#,
            r#"{"other": {"a": 1,}}"#,
            r#"{"other": {"a": 1]}"#,
            r#"{"other": tru}"#,
            r#"{"text": "one"#,
            &deep,
        ] {
            assert!(!check(line), "{line}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]
        /// Where an object is read here, serde_json reads the same: objects and pieces of JSON,
        /// some with a byte changed.
        #[test]
        fn what_is_read_is_what_serde_json_reads(
            pieces in proptest::collection::vec(
                r#"("(id|text|n|other|meta)": ?("([ -~é中]|\\[nt"/u\\]|\\u[0-9a-f]{4}){0,20}"|-?[0-9]{1,20}(\.[0-9]+)?([eE][+-]?[0-9])?|true|null|\[(1|"a"|\{\}){0,2}\]|\{"lang": ?"en"\}), ?)|[\[\]{},:"\\0a ]"#,
                0..6,
            ),
            is_whole: bool,
            place: prop::sample::Index,
            byte in "[\\[\\]{},:\"\\\\0-9a-f\n \u{1}]",
            is_changed: bool,
        ) {
            let pieces = pieces.concat();
            let mut line = if is_whole {
                format!("{{{}}}", pieces.trim_end_matches([',', ' ']))
            } else {
                pieces
            };
            if is_changed && !line.is_empty() {
                let at = (0..=place.index(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap();
                let end = at + line[at..].chars().next().map_or(0, char::len_utf8);
                line.replace_range(at..end, &byte);
            }
            check(&line);
        }

        #[test]
        fn letters_end_at_the_first_byte_that_is_none(text in "[ -~\u{0}-\u{1f}é中\u{7f}\u{80}\"\\\\]{0,40}") {
            let expected = text.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\');
            prop_assert_eq!(n_letters(text.as_bytes()), expected.unwrap_or(text.len()));
        }
    }
}
