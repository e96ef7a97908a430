//! Calls of a store that outlives the run: what each does is decided and written down before it is made.
//!
//! A run that dies cannot know whether its last call has been made. The next one makes it again, which changes nothing
//! where it was; but the answer would be another one then: what was new is there already. So nobody goes by the answer.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::log::Log;

pub(crate) struct Calls {
    log: Log,
    path: PathBuf,
    /// The number of the next call of the job.
    next: u64,
    /// Of calls from `next` on, what was decided before the run broke off.
    decided: HashMap<u64, Value>,
    /// What is in the log comes before a checkpoint.
    is_old: bool,
}

#[derive(Serialize, Deserialize)]
struct Call<T> {
    number: u64,
    decided: T,
}

impl Calls {
    pub(super) fn open(path: &Path, next: u64) -> io::Result<Self> {
        let mut decided = HashMap::new();
        let log = Log::open(path, None, |call: Call<Value>| {
            if call.number >= next {
                decided.insert(call.number, call.decided);
            }
        })?;
        Ok(Self { log, path: path.to_owned(), next, decided, is_old: false })
    }

    /// What was decided about the next call: before the run broke off, or else now, by `decide`.
    pub(crate) fn decide<T: Serialize + DeserializeOwned>(
        &mut self,
        decide: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let failed = || format!("failed to write {}", self.path.display());
        let number = self.next;
        self.next += 1;
        if std::mem::take(&mut self.is_old) {
            self.log.clear().with_context(failed)?;
        }
        if let Some(decided) = self.decided.remove(&number) {
            let failed = || format!("{} was written by another version", self.path.display());
            return serde_json::from_value(decided).with_context(failed);
        }
        let decided = decide()?;
        self.log.append(&Call { number, decided: &decided }).with_context(failed)?;
        self.log.sync().with_context(failed)?;
        Ok(decided)
    }

    /// How many calls there have been, for a checkpoint that is taken before the next one.
    pub(crate) fn checkpoint(&mut self) -> u64 {
        self.is_old = true;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_decided_since_the_checkpoint_stays_decided() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("calls");
        let decide = |calls: &mut Calls, now: &str| calls.decide(|| Ok(now.to_owned())).unwrap();
        let mut calls = Calls::open(path, 0).unwrap();
        assert_eq!(decide(&mut calls, "a"), "a");
        assert_eq!(calls.checkpoint(), 1);
        // The run dies before the checkpoint is saved, and goes on from the one before.
        let mut calls = Calls::open(path, 0).unwrap();
        assert_eq!(decide(&mut calls, "never"), "a");
        assert_eq!(calls.checkpoint(), 1);
        // After it was saved, with what came before it in the log still.
        let mut calls = Calls::open(path, 1).unwrap();
        assert_eq!(decide(&mut calls, "b"), "b");
        assert_eq!(decide(&mut calls, "c"), "c");
        let mut calls = Calls::open(path, 1).unwrap();
        assert_eq!(["x", "x", "d"].map(|now| decide(&mut calls, now)), ["b", "c", "d"]);
        assert_eq!(calls.checkpoint(), 4);
        assert_eq!(decide(&mut calls, "e"), "e");
        let mut calls = Calls::open(path, 4).unwrap();
        assert_eq!(["x", "f"].map(|now| decide(&mut calls, now)), ["e", "f"]);
    }
}
