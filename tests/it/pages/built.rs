//! The book as mdBook builds it: each link of each page leads somewhere, and nothing is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;
use regex::Regex;

use crate::support::{Suite, root};

/// Pages without links of their own: all pages in one, the contents, and what is shown for others.
const NOT_READ: [&str; 3] = ["404.html", "print.html", "toc.html"];

/// Builds the book below `docs/src` into a folder of the build, which it returns.
fn build(docs: &Path) -> PathBuf {
    let mut book = MDBook::load(docs).unwrap_or_else(|error| panic!("{error:#}"));
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    book.config.build.build_dir.clone_from(&built);
    book.build().unwrap_or_else(|error| panic!("the book does not build (it needs jq): {error:#}"));
    built
}

/// Returns the pages below a folder, by their paths from there.
fn pages(folder: &Path, from: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, from, found);
        } else if path.extension().is_some_and(|end| end == "html") {
            found.insert(path.strip_prefix(from).unwrap().to_owned(), fs::read_to_string(&path).unwrap());
        }
    }
}

/// Returns the path without `.` and `..`; `None` if it leads out of the book.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path {
        match part.to_str().unwrap() {
            "." => {}
            ".." => plain.pop().then_some(())?,
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// Returns the links that lead nowhere, each with its page, and the number of all.
fn broken(built: &Path) -> (Vec<String>, usize) {
    let mut texts = BTreeMap::new();
    pages(built, built, &mut texts);
    let (link, id) =
        (Regex::new(r#" (?:href|src)="([^"]*)""#).unwrap(), Regex::new(r#" id="([^"]*)""#).unwrap());
    let ids: BTreeMap<_, BTreeSet<_>> = texts
        .iter()
        .map(|(name, text)| (name, id.captures_iter(text).map(|found| found[1].to_owned()).collect()))
        .collect();
    let (mut broken, mut n_links) = (Vec::new(), 0);
    for (name, text) in texts.iter().filter(|(name, _)| !NOT_READ.iter().any(|not| name.ends_with(not))) {
        for found in link.captures_iter(text) {
            let whole = found[1].replace("&amp;", "&");
            if whole.contains(':') {
                continue;
            }
            n_links += 1;
            let (path, heading) = whole.split_once('#').unwrap_or((&whole, ""));
            let target = match path {
                "" => Some(name.clone()),
                path => plain(&name.with_file_name("").join(path)),
            };
            let is_there = target.is_some_and(|target| {
                built.join(&target).exists()
                    && (heading.is_empty() || ids.get(&target).is_some_and(|ids| ids.contains(heading)))
            });
            if !is_there {
                broken.push(format!("{}: {whole}", name.display()));
            }
        }
    }
    (broken, n_links)
}

#[test]
fn the_book_is_built_and_its_links_lead_somewhere() {
    if !Suite::Pages.is_asked_for() {
        return;
    }
    let docs = root().join("docs");
    let built = build(&docs);
    let (broken, n_links) = broken(&built);
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(n_links > 500, "only {n_links} links were found");
    for path in ["index.html", "service.html", "zh/service.html", "images/page.png"] {
        assert!(built.join(path).exists(), "{path} is not in the book");
    }
    // What a page names outside of the book is its path there, and no link.
    let start = fs::read_to_string(built.join("operate.html")).unwrap();
    assert!(!start.contains("href=\"../"), "a link leads out of the book");
}

/// The check of the links finds what leads nowhere.
#[test]
fn a_link_that_leads_nowhere_is_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    let page = "<h1 id=\"top\"></h1> <a href=\"../b.html#top\"></a> <a href=\"#none\"></a> <img src=\"c.png\"> \
                <a href=\"../../out.html\"></a> <a href=\"https://example.org/#x\"></a> <a href=\"../b.html#bottom\"></a>";
    fs::write(folder.path().join("in/a.html"), page).unwrap();
    fs::write(folder.path().join("b.html"), "<h1 id=\"top\"></h1>").unwrap();
    let (broken, n_links) = broken(folder.path());
    let expected = ["#none", "c.png", "../../out.html", "../b.html#bottom"];
    assert_eq!(broken, expected.map(|link| format!("in/a.html: {link}")));
    assert_eq!(n_links, 5);
}
