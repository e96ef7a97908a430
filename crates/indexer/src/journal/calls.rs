//! Calls of a store that outlives the run: what each does is decided and written down before it is made.
//!
//! A run that dies cannot know whether its last call has been made. The next one makes it again, which changes nothing
//! where it was; but the answer would be another one then: what was new is there already. So nobody goes by the answer.
//!
//! ```text
//! how many calls were decided, 8 bytes, big-endian | CRC-32 of these, 4 bytes, big-endian | a frame for each call
//! ```
//!
//! A frame that a dying run has torn is of a call that was not made. One that was cut off later is of a call that was, and
//! must not be decided again; so the head says of how many there was a whole frame before they were made. It is written
//! after the frame is durable and need not be so itself: it is never ahead of the frames.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::log::Log;

const HEAD_BYTES: usize = 12;

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
    /// A file without calls.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(&head(0))?;
        file.sync_all()?;
        Self::open(path, 0)
    }

    /// Goes on from a checkpoint before call `next`. What was decided since must be there.
    pub(super) fn open(path: &Path, next: u64) -> io::Result<Self> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let mut bytes = [0; HEAD_BYTES];
        file.read_exact(&mut bytes)?;
        let mut decided = HashMap::new();
        let log = Log::after_head(file, HEAD_BYTES as u64, |call: Call<Value>| {
            if call.number >= next {
                decided.insert(call.number, call.decided);
            }
        })?;
        let is_whole = n_decided(&bytes)
            .is_some_and(|n_decided| (next..n_decided).all(|number| decided.contains_key(&number)));
        if !is_whole {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged"));
        }
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
        self.log.write_head(&head(self.next)).with_context(failed)?;
        Ok(decided)
    }

    /// How many calls there have been, for a checkpoint that is taken before the next one.
    pub(crate) fn checkpoint(&mut self) -> u64 {
        self.is_old = true;
        self.next
    }
}

/// Whether anything was decided by a file, which may be half made.
pub(super) fn have_begun(path: &Path) -> bool {
    let mut bytes = [0; HEAD_BYTES];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.is_ok() && n_decided(&bytes).is_some_and(|n_decided| n_decided > 0)
}

/// What a head says, if it is one.
fn n_decided(bytes: &[u8; HEAD_BYTES]) -> Option<u64> {
    let [a, b, c, d, e, f, g, h, ..] = *bytes;
    let n_decided = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    (*bytes == head(n_decided)).then_some(n_decided)
}

/// The first bytes of the file.
fn head(n_decided: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    let (number, crc) = head.split_at_mut(8);
    number.copy_from_slice(&n_decided.to_be_bytes());
    crc.copy_from_slice(&crc32fast::hash(number).to_be_bytes());
    head
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_decided_since_the_checkpoint_stays_decided() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("calls");
        let decide = |calls: &mut Calls, now: &str| calls.decide(|| Ok(now.to_owned())).unwrap();
        let mut calls = Calls::create(path).unwrap();
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

    #[test]
    fn what_was_decided_and_is_not_there_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("calls");
        let mut calls = Calls::create(path).unwrap();
        for n in 0..3 {
            calls.decide(|| Ok(n)).unwrap();
        }
        drop(calls);
        assert!(have_begun(path));
        let whole = fs::read(path).unwrap();
        let refused = |damaged: &[u8], what: &str| {
            fs::write(path, damaged).unwrap();
            assert!(Calls::open(path, 0).is_err(), "{what}");
        };
        for place in 0..whole.len() {
            refused(&whole[..place], &format!("cut at {place}"));
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[place] ^= 1 << bit;
                refused(&damaged, &format!("bit {bit} of {place}"));
            }
        }
        // Torn by a run that died before its call: a frame of which the head says nothing.
        let len = whole.len() as u64;
        for torn in [&[0][..], &[0; 100], &[0, 0, 0, 2, 1, 2, 3, 4, b'{', b'}']] {
            fs::write(path, [&whole, torn].concat()).unwrap();
            let mut calls = Calls::open(path, 2).unwrap();
            assert_eq!(fs::metadata(path).unwrap().len(), len);
            assert_eq!([9, 10].map(|now| calls.decide(|| Ok(now)).unwrap()), [2, 10]);
        }
        // All of them came before the checkpoint, and are not asked for any more.
        fs::write(path, &whole[..HEAD_BYTES]).unwrap();
        Calls::open(path, 3).unwrap();
        fs::remove_file(path).unwrap();
        assert!(Calls::open(path, 3).is_err());
    }
}
