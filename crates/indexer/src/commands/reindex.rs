//! `indexer reindex`: carries an index over to another store, scheme or profile, with its stored
//! features, or with new features made from its texts.

mod anew;
mod like;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use engine::{Buffers, Extractor, TextPace};
use features::Dictionaries;
use index::{
    Cursor, Document, DocumentId, Features, Index, Insertion, Metadata, NewDocument, OpenOptions,
    StoredDocument, Text, TextKeeping,
};

use crate::job::{Job, JobOptions, refuse_remote};
use crate::numbers::Grouped;
use crate::opening::{about_texts, check_outlives, open_existing, write_image};
use crate::output::{place_of, print_to_stdout};
use crate::progress::{Scanned, complain};
use crate::rejects::Rejects;
use crate::shard::Shard;

/// Documents in one call of either store.
const BATCH: usize = 2048;

/// The most documents in one call where their texts come along.
const TEXTS_BATCH: usize = 256;

/// A repeated command finds the written documents.
const FAILED: &str =
    "failed to write to the new index; what was written stays, and the same command again does the rest";

#[derive(Debug)]
pub(crate) struct ReindexOptions {
    pub(crate) old: String,
    pub(crate) new: String,
    /// Requested attributes of the new index; missing ones are those of the old index.
    pub(crate) asked: OpenOptions,
    /// Expected fields in the recipe of the old index.
    pub(crate) insisted: BTreeMap<String, String>,
    /// The dictionaries of that recipe.
    pub(crate) dictionaries: Dictionaries,
    /// The inputs to read, if there are any.
    pub(crate) job: JobOptions,
}

impl ReindexOptions {
    fn has_inputs(&self) -> bool {
        !self.job.input.files.is_empty() || self.job.input.files_from.is_some()
    }
}

/// Carries the index over. Returns the number of documents of the old index missing in the new one
/// plus the number of rejected records.
pub(super) fn run(options: &ReindexOptions) -> anyhow::Result<u64> {
    let ReindexOptions { old: old_uri, new: new_uri, job, .. } = options;
    job.work.limit_memory();
    [old_uri, new_uri].into_iter().try_for_each(|uri| check_outlives(uri))?;
    refuse_remote(job.rejects.as_deref().into_iter(), Some(new_uri))?;
    job.replacing.check(&job.rejects.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let places = [old_uri, new_uri].map(|uri| engine::local_path(uri).map(|path| place_of(&path)));
    let is_same_place = places[0].is_some() && places[0] == places[1];
    ensure!(old_uri != new_uri && !is_same_place, SAME);
    // Invalid inputs are refused before the new index is made.
    let inputs = options.has_inputs().then(|| Job::new(job, &[], Some(new_uri), None)).transpose()?;
    let old = open_existing(old_uri, options.insisted.clone())?;
    let asked = options.asked.clone();
    let comes_with_texts = keeps_texts(old.metadata()) || inputs.is_some();
    let texts_default = if comes_with_texts { engine::texts_default(new_uri) } else { TextKeeping::None };
    let make = OpenOptions { texts_default, ..like::options(asked.clone(), old.metadata()) };
    let failed = || format!("failed to open index `{new_uri}`");
    let existing = like::existing(new_uri, asked, old.metadata()).with_context(failed)?;
    ensure!(existing.as_ref().is_none_or(|new| new.metadata().identity != old.metadata().identity), SAME);
    let metadata = match &existing {
        Some(new) => like::check_key(new.metadata(), old.metadata()).map(|()| new.metadata().clone()),
        None => like::metadata(&make, old.metadata()),
    };
    let metadata = metadata.with_context(failed)?;
    let lack = lack(old.metadata(), &metadata).filter(|_| inputs.is_none());
    if let Some(lack) = &lack
        && !keeps_texts(old.metadata())
    {
        bail!("{lack}");
    }
    let made = if inputs.is_some() { anew::with_compared(&metadata, old.metadata())? } else { metadata };
    let extractor = (inputs.is_some() || lack.is_some())
        .then(|| anew::extractor(&options.dictionaries, old.metadata(), &made));
    let extractor = extractor.transpose()?;
    let new = match existing {
        Some(new) => new,
        None => {
            let new = engine::open_index(new_uri, &make).with_context(failed)?;
            if !job.work.quiet {
                let texts = about_texts(new.metadata());
                complain(format_args!("there was no index at {new_uri}: a new one is made{texts}"));
            }
            new
        }
    };
    if !job.work.quiet && new.metadata().retain.is_some() {
        complain(format_args!("the new index forgets: what is written to it now has the time of now"));
    }
    let carried = match (inputs, extractor) {
        (Some(job), Some(extractor)) => anew::run(job, &extractor, &old, &new, options.job.shard)?,
        (_, extractor) => copy(&old, &new, extractor.as_ref(), job)?,
    };
    write_image(&new, job.work.quiet);
    print_to_stdout(&carried)?;
    if carried.n_missing > 0 {
        let n = Grouped(carried.n_missing);
        let why = match carried.inputs {
            Some(_) => "the inputs have no text for them",
            None if lack.is_some() => "the old index has no text for them",
            None => "the old index was written to meanwhile: run the same again",
        };
        complain(format_args!("{n} documents of the old index are not in the new one; {why}"));
    }
    Ok(carried.n_missing + carried.inputs.map_or(0, |inputs| inputs.n_rejected))
}

const SAME: &str = "the two are the same index; name another one to carry it over to";

/// The reason why the old index lacks features for the new one, with the way out; `None` if it has
/// all.
fn lack(old: &Metadata, new: &Metadata) -> Option<String> {
    let anew = "name the inputs that it was made of, to make them anew: indexer reindex OLD NEW FILE…";
    if new.min_similarity.is_some() && old.min_similarity.is_none() {
        return Some(format!(
            "the old index has no signatures (it does not verify; format version {}), and the new one needs them; {anew}; or \
             leave it as it is, with --profile classic --verify off",
            old.format_version
        ));
    }
    if new.kind.files_by_simhash() && !old.kind.files_by_simhash() {
        return Some(format!(
            "the old index has no simhashes (its profile is {}), and the new one needs them; {anew}; or take --profile minhash",
            old.kind.profile()
        ));
    }
    None
}

/// The stored features of a document as far as the new index [uses](used) them.
fn features(stored: &StoredDocument, new: &Metadata) -> Option<Features> {
    used(Features { text: None, ..stored.document.sketch.features().clone() }, new)
}

/// The features that the new index uses; `None` if it could not find the document by them.
fn used(features: Features, new: &Metadata) -> Option<Features> {
    let Features { simhash, signature, text } = features;
    let simhash = simhash.filter(|_| new.kind.files_by_simhash());
    let signature = signature.filter(|_| new.min_similarity.is_some());
    let is_found = simhash.is_some() || (signature.is_some() && new.kind.files_by_sets());
    is_found.then_some(Features { simhash, signature, text })
}

fn keeps_texts(metadata: &Metadata) -> bool {
    metadata.texts != TextKeeping::None
}

/// The features for the new index, one for each document of the old one; `None` for a document that
/// the new index could not find.
///
/// With an extractor, features are made anew from the texts, and documents without a text yield
/// `None`.
fn taken(
    documents: &[&StoredDocument],
    old: &Index,
    new: &Metadata,
    extractor: Option<(&Extractor, &mut Buffers)>,
    pace: &TextPace,
) -> anyhow::Result<Vec<Option<Features>>> {
    let mut texts = vec![None; documents.len()];
    if keeps_texts(old.metadata()) && (keeps_texts(new) || extractor.is_some()) {
        let ids: Vec<_> = documents.iter().map(|stored| stored.document.id.clone()).collect();
        texts = old.texts(&ids)?;
        pace.note(texts.iter().flatten());
    }
    let of_stored = |(stored, text): (&&StoredDocument, Option<Text>)| {
        let text = text.filter(|_| keeps_texts(new));
        features(stored, new).map(|features| Features { text, ..features })
    };
    let documents = documents.iter().zip(texts);
    Ok(match extractor {
        None => documents.map(of_stored).collect(),
        Some((extractor, buffers)) => {
            documents.map(|(_, text)| extractor.features(buffers, &text?)).collect()
        }
    })
}

/// Copies the documents of the old index, and then checks that the new one has all. With an
/// extractor, features are made anew from the stored texts.
fn copy(
    old: &Index,
    new: &Index,
    extractor: Option<&Extractor>,
    job: &JobOptions,
) -> anyhow::Result<Carried> {
    let mut buffers = Buffers::new();
    let mut progress = Scanned::new(old, job.work.quiet)?;
    let mut rejects = Rejects::new(job.rejects.as_deref(), progress.console(), None)?;
    let (mut carried, pace) = (Carried::default(), TextPace::default());
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = old.scan(after, BATCH)?;
        let stored = page.documents.iter().filter(|stored| is_in(job.shard, &stored.document.id));
        let mut rest = &*stored.collect::<Vec<_>>();
        while !rest.is_empty() {
            let n_max = if keeps_texts(old.metadata()) { pace.n_texts().min(TEXTS_BATCH) } else { BATCH };
            let (stored, others) = rest.split_at(n_max.min(rest.len()));
            rest = others;
            let with = extractor.map(|extractor| (extractor, &mut buffers));
            let taken = taken(stored, old, new.metadata(), with, &pace)?;
            carried.n_documents += stored.len() as u64;
            carried.n_without_features += taken.iter().filter(|taken| taken.is_none()).count() as u64;
            let documents = stored.iter().zip(taken).filter_map(|(stored, features)| {
                let Document { id, source, .. } = &stored.document;
                Some(NewDocument { id: id.clone(), features: features?, source: source.clone() })
            });
            carried.insert(new, &documents.collect::<Vec<_>>())?;
        }
        progress.show(carried.n_documents);
        next = page.next;
    }
    progress.begin_pass("looking whether all is there: ");
    let is_there = |stored: &StoredDocument, found: Option<&StoredDocument>| {
        if extractor.is_some() {
            return found.is_some();
        }
        let wanted = features(stored, new.metadata());
        wanted.is_none() || found.map(|found| found.document.sketch.features()) == wanted.as_ref()
    };
    carried.n_missing = missing(old, new, job.shard, &mut rejects, is_there, |n| progress.show(n))?;
    rejects.finish()?;
    carried.time = progress.elapsed();
    Ok(carried)
}

fn is_in(shard: Option<Shard>, id: &DocumentId) -> bool {
    shard.is_none_or(|shard| shard.holds(id.as_str()))
}

/// Looks for every document of the old index in the new one. Writes those to the rejects for which
/// `is_there` returns false, and returns their number.
fn missing(
    old: &Index,
    new: &Index,
    shard: Option<Shard>,
    rejects: &mut Rejects,
    is_there: impl Fn(&StoredDocument, Option<&StoredDocument>) -> bool,
    mut show: impl FnMut(u64),
) -> anyhow::Result<u64> {
    let (mut n_read, mut n_missing) = (0, 0);
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = old.scan(after, BATCH)?;
        n_read += page.documents.len() as u64;
        let documents = page.documents.iter().filter(|stored| is_in(shard, &stored.document.id));
        let documents: Vec<&StoredDocument> = documents.collect();
        let ids: Vec<_> = documents.iter().map(|stored| stored.document.id.clone()).collect();
        for (stored, found) in documents.into_iter().zip(new.get(&ids)?) {
            if !is_there(stored, found.as_ref()) {
                n_missing += 1;
                rejects.missing(&stored.document.id)?;
            }
        }
        show(n_read);
        next = page.next;
    }
    Ok(n_missing)
}

/// Counts of the documents.
#[derive(Clone, Debug, Default)]
struct Carried {
    /// Documents read from the old index.
    n_documents: u64,
    n_written: u64,
    n_unchanged: u64,
    n_replaced: u64,
    n_without_features: u64,
    /// `None` if no inputs were read.
    inputs: Option<FromInputs>,
    /// Documents of the old index missing in the new one at the end.
    n_missing: u64,
    time: Duration,
}

/// Counts of the records.
#[derive(Clone, Copy, Debug, Default)]
struct FromInputs {
    n_read: u64,
    /// Records whose ids are not in the old index.
    n_unknown: u64,
    n_rejected: u64,
}

impl Carried {
    fn insert(&mut self, new: &Index, documents: &[NewDocument]) -> anyhow::Result<()> {
        for insertion in new.insert(documents).context(FAILED)? {
            match insertion {
                Insertion::Inserted => self.n_written += 1,
                Insertion::Unchanged => self.n_unchanged += 1,
                Insertion::Replaced => self.n_replaced += 1,
                Insertion::Duplicate(found) => {
                    bail!("the store refused a document as duplicate of {}", found.id)
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, n: u64, remark: &str| {
            let remark = if n > 0 && !remark.is_empty() { format!("  ({remark})") } else { String::new() };
            writeln!(f, "{name:<13} {:>12}{remark}", Grouped(n))
        };
        match self.inputs {
            Some(inputs) => row("read", inputs.n_read, "")?,
            None => row("read", self.n_documents, "")?,
        }
        row("written", self.n_written, "")?;
        row("unchanged", self.n_unchanged, "they were in the new index already")?;
        row("replaced", self.n_replaced, "")?;
        row("no features", self.n_without_features, "the new index could not find them")?;
        if let Some(inputs) = self.inputs {
            row("not in old", inputs.n_unknown, "left out")?;
            row("rejected", inputs.n_rejected, "")?;
        }
        row("missing", self.n_missing, "of the old index, and not in the new one")?;
        writeln!(f, "seconds       {:>12.2}", self.time.as_secs_f64())
    }
}
