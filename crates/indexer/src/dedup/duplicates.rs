//! `--duplicates`: a row for each dropped document.

use index::{DocumentId, Nearness};
use minhash::Similarity;
use simhash::Fingerprint;

use crate::output::{DUPLICATES, Role};
use crate::table::{Columns, Schema};

pub(crate) enum Duplicates {}

/// A document, and the one for which it is dropped.
#[derive(Clone, Copy)]
pub(crate) struct Duplicate<'a> {
    pub(crate) id: &'a DocumentId,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) of: &'a DocumentId,
    pub(crate) of_fingerprint: Fingerprint,
    pub(crate) nearness: Nearness,
    /// True if it is dropped only because the other one contains it; `None` unless containment
    /// decides.
    pub(crate) contained: Option<bool>,
}

fn share(nearness: &Nearness, side: usize) -> Option<f64> {
    nearness.shares.map(|shares| shares[side].four_decimals())
}

impl Schema for Duplicates {
    type Row<'a> = Duplicate<'a>;

    const ROLE: Role = Role::Duplicates;
    const OPTION: &'static str = DUPLICATES;

    fn columns<'a>(to: &mut impl Columns<'a, Duplicate<'a>>) {
        to.column("id", |row| row.id.as_str());
        to.column("duplicate_of", |row| row.of.as_str());
        to.column("fingerprint", |row| row.fingerprint);
        to.column("duplicate_of_fingerprint", |row| row.of_fingerprint);
        to.column("distance", |row| row.nearness.distance);
        to.column("similarity", |row| row.nearness.similarity.map(Similarity::four_decimals));
        to.column("exact", |row| row.nearness.similarity.map(|_| row.nearness.exact));
        to.column("numbers_differ", |row| row.nearness.numbers_differ);
        to.column("share_of_a", |row| share(&row.nearness, 0));
        to.column("share_of_b", |row| share(&row.nearness, 1));
        to.column("contained", |row| row.contained);
    }
}
