//! The reports of a deduplication as files: opened before the run, so that it does not fail at its end, and written then.

use std::path::Path;

use index::{Clock, Index};

use super::dedup::DedupOptions;
use super::findings::Findings;
use crate::job::Job;
use crate::output::Output;
use crate::report::{Clustered, Deduplicated, Report};
use crate::report_file::{Clusters, Counts, Inputs, Options, ReportFile, Target, VERSION};

/// Inputs that a report names.
const INPUTS_SHOWN: usize = 100;

pub(super) struct Reporting {
    targets: Vec<(Target, Output)>,
    inputs: Inputs,
    options: Options,
}

impl Reporting {
    pub(super) fn new(options: &DedupOptions, job: &Job, store: &str, index: &Index) -> anyhow::Result<Self> {
        let open = |target: &Target| Ok((target.clone(), Output::create(&target.path)?));
        let targets = options.report.iter().map(open).collect::<anyhow::Result<_>>()?;
        let names: Vec<&Path> = job.inputs().collect();
        let shown = names.iter().take(INPUTS_SHOWN).map(|name| name.display().to_string());
        Ok(Self {
            targets,
            inputs: Inputs { n: names.len() as u64, names: shown.collect(), left_out: job.left_out().into() },
            options: Options {
                dry_run: options.dry_run,
                keep: options.keep.to_string(),
                time_field: options.time_field.as_ref().map(|field| field.given().to_owned()),
                store: store.to_owned(),
                scheme: index.scheme().name().to_owned(),
                max_distance: index.max_distance(),
                recipe: index.recipe().clone(),
            },
        })
    }

    pub(super) fn write(
        self,
        report: &Report,
        counts: Deduplicated,
        findings: &Findings,
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
                no_features: counts.n_without_features,
                rejected: report.n_rejected,
            },
            text_bytes: report.n_text_bytes,
            text_bytes_dropped: findings.n_text_bytes_dropped,
            unranked: counts.n_unranked,
            inputs: self.inputs,
            options: self.options,
            distances: findings.distances(),
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
