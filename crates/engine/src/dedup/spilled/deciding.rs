//! The decisions of a spilled run, one document after another.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use features::NormalForm;
use index::backend::search::{self, Bounded};
use index::{DocumentId, Features, Index, Match, Result, Rule, Sketch, Text};

use super::documents::{Documents, Reading, Record};
use super::ids::KeptIds;
use super::proposals::Proposals;
use super::scout::Ground;
use super::turns::Order;
use super::{Phase, Spilled, State, Taken, out_of_order};
use crate::dedup::{Verdict, is_repeated};

/// The state of the decisions.
pub(super) struct Deciding {
    pub(super) proposals: Proposals,
    pub(super) ids: KeptIds,
    pub(super) order: Option<Arc<Order>>,
    /// The place of the decisions, and that of the calls by number.
    pub(super) readings: [Reading; 2],
    /// The form in which texts under one id are compared.
    pub(super) form: NormalForm,
    pub(super) n_kept: u64,
}

/// The ground of an insertion.
#[derive(Clone, Copy)]
pub(super) struct Inserting<'a> {
    pub(super) rule: &'a Rule,
    pub(super) documents: &'a Documents,
    pub(super) bounded: &'a Bounded,
}

/// A decided document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// True if the text of the document has features.
    pub has_features: bool,
    /// `None` for a document that is rejected, by the rule of
    /// [`Kept::decide`](crate::dedup::Kept::decide).
    pub verdict: Option<Verdict>,
}

/// A document as far as its decision needs it.
enum Looked {
    /// Another document than expected.
    Other,
    /// No kept document promises to be near it, and none may have its id. It stays.
    Alone {
        has_features: bool,
    },
    Open(Taken),
}

impl Spilled {
    /// Decides the document of a turn as [`Kept::decide`](crate::dedup::Kept::decide) does with an
    /// empty index. Turns ascend from call to call. `None` beyond the last document, and where
    /// `is_same` denies its id and the bytes of its text.
    ///
    /// Most documents share no bucket with a kept one. Of these nothing more is read than the id.
    ///
    /// # Errors
    /// A failed read, and `Internal` before [`propose`](Self::propose).
    pub fn decide(
        &self,
        turn: u32,
        is_same: impl FnOnce(&str, u64) -> bool,
        index: &Index,
    ) -> Result<Option<Decided>> {
        self.decide_by(&index.insertion_rule(), turn, is_same)
    }

    /// The same by any rule.
    pub(super) fn decide_by(
        &self,
        rule: &Rule,
        turn: u32,
        is_same: impl FnOnce(&str, u64) -> bool,
    ) -> Result<Option<Decided>> {
        let mut state = self.state();
        let State { metadata, documents, phase, bounded } = &mut *state;
        let (Some(metadata), Phase::Deciding(deciding)) = (metadata, phase) else {
            return Err(out_of_order());
        };
        let Deciding { proposals, ids, order, readings: [reading, _], .. } = &mut **deciding;
        let number = order.as_ref().map_or(Some(turn), |order| order.numbers.get(turn as usize).copied());
        let Some(number) = number.filter(|&number| number < documents.len()) else { return Ok(None) };
        let opened = proposals.open(turn, |kept| Ground {
            documents: Arc::clone(documents),
            order: order.clone(),
            kept,
            rule: *rule,
            kind: metadata.kind.clone(),
        });
        let opened = opened.and_then(|()| ids.open(turn, |number| proposals.is_kept(number)));
        opened.map_err(|error| self.failed(error))?;
        let is_alone = proposals.has_none() && ids.of_open().is_empty();
        let mut reading = order.is_none().then_some(reading);
        let looked = documents.record(reading.as_deref_mut(), number, |record| {
            if !is_same(record.id, record.n_text_bytes) {
                return Some(Looked::Other);
            }
            if is_alone {
                return Some(Looked::Alone { has_features: record.has_features });
            }
            record.taken().map(Looked::Open)
        });
        let mut taken = match looked.map_err(|error| self.failed(error))? {
            Looked::Other => return Ok(None),
            Looked::Alone { has_features } => {
                deciding.keep(number, has_features);
                return Ok(Some(Decided { has_features, verdict: Some(Verdict::Kept) }));
            }
            Looked::Open(taken) => taken,
        };
        if let Some(features) = &mut taken.features {
            features.text = documents.text_of(reading, number).map_err(|error| self.failed(error))?;
        }
        let has_features = taken.features.is_some();
        if let Some(earlier) = deciding.earlier(&taken.id, documents).map_err(|error| self.failed(error))? {
            let repeated = taken.features.filter(|features| {
                earlier.features.is_some_and(|earlier| is_repeated(features, &earlier, deciding.form))
            });
            let verdict = repeated.map(|features| Verdict::repeated(taken.id, &features));
            return Ok(Some(Decided { has_features, verdict }));
        }
        let Some(features) = taken.features else {
            deciding.keep(number, false);
            return Ok(Some(Decided { has_features, verdict: Some(Verdict::Kept) }));
        };
        let sketch = metadata.kind.sketch(features);
        let inserting = Inserting { rule, documents, bounded };
        let nearest = deciding.insert_if_new(number, &sketch, inserting)?;
        let duplicate = |found| Verdict::duplicate(sketch.features(), found, true);
        let verdict = Some(nearest.map_or(Verdict::Kept, duplicate));
        Ok(Some(Decided { has_features, verdict }))
    }

    /// The turn of a document by its number, and true if its text has features. Numbers ascend from
    /// call to call. `None` as by [`decide`](Self::decide).
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub fn turn_of(
        &self,
        number: u32,
        is_same: impl FnOnce(&str, u64) -> bool,
    ) -> Result<Option<(u32, bool)>> {
        let mut state = self.state();
        let State { documents, phase, .. } = &mut *state;
        let Phase::Deciding(deciding) = phase else { return Err(out_of_order()) };
        if number >= documents.len() {
            return Ok(None);
        }
        let Deciding { order, readings: [_, reading], .. } = &mut **deciding;
        let turn = order.as_ref().map_or(number, |order| order.turns[number as usize]);
        let found = documents.record(Some(reading), number, |record| {
            Some(is_same(record.id, record.n_text_bytes).then_some((turn, record.has_features)))
        });
        found.map_err(|error| self.failed(error))
    }

    /// The features of a document by its number, with the text, if it may be near to another one,
    /// kept or not: most documents share a bucket with none. Numbers ascend from call to call.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub fn features_of_met(&self, number: u32) -> Result<Option<Features>> {
        let mut state = self.state();
        let State { documents, phase, .. } = &mut *state;
        let Phase::Deciding(deciding) = phase else { return Err(out_of_order()) };
        let Deciding { proposals, readings: [_, reading], .. } = &mut **deciding;
        if number >= documents.len() || !proposals.meets_another(number) {
            return Ok(None);
        }
        let mut read = || {
            let taken = documents.record(Some(reading), number, |record| record.taken())?;
            let Some(mut features) = taken.features else { return Ok(None) };
            features.text = documents.text_of(Some(reading), number)?;
            Ok(Some(features))
        };
        read().map_err(|error| self.failed(error))
    }
}

impl Deciding {
    /// Keeps the open document, which has features, unless a kept one is near, which is returned
    /// then.
    pub(super) fn insert_if_new(
        &mut self,
        number: u32,
        sketch: &Sketch,
        Inserting { rule, documents, bounded }: Inserting<'_>,
    ) -> Result<Option<Match>> {
        let (proposed, read) = self.proposals.of_open(sketch, rule);
        let order = self.order.as_deref();
        // An index in memory numbers its documents by their turns, and prefers the first of equals.
        let turn_of = |number| order.map_or(number, |order| order.turns[number as usize]);
        let proposed = proposed.into_iter().map(|(number, promise)| (turn_of(number).into(), promise));
        let in_turns = InTurns { documents, order, read: &read };
        let nearest = search::nearest_among(proposed, sketch, rule, &in_turns, bounded)?;
        if nearest.is_none() {
            self.keep(number, true);
        }
        Ok(nearest)
    }

    /// The kept document under the id of the open one.
    fn earlier(&self, id: &DocumentId, documents: &Documents) -> io::Result<Option<Taken>> {
        for &number in self.ids.of_open() {
            let taken = documents.record(None, number, |record| record.taken())?;
            if taken.id == *id {
                let text = documents.text_of(None, number)?;
                let features = taken.features.map(|features| Features { text, ..features });
                return Ok(Some(Taken { features, ..taken }));
            }
        }
        Ok(None)
    }

    /// The numbers of the kept documents of some ids, in their order; `None` where none is kept.
    pub(super) fn numbers_of(
        &self,
        ids: &[DocumentId],
        documents: &Documents,
    ) -> io::Result<Vec<Option<u32>>> {
        let mut numbers = vec![None; ids.len()];
        let mut wanted: HashMap<&str, usize> = ids.iter().map(DocumentId::as_str).zip(0..).collect();
        let mut reading = Reading::default();
        let kept = (0..documents.len()).filter(|&number| self.proposals.is_kept(number));
        for number in kept {
            if wanted.is_empty() {
                break;
            }
            let at = |record: &Record<'_>| Some(wanted.remove(record.id));
            if let Some(at) = documents.record(Some(&mut reading), number, at)? {
                numbers[at] = Some(number);
            }
        }
        Ok(numbers)
    }

    fn keep(&mut self, number: u32, has_features: bool) {
        self.proposals.keep(number);
        self.ids.keep(number);
        self.n_kept += u64::from(has_features);
    }
}

/// The documents by their turns.
struct InTurns<'a> {
    documents: &'a Documents,
    order: Option<&'a Order>,
    /// Features by the numbers of their documents, ascending, of those that were read already.
    read: &'a [(u32, Features)],
}

impl InTurns<'_> {
    fn number(&self, turn: u64) -> u64 {
        self.order.map_or(turn, |order| order.numbers[turn as usize].into())
    }
}

impl search::Documents for InTurns<'_> {
    fn id(&self, turn: u64) -> Result<DocumentId> {
        self.documents.id(self.number(turn))
    }

    fn features(&self, turn: u64) -> Result<Cow<'_, Features>> {
        let number = self.number(turn);
        match self.read.binary_search_by_key(&number, |(read, _)| (*read).into()) {
            Ok(at) => Ok(Cow::Borrowed(&self.read[at].1)),
            Err(_) => self.documents.features(number),
        }
    }

    fn text(&self, turn: u64) -> Result<Option<Text>> {
        self.documents.text(self.number(turn))
    }
}
