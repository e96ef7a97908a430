//! Detection of a file's content by its first bytes. A file whose name says something else, or
//! nothing, is not read as a format it does not have.
//!
//! Only unmistakable beginnings count. The name is believed for all others.

mod expected;

use std::fmt;
use std::io::Read;

use serde::de::IgnoredAny;

use super::Format;
use super::archive_kind::Archive;
use super::compression;
use super::conversions::{FEATHER, UTF_32, command, conversion};
use super::encoding::BYTE_ORDER_MARK;

pub(super) use self::expected::unpacked;

/// Number of bytes examined at the beginning of a file.
const HEAD_BYTES: usize = 1024;

/// Unmistakable content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A supported format.
    Known(Format),
    /// An archive, which is read member by member.
    Archive(Archive),
    /// Text in UTF-16, which is read where encodings are detected.
    Utf16,
    /// Unsupported content, by its description.
    Foreign(&'static str),
}

const PACKED_TWICE: Content = Content::Foreign("packed twice");
const PACKED_PARQUET: Content = Content::Foreign("Parquet that was packed once more");
const PACKED_ZIP: Content = Content::Foreign("a ZIP archive that was packed once more");
const ARC: Content = Content::Foreign("ARC");
const BINARY: Content = Content::Foreign("binary, or UTF-16 without a byte order mark");

/// Number of bytes among which content that is not text has a control character. A text may have
/// one farther on.
const CONTROL_BYTES: usize = 20;

/// Number of characters by which UTF-32 is told without a byte order mark.
const UTF_32_CHARACTERS: usize = 4;

/// Beginnings of content that is not text: a control character is in each of them, or follows.
const BINARY_MAGICS: [(&[u8], &str); 15] = [
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office file, as .doc .xls .ppt are"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"RIFF", "an image, sound or film (RIFF)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xfd7zXZ\x00", "packed with xz"),
    (b"\x04\x22\x4d\x18", "packed with lz4"),
    (b"\xff\x06\x00\x00sNaPpY", "packed with Snappy"),
    (b"ORC", "ORC"),
    (b"Obj\x01", "Avro"),
    (b"FEA1", FEATHER),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x7fELF", "a program"),
];

/// Beginnings made of printable characters, with which no person begins a text.
const TEXT_MAGICS: [(&[u8], &str); 2] = [(b"%PDF-1.", "PDF"), (b"{\\rtf1", "RTF")];

const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
const EMPTY_ZIP_MAGIC: &[u8] = b"PK\x05\x06";
const TAR_MAGIC: &[u8] = b"ustar";
const TAR_MAGIC_AT: usize = 257;

impl Content {
    /// Detects unpacked content by its first bytes.
    fn of(head: &[u8]) -> Option<Self> {
        let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
        let has_control = head.iter().any(is_control);
        let begins_binary = head.iter().take(CONTROL_BYTES).any(is_control);
        let foreign = |magics: &[(&[u8], &'static str)]| {
            magics.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| Self::Foreign(what))
        };
        if is_warc(head) {
            Some(Self::Known(Format::Warc))
        } else if is_arc(head) {
            Some(ARC)
        } else if is_html(head) {
            Some(Self::Known(Format::Html))
        } else if is_utf_32(head) {
            Some(Self::Foreign(UTF_32))
        } else if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
            Some(Self::Utf16)
        } else if is_json_line(head) {
            Some(Self::Known(Format::Jsonl))
        } else if !has_control {
            foreign(&TEXT_MAGICS)
        } else if begins_binary && head.starts_with(b"PAR1") {
            Some(Self::Known(Format::Parquet))
        } else if head.starts_with(b"ARROW1\0\0") || is_arrow_stream(head) {
            Some(Self::Known(Format::Arrow))
        } else if compression::is_packed(head) {
            Some(PACKED_TWICE)
        } else if head.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(TAR_MAGIC)) {
            Some(Self::Archive(Archive::Tar))
        } else if head.starts_with(ZIP_MAGIC) || head.starts_with(EMPTY_ZIP_MAGIC) {
            Some(Self::Archive(Archive::Zip))
        } else {
            let binary = begins_binary.then(|| foreign(&BINARY_MAGICS)).flatten();
            binary.or_else(|| foreign(&TEXT_MAGICS))
        }
    }

    /// Returns the content that the ending of a file name implies, if it is not read.
    pub(super) fn of_ending(name: &str) -> Option<Self> {
        conversion(name).map(|(what, _)| Self::Foreign(what))
    }

    /// Detects the content of a whole stored file. `None` if the file begins like nothing special,
    /// or cannot be read; reading it reports the fault. Without a name that implies a format,
    /// content with zero bytes is binary.
    pub(super) fn look(raw: impl Read + Send + 'static, is_named: bool, window_log_max: u32) -> Option<Self> {
        let mut opened = compression::open(raw, window_log_max).ok()?;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        // A file that breaks off may still have given enough bytes.
        let _ = opened.content.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head);
        match Self::of(&head) {
            Some(Self::Known(Format::Parquet)) if opened.is_packed => Some(PACKED_PARQUET),
            Some(Self::Archive(Archive::Zip)) if opened.is_packed => Some(PACKED_ZIP),
            None if !is_named && head.contains(&0) => Some(BINARY),
            content => content,
        }
    }

    /// Returns the reason why the content cannot be read as `format`, if it is something else.
    pub(super) fn complaint(self, format: Format) -> Option<String> {
        let reads_any_encoding =
            matches!(format, Format::Jsonl | Format::Text | Format::Html | Format::Csv | Format::Tsv);
        match self {
            Self::Known(found) if found == format => None,
            // The source of a page is also a text, and so is JSON.
            Self::Known(Format::Html | Format::Jsonl) if format == Format::Text => None,
            Self::Known(Format::Jsonl) if format == Format::Html => None,
            Self::Known(found) => Some(format!("is {found}, not {format}; --format {found} reads it")),
            Self::Utf16 if reads_any_encoding => None,
            Self::Utf16 => Some(format!("is in UTF-16, and {format} is read in UTF-8; write it in that")),
            Self::Archive(_) | Self::Foreign(_) => Some(self.to_string()),
        }
    }

    /// Returns the reason why the content cannot be read as an archive, if it is something else.
    pub(super) fn complaint_of_archive(self, archive: Archive) -> Option<String> {
        match self {
            Self::Archive(found) if found == archive => None,
            Self::Foreign(_) => Some(self.to_string()),
            Self::Known(_) | Self::Utf16 | Self::Archive(_) => {
                Some(format!("is not {}, as its name says; rename it", archive.name()))
            }
        }
    }
}

/// Formats the reason why the content cannot be read.
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(format) => write!(f, "is {format}"),
            Self::Archive(Archive::Tar) => {
                f.write_str("is a tar archive; with a name that ends in .tar it is read member by member")
            }
            Self::Archive(Archive::Zip) => f.write_str(
                "is a ZIP archive, as .docx .xlsx .odt .epub are, which are not read; write what is in it as text or \
                 JSON Lines first; an archive of texts is read member by member where its name ends in .zip",
            ),
            Self::Utf16 => f.write_str("is in UTF-16, which is read in JSON Lines, texts and tables only"),
            &PACKED_TWICE => f.write_str("is packed twice; unpack it once"),
            &PACKED_ZIP => f.write_str("is a ZIP archive that was packed once more; unpack it once"),
            &PACKED_PARQUET => {
                f.write_str("is Parquet that was packed once more, and is read in parts; unpack it")
            }
            &ARC => f.write_str("is ARC, which is not read; `warcio recompress` makes WARC of it"),
            Self::Foreign(what) => match command(what) {
                Some(command) => write!(f, "is {what}, which is not read; this converts it: {command}"),
                None => write!(
                    f,
                    "is {what}, and cannot be read; write what is in it as text or JSON Lines first"
                ),
            },
        }
    }
}

/// Returns true for the byte order mark of UTF-32, or for characters of four bytes each.
fn is_utf_32(head: &[u8]) -> bool {
    let are_characters = |value: fn([u8; 4]) -> u32| {
        let is_character = |unit: [u8; 4]| {
            char::from_u32(value(unit)).is_some_and(|c| !c.is_control() || c.is_ascii_whitespace())
        };
        let units = head.as_chunks().0;
        units.len() >= UTF_32_CHARACTERS
            && units.iter().take(UTF_32_CHARACTERS).all(|unit| is_character(*unit))
    };
    head.starts_with(b"\xff\xfe\0\0")
        || head.starts_with(b"\0\0\xfe\xff")
        || are_characters(u32::from_le_bytes)
        || are_characters(u32::from_be_bytes)
}

/// Returns true for the length of a header of Arrow, a multiple of eight below a MiB, behind the
/// mark before it.
fn is_arrow_stream(head: &[u8]) -> bool {
    matches!(head, [0xff, 0xff, 0xff, 0xff, low, _, 0..16, 0, ..] if low % 8 == 0)
}

/// Returns true for a version followed by a header, since the version alone may begin a text.
fn is_warc(head: &[u8]) -> bool {
    let Some(version) = head.strip_prefix(b"WARC/") else { return false };
    version.first().is_some_and(u8::is_ascii_digit) && contains(head, b"\nwarc-type:")
}

/// Returns true for the line before a record of ARC: an address, one of the internet, a time of 14
/// digits, a type and a length.
fn is_arc(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [address, .., _, time, media, len] = words[..] else { return false };
    let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let is_media = media.contains(&b'/') || media.starts_with(b"no-type");
    address.contains(&b':') && time.len() == 14 && is_number(time) && is_media && is_number(len)
}

fn is_html(head: &[u8]) -> bool {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    let begins = |start: &[u8]| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    let is_element = || text.get(5).is_some_and(|next| *next == b'>' || next.is_ascii_whitespace());
    begins(b"<!doctype html")
        || (begins(b"<html") && is_element())
        || (begins(b"<?xml") && (contains(text, b"<!doctype html") || contains(text, b"<html")))
}

/// Returns true for a first line that is a JSON object, as far as it is in `head`. No column is
/// called so.
fn is_json_line(head: &[u8]) -> bool {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_cut = line.len() == text.len() && head.len() >= HEAD_BYTES;
    let read = || serde_json::from_slice::<IgnoredAny>(line);
    line.starts_with(b"{") && read().map_or_else(|error| is_cut && error.is_eof(), |_| true)
}

/// Returns true if `part` occurs in `head`, ignoring ASCII case.
fn contains(head: &[u8], part: &[u8]) -> bool {
    head.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// Returns what `bytes` plainly are that is no text; `None` if they may be one.
pub(super) fn foreign(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    match Content::of(head)? {
        PACKED_TWICE => Some("packed"),
        Content::Foreign(what) => Some(what),
        Content::Known(Format::Parquet) => Some("Parquet"),
        Content::Known(Format::Arrow) => Some("Arrow"),
        Content::Archive(archive) => Some(archive.name()),
        Content::Known(_) | Content::Utf16 => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};

    use super::super::compression::WINDOW_LOG_MAX;
    use super::*;

    const WARC: &[u8] = b"WARC/1.0\r\nWARC-Type: warcinfo\r\n";

    #[test]
    fn what_cannot_be_mistaken_is_told() {
        for (head, expected) in [
            (WARC, Some(Content::Known(Format::Warc))),
            (b"WARC/1.0 is a format of the web", None),
            (b"filedesc://t.arc 0.0.0.0 20080430204825 text/plain 74\n1 0 Test\n", Some(ARC)),
            (b"http://a/b c 192.0.2.1 20080430204825 text/html 205\nHTTP/1.1 200 OK\n", Some(ARC)),
            (b"dns:a 192.0.2.1 20080430204825 no-type 205\r\n", Some(ARC)),
            (b"filedesc://t.arc is how it begins\n", None),
            (b"PAR1\x15\x04", Some(Content::Known(Format::Parquet))),
            (b"PAR1,PAR2,PAR3\n", None),
            (b"ARROW1\0\0\xff", Some(Content::Known(Format::Arrow))),
            (b"\xff\xff\xff\xff\x78\x01\0\0\x10\0", Some(Content::Known(Format::Arrow))),
            (b"\xff\xff\xff\xff\x79\x01\0\0\x10\0", None),
            (b"\xef\xbb\xbf\n<!DOCTYPE html>", Some(Content::Known(Format::Html))),
            (b"<HTML lang=en>", Some(Content::Known(Format::Html))),
            (b"<?xml version='1.0'?><html>", Some(Content::Known(Format::Html))),
            (b"<htmlish>", None),
            (b"{\"text\":\"<html>\"}", Some(Content::Known(Format::Jsonl))),
            (b"\xef\xbb\xbf{\"id\":1}\r\n{\"id\":2", Some(Content::Known(Format::Jsonl))),
            (b"{\"id\":1},a text\n", None),
            (b"{\"id\":", None),
            (b"{\n\"id\":1}", None),
            (b"\xff\xfea\0", Some(Content::Utf16)),
            (b"PK\x03\x04\x14", Some(Content::Archive(Archive::Zip))),
            (b"GIF89a is how it begins", None),
            (b"ORCA\n", None),
            (b"ORCID,id,text\n0000-0001,1,first line\x0bsecond line\n", None),
            (b"RIFF is how it begins, and has a \x08 or \x0b far on", None),
            (b"PAR1 is how it begins, and has a \x08 or \x0b far on", None),
            (b"FEA1 is how it begins, and has a \x08 or \x0b far on", None),
            (b"\xff\xfe\0\0T\0\0\0", Some(Content::Foreign(UTF_32))),
            (b"\0\0\xfe\xff\0\0\0T", Some(Content::Foreign(UTF_32))),
            (b"T\0\0\0h\0\0\0\x2f\x6e\0\0e\0\0\0", Some(Content::Foreign(UTF_32))),
            (b"\0\0\0T\0\0\0h\0\0\0e\0\0\0 ", Some(Content::Foreign(UTF_32))),
            (b"T\0h\0e\0 \0f\0e\0r\0r\0", None),
            (b"\x07\0\0\0\x08\0\0\0\x09\0\0\0\x0a\0\0\0", None),
            (b"\x1f\x8b\x08\x00", Some(PACKED_TWICE)),
            (b"", None),
        ] {
            assert_eq!(Content::of(head), expected, "{}", head.escape_ascii());
        }
        for foreign in [&b"%PDF-1.7\n"[..], b"{\\rtf1\\ansi", b"ORC\x08\x03", b"ORC\n\x06\x12\x04"] {
            assert!(matches!(Content::of(foreign), Some(Content::Foreign(_))), "{}", foreign.escape_ascii());
        }
        // The length of a sound file may be printable.
        assert_eq!(
            Content::of(b"RIFF    WAVEfmt \x10\0\0\0"),
            Some(Content::Foreign("an image, sound or film (RIFF)"))
        );
        // A line goes on beyond what is looked at.
        for (begun, expected) in [("{\"text\":\"", Some(Content::Known(Format::Jsonl))), ("{text: ", None)] {
            let head = begun.to_owned() + &"x".repeat(HEAD_BYTES - begun.len());
            assert_eq!(Content::of(head.as_bytes()), expected, "{begun}");
        }
        let tar = [&b"name"[..], &[0; 253], b"ustar\0"].concat();
        assert_eq!(Content::of(&tar), Some(Content::Archive(Archive::Tar)));
    }

    #[test]
    fn a_whole_file_is_looked_at_through_its_packing() {
        let look = |raw: &[u8], is_named| Content::look(Cursor::new(raw.to_vec()), is_named, WINDOW_LOG_MAX);
        let packed = |content: &[u8]| zstd::encode_all(content, 1).unwrap();
        assert_eq!(look(&packed(WARC), true), Some(Content::Known(Format::Warc)));
        assert_eq!(look(&packed(b"PAR1\x15\x04"), true), Some(PACKED_PARQUET));
        assert_eq!(look(&packed(&packed(b"{}")), true), Some(PACKED_TWICE));
        assert_eq!((look(b"a\0b", true), look(b"a\0b", false)), (None, Some(BINARY)));
    }

    #[test]
    fn the_first_read_of_something_else_fails_and_nothing_of_the_rest_is_lost() {
        struct ByteByByte(Cursor<Vec<u8>>);
        impl Read for ByteByByte {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0.position() == 3000 {
                    return Err(io::Error::other("the disk is gone"));
                }
                let n = buffer.len().min(1);
                self.0.read(&mut buffer[..n])
            }
        }
        let read = |content: &[u8], format| {
            let mut read = Vec::new();
            let raw = ByteByByte(Cursor::new(content.to_vec()));
            let result =
                io::BufReader::new(unpacked(raw, format, WINDOW_LOG_MAX).unwrap()).read_to_end(&mut read);
            (read, result.map_err(|error| error.to_string()))
        };
        let lines = vec![b'x'; 5000];
        assert_eq!(read(&lines, Format::Jsonl), (lines[..3000].to_vec(), Err("the disk is gone".to_owned())));
        assert_eq!(read(b"{}", Format::Jsonl), (b"{}".to_vec(), Ok(2)));
        let (none, error) = read(WARC, Format::Jsonl);
        assert_eq!(none, b"");
        assert_eq!(error.unwrap_err(), "the file is warc, not jsonl; --format warc reads it");
        assert_eq!(read(WARC, Format::Warc).1, Ok(WARC.len()));
        assert!(read(b"<html>\n", Format::Csv).1.is_err() && read(b"<html>\n", Format::Text).1.is_ok());
        for (format, is_read) in
            [(Format::Jsonl, true), (Format::Text, true), (Format::Html, true), (Format::Tsv, false)]
        {
            assert_eq!(read(b"{\"id\":1}\n{", format).1.is_ok(), is_read, "{format}");
        }
        assert!(
            read(b"\xff\xfea\0", Format::Warc).1.is_err() && read(b"\xff\xfea\0", Format::Html).1.is_ok()
        );
    }
}
