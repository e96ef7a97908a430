//! Rows of near pairs, and `dedup --pairs`: all pairs of near documents of a run, each pair once.
//!
//! The pairs of a run are known only at its end, so until then the documents are held, without
//! their texts; of a run in files those alone that share a bucket with another one.

use engine::clusters::{COMPARED_MAX, CROWD_MIN, Groups, Join, STEP_BYTES_A_GROUP, TextPair, Texts};
use engine::join::NearPair;
use index::{DocumentId, Features, Index, Nearness};
use minhash::Similarity;

use crate::memory::Watch;
use crate::numbers::Grouped;
use crate::output::{PAIRS, Role};
use crate::pipeline::Fingerprinted;
use crate::progress::complain;
use crate::table::{Columns, Schema, Table};

pub(crate) enum PairsFile {}

/// Two near documents: of a run, the one that is first in the input; of an index, the one with the
/// lesser id first.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    a: &'a DocumentId,
    b: &'a DocumentId,
    nearness: Nearness,
    /// The document of which `b` is a copy, if known.
    copy_of: Option<&'a DocumentId>,
}

impl<'a> From<NearPair<'a>> for Pair<'a> {
    fn from(NearPair { a, b, nearness }: NearPair<'a>) -> Self {
        Self { a, b, nearness, copy_of: None }
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
        to.column("exact", |row| row.nearness.similarity.map(|_| row.nearness.exact));
        to.column("numbers_differ", |row| row.nearness.numbers_differ);
        to.column("share_of_a", |row| row.nearness.shares.map(|[a, _]| a.four_decimals()));
        to.column("share_of_b", |row| row.nearness.shares.map(|[_, b]| b.four_decimals()));
        to.column("copy_of", |row| row.copy_of.map(DocumentId::as_str));
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

    /// Notes a document, kept or dropped. A document without features is near to none.
    pub(crate) fn add(&mut self, document: &Fingerprinted) {
        if let Some(features) = &document.features {
            self.ids.push(document.id.clone());
            self.features.push(Features { text: None, ..features.clone() });
        }
    }

    /// Finds the pairs, writes them as found, and moves the file into its place. `texts` has the
    /// texts of the added documents, in their order.
    ///
    /// First come the copies, each paired with the first document of the same text; then the pairs
    /// of documents that are no copies.
    pub(crate) fn finish(self, texts: &dyn Texts) -> anyhow::Result<()> {
        let Self { mut table, join, ids, features } = self;
        Watch::new().check_step(features.len() as u64 * STEP_BYTES_A_GROUP)?;
        let groups = Groups::counted(&features, join.rule(), texts)?;
        let compared =
            join.text_pairs(&groups, texts, &mut |TextPair { first, second, nearness, is_copy }| {
                let [a, b] = [first, second].map(|document| &ids[document as usize]);
                table.add(Pair { a, b, nearness, copy_of: is_copy.then_some(a) })
            })?;
        table.finish()?;
        say_bounded(PAIRS, compared.n_bounded);
        Ok(())
    }
}

/// Reports the number of texts for which not all pairs were compared.
pub(crate) fn say_bounded(option: &str, n_bounded: usize) {
    if n_bounded > 0 {
        complain(format_args!(
            "{option}: {} different texts share a bucket with more than {} others each, as near-equal texts do and texts that \
             begin alike; of those each was compared with the {COMPARED_MAX} before it that promise most, and with all other \
             texts; indexer pairs, of an index of the same texts, lists what is missing so",
            Grouped(n_bounded as u64),
            Grouped(CROWD_MIN as u64)
        ));
    }
}
