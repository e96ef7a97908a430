//! Deduplication in the order of ranks instead of the input. A first pass reads and fingerprints
//! all documents; the rule then decides them, the best first; a second pass reads them again and
//! writes the results in the order of the input.
//!
//! Thus every dropped document is near to a kept one of at least the same rank, and no two kept
//! documents are near.

use std::iter::Zip;
use std::sync::Arc;
use std::vec::IntoIter;

use anyhow::{Context, bail, ensure};
use corpus::{Rank, RankBy};
use engine::Engine;
use engine::clusters::{RunTexts, Texts};
use engine::dedup::{Verdict, batch_len};
use index::WriteMark;
use serde_json::Value;

use super::Saved;
use super::decided::Decided;
use super::doubts::Doubts;
use super::pending::STORE_BATCH;
use super::results::{Joins, Results};
use super::rule::Rule;
use super::spilled::SpilledRun;
use crate::job::{Job, Sink, Survey};
use crate::journal::Journal;
use crate::memory::{Watch, batch_bytes};
use crate::output::Lengths;
use crate::pipeline::{Fingerprinted, Item, Wanted};
use crate::progress::Console;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

/// Reads all inputs twice, and decides in between.
pub(crate) fn run(
    mut job: Job,
    wanted: Wanted,
    mut rule: Rule,
    mut results: Results,
    by: &RankBy,
    saved: &Saved,
    spilled: Option<SpilledRun>,
) -> anyhow::Result<(Report, Results)> {
    let (mut decided, mut last_write) = (Documents::none(), None);
    if job.journal().is_none_or(Journal::is_reading) {
        let mut unranked = |n_unranked: u64, n_documents: usize, job: &Job| {
            // A misspelt field would give all documents the same rank. A part of the documents may
            // lack the field by chance.
            let is_chance = n_documents == 0 || job.has_part();
            ensure!(n_unranked < n_documents as u64 || is_chance, "no document has {by}");
            results.counts.n_unranked = Some(n_unranked);
            // The logged decisions belong to this job.
            job.journal().map_or(Ok(()), Journal::begin)
        };
        let (engine, has_journal) = (Arc::clone(&rule.engine), job.journal().is_some());
        decided = match spilled {
            Some(mut run) => {
                // The first pass is done: the ids that come again are known from it.
                unranked(run.n_unranked, run.len(), &job)?;
                let mut verdicts = run.verdicts()?;
                run.decide(run.len(), has_journal, &rule, |verdict| verdicts.push(verdict))?;
                Documents::Spilled(Box::new((run, verdicts)))
            }
            None => {
                let mut survey =
                    Ranking { documents: Vec::new(), memory: Watch::new(), texts: rule.waiting.as_mut() };
                job.survey(engine.extractor(), wanted, &mut survey)?;
                let mut documents = survey.documents;
                let n_unranked = documents.iter().filter(|document| document.rank == Rank::NONE).count();
                unranked(n_unranked as u64, documents.len(), &job)?;
                let verdicts = decide(&mut rule, &mut documents, &mut results.doubts, has_journal)?;
                Documents::in_memory(documents, verdicts)
            }
        };
        last_write = rule.engine.index().mark(true).context("failed to ask the index for its last write")?;
    } else {
        ensure!(saved.n_left == 0, CHANGED);
    }
    results.doubts.say(rule.bounded());
    // The second pass needs neither the waiting texts nor the ids kept by the rule, so their memory
    // is freed.
    rule.waiting = None;
    let wanted = Wanted { texts: wanted.texts || results.reads_texts(), ..wanted };
    let engine = (results.clusters.is_some() || results.findings.is_some()).then_some(rule.engine);
    let mut sink = BestFirst::new(decided, saved.n_taken, results, engine);
    sink.last_write = last_write;
    let report = job.run(None, wanted, &mut sink)?;
    Ok((report, sink.results))
}

/// The documents in memory, and their texts in a file.
struct Ranking<'a> {
    documents: Vec<Fingerprinted>,
    memory: Watch,
    texts: Option<&'a mut RunTexts>,
}

impl Survey for Ranking<'_> {
    fn take(&mut self, mut document: Fingerprinted) -> anyhow::Result<()> {
        let text = document.features.as_mut().and_then(|features| features.text.take());
        self.texts.as_mut().map_or(Ok(()), |texts| texts.push(text.as_ref()))?;
        self.documents.push(document);
        Ok(())
    }

    /// Growing copies all documents, and so takes memory in leaps.
    fn check(&mut self, _: Option<f64>, _: &Console) -> anyhow::Result<()> {
        let n_next = 2 * self.documents.capacity();
        if self.documents.capacity() - self.documents.len() < GROWTH_FORESEEN {
            self.memory.check_step((n_next * size_of::<Fingerprinted>()) as u64)?;
        }
        Ok(())
    }
}

/// Documents before the next leap at which its memory is looked at: those of some batches.
const GROWTH_FORESEEN: usize = 4 << 10;

/// The verdict of each document, in the order of the input; `None` for an id used by another
/// document.
type Verdicts = Vec<Option<Verdict>>;

/// Decides all documents by rank, equal ranks in the order of the input. Only the texts of the
/// current batch are in memory. Fails near the limit of memory, as the first pass does.
fn decide(
    rule: &mut Rule,
    documents: &mut [Fingerprinted],
    doubts: &mut Doubts,
    has_journal: bool,
) -> anyhow::Result<Verdicts> {
    let memory = Watch::new();
    let n_bytes_each = 2 * size_of::<usize>() + size_of::<Option<Verdict>>();
    memory.check_step((documents.len() * n_bytes_each) as u64)?;
    let mut order: Vec<usize> = (0..documents.len()).collect();
    order.sort_by(|&a, &b| documents[a].rank.best_first(&documents[b].rank));
    let mut verdicts: Verdicts = documents.iter().map(|_| None).collect();
    let mut rest = &order[..];
    let n_bytes_max = batch_bytes(has_journal);
    while !rest.is_empty() {
        memory.check_leap(rule.leap_bytes(STORE_BATCH), has_journal)?;
        let mut n_bytes = 0;
        let fits = |&&n: &&usize| {
            n_bytes += documents[n].n_text_bytes;
            n_bytes <= n_bytes_max
        };
        // A batch has at least one document.
        let n_max = rest.iter().take(STORE_BATCH).take_while(fits).count().max(1);
        let n_documents = batch_len(rest.iter().map(|&n| &documents[n].id), n_max);
        let (batch, later) = rest.split_at(n_documents);
        if let Some(texts) = &rule.waiting {
            for &n in batch {
                if let Some(features) = &mut documents[n].features {
                    features.text = texts.text(n as u32)?;
                }
            }
        }
        let decided = rule.decide(batch.iter().map(|&n| &documents[n]), doubts)?;
        for (&n, verdict) in batch.iter().zip(decided) {
            verdicts[n] = verdict;
            if let Some(features) = documents[n].features.as_mut().filter(|_| rule.waiting.is_some()) {
                features.text = None;
            }
        }
        rest = later;
    }
    Ok(verdicts)
}

/// The decided documents, in the order of the input.
enum Documents {
    InMemory(Zip<IntoIter<Fingerprinted>, IntoIter<Option<Verdict>>>),
    Spilled(Box<(SpilledRun, Decided)>),
}

impl Documents {
    fn none() -> Self {
        Self::in_memory(Vec::new(), Vec::new())
    }

    fn in_memory(documents: Vec<Fingerprinted>, verdicts: Verdicts) -> Self {
        Self::InMemory(documents.into_iter().zip(verdicts))
    }

    /// The number of documents left.
    fn n_left(&self) -> usize {
        match self {
            Self::InMemory(rest) => rest.len(),
            Self::Spilled(spilled) => spilled.0.n_left(),
        }
    }

    /// Leaves out the first `n` documents.
    fn skip(&mut self, n: usize) {
        match self {
            Self::InMemory(rest) => rest.by_ref().take(n).for_each(drop),
            Self::Spilled(spilled) => spilled.0.skip(n),
        }
    }

    /// Gives the next document of the second pass the features of the first one. Returns the
    /// verdict.
    fn fill_in(&mut self, item: &mut Item, results: &Results) -> anyhow::Result<(Option<Verdict>, Joins)> {
        match self {
            Self::InMemory(rest) => {
                let now = &item.document;
                let is_same =
                    |then: &Fingerprinted| then.id == now.id && then.n_text_bytes == now.n_text_bytes;
                let Some((document, verdict)) = rest.next().filter(|(then, _)| is_same(then)) else {
                    bail!("{}:{}: {CHANGED}", item.origin.name(), item.number);
                };
                item.document.features = document.features;
                Ok((verdict, Joins::Yes))
            }
            Self::Spilled(spilled) => {
                let (run, verdicts) = &mut **spilled;
                let (turn, joins) = run.take_decided(item, results)?;
                Ok((verdicts.get(turn)?, joins))
            }
        }
    }
}

/// The second pass: writes the decided documents.
struct BestFirst {
    decided: Documents,
    n_taken: usize,
    results: Results,
    engine: Option<Arc<Engine>>,
    /// The last write once all documents were decided.
    last_write: Option<WriteMark>,
}

impl BestFirst {
    /// Continues after the first `n_taken` documents.
    fn new(mut decided: Documents, n_taken: usize, results: Results, engine: Option<Arc<Engine>>) -> Self {
        decided.skip(n_taken);
        Self { decided, n_taken, results, engine, last_write: None }
    }
}

/// The index keeps its new documents, and the next run keeps them again.
pub(super) const CHANGED: &str = "the input has changed since the first pass, so no file was written; run it again when \
    no program writes to the input";

impl Sink for BestFirst {
    fn take(&mut self, mut item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        let (verdict, joins) = self.decided.fill_in(&mut item, &self.results)?;
        self.n_taken += 1;
        if self.results.reads_texts()
            && let Some(features) = &mut item.document.features
        {
            features.text = Some((&*item.document.text).into());
        }
        match verdict {
            Some(verdict) => self.results.add(&item, &verdict, joins),
            None => {
                let id = item.document.id.as_str();
                let reason = format!(
                    "id {id:?} stands for another record of the input, which comes before it by --keep"
                );
                rejects.reject(&item.origin, item.number, &reason)
            }
        }
    }

    fn checkpoint(&mut self, _: &mut Rejects, lengths: &mut Lengths) -> anyhow::Result<Value> {
        self.results.checkpoint(lengths)?;
        let (counts, n_taken, n_left) = (self.results.counts, self.n_taken, self.decided.n_left());
        let is_spilled = matches!(self.decided, Documents::Spilled(..));
        let saved = Saved { counts, n_taken, n_left, is_spilled, ..Saved::default() };
        Ok(serde_json::to_value(saved)?)
    }

    fn check_end(&mut self, _: &mut Rejects) -> anyhow::Result<()> {
        ensure!(self.decided.n_left() == 0, CHANGED);
        Ok(())
    }

    fn last_write(&self) -> index::Result<Option<WriteMark>> {
        Ok(self.last_write)
    }

    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts> {
        self.results.finish(rejects, self.engine.as_ref().map(|engine| engine.index()))
    }
}

#[cfg(test)]
mod tests;
