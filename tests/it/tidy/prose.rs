//! Measures of the comments: plain technical English, subject first, in lines that fit a screen.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::support::root;

/// Columns of a comment line, with its indentation.
const COLUMNS_MAX: usize = 100;
/// Doc comments that may open with What, How, Whether or Of, of a hundred.
const OPENINGS_PERCENT_MAX: usize = 5;
/// Occurrences of "what" in a thousand words of doc comments.
const WHATS_PER_MILLE_MAX: usize = 3;

static DOC: LazyLock<Regex> = LazyLock::new(|| Regex::new("^//[/!] ?(.*)").unwrap());
static OPENING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*(What|How|Whether|Of)\b").unwrap());
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").unwrap());
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new("[A-Za-z']+").unwrap());
/// Words for a person in place of the thing that acts.
static VAGUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b([Ww]hoever|[Ss]omebody|[Nn]obody)\b").unwrap());

/// Counts over the comments of some files.
#[derive(Debug, Default)]
struct Measures {
    n_blocks: usize,
    n_openings: usize,
    n_words: usize,
    n_whats: usize,
    /// Lines that are too wide, and lines with a word for no one in particular.
    faults: Vec<String>,
}

impl Measures {
    fn read(&mut self, folder: &Path) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                self.read(&path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                self.add(&path.display().to_string(), &fs::read_to_string(&path).unwrap());
            }
        }
    }

    fn add(&mut self, name: &str, text: &str) {
        let (mut block, mut is_code) = (String::new(), false);
        // The line after the last one ends its block.
        for (n, line) in text.lines().chain([""]).enumerate() {
            let line = line.trim_end();
            let comment = line.trim_start();
            let is_wide = line.chars().count() > COLUMNS_MAX;
            if comment.starts_with("//") && !is_code && (is_wide || VAGUE.is_match(comment)) {
                self.faults.push(format!("{name}:{}: {comment}", n + 1));
            }
            match DOC.captures(comment) {
                Some(found) if found[1].starts_with("```") => is_code = !is_code,
                Some(found) if !is_code => {
                    block.push_str(&found[1]);
                    block.push(' ');
                }
                Some(_) => {}
                None => {
                    is_code = false;
                    self.add_block(&std::mem::take(&mut block));
                }
            }
        }
    }

    fn add_block(&mut self, block: &str) {
        if block.is_empty() {
            return;
        }
        self.n_blocks += 1;
        self.n_openings += usize::from(OPENING.is_match(block));
        for word in WORD.find_iter(&CODE.replace_all(block, " ")) {
            self.n_words += 1;
            self.n_whats += usize::from(word.as_str().eq_ignore_ascii_case("what"));
        }
    }
}

#[test]
fn comments_are_plain_english() {
    let mut measures = Measures::default();
    measures.read(&root().join("crates"));
    measures.read(&root().join("tests"));
    let Measures { n_blocks, n_openings, n_words, n_whats, faults } = &measures;
    assert!(*n_blocks > 5_000 && *n_words > 80_000, "{n_blocks} blocks of {n_words} words");
    assert!(
        n_openings * 100 <= n_blocks * OPENINGS_PERCENT_MAX,
        "{n_openings} of {n_blocks} doc comments open with What, How, Whether or Of; begin with the thing itself"
    );
    assert!(
        n_whats * 1_000 <= n_words * WHATS_PER_MILLE_MAX,
        "\"what\" stands {n_whats} times in {n_words} words of doc comments; name the thing"
    );
    assert!(
        faults.is_empty(),
        "{} comment lines are wider than {COLUMNS_MAX} columns or say whoever, somebody or nobody:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn comments_are_counted() {
    let mut measures = Measures::default();
    let wide = "x".repeat(COLUMNS_MAX - 2);
    let lines = [
        "//! What it is, and what `what` says.",
        "//! ```",
        "//! let what = 1;",
        "//! ```",
        "",
        "/// A thing.",
        "fn f() {}",
        "    // nobody knows",
        &format!("// {wide}"),
        &format!("//{wide}"),
        "/// Of two",
    ];
    let text = lines.join("\n");
    measures.add("a.rs", &text);
    let Measures { n_blocks, n_openings, n_words, n_whats, faults } = measures;
    assert_eq!((n_blocks, n_openings, n_words, n_whats), (3, 2, 10, 2));
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("a.rs:8: ") && faults[1].starts_with("a.rs:9: "), "{faults:?}");
}
