//! Insertion of new documents where texts decide which documents are near.
//!
//! The server cannot count, so a round takes three steps. A script finds the documents worth a
//! count; this process reads their texts and counts; and a script inserts. This script searches
//! once more in the same moment, and stops before a document for which it meets content that was
//! not counted. The outcome of a count follows from two sketches and two texts, and nothing else.
//! So the second search need not meet the same documents: only their contents must have been
//! counted.
//!
//! Only a write of another caller stops a round, so one of all callers always goes on. The next
//! round takes half as many documents, down to one. A document found near in the second step is a
//! duplicate as of the first one, and needs no third.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use index::backend::rule::is_same_text;
use index::{Document, DocumentId, Error, ErrorKind, Glance, Insertion, Match, Result, Rule, Timestamp};
use minhash::Similarity;

use super::answers::{Group, Look, Written};
use super::layout::{Content, Own, TextDigest, encode_record};
use super::scripts::{ITEMS_MAX, New};
use super::store::RedisStore;
use super::told::{self, AT_ONCE, Told};

/// The texts counted for each document in the first turn, and the factor from each turn to the
/// next.
const FIRST: usize = 4;

/// The limit on consecutive rounds that are stopped before their first document.
const ATTEMPTS_MAX: usize = 1_000;

/// Inserts new documents by a rule that counts texts.
pub(super) fn insert(store: &RedisStore, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
    let mut insertions = Vec::with_capacity(documents.len());
    let (mut n_most, mut n_stopped) = (ITEMS_MAX, 0);
    while insertions.len() < documents.len() {
        let rest = &documents[insertions.len()..];
        let (done, is_stopped) = round(store, &rest[..rest.len().min(n_most)], rule)?;
        n_stopped = if done.is_empty() { n_stopped + 1 } else { 0 };
        if n_stopped == ATTEMPTS_MAX {
            return Err(Error::new(
                ErrorKind::Busy,
                "documents that are near were written faster than they could be counted; try again",
            ));
        }
        n_most = if is_stopped { n_most.div_ceil(2) } else { ITEMS_MAX.min(2 * n_most) };
        insertions.extend(done);
    }
    Ok(insertions)
}

/// Answers the first documents, and returns true with them if another writer came in between.
fn round(store: &RedisStore, documents: &[Document], rule: &Rule) -> Result<(Vec<Insertion>, bool)> {
    let looks = store.scripts.look(&store.begun()?, store.known()?, documents, rule)?;
    let to_scale = |(document, look)| Scale::new(document, rule, look);
    let mut scales: Vec<_> = documents.iter().zip(looks).map(to_scale).collect();
    weigh_own(store, &mut scales)?;
    weigh(store, &mut scales)?;
    let mut plan = Plan::new(store, rule);
    for scale in scales {
        if !plan.decide(scale)? {
            break;
        }
    }
    plan.carry_out()
}

/// A document worth a count.
struct Weight {
    id: DocumentId,
    content: Content,
    /// The greatest possible similarity, and the estimate by the signatures.
    promise: (Similarity, Similarity),
}

/// A document to be inserted, with the findings about others.
struct Scale<'a> {
    document: &'a Document,
    rule: &'a Rule,
    own: Own,
    /// The nearest document so far.
    nearest: Option<Match>,
    /// The documents that may have to be counted, the least promising first.
    left: Vec<Weight>,
    /// The counted contents, and those among them that are not near.
    counted: HashSet<Content>,
    far: HashSet<Content>,
    /// The ids of all other documents found.
    met: Vec<DocumentId>,
    /// True if more documents are worth a count than the rule counts.
    is_cut: bool,
    /// True if some document has changed since the first search.
    is_outdated: bool,
}

impl<'a> Scale<'a> {
    fn new(document: &'a Document, rule: &'a Rule, look: Look) -> Self {
        let Look { own, near, worth, is_cut } = look;
        let mut scale = Self {
            document,
            rule,
            own,
            met: near.iter().map(|near| near.id.clone()).collect(),
            nearest: near,
            left: Vec::new(),
            counted: HashSet::new(),
            far: HashSet::new(),
            is_cut,
            is_outdated: false,
        };
        worth.into_iter().for_each(|group| scale.put(group));
        scale.left.sort_by(|a, b| (a.promise, Reverse(&a.id)).cmp(&(b.promise, Reverse(&b.id))));
        scale
    }

    /// Takes in documents of one sketch. Where one has no text, the signatures decide at once.
    fn put(&mut self, group: Group) {
        let Group { features, documents } = group;
        let query = self.document.sketch.features();
        let promise = match self.rule.glance(query, &features) {
            Glance::Worth { estimate, at_most } => (at_most, estimate),
            // The script computes the same numbers, so a count is worth it here too.
            Glance::Near(_) | Glance::Far => (Similarity::ONE, Similarity::ONE),
        };
        for (id, content) in documents {
            self.met.push(id.clone());
            if let Some(content) = content {
                self.left.push(Weight { id, content, promise });
            } else if let Some(nearness) = self.rule.count(query, &features) {
                self.offer(Match::new(id, features.fingerprint(), nearness));
            }
        }
    }

    fn offer(&mut self, found: Match) {
        let is_nearer = |nearest: &Match| (found.nearness, &found.id) < (nearest.nearness, &nearest.id);
        if self.nearest.as_ref().is_none_or(is_nearer) {
            self.nearest = Some(found);
        }
    }

    /// Takes the most promising documents that may still matter, at most `n_max`. Equal contents
    /// count the same, so the first document of each is enough.
    fn next(&mut self, n_max: usize) -> Vec<Weight> {
        let mut next = Vec::new();
        if self.own == Own::Same || self.is_outdated {
            return next;
        }
        while next.len() < n_max
            && let Some(weight) = self.left.pop()
        {
            if self.matters(&weight) && self.counted.insert(weight.content) {
                next.push(weight);
            }
        }
        next
    }

    /// Returns true if a document may be nearer than the nearest so far.
    fn matters(&self, weight: &Weight) -> bool {
        self.nearest.as_ref().and_then(Match::similarity) <= Some(weight.promise.0)
    }

    /// Counts a document that was read, unless another one read with it is nearer.
    fn take(&mut self, weight: &Weight, told: Option<&Told>) {
        let Some(told) = told.filter(|told| told.content == Some(weight.content)) else {
            self.is_outdated = true;
            return;
        };
        if !self.matters(weight) {
            return;
        }
        let features = told.stored.document.sketch.features();
        match self.rule.count(self.document.sketch.features(), features) {
            Some(nearness) => self.offer(Match::new(weight.id.clone(), features.fingerprint(), nearness)),
            None => drop(self.far.insert(weight.content)),
        }
    }

    /// Compares the text stored under the document's own id.
    fn take_own(&mut self, digest: TextDigest, told: Option<Told>) {
        let Some(told) = told.filter(|told| told.text == Some(digest)) else {
            self.is_outdated = true;
            return;
        };
        let stored = told.stored.document.sketch.text();
        let texts = stored.zip(self.document.sketch.text());
        if texts.is_some_and(|(stored, text)| is_same_text(stored, text, self.rule.counter)) {
            self.own = Own::Same;
        }
    }
}

/// Compares the texts of documents whose ids exist with the same sketch and another text.
fn weigh_own(store: &RedisStore, scales: &mut [Scale<'_>]) -> Result<()> {
    let to_own = |scale| match scale {
        &mut Scale { own: Own::Text(digest), .. } => Some((scale, digest)),
        _ => None,
    };
    let mut own: Vec<_> = scales.iter_mut().filter_map(to_own).collect();
    for own in own.chunks_mut(AT_ONCE) {
        let ids: Vec<_> = own.iter().map(|(scale, _)| scale.document.id.clone()).collect();
        for ((scale, digest), told) in own.iter_mut().zip(told::read_each(store, &ids)?) {
            match told {
                // A damaged document has another text: the incoming document replaces it.
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                told => scale.take_own(*digest, told?),
            }
        }
    }
    Ok(())
}

/// Reads texts and counts, the most promising of each document first, until the rest makes no
/// difference.
fn weigh(store: &RedisStore, scales: &mut [Scale<'_>]) -> Result<()> {
    let mut n_each = FIRST;
    loop {
        let next = |(number, scale): (usize, &mut Scale<'_>)| {
            scale.next(n_each).into_iter().map(move |weight| (number, weight)).collect::<Vec<_>>()
        };
        let turn: Vec<(usize, Weight)> = scales.iter_mut().enumerate().flat_map(next).collect();
        if turn.is_empty() {
            return Ok(());
        }
        for part in turn.chunks(AT_ONCE) {
            // Several documents may have met the same one.
            let mut ids: Vec<_> = part.iter().map(|(_, weight)| weight.id.clone()).collect();
            ids.sort_unstable();
            ids.dedup();
            let told = told::read(store, &ids)?;
            let told: HashMap<_, _> = ids.iter().zip(told).collect();
            for (number, weight) in part {
                scales[*number].take(weight, told.get(&weight.id).and_then(Option::as_ref));
            }
        }
        n_each *= FIRST;
    }
}

/// The answers to the documents of a round, if no other writer comes in between.
struct Plan<'a> {
    store: &'a RedisStore,
    rule: &'a Rule,
    steps: Vec<Step>,
    /// The documents to be written, with their contents.
    news: Vec<(New<'a>, Option<Content>)>,
    /// The ids of the documents to be written.
    ids: HashSet<&'a DocumentId>,
    is_stopped: bool,
}

enum Step {
    Done(Insertion),
    /// The next document to be written.
    Write,
}

impl<'a> Plan<'a> {
    fn new(store: &'a RedisStore, rule: &'a Rule) -> Self {
        Self { store, rule, steps: Vec::new(), news: Vec::new(), ids: HashSet::new(), is_stopped: false }
    }

    /// Decides about the next document, as if those before it were written. Returns false if that
    /// cannot be known yet.
    fn decide(&mut self, mut scale: Scale<'a>) -> Result<bool> {
        let document = scale.document;
        self.is_stopped = scale.is_outdated;
        // Findings about an id written since then are of no use.
        let is_written = |id: &DocumentId| self.ids.contains(id);
        if scale.is_outdated || is_written(&document.id) || scale.met.iter().any(is_written) {
            return Ok(false);
        }
        if scale.own == Own::Same {
            self.steps.push(Step::Done(Insertion::Unchanged));
            return Ok(true);
        }
        for (new, content) in &self.news {
            self.hold_against(&mut scale, new.document, *content);
        }
        self.store.n_bounded.fetch_add(u64::from(scale.is_cut), Ordering::Relaxed);
        match scale.nearest {
            Some(found) => self.steps.push(Step::Done(Insertion::Duplicate(found))),
            None => {
                let text = document.sketch.text().map(TextDigest::of);
                let record = encode_record(document, text, Timestamp::MIN, &self.store.known()?.kind);
                let of_own = if let Own::Text(digest) = scale.own { Some(digest) } else { None };
                let new = New { document, of_own, counted: scale.far.into_iter().collect() };
                self.news.push((new, Content::of(&record, text)));
                self.ids.insert(&document.id);
                self.steps.push(Step::Write);
            }
        }
        Ok(true)
    }

    /// Compares a document with one written before it.
    fn hold_against(&self, scale: &mut Scale<'_>, other: &Document, content: Option<Content>) {
        let (a, b) = (&scale.document.sketch, &other.sketch);
        if !self.rule.proposes(a, b) {
            return;
        }
        let nearness = match self.rule.glance(a.features(), b.features()) {
            Glance::Far => return,
            Glance::Near(nearness) => Some(nearness),
            Glance::Worth { .. } => self.rule.count(a.features(), b.features()),
        };
        match nearness {
            Some(nearness) => scale.offer(Match::new(other.id.clone(), b.fingerprint(), nearness)),
            None => scale.far.extend(content),
        }
    }

    /// Writes the documents to be written, and returns the answers up to the first one that has to
    /// wait; and true if another writer came in between.
    fn carry_out(self) -> Result<(Vec<Insertion>, bool)> {
        let Self { store, rule, steps, news, is_stopped, .. } = self;
        let news: Vec<_> = news.into_iter().map(|(new, _)| new).collect();
        let metadata = store.known()?;
        let write = |news: &[New<'_>]| {
            store.scripts.insert(&store.begun()?, metadata, news, Some(rule), &store.clock)
        };
        let mut written = Vec::with_capacity(news.len());
        // Every call gives some room back.
        if news.is_empty() && metadata.retain.is_some() {
            write(&[])?;
        }
        while written.len() < news.len() && !matches!(written.last(), Some(Written::Waits)) {
            written.extend(write(&news[written.len()..])?);
        }
        let mut insertions = Vec::with_capacity(steps.len());
        let mut written = written.into_iter();
        for step in steps {
            match step {
                Step::Done(insertion) => insertions.push(insertion),
                Step::Write => match written.next() {
                    Some(Written::Done(insertion)) => insertions.push(insertion),
                    Some(Written::Waits) | None => return Ok((insertions, true)),
                },
            }
        }
        Ok((insertions, is_stopped))
    }
}
