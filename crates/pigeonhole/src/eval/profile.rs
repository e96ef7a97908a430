//! What each profile proposes, and what of it it calls near-duplicates.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;

use anyhow::ensure;
use clap::ValueEnum;
use evaluation::Pair;
use features::shingles::SHORT_MAX;
use minhash::{BandKey, BandScheme, Comparison, Filing, Signature, Similarity};
use simhash::{Distance, Fingerprint, ROW_KEY_LEN, TableScheme};
use tables::{Groups, self_join};

use super::texts::Texts;

/// More pairs than this are not held in memory.
const PAIRS_MAX: usize = 50_000_000;

/// Of the estimates of a true similarity, so many standard deviations below it lies less than one in 4,000.
const DEVIATIONS: f64 = 3.5;

/// A way to find near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Profile {
    /// Simhash alone, as the programs find them today
    ClassicUnverified,
    /// What simhash proposes, confirmed by signatures
    Classic,
    /// What bands of MinHashes propose, confirmed by signatures; no index stores them yet
    Minhash,
    /// What either proposes, confirmed by signatures
    Full,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ClassicUnverified => "classic-unverified",
            Self::Classic => "classic",
            Self::Minhash => "minhash",
            Self::Full => "full",
        })
    }
}

/// Two documents that a profile calls near-duplicates, by their numbers; `a` is the lesser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Called {
    pub(super) a: usize,
    pub(super) b: usize,
    /// By their signatures; where those decide.
    similarity: Option<Similarity>,
    /// Of the simhashes.
    distance: Option<Distance>,
}

/// What a profile found.
pub(super) struct Found {
    /// Ascending by numbers.
    pub(super) called: Vec<Called>,
    /// Pairs that were compared.
    pub(super) n_proposed: usize,
    /// Whether each of the pairs that were asked about was compared.
    pub(super) is_proposed: Vec<bool>,
    /// Rows of the index, of all documents.
    pub(super) n_rows: usize,
    /// Bytes of row keys and signatures, of all documents.
    pub(super) n_bytes: usize,
}

impl Profile {
    pub(super) const ALL: [Self; 4] = [Self::ClassicUnverified, Self::Classic, Self::Minhash, Self::Full];

    /// What it finds; of `related` pairs it also says which of them it compared.
    pub(super) fn find(
        self,
        texts: &Texts,
        related: &[Pair],
        min_similarity: Similarity,
    ) -> anyhow::Result<Found> {
        let scheme = TableScheme::default();
        let mut proposed: HashSet<(usize, usize)> = HashSet::new();
        let (mut n_rows, mut n_bytes) = (0, 0);
        if self != Self::Minhash {
            by_simhash(texts, &scheme, &mut proposed)?;
            n_rows += texts.fingerprints.iter().flatten().count() * scheme.tables().len();
        }
        if matches!(self, Self::Minhash | Self::Full) {
            by_bands(texts, &mut proposed)?;
            n_rows += texts.rows.iter().flatten().map(|filing| filing.keys.len()).sum::<usize>();
        }
        if self != Self::ClassicUnverified {
            n_bytes +=
                texts.signatures.iter().flatten().map(|signature| signature.as_bytes().len()).sum::<usize>();
        }
        let judge = |&(a, b): &(usize, usize)| {
            let fingerprints = texts.fingerprints[a].zip(texts.fingerprints[b]);
            let distance = fingerprints.map(|(a, b)| a.distance(b));
            let similarity = match self {
                Self::ClassicUnverified => None,
                _ => Some(confirmed(
                    texts.signatures[a].as_ref()?,
                    texts.signatures[b].as_ref()?,
                    min_similarity,
                )?),
            };
            Some(Called { a, b, similarity, distance })
        };
        let mut called: Vec<Called> = proposed.iter().filter_map(judge).collect();
        called.sort_unstable_by_key(|called| (called.a, called.b));
        n_bytes += n_rows * ROW_KEY_LEN;
        let is_proposed = related.iter().map(|pair| proposed.contains(&(pair.a, pair.b))).collect();
        Ok(Found { called, n_proposed: proposed.len(), is_proposed, n_rows, n_bytes })
    }
}

/// The similarity of two documents by their signatures, if it is enough. An estimate is enough from some deviations below on,
/// so that hardly any pair is missed by chance.
fn confirmed(a: &Signature, b: &Signature, min_similarity: Similarity) -> Option<Similarity> {
    let comparison = Signature::compare(a, b);
    let margin = if comparison.is_exact() { 0.0 } else { DEVIATIONS * Comparison::deviation(min_similarity) };
    (comparison.similarity.get() >= min_similarity.get() - margin).then_some(comparison.similarity)
}

fn by_simhash(
    texts: &Texts,
    scheme: &TableScheme,
    proposed: &mut HashSet<(usize, usize)>,
) -> anyhow::Result<()> {
    let numbers: Vec<usize> =
        (0..texts.len()).filter(|&number| texts.fingerprints[number].is_some()).collect();
    let fingerprints: Vec<Fingerprint> = texts.fingerprints.iter().flatten().copied().collect();
    let groups = Groups::new(&fingerprints);
    let number = |member: u32| numbers[member as usize];
    let mut n_pairs = (0..groups.len()).map(|group| groups.members(group).len().pow(2) / 2).sum::<usize>();
    let mut near = Vec::new();
    if n_pairs <= PAIRS_MAX {
        self_join(&groups, scheme, &mut |pair| {
            n_pairs += groups.members(pair.first).len() * groups.members(pair.second).len();
            if n_pairs <= PAIRS_MAX {
                near.push(pair);
            }
        });
    }
    check(n_pairs)?;
    for group in 0..groups.len() {
        let members = groups.members(group);
        for (at, &a) in members.iter().enumerate() {
            proposed.extend(members[at + 1..].iter().map(|&b| ordered(number(a), number(b))));
        }
    }
    for pair in near {
        for &a in groups.members(pair.first) {
            proposed.extend(groups.members(pair.second).iter().map(|&b| ordered(number(a), number(b))));
        }
    }
    Ok(())
}

fn by_bands(texts: &Texts, proposed: &mut HashSet<(usize, usize)>) -> anyhow::Result<()> {
    let mut buckets: HashMap<BandKey, Vec<(usize, &Filing)>> = HashMap::new();
    for (number, rows) in texts.rows.iter().enumerate() {
        for filing in rows {
            let max = filing.kind.suffix_distance_max();
            for &key in &filing.keys {
                let bucket = buckets.entry(key).or_default();
                let near =
                    bucket.iter().filter(|(_, other)| (filing.suffix ^ other.suffix).count_ones() <= max);
                proposed.extend(near.map(|&(other, _)| (other, number)));
                bucket.push((number, filing));
            }
        }
        check(proposed.len())?;
    }
    Ok(())
}

fn check(n_pairs: usize) -> anyhow::Result<()> {
    ensure!(
        n_pairs <= PAIRS_MAX,
        "there are more than {PAIRS_MAX} pairs to compare: the corpus has very many copies of one text; take a sample of it"
    );
    Ok(())
}

/// With what probability the bands propose a pair of this similarity.
pub(super) fn promised(texts: &Texts, pair: &Pair) -> f64 {
    let similarity = Similarity::clamped(pair.similarity);
    let n_bigrams = [pair.a, pair.b].map(|number| texts.sets[number].bigrams.len());
    let is_of = |kind: fn(usize) -> bool| n_bigrams.into_iter().all(kind);
    if is_of(|n| n <= 1) {
        1.0
    } else if is_of(|n| n <= SHORT_MAX) {
        BandScheme::short().recall(similarity)
    } else {
        BandScheme::long().recall(similarity)
    }
}

fn ordered(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

impl Found {
    /// What `dedup` does with the corpus in its order: for each document the kept one that it is dropped for, the most similar,
    /// then nearest, then least by id.
    pub(super) fn dropped_for(&self, texts: &Texts) -> Vec<Option<usize>> {
        let mut near: HashMap<usize, Vec<&Called>> = HashMap::new();
        for called in &self.called {
            near.entry(called.b).or_default().push(called);
        }
        let mut dropped_for: Vec<Option<usize>> = Vec::with_capacity(texts.len());
        for number in 0..texts.len() {
            let kept =
                near.get(&number).into_iter().flatten().filter(|called| dropped_for[called.a].is_none());
            let nearest =
                kept.min_by_key(|called| (Reverse(called.similarity), called.distance, &texts.ids[called.a]));
            dropped_for.push(nearest.map(|called| called.a));
        }
        dropped_for
    }
}
