//! Calls of a store that outlives the run: what each does is decided and written down before it is made.
//!
//! A run that dies cannot know whether its last call has been made. The next one makes it again, which changes nothing
//! where it was; but the answer would be another one then: what was new is there already. So nobody goes by the answer.
//!
//! ```text
//! how many calls were decided, 8 bytes, big-endian | CRC-32 of these, 4 bytes, big-endian | a frame for each call
//! ```
//!
//! What was decided about a call may be decided again in part, once others have come between. The
//! frame of that has the next number, as a call has, and says of which call it is.
//!
//! A frame that a dying run has torn is of a call that was not made. One that was cut off later is of a call that was, and
//! must not be decided again; so the head says of how many there was a whole frame before they were made. It is written
//! after the frame is durable and need not be so itself: it is never ahead of the frames.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    /// The number of the next frame of the job.
    next: u64,
    /// The number of the last call.
    last: u64,
    /// Of calls to come, what was decided before the run broke off.
    decided: BTreeMap<u64, Value>,
    /// What was decided again about them, in that order.
    again: HashMap<u64, Vec<Value>>,
    /// What is in the log comes before a checkpoint.
    is_old: bool,
}

#[derive(Serialize, Deserialize)]
struct Call<T> {
    number: u64,
    decided: T,
    /// The call about which it was decided again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<u64>,
}

impl Calls {
    /// A file without calls.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(&head(0))?;
        file.sync_all()?;
        Self::open(path, 0)
    }

    /// Goes on from a checkpoint before call `next`. What was decided since must be there.
    pub(crate) fn open(path: &Path, next: u64) -> io::Result<Self> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let mut bytes = [0; HEAD_BYTES];
        file.read_exact(&mut bytes)?;
        let (mut decided, mut again) = (BTreeMap::new(), HashMap::<_, Vec<_>>::new());
        let mut numbers = BTreeSet::new();
        let log = Log::after_head(file, HEAD_BYTES as u64, |call: Call<Value>| {
            if call.number < next {
                return;
            }
            numbers.insert(call.number);
            match call.again {
                None => _ = decided.insert(call.number, call.decided),
                Some(of) => again.entry(of).or_default().push(call.decided),
            }
        })?;
        let is_whole = n_decided(&bytes)
            .is_some_and(|n_decided| (next..n_decided).all(|number| numbers.contains(&number)));
        if !is_whole {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged"));
        }
        let next = numbers.last().map_or(next, |last| last + 1);
        Ok(Self { log, path: path.to_owned(), next, last: next, decided, again, is_old: false })
    }

    /// What was decided about the next call: before the run broke off, or else now, by `decide`.
    pub(crate) fn decide<T: Serialize + DeserializeOwned>(
        &mut self,
        decide: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        if std::mem::take(&mut self.is_old) {
            self.log.clear().with_context(|| self.failed())?;
        }
        if let Some((number, decided)) = self.decided.pop_first() {
            self.last = number;
            return self.read(decided);
        }
        self.last = self.next;
        let decided = decide()?;
        self.write(&decided, None)?;
        Ok(decided)
    }

    /// What was decided again about the last call before the run broke off, in that order.
    pub(crate) fn again<T: DeserializeOwned>(&mut self) -> anyhow::Result<Vec<T>> {
        let again = self.again.remove(&self.last).unwrap_or_default();
        again.into_iter().map(|decided| self.read(decided)).collect()
    }

    /// Decides again about the last call, after all that was [decided again](Self::again) before
    /// the run broke off.
    pub(crate) fn decide_again<T: Serialize>(
        &mut self,
        decide: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let decided = decide()?;
        self.write(&decided, Some(self.last))?;
        Ok(decided)
    }

    fn write(&mut self, decided: &impl Serialize, again: Option<u64>) -> anyhow::Result<()> {
        let number = self.next;
        self.log.append(&Call { number, decided, again }).with_context(|| self.failed())?;
        self.log.sync().with_context(|| self.failed())?;
        self.next += 1;
        self.log.write_head(&head(self.next)).with_context(|| self.failed())
    }

    fn read<T: DeserializeOwned>(&self, decided: Value) -> anyhow::Result<T> {
        let failed = || format!("{} was written by another version", self.path.display());
        serde_json::from_value(decided).with_context(failed)
    }

    fn failed(&self) -> String {
        format!("failed to write {}", self.path.display())
    }

    /// The number of the next frame, for a checkpoint that is taken before the next call.
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
    fn what_was_decided_again_stays_decided_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("calls");
        let decide = |calls: &mut Calls, now: &str| calls.decide(|| Ok(now.to_owned())).unwrap();
        let decide_again = |calls: &mut Calls, now: &str| calls.decide_again(|| Ok(now.to_owned())).unwrap();
        let again = |calls: &mut Calls| calls.again::<String>().unwrap();
        let mut calls = Calls::create(path).unwrap();
        assert_eq!((decide(&mut calls, "a"), again(&mut calls)), ("a".to_owned(), vec![]));
        decide_again(&mut calls, "a1");
        decide_again(&mut calls, "a2");
        decide(&mut calls, "b");
        // The run dies, and the next one has to decide more about what came before.
        let mut calls = Calls::open(path, 0).unwrap();
        assert_eq!(
            (decide(&mut calls, "x"), again(&mut calls)),
            ("a".to_owned(), vec!["a1".into(), "a2".into()])
        );
        decide_again(&mut calls, "a3");
        assert_eq!((decide(&mut calls, "x"), again(&mut calls)), ("b".to_owned(), vec![]));
        decide_again(&mut calls, "b1");
        decide(&mut calls, "c");
        let whole = fs::read(path).unwrap();
        for place in 0..whole.len() {
            fs::write(path, &whole[..place]).unwrap();
            assert!(Calls::open(path, 0).is_err(), "cut at {place}");
        }
        fs::write(path, whole).unwrap();
        let mut calls = Calls::open(path, 0).unwrap();
        let replayed = ["a", "b", "c"].map(|_| (decide(&mut calls, "x"), again(&mut calls).join(" ")));
        assert_eq!(
            replayed,
            [("a", "a1 a2 a3"), ("b", "b1"), ("c", "")].map(|(of, again)| (of.into(), again.into()))
        );
        let n_calls = calls.checkpoint();
        decide(&mut calls, "d");
        decide_again(&mut calls, "d1");
        let mut calls = Calls::open(path, n_calls).unwrap();
        assert_eq!((decide(&mut calls, "x"), again(&mut calls)), ("d".to_owned(), vec!["d1".into()]));
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
