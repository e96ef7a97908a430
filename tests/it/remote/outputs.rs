//! Outputs in buckets: equal to those on disk, whole or absent, and never replaced unasked.

mod interrupted;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use super::indexer;
use super::proxy::Proxy;
use crate::resume::corpora;
use crate::support::{Run, S3, made_up_corpus, news, open_s3, run, run_command, s3, until_within};

/// A place for a run, with a folder for temporary files of its own.
struct Desk {
    place: tempfile::TempDir,
    server: &'static S3,
}

impl Desk {
    fn new(server: &'static S3) -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("tmp")).unwrap();
        Self { place, server }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// A `dedup` in this place, which reaches the server at `address`.
    fn dedup(&self, address: &str, args: &[&str]) -> Command {
        let mut dedup = indexer(&[&["dedup", "-q", "--segmenter", "words"], args].concat());
        dedup.current_dir(&self.place).env("TMPDIR", self.at("tmp"));
        self.server.settings(&mut dedup, address);
        dedup
    }

    fn run(&self, args: &[&str]) -> Run {
        run_command(&mut self.dedup(&self.server.address, args))
    }

    /// Checks that nothing is left of the uploads below a key, neither there nor here.
    #[track_caller]
    fn check_tidy(&self, prefix: &str) {
        assert_eq!(self.server.uploads(prefix), [""; 0]);
        let left: Vec<_> = fs::read_dir(self.at("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }

    /// Starts a run that stands still where it sends its first part.
    fn held(&self, args: &[&str]) -> (Proxy, Child) {
        self.held_at(&["PUT "], args)
    }

    /// Starts a run that stands still at a request with these words.
    fn held_at(&self, words: &'static [&'static str], args: &[&str]) -> (Proxy, Child) {
        let proxy = Proxy::holding(&self.server.address, words);
        let mut child = self.dedup(&proxy.address, args).spawn().unwrap();
        let has_ended = |child: &mut Child| child.try_wait().unwrap().is_some();
        until_within(Duration::from_secs(120), || proxy.is_holding() || has_ended(&mut child));
        assert!(proxy.is_holding(), "{:?}", child.wait_with_output());
        (proxy, child)
    }
}

/// Checks that outputs in all formats are those of a run on this machine. `folder` has the address,
/// and `key` the key of the same folder.
fn check_formats(desk: &Desk, settings: &dyn Fn(&mut Command), folder: &str, key: &str) {
    let inputs = desk.at("inputs");
    fs::create_dir(&inputs).unwrap();
    corpora(&inputs, 200);
    for (input, suffixes) in [
        ("corpus.jsonl", &["jsonl", "jsonl.gz", "jsonl.zst", "parquet"][..]),
        ("corpus.csv", &["csv", "tsv.gz", "parquet"]),
        ("corpus.parquet", &["parquet", "jsonl"]),
    ] {
        let input = inputs.join(input);
        for suffix in suffixes {
            let names = [
                ("--output", format!("kept.{suffix}")),
                ("--duplicates", "dropped.parquet".to_owned()),
                ("--clusters", "clusters.csv.gz".to_owned()),
                ("--pairs", "pairs.jsonl".to_owned()),
                ("--rejects", "rejects.jsonl".to_owned()),
                ("--report", "report.json".to_owned()),
            ];
            let dedup = |to: &str| {
                let mut args = vec!["--force", input.to_str().unwrap()];
                let places: Vec<String> = names.iter().map(|(_, name)| format!("{to}{name}")).collect();
                args.extend(names.iter().zip(&places).flat_map(|((flag, _), place)| [*flag, place]));
                let mut dedup = desk.dedup(&desk.server.address, &args);
                settings(&mut dedup);
                let run = run_command(&mut dedup);
                assert!(run.code.is_some_and(|code| code < 2), "{run:#?}");
            };
            dedup("");
            dedup(folder);
            for (_, name) in &names {
                let there = desk.server.get(&format!("{key}{name}"));
                let there = there.unwrap_or_else(|| panic!("there is no {name} of {input:?}"));
                let here = fs::read(desk.at(name)).unwrap();
                // A report has times.
                assert!(there == here || name.starts_with("report"), "{name} of {input:?} is not as on disk");
            }
            desk.check_tidy(key);
        }
    }
}

#[test]
fn outputs_in_s3_are_those_on_disk() {
    let Some(server) = s3() else { return };
    check_formats(&Desk::new(server), &|_| {}, "s3://corpus/out/formats/", "out/formats/");
}

#[test]
fn outputs_in_gs_by_way_of_s3_are_those_on_disk() {
    let Some(server) = open_s3() else { return };
    let settings = |command: &mut Command| {
        // Unlike reading, writing asks for credentials in any case.
        let account = serde_json::json!({
            "gcs_base_url": format!("http://{}", server.address),
            "disable_oauth": true,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        });
        command.env("GOOGLE_SERVICE_ACCOUNT_KEY", account.to_string());
    };
    check_formats(&Desk::new(server), &settings, "gs://corpus/out/formats/", "out/formats/");
}

/// More than one part of an upload, and an empty object.
#[test]
fn outputs_in_s3_of_any_length() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    let long = "a long text that is not cut ".repeat(40_000);
    let line =
        |n: usize| format!("{{\"id\":\"{n}\",\"text\":\"text {n} number {n}\",\"more\":\"{long}{n}\"}}\n");
    fs::write(desk.at("long.jsonl"), (0..20).map(line).collect::<String>()).unwrap();
    let args = ["long.jsonl", "--verify", "off", "--profile", "classic", "--max-distance", "0"];
    let to = ["--output", "s3://corpus/out/long.jsonl", "--duplicates", "s3://corpus/out/none.jsonl"];
    desk.run(&[&args[..], &to].concat()).expect(0);
    let there = server.get("out/long.jsonl").unwrap();
    assert!(there.len() > 20 << 20 && there == fs::read(desk.at("long.jsonl")).unwrap(), "{}", there.len());
    assert_eq!(server.get("out/none.jsonl"), Some(Vec::new()));
    desk.check_tidy("out/long");
}

#[test]
fn outputs_in_s3_that_exist() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    let input = news();
    let input = input.to_str().unwrap();
    let old = desk.at("old");
    fs::write(&old, "old").unwrap();
    server.put("out/exists/kept.jsonl", &old);
    let to = [
        "--output",
        "s3://corpus/out/exists/kept.jsonl",
        "--duplicates",
        "s3://corpus/out/exists/dropped.csv",
    ];
    let refused = desk.run(&[&[input][..], &to].concat()).expect(2);
    assert!(refused.stderr.contains("s3://corpus/out/exists/kept.jsonl exists: give --force"), "{refused:?}");
    assert_eq!(server.keys("out/exists/"), ["out/exists/kept.jsonl"]);
    assert_eq!(server.get("out/exists/kept.jsonl"), Some(b"old".to_vec()));
    desk.run(&[&[input, "--force"][..], &to].concat()).expect(0);
    desk.run(&[input, "--output", "kept.jsonl"]).expect(0);
    assert_eq!(server.get("out/exists/kept.jsonl"), fs::read(desk.at("kept.jsonl")).ok());
    let args = ["s3://corpus/out/exists/kept.jsonl", "--force"];
    let refused = desk.run(&[&args[..], &to].concat()).expect(2);
    assert!(refused.stderr.contains("is an input; write elsewhere"), "{refused:?}");
    let more = ["s3://corpus/out/exists/", "--output", "s3://corpus/out/exists/more.jsonl"];
    let refused = desk.run(&more).expect(2);
    assert!(refused.stderr.contains("lies in s3://corpus/out/exists/, all of which is read"), "{refused:?}");
    for (to, part) in [
        (["s3://corpus/out/twice.jsonl", "s3://corpus/out/twice.jsonl"], "two outputs go to one object"),
        (["s3://corpus/out/folder/", "s3://corpus/out/a.jsonl"], "names no file in the bucket"),
        (["s3://nothing/kept.jsonl", "s3://nothing/dropped.jsonl"], "The specified bucket does not exist"),
    ] {
        let refused = desk.run(&[input, "--output", to[0], "--duplicates", to[1]]).expect(2);
        assert!(refused.stderr.contains(part), "should say {part:?}: {refused:?}");
        // Before any work.
        assert!(!refused.stderr.contains("the outputs are whole in"), "{refused:?}");
    }
    desk.check_tidy("out/exists/");
}

#[test]
fn outputs_in_s3_in_parts() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    fs::write(desk.at("corpus.jsonl"), made_up_corpus(300, 5)).unwrap();
    let parts = |to: &str, bytes_max: &str, more: &[&str]| {
        let args = ["corpus.jsonl", "--output-bytes-max", bytes_max, "--output", to];
        desk.run(&[&args[..], more].concat())
    };
    let here = |folder: &str| {
        let mut names: Vec<_> =
            fs::read_dir(desk.at(folder)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.into_iter().map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    // Few rows of Parquet are not cut.
    for (suffix, bytes_max, n_min) in
        [("jsonl", "60kB", 3), ("jsonl.zst", "30kB", 3), ("parquet", "100kB", 1)]
    {
        let key = format!("out/parts-{suffix}/");
        let to = format!("s3://corpus/{key}part-{{}}.{suffix}");
        fs::create_dir(desk.at(suffix)).unwrap();
        parts(&format!("{suffix}/part-{{}}.{suffix}"), bytes_max, &[]).expect(0);
        parts(&to, bytes_max, &[]).expect(0);
        let names = here(suffix);
        assert!(names.len() >= n_min, "{names:?}");
        let keys: Vec<_> = names.iter().map(|name| format!("{key}{name}")).collect();
        assert_eq!(server.keys(&key), keys);
        for (key, name) in keys.iter().zip(&names) {
            assert_eq!(server.get(key), fs::read(desk.at(suffix).join(name)).ok(), "{key}");
        }
        // Fewer parts take the place of many.
        let refused = parts(&to, "100MB", &[]).expect(2);
        assert!(refused.stderr.contains("to replace all such parts"), "{refused:?}");
        parts(&to, "100MB", &["--force"]).expect(0);
        assert_eq!(server.keys(&key), [format!("{key}part-00000.{suffix}")]);
    }
    desk.check_tidy("out/parts");
}

/// Returns the flags of a job that writes to a bucket, and what it should write.
fn job(desk: &Desk, key: &str) -> (Vec<String>, Vec<u8>) {
    let corpus = desk.at("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(2_000, 5)).unwrap();
    let kept = desk.at("expected.jsonl");
    let args = ["dedup", "-q", "--segmenter", "words", "--output", kept.to_str().unwrap()];
    run("indexer", [&args[..], &[corpus.to_str().unwrap()]].concat()).expect(0);
    let args = ["corpus.jsonl", "--output", &format!("s3://corpus/{key}")].map(str::to_owned);
    (args.to_vec(), fs::read(kept).unwrap())
}

fn with<'a>(args: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    args.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

#[test]
fn an_s3_server_that_fails_while_it_is_written_to() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    let (args, expected) = job(&desk, "out/fails.jsonl");
    let (proxy, child) = desk.held(&with(&args, &["--input-wait-seconds", "1"]));
    proxy.close_held();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("failed to write s3://corpus/out/fails.jsonl"),
        "{said}"
    );
    assert_eq!((server.get("out/fails.jsonl"), server.uploads("out/fails")), (None, Vec::new()));
    // Hours of work are not lost.
    let (_, rest) = said.split_once("the outputs are whole in ").unwrap();
    let (kept, _) = rest.split_once(", to be copied").unwrap();
    assert!(fs::read(Path::new(kept).join("0/fails.jsonl")).unwrap() == expected, "{said}");
    fs::remove_dir_all(kept).unwrap();
    // A job with a journal goes on with the upload.
    let journal = with(&args, &["--input-wait-seconds", "1", "--journal", "journal"]);
    let (proxy, child) = desk.held(&journal);
    proxy.close_held();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
    assert_eq!((server.get("out/fails.jsonl"), server.uploads("out/fails")), (None, Vec::new()));
    desk.run(&journal).expect(0);
    assert!(server.get("out/fails.jsonl").unwrap() == expected, "it is not as on disk");
    desk.check_tidy("out/fails");
}

/// Nothing is visible before all is sent, and then one after another, the first part of the kept
/// documents last.
#[test]
fn an_s3_server_that_fails_between_two_outputs() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    fs::write(desk.at("corpus.jsonl"), made_up_corpus(300, 5)).unwrap();
    let to = ["--output", "s3://corpus/out/two/kept-{}.jsonl", "--output-bytes-max", "60kB"];
    let dropped = ["--duplicates", "s3://corpus/out/two/dropped.jsonl", "--input-wait-seconds", "3"];
    let args = [&["corpus.jsonl"][..], &to, &dropped].concat();
    desk.run(&args).expect(0);
    let all = server.keys("out/two/");
    assert!(all.len() > 3, "{all:?}");
    let remove_all = || server.keys("out/two/").iter().for_each(|key| server.remove(key));
    remove_all();
    for (words, there) in [
        (&["PUT ", "kept-00001"][..], &[][..]),
        (&["POST ", "dropped", "uploadId="], &[]),
        (&["POST ", "kept-00000", "uploadId="], &[&all[..1], &all[2..]].concat()),
    ] {
        let (proxy, child) = desk.held_at(words, &args);
        assert_eq!(server.keys("out/two/"), there, "{words:?}");
        proxy.close_held();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!((server.keys("out/two/"), server.uploads("out/two/")), (there.to_vec(), Vec::new()));
        let (_, rest) = said.split_once("the outputs are whole in ").unwrap();
        fs::remove_dir_all(rest.split_once(", to be copied").unwrap().0).unwrap();
        remove_all();
    }
    desk.check_tidy("out/two/");
}

#[test]
fn an_s3_server_whose_answer_is_lost() {
    let Some(server) = s3() else { return };
    let desk = Desk::new(server);
    let (args, expected) = job(&desk, "out/lost.jsonl");
    let proxy = Proxy::losing(&server.address, &["POST ", "lost.jsonl", "uploadId="]);
    run_command(&mut desk.dedup(&proxy.address, &with(&args, &[]))).expect(0);
    assert!(server.get("out/lost.jsonl").unwrap() == expected, "it is not as on disk");
    desk.check_tidy("out/lost");
}
