use std::fs;
use std::io::Write;
use std::path::Path;

use super::super::fields::testing::names;
use super::super::{Fields, InputOptions, Inputs, Numbered, Place, Position, RecordOptions};
use super::*;

/// A member for an archive of a test: its name, and its content.
type File<'f> = (&'f str, &'f [u8]);

fn block(name: &str, kind: ::tar::EntryType, len: usize) -> ::tar::Header {
    let mut header = ::tar::Header::new_gnu();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(len as u64);
    header.set_cksum();
    header
}

/// Returns a tar archive of regular files.
pub(in super::super) fn tar(files: &[File<'_>]) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, content) in files {
        let header = block(name, ::tar::EntryType::Regular, content.len());
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Returns a ZIP archive whose members are packed by turns with each method.
pub(in super::super) fn zip(files: &[File<'_>]) -> Vec<u8> {
    let number = |number: usize, n: usize| (0..n).map(move |i| (number >> (8 * i)) as u8);
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (i, (name, content)) in files.iter().enumerate() {
        let (method, packed) = match i % 3 {
            0 => (8, deflate(content)),
            1 => (0, content.to_vec()),
            _ => (93, zstd::encode_all(*content, 1).unwrap()),
        };
        let start = bytes.len();
        let mut common: Vec<u8> = [20, 0, 0, 0, method, 0, 0, 0, 0, 0].to_vec();
        common.extend(number(crc32fast::hash(content) as usize, 4));
        common.extend(number(packed.len(), 4).chain(number(content.len(), 4)));
        common.extend(number(name.len(), 2).chain([0, 0]));
        bytes.extend(b"PK\x03\x04".iter().chain(&common).chain(name.as_bytes()).chain(&packed));
        directory.extend(b"PK\x01\x02\x14\x03".iter().chain(&common).chain(&[0; 10]));
        directory.extend(number(start, 4).chain(name.bytes()));
    }
    let start = bytes.len();
    let n = number(files.len(), 2).chain(number(files.len(), 2));
    let end = n.chain(number(directory.len(), 4)).chain(number(start, 4)).chain([0, 0]);
    directory.extend(b"PK\x05\x06\0\0\0\0".iter().copied().chain(end.collect::<Vec<u8>>()));
    bytes.extend(directory);
    bytes
}

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Reads an archive of this name from a position on: each record with the position after it.
fn read_from(folder: &Path, name: &str, from: Position) -> Vec<(Position, String)> {
    let options = InputOptions {
        records: RecordOptions { record_bytes_max: 1000, ..RecordOptions::default() },
        ..InputOptions::of([folder.join(name)])
    };
    let inputs = match Inputs::open(&options) {
        Ok(inputs) => inputs,
        Err(refused) => return vec![(Position::default(), format!("{refused:#}"))],
    };
    let fields = Fields::new(names(&["text"], true));
    let mut read = Vec::new();
    for chunk in inputs.chunks(from, &fields.columns()) {
        read.extend(chunk.records().map(|(position, (number, raw)): (_, Numbered<'_>)| {
            let place = Place { origin: &chunk.origin, number, position };
            let parsed =
                raw.map_err(ToString::to_string).and_then(|raw| Ok((raw, fields.parse(raw, place)?)));
            let shown = match parsed {
                Ok((_, Some(record))) => format!("{} {}", record.id, record.text),
                Ok((raw, None)) => format!("left out {}", raw.left_out().unwrap()),
                Err(why) => format!("{}:{number} {why}", chunk.origin.stem()),
            };
            (position, shown)
        }));
    }
    read
}

fn read(name: &str, content: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    read_from(folder.path(), name, Position::default()).into_iter().map(|(_, shown)| shown).collect()
}

#[track_caller]
fn check(name: &str, content: &[u8], expected: &[&str]) {
    let read = read(name, content);
    let fits = |(read, expected): (&String, &&str)| {
        expected.strip_suffix('…').map_or(read == expected, |start| read.starts_with(start))
    };
    assert!(read.len() == expected.len() && read.iter().zip(expected).all(fits), "{read:#?} {expected:#?}");
}

const LINES: &[u8] = b"{\"id\":\"1\",\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"id\":3}\n";

#[test]
fn each_member_has_its_own_format_and_its_name_in_made_ids() {
    let packed = zstd::encode_all(LINES, 1).unwrap();
    let files: [File<'_>; 9] = [
        ("./a.jsonl", LINES),
        ("d/b.jsonl.zst", &packed),
        ("d/c.csv", b"id,text\n7,seven\n"),
        ("/abs/../p.html", b"<p>page"),
        ("e.txt", b"text"),
        ("f.pdf", b"%PDF"),
        ("__MACOSX/._e.txt", b"x"),
        ("inner.tgz", b"x"),
        ("e.txt", b"again"),
    ];
    for (name, content) in [("x.tar", tar(&files)), ("x.zip", zip(&files))] {
        let at = |shown: &str| shown.replace('@', name);
        let expected = [
            "1 one",
            "@/a.jsonl:2 two",
            "@/a.jsonl:3 there is no field \"text\"…",
            "1 one",
            "@/d/b.jsonl.zst:2 two",
            "@/d/b.jsonl.zst:3 there is no field \"text\"…",
            "7 seven",
            "@/abs/../p.html page",
            "@/e.txt text",
            "left out .pdf",
            "left out side files",
            "@/inner.tgz:1 an archive in an archive…",
            "@/e.txt:1 another member of this name…",
        ];
        let expected: Vec<String> = expected.map(at).to_vec();
        check(name, &content, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn reading_goes_on_at_every_position() {
    let folder = tempfile::tempdir().unwrap();
    let files: [File<'_>; 4] = [("a.jsonl", LINES), ("b.pdf", b""), ("c.txt", b"text"), ("d.jsonl", LINES)];
    for (name, content) in [("x.tar", tar(&files)), ("x.zip", zip(&files))] {
        fs::write(folder.path().join(name), content).unwrap();
        let all = read_from(folder.path(), name, Position::default());
        assert_eq!(all.len(), 8);
        for n in 0..all.len() {
            assert_eq!(read_from(folder.path(), name, all[n].0), all[n + 1..]);
        }
    }
}

#[test]
fn links_devices_and_files_with_holes_are_told() {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, kind) in [
        ("l", ::tar::EntryType::Symlink),
        ("h", ::tar::EntryType::Link),
        ("f", ::tar::EntryType::Fifo),
        ("d", ::tar::EntryType::Directory),
        ("s.txt", ::tar::EntryType::GNUSparse),
        ("z.txt", ::tar::EntryType::new(b'Z')),
    ] {
        let mut header = block(name, kind, 0);
        header.as_gnu_mut().unwrap().set_real_size(0);
        header.set_cksum();
        builder.append(&header, &b""[..]).unwrap();
    }
    let long = format!("{}/e.txt", "n".repeat(300));
    builder.append_data(&mut block("", ::tar::EntryType::Regular, 4), &long, &b"text"[..]).unwrap();
    let first = ["left out links", "left out links", "left out pipes and devices"];
    let last = format!("x.tar/{long} text");
    let more = ["x.tar/s.txt:1 a file with holes…", "x.tar/z.txt:1 a member of the unknown kind…", &last];
    check("x.tar", &builder.into_inner().unwrap(), &[&first[..], &more].concat());
}

#[test]
fn tar_that_is_cut_off_or_damaged_says_so() {
    let whole = tar(&[("a.txt", b"text"), ("b.jsonl", LINES)]);
    check(
        "x.tar",
        &whole[..1024],
        &["x.tar/a.txt text", "x.tar:1 reading stopped here: the archive ends without…"],
    );
    check(
        "x.tar",
        &whole[..1100],
        &["x.tar/a.txt text", "x.tar:1 reading stopped here: the archive breaks off"],
    );
    let cut = read("x.tar", &whole[..1536 + 30]);
    assert!(
        cut[2].contains("breaks off in this member") && cut[3].contains("the rest of the archive"),
        "{cut:?}"
    );
    let twice = [&whole[..], &tar(&[("c.txt", b"more")])].concat();
    assert_eq!(read("x.tar", &twice).last().unwrap(), "x.tar/c.txt more");
    let mut damaged = whole;
    damaged[1024] ^= 1;
    check(
        "x.tar",
        &damaged,
        &["x.tar/a.txt text", "x.tar:1 reading stopped here: the archive cannot be read from here on…"],
    );
    // A header that would take all memory.
    let mut huge = block("././@LongLink", ::tar::EntryType::GNULongName, 1 << 30).as_bytes().to_vec();
    huge.resize(4 << 20, b'n');
    check("x.tar", &huge, &["x.tar:1 reading stopped here: the header of a member is longer than 1 MiB"]);
    check("x.tar", &[0; 10240], &["x.tar:1 reading stopped here: no member of the archive has a name…"]);
}

#[test]
fn zip_that_is_damaged_or_forged_says_so() {
    let whole = zip(&[("a.txt", b"text text text"), ("b.txt", b"stored")]);
    let directory = whole.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let changed = |at: usize, to: u8| {
        let mut changed = whole.clone();
        changed[at] = to;
        read("x.zip", &changed)
    };
    assert!(read("x.zip", &whole[..whole.len() - 30])[0].contains("has no directory at its end"));
    assert_eq!(read("x.zip", &[b"#!/bin/sh\n", &whole[..]].concat())[1], "x.zip/b.txt stored");
    let stored = whole.windows(6).position(|six| six == b"stored").unwrap();
    assert!(changed(stored, b'S')[1].contains("checksum of the member"));
    // The flag of encryption, the method, and a longer content.
    assert!(changed(directory + 8, 1)[0].contains("it is encrypted"));
    assert!(changed(directory + 10, 9)[0].contains("Deflate64"));
    assert!(changed(directory + 10, 77)[0].contains("not known here"));
    assert!(changed(directory + 24, 99)[0].contains("another length"));
    let cut = changed(directory + 20, u8::try_from(whole.len()).unwrap());
    assert!(cut[0].contains("breaks off in this member"), "{cut:?}");
    // Of two members, only one is in the directory.
    let n_entries = whole.len() - 12;
    assert!(changed(n_entries, 3).last().unwrap().contains("should have 3 members, and has 2"));
    let overlapping = changed(directory + 20 + 3, 1);
    assert!(overlapping.last().unwrap().contains("its members overlap"), "{overlapping:?}");
    assert!(changed(directory, b'X')[0].contains("damaged here"));
}

#[test]
fn names_tell_archives() {
    for (name, expected) in [
        ("a.tar", Some(Archive::Tar)),
        ("A.TAR.GZ", Some(Archive::Tar)),
        ("a.tgz", Some(Archive::Tar)),
        ("a.tar.zst", Some(Archive::Tar)),
        ("a.zip", Some(Archive::Zip)),
        ("a.zip.gz", None),
        ("a.tar.xz", None),
        ("tar", None),
    ] {
        assert_eq!(Archive::of(name), expected, "{name}");
    }
}

/// Archives of `git archive` and of GNU tar with a name were once refused as a whole.
#[test]
fn members_that_are_no_files_are_passed_over() {
    let mut builder = ::tar::Builder::new(Vec::new());
    let comment = b"52 comment=97a9251f97a9251f97a9251f97a9251f97a9251f\n";
    let global = block("pax_global_header", ::tar::EntryType::XGlobalHeader, comment.len());
    builder.append(&global, &comment[..]).unwrap();
    let mut volume = block("backup", ::tar::EntryType::new(b'V'), 0);
    volume.as_mut_bytes()[124..136].fill(0);
    volume.set_cksum();
    builder.append(&volume, &b""[..]).unwrap();
    builder.append(&block("d/", ::tar::EntryType::new(b'D'), 8), &b"Ya.txt\0\0"[..]).unwrap();
    builder.append(&block("d/a.txt", ::tar::EntryType::Regular, 4), &b"text"[..]).unwrap();
    let whole = builder.into_inner().unwrap();
    check("x.tar", &whole, &["x.tar/d/a.txt text"]);
    let mut damaged = whole;
    damaged[1024] ^= 1;
    check("x.tar", &damaged, &["x.tar:1 reading stopped here: the archive cannot be read from here on…"]);
}

/// The record is in each archive that `zip` makes of standard input.
#[test]
fn a_short_zip_may_have_the_record_of_a_long_one() {
    let short = zip(&[("a.txt", b"text text text"), ("b.txt", b"stored")]);
    let (members, end) = short.split_at(short.len() - 22);
    let four = |at: usize| [&end[at..at + 4], &[0; 4]].concat();
    let record = [
        &b"PK\x06\x06,\0\0\0\0\0\0\0\x1e\x03-\0\0\0\0\0\0\0\0\0"[..],
        &[2, 0, 0, 0, 0, 0, 0, 0].repeat(2)[..],
    ];
    let record = [&record.concat()[..], &four(12), &four(16)].concat();
    assert_eq!(record.len(), 56);
    let place: Vec<u8> = (0..8).map(|i| (members.len() >> (8 * i)) as u8).collect();
    let locator = [&b"PK\x06\x07\0\0\0\0"[..], &place, &[1, 0, 0, 0]].concat();
    let whole = [members, &record, &locator, end].concat();
    let expected = ["x.zip/a.txt text text text", "x.zip/b.txt stored"];
    check("x.zip", &whole, &expected);
    check("x.zip", &[b"#!/bin/sh\n", &whole[..]].concat(), &expected);
    // It marks its standard input as a pipe.
    let mut piped = whole;
    let entry = piped.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    piped[entry + 40..entry + 42].copy_from_slice(&[0x80, 0x11]);
    check("x.zip", &piped, &expected);
}
