//! Damaged, moved and unprotected files of an embedded index, as the programs meet them.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{command, digest, made_up_corpus, news, pause, run};

fn embedded(path: &Path) -> String {
    format!("embedded:{}", path.display())
}

/// Before, each program died of SIGBUS at nearly every length.
#[test]
fn a_truncated_file_is_said_to_be_that() {
    const N_LENGTHS: u64 = 49;
    let folder = tempfile::tempdir().unwrap();
    let (whole, cut) = (folder.path().join("whole"), folder.path().join("cut"));
    let corpus = folder.path().join("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(1_500, 1)).unwrap();
    let corpus = corpus.to_str().unwrap();
    run("indexer", ["index", "-q", "--store", &embedded(&whole), "--segmenter", "words", corpus]).expect(0);
    let len = fs::metadata(whole.join("data.mdb")).unwrap().len();
    let store = embedded(&cut);
    // A file of 0 bytes is an index that was never begun.
    for n in 1..N_LENGTHS {
        let n_bytes = len * n / N_LENGTHS;
        fs::create_dir(&cut).unwrap();
        fs::copy(whole.join("data.mdb"), cut.join("data.mdb")).unwrap();
        File::options().write(true).open(cut.join("data.mdb")).unwrap().set_len(n_bytes).unwrap();
        // To those that look for damage it is a finding.
        let verified = run("pigeonhole", ["verify", "--store", &store]).expect(1).stdout;
        assert!(verified.contains("restore it from a backup"), "{n_bytes} of {len}: {verified}");
        for run in [
            run("pigeonhole", ["query", "--store", &store, "a text"]),
            run("indexer", ["index", "-q", "--store", &store, corpus]),
        ] {
            let run = run.expect(2);
            assert!(run.stderr.contains("restore it from a backup"), "{n_bytes} of {len}: {run:?}");
        }
        assert_eq!(fs::metadata(cut.join("data.mdb")).unwrap().len(), n_bytes, "it is left as it is");
        fs::remove_dir_all(&cut).unwrap();
    }
}

/// An indexer whose directory is moved stops with an error. Before, it went on and reported
/// success.
#[test]
fn a_directory_that_is_moved_under_an_indexer() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(12_000, 2)).unwrap();
    let path = |name: &str| folder.path().join(name);
    let [whole, moved] = ["whole", "moved"].map(|name| embedded(&path(name)));
    let journal = path("journal");
    let index = |store: &str, more: &[&str]| {
        let args = [&["index", "-q", "--store", store, corpus.to_str().unwrap()], more].concat();
        command("indexer", args)
    };
    let journaled = ["--journal", journal.to_str().unwrap(), "--checkpoint-records", "500"];
    assert!(index(&whole, &[]).status().unwrap().success());
    let size = |name: &str| fs::metadata(path(name).join("data.mdb")).map_or(0, |metadata| metadata.len());
    let child = index(&moved, &journaled).spawn().unwrap();
    while size("moved") < size("whole") / 10 {
        pause();
    }
    fs::rename(path("moved"), path("aside")).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("moved away while the store was open"), "{stderr}");
    // Back in its place, the index is continued.
    fs::rename(path("aside"), path("moved")).unwrap();
    assert!(index(&moved, &journaled).status().unwrap().success());
    assert_eq!(digest(&moved), digest(&whole));
}

#[test]
fn a_file_that_others_may_read_is_said_to_be_that() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let news = news();
    let index = || run("indexer", ["index", "-q", "--store", &embedded(&path), news.to_str().unwrap()]);
    let warns = || index().expect(0).stderr.contains("chmod 600");
    assert!(!warns(), "a new one is its owner's only");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!warns(), "what is locked is not the directory");
    fs::set_permissions(path.join("data.mdb"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(warns());
}
