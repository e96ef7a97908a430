//! Everything that is made of what a deduplication decides.

use engine::dedup::Verdict;
use index::Index;

use super::duplicates::{Duplicate, Duplicates};
use super::groups::Groups;
use crate::clusters::Clusters;
use crate::kept::KeptOutput;
use crate::output::Lengths;
use crate::pairs::Pairs;
use crate::pipeline::Item;
use crate::rejects::Rejects;
use crate::report::{Counts, Deduplicated};
use crate::report_file::Findings;
use crate::table::Table;

/// What is made of the verdicts, which come in the order of the input.
pub(crate) struct Results {
    pub(crate) output: Option<KeptOutput>,
    pub(crate) duplicates: Option<Table<Duplicates>>,
    pub(crate) groups: Option<Groups>,
    pub(crate) findings: Option<Findings>,
    pub(crate) clusters: Option<Clusters>,
    pub(crate) pairs: Option<Pairs>,
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
                // Of an id of this run the same text came before.
                let is_unchanged = of.id == item.document.id && !of.in_this_run;
                if let Some(n_unchanged) = &mut self.counts.n_unchanged {
                    *n_unchanged += u64::from(is_unchanged);
                }
                if let Some(table) = &mut self.duplicates {
                    table.add(Duplicate {
                        id: &item.document.id,
                        fingerprint: *fingerprint,
                        of: &of.id,
                        of_fingerprint: of.fingerprint,
                        nearness: of.nearness,
                    })?;
                }
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
        if let Some(pairs) = &mut self.pairs {
            pairs.add(&item.document);
        }
        Ok(())
    }

    /// Makes the files durable and adds how long they are.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        self.output.as_mut().map_or(Ok(()), |output| output.checkpoint(lengths))?;
        self.duplicates.as_mut().map_or(Ok(()), |table| table.checkpoint(lengths))
    }

    /// Puts the files in their places. Clusters need the index.
    pub(crate) fn finish(&mut self, rejects: &Rejects, index: Option<&Index>) -> anyhow::Result<Counts> {
        if let Some(findings) = &mut self.findings {
            findings.add_reasons(rejects.reasons());
        }
        if let Some(clusters) = self.clusters.take() {
            self.counts.clusters = Some(clusters.finish(index)?);
        }
        self.pairs.take().map_or(Ok(()), Pairs::finish)?;
        // What is kept comes last: where it is, the rest is.
        self.duplicates.take().map_or(Ok(()), Table::finish)?;
        self.output.take().map_or(Ok(()), KeptOutput::finish)?;
        Ok(Counts::Deduplicated(self.counts))
    }
}
