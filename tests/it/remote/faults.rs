//! Servers that go away, briefly or for good, killed programs, and changed files, all in mid-read.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::PoisonError;

use serde_json::Value;

use super::proxy::Proxy;
use super::{Elsewhere, in_hdfs, in_s3, indexer};
use crate::support::{S3, hdfs, made_up_corpus, run, s3, unsealed, until};

const N: usize = 8_000;

/// Returns a folder with a corpus, and the kept lines of an undisturbed `dedup`.
fn corpus(place: &Path) -> (std::path::PathBuf, Vec<u8>) {
    let folder = place.join("corpus");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("a.jsonl");
    fs::write(&file, made_up_corpus(N, 5)).unwrap();
    let kept = place.join("expected.jsonl");
    let args =
        ["dedup", "-q", "--segmenter", "words", "--output", kept.to_str().unwrap(), file.to_str().unwrap()];
    run("indexer", args).expect(0);
    (folder, fs::read(kept).unwrap())
}

fn dedup(input: &str, kept: &Path, more: &[&str]) -> Command {
    let args = ["dedup", "-q", "--force", "--segmenter", "words", "--output", kept.to_str().unwrap(), input];
    indexer(&[&args, more].concat())
}

/// Starts a `dedup` that reads through a proxy, and waits until half of the file has passed.
fn begun(server: &'static S3, size: usize, mut dedup: Command) -> (Proxy, std::process::Child) {
    let proxy = Proxy::start(&server.address, size / 2);
    server.settings(&mut dedup, &proxy.address);
    let child = dedup.spawn().unwrap();
    proxy.wait();
    (proxy, child)
}

#[track_caller]
fn check_rejected(output: &Output, kept: &Path, rejects: &Path, expected: &[u8], part: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let rejected = fs::read_to_string(rejects).unwrap();
    let last: Value = serde_json::from_str(rejected.lines().last().unwrap()).unwrap();
    let reason = last["reason"].as_str().unwrap();
    assert!(reason.contains(part), "{reason} should say {part}");
    let kept = fs::read(kept).unwrap();
    assert!(
        !kept.is_empty() && kept.len() < expected.len() && expected.starts_with(&kept),
        "{} bytes",
        kept.len()
    );
}

#[test]
fn an_s3_server_that_comes_back() {
    let Some(server) = s3() else { return };
    let place = tempfile::tempdir().unwrap();
    let (folder, expected) = corpus(place.path());
    let size = fs::metadata(folder.join("a.jsonl")).unwrap().len() as usize;
    let input = in_s3(server, &folder, "back").folder;
    let kept = place.path().join("kept.jsonl");
    let (proxy, child) = begun(server, size, dedup(&input, &kept, &[]));
    proxy.close();
    // It has tried again, and again in vain.
    until(|| proxy.n_closed() > 2);
    proxy.open();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read(kept).unwrap() == expected, "it is not as from disk");
}

#[test]
fn an_s3_server_that_does_not_come_back() {
    let Some(server) = s3() else { return };
    let place = tempfile::tempdir().unwrap();
    let (folder, expected) = corpus(place.path());
    let size = fs::metadata(folder.join("a.jsonl")).unwrap().len() as usize;
    let input = in_s3(server, &folder, "gone").folder;
    let [kept, rejects] = ["kept.jsonl", "rejects.jsonl"].map(|name| place.path().join(name));
    let more = ["--rejects", rejects.to_str().unwrap(), "--input-wait-seconds", "2"];
    let (proxy, child) = begun(server, size, dedup(&input, &kept, &more));
    proxy.close();
    let output = child.wait_with_output().unwrap();
    check_rejected(&output, &kept, &rejects, &expected, "it broke off after");
}

#[test]
fn an_object_of_s3_that_is_replaced() {
    let Some(server) = s3() else { return };
    let place = tempfile::tempdir().unwrap();
    let (folder, expected) = corpus(place.path());
    let file = folder.join("a.jsonl");
    let content = fs::read(&file).unwrap();
    let input = in_s3(server, &folder, "replaced").folder;
    let [kept, rejects] = ["kept.jsonl", "rejects.jsonl"].map(|name| place.path().join(name));
    let more = ["--rejects", rejects.to_str().unwrap()];
    let (proxy, child) = begun(server, content.len(), dedup(&input, &kept, &more));
    // The length is equal, so only the tag differs.
    let other = String::from_utf8(content).unwrap().replace("made-up/", "other-1/");
    fs::write(&file, other).unwrap();
    server.put("replaced/a.jsonl", &file);
    proxy.close();
    proxy.open();
    let output = child.wait_with_output().unwrap();
    check_rejected(&output, &kept, &rejects, &expected, "it has changed since the run began");
}

#[test]
fn killed_and_gone_on_with_from_s3() {
    let Some(server) = s3() else { return };
    let place = tempfile::tempdir().unwrap();
    let (folder, expected) = corpus(place.path());
    let file = folder.join("a.jsonl");
    let size = fs::metadata(&file).unwrap().len() as usize;
    let elsewhere = in_s3(server, &folder, "killed");
    let [kept, journal] = ["kept.jsonl", "journal"].map(|name| place.path().join(name));
    let more = ["--journal", journal.to_str().unwrap(), "--checkpoint-records", "100"];
    let input = &elsewhere.folder;
    let (_proxy, mut child) = begun(server, size, dedup(input, &kept, &more));
    let n_read = || unsealed(&journal.join("checkpoint.json"))?["n_read"].as_u64();
    until(|| n_read().is_some_and(|n| n > 1_000));
    child.kill().unwrap();
    child.wait().unwrap();
    let before = n_read().unwrap();
    assert!(before < N as u64, "it was at its end");
    // The same contents written again count as unchanged, others do not.
    server.put("killed/a.jsonl", &file);
    let go_on = || {
        let mut dedup = dedup(input, &kept, &more);
        (elsewhere.settings)(&mut dedup);
        dedup.output().unwrap()
    };
    let other = place.path().join("other");
    fs::write(&other, "{}").unwrap();
    server.put("killed/a.jsonl", &other);
    let output = go_on();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("killed/a.jsonl has changed since"), "{said}");
    server.put("killed/a.jsonl", &file);
    let output = go_on();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read(kept).unwrap() == expected, "it is not as from disk");
}

/// The data node dies for some seconds while a file is read, at the pace at which results are
/// taken.
#[test]
fn an_hdfs_data_node_that_comes_back() {
    let Some(hdfs) = hdfs() else { return };
    let place = tempfile::tempdir().unwrap();
    // More than the read-ahead and the queues hold, so that most of the file is still to come.
    let folder = place.path().join("corpus");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("a.jsonl");
    let line = made_up_corpus(1, 5);
    fs::write(&file, line.repeat((40 << 20) / line.len())).unwrap();
    let Elsewhere { folder: input, .. } = in_hdfs(hdfs, &folder, "back");
    let fingerprint =
        |input: &str| indexer(&["fingerprint", "-q", "--threads", "1", "--segmenter", "words", input]);
    let expected = fingerprint(file.to_str().unwrap()).output().unwrap().stdout;
    // Its output is not read, so the program stands still.
    let mut child = fingerprint(&input).spawn().unwrap();
    let mut seen = vec![0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut seen).unwrap();
    // Nothing can be written there until it is back, which the end of the run shows.
    let data_node = hdfs.data_node.write().unwrap_or_else(PoisonError::into_inner);
    hdfs.script(&["kill", "datanode"]);
    let back = std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_secs(2));
        hdfs.script(&["start", "datanode"]);
    });
    let output = child.wait_with_output().unwrap();
    back.join().unwrap();
    drop(data_node);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    seen.extend(output.stdout);
    assert!(seen == expected, "it is not as from disk");
}
