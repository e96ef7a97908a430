use std::io::{BufReader, Write};

use super::super::compression::{WINDOW_LOG_MAX, open};
use super::super::fields::testing::{names, rows};
use super::*;

fn record(kind: &str, id: u32, content: &str) -> Vec<u8> {
    let len = content.len();
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:n:{id}>\r\ncontent-length: {len}\r\n\r\n{content}\r\n\r\n"
    )
    .into_bytes()
}

fn page(id: u32) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
    record("response", id, &format!("{head}<p>page {id}<script>no</script>"))
}

fn sample() -> Vec<Vec<u8>> {
    vec![
        record("warcinfo", 0, "software: a test"),
        page(1),
        record("request", 2, "GET / HTTP/1.1\r\n\r\n"),
        record("response", 3, "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>not here"),
        page(4),
        page(5),
    ]
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Reads all records: ids and texts of the pages, or the reasons, with their numbers.
fn read(content: Vec<u8>, record_bytes_max: usize) -> Vec<String> {
    let content =
        BufReader::with_capacity(7, open(io::Cursor::new(content), WINDOW_LOG_MAX).unwrap().content);
    let rows = rows(&mut Warc::new(content, record_bytes_max), names(&["text"], false));
    rows.into_iter().map(|(number, row)| format!("{number} {}", row.unwrap_or_else(|why| why))).collect()
}

const WHOLE: [&str; 3] = ["2 urn:n:1 page 1", "5 urn:n:4 page 4", "6 urn:n:5 page 5"];

#[test]
fn pages_come_out_of_plain_and_packed_files() {
    assert_eq!(read(sample().concat(), 999), WHOLE);
    assert_eq!(read(gzip(&sample().concat()), 999), WHOLE);
    assert_eq!(read(sample().iter().flat_map(|record| gzip(record)).collect(), 999), WHOLE);
    assert_eq!(read(Vec::new(), 999), [""; 0]);
}

/// The end of the file once took the last line end away from a response that ends in one, as a
/// body in chunks does.
#[test]
fn a_response_may_end_in_a_line_end() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = record("response", 9, &format!("{head}9\r\n<p>page 9\r\n0\r\n\r\n"));
    let open = record("response", 8, &format!("{head}a\r\n<p>page 8\r\r\n0\r\n\r\n"));
    for ending in ["", "\r\n", "\r\n\r\n", "\n\n"] {
        let whole = [&chunked[..], &open, &chunked[..chunked.len() - 4], ending.as_bytes()].concat();
        let expected = ["1 urn:n:9 page 9", "2 urn:n:8 page 8", "3 urn:n:9 page 9"];
        assert_eq!(read(whole.clone(), 999), expected, "{ending:?}");
        assert_eq!(read(gzip(&whole), 999), expected, "{ending:?}");
    }
    let members: Vec<u8> = [&chunked, &open, &chunked].iter().flat_map(|record| gzip(record)).collect();
    assert_eq!(read(members, 999).len(), 3);
}

#[test]
fn reading_goes_on_after_a_damaged_record() {
    let check = |damaged: Vec<u8>, reason: &str| {
        let mut records = sample();
        records[4] = damaged;
        let read = read(records.concat(), 999);
        assert!(read[1].contains(reason), "{read:?} should say {reason}");
        assert_eq!([&read[0], read.last().unwrap()], [WHOLE[0], WHOLE[2]]);
        assert_eq!(read.len(), 3, "{read:?}");
    };
    let text = String::from_utf8(page(4)).unwrap();
    check(text.replace("content-length", "content-width").into_bytes(), "names no length");
    check(text.replace("<p>", "<p>more than it says").into_bytes(), "length is wrong");
    for too_much in (5..40).chain([300, 900]) {
        let len = |n: usize| format!("content-length: {n}");
        let n: usize = text.len() - text.find("HTTP/").unwrap() - 4;
        check(text.replace(&len(n), &len(n + too_much)).into_bytes(), "length is wrong");
    }
    check(text.replace("WARC/1.0", "WORC/1.0").into_bytes(), "no record begins");
    check(record("response", 4, "HELLO"), "no HTTP response");
    let long = record("response", 4, &"x".repeat(2_000));
    check(long, "longer than 999 bytes");
}

/// Each record is a document, passed over, or an error.
#[test]
fn every_record_is_counted_once() {
    let count = |content: Vec<u8>| {
        let content = BufReader::new(open(io::Cursor::new(content), WINDOW_LOG_MAX).unwrap().content);
        let (mut warc, mut counts) = (Warc::new(content, 999), [0; 3]);
        while let Some(records) = warc.next_records() {
            for (_, record) in records.iter() {
                let text = record.map(|raw| Response::new(raw.bytes).text(PageText::Main));
                counts[match text {
                    Ok(Ok(Some(_))) => 0,
                    Ok(Ok(None)) => 1,
                    Ok(Err(_)) | Err(_) => 2,
                }] += 1;
            }
        }
        counts
    };
    assert_eq!(count(sample().concat()), [3, 3, 0]);
    let mut records = sample();
    records[4] = record("response", 4, "HELLO");
    assert_eq!(count(records.concat()), [2, 3, 1]);
    let mut damaged = sample();
    damaged[1] =
        String::from_utf8(page(1)).unwrap().replace("content-length: ", "content-length: 2").into_bytes();
    assert_eq!(count(damaged.concat()), [2, 3, 1]);
    for kind in ["warcinfo", "request", "revisit", "metadata", "continuation", "screenshot"] {
        let others = [record(kind, 7, "x"), page(1), record(kind, 8, &"x".repeat(2_000))].concat();
        assert_eq!(count(others), [1, 2, 0], "{kind}");
        // The complaint stands for the last one.
        assert_eq!(count([record(kind, 7, "x"), record(kind, 8, "x")].concat()), [0, 1, 1], "{kind}");
    }
}

#[test]
fn a_member_that_is_damaged_costs_itself() {
    let mut members: Vec<Vec<u8>> = sample().iter().map(|record| gzip(record)).collect();
    let middle = members[4].len() / 2;
    members[4][middle] ^= 0x55;
    let read = read(members.concat(), 999);
    assert_eq!([&read[0], read.last().unwrap()], [WHOLE[0], WHOLE[2]], "{read:?}");
    assert!(read[1].contains("a damaged record"), "{read:?}");
}

/// The members behind one that was cut off were once lost without a word.
#[test]
fn a_member_that_is_cut_off_costs_itself_and_padding_nothing() {
    let mut members: Vec<Vec<u8>> = sample().iter().map(|record| gzip(record)).collect();
    let zeros = members.iter().flat_map(|member| [&member[..], &[0; 4]].concat()).collect();
    assert_eq!(read(zeros, 999), WHOLE);
    let cut_off = |cut: usize| {
        let mut members = members.clone();
        members[4].truncate(cut);
        read(members.concat(), 999)
    };
    for cut in [11, 60, 80] {
        let read = cut_off(cut);
        assert_eq!([&read[0], &read[2]], [WHOLE[0], WHOLE[2]], "{read:?}");
        assert!(read[1].contains("5 a damaged record") && read.len() == 3, "{read:?}");
    }
    // All of its record is there.
    let read_whole = cut_off(members[4].len() - 9);
    assert_eq!([&read_whole[..2], &read_whole[3..]].concat(), [WHOLE[0], WHOLE[1], "7 urn:n:5 page 5"]);
    members.push(b"no gzip".to_vec());
    let read = read(members.concat(), 999);
    assert_eq!(read[..3], WHOLE);
    assert!(read[3].contains("not gzip follow") && read.len() == 4, "{read:?}");
}

#[test]
fn a_file_cut_or_changed_anywhere_is_read_to_its_end() {
    let plain = sample().concat();
    let packed: Vec<u8> = sample().iter().flat_map(|record| gzip(record)).collect();
    for whole in [plain, packed] {
        for place in 0..whole.len() {
            for row in read(whole[..place].to_vec(), 999) {
                assert!(
                    WHOLE.contains(&&*row)
                        || ["damaged", "stopped", "left out"].iter().any(|part| row.contains(part)),
                    "{row}"
                );
            }
            let mut changed = whole.clone();
            changed[place] ^= 1 << (place % 8);
            read(changed, 999);
        }
    }
}
