//! What an index says of itself: what its documents are sketched by and from which recipe its fingerprints come.
//!
//! It is stored as JSON that a person can read, with a checksum. Of the recipe this crate knows only that it has named
//! fields.
//!
//! Version 2 has an identity. Programs that know version 1 only refuse it by its version, and rightly: they do not check which
//! index they write into. An index of version 1 stays what it is, and a digest of what it says of itself is its identity.
//!
//! Version 3 has signatures, by which pairs are verified and by which documents may be filed. An index without any is written as
//! version 2, and those of versions 1 and 2 go on as what they are: simhashes alone.

use std::collections::BTreeMap;

use minhash::Similarity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use simhash::Distance;

use crate::kind::StoredKind;
use crate::{Error, ErrorKind, Identity, Profile, Result, Retention, Rule, SketchKind};

/// The version that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 3;

/// The first one with an identity.
const IDENTITY_VERSION: u32 = 2;

/// The first one with signatures.
const SIGNATURE_VERSION: u32 = 3;

/// How texts become signatures, and what is filed by them. Two signatures may be compared only where this is equal.
const SIGNATURES: u32 = 1;

/// What is stored with the index when it is created, and never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Of the stored bytes.
    pub format_version: u32,
    /// What its documents are sketched by.
    pub kind: SketchKind,
    /// The distance up to which simhashes propose near-duplicates, at most the kind's.
    pub max_distance: Distance,
    /// The least similarity of near-duplicates; none in an index that takes what is proposed for one. It has signatures if this
    /// is set.
    pub min_similarity: Option<Similarity>,
    /// How long documents stay after their insertion; for good where there is none.
    pub retain: Option<Retention>,
    /// How a text becomes a fingerprint.
    pub recipe: BTreeMap<String, String>,
    /// Which index it is. It is stored from version 2 on, and before that follows from all else.
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
    /// A decimal fraction: floating-point numbers are not read alike by every reader of JSON.
    min_similarity: String,
}

/// All that can be asked of another version's metadata.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

impl Stored {
    /// The JSON without the checksum: fields come in their order, maps in the order of their keys.
    fn unsealed(&mut self) -> Result<Vec<u8>> {
        self.crc32 = String::new();
        serde_json::to_vec(self).map_err(|error| damaged("it cannot be written again").caused_by(error))
    }

    fn checksum(&mut self) -> Result<String> {
        Ok(format!("{:08x}", crc32fast::hash(&self.unsealed()?)))
    }

    /// What documents are filed by, and from what similarity on they are near.
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
        Ok((kind, min_similarity))
    }

    /// The one that is stored, or before there were any a digest.
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

impl Metadata {
    /// The version that an index needs.
    pub(crate) fn version_of(kind: &SketchKind, min_similarity: Option<Similarity>) -> u32 {
        if kind.profile() == Profile::Classic && min_similarity.is_none() {
            IDENTITY_VERSION
        } else {
            SIGNATURE_VERSION
        }
    }

    /// What counts as near in this index.
    #[must_use]
    pub fn rule(&self) -> Rule {
        Rule { max_distance: self.max_distance, min_similarity: self.min_similarity }
    }

    /// The stored JSON.
    ///
    /// # Errors
    /// None that is known: JSON of strings and numbers can always be written.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut stored = Stored {
            format_version: self.format_version,
            scheme: self.kind.stored(),
            max_distance: self.max_distance.as_bits(),
            profile: (self.format_version >= SIGNATURE_VERSION)
                .then(|| self.kind.profile().name().to_owned()),
            signatures: self.min_similarity.map(|min_similarity| StoredSignatures {
                version: SIGNATURES,
                min_similarity: min_similarity.get().to_string(),
            }),
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
    /// `Corrupt` where it is not what was written, `Mismatch` where a newer version wrote it.
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
        let recipe = stored.recipe;
        Ok(Self { format_version, kind, max_distance, min_similarity, retain, recipe, identity })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testsuite::apart;

    fn example() -> Metadata {
        Metadata {
            format_version: IDENTITY_VERSION,
            kind: SketchKind::simhash("halves", apart(1), &[(1, 0xffff_ffff_0000_0000), (2, 0xffff_ffff)])
                .unwrap(),
            max_distance: apart(1),
            min_similarity: None,
            retain: None,
            recipe: [("version", "1"), ("segmenter", "jieba \"0.11\"")]
                .map(|(field, value)| (field.to_owned(), value.to_owned()))
                .into(),
            identity: Identity::new(*b"the golden index"),
        }
    }

    /// Fixed bytes: a change here is a new format version.
    const GOLDEN: &str = r#"{
  "format_version": 2,
  "scheme": {
    "name": "halves",
    "max_distance": 1,
    "tables": [
      {
        "flag": 1,
        "mask": "ffffffff00000000"
      },
      {
        "flag": 2,
        "mask": "00000000ffffffff"
      }
    ]
  },
  "max_distance": 1,
  "recipe": {
    "segmenter": "jieba \"0.11\"",
    "version": "1"
  },
  "identity": "74686520676f6c64656e20696e646578",
  "crc32": "9e4ab2b8"
}"#;

    fn check_golden(metadata: &Metadata, expected: &str) {
        assert_eq!(String::from_utf8(metadata.encode().unwrap()).unwrap(), expected);
        assert_eq!(Metadata::decode(expected.as_bytes()).unwrap(), *metadata);
    }

    #[test]
    fn golden() {
        check_golden(&example(), GOLDEN);
        let retaining = Metadata { retain: Retention::from_seconds(172_800), ..example() };
        let expected = GOLDEN.replace("  \"recipe\"", "  \"retain_seconds\": 172800,\n  \"recipe\"");
        check_golden(&retaining, &expected.replace("9e4ab2b8", "1e1cac59"));
    }

    /// Of every profile, as it is written from version 3 on; what needs none of it stays version 2.
    #[test]
    fn golden_with_signatures() {
        let tables = GOLDEN
            [GOLDEN.find("  \"scheme\"").unwrap()..GOLDEN.find("  \"max_distance\": 1,\n  \"rec").unwrap()]
            .to_owned();
        let signatures = "  \"signatures\": {\n    \"version\": 1,\n    \"min_similarity\": \"0.8\"\n  },\n";
        for (profile, crc32) in
            [(Profile::Classic, "14d493c0"), (Profile::Minhash, "72a42317"), (Profile::Full, "662819f0")]
        {
            let kind = example().kind.of_profile(profile).unwrap();
            let min_similarity = Some(Similarity::clamped(0.8));
            assert_eq!(Metadata::version_of(&kind, min_similarity), FORMAT_VERSION);
            let max_distance = kind.max_distance();
            let format_version = FORMAT_VERSION;
            let metadata = Metadata { format_version, kind, min_similarity, max_distance, ..example() };
            let lines = format!("  \"profile\": \"{profile}\",\n{signatures}  \"recipe\"");
            let mut expected = GOLDEN.replace("version\": 2", "version\": 3").replace("  \"recipe\"", &lines);
            if profile == Profile::Minhash {
                expected =
                    expected.replace(&tables, "").replace("\"max_distance\": 1", "\"max_distance\": 0");
            }
            check_golden(&metadata, &expected.replace("9e4ab2b8", crc32));
        }
        assert_eq!(Metadata::version_of(&example().kind, None), IDENTITY_VERSION);
    }

    /// Sealed as it should be, and yet nothing that was ever written.
    #[test]
    fn what_does_not_fit_together() {
        let full = Metadata {
            format_version: FORMAT_VERSION,
            kind: example().kind.of_profile(Profile::Full).unwrap(),
            min_similarity: Some(Similarity::clamped(0.8)),
            ..example()
        };
        let decode = |change: &dyn Fn(&mut Stored)| {
            let mut stored: Stored = serde_json::from_slice(&full.encode().unwrap()).unwrap();
            change(&mut stored);
            stored.crc32 = stored.checksum().unwrap();
            Metadata::decode(&serde_json::to_vec(&stored).unwrap())
        };
        assert_eq!(decode(&|_| {}).unwrap(), full);
        let signatures = |version, min_similarity: &str| {
            Some(StoredSignatures { version, min_similarity: min_similarity.to_owned() })
        };
        for change in [
            &(|stored: &mut Stored| stored.profile = None) as &dyn Fn(&mut Stored),
            &|stored| stored.profile = Some("whole".to_owned()),
            &|stored| stored.profile = Some("minhash".to_owned()),
            &|stored| stored.signatures = None,
            &|stored| stored.signatures = signatures(1, "1.5"),
            &|stored| stored.signatures = signatures(1, "much"),
            &|stored| stored.scheme = None,
            &|stored| stored.format_version = 2,
        ] {
            assert_eq!(decode(change).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let newer = decode(&|stored| stored.signatures = signatures(2, "0.8")).unwrap_err();
        assert_eq!(newer.kind(), ErrorKind::Mismatch);
    }

    /// What programs before version 2 have written is read, and written again as it was. Its identity is a digest.
    #[test]
    fn golden_without_an_identity() {
        let expected = GOLDEN.replace("version\": 2", "version\": 1");
        let expected = expected.replace("  \"identity\": \"74686520676f6c64656e20696e646578\",\n", "");
        let expected = expected.replace("9e4ab2b8", "56256c66");
        let old = Metadata::decode(expected.as_bytes()).unwrap();
        assert_eq!(old.identity.to_string(), "6a977deac28026c381802c470641eee7");
        check_golden(&old, &expected);
        assert_eq!(
            Metadata { format_version: IDENTITY_VERSION, identity: example().identity, ..old },
            example()
        );
        let indented_otherwise = expected.replace("  ", "\t");
        assert_eq!(
            Metadata::decode(indented_otherwise.as_bytes()).unwrap().identity.to_string(),
            "6a977deac28026c381802c470641eee7"
        );
        let retaining = expected.replace("  \"recipe\"", "  \"retain_seconds\": 172800,\n  \"recipe\"");
        let retaining = Metadata::decode(retaining.replace("56256c66", "23ba4e86").as_bytes()).unwrap();
        assert_eq!(retaining.retain, Retention::from_seconds(172_800));
        // Neither is one version taken for the other.
        for changed in
            [expected.replace("version\": 1", "version\": 2"), GOLDEN.replace("version\": 2", "version\": 1")]
        {
            assert_eq!(Metadata::decode(changed.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn every_named_scheme_comes_back() {
        for name in SketchKind::NAMES {
            let metadata = Metadata { kind: name.parse().unwrap(), ..example() };
            assert_eq!(Metadata::decode(&metadata.encode().unwrap()).unwrap(), metadata);
        }
    }

    /// A changed byte is found, or changes nothing but white space.
    #[test]
    fn one_changed_byte() {
        let example = Metadata { retain: Retention::from_seconds(172_800), ..example() };
        let bytes = example.encode().unwrap();
        for position in 0..bytes.len() {
            for flip in 1..=255_u8 {
                let mut changed = bytes.clone();
                changed[position] ^= flip;
                match Metadata::decode(&changed) {
                    Ok(read) => {
                        assert_eq!(read, example);
                        assert!(bytes[position].is_ascii_whitespace(), "byte {position} ^ {flip:02x}");
                    }
                    Err(error) => {
                        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Mismatch), "{error}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_future_is_told_from_damage() {
        let future = br#"{"format_version": 4, "shape": "unknown"}"#;
        assert_eq!(Metadata::decode(future).unwrap_err().kind(), ErrorKind::Mismatch);
        for bytes in [
            "",
            "{}",
            "null",
            r#"{"format_version": 0}"#,
            r#"{"format_version": 1}"#,
            r#"{"format_version": 2}"#,
            r#"{"format_version": 3}"#,
        ] {
            assert_eq!(Metadata::decode(bytes.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt, "{bytes}");
        }
    }
}
