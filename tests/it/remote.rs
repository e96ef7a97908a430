//! Remote inputs: results equal those of files on disk, and errors on the way are reported.

mod archives;
mod faults;
mod outputs;
mod proxy;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::resume::{corpora, without_time};
use crate::support::{Hdfs, Run, S3, command, hdfs, open_s3, s3};

/// A remote copy of a folder, and the settings to reach it.
struct Elsewhere {
    /// The folder's address, with a slash at its end.
    folder: String,
    settings: Box<dyn Fn(&mut Command)>,
}

impl Elsewhere {
    fn run(&self, args: &[&str]) -> Run {
        let output = self.command(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut indexer = indexer(args);
        (self.settings)(&mut indexer);
        indexer
    }
}

/// Returns a command of the program without settings for remote places.
fn indexer(args: &[&str]) -> Command {
    let mut indexer = command("indexer", args);
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if ["AWS_", "GOOGLE_", "HADOOP_", "HTTP_", "http_"].iter().any(|prefix| name.starts_with(prefix)) {
            indexer.env_remove(variable);
        }
    }
    indexer
}

fn in_s3(server: &'static S3, folder: &Path, name: &str) -> Elsewhere {
    for file in files(folder) {
        let below = file.strip_prefix(folder).unwrap().to_str().unwrap();
        server.put(&format!("{name}/{below}"), &file);
    }
    // Consoles make such objects for new folders.
    let empty = folder.with_file_name("empty");
    fs::write(&empty, "").unwrap();
    for marker in ["", "more/"] {
        server.put(&format!("{name}/{marker}"), &empty);
    }
    let settings = |command: &mut Command| server.settings(command, &server.address);
    Elsewhere { folder: format!("s3://corpus/{name}/"), settings: Box::new(settings) }
}

fn in_hdfs(hdfs: &'static Hdfs, folder: &Path, name: &str) -> Elsewhere {
    let _data_node = hdfs.data_node.read().unwrap_or_else(PoisonError::into_inner);
    hdfs.script(&["dfs", "-put", folder.to_str().unwrap(), &format!("/{name}")]);
    Elsewhere { folder: format!("{}/{name}/", hdfs.url), settings: Box::new(|_| {}) }
}

/// Returns all files in a folder and its folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns a folder with a corpus in all formats and files that are skipped, and the names of the
/// corpora.
fn corpus(place: &Path) -> (PathBuf, Vec<String>) {
    let folder = place.join("corpus");
    fs::create_dir_all(folder.join("more/.hidden")).unwrap();
    let names = corpora(&folder, 400);
    for name in ["README", ".hidden.jsonl", "more/.hidden/a.jsonl"] {
        fs::write(folder.join(name), "no record").unwrap();
    }
    fs::copy(folder.join("corpus.jsonl.gz"), folder.join("more/news.jsonl.gz")).unwrap();
    (folder, names)
}

/// Returns the report and the outputs of a run, with remote addresses replaced by those of
/// `folder`.
fn left(place: &Path, run: Run, outputs: &[&str], elsewhere: &str, folder: &Path) -> Vec<(String, Vec<u8>)> {
    assert!(run.code.is_some_and(|code| code < 2), "{run:#?}");
    let mut left = vec![("report".to_owned(), without_time(&run.stdout).into_bytes())];
    for name in outputs {
        let mut content = fs::read(place.join(name)).unwrap();
        if *name == "rejects.jsonl" {
            let text = String::from_utf8(content).unwrap();
            content = text.replace(elsewhere, &format!("{}/", folder.display())).into_bytes();
        }
        left.push(((*name).to_owned(), content));
    }
    left
}

/// Checks that every format gives the same bytes as from disk, in one reading and in two.
fn check_formats(folder: &Path, names: &[String], elsewhere: &Elsewhere) {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    for name in names {
        let kept = match name.rsplit('.').next() {
            Some("parquet") => "kept.parquet",
            Some("csv") => "kept.csv",
            _ => "kept.jsonl",
        };
        let outputs = [kept, "dropped.jsonl", "rejects.jsonl"];
        let [kept, dropped, rejects] = outputs.map(at);
        for keep in ["first", "longest"] {
            let dedup = |input: &str| {
                let args =
                    ["dedup", "-q", "--force", "--segmenter", "words", "--keep", keep, "--output", &kept];
                let args = [&args[..], &["--duplicates", &dropped, "--rejects", &rejects, input]].concat();
                left(place.path(), elsewhere.run(&args), &outputs, &elsewhere.folder, folder)
            };
            let local = dedup(folder.join(name).to_str().unwrap());
            let remote = dedup(&format!("{}{name}", elsewhere.folder));
            assert!(local == remote, "{name}, --keep {keep}: {} is not as from disk", elsewhere.folder);
        }
    }
}

/// Checks that a folder, a glob and a list give the same files in the same order, and the same made
/// ids.
fn check_names(folder: &Path, elsewhere: &Elsewhere) {
    let place = tempfile::tempdir().unwrap();
    let list = place.path().join("list");
    let fingerprints = |input: &str| {
        let run = elsewhere.run(&["fingerprint", "-q", "--make-ids", "--segmenter", "words", input]);
        assert!(run.code.is_some_and(|code| code < 2), "{run:#?}");
        let left_out = run.stderr.lines().find(|line| line.contains("left out: ")).unwrap_or_default();
        assert_eq!(
            left_out.contains("1 file (no ending 1)"),
            input.ends_with('/'),
            "{input}: {}",
            run.stderr
        );
        run.stdout + left_out
    };
    for below in ["", "more", "corpus.jsonl", "corpus.*", "*/n*.gz", "corpus.text?", "[m]*"] {
        let local = fingerprints(&format!("{}/{below}", folder.display()));
        let remote = fingerprints(&format!("{}{below}", elsewhere.folder));
        assert!(!local.is_empty() && local == remote, "{below} of {}", elsewhere.folder);
    }
    fs::write(&list, format!("{0}more\n{0}corpus.csv\n", elsewhere.folder)).unwrap();
    let listed =
        elsewhere.run(&["fingerprint", "-q", "--segmenter", "words", "--files-from", list.to_str().unwrap()]);
    let named = [format!("{}/more", folder.display()), format!("{}/corpus.csv", folder.display())];
    let named = elsewhere.run(&["fingerprint", "-q", "--segmenter", "words", &named[0], &named[1]]);
    assert_eq!(listed.expect(1).stdout, named.expect(1).stdout);
    for (below, part) in
        [("none.jsonl", "there is no "), ("none/*.jsonl", "as a glob it matches nothing"), ("none/", "none")]
    {
        let said = elsewhere.run(&["fingerprint", &format!("{}{below}", elsewhere.folder)]).expect(2).stderr;
        assert!(said.contains(part), "{below} should say {part:?}: {said}");
    }
}

#[test]
fn s3_gives_what_the_disk_gives() {
    let Some(server) = s3() else { return };
    let place = tempfile::tempdir().unwrap();
    let (folder, names) = corpus(place.path());
    let elsewhere = in_s3(server, &folder, "all");
    check_formats(&folder, &names, &elsewhere);
    check_names(&folder, &elsewhere);
}

/// Google's servers also speak S3's protocol, which this test uses.
#[test]
fn gs_by_way_of_s3_gives_what_the_disk_gives() {
    let Some(server) = open_s3() else { return };
    let place = tempfile::tempdir().unwrap();
    let (folder, names) = corpus(place.path());
    in_s3(server, &folder, "all");
    let settings = |command: &mut Command| {
        command.env("GOOGLE_BASE_URL", format!("http://{}", server.address));
        command.env("GOOGLE_SKIP_SIGNATURE", "true");
    };
    let elsewhere = Elsewhere { folder: "gs://corpus/all/".to_owned(), settings: Box::new(settings) };
    let some: Vec<String> = names.into_iter().filter(|name| !name.ends_with(".texts")).collect();
    check_formats(&folder, &some, &elsewhere);
    check_names(&folder, &elsewhere);
}

#[test]
fn hdfs_gives_what_the_disk_gives() {
    let Some(hdfs) = hdfs() else { return };
    let place = tempfile::tempdir().unwrap();
    let (folder, names) = corpus(place.path());
    let elsewhere = in_hdfs(hdfs, &folder, "all");
    check_formats(&folder, &names, &elsewhere);
    check_names(&folder, &elsewhere);
}

/// One clear error, in seconds and before any output is written.
#[test]
fn s3_credentials_that_are_missing_or_wrong() {
    let Some(server) = s3() else { return };
    let place = tempfile::tempdir().unwrap();
    let kept = place.path().join("kept.jsonl");
    // A setting without a value is removed.
    let check = |settings: &[(&str, Option<&str>)], part: &str| {
        for input in ["s3://corpus/secret/a.jsonl", "s3://corpus/secret/", "s3://corpus/secret/*.jsonl"] {
            let mut indexer = indexer(&["dedup", "-q", input, "--output", kept.to_str().unwrap()]);
            let begun = Instant::now();
            server.settings(&mut indexer, &server.address);
            for (name, value) in settings {
                match value {
                    Some(value) => indexer.env(name, value),
                    None => indexer.env_remove(name),
                };
            }
            let output = indexer.output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(part) && said.lines().count() == 1, "should say {part:?}: {said}");
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
            assert!(fs::read_dir(place.path()).unwrap().next().is_none(), "something was written");
        }
    };
    let (key, secret) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
    let missing = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    // An unused address instead of the metadata service of cloud machines.
    let nobody = ("AWS_METADATA_ENDPOINT", Some("http://127.0.0.1:1"));
    check(&[(key, None), (secret, None), nobody], missing);
    check(&[(secret, None)], missing);
    check(&[(secret, Some("wrong"))], "look at AWS_ACCESS_KEY_ID");
    check(&[(secret, Some("wrong"))], "SignatureDoesNotMatch");
    check(&[(key, Some("nobody"))], "look at AWS_ACCESS_KEY_ID");
    check(&[("AWS_ALLOW_HTTP", None)], "which AWS_ALLOW_HTTP=true allows");
    check(&[("AWS_ENDPOINT_URL", Some("http://127.0.0.1:1"))], "Connection refused");
    for slip in ["localhost:9000", "", "nonsense", "http://", "http://[bad", "ftp://localhost"] {
        check(&[("AWS_ENDPOINT_URL", Some(slip))], &format!("AWS_ENDPOINT_URL is {slip:?}"));
    }
    for slip in ["", "eu central", "eu/1"] {
        check(&[("AWS_REGION", Some(slip))], &format!("AWS_REGION is {slip:?}"));
    }
    let mut indexer = indexer(&["dedup", "-q", "s3://bu ck/a.jsonl"]);
    server.settings(&mut indexer, &server.address);
    let output = indexer.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no bucket is called \"bu ck\""), "{output:?}");
}

#[test]
fn results_stay_here() {
    let place = tempfile::tempdir().unwrap();
    let input = crate::support::news();
    for more in [
        &["dedup", "--output", "https://h/kept.jsonl"][..],
        &["dedup", "--duplicates", "hdfs://h:1/dropped.jsonl"],
        &["dedup", "--output", "kept.jsonl", "--rejects", "hdfs://h:1/rejects.jsonl"],
        &["dedup", "--report", "https://h/report.html"],
        &["dedup", "--output", "kept.jsonl", "--journal", "s3://b/job"],
        &["index", "--store", "embedded:s3://b/index"],
        &["index", "--store", "embedded:index", "--rejects", "s3://b/rejects.jsonl"],
    ] {
        let output =
            indexer(&[more, &[input.to_str().unwrap()]].concat()).current_dir(&place).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(said.contains("is elsewhere"), "{more:?}: {said}");
        assert!(fs::read_dir(&place).unwrap().next().is_none(), "{more:?} wrote something");
    }
}
