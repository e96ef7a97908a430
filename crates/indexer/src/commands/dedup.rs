//! `indexer dedup`: keeps a document unless one kept before it is near.
//!
//! The rule is the store's insert-if-new, one record after another, so that a corpus gives the same answer here and
//! when it is posted to a worker. What this module adds is about one run: an id that the run has kept already.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use index::{DocumentId, Index, Insertion};
use serde_json::json;
use simhash::Fingerprint;

use super::groups::Groups;
use super::{Item, Sink, open, run_over};
use crate::cli::DedupArgs;
use crate::output::Output;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

/// Records in one call of the store, by number and by the bytes of their lines: enough to share the cost of making it
/// durable, and a bound on memory.
const STORE_BATCH: usize = 2048;
const STORE_BATCH_BYTES: usize = 32 << 20;

/// Where the kept documents are indexed when nobody names a store.
const DEFAULT_STORE: &str = "memory:";

pub(super) fn run(args: &DedupArgs) -> anyhow::Result<Report> {
    check_paths(args)?;
    let uri = args.store.uri().unwrap_or(DEFAULT_STORE);
    let (index, fingerprinter) = open(uri, &args.store, &args.recipe)?;
    let for_people = args.output.is_none() && args.duplicates.is_none();
    let mut sink = Deduplication {
        index: &index,
        kept: HashMap::new(),
        pending: Vec::new(),
        pending_ids: HashSet::new(),
        n_pending_bytes: 0,
        output: args.output.as_deref().map(Output::create).transpose()?,
        duplicates: args.duplicates.as_deref().map(Output::create).transpose()?,
        groups: for_people.then(|| Groups::new(args.groups)),
        n_kept: 0,
        n_duplicates: 0,
    };
    let report = run_over(&args.input, &fingerprinter, for_people, &mut sink)?;
    if let Some(groups) = &sink.groups {
        write!(io::stdout(), "{groups}\n{report}").context("failed to write to stdout")?;
    } else if [&args.output, &args.duplicates].into_iter().flatten().any(|path| path.as_os_str() == "-") {
        write!(io::stderr(), "{report}").context("failed to write to stderr")?;
    } else {
        write!(io::stdout(), "{report}").context("failed to write to stdout")?;
    }
    Ok(report)
}

/// Refuses to write over an input, which would lose what was dropped from it, and two outputs in one file.
fn check_paths(args: &DedupArgs) -> anyhow::Result<()> {
    let is_file = |path: &&PathBuf| path.as_os_str() != "-";
    // What is not there yet is nobody's input.
    let inputs: Vec<PathBuf> =
        args.input.files.iter().filter(is_file).filter_map(|f| f.canonicalize().ok()).collect();
    let mut outputs: Vec<&PathBuf> = Vec::new();
    for output in [&args.output, &args.duplicates, &args.input.rejects].into_iter().flatten() {
        ensure!(!outputs.contains(&output), "two outputs go to {}; name one file for each", output.display());
        let is_input = is_file(&output) && output.canonicalize().is_ok_and(|path| inputs.contains(&path));
        ensure!(!is_input, "{} is an input; write to another file", output.display());
        outputs.push(output);
    }
    Ok(())
}

struct Deduplication<'a> {
    index: &'a Index,
    /// The ids kept by this run, to tell them from those an earlier run left in the store.
    kept: HashMap<DocumentId, Fingerprint>,
    pending: Vec<Item>,
    pending_ids: HashSet<DocumentId>,
    n_pending_bytes: usize,
    output: Option<Output>,
    duplicates: Option<Output>,
    groups: Option<Groups>,
    n_kept: u64,
    n_duplicates: u64,
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
        for output in [self.output.take(), self.duplicates.take()].into_iter().flatten() {
            output.finish()?;
        }
        Ok(Counts::Deduplicated { n_kept: self.n_kept, n_duplicates: self.n_duplicates })
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
            .filter_map(|item| Some((item.features.id.clone(), item.features.fingerprint?)))
            .collect();
        let mut insertions =
            self.index.insert_if_new(&new).context("failed to write to the index")?.into_iter();
        for item in items {
            let Some(fingerprint) = item.features.fingerprint else {
                // Nothing to compare it by, so nothing to drop it for.
                self.write_line(&item)?;
                continue;
            };
            if let Some(&earlier) = self.kept.get(&item.features.id) {
                if earlier == fingerprint {
                    let id = item.features.id.clone();
                    self.write_duplicate(&item, fingerprint, &Original { id, fingerprint, distance: 0 })?;
                } else {
                    rejects.reject(
                        &item.source,
                        item.line_number,
                        &format!(
                            "id {:?} stands for another text earlier in the input",
                            item.features.id.as_str()
                        ),
                    )?;
                }
                continue;
            }
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
                    self.kept.insert(item.features.id, fingerprint);
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
            groups.add_duplicate(&item.features, &original.id, original.distance);
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
