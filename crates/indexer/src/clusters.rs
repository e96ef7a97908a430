//! `dedup --clusters`: which documents hang together by near-duplicates, one line of JSON for each cluster.
//!
//! Nothing here decides what is dropped. Who is near to whom is known at the end of the run only, so until then the
//! documents are held, without their texts.

mod cluster;
mod documents;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use engine::clusters::Join;
use engine::dedup::Verdict;
use index::Index;

use self::cluster::{Cluster, Limits, Line};
use self::documents::Noted;
use crate::output::Output;
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
    output: Output,
    chains: Chains,
    limits: Limits,
    join: Join,
    documents: Noted,
}

impl Clusters {
    pub(crate) fn new(output: Output, chains: Chains, index: &Index) -> Self {
        Self { output, chains, limits: Limits::default(), join: Join::of(index), documents: Noted::default() }
    }

    /// Takes note of what became of a document.
    pub(crate) fn add(&mut self, document: &Fingerprinted, verdict: &Verdict) -> anyhow::Result<()> {
        match (document.fingerprint, verdict) {
            (Some(fingerprint), Verdict::Kept) => self.documents.add(&document.id, fingerprint, None),
            (_, Verdict::Duplicate { fingerprint, of }) => {
                self.documents.add(&document.id, *fingerprint, Some((&of.id, of.fingerprint)))
            }
            // Without features it is near to nothing.
            (None, Verdict::Kept) => Ok(()),
        }
    }

    /// Finds the clusters, writes them in the order of their first documents, and puts the file in its place.
    pub(crate) fn finish(self) -> anyhow::Result<Clustered> {
        let Self { mut output, chains, limits, join, documents } = self;
        let documents = documents.close();
        let is_split = chains == Chains::Split;
        let mut clustered = Clustered { n: 0, n_chained: 0, is_split };
        for members in join.components(documents.fingerprints()).iter() {
            let cluster = Cluster::new(&members, &documents, &join, limits);
            clustered.n_chained += u64::from(cluster.is_chained());
            if !(is_split && cluster.is_chained()) {
                clustered.n += 1;
                write(&cluster.line(None), &mut output)?;
                continue;
            }
            for piece in documents.by_centre(&members).iter() {
                clustered.n += 1;
                let piece = Cluster::new(&piece, &documents, &join, limits);
                write(&piece.line(Some(cluster.group())), &mut output)?;
            }
        }
        output.finish()?;
        Ok(clustered)
    }
}

fn write(line: &Line<'_>, output: &mut Output) -> anyhow::Result<()> {
    let written = serde_json::to_writer(&mut *output, line).map_err(io::Error::from);
    written.and_then(|()| output.write_all(b"\n")).map_err(|error| output.failed(error))
}
