//! Beginning of JSON, by which documents are told from JSON Lines.

use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::compression::READ_BUFFER_BYTES;
use super::super::encoding::BYTE_ORDER_MARK;
use super::super::remembering::Remembering;
use super::documents::Nesting;

/// JSON whose beginning was looked at. It is handed on from its first byte.
pub(crate) struct LookedAt<R> {
    /// The bytes looked at, of which those from `at` on were not handed on yet.
    head: Vec<u8>,
    at: usize,
    /// Error met behind these bytes.
    failure: Option<io::Error>,
    rest: R,
}

/// Kind of JSON by its first line.
enum Kind {
    Documents,
    Lines,
    /// The first object goes on in the next line, if it is one.
    Spread,
}

/// The objects in the first line, as far as it was looked at.
#[derive(Default)]
struct FirstLine {
    /// That of the last object.
    nesting: Nesting,
    n_objects: usize,
    /// Number of bytes from the second object on.
    n_behind: usize,
}

/// Looks at the beginning of `content`: as far as the end of the first line and of an object begun
/// in it, or the limit of a record. Returns the content as a whole, and true if it is an array of
/// objects, an object printed over many lines, or several in a line, as streams of clouds are
/// delivered.
pub(crate) fn look<R: Read>(
    mut content: BufReader<R>,
    record_bytes_max: usize,
) -> io::Result<(BufReader<LookedAt<R>>, bool)> {
    let mut head = content.fill_buf()?.to_vec();
    let mut rest = content.into_inner();
    let (are_documents, failure) = match are_documents(&mut head, &mut rest, record_bytes_max) {
        Ok(are_documents) => (are_documents, None),
        Err(error) => (false, Some(error)),
    };
    let looked_at = LookedAt { head, at: 0, failure, rest };
    Ok((BufReader::with_capacity(READ_BUFFER_BYTES, looked_at), are_documents))
}

/// Decides by `head`, to which as much of `rest` is added as is looked at.
fn are_documents<R: Read>(head: &mut Vec<u8>, rest: &mut R, record_bytes_max: usize) -> io::Result<bool> {
    let begun = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    let Some((first, behind)) = begun.split_first() else { return Ok(false) };
    let next = behind.trim_ascii_start().first();
    let is_alone =
        || behind.split(|byte| *byte == b'\n').next().is_some_and(|line| line.trim_ascii().is_empty());
    match first {
        // The first object of an array may stand in the same line.
        b'[' => return Ok(matches!(next, Some(b'{' | b']'))),
        b'{' if matches!(next, Some(b'"' | b'}')) && is_alone() => return Ok(true),
        b'{' => {}
        _ => return Ok(false),
    }
    let start = head.len() - begun.len();
    let (mut line, mut n_seen, mut buffer) = (FirstLine::default(), start, Vec::new());
    loop {
        match line.take(&head[n_seen..]) {
            Some(Kind::Documents) => return Ok(true),
            Some(Kind::Lines) => return Ok(false),
            Some(Kind::Spread) => return is_object(head, start, rest, record_bytes_max),
            None if head.len() > record_bytes_max => return Ok(line.n_objects > 1),
            None => {}
        }
        n_seen = head.len();
        if buffer.is_empty() {
            buffer = vec![0; READ_BUFFER_BYTES];
        }
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(line.n_objects > 1),
            Ok(n) => head.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns true if an object begins at `start` and is whole, over however many lines. A damaged
/// line and those after it are none: there is no comma between them.
fn is_object(
    head: &mut Vec<u8>,
    start: usize,
    rest: &mut impl Read,
    record_bytes_max: usize,
) -> io::Result<bool> {
    let mut rest = Remembering::new(rest);
    let object = head[start..].chain(&mut rest).take(record_bytes_max as u64);
    let object = BufReader::with_capacity(READ_BUFFER_BYTES, object);
    let read = IgnoredAny::deserialize(&mut serde_json::Deserializer::from_reader(object));
    head.extend(rest.bytes);
    match read {
        Err(error) if error.is_io() => Err(error.into()),
        read => Ok(read.is_ok()),
    }
}

impl FirstLine {
    /// Looks at the next bytes. Returns `None` if they do not tell yet.
    fn take(&mut self, bytes: &[u8]) -> Option<Kind> {
        for byte in bytes {
            match byte {
                b'\n' => {
                    return Some(match (self.n_objects, self.nesting.is_closed()) {
                        (1, false) => Kind::Spread,
                        (2.., true) => Kind::Documents,
                        _ => Kind::Lines,
                    });
                }
                b'{' if self.nesting.is_closed() => {
                    self.n_objects += 1;
                    self.nesting.take(*byte);
                }
                _ if !self.nesting.is_closed() => self.nesting.take(*byte),
                _ if byte.is_ascii_whitespace() => {}
                _ => return Some(Kind::Lines),
            }
            self.n_behind += usize::from(self.n_objects > 1);
            if self.n_behind > READ_BUFFER_BYTES {
                return Some(Kind::Documents);
            }
        }
        None
    }
}

impl<R: Read> Read for LookedAt<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let waiting = &self.head[self.at..];
        if !waiting.is_empty() {
            let n = waiting.len().min(buffer.len());
            buffer[..n].copy_from_slice(&waiting[..n]);
            self.at += n;
            return Ok(n);
        }
        // A long record is not held for as long as the file is read.
        (self.head, self.at) = (Vec::new(), 0);
        self.failure.take().map_or_else(|| self.rest.read(buffer), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use super::super::super::fields::testing::names;
    use super::super::super::{InputOptions, Inputs, Position};
    use super::*;

    /// Reader that gives some bytes at a time, and fails behind the last.
    struct Failing(Cursor<Vec<u8>>);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(1000);
            match self.0.read(&mut buffer[..n])? {
                0 => Err(io::Error::other("the disk is gone")),
                n => Ok(n),
            }
        }
    }

    #[track_caller]
    fn check(content: &str, record_bytes_max: usize, expected: bool) {
        for n_head in [content.len().min(1024), content.len()] {
            let (head, rest) = content.as_bytes().split_at(n_head);
            let content_read = BufReader::new(head.chain(rest));
            let (mut looked_at, are_documents) = look(content_read, record_bytes_max).unwrap();
            let mut read = String::new();
            looked_at.read_to_string(&mut read).unwrap();
            let start = content.chars().take(50).collect::<String>();
            assert!(are_documents == expected && read == content, "{start:?} {are_documents}");
        }
    }

    #[test]
    fn documents_are_told_from_lines() {
        for (content, expected) in [
            ("[{\"id\":1}", true),
            ("\u{feff} [\n  {", true),
            ("[]", true),
            ("{\n  \"id\": 1,", true),
            ("{ \r\n\t\"id\"", true),
            ("{\"id\":1}\n{", false),
            ("{\"id\":1,\n", false),
            ("{\n{\"id\":1}", false),
            ("[1,2]\n[3]", false),
            ("{\"id\":1}{\"id\":2}", true),
            ("{\"id\":\"}{\"} {\"id\":2", true),
            ("{\"id\":NaN}{\"id\":2}", true),
            ("{\"id\":1}{\"id\":2}\n", true),
            // They once were lines, in which all was rejected.
            ("{\"id\":1}{\"id\":2}\n{\"id\":3}", true),
            ("{\"id\":1}{\"id\":2\n{\"id\":3}", false),
            ("{\"id\":1}{\"id\":2} 7\n{\"id\":3}", false),
            ("{\"id\":1,\n \"text\":\"a\"}\n{\"id\":2", true),
            ("\u{feff}\n{\"id\":[\n{\n} ]\n}", true),
            ("{\"id\":1,\n \"text\":\"a\"}", true),
            ("{\"id\":1,\n \"text\":\"a\"", false),
            ("{\"id\":1}\n", false),
            ("{\"id\":1} 7", false),
            ("{", false),
            ("", false),
        ] {
            check(content, 1 << 20, expected);
        }
    }

    #[test]
    fn a_long_first_object_is_looked_at_to_its_end() {
        let text = "}{ \\\" ".repeat(60_000);
        let (object, max) = (format!("{{\"text\":\"{text}\",\"x\":[{{}}]}}"), 1 << 20);
        check(&format!("{object}{object}"), max, true);
        check(&format!("\u{feff}{object} \r{object}\n"), max, true);
        check(&format!("{object}\n{object}\n"), max, false);
        check(&format!("{object} \r\n{object}\n"), max, false);
        check(&format!("{object}7"), max, false);
        check(&object, max, false);
        check(&object[..object.len() - 1], max, false);
        check(&format!("{{\n\"a\":{object}}}\n{object}"), max, true);
        // As PostgreSQL prints rows: it once was taken for lines.
        check(&format!("{{\"a\":{object},\n\"b\":1}}\n{object}"), max, true);
        check(&format!("{{\"a\":1,\n\"b\":{object}}}\n{object}"), max, true);
        check(&format!("{{\"a\":1,\n\"b\":{object}}}\n{object}"), object.len(), false);
        // At the limit, and beyond it.
        check(&format!("{object}{object}"), object.len(), true);
        check(&format!("{object}{object}"), object.len() / 2, false);
    }

    #[test]
    fn an_error_comes_behind_what_was_read_before_it() {
        let content = format!("{{\"text\":\"{}", "x".repeat(100_000));
        let failing = Failing(Cursor::new(content.clone().into_bytes()));
        let (mut looked_at, are_documents) = look(BufReader::new(failing), 1 << 20).unwrap();
        let mut read = String::new();
        let error = looked_at.read_to_string(&mut read).unwrap_err();
        assert_eq!((error.to_string(), are_documents), ("the disk is gone".to_owned(), false));
        let mut bytes = Vec::new();
        let failing = Failing(Cursor::new(content.clone().into_bytes()));
        look(BufReader::new(failing), 1 << 20).unwrap().0.read_to_end(&mut bytes).unwrap_err();
        assert_eq!(bytes, content.as_bytes());
    }

    /// Two more lines tell: a writer may write one and wait.
    #[test]
    fn a_damaged_first_line_is_no_object_with_those_after_it() {
        let line = r#"{"id":"1","n":[1,{"a":true}],"text":"a \" {"}"#;
        let next = r#"{"id":"2","text":"b"}"#;
        for end in 1..line.len() {
            let torn = &line[..end];
            let head = format!("{torn}\n{next}\n{next}\n");
            check(&head, 1 << 20, false);
            let waits = Failing(Cursor::new(head.clone().into_bytes()));
            let (looked_at, are_documents) = look(BufReader::new(waits), 1 << 20).unwrap();
            let looked_at = looked_at.into_inner();
            assert!(
                !are_documents && looked_at.failure.is_none() && looked_at.head == head.as_bytes(),
                "{torn}"
            );
        }
    }

    #[test]
    fn an_error_in_an_object_of_many_lines_comes_behind_it() {
        let content = b"{\"id\":1,\n\"text\":\"a".to_vec();
        let (mut looked_at, are_documents) =
            look(BufReader::new(Failing(Cursor::new(content.clone()))), 1 << 20).unwrap();
        let mut read = Vec::new();
        assert_eq!(looked_at.read_to_end(&mut read).unwrap_err().to_string(), "the disk is gone");
        assert!(!are_documents && read == content);
    }

    /// As Firehose delivers records: one such file was once one rejected line.
    #[test]
    fn records_of_some_kilobytes_in_one_line_are_read_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let record = |n: u32| format!("{{\"id\":\"{n}\",\"text\":\"{}\"}}", "word ".repeat(1_000));
        for (name, between, packed) in
            [("a.jsonl", "", false), ("b.jsonl", "\n", false), ("c.jsonl.zst", "", true)]
        {
            let content = (0..40).map(record).collect::<Vec<_>>().join(between);
            let path = folder.path().join(name);
            let content =
                if packed { zstd::encode_all(content.as_bytes(), 1).unwrap() } else { content.into() };
            fs::write(&path, content).unwrap();
            let inputs = Inputs::open(&InputOptions::of([path])).unwrap();
            let mut read = Vec::new();
            for chunk in inputs.chunks(Position::default(), &names(&["text"], false).columns()) {
                read.extend(chunk.records().map(|(_, (number, raw))| {
                    (number, String::from_utf8(raw.unwrap().bytes.to_vec()).unwrap())
                }));
            }
            assert!(read.into_iter().eq((0..40).map(|n| (u64::from(n) + 1, record(n)))), "{name}");
        }
    }
}
