//! Calling the scripts. Each call takes as much of a batch as keeps the server from its other work for some milliseconds
//! only; what is left is for the next call.

use std::hash::{BuildHasher, Hasher, RandomState};

use index::backend::Known;
use index::backend::check_ahead;
use index::backend::nearest::Nearest;
use index::backend::{Horizon, SWEPT_MIN, n_swept_max};
use index::{
    Clock, Cost, Document, DocumentId, Error, Features, Insertion, Match, Metadata, Neighbours, Result,
    Retention, Rule, Selection, Sketch, Source, Timestamp,
};
use redis::{FromRedisValue, Script, ScriptInvocation, Value};

use super::layout::{
    Keys, decode_features, decode_id, decode_match, encode_query, encode_record, encode_rule,
};
use super::server::Server;

/// The most documents or queries of one call,
const ITEMS_MAX: usize = 128;
/// and the most buckets of all of them. One item with more is a call by itself.
const BUCKETS_MAX: usize = 2_048;

/// How many runs a script reads before it leaves the rest to the next call. One item's reading is not cut.
const READ_MAX: usize = 10_000;

/// Longer than all time that there is, and exact in a double too.
const AHEAD_MS_MAX: i64 = 1 << 50;

/// Above every number of documents, and exact where Lua keeps it in a double.
const LIMIT_MAX: usize = 1 << 31;

/// The scripts, by whose digests the server knows them.
pub(super) struct Scripts {
    near: Script,
    insert: Script,
    remove: Script,
    examine: Script,
}

/// What every call of a script begins with.
#[derive(Clone, Copy)]
pub(super) struct Begun<'a> {
    pub(super) server: &'a Server,
    pub(super) keys: &'a Keys,
    /// The index that must be there. No script is called before it was seen.
    pub(super) known: &'a Known,
    pub(super) horizon: Horizon,
}

/// What one call of a script may look at: two names each, and in how many buckets a document is.
pub(super) type Listed = (Vec<u8>, Vec<u8>, usize);

impl Scripts {
    pub(super) fn new() -> Self {
        const BUCKET: &str = include_str!("bucket.lua");
        const WRITE: &str = include_str!("write.lua");
        const COMPARE: &str = include_str!("compare.lua");
        const SEARCH: &str = include_str!("search.lua");
        Self {
            near: Script::new(&[BUCKET, COMPARE, SEARCH, include_str!("near.lua")].concat()),
            insert: Script::new(&[BUCKET, WRITE, COMPARE, SEARCH, include_str!("insert.lua")].concat()),
            remove: Script::new(&[BUCKET, WRITE, include_str!("remove.lua")].concat()),
            examine: Script::new(&[BUCKET, WRITE, include_str!("examine.lua")].concat()),
        }
    }

    /// Answers the first queries, at least one of them.
    pub(super) fn near(
        &self,
        begun: &Begun<'_>,
        queries: &[Sketch],
        rule: &Rule,
        limit: usize,
    ) -> Result<Vec<Neighbours>> {
        let queries = first(queries, Sketch::n_keys);
        let mut call = self.near.prepare_invoke();
        begun.begin(&mut call);
        call.arg(encode_rule(rule)).arg(limit.min(LIMIT_MAX)).arg(READ_MAX);
        for query in queries {
            call.arg(encode_query(query));
        }
        let found: Vec<(u64, u64, Vec<Value>)> = begun.call(&call)?;
        check_answers(found.len(), queries.len())?;
        let neighbours = |(query, (n_matches, n_candidates, matches)): (&Sketch, (u64, u64, Vec<Value>))| {
            let matches = to_matches(query, rule, matches, limit)?;
            let cost = Cost { n_buckets: query.n_keys() as u64, n_candidates };
            Ok(Neighbours { matches, n_matches, cost })
        };
        queries.iter().zip(found).map(neighbours).collect()
    }

    /// Inserts the first documents, at least one of them, as of now; with a rule, where nothing is near by it.
    pub(super) fn insert(
        &self,
        begun: &Begun<'_>,
        metadata: &Metadata,
        documents: &[Document],
        if_new: Option<&Rule>,
        clock: &Clock,
    ) -> Result<Vec<Insertion>> {
        let documents = first(documents, |document| document.sketch.n_keys());
        let mut call = self.insert.prepare_invoke();
        let now = begun.begin_write(&mut call, metadata.retain, clock, documents.len());
        call.arg(if_new.map_or_else(Vec::new, encode_rule)).arg(READ_MAX);
        for document in documents {
            call.arg(document.id.as_str()).arg(encode_record(document, now, &metadata.kind));
        }
        let (ahead_of, answers): (i64, Vec<Value>) = begun.write(&call)?;
        warn(clock, now, ahead_of)?;
        check_answers(answers.len(), documents.len())?;
        documents
            .iter()
            .zip(answers)
            .map(|(document, answer)| to_insertion(&document.sketch, if_new, answer))
            .collect()
    }

    /// Removes those of the first documents that match, and looks at one at least.
    pub(super) fn remove(
        &self,
        begun: &Begun<'_>,
        ids: &[DocumentId],
        selection: &Selection,
        (retain, clock): (Option<Retention>, &Clock),
    ) -> Result<Vec<bool>> {
        let ids = first(ids, |_| 0);
        let mut call = self.remove.prepare_invoke();
        let now = begun.begin_write(&mut call, retain, clock, ids.len());
        let from = selection.inserted_from.unwrap_or(Timestamp::MIN).as_ms();
        let before = selection.inserted_until.map_or(Timestamp::MAX.as_ms() + 1, Timestamp::as_ms);
        call.arg(selection.source.as_ref().map_or("", Source::as_str)).arg(from).arg(before);
        for id in ids {
            call.arg(id.as_str());
        }
        let (ahead_of, removed): (i64, Vec<i64>) = begun.write(&call)?;
        warn(clock, now, ahead_of)?;
        check_answers(removed.len(), ids.len())?;
        Ok(removed.into_iter().map(|removed| removed == 1).collect())
    }

    /// Looks at the first entries of one kind, at least one of them, and says with which something is wrong.
    pub(super) fn examine(
        &self,
        begun: &Begun<'_>,
        (what, mends): (&str, bool),
        entries: &[Listed],
    ) -> Result<Vec<bool>> {
        let entries = first(entries, |(.., n_buckets)| *n_buckets);
        let mut call = self.examine.prepare_invoke();
        begun.begin(&mut call);
        call.key(begun.keys.answer(&token())).arg(what).arg(i32::from(mends));
        for (a, b, _) in entries {
            call.arg(a).arg(b);
        }
        let wrong: Vec<i64> = begun.call(&call)?;
        check_answers(wrong.len(), entries.len())?;
        Ok(wrong.into_iter().map(|wrong| wrong == 1).collect())
    }
}

impl Begun<'_> {
    /// What every script is given first: the names, which index it is, and what has expired.
    fn begin(&self, call: &mut ScriptInvocation<'_>) {
        let Self { keys, known, horizon, .. } = self;
        call.key(&keys.metadata).key(&keys.ids).key(&keys.documents).key(&keys.runs).key(&keys.buckets);
        call.key(&keys.times).key(&keys.run_times);
        call.arg(known.seal().unwrap_or_default());
        call.arg(horizon.expired_until_ms().map_or_else(String::new, |ms| ms.to_string()));
    }

    /// What the scripts that insert and remove are given next: where to keep their answers, and what they sweep by the
    /// clock. Returns its time.
    fn begin_write(
        &self,
        call: &mut ScriptInvocation<'_>,
        retain: Option<Retention>,
        clock: &Clock,
        n_items: usize,
    ) -> Timestamp {
        let now = clock.now();
        Self { horizon: Horizon::new(retain, now), ..*self }.begin(call);
        call.key(self.keys.answer(&token())).key(&self.keys.last_write);
        call.arg(n_swept_max(n_items, SWEPT_MIN)).arg(now.as_ms());
        call.arg(clock.ahead_ms_max().min(AHEAD_MS_MAX)).arg(i32::from(clock.refuses_ahead()));
        now
    }

    /// Calls a script that writes: when the index was last written to, if the clock is too far ahead of that, else 0; and
    /// what it answers for each item.
    fn write<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<(i64, Vec<T>)> {
        let mut answers: Vec<Value> = self.call(call)?;
        if answers.is_empty() {
            return Err(unexpected());
        }
        let ahead_of = from_value(answers.remove(0))?;
        Ok((ahead_of, answers.into_iter().map(from_value).collect::<Result<_>>()?))
    }

    fn call<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T> {
        self.server.run_on(self.known, |connection| call.invoke(connection))
    }
}

fn from_value<T: FromRedisValue>(value: Value) -> Result<T> {
    T::from_redis_value(value).map_err(|error| unexpected().caused_by(error))
}

/// Says that a clock is ahead, if it is; or refuses it, after the script has.
fn warn(clock: &Clock, now: Timestamp, ahead_of: i64) -> Result<()> {
    match Timestamp::new(ahead_of) {
        Some(last) if ahead_of > 0 => check_ahead(clock, now, last),
        _ => Ok(()),
    }
}

/// As many as one call may have.
fn first<T>(items: &[T], n_buckets: impl Fn(&T) -> usize) -> &[T] {
    let mut n_left = BUCKETS_MAX;
    let fits = |item: &&T| {
        let left = n_left.checked_sub(n_buckets(item));
        n_left = left.unwrap_or(0);
        left.is_some()
    };
    let n_fitting = items.iter().take(ITEMS_MAX).take_while(fits).count();
    &items[..n_fitting.max(1).min(items.len())]
}

/// What a writing script keeps its answer under: another one for every call, in whatever process, and the same one where
/// a call is repeated.
fn token() -> String {
    // Each state has keys of its own, drawn by the operating system.
    let draw = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", draw(), draw())
}

fn check_answers(n_answers: usize, n_asked: usize) -> Result<()> {
    if n_answers == 0 || n_answers > n_asked {
        return Err(unexpected());
    }
    Ok(())
}

fn unexpected() -> Error {
    Error::new(
        index::ErrorKind::Internal,
        "a script in Redis gave an answer that it cannot give; report a bug",
    )
}

/// The nearest of the matches that a script has listed: runs each with an id after it, and of signed ones by what they are
/// compared, with their ids.
fn to_matches(query: &Sketch, rule: &Rule, listed: Vec<Value>, limit: usize) -> Result<Vec<Match>> {
    let mut nearest = Nearest::new(limit);
    let mut offer = |features: &Features, ids: &mut dyn Iterator<Item = Result<DocumentId>>| {
        // By the same numbers as in the script, so it is near here too.
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
    Ok(nearest.into_matches())
}

fn to_insertion(sketch: &Sketch, if_new: Option<&Rule>, answer: Value) -> Result<Insertion> {
    match answer {
        Value::BulkString(letter) if letter == b"U" => Ok(Insertion::Unchanged),
        Value::BulkString(letter) if letter == b"I" => Ok(Insertion::Inserted),
        Value::BulkString(letter) if letter == b"R" => Ok(Insertion::Replaced),
        Value::Array(matches) => {
            let rule = if_new.ok_or_else(unexpected)?;
            let found = to_matches(sketch, rule, matches, 1)?.pop();
            found.map(Insertion::Duplicate).ok_or_else(unexpected)
        }
        _ => Err(unexpected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_an_end() {
        for (sizes, expected) in [
            (vec![10; 500], ITEMS_MAX),
            (vec![255; 500], BUCKETS_MAX / 255),
            (vec![BUCKETS_MAX + 1; 2], 1),
            (vec![BUCKETS_MAX, 1], 1),
            (vec![0; 3], 3),
            (vec![], 0),
        ] {
            assert_eq!(first(&sizes, |size| *size).len(), expected);
        }
    }

    #[test]
    fn tokens_differ() {
        let tokens: std::collections::HashSet<_> = (0..1_000).map(|_| token()).collect();
        assert_eq!(tokens.len(), 1_000);
    }
}
