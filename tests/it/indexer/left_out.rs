//! Reports of unread input: files by the endings of their names, files of another format than
//! named, and WARC records without a document.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::inputs::PACKERS;
use crate::support::{Run, json_lines, run, run_with_input};

const TEXT: &str = "seven words are enough for a fingerprint";
const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0\x08\0word/document.xml";
const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj";

fn fingerprint(inputs: &[&Path]) -> Run {
    run("indexer", ["fingerprint".as_ref()].into_iter().chain(inputs.iter().map(|path| path.as_os_str())))
}

/// Returns the printed ids.
fn ids(run: &Run) -> Vec<&str> {
    run.stdout.lines().map(|line| line.split_once('\t').unwrap().0).collect()
}

/// Returns the texts of pages, as a crawl stores them beside its answers.
fn wet(documents: &[(&str, &str)]) -> Vec<u8> {
    let record = |kind: &str, id: &str, content_type: &str, content: &str| {
        let (_, gzip) = PACKERS[0];
        gzip(
            format!(
                "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://news/{id}\r\nWARC-Date: 2026-01-31T00:00:00Z\r\n\
                 WARC-Record-ID: <{id}>\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{content}\r\n\r\n",
                content.len()
            )
            .as_bytes(),
        )
    };
    let mut wet = record("warcinfo", "info", "application/warc-fields", "Software-Info: a test\r\n");
    for (id, text) in documents {
        wet.extend(record("conversion", id, "text/plain", text));
    }
    wet
}

/// Before, `--format warc` read nothing of these files at exit status 0, and without the flag every
/// line was rejected.
#[test]
fn the_texts_of_a_crawl_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let wet = wet(&[("a", TEXT), ("b", "另一篇文章，讲的是别的事情")]);
    let plain = fingerprint_of_lines(&[("a", TEXT), ("b", "另一篇文章，讲的是别的事情")]);
    for name in ["crawl.warc.wet.gz", "crawl.wet", "crawl.warc", "crawl"] {
        let path = folder.path().join(name);
        fs::write(&path, &wet).unwrap();
        let read = fingerprint(&[&path]).expect(0);
        assert_eq!(read.stdout, plain, "{name}: {}", read.stderr);
    }
    let read = run_with_input("indexer", ["fingerprint", "-q", "-", "--format", "warc"], &wet).expect(0);
    assert_eq!(read.stdout, plain);
    // The dates and addresses are those of the records.
    let path = folder.path().join("crawl.wet");
    let path = path.to_str().unwrap();
    let args = ["fingerprint", "-q", "--id-field", "WARC-Target-URI", path];
    assert_eq!(ids(&run("indexer", args).expect(0)), ["http://news/a", "http://news/b"]);
    let newest = ["dedup", "-q", "--keep", "newest", "--output", "-", path];
    assert!(!run("indexer", newest).expect(0).stderr.contains("nothing to be ranked by"));
}

fn fingerprint_of_lines(documents: &[(&str, &str)]) -> String {
    let lines = json_lines(documents.iter().copied());
    run_with_input("indexer", ["fingerprint", "-q", "-"], lines.as_bytes()).expect(0).stdout
}

#[test]
fn a_crawl_without_documents_says_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("meta.warc.gz"), folder.path().join("kept"));
    fs::write(&path, wet(&[])).unwrap();
    let args = ["dedup".as_ref(), "--output".as_ref(), kept.as_os_str(), path.as_os_str()];
    let read = run("indexer", args).expect(1);
    assert!(read.stderr.contains("left out: 1 warcinfo records"), "{}", read.stderr);
    assert!(!kept.exists());
    let image = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n?";
    let answer = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <a>\r\nContent-Length: {}\r\n\r\n{image}\r\n\r\n",
        image.len()
    );
    fs::write(folder.path().join("images.warc"), answer).unwrap();
    let read = fingerprint(&[&folder.path().join("images.warc")]).expect(0);
    assert!(read.stderr.contains("no document was found: 1 records are no pages"), "{}", read.stderr);
}

/// Before, 32 documents silently became 20.
#[test]
fn a_folder_gives_what_can_be_read_and_says_what_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join("in").join(name);
    fs::create_dir_all(at("more/.git")).unwrap();
    let page = format!("<!DOCTYPE html><title>x</title><p>{TEXT}<script>no</script>");
    for name in ["a.md", "b.markdown", "c.rst", "d.text", "more/e.txt"] {
        fs::write(at(name), TEXT).unwrap();
    }
    for name in ["f.html", "more/g.HTM", "h.xhtml"] {
        fs::write(at(name), &page).unwrap();
    }
    let gbk = "<meta charset=gbk><p>地铁七号线南延段今天开始空载试运行";
    fs::write(at("i.html.gz"), PACKERS[0].1(&encoding_rs::GB18030.encode(gbk).0)).unwrap();
    fs::write(at("empty.jsonl"), "").unwrap();
    for name in ["1.docx", "2.DOCX", "more/3.docx", "4.pdf", "README", ".hidden.docx", "more/.git/5.docx"] {
        fs::write(at(name), ZIP).unwrap();
    }
    let read = fingerprint(&[&at("")]).expect(0);
    let expected = [
        "a.md",
        "b.markdown",
        "c.rst",
        "d.text",
        "f.html",
        "h.xhtml",
        "i.html.gz",
        "more/e.txt",
        "more/g.HTM",
    ];
    assert_eq!(ids(&read), expected);
    let of =
        |id: &str| read.stdout.lines().find(|line| line.starts_with(id)).unwrap().split_once('\t').unwrap().1;
    let same = fingerprint_of_lines(&[("t", TEXT), ("p", &format!("x\n{TEXT}\n")), ("g", &gbk[21..])]);
    let same: Vec<&str> = same.lines().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(
        [of("a.md"), of("more/e.txt"), of("f.html"), of("i.html")],
        [same[0], same[0], same[1], same[2]]
    );
    for part in ["left out: 5 files (.docx 3, .pdf 1, no ending 1)", "--format"] {
        assert!(read.stderr.contains(part), "{part:?} should be in {}", read.stderr);
    }
    // The reports list them too, even with `-q`.
    let [kept, json, html] =
        ["kept.jsonl", "r.json", "r.html"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let input = at("").to_str().unwrap().to_owned();
    let args = ["dedup", "-q", &input, "--output", &kept, "--report", &json, "--report", &html];
    let deduplicated = run("indexer", args).expect(0);
    assert!(deduplicated.stderr.contains("left out: 5 files"), "{}", deduplicated.stderr);
    let row = "left out                 5  (files that were not read: .docx 3, .pdf 1, no ending 1)";
    assert!(deduplicated.stdout.contains(row), "{}", deduplicated.stdout);
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let endings = [(".docx", 3), (".pdf", 1), ("no ending", 1)];
    let endings = endings.map(|(ending, n)| json!({ "ending": ending, "n": n }));
    assert_eq!(report["inputs"]["left_out"], json!({ "n": 5, "endings": endings }));
    assert!(fs::read_to_string(html).unwrap().contains("known format: 5 (.docx 3, .pdf 1, no ending 1)."));
}

#[test]
fn where_nothing_can_be_read_the_endings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a.docx", "b.docx", "c.pdf"] {
        fs::write(at(name), if name == "c.pdf" { PDF } else { ZIP }).unwrap();
    }
    let all = "3 files (.docx 2, .pdf 1)";
    let said = fingerprint(&[folder.path()]).expect(2).stderr;
    assert!(said.contains("has a name that ends in one of .jsonl") && said.contains(all), "{said}");
    let said = fingerprint(&[&at("*")]).expect(2).stderr;
    assert!(said.contains("matches can be read") && said.contains(all), "{said}");
    // A glob with readable files leaves the rest out.
    fs::write(at("d.txt"), TEXT).unwrap();
    fs::write(at("lines"), json_lines([("line", TEXT)])).unwrap();
    let read = fingerprint(&[&at("*")]).expect(0);
    assert_eq!(ids(&read), ["d.txt", "line"]);
    assert!(read.stderr.contains(all), "{}", read.stderr);
}

/// Before, each line of such a file was rejected as invalid JSON.
#[test]
fn a_file_that_is_plainly_something_else_is_named_as_that() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let warc = wet(&[("a", TEXT)]);
    let (_, gzip) = PACKERS[0];
    for (name, content, part) in [
        ("notes.docx", ZIP, "is a ZIP archive"),
        ("notes", PDF, "is PDF, and cannot be read"),
        ("pages.jsonl", &warc, "is warc, not jsonl; --format warc reads it"),
        ("pages.csv", b"PAR1\x15\x04\x15", "is parquet, not csv"),
        ("pages.json", b"<!DOCTYPE html><p>404", "is html, not json"),
        ("rows.parquet", &gzip(b"PAR1\x15\x04\x15"), "is Parquet that was packed once more"),
        ("twice.jsonl.gz", &gzip(&gzip(b"{}")), "is packed twice"),
        ("lines.csv", json_lines([("a", TEXT)]).as_bytes(), "is jsonl, not csv; --format jsonl reads it"),
        ("wide.warc", b"\xff\xfe{\0}\0", "is in UTF-16"),
        ("program", b"a\0b", "is binary"),
    ] {
        let (path, kept) = (at(name), at("kept"));
        fs::write(&path, content).unwrap();
        let args = ["dedup".as_ref(), path.as_os_str(), "--output".as_ref(), kept.as_os_str()];
        let refused = run("indexer", args).expect(2).stderr;
        assert!(refused.contains(part) && refused.contains(name), "{name}: {refused}");
        assert!(!kept.exists());
    }
    // Among other files, the file is one rejected record.
    let mixed = at("mixed");
    fs::create_dir(&mixed).unwrap();
    fs::write(mixed.join("a.jsonl"), json_lines([("good", TEXT)])).unwrap();
    fs::write(mixed.join("b.jsonl"), wet(&[("a", TEXT), ("b", TEXT), ("c", TEXT)])).unwrap();
    fs::write(mixed.join("c.parquet"), gzip(b"PAR1\x15\x04\x15")).unwrap();
    let read = fingerprint(&[&mixed]).expect(1);
    assert_eq!(ids(&read), ["good"]);
    for part in [
        "b.jsonl:1: reading stopped here: the file is warc, not jsonl",
        "c.parquet:1: reading stopped here: the file is Parquet that",
    ] {
        assert!(read.stderr.contains(part), "{part:?} should be in {}", read.stderr);
    }
    assert!(read.stderr.contains("rejected                 2"), "{}", read.stderr);
}

/// Standard input that is Parquet was once told to come with a flag that refuses it.
#[test]
fn a_pipe_says_by_its_beginning_what_it_is() {
    let (_, gzip) = PACKERS[0];
    let piped = |args: &[&str], content: &[u8]| {
        run_with_input("indexer", [&["fingerprint", "-q", "-"], args].concat(), content)
    };
    let warc = wet(&[("a", TEXT)]);
    assert_eq!(ids(&piped(&[], &warc).expect(0)).len(), 1);
    let page = format!("<!DOCTYPE html><title>Words</title><p>{TEXT}");
    assert_eq!(ids(&piped(&[], page.as_bytes()).expect(0)), ["stdin"]);
    let to_a_file = "begins with its end and is not read as it comes; write it to a file first";
    let parquet = b"PAR1\x15\x04\x15";
    for (args, content, part) in [
        (&[][..], &parquet[..], to_a_file),
        (&[], &gzip(parquet), to_a_file),
        (&[], ZIP, to_a_file),
        (&["--format", "csv"], parquet, to_a_file),
        (&["--format", "parquet"], parquet, "write it to a file first"),
        (&["--format", "jsonl"], &warc, "the file is warc, not jsonl; --format warc reads it"),
        (&["--format", "csv"], b"{\"id\": 1}\n{\"id\": 2}\n", "is jsonl, not csv; --format jsonl reads it"),
    ] {
        let read = piped(args, content);
        assert!(read.code != Some(0) && read.stderr.contains(part), "{part:?} should be in {read:?}");
    }
}
