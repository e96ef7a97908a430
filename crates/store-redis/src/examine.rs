//! The examination of a store: each document is wherever its record says, and nowhere else is
//! anything.
//!
//! Keys are listed without a script, so there may be any number of them. A script examines the
//! listed keys in small pieces, and mends them. All writers are scripts too, so none of them comes
//! in between.

use std::collections::HashSet;

use index::{Examined, Finding, FindingKind, Result, Store, StoredDocument};

use super::layout::{decode_digest, decode_id, decode_text, decode_told, encode_record, is_foreign};
use super::scripts::Listed;
use super::store::RedisStore;
use super::told::AT_ONCE;

/// The members of a set, or keys of the database, listed at a time.
const PAGE: usize = 1_000;

/// The contract of [`Store::examine`](index::Store::examine).
pub(super) fn examine(store: &RedisStore, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
    let mut examination = Examination { store, mends, report, told: HashSet::new() };
    // The scripts check the identity of the index, but none is called if no key is listed.
    store.prepare()?;
    // Mending runs may leave runs without ids in buckets, so buckets come last.
    let keys = &store.keys;
    examination.scan(&keys.documents, Examination::documents)?;
    examination.scan(&keys.texts, Examination::texts)?;
    examination.scan(&keys.runs, |this, runs| this.members("r", &this.store.keys.runs, runs))?;
    examination.scan(&keys.run_times, |this, runs| this.members("t", &this.store.keys.run_times, runs))?;
    examination.members("i", b"", vec![keys.ids.clone(), keys.times.clone()])?;
    examination.scan(&keys.buckets, |this, buckets| this.members("b", &this.store.keys.buckets, buckets))?;
    store.prepare()
}

struct Examination<'a, 'r> {
    store: &'a RedisStore,
    mends: bool,
    report: &'r mut dyn FnMut(Examined),
    /// SCAN may list a key twice.
    told: HashSet<(FindingKind, String)>,
}

impl Examination<'_, '_> {
    /// Calls `visit` for all keys with this prefix, page by page, without the prefix.
    fn scan(
        &mut self,
        prefix: &[u8],
        mut visit: impl FnMut(&mut Self, Vec<Vec<u8>>) -> Result<()>,
    ) -> Result<()> {
        let pattern = [prefix, b"*"].concat();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(PAGE);
            let (next, keys): (u64, Vec<Vec<u8>>) =
                self.store.server.run(|connection| scan.query(connection))?;
            let rest = keys.iter().filter_map(|key| key.strip_prefix(prefix)).map(<[u8]>::to_vec).collect();
            visit(self, rest)?;
            if next == 0 {
                return Ok(());
            }
            cursor = next;
        }
    }

    /// Checks the members of these sorted sets. Most sets are small, so the first pages of all are
    /// read together.
    fn members(&mut self, what: &str, prefix: &[u8], sets: Vec<Vec<u8>>) -> Result<()> {
        let mut left: Vec<(Vec<u8>, u64)> = sets.into_iter().map(|set| (set, 0)).collect();
        while !left.is_empty() {
            let mut scans = redis::pipe();
            for (set, cursor) in &left {
                let key = [prefix, set].concat();
                scans.cmd("ZSCAN").arg(key).arg(*cursor).arg("COUNT").arg(PAGE);
            }
            let pages: Vec<(u64, Vec<Vec<u8>>)> =
                self.store.server.run(|connection| scans.query(connection))?;
            let mut entries = Vec::new();
            let mut rest = Vec::new();
            for ((set, _), (next, pairs)) in left.into_iter().zip(pages) {
                // Members and scores alternate.
                let members = pairs.into_iter().step_by(2);
                match what {
                    "i" => entries.extend(members.map(|id| (id, Vec::new(), 0))),
                    _ => entries.extend(members.map(|member| (set.clone(), member, 0))),
                }
                if next != 0 {
                    rest.push((set, next));
                }
            }
            left = rest;
            self.check(what, entries)?;
        }
        Ok(())
    }

    fn documents(&mut self, ids: Vec<Vec<u8>>) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let key = |id: &Vec<u8>| [&self.store.keys.documents, id.as_slice()].concat();
        let records = self.store.values(ids.iter().map(key).collect())?;
        let kind = &self.store.known()?.kind;
        let (mut entries, mut told) = (Vec::with_capacity(ids.len()), Vec::new());
        for (id, record) in ids.into_iter().zip(records) {
            let Some(record) = record else { continue };
            match decode_id(&id).and_then(|id| decode_told(&id, &record, kind)) {
                Ok((stored, text)) => {
                    let (document, at) = (&stored.document, stored.inserted_at);
                    if is_foreign(&record, &document.sketch, kind) {
                        self.found(FindingKind::Foreign, show(&id), false);
                    }
                    let ahead = Finding::of_ahead(&document.id, at, &self.store.clock);
                    entries.push((id, Vec::new(), document.sketch.n_keys()));
                    if let Some(Finding { kind, place, is_mended }) = ahead {
                        self.found(kind, place, is_mended);
                    }
                    told.extend(text.map(|_| stored));
                }
                Err(_) => self.found(FindingKind::Damaged, format!("record {}", show(&id)), false),
            }
        }
        self.lost_texts(told)?;
        self.check("d", entries)
    }

    /// Checks that the texts named by these documents' records exist.
    fn lost_texts(&mut self, told: Vec<StoredDocument>) -> Result<()> {
        if told.is_empty() {
            return Ok(());
        }
        let mut exist = redis::pipe();
        for stored in &told {
            exist.exists(self.store.keys.text(&stored.document.id));
        }
        let are_there: Vec<bool> = self.store.server.run(|connection| exist.query(connection))?;
        let kind = &self.store.known()?.kind;
        let untold = |StoredDocument { document, inserted_at }: StoredDocument| {
            let record = encode_record(&document, None, inserted_at, kind);
            (document.id.as_str().as_bytes().to_vec(), record, 0)
        };
        let lost = told.into_iter().zip(are_there).filter(|(_, is_there)| !is_there);
        let lost: Vec<_> = lost.map(|(stored, _)| untold(stored)).collect();
        self.check("l", lost)
    }

    /// Checks the texts of these documents.
    fn texts(&mut self, ids: Vec<Vec<u8>>) -> Result<()> {
        for ids in ids.chunks(AT_ONCE) {
            let keys = &self.store.keys;
            let pair =
                |id: &Vec<u8>| [&keys.documents, &keys.texts].map(|prefix| [prefix, id.as_slice()].concat());
            let values = self.store.values(ids.iter().flat_map(pair).collect())?;
            for (id, pair) in ids.iter().zip(values.chunks(2)) {
                if let [Some(record), Some(text)] = pair
                    && !is_whole(id, record, text)
                {
                    self.found(FindingKind::Damaged, format!("text of {}", show(id)), false);
                }
            }
        }
        self.check("x", ids.into_iter().map(|id| (id, Vec::new(), 0)).collect())
    }

    /// Checks these entries by a script.
    fn check(&mut self, what: &str, entries: Vec<Listed>) -> Result<()> {
        (self.report)(Examined::Items(entries.len() as u64));
        let mut rest = entries.as_slice();
        while !rest.is_empty() {
            let wrong = self.store.scripts.examine(&self.store.begun()?, (what, self.mends), rest)?;
            let (looked_at, left) = rest.split_at(wrong.len());
            rest = left;
            for ((a, b, _), _) in looked_at.iter().zip(wrong).filter(|(_, is_wrong)| *is_wrong) {
                let (kind, place) = match what {
                    "d" => (FindingKind::Unfiled, show(a)),
                    "l" => (FindingKind::TextLost, show(a)),
                    "x" => (FindingKind::Ghost, format!("text of {}", show(a))),
                    "i" => (FindingKind::Ghost, format!("{} without a record", show(a))),
                    "b" => (FindingKind::Ghost, format!("run {} in bucket {}", hex(b), hex(a))),
                    _ => (FindingKind::Ghost, format!("{} in run {}", show(b), hex(a))),
                };
                self.found(kind, place, self.mends);
            }
        }
        Ok(())
    }

    fn found(&mut self, kind: FindingKind, place: String, is_mended: bool) {
        if self.told.insert((kind, place.clone())) {
            (self.report)(Examined::Found(Finding { kind, place, is_mended }));
        }
    }
}

/// Returns true if a text is the one named by a record, or if the record names none.
fn is_whole(id: &[u8], record: &[u8], text: &[u8]) -> bool {
    let Ok(id) = decode_id(id) else { return true };
    // An unreadable record has been reported already.
    let named = decode_digest(&id, record).ok().flatten();
    named.is_none_or(|digest| decode_text(&id, text, digest).is_ok())
}

/// An id for a report; its bytes, if it is no id because another program wrote it.
fn show(id: &[u8]) -> String {
    decode_id(id).map_or_else(|_| id.escape_ascii().to_string(), |id| id.as_str().to_owned())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
