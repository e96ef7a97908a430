//! Beginning of JSON, by which documents are told from JSON Lines.

use std::io::{self, BufRead, BufReader, Read};

use super::super::compression::READ_BUFFER_BYTES;
use super::documents::{BYTE_ORDER_MARK, Nesting};

/// JSON whose beginning was looked at. It is handed on from its first byte.
pub(crate) struct LookedAt<R> {
    /// The bytes looked at, of which those from `at` on were not handed on yet.
    head: Vec<u8>,
    at: usize,
    /// Error met behind these bytes.
    failure: Option<io::Error>,
    rest: R,
}

/// Kind of JSON, as far as a beginning tells.
enum Kind {
    Documents,
    Lines,
    /// Neither the first line nor the first object has ended.
    Open(FirstObject),
}

/// The object at the beginning of a line, whose end is looked for.
#[derive(Default)]
struct FirstObject {
    nesting: Nesting,
    is_begun: bool,
}

/// Looks at the beginning of `content`: as far as the first line feed, the end of the first object,
/// or the limit of a record. Returns the content as a whole, and true if it is an array of objects,
/// an object printed over many lines, or several in a line, as streams of clouds are delivered.
pub(crate) fn look<R: Read>(
    mut content: BufReader<R>,
    record_bytes_max: usize,
) -> io::Result<(BufReader<LookedAt<R>>, bool)> {
    let mut head = content.fill_buf()?.to_vec();
    let (mut rest, mut failure) = (content.into_inner(), None);
    let are_documents = match kind(&head) {
        Kind::Documents => true,
        Kind::Lines => false,
        Kind::Open(mut object) => {
            let mut buffer = vec![0; READ_BUFFER_BYTES];
            loop {
                if head.len() > record_bytes_max {
                    break false;
                }
                match rest.read(&mut buffer) {
                    Ok(0) => break false,
                    Ok(n) => {
                        head.extend_from_slice(&buffer[..n]);
                        if let Some(another) = object.is_followed(&buffer[..n]) {
                            break another;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        failure = Some(error);
                        break false;
                    }
                }
            }
        }
    };
    let looked_at = LookedAt { head, at: 0, failure, rest };
    Ok((BufReader::with_capacity(READ_BUFFER_BYTES, looked_at), are_documents))
}

fn kind(head: &[u8]) -> Kind {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    let Some((first, rest)) = head.split_first() else { return Kind::Lines };
    let next = rest.trim_ascii_start().first();
    let are_documents = match first {
        // The first object of an array may stand in the same line.
        b'[' => matches!(next, Some(b'{' | b']')),
        b'{' => {
            let rest = rest.trim_ascii_end();
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            if line.len() < rest.len() {
                line.trim_ascii().is_empty() && matches!(next, Some(b'"' | b'}'))
            } else {
                let mut object = FirstObject::default();
                match object.is_followed(head) {
                    Some(another) => another,
                    None => return Kind::Open(object),
                }
            }
        }
        _ => false,
    };
    if are_documents { Kind::Documents } else { Kind::Lines }
}

impl FirstObject {
    /// Looks at the next bytes of the line. Returns true if another object follows the first, false
    /// if the line ends before or something else follows, and `None` if neither has come yet.
    fn is_followed(&mut self, bytes: &[u8]) -> Option<bool> {
        for byte in bytes {
            if *byte == b'\n' {
                return Some(false);
            }
            if self.is_begun && self.nesting.is_closed() {
                if !byte.is_ascii_whitespace() {
                    return Some(*byte == b'{');
                }
                continue;
            }
            self.is_begun = true;
            self.nesting.take(*byte);
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
            ("{\"id\":1}{\"id\":2}\n{\"id\":3}", false),
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
        check(&format!("{{\"a\":{object},\n\"b\":1}}\n{object}"), max, false);
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
