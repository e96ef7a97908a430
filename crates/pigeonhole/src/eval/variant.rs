//! An index as the programs make it, and its results for a corpus: near-duplicates, and documents
//! dropped.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::ensure;
use corpus::Grouped;
use engine::clusters::{Groups, Join, TextsInMemory};
use engine::dedup::{Candidate, Kept, Verdict};
use engine::{Buffers, Engine, Extractor, Options};
use evaluation::Pair;
use features::{Dictionaries, Recipe};
use index::{DocumentId, Features, Nearness, Profile, Sketch, TextKeeping};
use minhash::{FilingScheme, Similarity};
use simhash::ROW_KEY_LEN;

use super::texts::{Texts, for_each_part};

/// A text that makes the extractor load all dictionaries.
const WARM_UP: &str = "今天天氣很好 and no bridge is near";

/// Options of an evaluated index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) profile: Profile,
    pub(super) verify: bool,
    pub(super) texts: TextKeeping,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match (self.verify, self.texts) {
            (true, TextKeeping::Zstd) => self.profile.to_string(),
            (true, TextKeeping::None) => format!("{} --texts none", self.profile),
            (false, _) => format!("{} --verify off", self.profile),
        })
    }
}

/// Options common to all variants.
pub(super) struct Asked {
    pub(super) min_similarity: Similarity,
    pub(super) recipe: Recipe,
    pub(super) dictionaries: Dictionaries,
    /// Bound on the pairs in memory.
    pub(super) pairs_max: usize,
}

/// Two documents called near-duplicates, by their numbers; `a` is the lesser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Called {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) nearness: Nearness,
}

/// Results of an index.
pub(super) struct Found {
    /// Ascending by numbers.
    pub(super) called: Vec<Called>,
    /// Pairs that were compared.
    pub(super) n_compared: u64,
    /// For each of the related pairs: true if the two share a bucket.
    pub(super) is_proposed: Vec<bool>,
    /// For each document, the kept one for which it is dropped.
    pub(super) dropped_for: Vec<Option<usize>>,
    /// Rows of the index, of all documents.
    pub(super) n_rows: usize,
    /// Bytes of row keys and signatures, of all documents.
    pub(super) n_bytes: usize,
    /// Time from texts to features, summed over all threads.
    pub(super) sketching: Duration,
}

impl Variant {
    /// The default index of a profile, with the given storage of texts.
    pub(super) fn verified(profile: Profile, texts: TextKeeping) -> Self {
        Self { profile, verify: true, texts }
    }

    /// `classic --verify off`.
    pub(super) fn unverified() -> Self {
        Self { profile: Profile::Classic, verify: false, texts: TextKeeping::None }
    }

    /// Opens an empty index in memory with these options.
    pub(super) fn open(self, asked: &Asked) -> anyhow::Result<Engine> {
        let options = Options {
            profile: Some(self.profile),
            verify: Some(self.verify),
            min_similarity: self.verify.then_some(asked.min_similarity),
            texts: Some(self.texts),
            recipe: asked.recipe.clone(),
            dictionaries: asked.dictionaries.clone(),
            ..Options::default()
        };
        Ok(Engine::open("memory:", &options)?)
    }

    /// Finds near-duplicates by the rule of the index, and determines which of the `related` pairs
    /// it compares.
    pub(super) fn find(self, texts: &Texts, related: &[Pair], asked: &Asked) -> anyhow::Result<Found> {
        let engine = self.open(asked)?;
        let (all, sketching) = features(engine.extractor(), texts)?;
        let (numbers, features): (Vec<usize>, Vec<Features>) =
            all.into_iter().enumerate().filter_map(|(number, features)| Some((number, features?))).unzip();
        let index = engine.index();
        let sketches: Vec<Sketch> =
            features.iter().map(|features| index.kind().sketch(features.clone())).collect();
        let n_rows = sketches.iter().map(Sketch::n_keys).sum();
        let n_signed: usize =
            sketches.iter().filter_map(Sketch::signature).map(|signature| signature.as_bytes().len()).sum();
        let sketch = |number: usize| Some(&sketches[numbers.binary_search(&number).ok()?]);
        let rule = index.rule();
        let is_proposed =
            |pair: &Pair| sketch(pair.a).zip(sketch(pair.b)).is_some_and(|(a, b)| rule.proposes(a, b));
        let is_proposed = related.iter().map(is_proposed).collect();
        let mut called: Vec<Called> = Vec::new();
        let mut n_called = 0;
        let told = TextsInMemory::of(&features);
        let groups = Groups::counted(&features, &rule, &told)?;
        let compared =
            Join::of(index).of_all_pairs().document_pairs(&groups, &told, &mut |a, b, nearness| {
                n_called += 1;
                if n_called <= asked.pairs_max {
                    called.push(Called { a: numbers[a as usize], b: numbers[b as usize], nearness });
                }
                Ok::<_, index::Error>(())
            })?;
        ensure!(
            n_called <= asked.pairs_max,
            "{self} calls {} pairs near-duplicates, and {} are held; take a smaller --sample, or leave it out",
            Grouped(n_called as u64),
            Grouped(asked.pairs_max as u64)
        );
        called.sort_unstable_by_key(|called| (called.a, called.b));
        Ok(Found {
            called,
            n_compared: compared.n_pairs,
            is_proposed,
            dropped_for: dropped_for(&engine, texts.len(), &numbers, &features)?,
            n_rows,
            n_bytes: n_rows * ROW_KEY_LEN + n_signed,
            sketching,
        })
    }
}

fn features(extractor: &Extractor, texts: &Texts) -> anyhow::Result<(Vec<Option<Features>>, Duration)> {
    let start = || {
        let mut buffers = Buffers::new();
        // Loads the dictionaries in advance, because their time is not that of a text.
        let _ = extractor.features(&mut buffers, WARM_UP);
        buffers
    };
    let sketch = |buffers: &mut Buffers, part: Range<usize>| -> (Vec<_>, _) {
        let start = Instant::now();
        let features = texts.texts[part].iter().map(|text| extractor.features(buffers, text)).collect();
        (features, start.elapsed())
    };
    let (mut all, mut time) = (Vec::with_capacity(texts.len()), Duration::ZERO);
    for_each_part(texts.len(), start, sketch, |(features, of_part)| {
        all.extend(features);
        time += of_part;
        Ok(())
    })?;
    Ok((all, time))
}

/// Runs `dedup` on the corpus in its order. Documents are named by their numbers, because ids may
/// repeat.
fn dropped_for(
    engine: &Engine,
    n_documents: usize,
    numbers: &[usize],
    features: &[Features],
) -> anyhow::Result<Vec<Option<usize>>> {
    let ids: Vec<DocumentId> =
        numbers.iter().map(|number| DocumentId::new(format!("{number:010}"))).collect::<Result<_, _>>()?;
    let candidates: Vec<Candidate<'_>> = ids
        .iter()
        .zip(features)
        .map(|(id, features)| Candidate { id, features: Some(features), source: None })
        .collect();
    let verdicts = Kept::default().decide(engine.index(), &candidates)?;
    let mut dropped_for = vec![None; n_documents];
    for (&number, verdict) in numbers.iter().zip(verdicts) {
        if let Some(Verdict::Duplicate { of, .. }) = verdict {
            dropped_for[number] = Some(of.id.as_str().parse()?);
        }
    }
    Ok(dropped_for)
}

/// The bands of an index whose documents are near from a similarity on.
pub(super) struct Bands(FilingScheme);

impl Bands {
    pub(super) fn of(least: Similarity) -> Self {
        Self(FilingScheme::for_similarity(least))
    }

    /// The probability that the bands propose a pair of long texts.
    pub(super) fn of_long(&self, similarity: Similarity) -> f64 {
        self.0.long().map_or_else(|| of_equal(similarity), |bands| bands.recall(similarity))
    }

    /// The probability that the bands propose a pair of short texts.
    pub(super) fn of_short(&self, similarity: Similarity) -> f64 {
        self.0.short().map_or_else(|| of_equal(similarity), |bands| bands.recall(similarity))
    }
}

/// The probability that a hash of all proposes a pair.
fn of_equal(similarity: Similarity) -> f64 {
    if similarity == Similarity::ONE { 1.0 } else { 0.0 }
}

/// The probability that the bands propose a pair of this similarity.
pub(super) fn promised(bands: &Bands, texts: &Texts, pair: &Pair) -> f64 {
    use features::shingles::SHORT_MAX;

    let similarity = Similarity::clamped(pair.similarity);
    let n_bigrams = [pair.a, pair.b].map(|number| texts.sets[number].bigrams.len());
    let is_of = |kind: fn(usize) -> bool| n_bigrams.into_iter().all(kind);
    if is_of(|n| n <= 1) {
        1.0
    } else if is_of(|n| n <= SHORT_MAX) {
        bands.of_short(similarity)
    } else {
        bands.of_long(similarity)
    }
}
