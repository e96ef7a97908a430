//! Programs killed in the middle, several at once, and a full disk.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{
    Figures, Random, command, digest, made_up_corpus, pause, program, run, without_settings,
};

fn write_corpus(folder: &Path, n: usize, seed: u64) -> String {
    let file = folder.join("corpus.jsonl");
    fs::write(&file, made_up_corpus(n, seed)).unwrap();
    file.to_str().unwrap().to_owned()
}

fn embedded(folder: &Path, name: &str) -> String {
    format!("embedded:{}", folder.join(name).to_str().unwrap())
}

/// Each kill comes when the store's file has grown to a share of its final size: a moment in the
/// middle of writing, independent of the speed of the machine.
#[test]
fn kill_at_ten_moments_then_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = write_corpus(folder.path(), 12_000, 1);
    let whole = embedded(folder.path(), "whole");
    run("indexer", ["index", "-q", "--store", &whole, &corpus]).expect(0);
    let expected = digest(&whole);
    let size = |name: &str| {
        fs::metadata(folder.path().join(name).join("data.mdb")).map_or(0, |metadata| metadata.len())
    };
    let mut random = Random(2);
    let mut figures = Figures::default();
    for round in 0..10 {
        let name = format!("killed-{round}");
        let store = embedded(folder.path(), &name);
        let kill_at = size("whole") * random.below(95) as u64 / 100;
        let mut child = command("indexer", ["index", "-q", "--store", &store, &corpus]).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && size(&name) < kill_at {
            pause();
        }
        child.kill().unwrap();
        figures.faults += u64::from(!child.wait().unwrap().success());
        figures.round(|| run("indexer", ["index", "-q", "--store", &store, &corpus]).expect(0));
        figures.acknowledged += 12_000;
        let is_wrong = digest(&store) != expected;
        figures.wrong += u64::from(is_wrong);
        assert!(!is_wrong, "killed at {kill_at} bytes");
    }
    figures.end("index killed, and run again");
    assert!(figures.faults >= 5, "only {} of 10 runs were killed before their end", figures.faults);
}

/// The kept file of `dedup` is complete or absent after a kill at any moment. The moments follow
/// the bytes written.
#[test]
fn a_killed_dedup_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = write_corpus(folder.path(), 4_000, 3);
    let kept = folder.path().join("kept.jsonl");
    let args = ["dedup", "-q", "--output", kept.to_str().unwrap(), &corpus];
    run("indexer", args).expect(0);
    let whole = fs::read(&kept).unwrap();
    let mut figures = Figures::default();
    for eighth in 0..8 {
        fs::remove_file(&kept).unwrap_or(());
        let mut child = command("indexer", args).spawn().unwrap();
        let written = || {
            let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
            let partial = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".partial"));
            // The file may be moved to its place meanwhile.
            partial.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).max()
        };
        while child.try_wait().unwrap().is_none()
            && written().is_none_or(|n| n < whole.len() as u64 * eighth / 8)
        {
            pause();
        }
        child.kill().unwrap();
        figures.faults += u64::from(!figures.round(|| child.wait()).unwrap().success());
        figures.wrong += u64::from(kept.exists() && fs::read(&kept).unwrap() != whole);
        for entry in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_name().to_string_lossy().ends_with(".partial") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    figures.end("dedup killed: parts of files in their places");
    assert!(figures.faults >= 4, "only {} of 8 runs were killed before their end", figures.faults);
}

/// Two indexers that write halves of a corpus into one store at once make the same index as one.
#[test]
fn two_writers_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = made_up_corpus(4_000, 4);
    let half = corpus.match_indices('\n').nth(1_999).unwrap().0 + 1;
    let parts = [("a.jsonl", &corpus[..half]), ("b.jsonl", &corpus[half..]), ("all.jsonl", &corpus)].map(
        |(name, text)| {
            fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name).to_str().unwrap().to_owned()
        },
    );
    let [both, one] = ["both", "one"].map(|name| embedded(folder.path(), name));
    let children: Vec<_> = parts[..2]
        .iter()
        .map(|part| command("indexer", ["index", "-q", "--store", &both, part]).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    run("indexer", ["index", "-q", "--store", &one, &parts[2]]).expect(0);
    assert_eq!(digest(&both), digest(&one));
}

/// A limit on file sizes acts on the store like a full disk.
#[test]
fn a_full_disk_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = write_corpus(folder.path(), 8_000, 5);
    let [full, whole] = ["full", "whole"].map(|name| embedded(folder.path(), name));
    run("indexer", ["index", "-q", "--store", &whole, &corpus]).expect(0);
    let size = fs::metadata(folder.path().join("whole/data.mdb")).unwrap().len();
    // In blocks of 512 bytes.
    let script = format!("ulimit -f {}; exec \"$@\"", size / 2 / 512);
    let mut limited = Command::new("sh");
    without_settings(&mut limited);
    let output = limited
        .args(["-c", &script, "sh"])
        .arg(program("indexer"))
        .args(["index", "-q", "--store", &full, &corpus])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("failed to write to the index"), "{output:?}");
    // Documents written before are readable, and another run adds the rest.
    let info = run("pigeonhole", ["info", "--store", &full, "--digest"]).expect(0).stdout;
    assert!(info.starts_with("documents"), "{info}");
    run("indexer", ["index", "-q", "--store", &full, &corpus]).expect(0);
    assert_eq!(digest(&full), digest(&whole));
}
