//! The pages are true: each command of each page runs as a reader would run it, and prints the text
//! of the page.
//!
//! A page runs from its top to its end in one shell. A block that cannot run here has a comment
//! above, invisible to readers: `<!-- not run: why -->`.

mod blocks;
mod built;
mod desk;
mod shown;

use std::fs;
use std::io::Write;
use std::panic::catch_unwind;
use std::process::Command;

use self::blocks::{Block, blocks};
use self::desk::Desk;
use crate::support::{Suite, root};

/// Set to 1 to rewrite the output in the pages instead of failing when it differs.
const UPDATE: &str = "PIGEONHOLE_UPDATE_PAGES";

/// The pages with commands that run.
const RUN: [&str; 25] = [
    "README.md",
    "README.zh-CN.md",
    "deploy/hbase/README.md",
    "docs/src/batch.md",
    "docs/src/batch/collect.md",
    "docs/src/batch/file.md",
    "docs/src/batch/folder.md",
    "docs/src/batch/indexes.md",
    "docs/src/batch/llm.md",
    "docs/src/batch/machines.md",
    "docs/src/batch/monthly.md",
    "docs/src/batch/titles.md",
    "docs/src/concepts.md",
    "docs/src/formats.md",
    "docs/src/hbase.md",
    "docs/src/operate.md",
    "docs/src/service.md",
    "docs/src/start.md",
    "docs/src/stores.md",
    "docs/src/zh/batch.md",
    "docs/src/zh/concepts.md",
    "docs/src/zh/service.md",
    "docs/src/zh/start.md",
    "schema/idf.md",
    "schema/redis.md",
];

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs all commands of a page, and compares their output with the text.
fn check(name: &str) {
    let text = page(name);
    let steps: Vec<_> =
        blocks(name, &text).into_iter().filter(Block::is_run).flat_map(|b| b.steps()).collect();
    assert!(!steps.is_empty(), "{name} has no command that runs");
    if !Suite::Pages.is_asked_for() {
        return;
    }
    let desk = Desk::new(&steps);
    let said = desk.run(&steps);
    let mut updated = text.clone();
    let mut at = 0;
    let mut wrong = Vec::new();
    for (step, said) in steps.iter().zip(&said) {
        let place = format!("{name}:{}: {}", step.line, step.command);
        let Some(said) = said else {
            wrong.push(format!("{place}\nwas not reached"));
            break;
        };
        match said.status {
            Some(0) => {}
            Some(status) => wrong.push(format!("{place}\nended with {status}:\n{}", said.text)),
            None => wrong.push(format!("{place}\nfailed, or did not end in time:\n{}", said.text)),
        }
        let Some(shown) = &step.shown else { continue };
        let before = format!("$ {}\n{shown}", step.command);
        at += updated[at..].find(&before).expect("the page has its own steps, in this order");
        let mut now = before.clone();
        if !shown::shows(shown, &said.text) {
            wrong.push(format!("{place}\nshown:\n{shown}\nsaid:\n{}", said.text));
            now = format!("$ {}\n{}", step.command, said.text);
            updated.replace_range(at..at + before.len(), &now);
        }
        at += now.len();
    }
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") && updated != text {
        fs::write(root().join(name), updated).unwrap();
    }
    // Written at once, past the capture of the test harness: errors of servers are hard to
    // reproduce.
    std::io::stderr().write_all(wrong.join("\n\n").as_bytes()).unwrap();
    assert!(wrong.is_empty(), "{name} is not true, see above");
}

#[test]
fn readme() {
    check("README.md");
}

#[test]
fn readme_in_chinese() {
    check("README.zh-CN.md");
}

#[test]
fn the_book_on_one_machine() {
    let needs_a_server = ["docs/src/batch/machines.md", "docs/src/hbase.md"];
    let pages = RUN.iter().filter(|name| name.starts_with("docs/") && !needs_a_server.contains(name));
    // Each page is run, also after one that is not true.
    let wrong: Vec<_> = pages.filter(|name| catch_unwind(|| check(name)).is_err()).collect();
    assert!(wrong.is_empty(), "{wrong:?} are not true, see above");
}

#[test]
fn the_book_on_many_machines() {
    check("docs/src/batch/machines.md");
}

#[test]
fn the_book_on_hbase() {
    check("docs/src/hbase.md");
}

#[test]
fn hbase_on_one_machine() {
    check("deploy/hbase/README.md");
}

#[test]
fn what_is_stored() {
    check("schema/idf.md");
    check("schema/redis.md");
}

/// A command runs, or the page says why it cannot.
#[test]
fn no_page_is_left_out() {
    let listed = Command::new("git").current_dir(root()).args(["ls-files", "*.md"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for name in listed.lines().filter(|name| !RUN.contains(name)) {
        for block in blocks(name, &page(name)) {
            assert!(!block.is_run(), "{name}:{}: no test runs this", block.line);
        }
    }
    assert!(RUN.iter().all(|name| root().join(name).exists()));
}

/// CI takes the test command from the README.
#[test]
fn the_first_two_commands_are_the_main_job_and_the_tests() {
    for name in ["README.md", "README.zh-CN.md"] {
        let text = page(name);
        let commands: Vec<_> =
            blocks(name, &text).iter().flat_map(Block::steps).map(|step| step.command).collect();
        assert!(commands[0].starts_with("cargo run --locked --bin indexer -- dedup "), "{commands:?}");
        assert!(commands[1].starts_with("cargo test --workspace"), "{commands:?}");
    }
}

/// Both READMEs have the same blocks in the same order, and as many headings and table rows.
#[test]
fn both_languages_tell_the_same() {
    let of = |name: &str| {
        let text = page(name);
        let blocks: Vec<_> =
            blocks(name, &text).iter().map(|block| shown::without_what_varies(&block.text)).collect();
        let headings = text.lines().filter(|line| line.starts_with('#')).count();
        let tables = text.lines().filter(|line| line.starts_with('|')).count();
        (blocks, headings, tables)
    };
    assert_eq!(of("README.md"), of("README.zh-CN.md"));
}

/// Links to files of the project lead to files, and links to headings lead to headings.
#[test]
fn links_lead_somewhere() {
    let listed = Command::new("git").current_dir(root()).args(["ls-files", "*.md"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut n_checked = 0;
    for name in listed.lines() {
        let text = page(name);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = match path {
                "" => root().join(name),
                path => root().join(name).with_file_name(path),
            };
            assert!(file.exists(), "{name}: {link}");
            n_checked += 1;
            if !heading.is_empty() {
                let target = fs::read_to_string(&file).unwrap();
                let is_there = target.lines().any(|line| blocks::anchor(line).as_deref() == Some(heading));
                assert!(is_there, "{name}: {link} has no such heading");
            }
        }
    }
    assert!(n_checked > 30, "only {n_checked} links were found");
}
