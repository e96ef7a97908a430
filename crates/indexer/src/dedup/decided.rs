//! Verdicts that wait in files until the second pass writes them.

use std::io;
use std::path::Path;

use engine::dedup::{Original, Verdict};
use index::{DocumentId, Nearness};
use minhash::Similarity;
use runs::{Packing, Records};
use serde::{Deserialize, Serialize};
use simhash::{Distance, Fingerprint};

/// Bytes of recently read verdicts.
const CACHE_BYTES: usize = 4 << 20;

/// Verdicts in the order of their decisions.
pub(super) struct Decided(Records);

/// A verdict in a record. Similarities are by their bits, so that they come back the same.
#[derive(Serialize, Deserialize)]
enum Written {
    /// The id was used by another document.
    Rejected,
    Kept,
    Duplicate {
        fingerprint: u64,
        id: String,
        of_fingerprint: u64,
        in_this_run: bool,
        distance: u32,
        similarity: Option<u64>,
        exact: bool,
        shares: Option<[u64; 2]>,
        numbers_differ: Option<bool>,
    },
}

fn bits(similarity: Similarity) -> u64 {
    similarity.get().to_bits()
}

fn similarity(bits: u64) -> Similarity {
    Similarity::clamped(f64::from_bits(bits))
}

impl From<Option<Verdict>> for Written {
    fn from(verdict: Option<Verdict>) -> Self {
        match verdict {
            None => Self::Rejected,
            Some(Verdict::Kept) => Self::Kept,
            Some(Verdict::Duplicate { fingerprint, of }) => {
                let Nearness { similarity, distance, exact, shares, numbers_differ } = of.nearness;
                Self::Duplicate {
                    fingerprint: fingerprint.0,
                    id: of.id.as_str().to_owned(),
                    of_fingerprint: of.fingerprint.0,
                    in_this_run: of.in_this_run,
                    distance: distance.as_bits(),
                    similarity: similarity.map(bits),
                    exact,
                    shares: shares.map(|shares| shares.map(bits)),
                    numbers_differ,
                }
            }
        }
    }
}

impl TryFrom<Written> for Option<Verdict> {
    type Error = anyhow::Error;

    fn try_from(written: Written) -> anyhow::Result<Self> {
        Ok(match written {
            Written::Rejected => None,
            Written::Kept => Some(Verdict::Kept),
            Written::Duplicate {
                fingerprint,
                id,
                of_fingerprint,
                in_this_run,
                distance,
                similarity: of_both,
                exact,
                shares,
                numbers_differ,
            } => {
                let nearness = Nearness {
                    similarity: of_both.map(similarity),
                    distance: Distance::new(distance)?,
                    exact,
                    shares: shares.map(|shares| shares.map(similarity)),
                    numbers_differ,
                };
                let fingerprint_of = Fingerprint(of_fingerprint);
                let of =
                    Original { id: DocumentId::new(id)?, fingerprint: fingerprint_of, nearness, in_this_run };
                Some(Verdict::Duplicate { fingerprint: Fingerprint(fingerprint), of })
            }
        })
    }
}

impl Decided {
    /// Makes a file without verdicts in a folder.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        Records::create(folder, Packing::Zstandard, CACHE_BYTES).map(Self)
    }

    /// Takes the next verdict; `None` for an id used by another document.
    pub(super) fn push(&mut self, verdict: Option<Verdict>) -> anyhow::Result<()> {
        self.0.push(&[&serde_json::to_vec(&Written::from(verdict))?])?;
        Ok(())
    }

    /// The verdict of a turn.
    pub(super) fn get(&self, turn: u32) -> anyhow::Result<Option<Verdict>> {
        let written = self.0.get(turn, |bytes| serde_json::from_slice::<Written>(bytes))?;
        written.ok_or_else(|| anyhow::anyhow!("a verdict is missing"))??.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_come_back_as_they_were_pushed() {
        let folder = tempfile::tempdir().unwrap();
        let mut decided = Decided::create(folder.path()).unwrap();
        let similarity = Similarity::clamped(0.1 + 0.7);
        let near = |similarity: Option<Similarity>, exact, numbers_differ| Nearness {
            similarity,
            distance: Distance::new(3).unwrap(),
            exact,
            shares: similarity.map(|share| [share, Similarity::ONE]),
            numbers_differ,
        };
        let duplicate = |nearness| {
            let of = Original {
                id: "微博 \"4711\"".parse().unwrap(),
                fingerprint: Fingerprint(u64::MAX),
                nearness,
                in_this_run: true,
            };
            Some(Verdict::Duplicate { fingerprint: Fingerprint(7), of })
        };
        let verdicts = [
            None,
            Some(Verdict::Kept),
            duplicate(near(Some(similarity), true, Some(false))),
            duplicate(near(None, false, None)),
        ];
        verdicts.iter().for_each(|verdict| decided.push(verdict.clone()).unwrap());
        for (turn, verdict) in (0..).zip(&verdicts) {
            assert_eq!(decided.get(turn).unwrap(), *verdict);
        }
        assert!(decided.get(4).is_err());
    }
}
