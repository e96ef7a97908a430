//! Files of every format, changed at random: each record is read or has a reason, and no reader
//! panics.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use super::fields::testing::names;
use super::records::{Place, Position};
use super::*;

/// Number of cases for each sample.
const CASES: usize = 250;

/// Pseudorandom numbers, the same in every run (Knuth, MMIX).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Pieces of the formats, to be put anywhere.
const PIECES: [&[u8]; 48] = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    "字".as_bytes(),
    b"\xc3",
    b"\"",
    b"\"\"",
    b",",
    b"\t",
    b";",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"null",
    b"1e999",
    b"-",
    b"18446744073709551616",
    b"-1",
    b"0",
    b"WARC/1.0\r\n",
    b"WARC/",
    b"WARC-Type: response\r\n",
    b"WARC-Type: conversion\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: 5\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"Content-Encoding: gzip\r\n",
    b"charset=",
    b"<script>",
    b"<!--",
    b"PAR1",
    b"\x1f\x8b\x08\0",
    b"\x28\xb5\x2f\xfd",
    b"BZh91AY&SY",
];

fn mutated(content: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut content = content.to_vec();
    for _ in 0..=numbers.below(4) {
        let (a, b) = (numbers.below(content.len() + 1), numbers.below(content.len() + 1));
        let (start, end) = (a.min(b), a.max(b));
        let near = end.min(start + 1 + numbers.below(16));
        match numbers.below(8) {
            0 => content.truncate(start),
            1 => drop(content.drain(start..near)),
            2 => drop(content.drain(start..end)),
            3 => content.extend_from_within(start..end),
            4 => {
                let piece = content[start..near].to_vec();
                content.splice(end..end, piece);
            }
            5 | 6 => {
                let piece = PIECES[numbers.below(PIECES.len())];
                content
                    .splice(start..if numbers.below(2) == 0 { start } else { near }, piece.iter().copied());
            }
            _ => {
                if let Some(byte) = content.get_mut(start) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
        }
    }
    content
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn warc_records() -> Vec<Vec<u8>> {
    let record = |kind: &str, n: u32, content: &[u8]| {
        let len = content.len();
        let head = format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:n:{n}>\r\nContent-Length: {len}\r\n\r\n"
        );
        [head.as_bytes(), content, b"\r\n\r\n"].concat()
    };
    let page = |fields: &str, body: &[u8]| {
        [format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n").as_bytes(), body].concat()
    };
    vec![
        record("warcinfo", 0, b"software: a test"),
        record("request", 1, b"GET / HTTP/1.1\r\n\r\n"),
        record("response", 2, &page("", b"<title>A &amp; B</title><p class=\"c\">one<script>no</script>")),
        record("response", 3, &page("Content-Encoding: gzip\r\n", &gzip(b"<p>packed"))),
        record(
            "response",
            4,
            &page("Transfer-Encoding: chunked\r\n", b"6\r\n<p>six\r\n4;x=y\r\n four\r\n0\r\n\r\n"),
        ),
    ]
}

/// Returns a small file of every format and compression, by its name.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let lines = "\u{feff}{\"id\":\"a\",\"text\":\"one\\u4e2d\\ud83d\\ude00 two\",\"x\":{\"y\":[1,-2.5e3,null]}}\r\n\
                 {\"id\":18446744073709551615,\"text\":\"地铁七号线\"}\n\n{\"text\":\"no id\",\"id\":null}";
    let csv = "\u{feff}id,x,text\r\na,,one\r\n\"b\",\"x \"\"y\"\"\",\"two\nthree\"\r\nc,1,四\r\n";
    let text = encoding_rs::GB18030
        .encode("地铁七号线南延段今天开始空载试运行，预计年底前载客运营。")
        .0
        .into_owned();
    let warc = warc_records().concat();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(csv.as_bytes()).unwrap();
    vec![
        ("a.jsonl", lines.into()),
        ("a.jsonl.gz", [gzip(&lines.as_bytes()[..40]), gzip(&lines.as_bytes()[40..])].concat()),
        ("a.jsonl.zst", zstd::encode_all(lines.as_bytes(), 1).unwrap()),
        ("a.csv", csv.into()),
        ("a.csv.bz2", bzip2.finish().unwrap()),
        ("a.tsv", csv.replace(',', "\t").into()),
        ("a.txt", text),
        ("a.warc", warc),
        ("a.warc.gz", warc_records().iter().flat_map(|record| gzip(record)).collect()),
        ("a.parquet", parquet::tests::sample(4)),
        ("a.arrow", arrow::tests::sample_file()),
        ("a.tar", archive::tests::tar(&[("a.jsonl", lines.as_bytes()), ("b.csv", csv.as_bytes())])),
        ("a.zip", archive::tests::zip(&[("a.jsonl", lines.as_bytes()), ("b.csv", csv.as_bytes())])),
    ]
}

/// Returns the number of records read, and the reasons of the others.
fn read(path: &str, whole_rows: &WholeRows) -> (usize, Vec<String>) {
    // A file that begins like another format is refused as a whole.
    let mut inputs = match Inputs::open(&InputOptions::of([path])) {
        Ok(inputs) => inputs,
        Err(refused) => return (0, vec![format!("{refused:#}")]),
    };
    inputs.whole_rows = whole_rows.clone();
    let fields = Fields::new(match path.ends_with(".parquet") {
        true => FieldNames { id: Some(FieldPath::name("number")), ..names(&["/meta/text"], false) },
        false if path.ends_with(".arrow") => {
            FieldNames { id: Some(FieldPath::name("number")), ..names(&["text"], false) }
        }
        false => names(&["text"], false),
    });
    let (mut n_read, mut reasons) = (0, Vec::new());
    for chunk in inputs.chunks(Position::default(), &fields.columns()) {
        for (position, (number, record)) in chunk.records() {
            let place = Place { origin: &chunk.origin, number, position };
            match record.map_err(ToString::to_string).and_then(|record| fields.parse(record, place)) {
                Ok(_) => n_read += 1,
                Err(reason) => reasons.push(reason),
            }
        }
    }
    (n_read, reasons)
}

#[test]
fn no_file_whatever_is_in_it_makes_a_reader_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(18);
    let mut n_read = BTreeMap::new();
    for (name, content) in samples() {
        let path = folder.path().join(name);
        let path = path.to_str().unwrap();
        for case in 0..CASES {
            let content = if case == 0 { content.clone() } else { mutated(&content, &mut numbers) };
            fs::write(path, &content).unwrap();
            let whole_rows = match (case % 2, name) {
                (0, _) => WholeRows::Unused,
                (_, "a.parquet") => WholeRows::ReadAgain,
                _ => WholeRows::Json,
            };
            let (n, reasons) = read(path, &whole_rows);
            *n_read.entry(name).or_insert(0) += n;
            for reason in reasons {
                let is_clear = !reason.is_empty() && !reason.contains("internal error");
                assert!(is_clear, "{name}, case {case}: {reason:?} for {}", content.escape_ascii());
            }
        }
    }
    assert!(n_read.values().all(|n| *n > CASES / 12), "too little is left to read: {n_read:?}");
}
