//! `dedup --clusters`: which documents hang together by near-duplicates.
//!
//! Nothing here decides what is dropped. Who is near to whom is known at the end of the run only, so until then the
//! documents are held, without their texts.

mod cluster;
mod documents;
mod file;
#[cfg(test)]
mod tests;

use engine::clusters::{Groups, Join};
use engine::dedup::Verdict;
use index::Index;

use self::cluster::{Cluster, Limits};
use self::documents::Noted;
pub(crate) use self::file::ClustersFile;
use crate::pipeline::Fingerprinted;
use crate::report::Clustered;

/// What becomes of chained clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chains {
    /// It stays one, and says that it is chained.
    Report,
    /// Each document that stays makes a cluster with those dropped for it.
    Split,
}

pub(crate) struct Clusters {
    file: ClustersFile,
    chains: Chains,
    limits: Limits,
    join: Join,
    documents: Noted,
}

impl Clusters {
    pub(crate) fn new(file: ClustersFile, chains: Chains, index: &Index) -> Self {
        Self { file, chains, limits: Limits::default(), join: Join::of(index), documents: Noted::default() }
    }

    /// Takes note of what became of a document.
    pub(crate) fn add(&mut self, document: &Fingerprinted, verdict: &Verdict) -> anyhow::Result<()> {
        // Without features it is near to nothing.
        let Some(features) = &document.features else { return Ok(()) };
        let dropped_for = match verdict {
            Verdict::Kept => None,
            Verdict::Duplicate { of, .. } => Some((&of.id, of.fingerprint)),
        };
        self.documents.add(&document.id, features.clone(), dropped_for)
    }

    /// Finds the clusters, writes them in the order of their first documents, and puts the file in its place. The index has
    /// what documents were dropped for that it had before.
    pub(crate) fn finish(self, index: Option<&Index>) -> anyhow::Result<Clustered> {
        let Self { mut file, chains, limits, join, documents } = self;
        let documents = documents.close(index)?;
        let is_split = chains == Chains::Split;
        let mut clustered = Clustered { n: 0, n_chained: 0, is_split };
        for members in join.components(&Groups::new(documents.features())).iter() {
            let cluster = Cluster::new(&members, &documents, &join, limits);
            clustered.n_chained += u64::from(cluster.is_chained());
            if !(is_split && cluster.is_chained()) {
                clustered.n += 1;
                file.add(&cluster.line(None))?;
                continue;
            }
            for piece in documents.by_centre(&members).iter() {
                clustered.n += 1;
                let piece = Cluster::new(&piece, &documents, &join, limits);
                file.add(&piece.line(Some(cluster.group())))?;
            }
        }
        file.finish()?;
        Ok(clustered)
    }
}
