//! Pairs of near documents as files have them; and `dedup --pairs`: which documents of the run are near to each other, every pair
//! once.
//!
//! Those of a run are known at its end only, so until then the documents are held, without their texts.

use engine::clusters::{Groups, Join};
use engine::join::NearPair;
use index::{DocumentId, Features, Index, Nearness};
use minhash::Similarity;
use simhash::Distance;

use crate::output::{PAIRS, Role};
use crate::pipeline::Fingerprinted;
use crate::table::{Columns, Schema, Table};

pub(crate) enum PairsFile {}

/// Two documents: those of a run the first of the input first, those of an index the lesser id.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    a: &'a DocumentId,
    b: &'a DocumentId,
    nearness: Nearness,
}

impl<'a> From<NearPair<'a>> for Pair<'a> {
    fn from(NearPair { a, b, nearness }: NearPair<'a>) -> Self {
        Self { a, b, nearness }
    }
}

impl Schema for PairsFile {
    type Row<'a> = Pair<'a>;

    const ROLE: Role = Role::Pairs;
    const OPTION: &'static str = PAIRS;

    fn columns<'a>(to: &mut impl Columns<'a, Pair<'a>>) {
        to.column("a", |row| row.a.as_str());
        to.column("b", |row| row.b.as_str());
        to.column("similarity", |row| row.nearness.similarity.map(Similarity::four_decimals));
        to.column("distance", |row| row.nearness.distance);
    }
}

pub(crate) struct Pairs {
    table: Table<PairsFile>,
    join: Join,
    ids: Vec<DocumentId>,
    features: Vec<Features>,
}

impl Pairs {
    pub(crate) fn new(table: Table<PairsFile>, index: &Index) -> Self {
        Self { table, join: Join::of(index), ids: Vec::new(), features: Vec::new() }
    }

    /// Takes note of a document, kept or dropped. One without features is near to nothing.
    pub(crate) fn add(&mut self, document: &Fingerprinted) {
        if let Some(features) = &document.features {
            self.ids.push(document.id.clone());
            self.features.push(features.clone());
        }
    }

    /// Finds the pairs, writes them as they are found, and puts the file in its place.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let Self { mut table, join, ids, features } = self;
        let groups = Groups::new(&features);
        let mut outcome = Ok(());
        let mut write = |a: u32, b: u32, nearness: Nearness| {
            if outcome.is_ok() {
                let [a, b] = [a.min(b), a.max(b)].map(|document| &ids[document as usize]);
                outcome = table.add(Pair { a, b, nearness });
            }
        };
        for group in 0..groups.len() {
            let members = groups.members(group);
            let similarity = groups.features(group).signature.as_ref().map(|_| Similarity::ONE);
            let same = Nearness { similarity, distance: Distance::ZERO };
            for (at, &a) in members.iter().enumerate() {
                members[at + 1..].iter().for_each(|&b| write(a, b, same));
            }
        }
        join.pairs(&groups, &mut |pair| {
            for &a in groups.members(pair.first) {
                groups.members(pair.second).iter().for_each(|&b| write(a, b, pair.nearness));
            }
        });
        outcome?;
        table.finish()
    }
}
