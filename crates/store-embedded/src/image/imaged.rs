//! The tables as of one change: an image, and in memory what came after it.

use std::slice;

use heed::RoTxn;
use index::backend::search::Filed;
use index::{Error, Result, SketchKind};
use simhash::{Distance, Facet};
use tables::{Cost, Hit, Tables};

use super::view::{Fault, View};
use super::{Filters, Header, Terms};
use crate::environment::Opened;
use crate::errors::explain;

/// An image and the tables of later changes, in a snapshot.
pub(crate) struct Imaged<'a, 'txn> {
    image: Option<View<'a, 'txn>>,
    later: &'a dyn Tables,
    terms: &'a Terms,
}

impl<'a, 'txn> Imaged<'a, 'txn> {
    /// The tables `later` alone where there is no image.
    pub(crate) fn new(
        image: Option<&'a (Header, Filters)>,
        later: &'a dyn Tables,
        opened: &'a Opened,
        txn: &'a RoTxn<'txn>,
        kind: &'a SketchKind,
        terms: &'a Terms,
    ) -> Self {
        let view = |((header, filters), blocks): (&'a (Header, Filters), _)| View {
            header,
            filters,
            blocks,
            opened,
            txn,
            kind,
        };
        Self { image: image.zip(opened.image()).map(view), later, terms }
    }
}

impl Filed for Imaged<'_, '_> {
    /// A block that is damaged ends the search with an error, and its image is refused from then
    /// on.
    fn near(
        &self,
        queries: &[&Facet],
        max_distance: Distance,
        visit: &mut dyn FnMut(Hit<'_>),
    ) -> Result<Cost> {
        let Some(image) = &self.image else { return Ok(self.later.near(queries, max_distance, visit)) };
        let mut cost = Cost::default();
        for (place, query) in queries.iter().enumerate() {
            cost += self.later.near(&[*query], max_distance, &mut |hit| {
                visit(Hit { query: place, ..hit });
            });
            let imaged = image.near(query, max_distance, &mut |number, fingerprint| {
                let distance = fingerprint.distance(query.fingerprint());
                visit(Hit { query: place, fingerprint, distance, numbers: slice::from_ref(&number) });
            });
            cost.n_candidates += imaged.map_err(|fault| self.explain(image, fault))?;
        }
        Ok(cost)
    }
}

impl Imaged<'_, '_> {
    fn explain(&self, image: &View<'_, '_>, fault: Fault) -> Error {
        match fault {
            Fault::Lmdb(error) => explain(error),
            Fault::Damaged => {
                self.terms.refuse(image.header.generation, "it is damaged");
                Error::corrupt("the image of the search tables is damaged")
            }
        }
    }
}
