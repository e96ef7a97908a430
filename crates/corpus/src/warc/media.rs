//! Media types: those of pages and texts, and what is told by its bytes where none is named.

use encoding_rs::Encoding;

use super::super::encoding::BYTE_ORDER_MARK;

/// Number of bytes at the beginning of a body that tell what it is, as in browsers.
const HEAD_BYTES: usize = 1445;

/// Tags that begin a page, as in browsers.
const TAGS: [&[u8]; 17] = [
    b"!doctype html",
    b"html",
    b"head",
    b"script",
    b"iframe",
    b"h1",
    b"div",
    b"font",
    b"table",
    b"a",
    b"style",
    b"title",
    b"b",
    b"body",
    b"br",
    b"p",
    b"!--",
];

/// Media type of a body, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    Html,
    Text,
    /// None is named, so the bytes decide.
    Unknown,
    /// A type without a page or a text, such as an image.
    Other,
}

impl Media {
    /// Returns the type that a `Content-Type`, in lowercase, names. Of several the last counts, as
    /// in browsers.
    pub(super) fn of(content_type: &str) -> Self {
        let essences = content_type.split(',').rev().map(essence);
        match essences.into_iter().find(|essence| essence.contains('/')).unwrap_or_default() {
            "text/html" | "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => Self::Html,
            "text/plain" => Self::Text,
            "" | "unknown/unknown" | "application/unknown" | "*/*" => Self::Unknown,
            _ => Self::Other,
        }
    }

    /// Returns the type of a body without a named one.
    pub(super) fn told_by(body: &[u8]) -> Self {
        let head = &body[..body.len().min(HEAD_BYTES)];
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
        let begins = |tag: &[u8]| {
            let found = text.get(1..=tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag));
            let ends = |next: &u8| *next == b'>' || next.is_ascii_whitespace();
            found && (tag == b"!--" || text.get(tag.len() + 1).is_some_and(ends))
        };
        if text.first() == Some(&b'<') && TAGS.into_iter().any(begins) {
            Self::Html
        } else if text.starts_with(b"<?xml") {
            let is_page = memchr::memmem::find(&text.to_ascii_lowercase(), b"<html").is_some();
            if is_page { Self::Html } else { Self::Other }
        } else if Encoding::for_bom(head).is_none() && head.iter().any(is_of_no_text) {
            Self::Other
        } else {
            Self::Text
        }
    }
}

/// Returns the encoding that a `Content-Type`, in lowercase, names.
pub(super) fn charset(content_type: &str) -> Option<&'static Encoding> {
    let charset = |part: &str| {
        let (name, label) = part.trim().split_once('=')?;
        let label = label.trim().trim_matches(['"', '\'']);
        if name.trim() == "charset" { Encoding::for_label(label.as_bytes()) } else { None }
    };
    content_type.split([';', ',']).rev().find_map(charset)
}

/// Returns true for a control character that no text contains; ESC begins a sequence in ISO-2022.
pub(super) fn is_of_no_text(byte: &u8) -> bool {
    matches!(*byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_browsers() {
        for (content_type, expected) in [
            ("text/html", Media::Html),
            ("text/html; charset=utf-8", Media::Html),
            ("text/html, text/html; charset=utf-8", Media::Html),
            ("text/html;charset=utf-8, text/plain", Media::Text),
            ("text/html, charset=utf-8", Media::Html),
            (" application/xhtml+xml ;q=1", Media::Html),
            ("image/png", Media::Other),
            ("application/octet-stream", Media::Other),
            ("text/htmlish", Media::Other),
            ("", Media::Unknown),
            ("unknown/unknown", Media::Unknown),
            ("html", Media::Unknown),
        ] {
            assert_eq!(Media::of(content_type), expected, "{content_type}");
        }
    }

    #[test]
    fn bytes_tell_where_no_type_is_named() {
        for (body, expected) in [
            (&b"<html><body>"[..], Media::Html),
            (b"\xef\xbb\xbf \n<!DOCTYPE HTML PUBLIC", Media::Html),
            (b"<!-- a --><p>", Media::Html),
            (b"<P CLASS=a>", Media::Html),
            (b"<?xml version='1.0'?><HTML>", Media::Html),
            (b"<?xml version='1.0'?><rss>", Media::Other),
            (b"<parrot>", Media::Text),
            (b"<", Media::Text),
            (b"", Media::Text),
            (b"a text\t\x1b(B\n", Media::Text),
            (b"\xff\xfea\0", Media::Text),
            (b"\x89PNG\r\n\x1a\n\0", Media::Other),
        ] {
            assert_eq!(Media::told_by(body), expected, "{}", body.escape_ascii());
        }
    }

    #[test]
    fn encodings_are_named_by_a_parameter() {
        for (content_type, expected) in [
            ("text/html; charset=gb2312", Some("GBK")),
            ("text/html; charset=\"utf-8\"; q=1", Some("UTF-8")),
            ("text/html;x=y; charset = 'windows-1251'", Some("windows-1251")),
            ("text/html, text/html; charset=big5", Some("Big5")),
            ("text/html; accept-charset=big5", None),
            ("text/html; charset=nonsense", None),
            ("text/html", None),
        ] {
            assert_eq!(charset(content_type).map(Encoding::name), expected, "{content_type}");
        }
    }
}
