//! The documents of the old index with features made anew, of the texts in the inputs.

use anyhow::Context;
use engine::Extractor;
use index::{Features, Index, Metadata, NewDocument};

use super::{BATCH, Carried, FromInputs, missing};
use crate::job::{Job, Sink};
use crate::opening::RecipeOptions;
use crate::pipeline::{Fingerprinted, Item, Wanted};
use crate::rejects::Rejects;
use crate::report::{Counts, Indexed};
use crate::shard::Shard;

/// What makes the features that the new index needs, by the old one's recipe.
pub(super) fn extractor(recipe: &RecipeOptions, old: &Metadata, new: &Metadata) -> anyhow::Result<Extractor> {
    let new = Metadata { recipe: old.recipe.clone(), ..new.clone() };
    Extractor::of_index(&new, &recipe.dictionaries()?).context("failed to build the recipe of the old index")
}

pub(super) fn run(
    job: Job,
    extractor: &Extractor,
    old: &Index,
    new: &Index,
    shard: Option<Shard>,
) -> anyhow::Result<Carried> {
    let mut sink = Anew { old, new, shard, taken: Vec::new(), n_unknown: 0, carried: Carried::default() };
    let report = job.run(extractor, Wanted::default(), &mut sink)?;
    let Anew { n_unknown, carried, .. } = sink;
    let inputs = FromInputs { n_read: report.n_read, n_unknown, n_rejected: report.n_rejected };
    Ok(Carried { inputs: Some(inputs), time: report.time, ..carried })
}

struct Anew<'a> {
    old: &'a Index,
    new: &'a Index,
    shard: Option<Shard>,
    taken: Vec<(index::DocumentId, Features)>,
    n_unknown: u64,
    carried: Carried,
}

impl Anew<'_> {
    fn flush(&mut self) -> anyhow::Result<()> {
        let taken = std::mem::take(&mut self.taken);
        let ids: Vec<_> = taken.iter().map(|(id, _)| id.clone()).collect();
        let mut documents = Vec::with_capacity(taken.len());
        for ((id, features), stored) in taken.into_iter().zip(self.old.get(&ids)?) {
            match stored {
                Some(stored) => {
                    documents.push(NewDocument { id, features, source: stored.document.source });
                }
                None => self.n_unknown += 1,
            }
        }
        self.carried.insert(self.new, &documents)
    }
}

impl Sink for Anew<'_> {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        let Fingerprinted { id, features, .. } = item.document;
        match features {
            Some(features) => self.taken.push((id, features)),
            None => {
                self.carried.n_without_features += 1;
                rejects.not_indexed(&item.origin, item.number)?;
            }
        }
        if self.taken.len() < BATCH { Ok(()) } else { self.flush() }
    }

    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush()?;
        self.carried.n_missing =
            missing(self.old, self.new, self.shard, rejects, |_, found| found.is_some(), |_| {})?;
        Ok(Counts::Indexed(Indexed::default()))
    }
}
