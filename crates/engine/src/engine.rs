//! An open index with its recipe: the calls that take texts.

use std::convert::Infallible;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use features::{Dictionaries, RecipeError};
use index::{
    DocumentId, Error, ErrorKind, Features, Index, Insertion, MAX_BATCH, Match, MemoryStore, Mode,
    Neighbours, NewDocument, OpenOptions, Source, Store, TextKeeping,
};
use minhash::Similarity;

use crate::dedup::SpilledStore;
use crate::{Extractor, OpenError, Options, Spool, StoreUri, counter};

/// An open index with the extractor that makes the features of its documents.
pub struct Engine {
    index: Index,
    extractor: Extractor,
    n_threads: usize,
    was_made: bool,
}

/// A text under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// The id of the document.
    pub id: DocumentId,
    /// The content of the document.
    pub text: &'a str,
    /// The origin of the text, if known.
    pub source: Option<Source>,
}

impl<'a> Text<'a> {
    /// Makes a text without a source.
    #[must_use]
    pub fn new(id: DocumentId, text: &'a str) -> Self {
        Self { id, text, source: None }
    }
}

/// The result of writing a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The text is in the index now.
    Inserted,
    /// The id was there with the same features.
    Unchanged,
    /// The id was there with other features; the index now holds the new ones.
    Replaced,
    /// The text was not written: it is near to this document, which was there before.
    Duplicate(Match),
    /// The text was not written: it has no features to compare.
    NoFeatures,
}

impl From<Insertion> for Outcome {
    fn from(insertion: Insertion) -> Self {
        match insertion {
            Insertion::Inserted => Self::Inserted,
            Insertion::Unchanged => Self::Unchanged,
            Insertion::Replaced => Self::Replaced,
            Insertion::Duplicate(of) => Self::Duplicate(of),
        }
    }
}

fn spool_error(folder: &Path, error: io::Error) -> Error {
    let message = format!("failed to make a file for texts in {}; name another folder", folder.display());
    Error::new(ErrorKind::InvalidArgument, message).caused_by(error)
}

impl Engine {
    /// Opens the index at `uri`, or creates it where the options allow, and loads the parts needed
    /// by the recipe.
    ///
    /// # Errors
    /// [`OpenError::Recipe`] for an invalid recipe, before anything is made; [`OpenError::Index`]
    /// for an index unlike the options, or a failure to open or make the index;
    /// [`OpenError::StoredRecipe`] for an index whose recipe needs other dictionaries.
    pub fn open(uri: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_with(uri, options, |store| store)
    }

    /// As [`open`](Self::open), with the store wrapped by `around`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        uri: &str,
        options: &Options,
        around: impl Fn(Box<dyn Store>) -> Box<dyn Store>,
    ) -> Result<Self, OpenError> {
        options.check()?;
        let (open_options, patience) = (options.open_options(), options.patience);
        let open = |mode| {
            let place: StoreUri = uri.parse()?;
            let of_place = place.capabilities().texts;
            let texts_default = if options.without_texts { TextKeeping::None } else { of_place };
            let mut options_of_place = OpenOptions { mode, texts_default, ..open_options.clone() };
            if !place.capabilities().outlives_process {
                options_of_place.profile = options.profile_in_memory();
            }
            // Invalid options are refused before anything is created for them. An existing index
            // may differ from the defaults of a new one.
            if mode == Mode::CreateIfMissing {
                options_of_place.new_metadata()?;
            }
            let clock = options_of_place.clock();
            let store: Box<dyn Store> = match (&options.spilled, &options.spool) {
                (Some(spilled), _) if !place.capabilities().outlives_process => {
                    Box::new(SpilledStore::new(Arc::clone(spilled)))
                }
                (_, Some(folder)) if !place.capabilities().outlives_process => {
                    let failed = |error| spool_error(folder, error);
                    let spool = Spool::create(folder).map_err(failed)?;
                    Box::new(MemoryStore::with_texts_in(Box::new(spool), clock))
                }
                _ => place.open(mode, clock, patience)?,
            };
            Index::over(around(store), &options_of_place)
        };
        let (index, was_made) = match open(Mode::MustExist) {
            Err(error) if error.kind() == ErrorKind::NotFound && options.mode == Mode::CreateIfMissing => {
                (open(options.mode), true)
            }
            opened => (opened, false),
        };
        let index = index.map_err(|source| OpenError::Index { uri: uri.to_owned(), source })?;
        let engine = Self::over(index, &options.dictionaries)
            .map_err(|source| OpenError::StoredRecipe { uri: uri.to_owned(), source })?;
        let n_threads = options.n_threads.map_or(engine.n_threads, NonZeroUsize::get);
        Ok(Self { was_made, n_threads, ..engine })
    }

    /// Makes an engine over an open index.
    ///
    /// # Errors
    /// Where the recipe of the index is no recipe of this version, or needs other dictionaries.
    pub fn over(index: Index, dictionaries: &Dictionaries) -> Result<Self, RecipeError> {
        let counter = counter(index.recipe());
        let index = index.counting(counter);
        let extractor = Extractor::of_index(index.metadata(), dictionaries)?;
        let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Self { index, extractor, n_threads, was_made: false })
    }

    /// Returns true if there was no index and a new one was made. Two engines that open the same
    /// new index at once may both return true.
    #[must_use]
    pub fn was_made(&self) -> bool {
        self.was_made
    }

    /// The open index.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The extractor that makes features for the index.
    #[must_use]
    pub fn extractor(&self) -> &Extractor {
        &self.extractor
    }

    /// The number of threads that make features.
    #[must_use]
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// The same engine, whose index also drops a document if another one contains at least this
    /// share of it.
    ///
    /// # Errors
    /// As [`Index::containing`].
    pub fn containing(self, share: Option<Similarity>) -> index::Result<Self> {
        Ok(Self { index: self.index.containing(share)?, ..self })
    }

    /// The same engine over an index in memory that hides the stored one: writes leave the store
    /// unchanged. See [`Index::overlaid`].
    #[must_use]
    pub fn overlaid(self) -> Self {
        Self { index: self.index.overlaid(), ..self }
    }

    /// The same engine, whose features carry reduced texts: see
    /// [`Extractor::with_reduced_texts`].
    #[must_use]
    pub fn with_reduced_texts(self) -> Self {
        Self { extractor: self.extractor.with_reduced_texts(), ..self }
    }

    /// The features of each text; `None` for a text without features.
    #[must_use]
    pub fn features(&self, texts: &[&str]) -> Vec<Option<Features>> {
        let mut all = Vec::with_capacity(texts.len());
        let extend = |_: &[&str], features| {
            all.extend(features);
            Ok::<_, Infallible>(())
        };
        match self.extractor.extract(texts, self.n_threads, |text| text, extend) {
            Ok(()) => all,
        }
    }

    /// Writes texts in their order, even near-duplicates: see [`Store::insert`].
    ///
    /// # Errors
    /// The errors of the store. Of more than [`MAX_BATCH`] texts the earlier batches are written
    /// then.
    pub fn insert(&self, texts: &[Text<'_>]) -> index::Result<Vec<Outcome>> {
        self.write(texts, |documents| self.index.insert(documents))
    }

    /// Writes each text to which nothing in the index is near, in order; later texts meet earlier
    /// ones: see [`Store::insert_if_new`]. If the index was empty, all texts but the
    /// [`Outcome::Duplicate`] ones are the corpus without its near-duplicates.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_if_new(&self, texts: &[Text<'_>]) -> index::Result<Vec<Outcome>> {
        self.write(texts, |documents| self.index.insert_if_new(documents))
    }

    /// Finds the neighbours of each text by the rule of the index: the nearest `limit`, and the
    /// number of all. `None` for a text without features.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn query(&self, texts: &[&str], limit: usize) -> index::Result<Vec<Option<Neighbours>>> {
        let features = self.features(texts);
        let has_features: Vec<bool> = features.iter().map(Option::is_some).collect();
        let queries: Vec<Features> = features.into_iter().flatten().collect();
        let mut found = Vec::with_capacity(queries.len());
        for queries in queries.chunks(MAX_BATCH) {
            found.extend(self.index.near(queries, &self.index.rule(), limit)?);
        }
        let mut found = found.into_iter();
        Ok(has_features
            .into_iter()
            .map(|has_features| has_features.then(|| found.next()).flatten())
            .collect())
    }

    fn write(
        &self,
        texts: &[Text<'_>],
        write: impl Fn(&[NewDocument]) -> index::Result<Vec<Insertion>>,
    ) -> index::Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(texts.len());
        let (mut documents, mut have_features) = (Vec::new(), Vec::new());
        let mut flush = |documents: &mut Vec<NewDocument>, have_features: &mut Vec<bool>| {
            let mut written = write(documents)?.into_iter();
            outcomes.extend(have_features.drain(..).map(|has_features| {
                has_features.then(|| written.next()).flatten().map_or(Outcome::NoFeatures, Outcome::from)
            }));
            documents.clear();
            Ok::<_, Error>(())
        };
        self.extractor.extract(
            texts,
            self.n_threads,
            |text| text.text,
            |texts, features| {
                if have_features.len() + texts.len() > MAX_BATCH {
                    flush(&mut documents, &mut have_features)?;
                }
                for (Text { id, source, .. }, features) in texts.iter().zip(features) {
                    have_features.push(features.is_some());
                    let document =
                        |features| NewDocument { id: id.clone(), features, source: source.clone() };
                    documents.extend(features.map(document));
                }
                Ok::<_, Error>(())
            },
        )?;
        flush(&mut documents, &mut have_features)?;
        Ok(outcomes)
    }
}
