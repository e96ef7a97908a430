//! What the README shows is what happens.

use std::fs;
use std::process::Command;

use crate::support::{root, run};

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The console blocks: the command after `$ `, and the lines after it.
fn shown_runs() -> Vec<(String, String)> {
    let readme = readme();
    let blocks =
        readme.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let runs = blocks.flat_map(|block| block.split("$ ").skip(1)).map(|run| {
        let (command, output) = run.split_once('\n').unwrap_or((run, ""));
        (command.to_owned(), output.trim_end().to_owned())
    });
    runs.collect()
}

/// Time is another in every run.
fn without_time(output: &str) -> String {
    output
        .lines()
        .filter(|line| !line.starts_with("seconds"))
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

#[test]
fn shown_output_is_real_output() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}/", folder.path().to_str().unwrap());
    let mut n_checked = 0;
    for (command, shown) in shown_runs() {
        let (program, arguments) = match command.strip_prefix("cargo run --release --locked --bin ") {
            Some(rest) => rest.split_once(" -- ").unwrap_or((rest, "")),
            None => match command.split_once(' ') {
                Some((program @ ("indexer" | "pigeonhole" | "mkdir" | "cp"), rest)) => (program, rest),
                _ => continue,
            },
        };
        // Single quotes are all the quoting that the README uses.
        let arguments: Vec<String> = arguments
            .split('\'')
            .enumerate()
            .flat_map(|(i, part)| match i % 2 {
                0 => part
                    .split_whitespace()
                    .map(|word| match (word.strip_prefix("tests/"), word.strip_prefix("target/")) {
                        (Some(path), _) => format!("{}/tests/{path}", root().display()),
                        (_, Some(path)) => format!("{}/{path}", folder.path().display()),
                        _ => word.replace("embedded:target/", &store),
                    })
                    .collect(),
                _ => vec![part.to_owned()],
            })
            .collect();
        if matches!(program, "mkdir" | "cp") {
            assert!(Command::new(program).args(&arguments).status().unwrap().success(), "{command}");
            continue;
        }
        let real = run(program, &arguments).expect(0).stdout;
        assert_eq!(without_time(&shown), without_time(&real), "{command}");
        n_checked += 1;
    }
    assert!(n_checked >= 2, "only {n_checked} runs of the README were checked");
}

/// CI takes the test command from here.
#[test]
fn the_first_two_commands_are_the_main_job_and_the_tests() {
    let commands: Vec<String> = shown_runs().into_iter().map(|(command, _)| command).collect();
    assert!(commands[0].starts_with("cargo run --release --locked --bin indexer -- dedup "), "{commands:?}");
    assert!(commands[1].starts_with("cargo test --workspace"), "{commands:?}");
}
