//! Paths in pages lead to files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::support::root;

/// Pages, and a word of the part with paths.
const MAPS: [(&str, &str); 2] = [("ARCHITECTURE.md", "\n## Seams\n"), ("ARCHITECTURE.md", "\n## Code map\n")];

/// Returns the part of a page, between headings, that contains a word.
fn part<'a>(page: &'a str, word: &str) -> &'a str {
    let at = page.find(word).unwrap_or_else(|| panic!("{word:?} is nowhere"));
    // A word that is a heading begins its own part.
    let begin = if word.starts_with("\n## ") { at } else { page[..at].rfind("\n## ").unwrap_or(0) };
    let end = page[begin + 1..].find("\n## ").map_or(page.len(), |end| begin + 1 + end);
    &page[begin..end]
}

/// Returns the words of a line in code marks that look like paths.
fn named(line: &str) -> Vec<String> {
    let code = Regex::new("`([^`]+)`").unwrap();
    let path = Regex::new(r"^[\w.{},*-]+(/[\w.{},*-]*)*$").unwrap();
    let words = code.captures_iter(line).map(|found| found[1].to_owned());
    words
        .filter(|word| path.is_match(word))
        .filter(|word| {
            word.contains('/') || [".rs", ".rb", ".java", ".md"].iter().any(|end| word.ends_with(end))
        })
        .flat_map(|word| expanded(&word))
        .collect()
}

/// Returns the paths of a pattern: `{a,b}.rs` is `a.rs` and `b.rs`.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, (choices, after))) =
        path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![path.to_owned()];
    };
    choices.split(',').flat_map(|choice| expanded(&format!("{before}{choice}{after}"))).collect()
}

/// Returns the files and folders below `folder` that match a path. Its parts may have stars.
fn found(folder: &Path, path: &str) -> Vec<PathBuf> {
    path.split('/').filter(|part| !part.is_empty()).fold(vec![folder.to_owned()], |folders, part| {
        let pattern = Regex::new(&format!("^{}$", regex::escape(part).replace(r"\*", ".*"))).unwrap();
        let is_meant =
            |path: &PathBuf| path.file_name().is_some_and(|name| pattern.is_match(name.to_str().unwrap()));
        let below = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        below.map(|entry| entry.unwrap().path()).filter(is_meant).collect()
    })
}

/// Returns the paths of a line that lead nowhere. A path is below the root, below `crates`, or
/// beside or above the paths named before in the line.
fn lost(line: &str) -> Vec<String> {
    lost_below(&[root().to_owned(), root().join("crates")], line)
}

/// Returns the paths of a line that lead nowhere, neither below these folders nor beside or above
/// the paths named before in the line.
fn lost_below(folders: &[PathBuf], line: &str) -> Vec<String> {
    let mut before: Vec<PathBuf> = Vec::new();
    let mut lost = Vec::new();
    for path in named(line) {
        let places = folders.iter().cloned();
        let beside =
            before.iter().flat_map(|before| before.ancestors().take_while(|folder| *folder != root()));
        let places: Vec<PathBuf> = places.chain(beside.map(Path::to_owned)).collect();
        match places.iter().map(|place| found(place, &path)).find(|found| !found.is_empty()) {
            Some(found) => before.extend(found),
            None => lost.push(path),
        }
    }
    lost
}

#[test]
fn maps_lead_somewhere() {
    for (page, word) in MAPS {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let part = part(&text, word);
        let n_named: usize = part.lines().map(|line| named(line).len()).sum();
        assert!(n_named > 5, "only {n_named} paths were found in {page}");
        let lost: Vec<String> = part.lines().flat_map(lost).collect();
        assert!(lost.is_empty(), "{page} names what is not there: {lost:?}");
    }
}

/// The first cells of the table of files in a crate's page.
fn files(page: &str) -> impl Iterator<Item = &str> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| file |")).skip(2);
    rows.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(1))
}

#[test]
fn tables_of_files_lead_somewhere() {
    let mut lost = Vec::new();
    let mut n_tables = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(page) = fs::read_to_string(folder.join("README.md")) else { continue };
        let folders = [folder.join("src"), folder.clone()];
        n_tables += usize::from(files(&page).next().is_some());
        let of_page = files(&page).flat_map(|cell| lost_below(&folders, cell));
        lost.extend(of_page.map(|path| format!("{}: {path}", folder.display())));
    }
    assert!(n_tables >= 7, "only {n_tables} tables were found");
    assert!(lost.is_empty(), "these pages name files that are not there: {lost:#?}");
}

#[test]
fn what_a_path_means() {
    for (line, expected) in [
        ("`crates/simhash`, `index::Store` and `features` in `a.rs`", &["crates/simhash", "a.rs"][..]),
        ("`src/{a,b}.rs`, `cli/`", &["src/a.rs", "src/b.rs", "cli/"]),
        ("`crates/store-*` and `/`", &["crates/store-*"]),
    ] {
        assert_eq!(named(line), expected, "{line}");
    }
    for (line, expected) in [
        ("`crates/simhash/src/scheme/catalog.rs`, `lib.rs` above it, `row_key.rs`", &[][..]),
        ("`crates/store-*/src/lib.rs`", &[]),
        ("`crates/store-*/src/{uri,elsewhere}.rs`", &["crates/store-*/src/elsewhere.rs"]),
        ("`catalog.rs`", &["catalog.rs"]),
    ] {
        assert_eq!(lost(line), expected, "{line}");
    }
}
