//! The script of `pigeonhole backup` in HBase's own shell: snapshots, and tables made of them.

use std::fs;

use super::{create, direct_url};
use crate::support::{digest, hbase, news, run};

/// The tables are dropped between, and documents that came after the backup are gone.
#[test]
fn an_index_backed_up_and_restored_by_the_script() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_saved", &[("saved", "5c2")]);
    let store = direct_url(hbase, "saved");
    run("indexer", ["index", "-q", "--store", &store, news().to_str().unwrap()]).expect(0);
    let before = digest(&store);
    let query =
        || run("pigeonhole", ["query", "--store", &store, "The harbour of the old town"]).expect(0).stdout;
    let answer = query();
    let backup = ["backup", &store, "file:///backups", "--script"];
    let script = run("pigeonhole", backup).expect(0).stdout;
    hbase.shell_text("backup_saved", &script).expect(0);

    let folder = tempfile::tempdir().unwrap();
    let more = folder.path().join("more.txt");
    fs::write(&more, "A text that came after the backup, and is gone with the tables.").unwrap();
    run("indexer", ["index", "-q", "--store", &store, more.to_str().unwrap()]).expect(0);
    assert_ne!(digest(&store), before);
    let clones: Vec<&str> =
        script.lines().filter_map(|line| line.strip_prefix("#   clone_snapshot ")).collect();
    assert_eq!(clones.len(), 2, "{script}");
    let drops = "%w[saved saved_docs].each { |table| disable table; drop table }\n";
    let clones: String = clones.iter().map(|rest| format!("clone_snapshot {rest}\n")).collect();
    let note = script.lines().find_map(|line| line.strip_prefix("#   put ")).unwrap();
    hbase.shell_text("restore_saved", &format!("{drops}{clones}put {note}\n")).expect(0);
    assert_eq!(digest(&store), before);
    assert_eq!(query(), answer);
    run("pigeonhole", ["verify", "-q", "--store", &store]).expect(0);
    let missing = run("pigeonhole", ["backup", &direct_url(hbase, "nowhere"), "b", "--script"]).expect(2);
    assert!(missing.stdout.is_empty(), "{}", missing.stdout);
}
