//! The stored description of an index: the kind of its sketches, and the recipe of its
//! fingerprints.
//!
//! Metadata is stored as readable JSON with a checksum. This crate knows of the recipe only its
//! named fields.
//!
//! Version 2 has an identity. Programs that know only version 1 refuse version 2, and rightly: they
//! do not check the identity of the index they write into. An index of version 1 keeps its version;
//! a digest of its metadata serves as its identity.
//!
//! Version 3 has signatures, which verify pairs, and by which documents may be filed. An index
//! without signatures is written as version 2. Indexes of versions 1 and 2 keep their versions and
//! use simhashes alone.
//!
//! Version 4 names the bands by which signatures are filed, unless they are those of a similarity
//! of .8. It may also keep the texts of its documents, by which similarities are counted, and may
//! have a secret key for its signatures. An index with none of these is written as version 3 or 2.

use std::collections::BTreeMap;

use minhash::{FilingScheme, Similarity};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use simhash::Distance;

use crate::kind::StoredKind;
use crate::{Error, ErrorKind, Identity, Key, Profile, Result, Retention, Rule, SketchKind, TextKeeping};

/// The greatest version written by this program, and the newest it reads.
pub const FORMAT_VERSION: u32 = 4;

/// The first version with an identity.
const IDENTITY_VERSION: u32 = 2;

/// The first version with signatures.
const SIGNATURE_VERSION: u32 = 3;

/// The first version that may keep texts.
const TEXTS_VERSION: u32 = 4;

/// The first version in which other numbers may make another document.
const NUMBERS_VERSION: u32 = 4;

/// The first version whose signatures may be made with a secret key.
const KEY_VERSION: u32 = 4;

/// The first version whose signatures may be filed by other bands than those of .8.
const BANDS_VERSION: u32 = 4;

/// The version of signatures and of their filing. Two signatures may be compared only if their
/// versions are equal.
const SIGNATURES: u32 = 1;

/// The description stored with an index when it is created. Never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The version of the stored bytes.
    pub format_version: u32,
    /// The kind of the index's sketches.
    pub kind: SketchKind,
    /// The distance up to which simhashes propose near-duplicates, at most the kind's.
    pub max_distance: Distance,
    /// The least similarity of near-duplicates; `None` in an index that takes every candidate for a
    /// near-duplicate. The index has signatures if this is set.
    pub min_similarity: Option<Similarity>,
    /// The way texts are kept. An index with texts counts similarities.
    pub texts: TextKeeping,
    /// Documents with other numbers are other documents if true, however similar they are.
    pub same_numbers: bool,
    /// The secret key for hashing n-grams, besides the recipe's seed.
    pub key: Option<Key>,
    /// The time that documents stay after their insertion; `None` keeps them for good.
    pub retain: Option<Retention>,
    /// The recipe by which a text becomes a fingerprint.
    pub recipe: BTreeMap<String, String>,
    /// The identity of the index: stored from version 2 on, a digest of all other fields before.
    pub identity: Identity,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scheme: Option<StoredKind>,
    max_distance: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signatures: Option<StoredSignatures>,
    /// The name of the bands, unless they are those of .8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bands: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    texts: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    same_numbers: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retain_seconds: Option<u32>,
    recipe: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    crc32: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSignatures {
    version: u32,
    /// A decimal fraction: not every reader of JSON reads floating-point numbers alike.
    min_similarity: String,
}

/// The only field read of another version's metadata.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

impl Stored {
    /// The JSON without the checksum: fields in their order, maps in the order of their keys.
    fn unsealed(&mut self) -> Result<Vec<u8>> {
        self.crc32 = String::new();
        serde_json::to_vec(self).map_err(|error| damaged("it cannot be written again").caused_by(error))
    }

    fn checksum(&mut self) -> Result<String> {
        Ok(format!("{:08x}", crc32fast::hash(&self.unsealed()?)))
    }

    /// The kind of the sketches, and the least similarity of near documents.
    fn kind(&self) -> Result<(SketchKind, Option<Similarity>)> {
        let tables = self.scheme.as_ref().map(|scheme| scheme.decode(damaged)).transpose()?;
        let profile = match &self.profile {
            Some(name) if self.format_version >= SIGNATURE_VERSION => {
                name.parse().map_err(|error: Error| damaged("its profile").caused_by(error))?
            }
            None if self.format_version < SIGNATURE_VERSION => Profile::Classic,
            _ => return Err(damaged("its version and its profile do not fit")),
        };
        let min_similarity = match &self.signatures {
            Some(signatures) if self.format_version >= SIGNATURE_VERSION => {
                if signatures.version != SIGNATURES {
                    return Err(Error::new(
                        ErrorKind::Mismatch,
                        format!(
                            "the index has signatures of version {}, this program knows version {SIGNATURES}; use the \
                             program that wrote it",
                            signatures.version
                        ),
                    ));
                }
                let share = signatures.min_similarity.parse().ok().and_then(Similarity::new);
                Some(share.ok_or_else(|| damaged("its least similarity"))?)
            }
            None => None,
            Some(_) => return Err(damaged("its version and its signatures do not fit")),
        };
        if profile != Profile::Classic && min_similarity.is_none() {
            return Err(damaged("its profile has signatures and it has none"));
        }
        let kind = match (tables, profile) {
            (None, Profile::Minhash) => SketchKind::by_sets_alone(),
            (Some(tables), Profile::Classic | Profile::Full) => tables.of_profile(profile)?,
            _ => return Err(damaged("its profile and its tables do not fit")),
        };
        let kind = match &self.bands {
            None => kind,
            Some(name) if self.format_version >= BANDS_VERSION && kind.files_by_sets() => {
                let filing = name.parse::<FilingScheme>();
                kind.with_filing(filing.map_err(|error| damaged("its bands").caused_by(error))?)?
            }
            Some(_) => return Err(damaged("its version or its profile and its bands do not fit")),
        };
        Ok((kind, min_similarity))
    }

    fn texts(&self) -> Result<TextKeeping> {
        match &self.texts {
            None => Ok(TextKeeping::None),
            Some(name) if self.format_version >= TEXTS_VERSION && self.signatures.is_some() => {
                name.parse().map_err(|error: Error| damaged("how it keeps texts").caused_by(error))
            }
            Some(_) => Err(damaged("its version and its texts do not fit")),
        }
    }

    fn key(&self) -> Result<Option<Key>> {
        match &self.key {
            None => Ok(None),
            Some(digits) if self.format_version >= KEY_VERSION && self.signatures.is_some() => {
                Ok(Some(Key::parse(digits).ok_or_else(|| damaged("its key"))?))
            }
            Some(_) => Err(damaged("its version and its key do not fit")),
        }
    }

    /// The stored identity, or a digest for a version without one.
    fn identity(&mut self) -> Result<Identity> {
        match &self.identity {
            Some(digits) if self.format_version >= IDENTITY_VERSION => {
                Identity::parse(digits).ok_or_else(|| damaged("its identity"))
            }
            None if self.format_version < IDENTITY_VERSION => {
                let digest: [u8; 32] = Sha256::digest(self.unsealed()?).into();
                let mut bytes = [0; 16];
                bytes.copy_from_slice(&digest[..16]);
                Ok(Identity::new(bytes))
            }
            _ => Err(damaged("its version and its identity do not fit")),
        }
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!(
        "the metadata of the index is damaged: {what}; restore the index from a backup or build it anew"
    ))
}

/// The bands of a kind, unless they are those of .8.
fn other_bands(kind: &SketchKind) -> Option<FilingScheme> {
    kind.filing().filter(|filing| *filing != FilingScheme::default())
}

impl Metadata {
    /// The same metadata in the least version that can express it.
    #[must_use]
    pub(crate) fn of_least_version(self) -> Self {
        let needs = [
            (self.texts != TextKeeping::None, TEXTS_VERSION),
            (other_bands(&self.kind).is_some(), BANDS_VERSION),
            (self.same_numbers, NUMBERS_VERSION),
            (self.key.is_some(), KEY_VERSION),
            (self.kind.profile() != Profile::Classic || self.min_similarity.is_some(), SIGNATURE_VERSION),
        ];
        let needed = needs.iter().filter(|(needs, _)| *needs).map(|(_, version)| *version).max();
        Self { format_version: needed.unwrap_or(IDENTITY_VERSION), ..self }
    }

    /// The index's rule, by signatures alone: the [`Index`](crate::Index) adds the counter of
    /// texts.
    #[must_use]
    pub fn rule(&self) -> Rule {
        let filing = self.kind.filing().unwrap_or_default();
        let Self { min_similarity, same_numbers, .. } = *self;
        Rule { min_similarity, filing, same_numbers, ..Rule::from(self.max_distance) }
    }

    /// The stored JSON.
    ///
    /// # Errors
    /// None known: JSON of strings and numbers can always be written.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut stored = Stored {
            format_version: self.format_version,
            scheme: StoredKind::of(&self.kind),
            max_distance: self.max_distance.as_bits(),
            profile: (self.format_version >= SIGNATURE_VERSION)
                .then(|| self.kind.profile().name().to_owned()),
            signatures: self.min_similarity.map(|min_similarity| StoredSignatures {
                version: SIGNATURES,
                min_similarity: min_similarity.get().to_string(),
            }),
            bands: other_bands(&self.kind).map(|bands| bands.to_string()),
            texts: (self.texts != TextKeeping::None).then(|| self.texts.name().to_owned()),
            same_numbers: self.same_numbers,
            key: self.key.map(|key| key.secret()),
            retain_seconds: self.retain.map(Retention::as_seconds),
            recipe: self.recipe.clone(),
            identity: (self.format_version >= IDENTITY_VERSION).then(|| self.identity.to_string()),
            crc32: String::new(),
        };
        stored.crc32 = stored.checksum()?;
        serde_json::to_vec_pretty(&stored)
            .map_err(|error| Error::new(ErrorKind::Internal, "failed to write metadata").caused_by(error))
    }

    /// Reads stored JSON back.
    ///
    /// # Errors
    /// `Corrupt` for other bytes than written, `Mismatch` where a newer version wrote them.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Version { format_version } = serde_json::from_slice(bytes)
            .map_err(|error| damaged("it is not JSON with a version").caused_by(error))?;
        if format_version > FORMAT_VERSION {
            return Err(Error::new(
                ErrorKind::Mismatch,
                format!(
                    "the index has format version {format_version}, this program knows versions up to \
                     {FORMAT_VERSION}; use the newer program that wrote it"
                ),
            ));
        }
        let mut stored: Stored = serde_json::from_slice(bytes)
            .map_err(|error| damaged("its fields are not as expected").caused_by(error))?;
        let checksum = std::mem::take(&mut stored.crc32);
        if format_version == 0 || checksum != stored.checksum()? {
            return Err(damaged("its checksum does not fit"));
        }
        let identity = stored.identity()?;
        let (kind, min_similarity) = stored.kind()?;
        let max_distance = Distance::new(stored.max_distance)
            .map_err(|error| damaged("its max distance").caused_by(error))?;
        if max_distance > kind.max_distance() {
            return Err(damaged("its max distance is above its scheme's"));
        }
        let retain = match stored.retain_seconds.map(Retention::from_seconds) {
            Some(None) => return Err(damaged("it retains documents for no time at all")),
            retain => retain.flatten(),
        };
        let (texts, same_numbers, key) = (stored.texts()?, stored.same_numbers, stored.key()?);
        if same_numbers && (format_version < NUMBERS_VERSION || min_similarity.is_none()) {
            return Err(damaged("its version and its numbers do not fit"));
        }
        let recipe = stored.recipe;
        Ok(Self {
            format_version,
            kind,
            max_distance,
            min_similarity,
            texts,
            same_numbers,
            key,
            retain,
            recipe,
            identity,
        })
    }
}

#[cfg(test)]
mod tests;
