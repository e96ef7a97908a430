//! `pigeonhole remove`: removes documents by id, by source, or by time of insertion.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, ensure};
use index::{Clock, DocumentId, Index, Retention, Selection, Source, StoredDocument, Timestamp};
use program::settings::TASK;

use crate::progress::{Progress, complain};
use crate::stored::StoredArgs;

/// Missing ids named on stderr.
const NAMED_MAX: u64 = 5;

/// Ids in one call of the store.
const BATCH: usize = 2048;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 done, 1 some of the ids were not there (or not selected), 2 could not run.")]
pub(crate) struct Args {
    #[command(flatten)]
    stored: StoredArgs,
    /// The ids of documents to remove; put -- before one that starts with a dash
    #[arg(value_name = "ID")]
    ids: Vec<DocumentId>,
    /// Also remove the documents whose ids are in this file, one a line; - reads standard input
    #[arg(long, value_name = "FILE", help_heading = TASK)]
    ids_from: Option<PathBuf>,
    /// Only documents of this source, as `indexer --source` or the field of a record named it
    #[arg(long, value_name = "NAME", help_heading = TASK)]
    source: Option<Source>,
    /// Only documents inserted, or last replaced, at this time or later: RFC 3339, or how long ago,
    /// as in 2d or 1h30m
    #[arg(long, value_name = "TIME", help_heading = TASK)]
    inserted_from: Option<When>,
    /// Only documents inserted, or last replaced, before this time
    #[arg(long, value_name = "TIME", help_heading = TASK)]
    inserted_until: Option<When>,
    /// Remove every document; the index itself stays
    #[arg(long, conflicts_with_all = ["ids", "ids_from", "source", "inserted_from", "inserted_until"], help_heading = TASK)]
    all: bool,
    /// Remove nothing, but list what would be removed: time of insertion, source, id, set apart by
    /// tabs
    #[arg(long, short = 'n', help_heading = TASK)]
    dry_run: bool,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,
}

/// A time, absolute or relative to now.
#[derive(Clone, Copy, Debug)]
enum When {
    At(Timestamp),
    Ago(Retention),
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.parse(), text.parse()) {
            (Ok(at), _) => Ok(Self::At(at)),
            (_, Ok(ago)) => Ok(Self::Ago(ago)),
            (Err(error), Err(_)) => Err(format!("{error}, and no duration back from now, as 36h or 1d12h")),
        }
    }
}

impl When {
    fn timestamp(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => Timestamp::saturating(now.as_ms() - ago.as_ms()),
        }
    }
}

/// Removes documents and prints their number. The exit status is 1 if a named document was not
/// there.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<u8> {
    let now = Clock::system().now();
    let selection = Selection {
        source: args.source.clone(),
        inserted_from: args.inserted_from.map(|when| when.timestamp(now)),
        inserted_until: args.inserted_until.map(|when| when.timestamp(now)),
    };
    if let (Some(from), Some(until)) = (selection.inserted_from, selection.inserted_until) {
        ensure!(from < until, "nothing was inserted from {from} on and before {until}; turn them round");
    }
    let names_ids = !args.ids.is_empty() || args.ids_from.is_some();
    ensure!(
        args.all || names_ids || selection != Selection::default(),
        "name what to remove: ids, --ids-from FILE, --source, --inserted-from or --inserted-until; --all removes \
         every document"
    );
    let index = args.stored.open(BTreeMap::new())?;
    let progress = Progress::start(args.quiet);
    if !names_ids {
        return remove_matching(args, &index, &selection, progress, out);
    }
    let mut named = Named {
        args,
        index: &index,
        selection,
        progress,
        batch: Vec::new(),
        taken: HashSet::new(),
        n_removed: 0,
        n_missing: 0,
    };
    for id in &args.ids {
        named.take(id.clone(), out)?;
    }
    if let Some(path) = &args.ids_from {
        let failed = || format!("failed to read {}", path.display());
        for line in open(path).with_context(failed)?.lines() {
            let line = line.with_context(failed)?;
            match DocumentId::new(line.trim_end_matches('\r')) {
                Ok(id) => named.take(id, out)?,
                Err(_) if line.trim_end().is_empty() => {}
                Err(error) => named.miss(format_args!("{line:?}: {error}")),
            }
        }
    }
    named.finish(out)
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path)?)),
    })
}

/// Removes the selected documents in a scan of the whole index.
fn remove_matching(
    args: &Args,
    index: &Index,
    selection: &Selection,
    mut progress: Progress,
    out: &mut dyn Write,
) -> anyhow::Result<u8> {
    let mut written = Ok(());
    let removed = index.remove_matching(selection, args.dry_run, &mut |removed, page| {
        if args.dry_run {
            written = page.iter().try_for_each(|stored| list(stored, out));
        }
        progress.show(format_args!("{} documents looked at, {} removed", removed.n_read, removed.n_removed));
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    written?;
    if args.dry_run {
        writeln!(out, "# {} of {} documents would be removed", removed.n_matching, removed.n_read)?;
    } else {
        writeln!(out, "removed       {}", removed.n_removed)?;
        writeln!(out, "kept          {}", removed.n_read - removed.n_removed)?;
    }
    Ok(0)
}

fn list(stored: &StoredDocument, out: &mut dyn Write) -> io::Result<()> {
    let StoredDocument { document, inserted_at } = stored;
    let source = document.source.as_ref().map_or("-", Source::as_str);
    writeln!(out, "{inserted_at}\t{source}\t{}", document.id)
}

/// Removal of documents named one by one.
struct Named<'a> {
    args: &'a Args,
    index: &'a Index,
    selection: Selection,
    progress: Progress,
    batch: Vec<DocumentId>,
    /// All ids so far: one that comes again is the same document.
    taken: HashSet<DocumentId>,
    n_removed: u64,
    n_missing: u64,
}

impl Named<'_> {
    fn take(&mut self, id: DocumentId, out: &mut dyn Write) -> anyhow::Result<()> {
        if !self.taken.insert(id.clone()) {
            return Ok(());
        }
        self.batch.push(id);
        if self.batch.len() == BATCH { self.flush(out) } else { Ok(()) }
    }

    fn flush(&mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        let ids = std::mem::take(&mut self.batch);
        let were_there: Vec<bool> = if self.args.dry_run {
            let stored = self.index.get(&ids)?;
            let selected =
                stored.iter().map(|stored| stored.as_ref().filter(|stored| self.selection.matches(stored)));
            selected
                .map(|stored| {
                    stored.map(|stored| list(stored, out)).transpose().map(|listed| listed.is_some())
                })
                .collect::<io::Result<_>>()?
        } else {
            self.index.remove_if(&ids, &self.selection).context(
                "failed to remove; what was removed stays so, and the same command again does the rest",
            )?
        };
        for (id, was_there) in ids.iter().zip(were_there) {
            if was_there {
                self.n_removed += 1;
            } else {
                self.miss(format_args!("{id}"));
            }
        }
        let n_read = self.n_removed + self.n_missing;
        self.progress.show(format_args!("{n_read} documents looked at, {} removed", self.n_removed));
        Ok(())
    }

    /// Counts a missing document, and names the first ones.
    fn miss(&mut self, what: std::fmt::Arguments<'_>) {
        self.n_missing += 1;
        let selected = if self.selection == Selection::default() { "" } else { ", or not selected" };
        if self.n_missing <= NAMED_MAX {
            complain(format_args!("not there{selected}: {what}"));
        } else if self.n_missing == NAMED_MAX + 1 {
            complain(format_args!("and more"));
        }
    }

    fn finish(mut self, out: &mut dyn Write) -> anyhow::Result<u8> {
        self.flush(out)?;
        if self.args.dry_run {
            writeln!(out, "# {} documents would be removed", self.n_removed)?;
        } else {
            writeln!(out, "removed       {}", self.n_removed)?;
            writeln!(out, "not there     {}", self.n_missing)?;
        }
        Ok(if self.n_missing == 0 { 0 } else { 1 })
    }
}
