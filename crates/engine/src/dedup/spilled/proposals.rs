//! The kept documents that share a bucket with a document, in the order of the decisions.
//!
//! A bucket of up to [`PAIRED_MAX`] documents becomes pairs of a later and an earlier document,
//! sorted by the turn of the later one. A larger bucket is a crowd: each of its documents names the
//! crowd, and the crowd's kept documents, with the 64 bits of their facets, are in memory. So the
//! pairs of a crowd are never written, and a crowd takes 16 bytes for each kept document.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use index::backend::search::Documents as _;
use index::{Error, Family, Promise, Result, Rule, Sketch, SketchKind};
use runs::{SortedWords, WordSorter};
use simhash::{BucketKey, Facet, Fingerprint};

use super::documents::Documents;

/// The largest bucket that becomes pairs.
const PAIRED_MAX: usize = 32;

/// The parts of the keys of one flag.
const PARTS_A_FLAG: usize = 4;

/// The parts of the pairs.
const PAIR_PARTS: u64 = 64;

/// An odd number: the product with it is another order of all segments, in which each part gets
/// its share although some segments are more frequent.
const SPREAD: u32 = 0x9e37_79b1;

/// The buckets of documents, while these are taken.
pub(super) struct Keys {
    words: WordSorter,
    /// The flags, in the order in which they came first.
    flags: Vec<u8>,
}

/// The proposals for each document.
pub(super) struct Proposals {
    /// The turn of a later document in the upper half of a word, an earlier document in the lower
    /// half.
    pairs: SortedWords,
    /// The turn of a document in the upper half of a word, its crowd in the lower half.
    members: SortedWords,
    /// The flag of each crowd.
    crowd_flags: Vec<u8>,
    /// The kept documents of each crowd that has some, with the bits of their facets.
    crowds: HashMap<u32, Vec<(u32, Fingerprint)>>,
    /// The crowds of the document that is decided, with its facet in each.
    open: Vec<(u32, Family, Fingerprint)>,
    /// A bit for each document.
    kept: Vec<u64>,
}

fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

fn word(upper: u32, lower: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

impl Keys {
    pub(super) fn new(folder: &Path) -> Self {
        let n_flags = usize::from(u8::MAX) + 1;
        Self { words: WordSorter::new(folder, n_flags * PARTS_A_FLAG), flags: Vec::new() }
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.words.len() * size_of::<u64>() as u64
    }

    pub(super) fn push(&mut self, number: u32, sketch: &Sketch) -> io::Result<()> {
        for BucketKey { flag, segment } in sketch.keys() {
            let place = self.flags.iter().position(|known| *known == flag).unwrap_or_else(|| {
                self.flags.push(flag);
                self.flags.len() - 1
            });
            let spread = segment.wrapping_mul(SPREAD);
            let part = place * PARTS_A_FLAG + (spread >> (u32::BITS - PARTS_A_FLAG.ilog2())) as usize;
            self.words.push(part, word(spread, number))?;
        }
        Ok(())
    }

    /// Sorts the keys, and pairs the documents of each bucket. `turns` has the turn of each
    /// document where that is not its number. Memory is at most `n_bytes_max` here, and so are the
    /// parts of the proposals together.
    pub(super) fn propose(
        self,
        folder: &Path,
        n_documents: u32,
        turns: Option<&[u32]>,
        n_bytes_max: usize,
        progress: &mut dyn FnMut(f64),
    ) -> io::Result<Proposals> {
        let Self { words, flags } = self;
        let part_of = |turn: u32| (u64::from(turn) * PAIR_PARTS / u64::from(n_documents)) as usize;
        let turn_of = |number: u32| turns.map_or(number, |turns| turns[number as usize]);
        let mut pairs = WordSorter::new(folder, PAIR_PARTS as usize);
        let mut members = WordSorter::new(folder, PAIR_PARTS as usize);
        let mut crowd_flags = Vec::new();
        let (n_words, mut n_done) = (words.len(), 0_u64);
        let mut words = words.finish(n_bytes_max);
        let mut bucket: Vec<u32> = Vec::new();
        while let Some(first) = words.next_word()? {
            let (part, (key, number)) = (words.part(), halves(first));
            bucket.clear();
            bucket.push(number);
            while let Some(next) = words.peek()?
                && words.part() == part
                && halves(next).0 == key
            {
                bucket.push(halves(next).1);
                words.next_word()?;
            }
            n_done += bucket.len() as u64;
            if n_done % (1 << 16) < bucket.len() as u64 {
                progress(n_done as f64 / n_words as f64);
            }
            if bucket.len() > PAIRED_MAX {
                let crowd = u32::try_from(crowd_flags.len()).map_err(io::Error::other)?;
                crowd_flags.push(flags[part / PARTS_A_FLAG]);
                for turn in bucket.iter().map(|&number| turn_of(number)) {
                    members.push(part_of(turn), word(turn, crowd))?;
                }
                continue;
            }
            if turns.is_some() {
                bucket.sort_unstable_by_key(|&number| turn_of(number));
            }
            for (n, &later) in bucket.iter().enumerate() {
                let turn = turn_of(later);
                bucket[..n].iter().try_for_each(|&earlier| pairs.push(part_of(turn), word(turn, earlier)))?;
            }
        }
        let (pairs, members) = (pairs.finish(n_bytes_max / 2), members.finish(n_bytes_max / 2));
        let kept = vec![0; (n_documents as usize).div_ceil(64)];
        let (crowds, open) = (HashMap::new(), Vec::new());
        Ok(Proposals { pairs, members, crowd_flags, crowds, open, kept })
    }
}

impl Proposals {
    /// The kept documents before `turn` that its facets propose, by the rule, each once with its
    /// best promise. Turns ascend from call to call.
    pub(super) fn of(
        &mut self,
        turn: u32,
        sketch: &Sketch,
        rule: &Rule,
        kind: &SketchKind,
        documents: &Documents,
    ) -> Result<Vec<(u32, Promise)>> {
        let mut proposed = Vec::new();
        let mut last = None;
        while let Some(pair) = self.pairs.peek().map_err(failed)?
            && halves(pair).0 <= turn
        {
            self.pairs.next_word().map_err(failed)?;
            let (later, earlier) = halves(pair);
            if later < turn || !self.is_kept(earlier) || last.replace(earlier) == Some(earlier) {
                continue;
            }
            let features = documents.features(earlier.into())?.into_owned();
            let promise = rule.promise(sketch, &kind.sketch(features));
            proposed.extend(promise.map(|promise| (earlier, promise)));
        }
        self.open_crowds(turn, sketch).map_err(failed)?;
        for &(crowd, family, fingerprint) in &self.open {
            let Some(kept) = self.crowds.get(&crowd) else { continue };
            let within = rule.within(family);
            proposed.extend(kept.iter().filter_map(|&(earlier, of_earlier)| {
                let distance = fingerprint.distance(of_earlier);
                (distance <= within).then(|| (earlier, Promise::new(family, distance)))
            }));
        }
        // Two documents may share several buckets, and a bound counts documents.
        proposed.sort_unstable();
        proposed.dedup_by_key(|(earlier, _)| *earlier);
        Ok(proposed)
    }

    /// Finds the crowds of the document of a turn.
    fn open_crowds(&mut self, turn: u32, sketch: &Sketch) -> io::Result<()> {
        self.open.clear();
        while let Some(member) = self.members.peek()?
            && halves(member).0 <= turn
        {
            self.members.next_word()?;
            let (of, crowd) = halves(member);
            let flag = self.crowd_flags[crowd as usize];
            let has_flag = |(_, facet): &&(Family, Facet)| facet.keys().iter().any(|key| key.flag == flag);
            let facet = sketch.facets().iter().find(has_flag).filter(|_| of == turn);
            self.open.extend(facet.map(|(family, facet)| (crowd, *family, facet.fingerprint())));
        }
        Ok(())
    }

    /// Marks the document of the last call of [`of`](Self::of) as kept.
    pub(super) fn keep(&mut self, number: u32) {
        self.kept[number as usize / 64] |= 1 << (number % 64);
        for &(crowd, _, fingerprint) in &self.open {
            self.crowds.entry(crowd).or_default().push((number, fingerprint));
        }
    }

    fn is_kept(&self, number: u32) -> bool {
        self.kept[number as usize / 64] >> (number % 64) & 1 == 1
    }
}

fn failed(error: io::Error) -> Error {
    Error::corrupt("failed to read the proposals of this run back from their file").caused_by(error)
}
