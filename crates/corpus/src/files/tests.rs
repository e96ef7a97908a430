//! Files that globs match, here and in a bucket.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

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

/// Adds a folder, or what a glob in it matches.
fn added(folder: &Path, glob: &str) -> Result<(Vec<String>, String), String> {
    let mut found = nothing();
    let added = match glob {
        "" => found.add(folder, folder),
        glob => found.add_glob(folder.join(glob).to_str().unwrap()),
    };
    added.map_err(|error| format!("{error:#}"))?;
    let n_bytes = found.listing.sources.iter().map(|source| source.location().n_bytes()).sum();
    assert_eq!(found.listing.n_bytes, Some(n_bytes), "{glob}");
    Ok(shown(&found))
}

fn written(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// A link around its own folder once stopped the folder, and a glob read each file 41 times.
#[test]
fn links_that_loop_or_lead_to_nothing_are_told_and_stop_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    written(folder, &[("a.txt", "text"), ("2024/z.txt", "more"), ("x.jsonl", "{}")]);
    for (link, to) in [
        ("loop", "."),
        ("2024/up", ".."),
        (".#a.jsonl", "user@host.1:2"),
        ("gone.jsonl", "nowhere"),
        ("gone.pdf", "nowhere"),
        ("one", "other"),
        ("other", "one"),
    ] {
        symlink(to, folder.join(link)).unwrap();
    }
    let all = ["2024/z.txt text", "a.txt text", "x.jsonl jsonl"];
    for (glob, expected, left_out) in [
        ("", &all[..], "4 files (links to nothing 4)"),
        ("*", &all, "(links to nothing "),
        ("**/*.txt", &all[..2], "0 files ()"),
        ("**/*.jsonl", &all[2..], ""),
        ("l*/*.txt", &["loop/a.txt text"], ""),
    ] {
        let (stems, left_out_here) = added(folder, glob).unwrap();
        assert_eq!(stems, expected, "{glob}");
        assert!(left_out_here.contains(left_out), "{glob}: {left_out_here}");
    }
    assert!(added(folder, "g*.jsonl").unwrap_err().contains("can be read: 1 file (links to nothing 1)"));
    symlink("2024", folder.join("0-latest")).unwrap();
    assert_eq!(added(folder, "*/z.txt").unwrap().0, ["2024/z.txt text"]);
}

/// A glob once waited for ever for the other end of a pipe.
#[test]
fn pipes_are_read_only_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), &[("a.jsonl", "{}")]);
    let pipe = folder.path().join("p.jsonl");
    let (here, mode) = (rustix::fs::CWD, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(here, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    // Open at both ends, a pipe keeps no test waiting.
    let _ends = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    for glob in ["", "*.jsonl"] {
        let expected = (vec!["a.jsonl jsonl".to_owned()], "1 file (pipes and devices 1)".to_owned());
        assert_eq!(added(folder.path(), glob).unwrap(), expected, "{glob}");
    }
    let mut found = nothing();
    found.add(&pipe, folder.path()).unwrap();
    assert!(found.listing.sources[0].opened.is_some() && found.listing.left_out.is_empty());
}

#[test]
fn names_that_are_not_utf_8_are_read_from_folders_and_lists() {
    let folder = tempfile::tempdir().unwrap();
    let names = [&b"caf\xe8.txt"[..], b"caf\xe9.txt"].map(OsStr::from_bytes);
    names.iter().for_each(|name| fs::write(folder.path().join(name), "text").unwrap());
    let stems = |options: &InputOptions| -> Vec<String> {
        let listing = find(options).unwrap();
        listing.sources.iter().map(|source| source.origin().stem().to_owned()).collect()
    };
    assert_eq!(stems(&InputOptions::of([folder.path()])), ["cafè.txt", "café.txt"]);
    assert_eq!(added(folder.path(), "**/c*.txt").unwrap().0, ["cafè.txt text", "café.txt text"]);
    let list = tempfile::NamedTempFile::new().unwrap();
    let paths = names.map(|name| folder.path().join(name).into_os_string().into_encoded_bytes());
    fs::write(&list, [&b"\xef\xbb\xbf"[..], &paths[1], b"\r\n \n", &paths[0], b"\r\n"].concat()).unwrap();
    let files_from = Some(list.path().to_owned());
    let read = stems(&InputOptions { files_from, ..InputOptions::of([""; 0]) });
    assert!(read[0].ends_with("/café.txt") && read[1].ends_with("/cafè.txt") && read.len() == 2, "{read:?}");
}

/// One such name once kept every glob in its folder from matching.
#[test]
fn globs_match_beside_names_that_are_not_utf_8() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    written(
        folder,
        &[("a.jsonl", "{}"), (".b.jsonl", "{}"), ("sub/c.jsonl", "{}"), ("sub/sub/d.jsonl", "{}")],
    );
    for name in [&b"caf\xe8.jsonl"[..], b"caf\xe9.txt", b"sub/\xff\xfe.jsonl"] {
        fs::write(folder.join(OsStr::from_bytes(name)), "text").unwrap();
    }
    for (glob, expected) in [
        ("*.jsonl", &["a.jsonl jsonl", "cafè.jsonl jsonl"][..]),
        ("a*", &["a.jsonl jsonl"]),
        ("caf?.*", &["cafè.jsonl jsonl", "café.txt text"]),
        ("s*/*.jsonl", &["sub/c.jsonl jsonl", "sub/ÿş.jsonl jsonl"]),
        ("s*/[!c]*/*", &["sub/sub/d.jsonl jsonl"]),
        (".*.jsonl", &[".b.jsonl jsonl"]),
    ] {
        assert_eq!(added(folder, glob).unwrap().0, expected, "{glob}");
    }
    assert!(added(folder, "x*").unwrap_err().contains("as a glob it matches nothing"));
    assert!(added(folder, "s*/../*.jsonl").unwrap_err().contains("not UTF-8; write the path without .."));
}

/// Files that the log of a table names as removed once came back by a glob.
#[test]
fn of_a_table_a_glob_reads_what_its_log_names() {
    let folder = tempfile::tempdir().unwrap();
    let [add, remove] = ["add", "remove"]
        .map(|action| move |path: &str| format!("{{\"{action}\":{{\"path\":\"{path}\"}}}}\n"));
    let paths = ["a.parquet", "b.parquet", "day=1/a.parquet", "day=1/b.parquet"];
    let first = format!("{{\"protocol\":{{}}}}\n{}", paths.map(add).concat());
    let second = [remove(paths[0]), remove(paths[2])].concat();
    let [first_name, second_name] = [0, 1].map(|n| format!("t/_delta_log/{n:020}.json"));
    written(folder.path(), &[(&first_name, &first), (&second_name, &second), ("u/a.parquet", "")]);
    paths.iter().for_each(|path| written(&folder.path().join("t"), &[(path, "PAR1")]));
    for (glob, expected, n_left_out) in [
        ("t/*.parquet", &["b.parquet parquet"][..], 1),
        ("t/*", &["b.parquet parquet", "day=1/b.parquet parquet"], 3),
        ("t/day=*/*.parquet", &["day=1/b.parquet parquet"], 1),
        ("**/a.parquet", &["u/a.parquet parquet"], 2),
        ("**", &["t/b.parquet parquet", "t/day=1/b.parquet parquet", "u/a.parquet parquet"], 4),
        ("?/*.parquet", &["t/b.parquet parquet", "u/a.parquet parquet"], 1),
    ] {
        let (stems, left_out) = added(folder.path(), glob).unwrap();
        assert_eq!(stems, expected, "{glob}");
        assert!(left_out.contains(&format!("(side files {n_left_out})")), "{glob}: {left_out}");
    }
    written(folder.path(), &[("i/metadata/v1.metadata.json", ""), ("i/data/a.parquet", "")]);
    assert!(added(folder.path(), "*/data/*").unwrap_err().contains("i is an Iceberg table"));
}
