//! Files that globs match, here and in a bucket.

use std::fs;

use super::*;
use crate::compression::WINDOW_LOG_MAX;

/// Files of a crawl, with the marks and papers that lie beside them.
const FILES: [(&str, &[u8]); 12] = [
    ("a/1.jsonl", b"{}"),
    ("a/deep/2.txt", b"text"),
    ("a/deep/er/3.jsonl", b"{}"),
    ("a/no_ending", b"{}"),
    ("a.jsonl", b"{}"),
    ("b", b"{}"),
    ("c.pdf", b"%PDF-1.7\n"),
    ("empty", b""),
    ("image", b"\x89PNG\r\n\x1a\n"),
    ("page", b"<!DOCTYPE html><p>text"),
    ("_committed_123", b"{}"),
    ("z/4.csv", b"id,text\n"),
];

fn nothing() -> Found {
    Found {
        listing: Listing { sources: Vec::new(), n_bytes: Some(0), left_out: LeftOut::default() },
        format: None,
        window_log_max: WINDOW_LOG_MAX,
        remote: None,
        wait: Duration::ZERO,
        copies: None,
    }
}

/// Returns the stem of each source, in order, and the files left out.
fn shown(found: &Found) -> (Vec<String>, String) {
    let listing = &found.listing;
    let stems = listing.sources.iter().map(|source| {
        let format = source.format().map_or_else(|| "archive".to_owned(), |format| format.to_string());
        format!("{} {format}", source.origin().stem())
    });
    (stems.collect(), listing.left_out.to_string())
}

/// A file once came as often as a glob matched a folder around it, and in a bucket with its marks.
#[test]
fn what_globs_match_is_read_once_here_and_in_a_bucket() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        let path = folder.path().join("crawl").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let in_bucket = FILES.map(|(name, content)| (format!("crawl/{name}"), content));
    let in_a = ["a/1.jsonl jsonl", "a/deep/2.txt text", "a/deep/er/3.jsonl jsonl"];
    let beside = ["a.jsonl jsonl", "b jsonl", "empty jsonl", "page html", "z/4.csv csv"];
    let all = [&in_a[..], &beside].concat();
    let left_out = "4 files (no ending 2, .pdf 1, side files 1)";
    for (glob, expected, left_out) in [
        ("*", &all[..], left_out),
        ("**/*", &all, left_out),
        ("a/**/*", &["1.jsonl jsonl", "deep/2.txt text", "deep/er/3.jsonl jsonl", "no_ending jsonl"], ""),
        ("**/*.jsonl", &["a/1.jsonl jsonl", "a/deep/er/3.jsonl jsonl", "a.jsonl jsonl"], ""),
    ] {
        let mut local = nothing();
        local.add_glob(folder.path().join("crawl").join(glob).to_str().unwrap()).unwrap();
        let mut remote = nothing();
        remote.remote = Some(Remote::of_bucket(&in_bucket));
        remote.add_remote(&format!("s3://bucket/crawl/{glob}"), true).unwrap();
        for (place, found) in [("here", local), ("in the bucket", remote)] {
            let (stems, left_out_there) = shown(&found);
            assert_eq!(stems, expected, "{glob} {place}");
            assert!(left_out_there.starts_with(left_out), "{glob} {place}: {left_out_there}");
        }
    }
}

#[test]
fn a_glob_that_matches_nothing_to_read_says_what_it_matches() {
    for (glob, part) in [
        ("*.pdf", "nothing that s3://bucket/crawl/*.pdf matches can be read: 1 file (.pdf 1)"),
        ("_*", "1 file (side files 1)"),
        ("i*", "1 file (no ending 1)"),
        ("x*", "as a glob it matches nothing"),
    ] {
        let mut found = nothing();
        found.remote =
            Some(Remote::of_bucket(&FILES.map(|(name, content)| (format!("crawl/{name}"), content))));
        let error = found.add_remote(&format!("s3://bucket/crawl/{glob}"), true).unwrap_err().to_string();
        assert!(error.contains(part), "{error:?} should say {part:?}");
    }
}
