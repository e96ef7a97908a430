//! Calls of the scripts. Each call takes only as much of a batch as delays the server's other work
//! by some milliseconds; the rest is for the next call.

use std::hash::{BuildHasher, Hasher, RandomState};

use index::backend::Known;
use index::backend::check_ahead;
use index::backend::{Horizon, SWEPT_MIN, n_swept_max};
use index::{
    Clock, Document, DocumentId, Metadata, Result, Retention, Rule, Selection, Sketch, Source, Text,
    TextKeeping, Timestamp,
};
use redis::{FromRedisValue, Script, ScriptInvocation, Value};

use super::answers::{Found, FoundAnswer, Look, LookAnswer, Written, from_value, unexpected};
use super::layout::{Content, Keys, Packer, TextDigest, encode_query, encode_record, encode_rule};
use super::server::{Server, Wait};

/// The most documents or queries of one call,
pub(super) const ITEMS_MAX: usize = 128;
/// and the most buckets and bytes of texts of all of them. An item with more is a call by itself.
const BUCKETS_MAX: usize = 2_048;
const TEXT_BYTES_MAX: usize = 4 << 20;

/// The runs read by a script before it leaves the rest to the next call. The reading for one item
/// is not cut.
const READ_MAX: usize = 10_000;

/// Longer than the span of all timestamps, and exact in a double too.
const AHEAD_MS_MAX: i64 = 1 << 50;

/// Above every number of documents, and exact in Lua's doubles.
const LIMIT_MAX: usize = 1 << 31;

/// The scripts. The server knows them by their digests.
pub(super) struct Scripts {
    near: Script,
    look: Script,
    insert: Script,
    remove: Script,
    examine: Script,
}

/// The beginning of every call of a script.
#[derive(Clone, Copy)]
pub(super) struct Begun<'a> {
    pub(super) server: &'a Server,
    pub(super) keys: &'a Keys,
    /// The index that must be there; no script is called before it was seen.
    pub(super) known: &'a Known,
    pub(super) horizon: Horizon,
    pub(super) wait: Wait,
}

/// An entry for an examination: two names, and the number of the document's buckets.
pub(super) type Listed = (Vec<u8>, Vec<u8>, usize);

/// A document to be inserted.
pub(super) struct New<'a> {
    pub(super) document: &'a Document,
    /// The digest of the text under the document's id, if it was compared and is another text.
    pub(super) of_own: Option<TextDigest>,
    /// The contents of other documents that were counted and are not near.
    pub(super) counted: Vec<Content>,
}

impl<'a> New<'a> {
    /// A document for which no count was made.
    pub(super) fn uncounted(document: &'a Document) -> Self {
        Self { document, of_own: None, counted: Vec::new() }
    }
}

impl Scripts {
    pub(super) fn new() -> Self {
        const BUCKET: &str = include_str!("bucket.lua");
        const WRITE: &str = include_str!("write.lua");
        const COMPARE: &str = include_str!("compare.lua");
        const SEARCH: &str = include_str!("search.lua");
        Self {
            near: Script::new(&[BUCKET, COMPARE, SEARCH, include_str!("near.lua")].concat()),
            look: Script::new(&[BUCKET, COMPARE, SEARCH, include_str!("look.lua")].concat()),
            insert: Script::new(&[BUCKET, WRITE, COMPARE, SEARCH, include_str!("insert.lua")].concat()),
            remove: Script::new(&[BUCKET, WRITE, include_str!("remove.lua")].concat()),
            examine: Script::new(&[BUCKET, WRITE, include_str!("examine.lua")].concat()),
        }
    }

    /// Answers the first queries, at least one, except for decisions by texts.
    pub(super) fn near(
        &self,
        begun: &Begun<'_>,
        queries: &[Sketch],
        rule: &Rule,
        limit: usize,
    ) -> Result<Vec<Found>> {
        let queries = first(queries, |query| (query.n_keys(), 0));
        let mut call = self.near.prepare_invoke();
        begun.begin(&mut call);
        call.arg(encode_rule(rule)).arg(limit.min(LIMIT_MAX)).arg(READ_MAX);
        for query in queries {
            call.arg(encode_query(query));
        }
        let found: Vec<FoundAnswer> = begun.call(&call)?;
        check_answers(found.len(), queries.len())?;
        queries.iter().zip(found).map(|(query, found)| Found::read(query, rule, limit, found)).collect()
    }

    /// Finds the documents to count before the first of `documents` can be inserted, for at least
    /// one of them.
    pub(super) fn look(
        &self,
        begun: &Begun<'_>,
        metadata: &Metadata,
        documents: &[Document],
        rule: &Rule,
    ) -> Result<Vec<Look>> {
        let documents = first(documents, |document| (document.sketch.n_keys(), 0));
        let mut call = self.look.prepare_invoke();
        begun.begin(&mut call);
        call.arg(encode_rule(rule)).arg(READ_MAX).arg(rule.counted_max.unwrap_or(LIMIT_MAX));
        for document in documents {
            let text = document.sketch.text().map(TextDigest::of);
            call.arg(document.id.as_str());
            call.arg(encode_record(document, text, Timestamp::MIN, &metadata.kind));
        }
        let looks: Vec<LookAnswer> = begun.call(&call)?;
        check_answers(looks.len(), documents.len())?;
        documents.iter().zip(looks).map(|(document, look)| Look::read(&document.sketch, rule, look)).collect()
    }

    /// Inserts the first documents, at least one, as of now; with a rule, only those without a near
    /// document.
    pub(super) fn insert(
        &self,
        begun: &Begun<'_>,
        metadata: &Metadata,
        documents: &[New<'_>],
        if_new: Option<&Rule>,
        clock: &Clock,
    ) -> Result<Vec<Written>> {
        let documents = first(documents, |New { document, .. }| {
            (document.sketch.n_keys(), kept_text(metadata, document).map_or(0, |text| text.len()))
        });
        let mut call = self.insert.prepare_invoke();
        let now = begun.begin_write(&mut call, metadata.retain, clock, documents.len());
        let counted_max = if_new.and_then(|rule| rule.counted_max);
        call.arg(if_new.map_or_else(Vec::new, encode_rule));
        call.arg(READ_MAX).arg(counted_max.unwrap_or(LIMIT_MAX));
        let mut packer = Packer::default();
        for New { document, of_own, counted } in documents {
            let text = kept_text(metadata, document);
            let record = encode_record(document, text.map(TextDigest::of), now, &metadata.kind);
            let text = text.map(|text| packer.encode(&document.id, text)).transpose()?;
            call.arg(document.id.as_str()).arg(record).arg(text.unwrap_or_default());
            call.arg(of_own.as_ref().map_or(&[][..], |TextDigest(digest)| digest));
            call.arg(counted.iter().flat_map(|content| *content.as_bytes()).collect::<Vec<u8>>());
        }
        let (ahead_of, answers): (i64, Vec<Value>) = begun.write(&call)?;
        warn(clock, now, ahead_of)?;
        if !documents.is_empty() {
            check_answers(answers.len(), documents.len())?;
        }
        documents
            .iter()
            .zip(answers)
            .map(|(new, answer)| Written::read(&new.document.sketch, if_new, answer))
            .collect()
    }

    /// Removes those of the first documents that match; examines at least one.
    pub(super) fn remove(
        &self,
        begun: &Begun<'_>,
        ids: &[DocumentId],
        selection: &Selection,
        (retain, clock): (Option<Retention>, &Clock),
    ) -> Result<Vec<bool>> {
        let ids = first(ids, |_| (0, 0));
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

    /// Examines the first entries of one kind, at least one, and returns true for each defective
    /// entry.
    pub(super) fn examine(
        &self,
        begun: &Begun<'_>,
        (what, mends): (&str, bool),
        entries: &[Listed],
    ) -> Result<Vec<bool>> {
        let entries = first(entries, |(.., n_buckets)| (*n_buckets, 0));
        let mut call = self.examine.prepare_invoke();
        begun.begin(&mut call);
        call.key(begun.keys.answer(&token())).key(&begun.keys.writes).arg(what).arg(i32::from(mends));
        for (a, b, _) in entries {
            call.arg(a).arg(b);
        }
        let wrong: Vec<i64> = begun.call(&call)?;
        check_answers(wrong.len(), entries.len())?;
        Ok(wrong.into_iter().map(|wrong| wrong == 1).collect())
    }
}

impl Begun<'_> {
    /// Adds the first arguments of every script: the keys, the identity of the index, the horizon,
    /// and the number of keys already dropped by the server.
    fn begin(&self, call: &mut ScriptInvocation<'_>) {
        let Self { keys, known, horizon, .. } = self;
        call.key(&keys.metadata).key(&keys.ids).key(&keys.documents).key(&keys.runs).key(&keys.buckets);
        call.key(&keys.times).key(&keys.run_times).key(&keys.texts);
        call.arg(known.seal().unwrap_or_default());
        let expired = horizon.expired_until_ms().map_or_else(String::new, |ms| ms.to_string());
        call.arg(format!("{expired} {}", self.server.losses_known()));
    }

    /// Adds the next arguments of the scripts that insert and remove: the key of the kept answer,
    /// and the limits and clock of the sweep. Returns the clock's time.
    fn begin_write(
        &self,
        call: &mut ScriptInvocation<'_>,
        retain: Option<Retention>,
        clock: &Clock,
        n_items: usize,
    ) -> Timestamp {
        let now = clock.now();
        Self { horizon: Horizon::new(retain, now), ..*self }.begin(call);
        call.key(self.keys.answer(&token())).key(&self.keys.writes).key(&self.keys.last_write);
        call.arg(n_swept_max(n_items, SWEPT_MIN)).arg(now.as_ms());
        call.arg(clock.ahead_ms_max().min(AHEAD_MS_MAX)).arg(i32::from(clock.refuses_ahead()));
        now
    }

    /// Calls a script that writes. Returns the time of the index's last write, if the clock is too
    /// far ahead of it, else 0; and the answer for each item.
    fn write<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<(i64, Vec<T>)> {
        let mut answers: Vec<Value> = self.call(call)?;
        if answers.is_empty() {
            return Err(unexpected());
        }
        let ahead_of = from_value(answers.remove(0))?;
        Ok((ahead_of, answers.into_iter().map(from_value).collect::<Result<_>>()?))
    }

    fn call<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T> {
        self.server.run_on(self.known, self.wait, |connection| call.invoke(connection))
    }
}

/// Warns of a clock that is ahead; or returns the error, after the script has refused the clock.
fn warn(clock: &Clock, now: Timestamp, ahead_of: i64) -> Result<()> {
    match Timestamp::new(ahead_of) {
        Some(last) if ahead_of > 0 => check_ahead(clock, now, last),
        _ => Ok(()),
    }
}

/// Returns the items that one call may have; `size` returns an item's buckets and bytes of text.
fn first<T>(items: &[T], size: impl Fn(&T) -> (usize, usize)) -> &[T] {
    let (mut n_buckets, mut n_bytes) = (0_usize, 0_usize);
    let fits = |item: &&T| {
        let (buckets, bytes) = size(item);
        n_buckets = n_buckets.saturating_add(buckets);
        n_bytes = n_bytes.saturating_add(bytes);
        n_buckets <= BUCKETS_MAX && n_bytes <= TEXT_BYTES_MAX
    };
    let n_fitting = items.iter().take(ITEMS_MAX).take_while(fits).count();
    &items[..n_fitting.max(1).min(items.len())]
}

/// The text of a document, if the index keeps texts.
fn kept_text<'a>(metadata: &Metadata, document: &'a Document) -> Option<&'a Text> {
    document.sketch.text().filter(|_| metadata.texts != TextKeeping::None)
}

/// Draws a token, under which a writing script keeps its answer. It differs between all calls of
/// all processes, and is the same in repetitions of a call.
fn token() -> String {
    // Each state has its own keys, drawn by the operating system.
    let draw = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", draw(), draw())
}

fn check_answers(n_answers: usize, n_asked: usize) -> Result<()> {
    if n_answers == 0 || n_answers > n_asked {
        return Err(unexpected());
    }
    Ok(())
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
            assert_eq!(first(&sizes, |size| (*size, 0)).len(), expected);
        }
        assert_eq!(first(&[TEXT_BYTES_MAX / 3; 9], |size| (1, *size)).len(), 3);
        assert_eq!(first(&[TEXT_BYTES_MAX * 2; 9], |size| (1, *size)).len(), 1);
    }

    #[test]
    fn tokens_differ() {
        let tokens: std::collections::HashSet<_> = (0..1_000).map(|_| token()).collect();
        assert_eq!(tokens.len(), 1_000);
    }
}
