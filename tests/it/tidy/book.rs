//! The book and the first page: short, complete, and with pictures of their sources.

use std::fs;
use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::support::root;

/// Words of all pages, without the tables that programs write; a page that grows has others that
/// shrink.
const WORDS_MAX: usize = 45_000;
/// Words and lines of the first page.
const FIRST_WORDS_MAX: usize = 900;
const FIRST_LINES_MAX: usize = 120;

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn listed(patterns: &[&str]) -> Vec<String> {
    let listed = Command::new("git").current_dir(root()).arg("ls-files").args(patterns).output().unwrap();
    String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_summary_lists_each_page_once() {
    let link = Regex::new(r"\]\(([^)]+)\)").unwrap();
    let summary = read("docs/src/SUMMARY.md");
    let mut in_summary: Vec<_> =
        link.captures_iter(&summary).map(|found| format!("docs/src/{}", &found[1])).collect();
    in_summary.sort();
    let mut pages = listed(&["docs/src/*.md"]);
    pages.retain(|page| page != "docs/src/SUMMARY.md");
    pages.sort();
    assert_eq!(in_summary, pages);
}

#[test]
fn the_first_page_is_short() {
    let page = read("README.md");
    let (n_words, n_lines) = (words(&page), page.lines().count());
    assert!(n_words <= FIRST_WORDS_MAX && n_lines <= FIRST_LINES_MAX, "{n_words} words, {n_lines} lines");
}

#[test]
fn all_pages_together_are_a_book_that_is_read() {
    let pages = listed(&["*.md", ":!bench", ":!deploy/hbase", ":!deploy/licences.md", ":!crates/*/*/*.md"]);
    let written = Regex::new("(?s)<!-- table: written by .*?<!-- end of table -->").unwrap();
    let n_words: usize = pages.iter().map(|page| words(&written.replace_all(&read(page), ""))).sum();
    assert!(n_words > WORDS_MAX / 2, "only {n_words} words were found");
    assert!(n_words <= WORDS_MAX, "{n_words} words in {} pages: say each thing once", pages.len());
}

#[test]
fn pictures_are_drawn_from_their_sources() {
    let label = Regex::new(r#"label="([^"]*)""#).unwrap();
    let sources = listed(&["docs/src/images/*.dot"]);
    assert!(!sources.is_empty());
    for name in sources {
        let picture = read(Path::new(&name).with_extension("svg").to_str().unwrap());
        let picture = picture.replace("&#45;", "-").replace("&#160;", " ");
        for found in label.captures_iter(&read(&name)) {
            for line in found[1].split(r"\n").map(str::trim) {
                assert!(picture.contains(&format!(">{line}")), "{name}: {line:?} is not drawn");
            }
        }
    }
}
