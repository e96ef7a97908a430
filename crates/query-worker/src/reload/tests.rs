//! Sequences of looks at contents that a test puts in place of files.

use std::collections::VecDeque;
use std::fs;

use anyhow::bail;

use super::*;

/// The contents that a look finds, true after a SIGHUP, and the expected outcome.
type Look = (Option<&'static str>, bool, &'static str);

/// Contents for each look, and the contents that were taken.
#[derive(Default)]
struct Fake {
    finds: Mutex<VecDeque<Option<&'static str>>>,
    taken: Mutex<Vec<String>>,
}

impl Reloaded for Fake {
    const WHAT: &'static str = "the keys";
    const LABEL: &'static str = "keys";

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn read(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        match self.finds.lock().unwrap().pop_front().flatten() {
            Some(found) => Ok(vec![found.into()]),
            None => bail!("too many open files"),
        }
    }

    fn take(&self, contents: &[Vec<u8>]) -> anyhow::Result<usize> {
        let text = String::from_utf8(contents[0].clone())?;
        ensure!(text != "bad", "this is no key");
        self.taken.lock().unwrap().push(text);
        Ok(1)
    }
}

/// A word for the outcome of a look, in capitals if it is news.
fn word(looked: &Looked) -> &'static str {
    match looked {
        Looked::AsBefore { is_refused: false } => "same",
        Looked::AsBefore { is_refused: true } => "same, refused",
        Looked::Taken { is_news: false, .. } => "taken",
        Looked::Taken { is_news: true, .. } => "TAKEN",
        Looked::Refused(_) => "refused",
        Looked::Unreadable(_) => "unreadable",
    }
}

/// Regression: a file that could not be read counted as seen, so a key removed from the file stayed
/// in force for good.
#[test]
fn what_could_not_be_read_is_tried_again() {
    let of_rows: &[(&[Look], &[&str])] = &[
        (
            &[
                (Some("a"), false, "taken"),
                (None, false, "unreadable"),
                (None, false, "unreadable"),
                (None, true, "unreadable"),
                (Some("b"), false, "TAKEN"),
                (Some("b"), false, "same"),
            ],
            &["a", "b"],
        ),
        // The same holds for the first look.
        (&[(None, false, "unreadable"), (Some("a"), false, "taken"), (Some("a"), false, "same")], &["a"]),
        // Invalid contents are refused once, and stay refused after a look that could not read
        // them.
        (
            &[
                (Some("a"), false, "taken"),
                (Some("bad"), false, "refused"),
                (Some("bad"), false, "same, refused"),
                (None, false, "unreadable"),
                (Some("bad"), false, "same, refused"),
                (Some("bad"), true, "refused"),
                (Some("a"), false, "TAKEN"),
            ],
            &["a", "a"],
        ),
        (&[(Some("a"), false, "taken"), (Some("a"), true, "TAKEN")], &["a", "a"]),
    ];
    for (looks, taken) in of_rows {
        let finds = looks.iter().map(|(found, ..)| *found).collect();
        let what = Arc::new(Fake { finds: Mutex::new(finds), ..Fake::default() });
        let watch = Watch { what: Arc::clone(&what), seen: Mutex::default() };
        let words: Vec<_> = looks.iter().map(|(_, is_told, _)| word(&watch.look(*is_told))).collect();
        assert_eq!(words, looks.iter().map(|(.., expected)| *expected).collect::<Vec<_>>());
        assert_eq!(*what.taken.lock().unwrap(), *taken);
    }
}

/// A file that changes during each read.
struct Written {
    path: PathBuf,
    n_writes_left: Mutex<usize>,
}

impl Reloaded for Written {
    const WHAT: &'static str = "the keys";
    const LABEL: &'static str = "keys";

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn read(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let read = read_whole(&mut File::open(&self.path)?)?;
        let mut n_left = self.n_writes_left.lock().unwrap();
        if *n_left > 0 {
            *n_left -= 1;
            // Longer each time, because all writes may fall within one tick of the file system's
            // clock.
            fs::write(&self.path, [&read[..], b"x"].concat())?;
        }
        Ok(vec![read])
    }

    fn take(&self, contents: &[Vec<u8>]) -> anyhow::Result<usize> {
        Ok(contents[0].len())
    }
}

#[test]
fn a_file_that_is_being_written_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    for (n_writes, words) in [
        (0, ["taken", "same"]),
        (READS_MAX - 1, ["taken", "same"]),
        (READS_MAX, ["unreadable", "taken"]),
        (2 * READS_MAX, ["unreadable", "unreadable"]),
    ] {
        let path = folder.path().join("keys.toml");
        fs::write(&path, "a").unwrap();
        let what = Arc::new(Written { path, n_writes_left: Mutex::new(n_writes) });
        let watch = Watch { what, seen: Mutex::default() };
        assert_eq!([(); 2].map(|()| word(&watch.look(false))), words, "{n_writes} writes");
    }
}

#[test]
fn a_file_that_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    for (n_bytes, is_read) in [(FILE_BYTES_MAX, true), (FILE_BYTES_MAX + 1, false)] {
        File::create(&path).unwrap().set_len(n_bytes).unwrap();
        assert_eq!(read_whole(&mut File::open(&path).unwrap()).is_ok(), is_read);
    }
}

/// A failure is logged once a minute, and the set is outdated until its files are readable and
/// valid.
#[test]
fn what_is_told() {
    let (metrics, outdated) = (Arc::new(Metrics::new()), Arc::new(Outdated::default()));
    let mut telling = Telling {
        what: "the keys",
        label: "keys",
        metrics,
        outdated: Arc::clone(&outdated),
        n_unreadable: 0,
        said: String::new(),
    };
    let broken = || anyhow::anyhow!("broken");
    for (looked, is_outdated) in [
        (Looked::Taken { n_read: 1, is_news: false }, false),
        (Looked::Unreadable(broken()), true),
        (Looked::Unreadable(broken()), true),
        (Looked::AsBefore { is_refused: false }, false),
        (Looked::Refused(broken()), true),
        (Looked::AsBefore { is_refused: true }, true),
        (Looked::Taken { n_read: 1, is_news: true }, false),
    ] {
        telling.tell(&looked);
        assert_eq!(outdated.warnings().len(), usize::from(is_outdated), "{looked:?}");
        let each: Vec<_> = outdated.each().collect();
        assert_eq!(each, [("certificates", false), ("keys", is_outdated)], "{looked:?}");
    }
}

/// Regression: a SIGHUP during the start ended the process.
#[cfg(unix)]
#[test]
fn a_hang_up_before_the_files_are_watched() {
    use rustix::process::{Signal, getpid, kill_process};
    survive_hang_ups().unwrap();
    kill_process(getpid(), Signal::HUP).unwrap();
}
