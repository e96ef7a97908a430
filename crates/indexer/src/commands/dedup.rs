//! `indexer dedup`: keeps a document unless one kept before it is near.
//!
//! The rule is the store's insert-if-new, one record after another, so that a corpus gives the same answer here and
//! when it is posted to a worker. What this module adds is about one run: an id that the run has kept already.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use index::{DocumentId, Index, Insertion, NewDocument};
use serde_json::json;
use simhash::Fingerprint;

use super::groups::Groups;
use super::open;
use crate::cli::DedupArgs;
use crate::job::{Item, Job, Sink};
use crate::output::{Output, is_stdout, print_to_stdout};
use crate::pipeline::{Features, Wanted};
use crate::progress::print_to_stderr;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

/// Records in one call of the store, by number and by the bytes of their lines: enough to share the cost of making it
/// durable, and a bound on memory.
const STORE_BATCH: usize = 2048;
const STORE_BATCH_BYTES: usize = 32 << 20;

/// Where the kept documents are indexed when nobody names a store.
const DEFAULT_STORE: &str = "memory:";

pub(super) fn run(args: &DedupArgs) -> anyhow::Result<Report> {
    let outputs: Vec<&Path> = args.output.iter().chain(&args.duplicates).map(PathBuf::as_path).collect();
    let job = Job::new(&args.input, Some(&args.source), &outputs, args.store.uri())?;
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let (output, duplicates) = (create(&args.output)?, create(&args.duplicates)?);
    let (index, fingerprinter) = open(args.store.uri().unwrap_or(DEFAULT_STORE), &args.store, &args.recipe)?;
    let for_people = outputs.is_empty();
    let mut sink = Deduplication {
        index: &index,
        kept: HashMap::new(),
        pending: Vec::new(),
        pending_ids: HashSet::new(),
        n_pending_bytes: 0,
        output,
        duplicates,
        groups: for_people.then(|| Groups::new(args.groups)),
        n_kept: 0,
        n_duplicates: 0,
        n_without_features: 0,
    };
    let wanted = Wanted { excerpts: for_people, lines: args.output.is_some() };
    let report = job.run(&fingerprinter, wanted, &mut sink)?;
    match &sink.groups {
        Some(groups) => print_to_stdout(&format_args!("{groups}\n{report}"))?,
        None if outputs.iter().any(|path| is_stdout(path)) => print_to_stderr(&report),
        None => print_to_stdout(&report)?,
    }
    Ok(report)
}

struct Deduplication<'a> {
    index: &'a Index,
    /// The ids kept by this run, to tell them from those an earlier run left in the store.
    kept: HashMap<DocumentId, Option<Fingerprint>>,
    pending: Vec<Item>,
    pending_ids: HashSet<DocumentId>,
    n_pending_bytes: usize,
    output: Option<Output>,
    duplicates: Option<Output>,
    groups: Option<Groups>,
    n_kept: u64,
    n_duplicates: u64,
    n_without_features: u64,
}

/// Of whom a document is a near-duplicate.
struct Original {
    id: DocumentId,
    fingerprint: Fingerprint,
    distance: u32,
}

impl Sink for Deduplication<'_> {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        // Whether an id is used twice is known only once its first use has been decided.
        if self.pending_ids.contains(&item.features.id) {
            self.flush(rejects)?;
        }
        self.pending_ids.insert(item.features.id.clone());
        self.n_pending_bytes += item.line.len();
        self.pending.push(item);
        if self.pending.len() >= STORE_BATCH || self.n_pending_bytes >= STORE_BATCH_BYTES {
            self.flush(rejects)?;
        }
        Ok(())
    }

    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush(rejects)?;
        // What is kept comes last: where it is, the rest is.
        for output in [self.duplicates.take(), self.output.take()].into_iter().flatten() {
            output.finish()?;
        }
        Ok(Counts::Deduplicated {
            n_kept: self.n_kept,
            n_duplicates: self.n_duplicates,
            n_without_features: self.n_without_features,
        })
    }
}

impl Deduplication<'_> {
    /// Decides what is pending and writes it out in the order of the input.
    fn flush(&mut self, rejects: &mut Rejects) -> anyhow::Result<()> {
        let items = std::mem::take(&mut self.pending);
        self.pending_ids.clear();
        self.n_pending_bytes = 0;
        let new: Vec<_> = items
            .iter()
            .filter(|item| !self.kept.contains_key(&item.features.id))
            .filter_map(|item| {
                let Features { id, fingerprint, source, .. } = &item.features;
                Some(NewDocument { id: id.clone(), fingerprint: (*fingerprint)?, source: source.clone() })
            })
            .collect();
        let mut insertions =
            self.index.insert_if_new(&new).context("failed to write to the index")?.into_iter();
        for item in items {
            let Features { id, fingerprint, .. } = &item.features;
            if let Some(earlier) = self.kept.get(id) {
                match *fingerprint {
                    Some(fingerprint) if *earlier == Some(fingerprint) => {
                        let original = Original { id: id.clone(), fingerprint, distance: 0 };
                        self.write_duplicate(&item, fingerprint, &original)?;
                    }
                    _ => {
                        let reason =
                            format!("id {:?} stands for an earlier record of the input", id.as_str());
                        rejects.reject(&item.origin, item.number, &reason)?;
                    }
                }
                continue;
            }
            let Some(fingerprint) = *fingerprint else {
                // Nothing to compare it by, so nothing to drop it for.
                self.n_without_features += 1;
                self.write_line(&item)?;
                self.kept.insert(item.features.id, None);
                continue;
            };
            match insertions.next().context("the store answered for fewer documents than it was given")? {
                Insertion::Duplicate(found) => {
                    let original =
                        Original { id: found.id, fingerprint: found.fingerprint, distance: found.distance };
                    self.write_duplicate(&item, fingerprint, &original)?;
                }
                Insertion::Inserted | Insertion::Unchanged | Insertion::Replaced => {
                    self.n_kept += 1;
                    self.write_line(&item)?;
                    if let Some(groups) = &mut self.groups {
                        groups.add_kept(&item.features);
                    }
                    self.kept.insert(item.features.id, Some(fingerprint));
                }
            }
        }
        Ok(())
    }

    fn write_line(&mut self, item: &Item) -> anyhow::Result<()> {
        if let Some(output) = &mut self.output {
            output
                .write_all(&item.line)
                .and_then(|()| output.write_all(b"\n"))
                .map_err(|error| output.failed(error))?;
        }
        Ok(())
    }

    fn write_duplicate(
        &mut self,
        item: &Item,
        fingerprint: Fingerprint,
        original: &Original,
    ) -> anyhow::Result<()> {
        self.n_duplicates += 1;
        if let Some(groups) = &mut self.groups {
            groups.add_duplicate(
                &item.features,
                &original.id,
                original.distance,
                self.kept.contains_key(&original.id),
            );
        }
        if let Some(output) = &mut self.duplicates {
            let line = json!({
                "id": item.features.id.as_str(),
                "duplicate_of": original.id.as_str(),
                "fingerprint": fingerprint.to_string(),
                "duplicate_of_fingerprint": original.fingerprint.to_string(),
                "distance": original.distance,
            });
            writeln!(output, "{line}").map_err(|error| output.failed(error))?;
        }
        Ok(())
    }
}
