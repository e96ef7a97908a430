//! Everything that is made of what a deduplication decides.

use std::io::Write;

use engine::dedup::{Original, Verdict};
use index::{DocumentId, Match};
use minhash::Similarity;
use serde_json::{Value, json};
use simhash::Fingerprint;

use super::groups::Groups;
use crate::clusters::Clusters;
use crate::kept::KeptOutput;
use crate::output::{Lengths, Output};
use crate::pipeline::Item;
use crate::rejects::Rejects;
use crate::report::{Counts, Deduplicated};
use crate::report_file::Findings;

/// What is made of the verdicts, which come in the order of the input.
pub(crate) struct Results {
    pub(crate) output: Option<KeptOutput>,
    pub(crate) duplicates: Option<Output>,
    pub(crate) groups: Option<Groups>,
    pub(crate) findings: Option<Findings>,
    pub(crate) clusters: Option<Clusters>,
    pub(crate) counts: Deduplicated,
}

impl Results {
    pub(crate) fn add(&mut self, item: &Item, verdict: &Verdict) -> anyhow::Result<()> {
        match verdict {
            Verdict::Kept => {
                if item.document.features.is_some() {
                    self.counts.n_kept += 1;
                } else {
                    self.counts.n_without_features += 1;
                }
                self.output.as_mut().map_or(Ok(()), |output| output.add(item))?;
            }
            Verdict::Duplicate { fingerprint, of } => {
                self.counts.n_duplicates += 1;
                self.write_duplicate(item, *fingerprint, of)?;
            }
        }
        if let Some(groups) = &mut self.groups {
            groups.add(&item.document, verdict);
        }
        if let Some(findings) = &mut self.findings {
            findings.add(item, verdict);
        }
        if let Some(clusters) = &mut self.clusters {
            clusters.add(&item.document, verdict)?;
        }
        Ok(())
    }

    /// Makes the files durable and adds how long they are.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        self.output.as_mut().map_or(Ok(()), |output| output.checkpoint(lengths))?;
        self.duplicates.as_mut().map_or(Ok(()), |output| output.checkpoint(lengths))
    }

    /// Puts the files in their places.
    pub(crate) fn finish(&mut self, rejects: &Rejects) -> anyhow::Result<Counts> {
        if let Some(findings) = &mut self.findings {
            findings.add_reasons(rejects.reasons());
        }
        if let Some(clusters) = self.clusters.take() {
            self.counts.clusters = Some(clusters.finish()?);
        }
        // What is kept comes last: where it is, the rest is.
        self.duplicates.take().map_or(Ok(()), Output::finish)?;
        self.output.take().map_or(Ok(()), KeptOutput::finish)?;
        Ok(Counts::Deduplicated(self.counts))
    }

    fn write_duplicate(
        &mut self,
        item: &Item,
        fingerprint: Fingerprint,
        of: &Original,
    ) -> anyhow::Result<()> {
        let Some(output) = &mut self.duplicates else { return Ok(()) };
        let of = Match::new(of.id.clone(), of.fingerprint, of.nearness);
        let line = duplicate_line(&item.document.id, fingerprint, &of);
        writeln!(output, "{line}").map_err(|error| output.failed(error))
    }
}

/// What is written of a document that is dropped.
pub(crate) fn duplicate_line(id: &DocumentId, fingerprint: Fingerprint, of: &Match) -> Value {
    let mut line = json!({
        "id": id.as_str(),
        "duplicate_of": of.id.as_str(),
        "fingerprint": fingerprint.to_string(),
        "duplicate_of_fingerprint": of.fingerprint.to_string(),
        "distance": of.distance.as_bits(),
    });
    if let Some(similarity) = of.similarity {
        line["similarity"] = four_decimals(similarity).into();
    }
    line
}

/// As it is shown: an estimate has no more.
pub(crate) fn four_decimals(similarity: Similarity) -> f64 {
    (similarity.get() * 1e4 + 1e-5).floor() / 1e4
}
