//! The file of `--clusters`: a line for each cluster, or in a table a row for each document.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use simhash::Fingerprint;

use super::cluster::{Line, Member};
use crate::output::{CLUSTERS, Output, Role, Written};
use crate::table::{Columns, Schema, Table};

pub(crate) enum ClustersFile {
    Lines(Output),
    Table(Table<Documents>),
}

pub(crate) enum Documents {}

/// A document of a cluster.
#[derive(Clone, Copy)]
pub(crate) struct InCluster<'a> {
    cluster: &'a Line<'a>,
    fingerprint: Fingerprint,
    document: &'a Member<'a>,
}

impl Schema for Documents {
    type Row<'a> = InCluster<'a>;

    const ROLE: Role = Role::Clusters;
    const OPTION: &'static str = CLUSTERS;

    fn columns<'a>(to: &mut impl Columns<'a, InCluster<'a>>) {
        to.column("group", |row| row.cluster.group);
        to.column("id", |row| row.document.id);
        to.column("status", |row| row.document.status.name());
        to.column("fingerprint", |row| row.fingerprint);
        to.column("split_from", |row| row.cluster.split_from);
        to.column("chained", |row| row.cluster.chained);
        to.column("n_documents", |row| row.cluster.n_documents as u64);
        to.column("n_edges", |row| row.cluster.n_edges);
        to.column("widest_a", |row| row.cluster.widest.as_ref().map(|widest| widest.between[0]));
        to.column("widest_b", |row| row.cluster.widest.as_ref().map(|widest| widest.between[1]));
        to.column("widest_distance", |row| {
            row.cluster.widest.as_ref().map(|widest| u64::from(widest.distance))
        });
        to.column("widest_similarity", |row| {
            row.cluster.widest.as_ref().and_then(|widest| widest.similarity)
        });
        to.column("widest_at_least", |row| row.cluster.widest.as_ref().map(|widest| widest.at_least));
    }
}

impl ClustersFile {
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let written =
            Documents::ROLE.of(path).with_context(|| format!("{} cannot be written", path.display()))?;
        match written {
            Written::JsonLines => Output::create(path).map(Self::Lines),
            _ => Table::open(path, None).map(Self::Table),
        }
    }

    pub(super) fn add(&mut self, cluster: &Line<'_>) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => {
                let written = serde_json::to_writer(&mut *output, cluster).map_err(io::Error::from);
                written.and_then(|()| output.write_all(b"\n")).map_err(|error| output.failed(error))
            }
            Self::Table(table) => cluster.nodes.iter().try_for_each(|node| {
                let fingerprint = node.fingerprint;
                let mut documents = node.documents.iter();
                documents.try_for_each(|document| table.add(InCluster { cluster, fingerprint, document }))
            }),
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => output.finish(),
            Self::Table(table) => table.finish(),
        }
    }
}
