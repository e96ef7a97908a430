//! The kept documents that share a bucket with a document, in the order of the decisions.
//!
//! A bucket of up to [`PAIRED_MAX`] documents becomes pairs of a later and an earlier document,
//! sorted by the turn of the later one. A larger bucket is a crowd: each of its documents names the
//! crowd, and the crowd's kept documents, with the 64 bits of their facets, are in memory. So the
//! pairs of a crowd are never written, and a crowd takes 16 bytes for each kept document.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use index::{Family, Features, Promise, Rule, Sketch, SketchKind};
use runs::{SortedWords, WordSorter};
use simhash::{BucketKey, Facet, Fingerprint};

use super::scout::{Ground, KeptSoFar, Met, Scout};
use super::turns::{Order, TurnSorter, halves, word};

/// The largest bucket that becomes pairs.
const PAIRED_MAX: usize = 32;

/// The parts of the keys of one flag.
const PARTS_A_FLAG: usize = 4;

/// The parts of the pairs.
const PAIR_PARTS: usize = 64;

/// An odd number: the product with it is another order of all segments, in which each part gets
/// its share although some segments are more frequent.
const SPREAD: u32 = 0x9e37_79b1;

/// The buckets of documents, while these are taken.
pub(super) struct Keys {
    words: WordSorter,
    /// The flags, in the order in which they came first.
    flags: Vec<u8>,
    /// The documents without buckets.
    without: Vec<u32>,
}

/// The proposals for each document.
pub(super) struct Proposals {
    pairs: Pairs,
    /// The turn of a document in the upper half of a word, its crowd in the lower half.
    members: SortedWords,
    /// The flag of each crowd.
    crowd_flags: Vec<u8>,
    /// The kept documents of each crowd that has some, with the bits of their facets.
    crowds: HashMap<u32, Vec<(u32, Fingerprint)>>,
    /// The kept documents that share a small bucket with the open document, and promise something.
    proposed: Vec<Met>,
    /// The crowds of the open document.
    crowds_of_open: Vec<u32>,
    /// The open document's facet in each of its crowds, once its features are known.
    facets_of_open: Vec<(u32, Family, Fingerprint)>,
    kept: Arc<KeptSoFar>,
    /// The documents that share a bucket with another one, or have none.
    met: Bits,
}

/// Documents by their numbers with their promises, and the features of some.
pub(super) type Proposed = (Vec<(u32, Promise)>, Vec<(u32, Features)>);

/// The pairs of documents of small buckets.
enum Pairs {
    /// Sorted: the turn of the later document in the upper half of a word, the earlier document in
    /// the lower half.
    Sorted(Box<SortedWords>),
    Met(Scout),
    /// The thread could not be started.
    Lost,
}

/// A bit for each document.
struct Bits(Vec<u64>);

impl Bits {
    fn new(n_documents: u32) -> Self {
        Self(vec![0; (n_documents as usize).div_ceil(64)])
    }

    fn set(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    fn get(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }
}

impl Keys {
    pub(super) fn new(folder: &Path) -> Self {
        let n_flags = usize::from(u8::MAX) + 1;
        Self {
            words: WordSorter::new(folder, n_flags * PARTS_A_FLAG),
            flags: Vec::new(),
            without: Vec::new(),
        }
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.words.len() * size_of::<u64>() as u64
    }

    pub(super) fn push(&mut self, number: u32, sketch: &Sketch) -> io::Result<()> {
        if sketch.n_keys() == 0 {
            self.without.push(number);
        }
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

    /// Sorts the keys, and pairs the documents of each bucket. Memory is at most `n_bytes_max`
    /// here, and so are the parts of the proposals together.
    pub(super) fn propose(
        self,
        folder: &Path,
        n_documents: u32,
        order: Option<&Order>,
        n_bytes_max: usize,
        progress: &mut dyn FnMut(f64),
    ) -> io::Result<Proposals> {
        let Self { words, flags, without } = self;
        let mut met = Bits::new(n_documents);
        without.into_iter().for_each(|number| met.set(number));
        let by_turns = || TurnSorter::new(folder, n_documents, order, PAIR_PARTS);
        let (mut pairs, mut members) = (by_turns(), by_turns());
        let mut crowd_flags = Vec::new();
        let (n_words, mut n_done) = (words.len(), 0_u64);
        let mut words = words.finish(n_bytes_max);
        let mut join = |crowd: u32, bucket: &mut Vec<u32>| {
            bucket.drain(..).try_for_each(|number| members.push(number, crowd))
        };
        // Those of a bucket that are in no crowd yet.
        let mut bucket: Vec<u32> = Vec::new();
        while let Some(first) = words.next_word()? {
            let (part, (key, number)) = (words.part(), halves(first));
            bucket.clear();
            bucket.push(number);
            let (mut n_bucket, mut crowd) = (1, None);
            while let Some(next) = words.peek()?
                && words.part() == part
                && halves(next).0 == key
            {
                let number = halves(next).1;
                words.next_word()?;
                if n_bucket == 1 {
                    met.set(bucket[0]);
                }
                met.set(number);
                bucket.push(number);
                n_bucket += 1;
                if bucket.len() > PAIRED_MAX {
                    let crowd = match crowd {
                        Some(crowd) => crowd,
                        None => {
                            let number = u32::try_from(crowd_flags.len()).map_err(io::Error::other)?;
                            crowd_flags.push(flags[part / PARTS_A_FLAG]);
                            *crowd.insert(number)
                        }
                    };
                    join(crowd, &mut bucket)?;
                }
            }
            n_done += n_bucket;
            if n_done % (1 << 16) < n_bucket {
                progress(n_done as f64 / n_words as f64);
            }
            if let Some(crowd) = crowd {
                join(crowd, &mut bucket)?;
                continue;
            }
            pairs.push_pairs(&mut bucket)?;
        }
        let (pairs, members) = (pairs.finish(n_bytes_max / 2), members.finish(n_bytes_max / 2));
        let pairs = Pairs::Sorted(Box::new(pairs));
        let kept = Arc::new(KeptSoFar::new(n_documents));
        let crowds = HashMap::new();
        let (proposed, crowds_of_open, facets_of_open) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Proposals {
            pairs,
            members,
            crowd_flags,
            crowds,
            proposed,
            crowds_of_open,
            facets_of_open,
            kept,
            met,
        })
    }
}

impl Proposals {
    /// Goes on to the document of a turn. Turns ascend from call to call. The first call makes the
    /// ground on which a thread looks ahead.
    pub(super) fn open(
        &mut self,
        turn: u32,
        ground: impl FnOnce(Arc<KeptSoFar>) -> Ground,
    ) -> io::Result<()> {
        self.kept.open(turn);
        self.proposed.clear();
        if let Pairs::Sorted(_) = self.pairs
            && let Pairs::Sorted(pairs) = mem::replace(&mut self.pairs, Pairs::Lost)
        {
            self.pairs = Pairs::Met(Scout::start(*pairs, ground(Arc::clone(&self.kept)))?);
        }
        let Pairs::Met(scout) = &mut self.pairs else {
            return Err(io::Error::other("the pairs of this run are lost"));
        };
        while let Some(met) = scout.next_until(turn)? {
            if met.turn == turn && self.kept.is_kept(met.earlier) {
                self.proposed.push(met);
            }
        }
        self.crowds_of_open.clear();
        while let Some(member) = self.members.peek()?
            && halves(member).0 <= turn
        {
            self.members.next_word()?;
            let (of, crowd) = halves(member);
            self.crowds_of_open.extend((of == turn).then_some(crowd));
        }
        self.facets_of_open.clear();
        Ok(())
    }

    /// Returns true if no kept document of a small bucket promises to be near the open one, and it
    /// is in no crowd.
    pub(super) fn has_none(&self) -> bool {
        self.proposed.is_empty() && self.crowds_of_open.is_empty()
    }

    /// The kept documents before the open one that its facets propose, by the rule, each once with
    /// its best promise, and the features of those that share a small bucket, by ascending numbers.
    pub(super) fn of_open(&mut self, sketch: &Sketch, rule: &Rule) -> Proposed {
        let mut proposed: Vec<_> = self.proposed.iter().map(|met| (met.earlier, met.promise)).collect();
        let read = self.proposed.drain(..).map(|met| (met.earlier, met.features)).collect();
        self.find_facets(sketch);
        for &(crowd, family, fingerprint) in &self.facets_of_open {
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
        (proposed, read)
    }

    /// Finds the facet of the open document in each of its crowds.
    fn find_facets(&mut self, sketch: &Sketch) {
        for &crowd in &self.crowds_of_open {
            let flag = self.crowd_flags[crowd as usize];
            let has_flag = |(_, facet): &&(Family, Facet)| facet.keys().iter().any(|key| key.flag == flag);
            let facet = sketch.facets().iter().find(has_flag);
            self.facets_of_open.extend(facet.map(|(family, facet)| (crowd, *family, facet.fingerprint())));
        }
    }

    /// Marks the open document as kept.
    pub(super) fn keep(&mut self, number: u32) {
        self.kept.keep(number);
        for &(crowd, _, fingerprint) in &self.facets_of_open {
            self.crowds.entry(crowd).or_default().push((number, fingerprint));
        }
    }

    pub(super) fn is_kept(&self, number: u32) -> bool {
        self.kept.is_kept(number)
    }

    /// Returns true if a document may be near to another one, kept or not, or equal.
    pub(super) fn meets_another(&self, number: u32) -> bool {
        self.met.get(number)
    }
}

/// The promise of a document that shares a bucket with another one, as [`Rule::promise`] finds it.
pub(super) fn promise(
    sketch: &Sketch,
    of_other: &Features,
    rule: &Rule,
    kind: &SketchKind,
) -> Option<Promise> {
    let mut common = bits_filed(of_other, kind).filter_map(|(family, bits)| {
        let facet = sketch.facet(family)?;
        Some((family, facet.fingerprint().distance(bits)))
    });
    match (common.next(), common.next()) {
        // The bucket is of the only family that both have, and no keys need be made.
        (Some((family, distance)), None) => {
            (distance <= rule.within(family)).then(|| Promise::new(family, distance))
        }
        _ => rule.promise(sketch, &kind.sketch(of_other.clone())),
    }
}

/// The families of the facets of features, with their bits.
fn bits_filed<'a>(
    features: &'a Features,
    kind: &SketchKind,
) -> impl Iterator<Item = (Family, Fingerprint)> + 'a {
    let files_simhashes = kind.families().any(|family| family == Family::Simhash);
    let by_simhash = features.simhash.filter(|_| files_simhashes).map(|simhash| (Family::Simhash, simhash));
    let filing = kind.filing();
    let by_sets = features.signature.as_ref().zip(filing).map(|(signature, filing)| {
        filing.filings(signature).map(|of| (Family::Set(of.kind), Fingerprint(of.suffix))).collect::<Vec<_>>()
    });
    by_simhash.into_iter().chain(by_sets.into_iter().flatten())
}
