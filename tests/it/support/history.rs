//! Invariants of all runs and calls on one index, checked when all have ended.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Engine, Options};
use index::{Cursor, DocumentId, Features, MAX_BATCH};
use serde_json::Value;

/// The documents of all runs and calls, and the decisions on them.
#[derive(Default)]
pub(crate) struct History {
    texts: BTreeMap<String, String>,
    kept: BTreeSet<String>,
    /// Each dropped document, with the kept document of its decision.
    dropped: BTreeMap<String, String>,
}

impl History {
    /// Adds the documents of JSON Lines, each under a new id.
    pub(crate) fn came(&mut self, lines: &str) {
        for record in records(lines) {
            let id = field(&record, "id");
            assert!(self.texts.insert(id.clone(), field(&record, "text")).is_none(), "{id} comes twice");
        }
    }

    /// Adds the kept JSON Lines of a run.
    pub(crate) fn kept(&mut self, lines: &str) {
        records(lines).for_each(|record| self.is_kept(&field(&record, "id")));
    }

    /// Adds the JSON Lines of `--duplicates`.
    pub(crate) fn dropped(&mut self, lines: &str) {
        records(lines)
            .for_each(|record| self.is_dropped(&field(&record, "id"), &field(&record, "duplicate_of")));
    }

    pub(crate) fn is_kept(&mut self, id: &str) {
        assert!(self.texts.contains_key(id), "{id} is kept and was not given");
        assert!(self.kept.insert(id.to_owned()), "{id} is kept twice");
    }

    pub(crate) fn is_dropped(&mut self, id: &str, of: &str) {
        assert!(self.texts.contains_key(id), "{id} is dropped and was not given");
        assert!(self.dropped.insert(id.to_owned(), of.to_owned()).is_none(), "{id} is dropped twice");
    }

    /// Checks the invariants: each document is either kept or dropped; the kept documents are those
    /// of the index; each dropped one is near the kept one of its decision; no two kept ones are
    /// near.
    pub(crate) fn check(&self, store: &str) {
        let engine = Engine::open(store, &Options::default()).unwrap();
        for id in self.texts.keys() {
            assert!(
                self.kept.contains(id) != self.dropped.contains_key(id),
                "{id} is kept and dropped, or neither"
            );
        }
        assert_eq!(self.kept, contents(&engine), "what the index has is what was kept");
        let (ids, texts): (Vec<&String>, Vec<&str>) =
            self.texts.iter().map(|(id, text)| (id, &**text)).unzip();
        let features: BTreeMap<&String, Features> = ids
            .into_iter()
            .zip(engine.features(&texts))
            .filter_map(|(id, features)| Some((id, features?)))
            .collect();
        let rule = engine.index().insertion_rule();
        let lost: Vec<_> = self
            .dropped
            .iter()
            .filter(|(id, of)| {
                !self.kept.contains(*of) || rule.confirms(&features[id], &features[of]).is_none()
            })
            .collect();
        assert!(lost.is_empty(), "{} are dropped for one that is not kept or not near: {lost:?}", lost.len());
        let kept: Vec<(&String, &Features)> =
            self.kept.iter().filter_map(|id| Some((id, features.get(id)?))).collect();
        for kept in kept.chunks(500) {
            let queries: Vec<Features> = kept.iter().map(|(_, features)| (*features).clone()).collect();
            let found = engine.index().near(&queries, &engine.index().rule(), 10).unwrap();
            for ((id, _), found) in kept.iter().zip(found) {
                let near: Vec<&str> = found.matches.iter().map(|found| found.id.as_str()).collect();
                assert_eq!(near, [id.as_str()], "kept, and near to each other");
            }
        }
    }
}

fn records(lines: &str) -> impl Iterator<Item = Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn field(record: &Value, name: &str) -> String {
    record[name].as_str().unwrap_or_else(|| panic!("{record} has no {name}")).to_owned()
}

fn contents(engine: &Engine) -> BTreeSet<String> {
    let (mut ids, mut next) = (BTreeSet::new(), Some(Cursor::start()));
    while let Some(after) = next {
        let page = engine.index().scan(after, MAX_BATCH).unwrap();
        let id = |id: &DocumentId| id.as_str().to_owned();
        ids.extend(page.documents.iter().map(|stored| id(&stored.document.id)));
        next = page.next;
    }
    ids
}
