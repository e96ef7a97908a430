//! Jobs resumed in another place, and jobs with missing or damaged files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::{documents, without_time};
use crate::indexer::formats::parquet;
use crate::support::{Random, command, digest, json_lines, run, unsealed, until};

const N: usize = 3_000;

/// The jobs, in a folder named `here`.
const JOBS: [&[&str]; 4] = [
    &["dedup", "here/corpus.jsonl", "--output", "here/kept.jsonl.gz", "--duplicates", "here/dups"],
    &["dedup", "here/corpus.parquet", "--output", "here/kept.parquet", "--duplicates", "here/dups.parquet"],
    &["dedup", "here/corpus.jsonl", "--output", "here/kept.jsonl", "--store", "embedded:here/index"],
    &["index", "here/corpus.jsonl", "--store", "embedded:here/index"],
];

/// A folder with a job, and a link to the folder, through which the job is started.
struct Place {
    place: tempfile::TempDir,
    folder: PathBuf,
    job: &'static [&'static str],
}

impl Place {
    fn new(job: &'static [&'static str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("first");
        fs::create_dir(&folder).unwrap();
        let documents = documents(N);
        if job[1].ends_with("parquet") {
            fs::write(folder.join("corpus.parquet"), parquet(&documents, 170)).unwrap();
        } else {
            let lines = json_lines(documents.iter().map(|(id, text)| (id.as_str(), text.as_str())));
            let lines = lines.replace("\"id\":\"made-up/11", "\"no id\":\"made-up/11");
            fs::write(folder.join("corpus.jsonl"), lines).unwrap();
        }
        symlink(&folder, place.path().join("here")).unwrap();
        Self { place, folder, job }
    }

    fn command(&self) -> std::process::Command {
        let more =
            ["-q", "--segmenter", "words", "--journal", "here/journal", "--rejects", "here/rejects.jsonl"];
        let mut command = command("indexer", [self.job, &more, &["--checkpoint-records", "20"]].concat());
        command.current_dir(self.place.path());
        command
    }

    fn go(&self) -> Output {
        self.command().output().unwrap()
    }

    /// Runs the job to a checkpoint, and stops it there.
    fn begin(&self) {
        let n_read =
            || Some(unsealed(&self.folder.join("journal/checkpoint.json"))?["n_read"].as_u64().unwrap());
        let before = n_read();
        let child = self.command().spawn().unwrap();
        until(|| n_read() > before);
        std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{output:?}");
    }

    fn move_to(&mut self, name: &str) {
        let [folder, here] = [name, "here"].map(|name| self.place.path().join(name));
        fs::rename(&self.folder, &folder).unwrap();
        fs::remove_file(&here).unwrap();
        symlink(&folder, here).unwrap();
        self.folder = folder;
    }

    /// Runs the job to its end, and returns its report, its digest and its files.
    fn finish(&self) -> Vec<(String, Vec<u8>)> {
        let output = self.go();
        assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
        let report = without_time(std::str::from_utf8(&output.stdout).unwrap());
        let mut seen = vec![("report".to_owned(), report.into_bytes())];
        if self.folder.join("index").exists() {
            seen.push((
                "digest".to_owned(),
                digest(&format!("embedded:{}", self.folder.join("index").display())).into(),
            ));
        }
        for path in files_in(&self.folder) {
            seen.push((path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()));
        }
        seen
    }

    #[track_caller]
    fn refused(&self, what: &str) {
        let output = self.go();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{what}: {said}");
        let tells = ["put back", "put it back", "finish the job with"].iter().any(|told| said.contains(told));
        assert!(tells, "{what} should say what to do: {said}");
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// Before, the journal knew outputs by their paths: in another folder, the job took them for new,
/// emptied them, and went on from the middle of the input.
#[test]
fn a_job_whose_folder_was_moved_goes_on() {
    for job in JOBS {
        let expected = Place::new(job).finish();
        let mut place = Place::new(job);
        place.begin();
        place.move_to("second");
        place.begin();
        place.move_to("third");
        let seen = place.finish();
        super::assert_same(&seen, &expected, &format!("{job:?}"));
        place.move_to("fourth");
        super::assert_same(&place.finish(), &expected, &format!("{job:?}, once more"));
        // In another place, an output is still checked by its length.
        let rejects = place.folder.join("rejects.jsonl");
        fs::write(&rejects, fs::read(&rejects).unwrap().repeat(2)).unwrap();
        let output = place.go();
        assert!(String::from_utf8_lossy(&output.stderr).contains("is not as it was left"), "{output:?}");
    }
}

#[test]
fn a_job_of_which_something_is_missing_is_refused() {
    for job in JOBS {
        let expected = Place::new(job).finish();
        let place = Place::new(job);
        place.begin();
        let mut parts = files_in(&place.folder.join("journal"));
        parts.retain(|path| !path.ends_with("lock"));
        assert!(parts.len() >= 3, "{parts:?}");
        // A Parquet file is made at the end.
        let partial = |path: &PathBuf| {
            path.to_str().unwrap().ends_with(".partial") && !path.to_str().unwrap().contains("parquet")
        };
        parts.extend(files_in(&place.folder).into_iter().filter(partial));
        parts.extend(Some(place.folder.join("index")).filter(|index| index.exists()));
        let away = place.place.path().join("away");
        for part in parts {
            fs::rename(&part, &away).unwrap();
            place.refused(&format!("{job:?} without {}", part.display()));
            fs::rename(&away, &part).unwrap();
        }
        // The refusals have damaged nothing.
        super::assert_same(&place.finish(), &expected, &format!("{job:?}"));
    }
}

/// Before, two of 44 such changes lost half of the output, at exit status 0.
#[test]
fn a_job_of_which_something_is_damaged_is_refused() {
    let mut random = Random(17);
    for job in &JOBS[..2] {
        let expected = Place::new(job).finish();
        let place = Place::new(job);
        place.begin();
        for path in files_in(&place.folder.join("journal")).into_iter().filter(|path| !path.ends_with("lock"))
        {
            let whole = fs::read(&path).unwrap();
            let mut changes: Vec<Vec<u8>> = Vec::new();
            for _ in 0..15 {
                let at = random.below(whole.len());
                changes.push(whole[..at].to_vec());
                changes
                    .push([&whole[..at], &[whole[at] ^ (1 << random.below(8))], &whole[at + 1..]].concat());
            }
            if path.extension().is_some_and(|extension| extension == "json") {
                // Changes that leave valid JSON.
                for (at, digit) in whole.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
                    let other = if *digit == b'9' { b'8' } else { digit + 1 };
                    changes.push([&whole[..at], &[other], &whole[at + 1..]].concat());
                }
                let text = String::from_utf8(whole.clone()).unwrap();
                changes.push(text.replace("lengths\":{", "lengths\":{},\"old\":{").into_bytes());
                let content: serde_json::Value = serde_json::from_str(&text).unwrap();
                changes.push(content["content"].to_string().into_bytes());
            }
            for changed in changes.iter().filter(|changed| **changed != whole) {
                fs::write(&path, changed).unwrap();
                place.refused(&format!("{job:?}, {}: {}", path.display(), String::from_utf8_lossy(changed)));
            }
            fs::write(&path, &whole).unwrap();
        }
        super::assert_same(&place.finish(), &expected, &format!("{job:?}"));
    }
}

/// Before, a job went on with the copy: documents written since were missing in the index, at exit
/// status 0.
#[test]
fn an_index_that_was_put_back_to_an_older_copy_is_refused() {
    // The index exists before the job.
    let new = |job| {
        let place = Place::new(job);
        let first = place.place.path().join("first.jsonl");
        fs::write(&first, json_lines([("first", "the first text of an index that was made before")]))
            .unwrap();
        let store = format!("embedded:{}", place.folder.join("index").display());
        let args = ["index", "-q", "--segmenter", "words", "--store", &store, first.to_str().unwrap()];
        run("indexer", args).expect(0);
        place
    };
    for job in &JOBS[2..] {
        let expected = new(job).finish();
        let place = new(job);
        let [index, aside] = [place.folder.join("index"), place.place.path().join("aside")];
        let data = index.join("data.mdb");
        // Before the job, and at one of its checkpoints.
        let mut older = vec![fs::read(&data).unwrap()];
        place.begin();
        older.push(fs::read(&data).unwrap());
        place.begin();
        let newer = fs::read(&data).unwrap();
        fs::rename(index.join("lock.mdb"), aside).unwrap();
        for older in older {
            fs::write(&data, older).unwrap();
            place.refused(&format!("{job:?} with an older copy"));
        }
        fs::write(&data, newer).unwrap();
        super::assert_same(&place.finish(), &expected, &format!("{job:?}"));
    }
}

/// Before, only the length at the checkpoint counted.
#[test]
fn an_output_that_was_changed_at_equal_length_is_refused() {
    for job in [JOBS[0], JOBS[2]] {
        let expected = Place::new(job).finish();
        let place = Place::new(job);
        place.begin();
        let partial = |path: &PathBuf| path.to_str().unwrap().ends_with(".partial");
        let outputs: Vec<PathBuf> = files_in(&place.folder).into_iter().filter(partial).collect();
        assert!(outputs.len() >= 2, "{outputs:?}");
        for output in outputs {
            let whole = fs::read(&output).unwrap();
            for at in [0, whole.len() / 2] {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                fs::write(&output, changed).unwrap();
                place.refused(&format!("{job:?}: byte {at} of {}", output.display()));
            }
            fs::write(&output, whole).unwrap();
        }
        super::assert_same(&place.finish(), &expected, &format!("{job:?}"));
    }
}
