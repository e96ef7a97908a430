//! Tables put back to a snapshot under a job with a journal.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{create, url};
use crate::support::{command, hbase, made_up_corpus, unsealed, until};

const SNAPSHOTS: &str = "snapshot 'back', 'back_then'\nsnapshot 'back_docs', 'back_docs_then'\n";
const RESTORE: &str =
    "%w[back back_docs].each { |table| disable table; restore_snapshot \"#{table}_then\"; enable table }\n";

/// A job of several checkpoints.
struct Job<'a> {
    folder: &'a Path,
    store: String,
}

impl Job<'_> {
    fn command(&self) -> Command {
        let [corpus, kept, journal] =
            ["corpus.jsonl", "kept.jsonl", "journal"].map(|name| self.folder.join(name));
        let mut command =
            command("indexer", ["dedup", "-q", "--store", &self.store, "--checkpoint-records", "20"]);
        command.arg(corpus).arg("--output").arg(kept).arg("--journal").arg(journal);
        command
    }

    /// Goes on to the next checkpoint, and stops there.
    fn go_on(&self) {
        let n_read =
            || Some(unsealed(&self.folder.join("journal/checkpoint.json"))?["n_read"].as_u64().unwrap());
        let before = n_read();
        let child = self.command().spawn().unwrap();
        until(|| n_read() > before);
        Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    }

    fn finish(&self) -> Output {
        self.command().output().unwrap()
    }
}

/// A job goes on with tables put back to its last checkpoint, and refuses those of an earlier one.
#[test]
fn a_job_is_refused_on_an_older_snapshot() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_back", &[("back", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("corpus.jsonl"), made_up_corpus(5_000, 8)).unwrap();
    let job = Job { folder: folder.path(), store: url(hbase.gateway, "back") };
    job.go_on();
    hbase.shell_text("snapshot_back", SNAPSHOTS).expect(0);
    hbase.shell_text("restore_same", RESTORE).expect(0);
    job.go_on();
    hbase.shell_text("restore_back", RESTORE).expect(0);
    let refused = job.finish();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("older than the last checkpoint"), "{said}");
}
