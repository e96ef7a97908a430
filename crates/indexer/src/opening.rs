//! The index of a command with its recipe: the request for both, and its opening.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use engine::dedup::Spilled;
use engine::{Engine, Extractor, Options};
use features::{Dictionaries, Recipe};
use index::{ErrorKind, Index, Metadata, Mode, OpenOptions, Profile, Retention, TextKeeping};
use minhash::Similarity;
use program::MemoryLimits;
use serde::Serialize;
use simhash::Distance;
use store_hbase::BulkLoad;

use crate::journal::values;
use crate::memory::Watch;
use crate::numbers::megabytes;
use crate::progress::{Console, StepProgress, complain};

/// The request for an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreOptions {
    /// The URL, if one was given.
    pub(crate) uri: Option<String>,
    /// Attributes of the index. The mode is that of each opening.
    pub(crate) options: Options,
}

/// A recipe to follow without an index.
#[derive(Debug)]
pub(crate) struct RecipeOptions {
    pub(crate) recipe: Recipe,
    pub(crate) dictionaries: Dictionaries,
}

/// The part of a request that a job with a journal is held to.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Asked {
    store: Option<String>,
    scheme: Option<String>,
    max_distance: Option<u32>,
    profile: Option<&'static str>,
    verify: Option<bool>,
    min_similarity: Option<f64>,
    /// Written down only if given: older journals lack the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<&'static str>,
    /// As `texts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_numbers: Option<bool>,
    /// As `texts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    keyed: Option<bool>,
    /// As `texts`; the name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<String>,
    #[serde(serialize_with = "values::shown")]
    retain: Option<Retention>,
    /// With the digests of the dictionaries, whose files may have moved at the next run.
    #[serde(rename = "the recipe")]
    recipe: BTreeMap<String, String>,
}

/// Opens an existing index, which must agree with the fields `insisted` of its recipe.
pub(crate) fn open_existing(uri: &str, insisted: BTreeMap<String, String>) -> anyhow::Result<Index> {
    let options = OpenOptions { mode: Mode::MustExist, recipe: insisted, ..OpenOptions::default() };
    engine::open_index(uri, &options).with_context(|| format!("failed to open index `{uri}`"))
}

/// The end of the line about a new index: says if the index keeps texts, which its readers can
/// read.
pub(crate) fn about_texts(new: &Metadata) -> &'static str {
    match (new.texts, new.min_similarity) {
        (TextKeeping::Zstd, _) => "; it keeps the texts of its documents, --texts none leaves them out",
        (TextKeeping::None, Some(_)) => "; it keeps no texts, so its similarities are estimates",
        (TextKeeping::None, None) => "",
    }
}

/// Refuses an index that ends with the program.
pub(crate) fn check_outlives(uri: &str) -> anyhow::Result<()> {
    ensure!(
        engine::outlives_process(uri),
        "an index in memory: is gone when this program ends; use embedded:PATH"
    );
    Ok(())
}

impl StoreOptions {
    /// Returns true if nothing in the request excludes counts over texts.
    pub(crate) fn may_count(&self) -> bool {
        self.options.verify != Some(false) && self.options.texts != Some(TextKeeping::None)
    }

    /// The part of the request for a journal.
    pub(crate) fn asked(&self) -> Asked {
        // Each field is named, so that a new one cannot be forgotten here. The trust in the clock
        // decides only if the job goes on, and the defaults of a new index follow from the request.
        let OpenOptions {
            mode: _,
            scheme,
            max_distance,
            profile,
            verify,
            min_similarity,
            texts,
            texts_default: _,
            same_numbers,
            keyed,
            key,
            retain,
            clock_ahead_max: _,
            recipe,
            recipe_default: _,
        } = self.options.open_options();
        Asked {
            store: self.uri.clone(),
            scheme,
            max_distance: max_distance.map(Distance::as_bits),
            profile: profile.map(Profile::name),
            verify,
            min_similarity: min_similarity.map(Similarity::get),
            texts: texts.map(TextKeeping::name),
            same_numbers,
            keyed,
            key_file: key.map(|key| key.to_string()),
            retain,
            recipe,
        }
    }

    /// The URL of the index, if one was given.
    pub(crate) fn uri(&self) -> Option<&str> {
        self.uri.as_deref()
    }

    /// Opens the index at `uri`, or creates it if the mode allows, and builds the extractor of its
    /// recipe. Reports a new index unless `is_quiet`: a slip in the name would otherwise go unseen,
    /// and all documents of the intended index would count as new.
    pub(crate) fn open_or_make(&self, uri: &str, mode: Mode, is_quiet: bool) -> anyhow::Result<Engine> {
        self.open(uri, mode, is_quiet, |options| options)
    }

    /// The same, for documents without texts: a new index keeps none unless texts are requested.
    pub(crate) fn open_without_texts(&self, uri: &str, mode: Mode, is_quiet: bool) -> anyhow::Result<Engine> {
        self.open(uri, mode, is_quiet, |options| Options { without_texts: true, ..options })
    }

    /// The same, with a folder for the texts of an index in memory, or with all documents in files
    /// where they are spilled.
    pub(crate) fn open_with_files(
        &self,
        uri: &str,
        mode: Mode,
        is_quiet: bool,
        folder: &Path,
        spilled: Option<Arc<Spilled>>,
    ) -> anyhow::Result<Engine> {
        let spool = Some(folder.to_owned());
        self.open(uri, mode, is_quiet, |options| Options { is_for_run: true, spool, spilled, ..options })
    }

    fn at(&self, mode: Mode) -> Options {
        Options { mode, ..self.options.clone() }
    }

    fn open(
        &self,
        uri: &str,
        mode: Mode,
        is_quiet: bool,
        with: impl FnOnce(Options) -> Options,
    ) -> anyhow::Result<Engine> {
        let engine = Engine::open(uri, &with(self.at(mode)))?;
        engine.index().give_memory(MemoryLimits::of_job().n_spare_bytes());
        if engine.was_made() && !is_quiet {
            let texts = about_texts(engine.index().metadata());
            complain(format_args!("there was no index at {uri}: a new one is made{texts}"));
        }
        Ok(engine)
    }

    /// The metadata of the index that would be made at `uri`; `None` if there is one already.
    pub(crate) fn of_new(&self, uri: &str) -> anyhow::Result<Option<Metadata>> {
        let existing = OpenOptions { mode: Mode::MustExist, ..OpenOptions::default() };
        match engine::open_index(uri, &existing) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Some(self.at(Mode::CreateIfMissing).open_options().new_metadata()?))
            }
            // The command opens it later, and reports the error then.
            _ => Ok(None),
        }
    }

    /// Begins a bulk load into the index at `uri`, or into a new one, and builds the extractor of
    /// its recipe.
    pub(crate) fn load(&self, uri: &str) -> anyhow::Result<(BulkLoad, Extractor)> {
        let options = self.at(Mode::CreateIfMissing);
        options.check()?;
        let load = BulkLoad::begin(uri, &options.open_options())
            .with_context(|| format!("failed to open index `{uri}`"))?;
        let extractor = Extractor::of_index(load.metadata(), &options.dictionaries)
            .with_context(|| format!("failed to build the recipe of `{uri}`"))?;
        Ok((load, extractor))
    }
}

/// Divisor of a memory limit: search tables that take more than one part are written to disk.
const PART_OF_TABLES: u64 = 4;

/// Returns true if the index holds search tables in memory.
pub(crate) fn has_tables(index: &Index) -> bool {
    table_bytes(index).is_some()
}

fn table_bytes(index: &Index) -> Option<u64> {
    index.status().ok()?.n_table_bytes
}

/// Writes the image of an index in the middle of a job, where the search tables take much of a
/// memory limit, and frees what they take. A failure is said; the job then goes on as long as
/// memory lasts.
pub(crate) fn make_room(index: Option<&Index>, memory: &mut Watch, console: &Console) {
    let Some(index) = index else { return };
    let Some(n_bytes_max) = memory.asks_for_room() else { return };
    let Some(n_bytes) = table_bytes(index).filter(|&n_bytes| n_bytes > n_bytes_max / PART_OF_TABLES) else {
        return;
    };
    match index.write_image(&mut |_| {}).and_then(|is_written| index.prepare().map(|()| is_written)) {
        Ok(true) => console.print(format_args!(
            "the search tables took {:.0} MB of memory: they are in the image of the index now",
            megabytes(n_bytes)
        )),
        Ok(false) => {}
        Err(error) => {
            console.print(format_args!("the search tables stay in memory: no image was written: {error}"));
        }
    }
    program::give_memory_back();
}

/// Writes the image of an index at the end of a job or round. A failure costs later openings time,
/// and no document.
pub(crate) fn write_image(index: &Index, quiet: bool) {
    let mut progress = StepProgress::new("writing the image of the search tables", quiet);
    let written = index.write_image(&mut |share| progress.show(share));
    drop(progress);
    if let Err(error) = written {
        complain(format_args!(
            "no image of the search tables was written, so the next programs take longer to open the index: {error}"
        ));
    }
}
