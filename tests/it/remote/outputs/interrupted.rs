//! Uploads that a signal ends or that are killed: nothing is left, and a job goes on.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::super::proxy::Proxy;
use super::{Desk, job, with};
use crate::support::{made_up_corpus, run_command, s3, unsealed, until};

#[test]
fn an_upload_to_s3_that_a_signal_ends() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    let (args, expected) = job(&desk, "out/signal.jsonl");
    let signalled = |args: &[&str], signal: &str| {
        let (_proxy, child) = desk.held(args);
        let mut kill = Command::new("kill");
        assert_eq!(run_command(kill.args([signal, &child.id().to_string()])).code, Some(0));
        let output = child.wait_with_output().unwrap();
        assert_eq!((server.get("out/signal.jsonl"), server.uploads("out/signal")), (None, Vec::new()));
        output
    };
    for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
        let output = signalled(&with(&args, &[]), signal);
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        desk.check_tidy("out/signal");
    }
    let journal = with(&args, &["--journal", "journal"]);
    let output = signalled(&journal, "-INT");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    desk.run(&journal).expect(0);
    assert!(server.get("out/signal.jsonl").unwrap() == expected, "it is not as on disk");
}

#[test]
fn an_upload_to_s3_that_is_killed() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    let (args, expected) = job(&desk, "out/killed.jsonl");
    for more in [&[][..], &["--journal", "journal"]] {
        let args = with(&args, more);
        let (_proxy, mut child) = desk.held(&args);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(server.uploads("out/killed"), ["out/killed.jsonl"]);
        assert_eq!(server.keys("out/killed"), [""; 0]);
        let said = desk.run(&args).expect(0).stderr;
        assert!(said.contains("aborted an upload to s3://corpus/out/killed.jsonl"), "{said}");
        assert!(server.get("out/killed.jsonl").unwrap() == expected, "it is not as on disk");
        desk.check_tidy("out/killed");
        server.remove("out/killed.jsonl");
    }
    // A run that lives keeps what it has sent.
    let (_proxy, mut child) = desk.held(&with(&args, &[]));
    desk.run(&with(&args, &[])).expect(0);
    assert_eq!(server.uploads("out/killed"), ["out/killed.jsonl"]);
    child.kill().unwrap();
    child.wait().unwrap();
    desk.run(&with(&args, &["--force"])).expect(0);
    desk.check_tidy("out/killed");
    server.remove("out/killed.jsonl");
    // The object is gone or another one, and the job knows.
    let args = with(&args, &["--journal", "journal"]);
    let said = desk.run(&args).expect(2).stderr;
    assert!(said.contains("out/killed.jsonl is not there any more"), "{said}");
    server.put("out/killed.jsonl", &desk.at("corpus.jsonl"));
    let said = desk.run(&args).expect(2).stderr;
    assert!(said.contains("out/killed.jsonl is not as it was left"), "{said}");
}

#[test]
fn killed_and_gone_on_with_to_s3() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    let corpus = desk.at("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(8_000, 5)).unwrap();
    server.put("out/job/corpus.jsonl", &corpus);
    desk.run(&["corpus.jsonl", "--output", "kept.jsonl.gz", "--duplicates", "dropped.parquet"]).expect(0);
    for (n, more) in [&[][..], &["--output-bytes-max", "1MB"]].into_iter().enumerate() {
        let key = format!("out/job-{n}/");
        let name = if more.is_empty() { "kept.jsonl.gz" } else { "kept-{}.jsonl.gz" };
        let [to, dropped] = [name, "dropped.parquet"].map(|name| format!("s3://corpus/{key}{name}"));
        let journal = format!("journal-{n}");
        let job = ["s3://corpus/out/job/corpus.jsonl", "--output", &to, "--duplicates", &dropped];
        let job = [&job[..], &["--journal", &journal, "--checkpoint-records", "100"], more].concat();
        let proxy = Proxy::start(&server.address, fs::metadata(&corpus).unwrap().len() as usize / 2);
        let mut child = desk.dedup(&proxy.address, &job).spawn().unwrap();
        let n_read = || unsealed(&desk.at(&journal).join("checkpoint.json"))?["n_read"].as_u64();
        until(|| n_read().is_some_and(|n| n > 1_000));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(server.keys(&key), [""; 0]);
        desk.run(&job).expect(0);
        let undisturbed =
            [&job[..5], &["--journal", "other", "--checkpoint-records", "100", "--force"], more];
        let names = server.keys(&key);
        assert!(names.len() > if more.is_empty() { 1 } else { 2 }, "{names:?}");
        let contents: Vec<_> = names.iter().map(|name| server.get(name)).collect();
        assert_eq!(desk.run(&job).expect(0).stderr.matches("this job was done before").count(), 1);
        desk.run(&undisturbed.concat()).expect(0);
        fs::remove_dir_all(desk.at("other")).unwrap();
        assert_eq!(server.keys(&key), names);
        let same = names.iter().zip(contents).all(|(name, content)| server.get(name) == content);
        assert!(same, "{names:?} are not as of an undisturbed run");
        desk.check_tidy(&key);
    }
}
