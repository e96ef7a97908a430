//! Commands, flags, variables and paths in the files of `deploy/`, including comments and pages.

use std::collections::BTreeSet;

use super::files;
use super::invocation::{Invocation, PROGRAMS, help, names};
use crate::support::{ASK, root, run};

/// Flags of programs outside of the project.
const OTHERS: [&str; 31] = [
    // cargo, in a Dockerfile
    "--bin",
    "--locked",
    "--release",
    "--no-deps",
    "--profile",
    "--filter-platform",
    "--format-version",
    "--target",
    // maturin
    "--compatibility",
    "--manifest-path",
    "--out",
    "--strip",
    "--zig",
    // jq, and deploy/release
    "--arg",
    "--without",
    // tar
    "--group",
    "--mtime",
    "--numeric-owner",
    "--owner",
    "--sort",
    // Dockerfile's own, and apt-get's
    "--from",
    "--mount",
    "--no-install-recommends",
    // docker run, docker compose
    "--rm",
    "--wait",
    // kubectl, systemctl, systemd-tmpfiles
    "--from-file",
    "--create",
    "--now",
    // the loader and HBase's own tools, in `deploy/hbase/README.md`
    "--documents",
    "--read-first",
    "--staging",
];

/// Variables of the tests.
const OF_TESTS: [&str; 1] = [ASK];

/// Returns the help of every program and of all its subcommands.
fn whole_help() -> String {
    let mut whole = String::new();
    for program in PROGRAMS {
        let own = help(program, None).unwrap();
        if program != "hbase" {
            let commands = own.split_once("Commands:\n").unwrap().1;
            let commands = commands.lines().map_while(|line| line.strip_prefix("  "));
            for name in commands.filter(|line| !line.starts_with(' ')) {
                let name = name.split(' ').next().unwrap();
                if name != "help" {
                    whole.push_str(&run(program, [name, "--help"]).expect(0).stdout);
                }
            }
        }
        whole.push_str(&own);
    }
    whole
}

/// Every named flag or variable exists in some program.
#[test]
fn flags_and_variables_are_there() {
    let help = whole_help();
    let known: BTreeSet<&str> = names(&help).into_iter().chain(OTHERS).chain(OF_TESTS).collect();
    let mut n_checked = 0;
    for (name, text) in files() {
        for word in names(&text) {
            if word.starts_with("--") || word.starts_with("PIGEONHOLE_") && !word.ends_with('_') {
                assert!(known.contains(word), "deploy/{name}: no program has {word}");
                n_checked += 1;
            }
        }
    }
    assert!(n_checked > 60, "only {n_checked} were found");
}

/// Strips comment signs from lines, so that sentences continue from line to line.
fn without_comment_signs(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_start().trim_start_matches('#').trim())).collect()
}

/// Returns commands in backquotes, and on lines of their own in pages and comments.
fn shown_commands(name: &str, text: &str) -> Vec<Invocation> {
    let mut found = Vec::new();
    let mut take = |shown: &str| {
        // Only a user or a container may stand before the program's name.
        let shown = shown.split(['#', '|', '>', ';']).next().unwrap_or_default();
        let words: Vec<String> = shown.split_whitespace().map(str::to_owned).collect();
        let starts_so = |start: &str| words.first().is_some_and(|word| word == start);
        let at =
            words.iter().rposition(|word| PROGRAMS.contains(&word.rsplit('/').next().unwrap_or_default()));
        let Some(at) = at.filter(|at| *at == 0 || starts_so("sudo") || shown.starts_with("docker run "))
        else {
            return;
        };
        if words.len() > at + 1 {
            found.push(Invocation::new(&format!("deploy/{name}: {shown}"), &words[at..], []));
        }
    };
    let plain = without_comment_signs(text);
    for (n, part) in plain.split("```").enumerate() {
        if n % 2 == 1 || !name.ends_with(".md") {
            // Shell, or a file with commands in its comments.
            part.lines().map(|line| line.trim_start_matches("$ ")).for_each(&mut take);
        }
        if n % 2 == 0 {
            part.split('`')
                .skip(1)
                .step_by(2)
                .map(|span| span.replace('\n', " "))
                .for_each(|span| take(&span));
        }
    }
    found
}

#[test]
fn shown_commands_are_there() {
    let mut n_checked = 0;
    for (name, text) in files() {
        for invocation in shown_commands(&name, &text) {
            // Prose names `hbase up` and `indexer collect`, and not every later word belongs to the
            // command.
            invocation.check();
            n_checked += 1;
        }
    }
    assert!(n_checked > 20, "only {n_checked} were found");
}

/// Paths below the folders of the checkout exist, and so do links of pages.
#[test]
fn paths_are_there() {
    let mut n_checked = 0;
    for (name, text) in files() {
        let folder = root().join("deploy").join(&name).parent().unwrap().to_owned();
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        for word in text.split(|c: char| !is_part(c)) {
            let word = word.strip_prefix("/opt/pigeonhole/").unwrap_or(word).trim_end_matches(['.', '/']);
            let mut steps = word.split('/');
            let top = steps.next().unwrap_or_default();
            if ["crates", "deploy", "schema", "tests"].contains(&top) && steps.next().is_some() {
                assert!(root().join(word).exists(), "deploy/{name}: there is no {word}");
                n_checked += 1;
            }
        }
        for link in text.split("](").skip(1).filter(|_| name.ends_with(".md")) {
            let link = link.split(')').next().unwrap().split('#').next().unwrap();
            if link.starts_with("https://") {
                continue;
            }
            assert!(folder.join(link).exists(), "deploy/{name}: the link to {link} leads nowhere");
            n_checked += 1;
        }
    }
    assert!(n_checked > 40, "only {n_checked} were found");
}
