//! Types of WARC records: detection of those with documents, and counts of the others.

use std::collections::BTreeMap;

use super::Header;
use super::media::Media;
use crate::numbers::Grouped;

const RESPONSE: &str = "response";

/// Text, or another form, made from a response: the records of WET files.
const CONVERSION: &str = "conversion";

/// A document in its own form, not received from a web server.
const RESOURCE: &str = "resource";

/// Maximum number of record types counted apart; the standard has eight.
const KINDS_MAX: usize = 16;

const KIND_BYTES_MAX: usize = 16;

/// Schemes of addresses from which no page comes: what a crawler noted on the way to one.
const SCHEMES_OF_NO_PAGE: [&str; 3] = ["dns:", "whois:", "ntp:"];

/// Schemes of addresses from which an answer by HTTP comes, whatever the record says of its type.
const SCHEMES_OF_ANSWERS: [&str; 2] = ["http:", "https:"];

/// Content of a record with a document.
pub(super) enum Holds {
    /// The answer of a server.
    Answer,
    /// The document itself: HTML or plain text.
    Document { is_html: bool },
}

impl Holds {
    /// Returns the content of a record with this header; `None` if the record holds no document,
    /// but a request, metadata or an image.
    pub(super) fn of(header: &Header<'_>) -> Option<Self> {
        let kind = header.get("WARC-Type")?.to_ascii_lowercase();
        let address = header.get("WARC-Target-URI").unwrap_or_default().trim_start_matches('<');
        let begins = |scheme: &&str| {
            address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if SCHEMES_OF_NO_PAGE.iter().any(&begins) {
            return None;
        }
        let content_type = header.get("Content-Type").unwrap_or_default().to_ascii_lowercase();
        let document = match Media::of(&content_type) {
            Media::Html => Some(Self::Document { is_html: true }),
            Media::Text => Some(Self::Document { is_html: false }),
            Media::Unknown | Media::Other => None,
        };
        let is_answer = || {
            content_type.is_empty()
                || content_type.starts_with("application/http")
                || SCHEMES_OF_ANSWERS.iter().any(&begins)
        };
        match &*kind {
            RESPONSE if is_answer() => Some(Self::Answer),
            RESPONSE | RESOURCE => document,
            // Conversions are to text unless their header names another type.
            CONVERSION if content_type.is_empty() => Some(Self::Document { is_html: false }),
            CONVERSION => document,
            _ => None,
        }
    }
}

/// Number of records without a document, by type.
#[derive(Default)]
pub(super) struct Kinds(BTreeMap<String, u64>);

impl Kinds {
    pub(super) fn add(&mut self, header: &Header<'_>) {
        let kind = header.get("WARC-Type").unwrap_or_default();
        // The type is shown to the user as it stands.
        let is_plain = kind.len() <= KIND_BYTES_MAX && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_new = !self.0.contains_key(kind);
        let is_named = !kind.is_empty() && is_plain && (!is_new || self.0.len() < KINDS_MAX);
        *self.0.entry(if is_named { kind } else { "other" }.to_owned()).or_default() += 1;
    }

    /// Formats a complaint about a file of such records only; `None` if none was counted.
    pub(super) fn complaint(&self) -> Option<String> {
        let show = |(kind, n): (&String, &u64)| format!("{} {kind}", Grouped(*n));
        let kinds = self.0.iter().map(show).collect::<Vec<_>>().join(", ");
        let is = "no record of the file holds a page or a text (response, or conversion and resource of text or HTML)";
        (!kinds.is_empty()).then(|| format!("{is}; left out: {kinds} records"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fields::testing::{names, rows};
    use super::super::Warc;
    use super::*;

    fn record(kind: &str, id: u32, content_type: &str, content: &str) -> String {
        let fields =
            format!("WARC-Type: {kind}\r\nWARC-Record-ID: <urn:n:{id}>\r\nContent-Type: {content_type}");
        format!("WARC/1.0\r\n{fields}\r\nContent-Length: {}\r\n\r\n{content}\r\n\r\n", content.len())
    }

    /// Reads all records: ids and texts of the documents, or the reasons, with their numbers.
    fn read(content: &str, record_bytes_max: usize) -> Vec<String> {
        let rows = rows(&mut Warc::new(content.as_bytes(), record_bytes_max), names(&["text"], false));
        rows.into_iter().map(|(number, row)| format!("{number} {}", row.unwrap_or_else(|why| why))).collect()
    }

    /// WET files of a crawl hold no answers, but the texts of pages.
    #[test]
    fn texts_that_were_made_of_pages_are_documents() {
        let wet = [
            record("warcinfo", 0, "application/warc-fields", "software: a test"),
            record("conversion", 1, "text/plain", "page 1 &amp; <b>"),
            record("conversion", 2, "image/png", "\u{1}"),
            record("resource", 3, "text/html; charset=utf-8", "<p>page 3 &amp;<script>no</script>"),
        ];
        let wet = wet.concat();
        assert_eq!(read(&wet, 999), ["2 urn:n:1 page 1 &amp; <b>", "4 urn:n:3 page 3 &"]);
        assert_eq!(read(&wet, 16)[0], "2 urn:n:1 page 1 &amp; <b>");
        assert!(read(&wet, 15)[0].contains("longer than 15 bytes"));
    }

    #[test]
    fn a_file_without_documents_says_what_is_in_it() {
        let request = record("request", 2, "application/http; msgtype=request", "GET / HTTP/1.1\r\n\r\n");
        let other = [&record("warcinfo", 0, "application/warc-fields", ""), &*request, &*request].concat();
        let said = read(&other, 999);
        assert!(said.len() == 1 && said[0].starts_with("3 no record of the file"), "{said:?}");
        assert!(said[0].ends_with("left out: 2 request, 1 warcinfo records"), "{said:?}");
        let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>page 1";
        let page = record("response", 1, "application/http; msgtype=response", page);
        assert_eq!(read(&(page + &other), 999), ["1 urn:n:1 page 1"]);
        // Damage is already reported, so no complaint follows.
        let damaged = read(&(other + "WORC/1.0"), 999);
        assert!(damaged.len() == 1 && damaged[0].contains("damaged"), "{damaged:?}");
    }

    #[test]
    fn documents_are_told_by_type_and_content() {
        for (header, expected) in [
            ("WARC-Type: response\nContent-Type: application/http", Some("answer")),
            ("WARC-Type: Response\nContent-Type: Application/HTTP;msgtype=response", Some("answer")),
            ("WARC-Type: response", Some("answer")),
            ("WARC-Type: response\nWARC-Target-URI: http://a\nContent-Type: text/html", Some("answer")),
            ("WARC-Type: response\nWARC-Target-URI: ftp://a\nContent-Type: text/plain", Some("text")),
            ("WARC-Type: response\nWARC-Target-URI: dns:a\nContent-Type: text/dns", None),
            ("WARC-Type: response\nWARC-Target-URI: <DNS:a>\nContent-Type: text/plain", None),
            ("WARC-Type: response\nWARC-Target-URI: dns:a", None),
            ("WARC-Type: response\nContent-Type: text/dns", None),
            ("WARC-Type: response\nWARC-Target-URI: whois://a\nContent-Type: text/plain", None),
            ("WARC-Type: resource\nWARC-Target-URI: urn:thumbnail:http://a\nContent-Type: image/jpeg", None),
            ("WARC-Type: resource\nWARC-Target-URI: urn:pageinfo:a\nContent-Type: application/json", None),
            ("WARC-Type: revisit\nContent-Type: application/http; msgtype=response", None),
            ("WARC-Type: continuation\nContent-Type: text/plain", None),
            ("WARC-Type: conversion\nContent-Type: text/plain", Some("text")),
            ("WARC-Type: conversion", Some("text")),
            ("warc-type: resource\ncontent-type: Text/HTML; charset=gbk", Some("html")),
            ("WARC-Type: resource\nContent-Type: image/png", None),
            ("WARC-Type: resource", None),
            ("WARC-Type: request\nContent-Type: text/plain", None),
            ("WARC-Type: metadata\nContent-Type: text/plain", None),
            ("", None),
        ] {
            let holds = Holds::of(&Header(header.as_bytes())).map(|holds| match holds {
                Holds::Answer => "answer",
                Holds::Document { is_html: true } => "html",
                Holds::Document { is_html: false } => "text",
            });
            assert_eq!(holds, expected, "{header:?}");
        }
    }

    #[test]
    fn the_others_are_counted_and_bounded() {
        let mut kinds = Kinds::default();
        assert_eq!(kinds.complaint(), None);
        for kind in ["warcinfo", "request", "request", "\u{1b}[31m", ""] {
            kinds.add(&Header(format!("WARC-Type: {kind}").as_bytes()));
        }
        let complaint = kinds.complaint().unwrap();
        assert!(complaint.ends_with("left out: 2 other, 2 request, 1 warcinfo records"), "{complaint}");
        for n in 0..1000 {
            kinds.add(&Header(format!("WARC-Type: k{n}").as_bytes()));
        }
        assert!(kinds.0.len() <= KINDS_MAX + 1);
    }
}
