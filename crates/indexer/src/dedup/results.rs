//! Outputs of a deduplication.

use anyhow::Context;
use engine::clusters::{NoTexts, RunTexts, STEP_BYTES_A_GROUP, Texts};
use engine::dedup::{Original, Verdict};
use index::{Index, Rule};

use super::doubts::Doubts;
use super::duplicates::{Duplicate, Duplicates};
use super::groups::Groups;
use crate::clusters::Clusters;
use crate::kept::KeptOutput;
use crate::memory;
use crate::output::Lengths;
use crate::pairs::Pairs;
use crate::pipeline::Item;
use crate::rejects::Rejects;
use crate::report::{Counts, Deduplicated};
use crate::report_file::{Findings, HowDropped};
use crate::table::Table;

/// Least share of a dropped document's text absent from the kept one for the document to count as
/// losing text.
const TEXT_LOST_MIN: f64 = 0.2;

/// Returns true if a document repeats the record that stays, which came earlier in this run.
fn is_repeated(item: &Item, of: &Original) -> bool {
    of.in_this_run && of.id == item.document.id
}

/// The part of a document in what joins documents: clusters, pairs and findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joins {
    /// The document may be near to others.
    Yes,
    /// The document is known to be near to none.
    No,
}

/// Consumer of the verdicts, which come in the order of the input.
pub(crate) struct Results {
    /// The rule of the index.
    pub(crate) by: Rule,
    pub(crate) output: Option<KeptOutput>,
    pub(crate) duplicates: Option<Table<Duplicates>>,
    pub(crate) groups: Option<Groups>,
    pub(crate) findings: Option<Findings>,
    pub(crate) clusters: Option<Clusters>,
    pub(crate) pairs: Option<Pairs>,
    /// Texts of all documents with features that join, in the order of the input; `None` unless
    /// clusters or pairs are counted.
    pub(crate) texts: Option<RunTexts>,
    pub(crate) counts: Deduplicated,
    pub(crate) doubts: Doubts,
}

impl Results {
    pub(crate) fn add(&mut self, item: &Item, verdict: &Verdict, joins: Joins) -> anyhow::Result<()> {
        let mut how = HowDropped::default();
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
                self.doubts.add(of);
                // A repeated id of this run had the same text before.
                let is_unchanged = of.id == item.document.id && !of.in_this_run;
                if let Some(n_unchanged) = &mut self.counts.n_unchanged {
                    *n_unchanged += u64::from(is_unchanged);
                }
                let lost = of.nearness.shares.map_or(0.0, |[of_this, _]| 1.0 - of_this.get());
                how.is_contained = self.by.is_contained(&of.nearness);
                how.loses_text = lost >= TEXT_LOST_MIN;
                // Contained documents count, too: the counts do not tell missing numbers from
                // different ones.
                self.counts.n_numbers_differ += u64::from(of.nearness.numbers_differ == Some(true));
                self.counts.n_text_lost += u64::from(how.loses_text);
                self.counts.n_contained += u64::from(how.is_contained);
                if is_repeated(item, of) {
                    // The document is the one that stays, near to itself in no other way.
                    self.counts.n_repeated += 1;
                    return Ok(());
                }
                if let Some(table) = &mut self.duplicates {
                    table.add(Duplicate {
                        id: &item.document.id,
                        fingerprint: *fingerprint,
                        of: &of.id,
                        of_fingerprint: of.fingerprint,
                        nearness: of.nearness,
                        contained: self.by.contained.map(|_| how.is_contained),
                    })?;
                }
            }
        }
        if let Some(groups) = &mut self.groups {
            groups.add(&item.document, verdict);
        }
        if let Some(findings) = &mut self.findings {
            findings.add(item, verdict, how, joins == Joins::No);
        }
        if joins == Joins::No {
            return Ok(());
        }
        if let (Some(texts), Some(features)) = (&mut self.texts, &item.document.features) {
            texts.push(features.text.as_ref())?;
        }
        if let Some(clusters) = &mut self.clusters {
            clusters.add(&item.document, verdict)?;
        }
        if let Some(pairs) = &mut self.pairs {
            pairs.add(&item.document);
        }
        Ok(())
    }

    /// Hands lines on to a program that reads them meanwhile.
    pub(crate) fn hand_on(&mut self) -> anyhow::Result<()> {
        self.output.as_mut().map_or(Ok(()), KeptOutput::hand_on)?;
        self.duplicates.as_mut().map_or(Ok(()), Table::hand_on)
    }

    /// Makes the files durable and adds their lengths.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        self.output.as_mut().map_or(Ok(()), |output| output.checkpoint(lengths))?;
        self.duplicates.as_mut().map_or(Ok(()), |table| table.checkpoint(lengths))
    }

    /// Returns true if an output needs the features of documents that may be near to others.
    pub(crate) fn reads_features(&self) -> bool {
        self.clusters.is_some() || self.pairs.is_some() || self.findings.is_some()
    }

    /// Returns true if an output needs the texts of documents.
    pub(crate) fn reads_texts(&self) -> bool {
        self.texts.is_some() || self.findings.is_some()
    }

    /// Moves the files into their places. Clusters and reports need the index.
    pub(crate) fn finish(&mut self, rejects: &Rejects, index: Option<&Index>) -> anyhow::Result<Counts> {
        if let Some(findings) = &mut self.findings {
            findings.add_reasons(rejects.reasons());
            index.map_or(Ok(()), |index| findings.read_texts(index)).context("failed to read the index")?;
        }
        let mut texts = self.texts.take();
        if let Some(texts) = &mut texts {
            texts.set_cache(memory::cache(texts.len() as u64 * STEP_BYTES_A_GROUP));
        }
        let texts: &dyn Texts = texts.as_ref().map_or(&NoTexts, |texts| texts);
        if let Some(clusters) = self.clusters.take() {
            self.counts.clusters = Some(clusters.finish(index, texts)?);
        }
        self.doubts.say_swallowing(&self.counts);
        self.pairs.take().map_or(Ok(()), |pairs| pairs.finish(texts))?;
        // Kept documents come last: once their file is there, all other files are.
        self.duplicates.take().map_or(Ok(()), Table::finish)?;
        self.output.take().map_or(Ok(()), KeptOutput::finish)?;
        Ok(Counts::Deduplicated(self.counts))
    }
}
