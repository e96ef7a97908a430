//! Answers of the scripts, decoded.

use index::backend::nearest::Nearest;
use index::{
    Cost, Document, DocumentId, Error, Features, Insertion, Match, Neighbours, Result, Rule, Sketch,
};
use redis::{FromRedisValue, Value};

use super::layout::{Content, Own, decode_features, decode_id, decode_match, decode_own};

/// The answer of `near.lua` to a query.
pub(super) type FoundAnswer = (u64, u64, Vec<Value>, Vec<Vec<u8>>);

/// The answer of `look.lua` for a document; each group is a list.
pub(super) type LookAnswer = (Vec<u8>, Vec<Value>, Vec<GroupAnswer>, u8);
type GroupAnswer = Vec<Vec<u8>>;

/// The result of a search before texts are read.
pub(super) struct Found {
    /// The nearest of the documents that are near whatever texts say.
    pub(super) nearest: Nearest,
    /// The number of documents that are near whatever texts say.
    pub(super) n_matches: u64,
    pub(super) cost: Cost,
    /// The documents worth a count.
    pub(super) worth: Vec<DocumentId>,
}

/// The result of an insertion's search before texts are read.
pub(super) struct Look {
    pub(super) own: Own,
    /// The nearest of the documents that are near whatever texts say.
    pub(super) near: Option<Match>,
    /// The documents worth a count.
    pub(super) worth: Vec<Group>,
    /// True if some documents worth a count are left out.
    pub(super) is_cut: bool,
}

/// Documents of one sketch, which are worth a count.
pub(super) struct Group {
    pub(super) features: Features,
    /// A document without a kept text has no content.
    pub(super) documents: Vec<(DocumentId, Option<Content>)>,
}

impl Found {
    /// Decodes the answer of a script to a query.
    pub(super) fn read(query: &Sketch, rule: &Rule, limit: usize, answer: FoundAnswer) -> Result<Self> {
        let (n_matches, n_candidates, matches, worth) = answer;
        Ok(Self {
            nearest: to_nearest(query, rule, matches, limit)?,
            n_matches,
            cost: Cost { n_buckets: query.n_keys() as u64, n_candidates },
            worth: worth.iter().map(|id| decode_id(id)).collect::<Result<_>>()?,
        })
    }

    /// Adds a document, if it is near.
    pub(super) fn judge(&mut self, query: &Sketch, rule: &Rule, document: Document) {
        if let Some(nearness) = rule.nearness(query, &document.sketch) {
            self.n_matches += 1;
            self.nearest.offer(Match::new(document.id, document.sketch.fingerprint(), nearness));
        }
    }

    pub(super) fn into_neighbours(self) -> Neighbours {
        let Self { nearest, n_matches, cost, .. } = self;
        Neighbours { matches: nearest.into_matches(), n_matches, cost }
    }
}

/// The outcome of a document's insertion.
pub(super) enum Written {
    Done(Insertion),
    /// A count is needed first.
    Waits,
}

pub(super) fn from_value<T: FromRedisValue>(value: Value) -> Result<T> {
    T::from_redis_value(value).map_err(|error| unexpected().caused_by(error))
}

pub(super) fn unexpected() -> Error {
    Error::new(
        index::ErrorKind::Internal,
        "a script in Redis gave an answer that it cannot give; report a bug",
    )
}

/// Returns the nearest of the matches listed by a script: runs, each with an id after it; and for
/// signed runs a list of the features and then the ids. No text is at hand, so signatures decide.
fn to_nearest(query: &Sketch, rule: &Rule, listed: Vec<Value>, limit: usize) -> Result<Nearest> {
    let mut nearest = Nearest::new(limit);
    let rule = Rule { counter: None, ..*rule };
    let mut offer = |features: &Features, ids: &mut dyn Iterator<Item = Result<DocumentId>>| {
        // The script computes the same numbers, so the match is near here too.
        let nearness = rule.confirms(query.features(), features).ok_or_else(unexpected)?;
        let fingerprint = features.fingerprint();
        for id in ids {
            nearest.offer(Match::new(id?, fingerprint, nearness));
        }
        Result::Ok(())
    };
    for listed in listed {
        match listed {
            Value::Array(signed) => {
                let mut signed = signed.into_iter().map(from_value::<Vec<u8>>);
                let features = decode_features(&signed.next().ok_or_else(unexpected)??)?;
                offer(&features, &mut signed.map(|id| decode_id(&id?)))?;
            }
            by_simhash => {
                let (features, id) = decode_match(&from_value::<Vec<u8>>(by_simhash)?)?;
                offer(&features, &mut std::iter::once(Ok(id)))?;
            }
        }
    }
    Ok(nearest)
}

impl Look {
    /// Decodes the answer of a script for a document to be inserted.
    pub(super) fn read(sketch: &Sketch, rule: &Rule, answer: LookAnswer) -> Result<Self> {
        let (own, near, groups, is_cut) = answer;
        Ok(Self {
            own: decode_own(&own)?,
            near: to_nearest(sketch, rule, near, 1)?.into_matches().pop(),
            worth: groups.iter().map(|group| Group::read(group)).collect::<Result<_>>()?,
            is_cut: is_cut == 1,
        })
    }
}

impl Group {
    /// Decodes a list of the features, the run, and pairs of an id and a digest.
    fn read(listed: &[Vec<u8>]) -> Result<Self> {
        let [features, run, documents @ ..] = listed else { return Err(unexpected()) };
        let document = |pair: &[Vec<u8>]| match pair {
            [id, digest] => Ok((decode_id(id)?, Content::new(run, digest)?)),
            _ => Err(unexpected()),
        };
        let documents = documents.chunks(2).map(document).collect::<Result<_>>()?;
        Ok(Self { features: decode_features(features)?, documents })
    }
}

impl Written {
    /// Decodes the answer of a script for a document.
    pub(super) fn read(sketch: &Sketch, if_new: Option<&Rule>, answer: Value) -> Result<Self> {
        let done = |insertion| Ok(Self::Done(insertion));
        match answer {
            Value::BulkString(letter) if letter == b"U" => done(Insertion::Unchanged),
            Value::BulkString(letter) if letter == b"I" => done(Insertion::Inserted),
            Value::BulkString(letter) if letter == b"R" => done(Insertion::Replaced),
            Value::BulkString(letter) if letter == b"W" => Ok(Self::Waits),
            Value::Array(matches) => {
                let rule = if_new.ok_or_else(unexpected)?;
                let found = to_nearest(sketch, rule, matches, 1)?.into_matches().pop();
                found.map(|found| Self::Done(Insertion::Duplicate(found))).ok_or_else(unexpected)
            }
            _ => Err(unexpected()),
        }
    }
}
