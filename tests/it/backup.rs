//! `pigeonhole backup` and `pigeonhole restore`, while the index is in use and after kills.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{
    Random, Run, Worker, command, digest, made_up_corpus, matches, news, pause, program, run, run_command,
    until, without_settings,
};

fn embedded(folder: &Path, name: &str) -> String {
    format!("embedded:{}", folder.join(name).to_str().unwrap())
}

fn at(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn backup(store: &str, to: &str) -> Run {
    run("pigeonhole", ["backup", "-q", store, to])
}

fn restore(from: &str, store: &str) -> Run {
    run("pigeonhole", ["restore", "-q", from, store])
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// A worker and a job have the index open; the restored one answers alike.
#[test]
fn a_restored_index_answers_alike() {
    let folder = tempfile::tempdir().unwrap();
    let stop_words = at(folder.path(), "stop.txt");
    fs::write(&stop_words, "the\n").unwrap();
    let (store, again) = (embedded(folder.path(), "index"), embedded(folder.path(), "again"));
    let news = news();
    let flags = ["--stop-words", &stop_words];
    let index = ["index", "-q", "--store", &store, news.to_str().unwrap()];
    run("indexer", [&index[..], &flags].concat()).expect(0);
    let worker = Worker::start(&store, &flags);
    let ask = |worker: &Worker| -> Vec<Option<Vec<Value>>> {
        let lines = fs::read_to_string(&news).unwrap();
        let texts = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].clone());
        texts.map(|text| matches(&worker.post("/v1/query", &json!({ "text": text })).1)).collect()
    };
    let answers = ask(&worker);
    assert!(answers.iter().flatten().any(|found| found.len() > 1));
    let to = at(folder.path(), "backup");
    let said = backup(&store, &to).expect(0).stdout;
    assert!(said.contains("given as stop-words"), "{said}");
    let identity = said.lines().find(|line| line.starts_with("identity")).unwrap();
    let said = restore(&to, &again).expect(0).stdout;
    assert!(said.contains(identity) && said.contains("\ndamaged              0\n"), "{said}");
    assert_eq!(digest(&again), digest(&store));
    assert_eq!(ask(&Worker::start(&again, &flags)), answers);
    // A backup is not opened, nor written to, as an index.
    let opened =
        run("indexer", ["index", "-q", "--store", &format!("embedded:{to}"), news.to_str().unwrap()]);
    assert!(opened.expect(2).stderr.contains("is no index and is not empty"));
}

/// The writer is killed while backups are made of its index. Each is whole, and a run of the same
/// job makes of it what it makes of an empty index.
#[test]
fn backups_beside_a_writer_that_is_killed() {
    // Six calls of the store, since `dedup` puts at most 2,048 documents into one.
    const N: usize = 12_000;
    let folder = tempfile::tempdir().unwrap();
    let corpus = at(folder.path(), "corpus.jsonl");
    fs::write(&corpus, made_up_corpus(N, 11)).unwrap();
    let (whole, store) = (embedded(folder.path(), "whole"), embedded(folder.path(), "index"));
    let dedup =
        |store: &str| ["dedup", "-q", "--output", "/dev/null", "--store", store, &corpus].map(str::to_owned);
    run("indexer", dedup(&whole)).expect(0);
    let expected = digest(&whole);
    let data = folder.path().join("index/data.mdb");
    let n_bytes = size(&folder.path().join("whole/data.mdb"));
    let mut writer = command("indexer", dedup(&store)).spawn().unwrap();
    for round in 1..4 {
        while writer.try_wait().unwrap().is_none() && size(&data) < n_bytes * round / 10 {
            pause();
        }
        assert!(writer.try_wait().unwrap().is_none(), "the writer has ended before the backup");
        let to = at(folder.path(), &format!("backup-{round}"));
        let taking = command("pigeonhole", ["backup", "-q", &store, &to]).spawn().unwrap();
        if round == 3 {
            until(|| folder.path().join(".backup-3.partial").exists() || Path::new(&to).exists());
            writer.kill().unwrap();
            assert!(!writer.wait().unwrap().success());
        }
        let taken = taking.wait_with_output().unwrap();
        assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
    }
    for round in 1..4 {
        let (to, again) = (at(folder.path(), &format!("backup-{round}")), format!("again-{round}"));
        let again = embedded(folder.path(), &again);
        restore(&to, &again).expect(0);
        assert_ne!(digest(&again), expected);
        run("indexer", dedup(&again)).expect(0);
        assert_eq!(digest(&again), expected);
    }
}

/// The kills come by the bytes written, so they do not depend on the speed of the machine.
#[test]
fn a_killed_backup_and_a_killed_restore_look_like_none() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = at(folder.path(), "corpus.jsonl");
    fs::write(&corpus, made_up_corpus(6_000, 12)).unwrap();
    let store = embedded(folder.path(), "index");
    run("indexer", ["index", "-q", "--store", &store, &corpus]).expect(0);
    let expected = digest(&store);
    let n_bytes = size(&folder.path().join("index/data.mdb"));
    let to = folder.path().join("backup");
    let partial = folder.path().join(".backup.partial");
    let mut n_killed = 0;
    for eighth in 0..8 {
        let mut taking =
            command("pigeonhole", ["backup", "-q", &store, to.to_str().unwrap()]).spawn().unwrap();
        while taking.try_wait().unwrap().is_none()
            && (!partial.exists() || size(&partial.join("index.lmdb")) < n_bytes * eighth / 8)
        {
            pause();
        }
        taking.kill().unwrap();
        n_killed += usize::from(!taking.wait().unwrap().success());
        let refused = restore(partial.to_str().unwrap(), &embedded(folder.path(), "of-a-part"));
        assert!(!partial.exists() || partial.join("manifest.txt").exists() || refused.code == Some(2));
        if to.exists() {
            let again = embedded(folder.path(), &format!("again-{eighth}"));
            restore(to.to_str().unwrap(), &again).expect(0);
            assert_eq!(digest(&again), expected);
            fs::remove_dir_all(&to).unwrap();
        }
    }
    assert!(n_killed >= 3, "only {n_killed} of 8 backups were killed before their end");
    backup(&store, to.to_str().unwrap()).expect(0);
    assert!(!partial.exists());

    let mut n_killed = 0;
    for eighth in 0..8 {
        let (name, store) =
            (format!("killed-{eighth}"), embedded(folder.path(), &format!("killed-{eighth}")));
        let place = folder.path().join(&name);
        let mut restoring =
            command("pigeonhole", ["restore", "-q", to.to_str().unwrap(), &store]).spawn().unwrap();
        while restoring.try_wait().unwrap().is_none()
            && !place.join("data.mdb").exists()
            && (!place.exists() || size(&place.join("data.mdb.partial")) < n_bytes * eighth / 8)
        {
            pause();
        }
        restoring.kill().unwrap();
        restoring.wait().unwrap();
        if !place.join("data.mdb").exists() {
            n_killed += 1;
            if place.join("data.mdb.partial").exists() {
                run("indexer", ["index", "-q", "--store", &store, &corpus]).expect(2);
            }
            restore(to.to_str().unwrap(), &store).expect(0);
        }
        assert_eq!(digest(&store), expected);
    }
    assert!(n_killed >= 3, "only {n_killed} of 8 restores were killed before their end");
}

#[test]
fn a_damaged_backup_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = embedded(folder.path(), "index");
    run("indexer", ["index", "-q", "--store", &store, news().to_str().unwrap()]).expect(0);
    let to = at(folder.path(), "backup");
    backup(&store, &to).expect(0);
    let again = embedded(folder.path(), "again");
    let mut random = Random(5);
    for entry in fs::read_dir(&to).unwrap() {
        let path = entry.unwrap().path();
        let sound = fs::read(&path).unwrap();
        let places = [0, sound.len() - 1, random.below(sound.len()), random.below(sound.len())];
        for place in places {
            let mut damaged = sound.clone();
            damaged[place] ^= 1 << random.below(8);
            fs::write(&path, damaged).unwrap();
            let refused = restore(&to, &again).expect(2).stderr;
            assert!(refused.contains("damaged") && refused.contains("take another backup"), "{refused}");
        }
        fs::write(&path, &sound[..sound.len() - 1]).unwrap();
        restore(&to, &again).expect(2);
        fs::remove_file(&path).unwrap();
        restore(&to, &again).expect(2);
        let left = fs::read_dir(folder.path().join("again")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "a refused backup leaves something");
        fs::write(&path, &sound).unwrap();
    }
    restore(&to, &again).expect(0);
    assert_eq!(digest(&again), digest(&store));
}

#[test]
fn a_damaged_index_is_not_backed_up() {
    const PAGE_BYTES: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let store = embedded(folder.path(), "index");
    run("indexer", ["index", "-q", "--store", &store, news().to_str().unwrap()]).expect(0);
    let file = folder.path().join("index/data.mdb");
    let sound = fs::read(&file).unwrap();
    let mut random = Random(7);
    let mut n_refused = 0;
    for page in 2..sound.len() / PAGE_BYTES {
        let mut noisy = sound.clone();
        noisy[page * PAGE_BYTES..][..PAGE_BYTES].fill_with(|| random.next() as u8);
        fs::write(&file, &noisy).unwrap();
        let to = at(folder.path(), &format!("backup-{page}"));
        let taken = backup(&store, &to);
        assert!([Some(0), Some(2)].contains(&taken.code), "page {page}: {taken:?}");
        assert_eq!(taken.code == Some(0), Path::new(&to).exists(), "page {page}: {taken:?}");
        n_refused += usize::from(taken.stderr.contains("holds other bytes than were written"));
    }
    assert!(n_refused > 0);
}

#[test]
fn refusals_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = at(folder.path(), "corpus.jsonl");
    fs::write(&corpus, made_up_corpus(2_000, 13)).unwrap();
    let store = embedded(folder.path(), "index");
    run("indexer", ["index", "-q", "--store", &store, &corpus]).expect(0);
    let before = digest(&store);
    let to = at(folder.path(), "backup");
    backup(&store, &to).expect(0);
    let hbase = "hbase+rpc://localhost:1/news";
    for (words, says) in [
        (["backup", &store, &to], "is not empty; name a new directory"),
        (["backup", &store, &at(folder.path(), "no/b")], "make it first"),
        (["backup", &embedded(folder.path(), "none"), "b"], "there is no index at"),
        (["backup", "redis://localhost:1/news", "b"], "BGSAVE"),
        (["backup", hbase, "b"], "--script"),
        (["restore", &to, &store], "there is an index at"),
        (["restore", &to, &format!("embedded:{}", folder.path().display())], "is not empty (it holds"),
        (["restore", folder.path().to_str().unwrap(), &store], "is no backup: it has no manifest.txt"),
        (["restore", &to, hbase], "its own snapshots"),
        (["restore", &to, "redis://localhost:1/news"], "dbfilename"),
    ] {
        let refused = run("pigeonhole", words).expect(2);
        assert!(refused.stderr.contains(says) && refused.stdout.is_empty(), "{words:?}: {refused:?}");
    }
    assert_eq!(digest(&store), before);
    // A limit on file sizes acts like a full disk.
    let full = at(folder.path(), "full");
    let mut limited = Command::new("sh");
    without_settings(&mut limited);
    limited.args(["-c", "ulimit -f 200; exec \"$@\"", "sh"]).arg(program("pigeonhole"));
    let refused = run_command(limited.args(["backup", &store, &full])).expect(2).stderr;
    assert!(refused.contains("nothing was put at the backup's place"), "{refused}");
    assert!(!Path::new(&full).exists());
    // An empty directory is taken, and so is one from which the index was moved away.
    fs::create_dir(&full).unwrap();
    backup(&store, &full).expect(0);
    fs::remove_file(folder.path().join("index/data.mdb")).unwrap();
    restore(&full, &store).expect(0);
    assert_eq!(digest(&store), before);
}
