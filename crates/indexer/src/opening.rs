//! Which index a command works with, and by which recipe: how both are asked for, and how the index is opened.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use engine::{Engine, Extractor, Options};
use program::flags::StoreArgs;
// What the libraries take from a command line is plain data here. Who fills it in is the room of the command line.
use index::{ErrorKind, Index, Metadata, Mode, OpenOptions, Profile, Retention, TextKeeping};
use minhash::Similarity;
pub(crate) use program::flags::BuiltArgs as BuiltOptions;
pub(crate) use program::flags::RecipeArgs as RecipeOptions;
use serde::Serialize;
use simhash::Distance;
use store_hbase::BulkLoad;

use crate::journal::values;
use crate::progress::complain;

/// The index, and what it is made like where there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreOptions {
    pub(crate) store: StoreArgs,
    pub(crate) recipe: RecipeOptions,
}

/// What is asked of an index, and what of it a job with a journal is held to.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Asked {
    store: Option<String>,
    scheme: Option<String>,
    max_distance: Option<u32>,
    profile: Option<&'static str>,
    verify: Option<bool>,
    min_similarity: Option<f64>,
    /// Written down where it was asked for, which journals of before do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<&'static str>,
    /// As `texts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_numbers: Option<bool>,
    /// As `texts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    keyed: Option<bool>,
    /// As `texts`: what tells it from another.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<String>,
    #[serde(serialize_with = "values::shown")]
    retain: Option<Retention>,
    /// With the digests of the dictionaries, which may lie elsewhere the next time.
    #[serde(rename = "the recipe")]
    recipe: BTreeMap<String, String>,
}

/// Opens an index that is there, whatever it is; `insisted` are fields of its recipe that must be so.
pub(crate) fn open_existing(uri: &str, insisted: BTreeMap<String, String>) -> anyhow::Result<Index> {
    let options = OpenOptions { mode: Mode::MustExist, recipe: insisted, ..OpenOptions::default() };
    engine::open_index(uri, &options).with_context(|| format!("failed to open index `{uri}`"))
}

/// The end of the line about a new index: whether others can read in it what its documents say.
pub(crate) fn about_texts(new: &Metadata) -> &'static str {
    match (new.texts, new.min_similarity) {
        (TextKeeping::Zstd, _) => "; it keeps the texts of its documents, --texts none leaves them out",
        (TextKeeping::None, Some(_)) => "; it keeps no texts, so its similarities are estimates",
        (TextKeeping::None, None) => "",
    }
}

/// Refuses an index that is gone when the program ends.
pub(crate) fn check_outlives(uri: &str) -> anyhow::Result<()> {
    ensure!(
        engine::outlives_process(uri),
        "an index in memory: is gone when this program ends; use embedded:PATH"
    );
    Ok(())
}

impl StoreOptions {
    /// Whether nothing that is asked for rules out that texts are counted.
    pub(crate) fn may_count(&self) -> bool {
        let asked = self.store.open_options(Mode::MustExist, BTreeMap::new(), BTreeMap::new());
        asked.verify != Some(false) && asked.texts != Some(TextKeeping::None)
    }

    /// What is asked of the index.
    pub(crate) fn asked(&self) -> anyhow::Result<Asked> {
        let Self { store, recipe } = self;
        let explicit = recipe.explicit_fields(&recipe.dictionaries()?);
        // Each is named, so that none can be added without a thought about journals. How far the clock is believed
        // decides only whether the job goes on, and what a new index gets by default follows from what is asked for.
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
        } = store.open_options(Mode::CreateIfMissing, explicit, BTreeMap::new());
        Ok(Asked {
            store: store.uri().map(str::to_owned),
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
        })
    }

    /// Where the index is, if that was said.
    pub(crate) fn uri(&self) -> Option<&str> {
        self.store.uri()
    }

    /// Opens the index at `uri`, or where the mode allows creates it as the options say, and builds what its
    /// recipe needs. That a new index is made is said unless `is_quiet`: a slip in its name would go unseen, and all
    /// that the index that was meant knows be taken for new.
    pub(crate) fn open_or_make(&self, uri: &str, mode: Mode, is_quiet: bool) -> anyhow::Result<Engine> {
        self.open(uri, mode, is_quiet, |options| options)
    }

    /// The same, for documents that come without their texts: a new index keeps none unless that is asked for.
    pub(crate) fn open_without_texts(&self, uri: &str, mode: Mode, is_quiet: bool) -> anyhow::Result<Engine> {
        self.open(uri, mode, is_quiet, |options| Options { without_texts: true, ..options })
    }

    /// The same, with a folder for the texts of an index in memory.
    pub(crate) fn open_with_spool(
        &self,
        uri: &str,
        mode: Mode,
        is_quiet: bool,
        spool: Option<&Path>,
    ) -> anyhow::Result<Engine> {
        self.open(uri, mode, is_quiet, |options| Options { spool: spool.map(Path::to_owned), ..options })
    }

    fn open(
        &self,
        uri: &str,
        mode: Mode,
        is_quiet: bool,
        with: impl FnOnce(Options) -> Options,
    ) -> anyhow::Result<Engine> {
        let engine = Engine::open(uri, &with(self.store.options(mode, &self.recipe)?))?;
        if engine.was_made() && !is_quiet {
            let texts = about_texts(engine.index().metadata());
            complain(format_args!("there was no index at {uri}: a new one is made{texts}"));
        }
        Ok(engine)
    }

    /// What an index at `uri` says of itself once it is made; none where there is one already.
    pub(crate) fn of_new(&self, uri: &str) -> anyhow::Result<Option<Metadata>> {
        let existing = OpenOptions { mode: Mode::MustExist, ..OpenOptions::default() };
        match engine::open_index(uri, &existing) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let options = self.store.options(Mode::CreateIfMissing, &self.recipe)?;
                Ok(Some(options.open_options().new_metadata()?))
            }
            // The command opens it later, and says then what is wrong.
            _ => Ok(None),
        }
    }

    /// Begins a bulk load into the index at `uri`, or into a new one, and builds what its recipe needs.
    pub(crate) fn load(&self, uri: &str) -> anyhow::Result<(BulkLoad, Extractor)> {
        let options = self.store.options(Mode::CreateIfMissing, &self.recipe)?;
        options.check()?;
        let load = BulkLoad::begin(uri, &options.open_options())
            .with_context(|| format!("failed to open index `{uri}`"))?;
        let extractor = Extractor::of_index(load.metadata(), &options.dictionaries)
            .with_context(|| format!("failed to build the recipe of `{uri}`"))?;
        Ok((load, extractor))
    }
}
