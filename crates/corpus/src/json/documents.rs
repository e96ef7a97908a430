//! JSON that is not one object a line: an array of objects, or objects printed over many lines or
//! one after another in a line. They come one by one, each as a line without the spaces between
//! its parts.

use std::io::{self, BufRead};

use super::super::encoding::BYTE_ORDER_MARK;
use super::super::reader::RecordReader;
use super::super::records::{Form, RecordError, Records};

const NO_OBJECT: &str = "a JSON object should begin";

const NEVER_CLOSED: &str = "the array is never closed";

pub(crate) struct Documents<R> {
    reader: R,
    /// Number of the last object.
    number: u64,
    /// True between the brackets of an array.
    in_array: bool,
    line: Line,
    /// Blanks before the line where the last object begins, if that one is torn.
    torn: Option<usize>,
    record_bytes_max: usize,
    ended: bool,
}

enum Found {
    Object,
    /// An element of the array that is no object.
    Other,
    /// An object of which a string breaks off at the end of its line.
    Torn,
    TooLong,
    End,
}

/// The line as far as it was read.
#[derive(Clone, Copy, Default)]
struct Line {
    n_blanks: usize,
    /// True once more than blanks was read.
    is_begun: bool,
}

/// Brackets of a value that are open, outside its strings.
#[derive(Default)]
pub(super) struct Nesting {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Takes the next byte. The first one opens a bracket.
    pub(super) fn take(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_string => self.is_escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' if !self.in_string => self.depth += 1,
            b'}' | b']' if !self.in_string => self.depth -= 1,
            _ => {}
        }
    }

    /// Returns true outside of brackets and strings: once the first bracket is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.depth == 0 && !self.in_string
    }
}

impl<R: BufRead> Documents<R> {
    pub(crate) fn new(reader: R, record_bytes_max: usize) -> Self {
        let (line, torn) = (Line::default(), None);
        Self { reader, number: 0, in_array: false, line, torn, record_bytes_max, ended: false }
    }

    /// Appends the next object.
    fn append_object(&mut self, object: &mut Vec<u8>) -> io::Result<Found> {
        if let Some(n_blanks) = self.torn.take() {
            self.skip_torn(n_blanks)?;
        }
        let start = loop {
            match self.next_byte()? {
                None if self.in_array => return Err(broken(NEVER_CLOSED)),
                None => return Ok(Found::End),
                Some(b'[') if !self.in_array => self.in_array = true,
                Some(b']') if self.in_array => self.in_array = false,
                Some(b',') if self.number > 0 => {}
                // Files joined into one may each begin with a mark.
                Some(byte) if byte.is_ascii_whitespace() || BYTE_ORDER_MARK.contains(&byte) => {}
                Some(byte) => break byte,
            }
        };
        match start {
            b'{' => {}
            _ if self.in_array => return self.skip_element(start).map(|()| Found::Other),
            _ => return Err(broken(NO_OBJECT)),
        }
        let (mut nesting, mut n_bytes, begun) = (Nesting::default(), 0, self.line);
        let mut byte = start;
        loop {
            // No string of JSON has a line feed. The next object may begin behind it.
            if byte == b'\n' && nesting.in_string {
                self.torn = Some(begun.n_blanks);
                return Ok(Found::Torn);
            }
            if nesting.in_string || !byte.is_ascii_whitespace() {
                n_bytes += 1;
                if n_bytes <= self.record_bytes_max {
                    object.push(byte);
                }
            }
            nesting.take(byte);
            if nesting.is_closed() {
                return Ok(if n_bytes > self.record_bytes_max { Found::TooLong } else { Found::Object });
            }
            byte = self.next_byte()?.ok_or_else(|| broken("the object is never closed"))?;
        }
    }

    /// Skips the lines that are left of a torn object, which begins in a line with `n_blanks`
    /// before it: up to the next object, behind its bracket, or up to that of the array. Printed
    /// objects have these in lines that begin alike, and what is in them in others.
    fn skip_torn(&mut self, n_blanks: usize) -> io::Result<()> {
        let mut is_next = true;
        while let Some(byte) = self.peek()? {
            let is_first = !self.line.is_begun;
            let is_alike = is_first && self.line.n_blanks == n_blanks;
            match byte {
                b'{' if is_next || is_alike => return Ok(()),
                b'}' if is_alike => return self.next_byte().map(|_| ()),
                b']' if is_first && self.in_array && self.line.n_blanks <= n_blanks => return Ok(()),
                b',' => {}
                _ => is_next &= byte.is_ascii_whitespace(),
            }
            self.next_byte()?;
        }
        Ok(())
    }

    /// Skips an element of the array that is no object, with what ends it.
    fn skip_element(&mut self, start: u8) -> io::Result<()> {
        let (mut nesting, mut byte) = (Nesting::default(), start);
        loop {
            match byte {
                b',' if nesting.is_closed() => return Ok(()),
                b']' if nesting.is_closed() => {
                    self.in_array = false;
                    return Ok(());
                }
                b'}' if nesting.is_closed() => return Err(broken(NO_OBJECT)),
                _ => nesting.take(byte),
            }
            byte = self.next_byte()?.ok_or_else(|| broken(NEVER_CLOSED))?;
        }
    }

    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.peek()?;
        self.reader.consume(usize::from(byte.is_some()));
        match byte {
            Some(b'\n') => self.line = Line::default(),
            Some(b' ' | b'\t') if !self.line.is_begun => self.line.n_blanks += 1,
            _ => self.line.is_begun = true,
        }
        Ok(byte)
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                available => return Ok(available?.first().copied()),
            }
        }
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::other(format!("no JSON: {why}"))
}

impl<R: BufRead> RecordReader for Documents<R> {
    fn form(&self) -> Form {
        Form::Json
    }

    fn append_records(&mut self, records: &mut Records) {
        while !self.ended && !records.is_full() {
            let found = self.append_object(records.bytes_mut());
            if matches!(found, Ok(Found::End)) {
                self.ended = true;
                break;
            }
            self.number += 1;
            match found {
                Ok(Found::Object | Found::End) => records.push(self.number),
                Ok(Found::Other) => {
                    let why = "an element of the array is no JSON object, as each record has to be";
                    records.push_error(self.number, RecordError::Damaged(why.to_owned()));
                }
                Ok(Found::Torn) => {
                    let why = "a string breaks off at the end of its line".to_owned();
                    records.push_error(self.number, RecordError::Damaged(why));
                }
                Ok(Found::TooLong) => {
                    records.push_error(self.number, RecordError::TooLong(self.record_bytes_max));
                }
                Err(error) => {
                    // Objects after an error cannot be told from parts of others.
                    self.ended = true;
                    records.push_error(self.number, RecordError::Broken(error.to_string()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(content: &str, record_bytes_max: usize, expected: &[Result<&str, &str>]) {
        for step in [3, 4096] {
            let content = BufReader::with_capacity(step, content.as_bytes());
            let mut documents = Documents::new(content, record_bytes_max);
            let mut read = Vec::new();
            while let Some(records) = documents.next_records() {
                read.extend(records.iter().map(|(number, record)| {
                    let line = record.map(|record| String::from_utf8_lossy(record.bytes).into_owned());
                    (number, line.map_err(ToString::to_string))
                }));
            }
            assert_eq!(read.len(), expected.len(), "{read:?}");
            for ((n, (number, line)), expected) in (1..).zip(&read).zip(expected) {
                assert_eq!(*number, n);
                match (line, expected) {
                    (Ok(line), Ok(expected)) => assert_eq!(line, expected),
                    (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?}: {part:?}"),
                    _ => panic!("{read:?}"),
                }
            }
        }
    }

    #[test]
    fn objects_come_one_by_one() {
        let (a, b) = (r#"{"id":"a ] }","t":"\" {\\"}"#, r#"{"b":[{"c":1},[]]}"#);
        check("[]", 99, &[]);
        check(" [ ] \n", 99, &[]);
        check(&format!("[{a},{b}]"), 99, &[Ok(a), Ok(b)]);
        check(&format!("\u{feff}[\n  {a},\n  {b}\n]\n"), 99, &[Ok(a), Ok(b)]);
        check("[{\n  \"id\" : 1,\r\n\t\"t\": \"x y\"\n}]", 99, &[Ok(r#"{"id":1,"t":"x y"}"#)]);
        check(&format!("\u{feff}[{a}]\n\u{feff}[{b}]\u{feff}"), 99, &[Ok(a), Ok(b)]);
        check(&format!("{a}{b} {a}"), 99, &[Ok(a), Ok(b), Ok(a)]);
        check(&format!("{{\n \"x\": 1\n}}\n{a}\n{b}"), 99, &[Ok(r#"{"x":1}"#), Ok(a), Ok(b)]);
    }

    #[test]
    fn what_is_too_long_or_damaged_is_named() {
        check(r#"[{"a":"12345678"},{"a":1}]"#, 9, &[Err("longer than 9 bytes"), Ok(r#"{"a":1}"#)]);
        check(r#"[{"a":1},{"a":"#, 99, &[Ok(r#"{"a":1}"#), Err("object is never closed")]);
        check(r#"[{"a":1}"#, 99, &[Ok(r#"{"a":1}"#), Err("array is never closed")]);
        check(r#"[{"a":1},7"#, 99, &[Ok(r#"{"a":1}"#), Err("array is never closed")]);
        check(r#"[{"a":1},"a":2},{}]"#, 99, &[Ok(r#"{"a":1}"#), Err("a JSON object should begin")]);
        check("{\n\"a\":1}]", 99, &[Ok(r#"{"a":1}"#), Err("a JSON object should begin")]);
        // A line that was torn costs itself.
        let torn = "{\"a\":1}{\"a\":2}\n{\"a\":\"x\n{\"a\":3}\n";
        let (one, three) = (Ok(r#"{"a":1}"#), Ok(r#"{"a":3}"#));
        check(torn, 99, &[one, Ok(r#"{"a":2}"#), Err("breaks off at the end of its line"), three]);
    }

    /// The first string that was torn once ended a file of printed objects.
    #[test]
    fn printed_objects_behind_a_torn_one_are_read() {
        let object = |n: u8, text: &str| {
            let object = json!({ "id": n, "of": [{ "x": 1 }], "text": "", "z": { "y": [{}] } });
            serde_json::to_string_pretty(&object).unwrap().replace("\"\"", text)
        };
        let indented = |object: &str| format!("  {}", object.replace('\n', "\n  "));
        let [one, three] =
            [1, 3].map(|n| format!(r#"{{"id":{n},"of":[{{"x":1}}],"text":"a","z":{{"y":[{{}}]}}}}"#));
        let (one, three) = (Ok(&*one), Ok(&*three));
        let err = Err("breaks off at the end of its line");
        for torn in ["\"a", "a\"", "\"a\n b\""] {
            let [a, b, c] = [(1, "\"a\""), (2, torn), (3, "\"a\"")].map(|(n, text)| object(n, text));
            check(&format!("{a}\n{b}\n{c}\n"), 999, &[one, err, three]);
            check(&format!("{a}\n{b}\n"), 999, &[one, err]);
            check(&format!("[{a}, {b}, {c}]"), 999, &[one, err, three]);
            check(&format!("[{a}, {b}]\n{c}"), 999, &[one, err, three]);
            check(&format!("[\n{a},\n{b}\n]\n{c}"), 999, &[one, err, three]);
            let [a, b, c] = [a, b, c].map(|object| indented(&object));
            check(&format!("[\n{a},\n{b},\n{c}\n]\n"), 999, &[one, err, three]);
            check(&format!("[\n{a},\n{b}\n]\n[\n{c}\n]"), 999, &[one, err, three]);
        }
        // Nothing tells where a torn object without its bracket ends in an array.
        check("[{\"id\": \"a\n\"text\": 1}]", 999, &[err, Err("array is never closed")]);
    }

    #[test]
    fn an_element_that_is_no_object_is_rejected_and_the_rest_goes_on() {
        let (object, other) = (Ok(r#"{"a":1}"#), Err("an element of the array is no JSON object"));
        for element in ["null", "7", "-1.5e3", "true", r#""},]\\\"{""#, r#"[[{"a":2}],"]"]"#, "NaN"] {
            check(&format!("[{{\"a\":1}}, {element} ,\n{{\"a\":1}}]"), 99, &[object, other, object]);
            let joined = format!("[{{\"a\":1}},{element}]\n{{\"a\":1}}[{element},{{\"a\":1}}]");
            check(&joined, 99, &[object, other, object, other, object]);
        }
    }
}
