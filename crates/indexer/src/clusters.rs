//! `dedup --clusters`: groups of documents connected by near-duplicates.
//!
//! Clusters do not decide which documents are dropped. All near pairs are known only at the end of
//! the run, so until then the documents are held, without their texts; of a run in files those
//! alone that share a bucket with another one.

mod cluster;
mod documents;
mod file;
#[cfg(test)]
mod tests;

use engine::clusters::{Groups, Join, STEP_BYTES_A_GROUP, Texts};
use engine::dedup::Verdict;
use index::{Features, Index};

use self::cluster::{Cluster, Limits, Whole};
use self::documents::Noted;
pub(crate) use self::file::ClustersFile;
use crate::memory::Watch;
use crate::output::CLUSTERS;
use crate::pairs::say_bounded;
use crate::pipeline::Fingerprinted;
use crate::report::Clustered;

/// Treatment of chained clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chains {
    /// The cluster stays whole, and is marked as chained.
    Report,
    /// Each kept document makes a cluster with the documents dropped for it.
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

    /// Notes a document and its verdict.
    pub(crate) fn add(&mut self, document: &Fingerprinted, verdict: &Verdict) -> anyhow::Result<()> {
        // A document without features is near to none.
        let Some(features) = &document.features else { return Ok(()) };
        let dropped_for = match verdict {
            Verdict::Kept => None,
            Verdict::Duplicate { of, .. } => Some((&of.id, of.fingerprint)),
        };
        self.documents.add(&document.id, Features { text: None, ..features.clone() }, dropped_for)
    }

    /// Finds the clusters, writes them in the order of their first documents, and moves the file
    /// into its place. `index` has the earlier documents for which others were dropped; `texts` has
    /// the texts of the noted documents, in their order.
    pub(crate) fn finish(self, index: Option<&Index>, texts: &dyn Texts) -> anyhow::Result<Clustered> {
        let Self { mut file, chains, limits, join, documents } = self;
        Watch::new().check_step(documents.len() as u64 * STEP_BYTES_A_GROUP)?;
        let documents = documents.close(index)?;
        let texts = &documents.texts(index, texts);
        let is_split = chains == Chains::Split;
        let mut clustered = Clustered { n: 0, n_chained: 0, is_split };
        let groups = &Groups::counted(documents.features(), join.rule(), texts)?;
        let (parts, n_bounded) = join.components(groups, texts)?;
        let whole = Whole { documents: &documents, groups, join: &join, texts, limits };
        for members in parts.iter() {
            let cluster = Cluster::new(&members, whole)?;
            clustered.n_chained += u64::from(cluster.is_chained());
            if !(is_split && cluster.is_chained()) {
                clustered.n += 1;
                file.add(&cluster.line(None)?)?;
                continue;
            }
            for piece in documents.by_centre(&members).iter() {
                clustered.n += 1;
                let piece = Cluster::new(&piece, whole)?;
                file.add(&piece.line(Some(cluster.group()))?)?;
            }
        }
        file.finish()?;
        say_bounded(CLUSTERS, n_bounded);
        Ok(clustered)
    }
}
