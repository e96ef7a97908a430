//! Carries documents of the old index over with features made anew from the texts of the inputs.

use std::sync::Arc;

use anyhow::Context;
use corpus::Origin;
use engine::Extractor;
use features::Dictionaries;
use index::{DocumentId, Features, Index, Metadata, NewDocument, Profile, SketchKind};

use super::{BATCH, Carried, FromInputs, missing, used};
use crate::job::{Job, Sink};
use crate::pipeline::{Fingerprinted, Item, Wanted};
use crate::rejects::Rejects;
use crate::report::{Counts, Indexed};
use crate::shard::Shard;

/// The extractor of the features that the new index needs, by the recipe of the old one.
pub(super) fn extractor(
    dictionaries: &Dictionaries,
    old: &Metadata,
    new: &Metadata,
) -> anyhow::Result<Extractor> {
    let new = Metadata { recipe: old.recipe.clone(), ..new.clone() };
    Extractor::of_index(&new, dictionaries).context("failed to build the recipe of the old index")
}

/// The attributes by which features are made that the new index uses and that tell whether a text
/// is the one of the old index. Where the two have no feature in common, both are made.
pub(super) fn with_compared(new: &Metadata, old: &Metadata) -> anyhow::Result<Metadata> {
    let both = [new, old];
    let is_compared = |has: fn(&Metadata) -> bool| both.iter().all(|index| has(index));
    let files_by_simhash = |index: &Metadata| index.kind.files_by_simhash();
    if is_compared(files_by_simhash) || is_compared(|index| index.min_similarity.is_some()) {
        return Ok(new.clone());
    }
    // One of the two files by simhashes, and the other one has signatures.
    Ok(Metadata {
        kind: SketchKind::default().of_profile(Profile::Full)?,
        min_similarity: new.min_similarity.or(old.min_similarity),
        key: new.key.or(old.key),
        ..new.clone()
    })
}

pub(super) fn run(
    job: Job,
    extractor: &Extractor,
    old: &Index,
    new: &Index,
    shard: Option<Shard>,
) -> anyhow::Result<Carried> {
    let mut sink = Anew { old, new, shard, taken: Vec::new(), n_unknown: 0, carried: Carried::default() };
    let report = job.run(Some(extractor), Wanted::default(), &mut sink)?;
    let Anew { n_unknown, carried, .. } = sink;
    let inputs = FromInputs { n_read: report.n_read, n_unknown, n_rejected: report.n_rejected };
    Ok(Carried { inputs: Some(inputs), time: report.time, ..carried })
}

struct Anew<'a> {
    old: &'a Index,
    new: &'a Index,
    shard: Option<Shard>,
    taken: Vec<Taken>,
    n_unknown: u64,
    carried: Carried,
}

/// A record with its features.
struct Taken {
    id: DocumentId,
    features: Features,
    origin: Arc<Origin>,
    number: u64,
}

impl Anew<'_> {
    fn flush(&mut self, rejects: &mut Rejects) -> anyhow::Result<()> {
        let taken = std::mem::take(&mut self.taken);
        let ids: Vec<_> = taken.iter().map(|taken| taken.id.clone()).collect();
        let mut documents = Vec::with_capacity(taken.len());
        for (Taken { id, features, origin, number }, stored) in taken.into_iter().zip(self.old.get(&ids)?) {
            match stored.map(|stored| stored.document) {
                Some(old) if differ(old.sketch.features(), &features) => {
                    let reason = format!(
                        "the old index has other features under id {:?} than this text gives: it was made of another text",
                        id.as_str()
                    );
                    rejects.reject(&origin, number, &reason)?;
                }
                Some(old) => match used(features, self.new.metadata()) {
                    Some(features) => documents.push(NewDocument { id, features, source: old.source }),
                    None => {
                        self.carried.n_without_features += 1;
                        rejects.not_indexed(&origin, number)?;
                    }
                },
                None => self.n_unknown += 1,
            }
        }
        self.carried.insert(self.new, &documents)
    }
}

/// Returns true if two documents come from different texts, judged by the features that both have:
/// one recipe makes equal features of equal texts.
fn differ(a: &Features, b: &Features) -> bool {
    let simhashes = a.simhash.zip(b.simhash).is_some_and(|(a, b)| a != b);
    let signatures = a.signature.as_ref().zip(b.signature.as_ref()).is_some_and(|(a, b)| a != b);
    simhashes || signatures
}

impl Sink for Anew<'_> {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        let Fingerprinted { id, features, .. } = item.document;
        match features {
            Some(features) => {
                let (origin, number) = (item.origin, item.number);
                self.taken.push(Taken { id, features, origin, number });
            }
            None => {
                self.carried.n_without_features += 1;
                rejects.not_indexed(&item.origin, item.number)?;
            }
        }
        if self.taken.len() < BATCH { Ok(()) } else { self.flush(rejects) }
    }

    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush(rejects)?;
        self.carried.n_missing =
            missing(self.old, self.new, self.shard, rejects, |_, found| found.is_some(), |_| {})?;
        Ok(Counts::Indexed(Indexed::default()))
    }
}
