//! An index with its recipe: what is done with texts.

use std::io;
use std::path::Path;

use features::{Dictionaries, RecipeError};
use index::{
    DocumentId, Error, ErrorKind, Features, Index, Insertion, MAX_BATCH, Match, MemoryStore, Mode,
    Neighbours, NewDocument, OpenOptions, Source, Store, TextKeeping,
};

use crate::{Buffers, Extractor, OpenError, Options, Spool, StoreUri, counter};

/// An open index, and what makes the features of its documents.
pub struct Engine {
    index: Index,
    extractor: Extractor,
    was_made: bool,
}

/// A text under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Its name.
    pub id: DocumentId,
    /// What it says.
    pub text: &'a str,
    /// Where it came from, if that is known.
    pub source: Option<Source>,
}

impl<'a> Text<'a> {
    /// A text of no known source.
    #[must_use]
    pub fn new(id: DocumentId, text: &'a str) -> Self {
        Self { id, text, source: None }
    }
}

/// What became of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the index now.
    Inserted,
    /// The id was there with the same features.
    Unchanged,
    /// The id was there with other features, and has these now.
    Replaced,
    /// This one is near to it and was there before; the text was not taken in.
    Duplicate(Match),
    /// There is nothing in it to compare it by, so it is not in the index.
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
    /// Opens the index at `uri`, or creates it where the options allow, and builds what its recipe needs.
    ///
    /// # Errors
    /// [`OpenError::Recipe`] for a recipe that cannot be followed, before anything is made; [`OpenError::Index`] for an
    /// index that differs from what the options insist on, or cannot be opened or made; [`OpenError::StoredRecipe`] for
    /// one whose recipe needs other dictionaries.
    pub fn open(uri: &str, options: &Options) -> Result<Self, OpenError> {
        Self::open_with(uri, options, |store| store)
    }

    /// As [`open`](Self::open), with something around the store.
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
            let options_of_place = OpenOptions { mode, texts_default, ..open_options.clone() };
            // Options that cannot be are refused before anything is created for them. An index that is there may be
            // what a new one would not be by default.
            if mode == Mode::CreateIfMissing {
                options_of_place.new_metadata()?;
            }
            let clock = options_of_place.clock();
            let store: Box<dyn Store> = match &options.spool {
                Some(folder) if !place.capabilities().outlives_process => {
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
        Ok(Self { was_made, ..engine })
    }

    /// The engine over an index that is open already.
    ///
    /// # Errors
    /// Where the recipe of the index is no recipe of this version, or needs other dictionaries.
    pub fn over(index: Index, dictionaries: &Dictionaries) -> Result<Self, RecipeError> {
        let counter = counter(index.recipe());
        let index = index.counting(counter);
        let extractor = Extractor::of_index(index.metadata(), dictionaries)?;
        Ok(Self { index, extractor, was_made: false })
    }

    /// Whether there was no index and a new one was made; of two that open it at once both may say so.
    #[must_use]
    pub fn was_made(&self) -> bool {
        self.was_made
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// How texts become features of the index.
    #[must_use]
    pub fn extractor(&self) -> &Extractor {
        &self.extractor
    }

    /// Both, for a caller that goes on with them apart.
    #[must_use]
    pub fn into_parts(self) -> (Index, Extractor) {
        (self.index, self.extractor)
    }

    /// The features of each text; `None` where it has none.
    #[must_use]
    pub fn features(&self, texts: &[&str]) -> Vec<Option<Features>> {
        let mut buffers = Buffers::new();
        texts.iter().map(|text| self.extractor.features(&mut buffers, text)).collect()
    }

    /// Writes texts in their order, whatever is near to them: see [`Store::insert`].
    ///
    /// # Errors
    /// Those of the store. Of more than [`MAX_BATCH`] texts those of earlier batches are written then.
    pub fn insert(&self, texts: &[Text<'_>]) -> index::Result<Vec<Outcome>> {
        self.write(texts, |documents| self.index.insert(documents))
    }

    /// Writes those texts that nothing in the index is near to, later ones meeting earlier ones: see
    /// [`Store::insert_if_new`]. In an index that was empty, what is not [`Outcome::Duplicate`] is the corpus without its
    /// near-duplicates.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_if_new(&self, texts: &[Text<'_>]) -> index::Result<Vec<Outcome>> {
        self.write(texts, |documents| self.index.insert_if_new(documents))
    }

    /// What is near to each text by the index's rule: the nearest `limit`, and how many there are; `None` where a text
    /// has no features.
    ///
    /// # Errors
    /// Those of the store.
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
        let mut buffers = Buffers::new();
        let mut outcomes = Vec::with_capacity(texts.len());
        for texts in texts.chunks(MAX_BATCH) {
            let mut documents = Vec::with_capacity(texts.len());
            let mut has_features = Vec::with_capacity(texts.len());
            for Text { id, text, source } in texts {
                let features = self.extractor.features(&mut buffers, text);
                has_features.push(features.is_some());
                documents.extend(features.map(|features| NewDocument {
                    id: id.clone(),
                    features,
                    source: source.clone(),
                }));
            }
            let mut written = write(&documents)?.into_iter();
            outcomes.extend(has_features.into_iter().map(|has_features| {
                has_features.then(|| written.next()).flatten().map_or(Outcome::NoFeatures, Outcome::from)
            }));
        }
        Ok(outcomes)
    }
}
