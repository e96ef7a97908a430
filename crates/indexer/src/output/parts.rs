//! An output in parts: numbered files of bounded length, which appear under their names together.
//!
//! Until all parts are whole they are partial files. Then the parts of an earlier run that are to
//! be replaced lose their first one, and the new parts get their names, the first one last. So
//! where there is a first part, all parts are of one run, and whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::partial::{self, Left};
use super::whole::Whole;
use super::{Lengths, Output, Resumed, folder_of};
use crate::durable;

/// Where the number of a part goes in a name.
const NUMBER: &str = "{}";

/// Digits of a number; higher numbers have more.
const N_DIGITS: usize = 5;

/// A name of parts, as in `part-{}.jsonl.zst`.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    folder: PathBuf,
    before: String,
    after: String,
}

/// Names of the partial files of a job.
#[derive(Clone)]
pub(crate) struct Naming {
    pub(crate) job: String,
    pub(crate) role: &'static str,
    pub(crate) advice: &'static str,
}

/// The files of an output, one after another.
pub(crate) struct Parts {
    names: Numbered,
    bytes_max: u64,
    /// `None` without a journal.
    naming: Option<Naming>,
    whole: Vec<Whole>,
    /// Numbers and paths of the parts of an earlier run.
    replaced: Vec<(u64, PathBuf)>,
    /// Holds the lock of the first partial file, which is closed before the run ends.
    lock: Option<File>,
}

impl Numbered {
    /// The name of `path`; `None` if it is the name of one file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let (before, after) = path.file_name()?.to_str()?.split_once(NUMBER)?;
        Some(Self { folder: folder_of(path).to_owned(), before: before.to_owned(), after: after.to_owned() })
    }

    /// The path of a part.
    pub(crate) fn path(&self, n: u64) -> PathBuf {
        self.folder.join(format!("{}{n:0N_DIGITS$}{}", self.before, self.after))
    }

    /// The number of the part of this name.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let n = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        (format!("{n:0N_DIGITS$}") == digits).then_some(n)
    }

    /// Returns true if `path`, which is canonical, is that of a part.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        let is_here = self.folder.canonicalize().is_ok_and(|folder| folder_of(path) == folder);
        is_here && path.file_name().and_then(|name| self.number(name.to_str()?)).is_some()
    }

    /// The parts that are there, by number.
    pub(crate) fn there(&self) -> Vec<(u64, PathBuf)> {
        let mut there: Vec<_> = names_in(&self.folder)
            .filter_map(|name| Some((self.number(name.to_str()?)?, self.folder.join(&name))))
            .collect();
        there.sort_unstable();
        there
    }

    /// Removes the partial files that killed runs have left. Fails if another run writes them.
    fn remove_left(&self) -> anyhow::Result<()> {
        for name in names_in(&self.folder) {
            let of_part =
                name.to_str().and_then(partial::place_of_temporary).and_then(|name| self.number(name));
            if of_part.is_none() {
                continue;
            }
            let path = self.folder.join(&name);
            // Another run may have removed it meanwhile.
            match Left::at(path.clone()) {
                Some(left) => left.remove(),
                None => ensure!(
                    !path.exists(),
                    "another run writes {}; wait for it, or give another name",
                    self.path(0).display()
                ),
            }
        }
        Ok(())
    }
}

fn names_in(folder: &Path) -> impl Iterator<Item = OsString> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name())
}

/// The key of the number of whole parts among the lengths of a checkpoint.
fn parts_key(role: &str) -> String {
    format!("parts of {role}")
}

/// The key of a whole part among the lengths, in place of a role.
fn part_key(role: &str, n: u64) -> String {
    format!("{role} {n:0N_DIGITS$}")
}

/// The number of parts that were whole at a checkpoint.
fn n_whole(role: &str, lengths: &Lengths) -> u64 {
    lengths.get(&parts_key(role)).copied().unwrap_or(0)
}

/// The paths of all parts of a finished job with their lengths, as far as these are known.
pub(crate) fn finished(names: &Numbered, role: &str, lengths: &Lengths) -> Vec<(PathBuf, Option<u64>)> {
    let n = n_whole(role, lengths);
    let whole = (0..n).map(|n| (names.path(n), lengths.get(&part_key(role, n)).copied()));
    whole.chain([(names.path(n), lengths.get(role).copied())]).collect()
}

impl Parts {
    /// The parts of a run without a journal.
    pub(crate) fn create(names: Numbered, bytes_max: u64) -> anyhow::Result<Self> {
        names.remove_left()?;
        Ok(Self::with(names, bytes_max, None))
    }

    fn with(names: Numbered, bytes_max: u64, naming: Option<Naming>) -> Self {
        let replaced = names.there();
        Self { names, bytes_max, naming, whole: Vec::new(), replaced, lock: None }
    }

    /// The parts of a job as of a checkpoint, after which they are written or, if `is_written`,
    /// moved into their places.
    pub(crate) fn resume(
        names: Numbered,
        bytes_max: u64,
        naming: Naming,
        lengths: &Lengths,
        is_written: bool,
    ) -> anyhow::Result<Self> {
        let mut parts = Self::with(names, bytes_max, Some(naming.clone()));
        for n in 0..n_whole(naming.role, lengths) {
            let key = part_key(naming.role, n);
            let place = parts.names.path(n);
            let Some(reached) = super::reached(&key, lengths) else {
                bail!("the journal does not say how long {} was; {}", place.display(), naming.advice);
            };
            let whole = Whole::journalled(place, &naming.job, reached, is_written);
            parts.whole.push(whole.with_context(|| naming.advice)?);
        }
        Ok(parts)
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The path of the next part.
    pub(crate) fn path(&self) -> PathBuf {
        self.names.path(self.whole.len() as u64)
    }

    /// Begins the next part.
    pub(crate) fn next(&mut self) -> anyhow::Result<Output> {
        let path = self.path();
        let output = match &self.naming {
            None => Output::create(&path)?,
            Some(Naming { job, role, advice }) => Output::resume(path, None, &Resumed { job, role, advice })?,
        };
        if self.lock.is_none() {
            self.lock = output.lock();
        }
        Ok(output)
    }

    /// Takes a part that is written.
    pub(crate) fn add(&mut self, output: Output) -> anyhow::Result<()> {
        self.whole.push(output.close()?);
        Ok(())
    }

    /// Adds the lengths of the whole parts.
    pub(crate) fn checkpoint(&self, lengths: &mut Lengths) {
        let Some(Naming { role, .. }) = self.naming else { return };
        // Those of earlier checkpoints are there.
        let known = n_whole(role, lengths);
        for (n, whole) in (0..).zip(&self.whole).skip(usize::try_from(known).unwrap_or(usize::MAX)) {
            whole.note(&part_key(role, n), lengths);
        }
        lengths.insert(parts_key(role), self.whole.len() as u64);
    }

    /// Moves all parts into their places.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let n_parts = self.whole.len() as u64;
        let remove = |path: &Path| {
            durable::remove(path).with_context(|| format!("failed to remove {}", path.display()))
        };
        // Where parts of this job are in their places already, the first one is not there.
        let is_moving = self.whole.first().is_some_and(|first| !first.is_in_place());
        if let Some((0, first)) = self.replaced.first().filter(|_| is_moving) {
            remove(first)?;
        }
        for (_, path) in self.replaced.iter().filter(|(n, _)| *n >= n_parts) {
            remove(path)?;
        }
        self.whole.into_iter().rev().try_for_each(Whole::put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_numbers() {
        let names = Numbered::of(Path::new("out/part-{}.jsonl.zst")).unwrap();
        for (n, name) in
            [(0, "part-00000.jsonl.zst"), (7, "part-00007.jsonl.zst"), (123_456, "part-123456.jsonl.zst")]
        {
            assert_eq!(names.path(n), Path::new("out").join(name));
            assert_eq!(names.number(name), Some(n));
        }
        for other in [
            "part-0.jsonl.zst",
            "part-000007.jsonl.zst",
            "part-.jsonl.zst",
            "part-+0007.jsonl.zst",
            "part-00007.jsonl",
        ] {
            assert_eq!(names.number(other), None, "{other}");
        }
        assert!(Numbered::of(Path::new("{}/part.jsonl")).is_none());
    }
}
