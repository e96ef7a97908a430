//! Calls of a store that outlives the run. The results of a call are decided and logged before the
//! call is made.
//!
//! A dying run cannot know whether its last call was made. The next run repeats the call, which
//! changes nothing if it was made before; but its answer would differ, because new documents are in
//! the store already. Therefore the log decides, not the answer.
//!
//! ```text
//! number of decided calls, 8 bytes, big-endian | its CRC-32, 4 bytes, big-endian | frames
//! ```
//!
//! There is a frame for each call. Decisions of a call may be revised in part, once other programs
//! have written in between. The frame of a revision has the next number, like a call, and names its
//! call.
//!
//! A frame torn by a dying run belongs to a call that was not made. A frame cut off later belongs
//! to a call that was made, and must not be decided again. To tell the two apart, the head counts
//! the frames that were whole before their calls were made. The head is written after its frame is
//! durable, and need not be durable itself: it is never ahead of the frames.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use index::DocumentId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::log::Log;

const HEAD_BYTES: usize = 12;

pub(crate) struct Calls {
    log: Log,
    path: PathBuf,
    /// The number of the job's next frame.
    next: u64,
    /// The number of the last call.
    last: u64,
    /// Decisions of calls to come, made before the run broke off, each with the checksum of the
    /// documents that it is about.
    decided: BTreeMap<u64, (Option<u32>, Value)>,
    /// Revisions of these decisions, in their order.
    again: HashMap<u64, Vec<Value>>,
    /// True if all frames in the log precede a checkpoint.
    is_old: bool,
}

#[derive(Serialize, Deserialize)]
struct Call<T> {
    number: u64,
    decided: T,
    /// The call revised by this frame; `None` for the frame of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<u64>,
    /// A checksum of the documents of the call; `None` in revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    documents: Option<u32>,
}

/// The checksum of the documents of a call: their ids, each with a mark.
pub(crate) fn checksum<'a>(documents: impl Iterator<Item = (&'a DocumentId, bool)>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for (id, mark) in documents {
        hasher.update(id.as_str().as_bytes());
        // No byte of a text.
        hasher.update(&[0xfe | u8::from(mark)]);
    }
    hasher.finalize()
}

/// The message of a journal whose inputs were read otherwise than before.
const OF_OTHERS: &str = "it was written for other documents: the input was read otherwise than before, as \
    where a server was away; put the input back as it was";

impl Calls {
    /// Creates a log without calls.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(&head(0))?;
        file.sync_all()?;
        Self::open(path, 0)
    }

    /// Opens the log at a checkpoint before call `next`. All decisions since must be in the log.
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
                None => _ = decided.insert(call.number, (call.documents, call.decided)),
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

    /// The decision of the next call: the logged one of an interrupted run, or else the result of
    /// `decide`, which is logged. `documents` is the [`checksum`] of the documents of the call.
    ///
    /// # Errors
    /// If the logged decision is about other documents.
    pub(crate) fn decide<T: Serialize + DeserializeOwned>(
        &mut self,
        documents: u32,
        decide: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        if std::mem::take(&mut self.is_old) {
            self.log.clear().with_context(|| self.failed())?;
        }
        if let Some((number, (then, decided))) = self.decided.pop_first() {
            ensure!(then.is_none_or(|then| then == documents), "{}: {OF_OTHERS}", self.path.display());
            self.last = number;
            return self.read(decided);
        }
        self.last = self.next;
        let decided = decide()?;
        self.write(&decided, None, Some(documents))?;
        Ok(decided)
    }

    /// Returns true if a later call was decided before the run broke off: then the last call was
    /// made, and all that was decided about it is logged.
    pub(crate) fn is_past(&self) -> bool {
        !self.decided.is_empty()
    }

    /// The logged revisions of the last call, in their order.
    pub(crate) fn again<T: DeserializeOwned>(&mut self) -> anyhow::Result<Vec<T>> {
        let again = self.again.remove(&self.last).unwrap_or_default();
        again.into_iter().map(|decided| self.read(decided)).collect()
    }

    /// Revises the last call, after all [logged revisions](Self::again).
    pub(crate) fn decide_again<T: Serialize>(
        &mut self,
        decide: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let decided = decide()?;
        self.write(&decided, Some(self.last), None)?;
        Ok(decided)
    }

    fn write(
        &mut self,
        decided: &impl Serialize,
        again: Option<u64>,
        documents: Option<u32>,
    ) -> anyhow::Result<()> {
        let number = self.next;
        self.log.append(&Call { number, decided, again, documents }).with_context(|| self.failed())?;
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

    /// The number of the next frame, for a checkpoint taken before the next call.
    pub(crate) fn checkpoint(&mut self) -> u64 {
        self.is_old = true;
        self.next
    }
}

/// Returns true if a file, possibly incomplete, has any decision.
pub(super) fn have_begun(path: &Path) -> bool {
    let mut bytes = [0; HEAD_BYTES];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.is_ok() && n_decided(&bytes).is_some_and(|n_decided| n_decided > 0)
}

/// The number of decided calls in a head; `None` if the head is invalid.
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
        let decide = |calls: &mut Calls, now: &str| calls.decide(7, || Ok(now.to_owned())).unwrap();
        let mut calls = Calls::create(path).unwrap();
        assert_eq!(decide(&mut calls, "a"), "a");
        assert_eq!(calls.checkpoint(), 1);
        // The run dies before the checkpoint is saved, and resumes at the one before.
        let mut calls = Calls::open(path, 0).unwrap();
        assert_eq!(decide(&mut calls, "never"), "a");
        assert_eq!(calls.checkpoint(), 1);
        // The checkpoint is saved, and the log still has earlier frames.
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
        let decide = |calls: &mut Calls, now: &str| calls.decide(7, || Ok(now.to_owned())).unwrap();
        let decide_again = |calls: &mut Calls, now: &str| calls.decide_again(|| Ok(now.to_owned())).unwrap();
        let again = |calls: &mut Calls| calls.again::<String>().unwrap();
        let mut calls = Calls::create(path).unwrap();
        assert_eq!((decide(&mut calls, "a"), again(&mut calls)), ("a".to_owned(), vec![]));
        decide_again(&mut calls, "a1");
        decide_again(&mut calls, "a2");
        decide(&mut calls, "b");
        // The run dies, and the next one has to revise more of the earlier calls.
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

    /// A decision was taken for that of whatever documents came at its turn.
    #[test]
    fn a_decision_is_of_its_documents() {
        let ids = |ids: &[&str]| ids.iter().map(|id| DocumentId::new(*id).unwrap()).collect::<Vec<_>>();
        let of = |ids: &[DocumentId], mark| checksum(ids.iter().map(|id| (id, mark)));
        let documents = of(&ids(&["a", "b"]), true);
        for other in [&ids(&["a"])[..], &ids(&["ab"]), &ids(&["b", "a"]), &ids(&["a", "b", "c"]), &[]] {
            assert_ne!(of(other, true), documents);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("calls");
        Calls::create(path).unwrap().decide(documents, || Ok(1)).unwrap();
        let replayed = |documents| Calls::open(path, 0).unwrap().decide(documents, || Ok(2));
        assert_eq!(replayed(documents).unwrap(), 1);
        let refused = replayed(of(&ids(&["a", "b"]), false)).unwrap_err().to_string();
        assert!(refused.contains("written for other documents"), "{refused}");
    }

    #[test]
    fn what_was_decided_and_is_not_there_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("calls");
        let mut calls = Calls::create(path).unwrap();
        for n in 0..3 {
            calls.decide(7, || Ok(n)).unwrap();
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
        // Torn by a run that died before its call: a frame not counted by the head.
        let len = whole.len() as u64;
        for torn in [&[0][..], &[0; 100], &[0, 0, 0, 2, 1, 2, 3, 4, b'{', b'}']] {
            fs::write(path, [&whole, torn].concat()).unwrap();
            let mut calls = Calls::open(path, 2).unwrap();
            assert_eq!(fs::metadata(path).unwrap().len(), len);
            assert_eq!([9, 10].map(|now| calls.decide(7, || Ok(now)).unwrap()), [2, 10]);
        }
        // All frames precede the checkpoint, and are not needed any more.
        fs::write(path, &whole[..HEAD_BYTES]).unwrap();
        Calls::open(path, 3).unwrap();
        fs::remove_file(path).unwrap();
        assert!(Calls::open(path, 3).is_err());
    }
}
