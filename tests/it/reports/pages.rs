//! Web pages: their main text, their encodings, and WARC as crawlers write it. All texts are made
//! up.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::indexer::inputs::PACKERS;
use crate::support::{Run, run};

/// Words of which each text takes some, in an order of its own.
const WORDS: [&str; 40] = [
    "harbour",
    "council",
    "winter",
    "bridge",
    "teacher",
    "river",
    "garden",
    "museum",
    "engine",
    "market",
    "letter",
    "orchard",
    "station",
    "captain",
    "kitchen",
    "mountain",
    "window",
    "village",
    "concert",
    "farmer",
    "library",
    "morning",
    "signal",
    "doctor",
    "festival",
    "tunnel",
    "painter",
    "island",
    "factory",
    "journey",
    "carpenter",
    "lantern",
    "valley",
    "ticket",
    "stadium",
    "pharmacy",
    "meadow",
    "archive",
    "sailor",
    "bakery",
];

/// Returns a paragraph of `n_words` words that no other number has.
fn paragraph(number: usize, n_words: usize) -> String {
    let mut state = number as u64 * 7919 + 17;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let words = (0..n_words).map(|n| {
        let word = WORDS[next() % WORDS.len()];
        let mark = if n % 9 == 8 { "," } else { "" };
        format!("{word}{mark}")
    });
    format!("The {}.", words.collect::<Vec<_>>().join(" "))
}

fn page(title: &str, navigation: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html><html><head><title>{title}</title></head><body>{navigation}<main><h1>{title}</h1>{body}</main>\
         <footer>All rights reserved. Imprint, privacy, contact.</footer></body></html>"
    )
}

/// Returns a sidebar of 5,334 characters, the same beside every page.
fn sidebar() -> String {
    let mut text = String::new();
    for n in 0.. {
        text += &format!("<li><a href=\"/{n}\">{}</a></li>", paragraph(10_000 + n, 6));
        let n_characters: usize = (0..=n).map(|n| paragraph(10_000 + n, 6).len()).sum();
        if n_characters >= 5_334 {
            break;
        }
    }
    format!("<div class=\"sidebar\"><ul>{text}</ul></div>")
}

fn write(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) {
    fs::write(folder.path().join(name), content).unwrap();
}

/// Deduplicates a folder or a file, with `flags`, and returns the kept documents.
fn dedup(input: &Path, flags: &[&str], code: i32) -> (Run, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.jsonl");
    let args = ["dedup", "-q", input.to_str().unwrap(), "--output", kept.to_str().unwrap()];
    let run = run("indexer", args.iter().chain(flags)).expect(code);
    let kept = fs::read_to_string(kept).unwrap_or_default();
    (run, kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Returns a number of the summary; 0 if it has no such line.
fn count(run: &Run, name: &str) -> u64 {
    let line = run.stdout.lines().find_map(|line| line.strip_prefix(name));
    let digits = |rest: &str| rest.split_whitespace().next().unwrap().replace(',', "");
    line.map_or(0, |rest| digits(rest).parse().unwrap())
}

#[test]
fn different_texts_beside_one_sidebar_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let sidebar = sidebar();
    for n in 0..100 {
        let body = format!("<p>{}</p>", paragraph(n, 60));
        write(&folder, &format!("{n:03}.html"), page(&format!("Page {n}"), &sidebar, &body));
    }
    let (run, kept) = dedup(folder.path(), &[], 0);
    assert_eq!(
        (count(&run, "read"), kept.len(), count(&run, "whole pages")),
        (100, 100, 0),
        "{}",
        run.stdout
    );
    let text = kept[7]["text"].as_str().unwrap();
    assert!(text.contains(&paragraph(7, 60)) && !text.contains("rights reserved"), "{text}");
    let (whole, _) = dedup(folder.path(), &["--html", "text"], 0);
    assert!(count(&whole, "duplicates") > 90, "{}", whole.stdout);
}

#[test]
fn copies_for_print_and_in_markdown_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let sidebar = sidebar();
    for n in 0..20 {
        let paragraphs = [paragraph(3 * n, 70), paragraph(3 * n + 1, 80), paragraph(3 * n + 2, 60)];
        let body = paragraphs.each_ref().map(|text| format!("<p>{text}</p>")).concat();
        let title = format!("What happened on day {n}");
        write(&folder, &format!("a-{n:02}.html"), page(&title, &sidebar, &body));
        let print = format!("<html><title>{title} (print)</title><body><h1>{title}</h1>{body}</body></html>");
        write(&folder, &format!("b-{n:02}-print.html"), print);
        write(&folder, &format!("c-{n:02}.md"), format!("# {title}\n\n{}\n", paragraphs.join("\n\n")));
    }
    let (run, kept) = dedup(folder.path(), &[], 0);
    assert_eq!((kept.len(), count(&run, "duplicates")), (20, 40), "{}", run.stdout);
}

/// A page without a main text, such as a list, is taken whole.
#[test]
fn pages_without_a_main_text_are_taken_whole_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "a.html", "<html><title>A list</title><ul><li>one<li>two<li>three words</ul>");
    let (run, kept) = dedup(folder.path(), &[], 0);
    assert_eq!((kept.len(), count(&run, "whole pages")), (1, 1), "{}", run.stdout);
    assert!(kept[0]["text"].as_str().unwrap().contains("A list"));
}

/// Returns a record of WARC.
fn record(id: usize, fields: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Record-ID: <urn:n:{id}>\r\n{fields}\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content, b"\r\n\r\n"].concat()
}

/// Returns a response from its status line with fields, and its body.
fn response(id: usize, head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let fields = format!(
        "WARC-Type: response\r\nWARC-Target-URI: http://news/{id}\r\nContent-Type: application/http; msgtype=response"
    );
    record(id, &fields, &[head.as_bytes(), b"\r\n\r\n", body.as_ref()].concat())
}

fn read_warc(records: &[Vec<u8>], code: i32) -> (Run, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "a.warc", records.concat());
    dedup(&folder.path().join("a.warc"), &[], code)
}

fn html(n: usize) -> String {
    format!("<html><body><p>{}</p></body></html>", paragraph(n, 30))
}

#[test]
fn answers_are_read_as_servers_write_them() {
    let heads = [
        "HTTP/1.1 200 OK\r\nContent-Type: text/html",
        "HTTP/1.1 200\r\nContent-Type: text/html",
        "HTTP/2 200\r\nContent-Type: text/html",
        "http/1.1 200 ok\r\ncontent-type:text/html",
        "HTTP/1.1 200 OK\nP3P : CP=\"ALL\"\nContent-Type: text/html\n",
        "HTTP/1.1 200 OK\r\nSet cookies\r\nX: a\u{1}b\r\nContent-Type: text/html, text/html; charset=utf-8",
        "HTTP/1.1 200 OK\r\nServer: x",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: none",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: UTF-8, identity\r\nContent-Length: 7",
    ];
    let records: Vec<_> = heads.iter().enumerate().map(|(n, head)| response(n, head, html(n))).collect();
    let (run, kept) = read_warc(&records, 0);
    assert_eq!((kept.len(), count(&run, "rejected")), (heads.len(), 0), "{}", run.stdout);
    for (n, document) in kept.iter().enumerate() {
        assert!(document["text"].as_str().unwrap().contains(&paragraph(n, 30)), "{}", heads[n]);
    }
}

#[test]
fn a_body_that_was_cut_off_gives_what_came() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip";
    let (_, gzip) = PACKERS[0];
    let packed = gzip(html(1).as_bytes());
    let whole = [format!("{:x}\r\n", packed.len()).as_bytes(), &packed, b"\r\n0\r\n\r\n"].concat();
    let cut = &whole[..whole.len() - 7];
    let plain = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked";
    let middle =
        format!("20\r\n<html><body><p>{}", &paragraph(2, 300)[..17]) + "\r\n1000\r\n" + &paragraph(3, 99);
    let records = [response(1, head, &whole), response(2, head, cut), response(3, plain, middle)];
    let (run, kept) = read_warc(&records, 0);
    assert_eq!((kept.len(), count(&run, "duplicates")), (2, 1), "{}", run.stdout);
    let text = kept[1]["text"].as_str().unwrap();
    assert!(text.contains("harbour") || text.len() > 400, "{text}");
    assert!(!text.contains("1000"), "{text}");
}

/// Each record is in one of the counts, whatever it is.
#[test]
fn every_record_of_a_crawl_is_counted_once() {
    let other = |id, kind: &str, address: &str, content_type: &str, content: &[u8]| {
        let fields =
            format!("WARC-Type: {kind}\r\nWARC-Target-URI: {address}\r\nContent-Type: {content_type}");
        record(id, &fields, content)
    };
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html";
    let records = [
        other(1, "warcinfo", "x", "application/warc-fields", b"software: a test"),
        other(2, "request", "http://a", "application/http; msgtype=request", b"GET / HTTP/1.1\r\n\r\n"),
        response(3, ok, html(3)),
        other(4, "response", "dns:a", "text/dns", b"20260501100000\na. 60 IN A 192.0.2.7\n"),
        other(5, "response", "whois://a", "text/plain", b"Domain: a"),
        other(6, "revisit", "http://a", "application/http; msgtype=response", b"HTTP/1.1 200 OK\r\n\r\n"),
        other(7, "metadata", "http://a", "application/warc-fields", b"via: http://b"),
        other(8, "resource", "urn:thumbnail:http://a", "image/jpeg", b"\xff\xd8\xff\0"),
        other(9, "screenshot", "screenshot:http://a", "image/png", b"\x89PNG\r\n\x1a\n"),
        other(10, "resource", "file:a", "text/html", html(10).as_bytes()),
        other(11, "conversion", "http://a", "text/plain", paragraph(11, 30).as_bytes()),
        response(12, "HTTP/1.1 404 Not Found\r\nContent-Type: text/html", "no"),
        response(13, "HTTP/1.1 200 OK\r\nContent-Type: image/png", b"\x89PNG\r\n\x1a\n"),
        response(14, ok, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        response(15, "no answer", "at all"),
        response(16, ok, html(16)),
    ];
    let (run, kept) = read_warc(&records, 1);
    assert_eq!(kept.len(), 4, "{}", run.stdout);
    let [read, rejected, passed_over] = ["read", "rejected", "passed over"].map(|name| count(&run, name));
    assert_eq!((read, rejected, passed_over), (6, 2, 10), "{}", run.stdout);
    assert_eq!(read + passed_over, records.len() as u64);
    assert!(run.stderr.contains("a.warc:14: named HTML, but binary: a PNG image"), "{}", run.stderr);
    // A length that is wrong costs its record, whatever it is.
    for wrong in [0, 2, 5, 15] {
        let mut records = records.to_vec();
        let len = String::from_utf8_lossy(&records[wrong]).find("Content-Length: ").unwrap() + 16;
        records[wrong].splice(len..len, *b"9");
        let (run, _) = read_warc(&records, 1);
        let counted = count(&run, "read") + count(&run, "passed over");
        assert_eq!(counted, records.len() as u64, "{wrong}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn encodings_are_those_of_the_bytes_where_declarations_fail() {
    let texts = [
        "Городской музей открыл выставку старинных часов и музыкальных шкатулок в здании бывшей почты.",
        "На реке начался ледоход, и паром между берегами не будет ходить до середины апреля.",
    ];
    let meta = "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1251\">";
    for (name, head, start) in [
        ("a script", "text/html", "<script src=\"/stat.js\" charset=\"utf-8\"></script>"),
        ("a comment", "text/html", "<!-- <meta charset=utf-8> -->"),
        ("the header", "text/html; charset=utf-8", ""),
    ] {
        let records = texts.iter().enumerate().map(|(n, text)| {
            let page = format!("<html><head>{start}{meta}</head><body><p>{text}</p></body></html>");
            let body = encoding_rs::WINDOWS_1251.encode(&page).0;
            response(n, &format!("HTTP/1.1 200 OK\r\nContent-Type: {head}"), body)
        });
        let (run, kept) = read_warc(&records.collect::<Vec<_>>(), 0);
        assert_eq!(kept.len(), 2, "{name}: {}", run.stdout);
        for (document, text) in kept.iter().zip(texts) {
            assert!(document["text"].as_str().unwrap().contains(text), "{name}: {document}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, n) in [("a.html", 80), ("b.html", 90), ("c.txt", 80), ("d.txt", 90)] {
        write(&folder, name, "\u{fffd}".repeat(n) + " and nothing else of it");
    }
    let (run, kept) = dedup(folder.path(), &[], 1);
    assert!(kept.is_empty() && run.stderr.matches("are U+FFFD").count() >= 4, "{}", run.stderr);
}

#[test]
fn a_crawl_may_be_packed_with_a_dictionary_in_front() {
    let records: Vec<_> =
        (0..40).map(|n| response(n, "HTTP/1.1 200 OK\r\nContent-Type: text/html", html(n))).collect();
    let dictionary = [response(99, "HTTP/1.1 200 OK\r\nContent-Type: text/html", html(99))].concat();
    let frames: Vec<u8> = records
        .iter()
        .flat_map(|record| {
            let mut packed = Vec::new();
            let mut encoder = zstd::Encoder::with_dictionary(&mut packed, 3, &dictionary).unwrap();
            std::io::Write::write_all(&mut encoder, record).unwrap();
            encoder.finish().unwrap();
            packed
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for (name, stored) in
        [("plain", dictionary.clone()), ("packed", zstd::encode_all(&dictionary[..], 3).unwrap())]
    {
        let len: Vec<u8> = (0..4).map(|n| (stored.len() >> (8 * n)) as u8).collect();
        let name = format!("{name}.warc.zst");
        write(&folder, &name, [&b"\x5d\x2a\x4d\x18"[..], &len, &stored, &frames].concat());
        let (run, kept) = dedup(&folder.path().join(name), &[], 0);
        assert_eq!(kept.len(), 40, "{}", run.stdout);
    }
    write(&folder, "none.warc.zst", &frames);
    // These frames do not say that they need a dictionary, so they are damaged.
    let (run, _) = dedup(&folder.path().join("none.warc.zst"), &[], 1);
    assert!(run.stderr.contains("reading stopped here"), "{}", run.stderr);
}

#[test]
fn arc_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let record = format!("http://news/1 192.0.2.1 20080430204825 text/html 99\n{}\n", html(1));
    let arc = "filedesc://t.arc 0.0.0.0 20080430204825 text/plain 74\n1 0 Test\n\n".to_owned() + &record;
    let (_, gzip) = PACKERS[0];
    for (name, content) in
        [("a.arc", arc.clone().into_bytes()), ("b.arc.gz", gzip(arc.as_bytes())), ("c", record.into_bytes())]
    {
        write(&folder, name, content);
        let (run, _) = dedup(&folder.path().join(name), &[], 2);
        assert_eq!(run.stderr.matches("is ARC, which is not read").count(), 1, "{name}: {}", run.stderr);
    }
}
