//! Archives that lie elsewhere: read as from disk, tar as it comes and ZIP in parts.

use std::fs;
use std::process::Command;

use super::indexer;
use crate::indexer::inputs::PACKERS;
use crate::reports::archives::{tar, zip};
use crate::resume::without_time;
use crate::support::{S3, made_up_corpus, open_s3, run_command, s3};

/// Archives of members in several formats.
fn archives() -> [(&'static str, Vec<u8>); 3] {
    let corpora = [1_500, 300, 1].map(|n| made_up_corpus(n, 5).replace("made-up/", &format!("{n}/")));
    let (_, gzip) = PACKERS[0];
    let packed = gzip(corpora[1].as_bytes());
    let photo = vec![0xff; 1 << 20];
    let pages: Vec<String> = (0..200)
        .map(|n| format!("<html><body><p>Page {n} of the reeds by the lake, {}</p>", n * 7919))
        .collect();
    let names: Vec<String> = (0..pages.len()).map(|n| format!("pages/{n}.html")).collect();
    let mut files: Vec<(&str, &[u8])> =
        names.iter().map(|name| &name[..]).zip(pages.iter().map(String::as_bytes)).collect();
    files.insert(100, ("day/photo.jpg", &photo));
    files.push(("day/a.jsonl", corpora[0].as_bytes()));
    files.push(("day/b.jsonl.gz", &packed));
    files.push(("c.jsonl", corpora[2].as_bytes()));
    let tar = tar(&files);
    [("x.tar.gz", gzip(&tar)), ("x.tar", tar), ("x.zip", zip(&files))]
}

/// Checks that each archive in a folder elsewhere gives what it gives on disk.
fn check(server: &'static S3, folder: &str, name: &str, settings: &dyn Fn(&mut Command)) {
    let place = tempfile::tempdir().unwrap();
    let dedup = |input: &str| {
        let mut dedup =
            indexer(&["dedup", "-q", "--force", "--segmenter", "words", "--output", "kept.jsonl"]);
        dedup.args(["--duplicates", "dropped.jsonl", input]).current_dir(&place);
        settings(&mut dedup);
        let run = run_command(&mut dedup).expect(0);
        let outputs = ["kept.jsonl", "dropped.jsonl"].map(|name| fs::read(place.path().join(name)).unwrap());
        let told: Vec<String> =
            run.stderr.lines().filter(|line| line.contains("left out")).map(str::to_owned).collect();
        (without_time(&run.stdout), told, outputs)
    };
    for (archive, content) in archives() {
        let path = place.path().join(archive);
        fs::write(&path, content).unwrap();
        server.put(&format!("{name}/{archive}"), &path);
        let local = dedup(path.to_str().unwrap());
        assert!(
            !local.2[0].is_empty() && !local.2[1].is_empty() && local.1[0].contains("(.jpg 1)"),
            "{:?}",
            local.1
        );
        assert!(dedup(&format!("{folder}{archive}")) == local, "{folder}{archive} is not as from disk");
    }
}

#[test]
fn archives_in_s3_are_read_as_from_disk() {
    let Some(server) = s3() else { return };
    let settings = |command: &mut Command| server.settings(command, &server.address);
    check(server, "s3://corpus/archives/", "archives", &settings);
}

/// The server for S3 gives what is public to all who ask.
#[test]
fn archives_of_s3_on_the_web_are_read_as_from_disk() {
    let Some(server) = open_s3() else { return };
    check(server, &format!("http://{}/corpus/archives/", server.address), "archives", &|_| {});
}
