//! The options for opening an index, and their check against the index found.

use std::collections::BTreeMap;
use std::time::Duration;

use minhash::{FilingScheme, Similarity};
use simhash::Distance;

use crate::{
    Clock, Error, ErrorKind, Identity, Key, Metadata, Profile, Result, Retention, SketchKind, TextKeeping,
};

/// The action where there is no index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Makes an index.
    #[default]
    CreateIfMissing,
    /// Fails with `NotFound`, and leaves nothing behind.
    MustExist,
}

/// The caller's demands on an index; options left out are taken from the index.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The action where there is no index.
    pub mode: Mode,
    /// The name of the table scheme; for a new index the default is `5c2`.
    pub scheme: Option<String>,
    /// The greatest distance of a near-duplicate; for a new index the default is the scheme's.
    pub max_distance: Option<Distance>,
    /// The time that documents stay after their insertion; in a new index they stay for good unless
    /// this is set.
    pub retain: Option<Retention>,
    /// The greatest lead of this machine's clock over the last write at which the store still
    /// writes; see [`Store`](crate::Store). `None` only warns of a clock ahead.
    pub clock_ahead_max: Option<Duration>,
    /// The grounds on which documents are filed; for a new index the default is [`Profile::Full`].
    pub profile: Option<Profile>,
    /// Candidates are verified if true; a new index verifies unless this is `Some(false)`, which
    /// only [`Profile::Classic`] allows.
    pub verify: Option<bool>,
    /// The least similarity of near-duplicates; for a new index that verifies the default is
    /// [`MIN_SIMILARITY`](Self::MIN_SIMILARITY).
    pub min_similarity: Option<Similarity>,
    /// The way texts are kept.
    pub texts: Option<TextKeeping>,
    /// The way texts are kept in a new index, where `texts` is `None`. An index that verifies
    /// nothing keeps none.
    pub texts_default: TextKeeping,
    /// Documents with other numbers are other documents if true; in a new index they are not unless
    /// this is `Some(true)`.
    pub same_numbers: Option<bool>,
    /// The index has a secret key if true. A new index draws one if this is `Some(true)`, and has
    /// none otherwise, unless `key` gives one.
    pub keyed: Option<bool>,
    /// The key itself, for a key taken from another index.
    pub key: Option<Key>,
    /// The fields of the recipe on which the caller insists.
    pub recipe: BTreeMap<String, String>,
    /// The recipe of a new index; fields of `recipe` replace its own.
    pub recipe_default: BTreeMap<String, String>,
}

impl OpenOptions {
    /// The default of the least similarity of near-duplicates: .8.
    pub const MIN_SIMILARITY: f64 = 0.8;

    /// The smallest least similarity that can be asked for. Bands that find less similar pairs
    /// would propose a large part of an index.
    pub(crate) const LEAST_MIN_SIMILARITY: f64 = 0.5;

    /// This machine's clock, with the greatest lead of these options.
    #[must_use]
    pub fn clock(&self) -> Clock {
        match self.clock_ahead_max {
            Some(ahead_max) => Clock::system().refusing_ahead(ahead_max),
            None => Clock::system(),
        }
    }

    /// The metadata of a new index.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown scheme or one unused by the profile, for a distance above
    /// the scheme's, for a similarity below .5,
    /// and for options that exclude each other; `Internal` where the system gives no random
    /// numbers.
    pub fn new_metadata(&self) -> Result<Metadata> {
        let kind = match &self.scheme {
            Some(name) => parse_kind(name)?,
            None => SketchKind::default(),
        };
        let profile = self.profile.unwrap_or_default();
        if let (Some(name), Profile::Minhash) = (&self.scheme, profile) {
            return Err(Error::invalid(format!(
                "profile {profile} files by no tables, so scheme {name} would do nothing; leave one of the two out"
            )));
        }
        let min_similarity = self.new_min_similarity(profile)?;
        let filing = min_similarity.map(FilingScheme::for_similarity).unwrap_or_default();
        let kind = kind.of_profile(profile)?.with_filing(filing)?;
        let max_distance = self.max_distance.unwrap_or(kind.max_distance());
        if max_distance > kind.max_distance() {
            return Err(Error::invalid(format!(
                "max distance {max_distance} is above the {} that the tables of scheme {} find; ask for less",
                kind.max_distance(),
                kind.name()
            )));
        }
        let mut recipe = self.recipe_default.clone();
        recipe.extend(self.recipe.clone());
        let retain = self.retain;
        let texts = match (self.texts, min_similarity) {
            (Some(TextKeeping::Zstd), None) => {
                return Err(Error::invalid(
                    "texts are kept to count similarities, and this index verifies none; leave one of the two out",
                ));
            }
            (asked, Some(_)) => asked.unwrap_or(self.texts_default),
            (_, None) => TextKeeping::None,
        };
        let same_numbers = self.same_numbers.unwrap_or(false);
        if same_numbers && min_similarity.is_none() {
            return Err(Error::invalid(
                "numbers are compared where near-duplicates are verified, and this index verifies none; leave one of the \
                 two out",
            ));
        }
        let key = match (self.key, self.keyed) {
            (None, Some(true)) => Some(Key::draw()?),
            (key, _) => key,
        };
        if key.is_some() && min_similarity.is_none() {
            return Err(Error::invalid(
                "a key is for signatures, which an index has that verifies near-duplicates; leave one of the two out",
            ));
        }
        let metadata = Metadata {
            format_version: 0,
            kind,
            max_distance,
            min_similarity,
            texts,
            same_numbers,
            key,
            retain,
            recipe,
            identity: Identity::draw()?,
        };
        Ok(metadata.of_least_version())
    }

    fn new_min_similarity(&self, profile: Profile) -> Result<Option<Similarity>> {
        match (self.verify.unwrap_or(true), self.min_similarity) {
            (true, None) => Ok(Some(Similarity::clamped(Self::MIN_SIMILARITY))),
            (true, Some(asked)) if asked.get() >= Self::LEAST_MIN_SIMILARITY => Ok(Some(asked)),
            (true, Some(asked)) => Err(Error::invalid(format!(
                "a least similarity of {asked} is below {}, the least that bands find; ask for more",
                Self::LEAST_MIN_SIMILARITY
            ))),
            (false, Some(_)) => {
                Err(Error::invalid("a least similarity is for verifying; leave one of the two out"))
            }
            (false, None) if profile == Profile::Classic => Ok(None),
            (false, None) => Err(Error::invalid(format!(
                "profile {profile} cannot do without verifying, because bands propose much that is not near; take profile \
                 classic, or leave verifying on"
            ))),
        }
    }

    /// Refuses an index that differs from the caller's demands, and names every differing field.
    pub(crate) fn check(&self, stored: &Metadata) -> Result<()> {
        let mut differing = Vec::new();
        let mut differs = |field: &str, stored: &str, wanted: &str| {
            differing.push(format!("{field} is {stored:?} in the index and {wanted:?} was asked for"));
        };
        if let Some(name) = &self.scheme {
            let wanted = parse_kind(name)?;
            let has_scheme = stored.kind.profile() != Profile::Minhash;
            let wanted = if has_scheme { wanted.of_profile(stored.kind.profile())? } else { wanted };
            let wanted = wanted.with_filing(stored.kind.filing().unwrap_or_default())?;
            if wanted.name() != stored.kind.name() {
                differs("scheme", stored.kind.name(), name);
            } else if !wanted.has_tables_of(&stored.kind) {
                differs("scheme", &format!("{name} with other masks"), name);
            }
        }
        if let Some(wanted) = self.profile
            && wanted != stored.kind.profile()
        {
            differs("profile", stored.kind.profile().name(), wanted.name());
        }
        let state = |verifies: bool| if verifies { "on" } else { "off" };
        if let Some(wanted) = self.verify
            && wanted != stored.min_similarity.is_some()
        {
            differs("verify", state(!wanted), state(wanted));
        } else if let Some(wanted) = self.min_similarity
            && Some(wanted) != stored.min_similarity
        {
            let stored = stored.min_similarity.map_or("none".to_owned(), |stored| stored.to_string());
            differs("min similarity", &stored, &wanted.to_string());
        }
        if let Some(wanted) = self.same_numbers
            && wanted != stored.same_numbers
        {
            differs("same numbers", state(stored.same_numbers), state(wanted));
        }
        match (self.key, stored.key) {
            (Some(wanted), Some(stored)) if wanted != stored => {
                differs("key", &format!("another, with check digits {stored}"), &wanted.to_string());
            }
            (Some(wanted), None) => differs("key", "none", &wanted.to_string()),
            (None, stored) if self.keyed.is_some_and(|wanted| wanted != stored.is_some()) => {
                differs("keyed", state(stored.is_some()), state(stored.is_none()));
            }
            _ => {}
        }
        if let Some(wanted) = self.texts
            && wanted != stored.texts
        {
            differs("texts", stored.texts.name(), wanted.name());
        }
        if let Some(wanted) = self.max_distance
            && wanted != stored.max_distance
        {
            differs("max distance", &stored.max_distance.to_string(), &wanted.to_string());
        }
        if let Some(wanted) = self.retain
            && Some(wanted) != stored.retain
        {
            let stored = stored.retain.map_or("no limit".to_owned(), |retain| retain.to_string());
            differs("retain", &stored, &wanted.to_string());
        }
        for (field, wanted) in &self.recipe {
            let stored = stored.recipe.get(field);
            if stored != Some(wanted) {
                differs(&format!("recipe field {field}"), stored.map_or("absent", String::as_str), wanted);
            }
        }
        if differing.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "the index was built otherwise: {}; leave the option out to take the index's own, or build another index",
                differing.join("; ")
            ),
        ))
    }
}

fn parse_kind(name: &str) -> Result<SketchKind> {
    name.parse().map_err(|error| Error::invalid("the table scheme is not known").caused_by(error))
}
