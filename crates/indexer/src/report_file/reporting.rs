//! The report files of a deduplication: opened before the run, where errors cost least, and written
//! at its end.

use std::path::Path;

use index::Clock;

use super::findings::Findings;
use super::{Clusters, Counts, Inputs, Options, ReportFile, Target, VERSION};
use crate::job::Job;
use crate::output::Output;
use crate::report::{Clustered, Deduplicated, Report};

/// Inputs named in a report.
const INPUTS_SHOWN: usize = 100;

pub(crate) struct Reporting {
    targets: Vec<(Target, Output)>,
    inputs: Inputs,
    options: Options,
}

impl Reporting {
    pub(crate) fn new(targets: &[Target], job: &Job, options: Options) -> anyhow::Result<Self> {
        let open = |target: &Target| Ok((target.clone(), Output::create(&target.path)?));
        let targets = targets.iter().map(open).collect::<anyhow::Result<_>>()?;
        let names: Vec<&Path> = job.inputs().collect();
        let shown = names.iter().take(INPUTS_SHOWN).map(|name| name.display().to_string());
        let inputs =
            Inputs { n: names.len() as u64, names: shown.collect(), left_out: job.left_out().into() };
        Ok(Self { targets, inputs, options })
    }

    pub(crate) fn write(
        self,
        report: &Report,
        counts: Deduplicated,
        findings: &Findings,
        signs: &[String],
    ) -> anyhow::Result<()> {
        let file = ReportFile {
            version: VERSION,
            program: concat!("indexer ", env!("CARGO_PKG_VERSION")),
            finished_at: Clock::system().now().to_string(),
            seconds: report.time.as_secs_f64(),
            counts: Counts {
                read: report.n_read,
                kept: counts.n_kept,
                duplicates: counts.n_duplicates,
                unchanged: counts.n_unchanged,
                same_id: counts.n_repeated,
                numbers_differ: counts.n_numbers_differ,
                text_lost: counts.n_text_lost,
                contained: self.options.contained.map(|_| counts.n_contained),
                no_features: counts.n_without_features,
                rejected: report.n_rejected,
                passed_over: report.n_passed_over,
                whole_pages: report.n_whole_pages,
            },
            text_bytes: report.n_text_bytes,
            text_bytes_dropped: findings.n_text_bytes_dropped,
            unranked: counts.n_unranked,
            inputs: self.inputs,
            doubtful: findings.doubtful(&counts, self.options.contained.is_some(), signs),
            options: self.options,
            distances: findings.distances(),
            similarities: findings.similarities(),
            rejected: findings.rejected(),
            groups: findings.groups(),
            clusters: counts.clusters.map(|Clustered { n, n_chained, is_split }| Clusters {
                n,
                n_chained,
                split: is_split,
            }),
            repeats: findings.repeats(),
        };
        self.targets.into_iter().try_for_each(|(target, output)| target.write(&file, output))
    }
}
