//! The tables as of one change: an image, and in memory what came after it.

use std::slice;

use heed::RoTxn;
use index::backend::search::Filed;
use index::{Error, Result, SketchKind};
use simhash::{Distance, Facet};
use tables::{Cost, Hit, Tables};

use super::header::are_stored;
use super::view::{Fault, View};
use super::{Filters, Header, Headers, Terms};
use crate::environment::Opened;
use crate::errors::{Failure, explain};

/// An image as it is used from one snapshot on.
#[derive(Debug)]
pub(crate) struct Image {
    /// From the lowest one on.
    layers: Vec<Layer>,
    /// The headers as they stood.
    stored: Vec<Vec<u8>>,
}

/// A layer in use.
#[derive(Debug)]
struct Layer {
    header: Header,
    filters: Filters,
}

impl Image {
    /// The image in a snapshot, with the filters of those layers that `before` has too.
    pub(crate) fn find(
        opened: &Opened,
        txn: &RoTxn<'_>,
        kind: &SketchKind,
        terms: &Terms,
        before: Option<Self>,
    ) -> Result<Self, Failure> {
        let Headers { sound, stored, .. } = super::find(opened, txn, terms)?;
        let mut before = before.map_or_else(Vec::new, |image| image.layers);
        before.retain(|layer| sound.contains(&layer.header));
        let n_bytes_held: u64 = before.iter().map(|layer| layer.filters.n_bytes_max()).sum();
        let mut n_bytes_left = terms.filter_bytes_max().saturating_sub(n_bytes_held);
        // The small layers come first: each costs a look-up as much, and they need less.
        let of_header = |header: Header| match before.pop_if(|layer| layer.header == header) {
            Some(layer) => layer,
            None => {
                let filters = Filters::new(&header, kind, n_bytes_left);
                n_bytes_left -= filters.n_bytes_max();
                Layer { header, filters }
            }
        };
        let mut layers: Vec<Layer> = sound.into_iter().rev().map(of_header).collect();
        layers.reverse();
        Ok(Self { layers, stored })
    }

    /// Returns true if the image in a snapshot is this one, and can be used.
    pub(crate) fn is_in(&self, opened: &Opened, txn: &RoTxn<'_>, terms: &Terms) -> Result<bool, heed::Error> {
        let refused = terms.refused();
        if self.layers.iter().any(|layer| layer.header.generation == refused) {
            return Ok(false);
        }
        match opened.image() {
            Some(_) => are_stored(&self.stored, opened, txn),
            None => Ok(self.layers.is_empty()),
        }
    }

    /// The change up to which the image holds everything, `None` where there is none.
    pub(crate) fn up_to(&self) -> Option<u64> {
        self.layers.last().map(|layer| layer.header.up_to)
    }

    /// The bytes of all filters.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.filters.heap_bytes()).sum()
    }
}

/// An image and the tables of later changes, in a snapshot.
pub(crate) struct Imaged<'a, 'txn> {
    pub(crate) image: &'a Image,
    pub(crate) later: &'a dyn Tables,
    pub(crate) opened: &'a Opened,
    pub(crate) txn: &'a RoTxn<'txn>,
    pub(crate) kind: &'a SketchKind,
    pub(crate) terms: &'a Terms,
}

impl Filed for Imaged<'_, '_> {
    /// A block that is damaged ends the search with an error, and its layer is refused from then
    /// on.
    fn near(
        &self,
        queries: &[&Facet],
        max_distance: Distance,
        visit: &mut dyn FnMut(Hit<'_>),
    ) -> Result<Cost> {
        let Some(blocks) = self.opened.image().filter(|_| !self.image.layers.is_empty()) else {
            return Ok(self.later.near(queries, max_distance, visit));
        };
        let Self { opened, txn, kind, .. } = *self;
        let mut cost = Cost::default();
        for (place, query) in queries.iter().enumerate() {
            cost += self.later.near(&[*query], max_distance, &mut |hit| {
                visit(Hit { query: place, ..hit });
            });
            for Layer { header, filters } in self.image.layers.iter().rev() {
                let view = View { header, filters, blocks, opened, txn, kind };
                let imaged = view.near(query, max_distance, &mut |number, fingerprint| {
                    let distance = fingerprint.distance(query.fingerprint());
                    visit(Hit { query: place, fingerprint, distance, numbers: slice::from_ref(&number) });
                });
                cost.n_candidates += imaged.map_err(|fault| self.explain(header, fault))?;
            }
        }
        Ok(cost)
    }
}

impl Imaged<'_, '_> {
    fn explain(&self, header: &Header, fault: Fault) -> Error {
        match fault {
            Fault::Lmdb(error) => explain(error),
            Fault::Damaged => {
                self.terms.refuse(header.generation, "it is damaged");
                Error::corrupt("the image of the search tables is damaged")
            }
        }
    }
}
