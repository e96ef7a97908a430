//! An index of this run's own: insertion of what is new, opening, and queries.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use engine::{Engine, OpenError, Options, Outcome, StoreUri, Text, shown};
use index::{DocumentId, ErrorKind, Mode};
use tempfile::TempDir;

use super::rounds::Measured;
use super::stop::Stopped;
use super::texts::{Named, named};
use super::{Bench, Corpus};
use crate::progress::complain;

/// Documents of an insertion, which is durable when its call returns; and queries of a call.
const BATCH: usize = 1_000;

/// Matches that a query asks for.
const LIMIT: usize = 10;

/// The place of an index that this run makes and removes.
pub(super) struct Place {
    uri: String,
    outlives_process: bool,
    own: Own,
}

/// What is removed with the place.
enum Own {
    /// A folder, when this is dropped.
    Temporary {
        _folder: TempDir,
    },
    Named {
        _folder: Folder,
    },
    /// Nothing: the store ends with the process.
    Nothing,
    /// The documents, by calls to the store.
    Documents,
}

/// A folder that was made here, with all that comes into it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            complain(format_args!("failed to remove {}: {error}", self.0.display()));
        }
    }
}

impl Place {
    /// Makes room for an index at `uri`, or in a new folder below `temp`. Nothing that is there is
    /// written to.
    pub(super) fn new(uri: Option<&str>, temp: &Path) -> anyhow::Result<Self> {
        let Some(uri) = uri else {
            let made = tempfile::Builder::new().prefix("pigeonhole-bench-").tempdir_in(temp);
            let folder = made.with_context(|| format!("failed to make a folder in {}", temp.display()))?;
            let uri = format!("embedded:{}", folder.path().join("index").display());
            return Ok(Self { uri, outlives_process: true, own: Own::Temporary { _folder: folder } });
        };
        let place: StoreUri = uri.parse()?;
        let able = place.capabilities();
        let outlives_process = able.outlives_process;
        let own = match able.local_path {
            Some(path) => Own::Named { _folder: made(path)? },
            None if !outlives_process => Own::Nothing,
            None => {
                let options = Options { mode: Mode::MustExist, ..Options::default() };
                match Engine::open(uri, &options) {
                    Ok(_) => bail!(
                        "there is an index at {}, and `bench` writes into none that is there; name another place",
                        shown(uri)
                    ),
                    Err(OpenError::Index { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error.into()),
                }
                Own::Documents
            }
        };
        Ok(Self { uri: uri.to_owned(), outlives_process, own })
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Removes what was inserted where nothing else does.
    fn clear(&self, ids: &[DocumentId]) -> anyhow::Result<()> {
        if !matches!(self.own, Own::Documents) {
            return Ok(());
        }
        let options = Options { mode: Mode::MustExist, ..Options::default() };
        let engine = match Engine::open(&self.uri, &options) {
            Err(OpenError::Index { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        for ids in ids.chunks(BATCH) {
            engine.index().remove(ids)?;
        }
        complain(format_args!(
            "an empty index stays at {}: remove it by the tools of its server",
            shown(&self.uri)
        ));
        Ok(())
    }
}

/// Makes the folder of an index, where there is nothing yet.
fn made(path: &Path) -> anyhow::Result<Folder> {
    match fs::create_dir(path) {
        Ok(()) => Ok(Folder(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(
            "{} is there, and `bench` writes into nothing that is there; name another place",
            path.display()
        ),
        Err(error) => Err(error).with_context(|| format!("failed to make {}", path.display())),
    }
}

pub(super) fn measure(
    bench: &mut Bench<'_>,
    place: Place,
    corpus: &Corpus,
    all: &mut Vec<Measured>,
) -> anyhow::Result<()> {
    let documents = named(corpus)?;
    let mut inserted = Vec::new();
    let done = measure_there(bench, &place, corpus, &documents, &mut inserted, all);
    // Also after a signal or a failure, whose reason is the one to tell.
    let cleared = place.clear(&inserted);
    match (done, cleared) {
        (Err(stopped), Err(error)) if stopped.is::<Stopped>() => {
            Err(error.context("stopped, and what it made could not be removed"))
        }
        (done, cleared) => done.and(cleared),
    }
}

fn measure_there(
    bench: &mut Bench<'_>,
    place: &Place,
    corpus: &Corpus,
    documents: &[Named<'_>],
    inserted: &mut Vec<DocumentId>,
    all: &mut Vec<Measured>,
) -> anyhow::Result<()> {
    let engine = Engine::open(&place.uri, &bench.options)?;
    ensure!(engine.was_made(), "another program made an index at {} meanwhile", shown(&place.uri));
    all.push(insertion(bench, &engine, corpus, documents, inserted)?);
    let known = corpus.texts[0].as_str();
    let engine = if place.outlives_process {
        // As the batch job does in the end.
        engine.index().write_image(&mut |_| {})?;
        drop(engine);
        all.push(opening(bench, &place.uri, corpus, known)?);
        Engine::open(&place.uri, &bench.options)?
    } else {
        engine
    };
    all.push(queries(bench, &engine, corpus)?);
    Ok(())
}

fn insertion(
    bench: &mut Bench<'_>,
    engine: &Engine,
    corpus: &Corpus,
    documents: &[Named<'_>],
    inserted: &mut Vec<DocumentId>,
) -> anyhow::Result<Measured> {
    let job = "insert what is new";
    let (mut rounds, mut n_duplicates, mut n_without) = (Vec::new(), 0, 0);
    let n = BATCH.min(documents.len());
    let mut n_bytes = 0;
    // A last batch that is smaller would have another rate.
    for batch in documents.chunks_exact(n) {
        bench.rounds.show(job);
        let texts: Vec<Text<'_>> =
            batch.iter().map(|document| Text::new(document.id.clone(), document.text)).collect();
        // What a failing call inserted is removed, too.
        let before = inserted.len();
        inserted.extend(batch.iter().map(|document| document.id.clone()));
        let (round, outcomes) = bench.rounds.one(|| Ok(engine.insert_if_new(&texts)?))?;
        inserted.truncate(before);
        for (document, outcome) in batch.iter().zip(outcomes) {
            match outcome {
                Outcome::Duplicate(_) => n_duplicates += 1,
                Outcome::NoFeatures => n_without += 1,
                _ => inserted.push(document.id.clone()),
            }
        }
        n_bytes += batch.iter().map(|document| document.text.len() as u64).sum::<u64>();
        rounds.push(round);
    }
    let n_inserted = inserted.len() as u64;
    let status = engine.index().status()?;
    ensure!(
        status.n_documents.is_none_or(|n| n == n_inserted),
        "{n_inserted} documents were inserted, and the index counts {:?}",
        status.n_documents
    );
    let mut counts = BTreeMap::from([
        ("inserted", n_inserted),
        ("dropped", n_duplicates),
        ("without_features", n_without),
    ]);
    let sizes =
        [("disk_bytes_a_document", status.n_disk_bytes), ("table_bytes_a_document", status.n_table_bytes)];
    for (name, n_bytes) in sizes {
        counts.extend(n_bytes.map(|n_bytes| (name, n_bytes / n_inserted.max(1))));
    }
    let n_bytes = Some(n_bytes / rounds.len() as u64);
    Ok(Measured {
        job,
        corpus: Some(corpus.name.clone()),
        unit: "documents",
        n: n as u64,
        n_bytes,
        n_threads: bench.n_threads.get(),
        warm: "the index was just made, and grows from round to round; each round is durable",
        rounds,
        counts,
    })
}

fn opening(bench: &mut Bench<'_>, uri: &str, corpus: &Corpus, text: &str) -> anyhow::Result<Measured> {
    let job = "open, one query";
    let options = Options { mode: Mode::MustExist, ..bench.options.clone() };
    let mut n_found = 0;
    let rounds = bench.rounds.repeat(job, |rounds| {
        let (round, (engine, found)) = rounds.one(|| {
            let engine = Engine::open(uri, &options)?;
            let found = engine.query(&[text], LIMIT)?;
            Ok((engine, found))
        })?;
        drop(engine);
        n_found = found.into_iter().flatten().map(|found| found.n_matches).sum();
        Ok(round)
    })?;
    Ok(Measured {
        job,
        corpus: Some(corpus.name.clone()),
        unit: "openings",
        n: 1,
        n_bytes: None,
        n_threads: bench.n_threads.get(),
        warm: "dictionaries loaded; files in the page cache",
        rounds,
        counts: BTreeMap::from([("found", n_found)]),
    })
}

fn queries(bench: &mut Bench<'_>, engine: &Engine, corpus: &Corpus) -> anyhow::Result<Measured> {
    let job = "queries";
    let n = BATCH.min(corpus.texts.len());
    let texts: Vec<&str> = corpus.texts.iter().take(n).map(String::as_str).collect();
    let mut n_found = 0;
    let rounds = bench.rounds.repeat_warm(job, |_| {
        let found = engine.query(&texts, LIMIT)?;
        n_found = found.iter().flatten().filter(|found| found.n_matches > 0).count() as u64;
        Ok(())
    })?;
    Ok(Measured {
        job,
        corpus: Some(corpus.name.clone()),
        unit: "queries",
        n: n as u64,
        n_bytes: Some(texts.iter().map(|text| text.len() as u64).sum()),
        n_threads: bench.n_threads.get(),
        warm: "the index is open; the same queries in each round",
        rounds,
        counts: BTreeMap::from([("with_matches", n_found)]),
    })
}
