//! Folders whose log says which of their files count: reading all of them would bring back what was
//! removed, or was never finished.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use memchr::memmem;
use serde_json::Value;

const DELTA_LOG: &str = "_delta_log";

/// Log of the folder to which a stream of Spark writes.
const SPARK_LOG: &str = "_spark_metadata";

/// Ending of a file of that log which stands for all before it.
const COMPACT: &str = ".compact";

/// First line of a file of that log.
const SPARK_VERSION: &str = "v1";

/// Number of digits in the name of a file of the log.
const VERSION_DIGITS: usize = 20;

/// Ending of the name of a version of a Lance data set.
const MANIFEST: &str = ".manifest";

const AS_PARQUET: &str = "write what it has now as Parquet, and read that";

/// Files of a table, as its log has them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    added: BTreeSet<PathBuf>,
    removed: BTreeSet<PathBuf>,
    /// True for a log with its protocol, as all that Delta writes: no other file counts.
    is_complete: bool,
}

impl Log {
    /// Returns true if a file in the folder is part of the table; each is asked about once.
    pub(super) fn takes(&mut self, path: &Path) -> bool {
        self.added.remove(path) || !(self.is_complete || self.removed.contains(path))
    }

    /// Returns a file of the table that was not asked about.
    pub(super) fn rest(self) -> Option<PathBuf> {
        self.added.into_iter().next()
    }
}

/// Returns the log of a Delta table, or of a stream of Spark; `None` for a folder that is neither.
///
/// # Errors
/// If the folder is a table whose log cannot be read here.
pub(super) fn listed(folder: &Path) -> anyhow::Result<Option<Log>> {
    let name = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.display();
    let has = |path: &str| folder.join(path).exists();
    let is_iceberg = || {
        any_in(&folder.join("metadata"), |file| {
            is_iceberg_metadata(&file.file_name().to_string_lossy())
                && (has("data") || fs::read(file.path()).is_ok_and(|content| says_iceberg(&content)))
        })
    };
    let is_manifest = |file: &DirEntry| file.file_name().as_encoded_bytes().ends_with(MANIFEST.as_bytes());
    ensure!(!is_iceberg(), "{name} is an Iceberg table, whose log is not read; {AS_PARQUET}");
    ensure!(!has(".hoodie"), "{name} is a Hudi table, whose log is not read; {AS_PARQUET}");
    ensure!(
        !(has("data") && any_in(&folder.join("_versions"), is_manifest)),
        "{name} is a Lance data set, which is not read; {AS_PARQUET}"
    );
    if has(SPARK_LOG) {
        let log = spark_log(folder);
        return log.map(Some).with_context(|| {
            format!("{name} was written by a stream of Spark, and its log {SPARK_LOG} cannot be read; {AS_PARQUET}")
        });
    }
    if !has(DELTA_LOG) {
        return Ok(None);
    }
    let log = delta_log(folder);
    log.map(Some).with_context(|| format!("{name} is a Delta table that cannot be read; {AS_PARQUET}"))
}

/// Returns the reason why a file elsewhere makes its folder a table whose log is not read.
pub(super) fn complaint(key: &str) -> Option<&'static str> {
    let (folder, name) = key.rsplit_once('/')?;
    let in_folder = |step: &str| folder == step || folder.ends_with(&format!("/{step}"));
    if in_folder(DELTA_LOG) {
        Some("a Delta table, whose log is read on this machine only")
    } else if in_folder(SPARK_LOG) {
        Some("what a stream of Spark wrote, whose log is read on this machine only")
    } else if in_folder("metadata") && is_iceberg_metadata(name) {
        Some("an Iceberg table, whose log is not read")
    } else if in_folder("_versions") && name.ends_with(MANIFEST) {
        Some("a Lance data set, which is not read")
    } else {
        None
    }
}

/// Returns true if the folder is there and has such an entry.
fn any_in(folder: &Path, is_it: impl Fn(&DirEntry) -> bool) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| is_it(&entry))
}

/// Returns true for the name of a version of a table: `v1.metadata.json`, or `00001-` and a UUID.
fn is_iceberg_metadata(name: &str) -> bool {
    let Some(version) = name.strip_suffix(".metadata.json") else { return false };
    let version = version.strip_suffix(".gz").unwrap_or(version);
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    version.strip_prefix('v').is_some_and(is_number)
        || version
            .split_once('-')
            .is_some_and(|(number, uuid)| is_number(number) && uuid::Uuid::parse_str(uuid).is_ok())
}

/// Returns true for the metadata of a version, which may be packed.
fn says_iceberg(content: &[u8]) -> bool {
    content.starts_with(b"\x1f\x8b") || memmem::find(content, b"\"format-version\"").is_some()
}

/// Replays the log of a Delta table.
fn delta_log(folder: &Path) -> anyhow::Result<Log> {
    let log = folder.join(DELTA_LOG);
    let mut versions = BTreeSet::new();
    for entry in fs::read_dir(&log)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let version = name.strip_suffix(".json").filter(|version| version.len() == VERSION_DIGITS);
        versions.extend(version.and_then(|version| version.parse::<u64>().ok()));
    }
    let mut files = Log::default();
    for (expected, version) in (0..).zip(&versions) {
        ensure!(expected == *version, "its log begins with a checkpoint, or lacks the version {expected}");
        let commit = fs::read_to_string(log.join(format!("{version:0VERSION_DIGITS$}.json")))?;
        for action in commit.lines().filter(|line| !line.trim().is_empty()) {
            let action: Value = serde_json::from_str(action)
                .with_context(|| format!("the version {version} of its log is damaged"))?;
            let path = |action: &Value| -> anyhow::Result<PathBuf> {
                Ok(folder.join(decoded(action["path"].as_str().unwrap_or_default())?))
            };
            if let Some(add) = action.get("add") {
                ensure!(add["deletionVector"].is_null(), "it marks rows of its files as deleted");
                let path = path(add)?;
                files.removed.remove(&path);
                files.added.insert(path);
            }
            if let Some(remove) = action.get("remove") {
                let path = path(remove)?;
                files.added.remove(&path);
                files.removed.insert(path);
            }
            files.is_complete |= action.get("protocol").is_some();
            let mapping = &action["metaData"]["configuration"]["delta.columnMapping.mode"];
            ensure!(mapping.is_null() || mapping == "none", "its files have other names for its columns");
        }
    }
    ensure!(!versions.is_empty(), "its log has no version");
    Ok(files)
}

/// Replays the log of a stream of Spark: the files of a batch that was broken off are not in it.
fn spark_log(folder: &Path) -> anyhow::Result<Log> {
    let log = folder.join(SPARK_LOG);
    let (mut batches, mut compact) = (BTreeSet::new(), None);
    for entry in fs::read_dir(&log)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Ok(batch) = name.parse::<u64>() {
            batches.insert(batch);
        } else if let Some(Ok(batch)) = name.strip_suffix(COMPACT).map(str::parse::<u64>) {
            compact = compact.max(Some(batch));
        }
    }
    let first = compact.map_or(0, |compact| compact + 1);
    let batches: Vec<u64> = batches.range(first..).copied().collect();
    ensure!(compact.is_some() || !batches.is_empty(), "it has no batch");
    let mut files = Log { is_complete: true, ..Log::default() };
    let names = compact.map(|compact| format!("{compact}{COMPACT}")).into_iter();
    for (n, name) in names.chain(batches.iter().map(u64::to_string)).enumerate() {
        let expected = first + n as u64 - u64::from(compact.is_some());
        ensure!(n == 0 && compact.is_some() || name == expected.to_string(), "it lacks the batch {expected}");
        let content = fs::read_to_string(log.join(&name))?;
        let mut lines = content.lines();
        ensure!(
            lines.next() == Some(SPARK_VERSION),
            "its batch {name} is not of the version {SPARK_VERSION}"
        );
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let file: Value =
                serde_json::from_str(line).with_context(|| format!("its batch {name} is damaged"))?;
            let path = below(folder, file["path"].as_str().unwrap_or_default())?;
            match file["action"].as_str() {
                Some("delete") => files.added.remove(&path),
                _ => files.added.insert(path),
            };
        }
    }
    Ok(files)
}

/// Returns the place in the folder of a file that a log names by its whole address: the folder may
/// have been moved since.
fn below(folder: &Path, address: &str) -> anyhow::Result<PathBuf> {
    let address = percent_decoded(address)?;
    let steps: Vec<&str> = address.split('/').filter(|step| !step.is_empty()).collect();
    ensure!(!steps.is_empty() && !steps.contains(&".."), "its file {address:?} lies elsewhere");
    let path = |from: usize| folder.join(steps[from..].join("/"));
    Ok((0..steps.len()).map(path).find(|path| path.is_file()).unwrap_or_else(|| path(steps.len() - 1)))
}

/// Decodes the path of a file, which must lie in the folder.
fn decoded(path: &str) -> anyhow::Result<String> {
    let decoded = percent_decoded(path)?;
    let is_inside = !decoded.is_empty()
        && !decoded.starts_with('/')
        && !decoded.contains(':')
        && !decoded.split('/').any(|step| step == "..");
    ensure!(is_inside, "its file {path:?} lies elsewhere");
    Ok(decoded)
}

fn percent_decoded(path: &str) -> anyhow::Result<String> {
    let (mut bytes, mut rest) = (Vec::new(), path.bytes());
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        bytes.push(match byte {
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => u8::try_from(high * 16 + low)?,
                _ => bail!("{path:?} is no path"),
            },
            byte => byte,
        });
    }
    Ok(String::from_utf8(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the files of a table with these commits, or the reason.
    fn delta(commits: &[(u64, &str)]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(DELTA_LOG)).unwrap();
        for (version, commit) in commits {
            let name = format!("{version:0VERSION_DIGITS$}.json");
            fs::write(folder.path().join(DELTA_LOG).join(name), commit).unwrap();
        }
        let mut log = listed(folder.path()).map_err(|error| format!("{error:#}"))?.unwrap();
        let mut files = vec!["a.parquet", "c.parquet", "d.parquet", "day=1%2/b.parquet"];
        files.retain(|file| log.takes(&folder.path().join(file)));
        assert_eq!(log.rest(), None);
        Ok(files.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn the_log_of_a_delta_table_says_which_files_count() {
        let first = "{\"protocol\":{}}\n{\"add\":{\"path\":\"a.parquet\"}}\n\n{\"add\":{\"path\":\"day=1%252/b.parquet\"}}\n";
        assert_eq!(delta(&[(0, first)]).unwrap(), ["a.parquet", "day=1%2/b.parquet"]);
        let second = r#"{"remove":{"path":"a.parquet"}}
{"add":{"path":"c.parquet"}}"#;
        assert_eq!(delta(&[(0, first), (1, second)]).unwrap(), ["c.parquet", "day=1%2/b.parquet"]);
        // Without its protocol it may not name all files.
        assert_eq!(delta(&[(0, second)]).unwrap(), ["c.parquet", "d.parquet", "day=1%2/b.parquet"]);
        let removes = r#"{"remove":{"path":"a.parquet"}}
{"remove":{"path":"d.parquet"}}"#;
        assert_eq!(delta(&[(0, removes)]).unwrap(), ["c.parquet", "day=1%2/b.parquet"]);
        assert!(delta(&[(0, &format!("{{\"protocol\":{{}}}}\n{removes}"))]).unwrap().is_empty());
        for (commits, part) in [
            (&[][..], "has no version"),
            (&[(7, first)], "lacks the version 0"),
            (&[(0, first), (2, second)], "lacks the version 1"),
            (&[(0, "{\"add\"")], "version 0 of its log is damaged"),
            (
                &[(0, r#"{"add":{"path":"a","deletionVector":{"storageType":"u"}}}"#)],
                "rows of its files as deleted",
            ),
            (&[(0, r#"{"add":{"path":"../a"}}"#)], "lies elsewhere"),
            (&[(0, r#"{"add":{"path":"s3://bucket/a"}}"#)], "lies elsewhere"),
            (
                &[(0, r#"{"metaData":{"configuration":{"delta.columnMapping.mode":"name"}}}"#)],
                "other names for its columns",
            ),
        ] {
            let reason = delta(commits).unwrap_err();
            assert!(reason.contains(part) && reason.contains("as Parquet"), "{reason}: {part}");
        }
    }

    /// Returns the files that a stream wrote, by these files of its log, or the reason.
    fn stream(batches: &[(&str, &str)]) -> Result<Vec<&'static str>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(SPARK_LOG)).unwrap();
        fs::create_dir(folder.path().join("day=1 2")).unwrap();
        let mut files = vec!["a.parquet", "b.parquet", "day=1 2/a.parquet"];
        files.iter().for_each(|file| fs::write(folder.path().join(file), "").unwrap());
        for (name, content) in batches {
            fs::write(folder.path().join(SPARK_LOG).join(name), content).unwrap();
        }
        let mut log = listed(folder.path()).map_err(|error| format!("{error:#}"))?.unwrap();
        files.retain(|file| log.takes(&folder.path().join(file)));
        log.rest().map_or(Ok(files), |gone| Err(gone.display().to_string()))
    }

    #[test]
    fn the_log_of_a_stream_says_which_files_were_committed() {
        let batch = |path: &str, action: &str| {
            format!("v1\n{{\"path\":\"{path}\",\"size\":1,\"action\":\"{action}\"}}")
        };
        let a = batch("file:///former/out/a.parquet", "add");
        let nested = batch("hdfs://host:8020/out/day=1%202/a.parquet", "add");
        assert_eq!(stream(&[("0", &a), (".1.tmp", "half")]).unwrap(), ["a.parquet"]);
        assert_eq!(stream(&[("0", &a), ("1", &nested)]).unwrap(), ["a.parquet", "day=1 2/a.parquet"]);
        assert_eq!(stream(&[("0", "v1\n")]).unwrap(), [""; 0]);
        let compact = format!("{a}\n{}", nested.strip_prefix("v1\n").unwrap());
        let gone = batch("file:/x/a.parquet", "delete");
        let batches = [("8", &*a), ("9.compact", &compact), ("10", &gone)];
        assert_eq!(stream(&batches).unwrap(), ["day=1 2/a.parquet"]);
        for (batches, part) in [
            (&[][..], "has no batch"),
            (&[("1", &*a)], "lacks the batch 0"),
            (&[("9.compact", &*a), ("11", &a)], "lacks the batch 10"),
            (&[("0", "v2\n")], "not of the version v1"),
            (&[("0", "v1\n{")], "batch 0 is damaged"),
            (&[("0", &batch("../a", "add"))], "lies elsewhere"),
            (&[("0", &batch("file:/x/c.parquet", "add"))], "c.parquet"),
        ] {
            let reason = stream(batches).unwrap_err();
            assert!(reason.contains(part), "{reason}: {part}");
        }
    }

    #[test]
    fn tables_whose_log_is_not_read_are_refused() {
        for (file, part) in [
            ("metadata/v1.metadata.json", "an Iceberg table"),
            (".hoodie/hoodie.properties", "a Hudi table"),
            ("_versions/1.manifest", "a Lance data set"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("data")).unwrap();
            assert_eq!(listed(folder.path()).unwrap(), None);
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            let reason = listed(folder.path()).unwrap_err().to_string();
            assert!(reason.contains(part) && reason.contains("as Parquet"), "{reason}");
            let elsewhere = complaint(&format!("t/{file}"));
            assert!(file.starts_with('.') || elsewhere.is_some_and(|reason| reason.contains(part)));
        }
        let iceberg = "metadata/00001-0a1b2c3d-4e5f-6789-abcd-ef0123456789.metadata.json";
        assert!(complaint(iceberg).unwrap().contains("an Iceberg table"));
        assert!(complaint("t/_delta_log/00000000000000000000.json").unwrap().contains("a Delta table"));
        assert_eq!((complaint("t/metadata/a.json"), complaint("a.json")), (None, None));
    }

    /// A file `clip.metadata.json` once made its folder a table.
    #[test]
    fn names_alone_make_no_table() {
        for (files, is_table) in [
            (&[("metadata/clip.metadata.json", "{}"), ("data/a.txt", "a")][..], false),
            (&[("metadata/v1.metadata.json", "{}"), ("a.jsonl", "{}")], false),
            (&[("metadata/v1.metadata.json", "{\"format-version\":2}")], true),
            (&[("_versions/1.txt", "one"), ("data/a.txt", "a")], false),
            (&[("_versions/1.manifest", ""), ("data/a.lance", "")], true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for (name, content) in files {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            assert_eq!(listed(folder.path()).is_err(), is_table, "{files:?}");
        }
    }
}
