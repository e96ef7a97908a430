//! Titles of pages: a field of their own, beside the text.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{json_lines, run};

const PARAGRAPH: &str = "The council has postponed the repair of the swimming pool roof, because the only bid was \
    twice as high as planned, and will ask again in spring. Until then the pool stays open on dry days only.";

/// Pages of one text, and the title of each.
const PAGES: [(&str, &str, Option<&str>); 4] = [
    ("a.html", "<title>\n The roof &amp;\tthe pool\n</title>", Some("The roof & the pool")),
    (
        "b.html",
        "<meta property=\"og:title\" content=\"Pool &#8211; Town News\"><h1>No</h1>",
        Some("Pool – Town News"),
    ),
    ("c.html", "<body><h1>A <em>closed</em> pool</h1>", Some("A closed pool")),
    ("d.html", "<body><svg><title>Logo</title></svg>", None),
];

fn page(head: &str) -> String {
    format!("<!doctype html>{head}<article><p>{PARAGRAPH}<p>{PARAGRAPH}</article>")
}

fn warc() -> Vec<u8> {
    let record = |(name, head, _): &(&str, &str, Option<&str>)| {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{}", page(head));
        let n_bytes = answer.len();
        let header = format!("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <{name}>\r\n");
        format!("{header}Content-Length: {n_bytes}\r\n\r\n{answer}\r\n\r\n")
    };
    PAGES.iter().map(record).collect::<String>().into_bytes()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn outputs_have_titles_and_texts_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    fs::create_dir(&pages).unwrap();
    for (name, head, _) in PAGES {
        fs::write(pages.join(name), page(head)).unwrap();
    }
    let archive = folder.path().join("pages.warc");
    fs::write(&archive, warc()).unwrap();
    let kept = folder.path().join("kept.jsonl");
    let dedup = |input: &Path, more: &[&str]| {
        let args = ["dedup", "-q", "--force", input.to_str().unwrap(), "--output", kept.to_str().unwrap()];
        run("indexer", [&args[..], more].concat())
    };
    for input in [&pages, &archive] {
        // One text is one document, whatever the titles are.
        dedup(input, &[]).expect(0);
        let one = lines(&kept);
        assert_eq!((one.len(), &one[0]["title"]), (1, &Value::from("The roof & the pool")));
        assert!(!one[0]["text"].as_str().unwrap().contains("The roof &"), "{one:?}");

        // Titles alone are four texts, and a page without one has none.
        let rejects = folder.path().join("rejects.jsonl");
        let alone = ["--text-field", "title", "--rejects", rejects.to_str().unwrap()];
        dedup(input, &alone).expect(1);
        let titles: Vec<Option<String>> =
            lines(&kept).iter().map(|line| line["title"].as_str().map(str::to_owned)).collect();
        assert_eq!(titles, PAGES[..3].iter().map(|page| page.2.map(str::to_owned)).collect::<Vec<_>>());
        assert!(lines(&kept).iter().all(|line| line["text"] == line["title"]));
        assert!(fs::read_to_string(&rejects).unwrap().contains("the page has no title"));

        // With the text they are a part of what is compared, in the order of the fields.
        for (fields, is_first) in [("title,text", true), ("text,title", false)] {
            dedup(
                input,
                &["--text-field", fields, "--profile", "classic", "--verify", "off", "--max-distance", "0"],
            )
            .expect(0);
            let all = lines(&kept);
            assert!(all.len() > 1, "{all:?}");
            let text = all[0]["text"].as_str().unwrap();
            assert_eq!(text.starts_with("The roof & the pool\nThe council"), is_first, "{text}");
            assert_eq!(text.ends_with("\nThe roof & the pool"), !is_first, "{text}");
        }
    }
}

/// A field of the text that only records of another format have is none that pages lack.
#[test]
fn pages_beside_records_with_titles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("a.html"), page(PAGES[0].1)).unwrap();
    fs::write(at("b.jsonl"), json_lines([("b", "a text without a title")])).unwrap();
    let fingerprint = |fields: &str| {
        let args = ["fingerprint", "-q", &at("a.html"), &at("b.jsonl"), "--text-field", fields];
        run("indexer", args).expect(0)
    };
    let (with, without) = (fingerprint("title,text"), fingerprint("text"));
    assert_ne!(with.stdout.lines().next(), without.stdout.lines().next());
    assert_eq!(with.stdout.lines().last(), without.stdout.lines().last());
    assert_eq!((with.stderr.as_str(), without.stderr.as_str()), ("", ""));
    // Any other field is that of records; of a page it is the text.
    assert_eq!(fingerprint("text,body").stdout, without.stdout);
}
