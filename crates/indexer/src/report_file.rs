//! The report of a deduplication as a file: JSON for programs, a page for people. Both say the same.
//!
//! The fields of the JSON are the fields here. A field that is added leaves [`VERSION`] as it is; one that is removed, or
//! means something else, raises it.

mod biggest;
mod doubtful;
mod findings;
mod page;
mod reporting;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use ::page::Part;
use corpus::LeftOut;
use serde::Serialize;

pub(crate) use self::doubtful::HowDropped;
pub(crate) use self::findings::{EXCERPT_COLUMNS, Findings};
pub(crate) use self::reporting::Reporting;
use crate::output::{Output, Role, Written};

/// Of the format of the JSON.
pub(crate) const VERSION: u32 = 1;

/// How many endings of files that were left out are listed.
const ENDINGS_MAX: usize = 100;

/// All that a report says.
#[derive(Debug, Serialize)]
pub(crate) struct ReportFile {
    pub(crate) version: u32,
    /// Name and version of what wrote it.
    pub(crate) program: &'static str,
    /// When the run was over, as in 2026-01-31T12:00:00.000Z.
    pub(crate) finished_at: String,
    pub(crate) seconds: f64,
    pub(crate) counts: Counts,
    /// Bytes of UTF-8 of the texts of all documents, and of those that were dropped.
    pub(crate) text_bytes: u64,
    pub(crate) text_bytes_dropped: u64,
    /// Of the documents read, those that had nothing to be ranked by; null where the first ones stay.
    pub(crate) unranked: Option<u64>,
    pub(crate) inputs: Inputs,
    pub(crate) options: Options,
    /// What is to be looked at first.
    pub(crate) doubtful: Doubtful,
    /// How many documents were dropped at each distance from the kept one, from 0 to the index's distance or the greatest of them.
    pub(crate) distances: Vec<Distance>,
    /// How many were dropped at each similarity to the kept one, the most similar first; none where the index does not verify.
    pub(crate) similarities: Vec<Similar>,
    /// The most frequent kinds of reasons; in them N stands for a number and … for what was quoted.
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) groups: Groups,
    /// Null where no clusters were asked for.
    pub(crate) clusters: Option<Clusters>,
    pub(crate) repeats: Repeats,
}

/// As they are printed: `read` is the sum of the others, but for those that are of the duplicates.
#[derive(Debug, Serialize)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) kept: u64,
    pub(crate) duplicates: u64,
    /// Of the duplicates, those of their own earlier versions; only with `--known-ids compare`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unchanged: Option<u64>,
    /// Of the duplicates, records that came again under their ids, with the same texts.
    pub(crate) same_id: u64,
    /// Of the duplicates, those with other numbers than the document that stays.
    pub(crate) numbers_differ: u64,
    /// Of the duplicates, those of which a fifth or more is in no document that stays for them.
    pub(crate) text_lost: u64,
    /// Of the duplicates, parts of documents that stay; only with `--contained`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<u64>,
    /// Kept too.
    pub(crate) no_features: u64,
    pub(crate) rejected: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Inputs {
    pub(crate) n: u64,
    /// The first of them.
    pub(crate) names: Vec<String>,
    /// What was found beside them and is not read.
    pub(crate) left_out: FilesLeftOut,
}

/// Files whose names do not say a known format.
#[derive(Debug, Serialize)]
pub(crate) struct FilesLeftOut {
    pub(crate) n: u64,
    /// What most of their names end in, with how many do.
    pub(crate) endings: Vec<Ending>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Ending {
    pub(crate) ending: String,
    pub(crate) n: u64,
}

impl From<&LeftOut> for FilesLeftOut {
    fn from(left_out: &LeftOut) -> Self {
        let endings = left_out.endings().into_iter().take(ENDINGS_MAX);
        let endings = endings.map(|(ending, n)| Ending { ending: ending.to_owned(), n }).collect();
        Self { n: left_out.n(), endings }
    }
}

/// What decided about what is a near-duplicate.
#[derive(Debug, Serialize)]
pub(crate) struct Options {
    /// Then nothing was written but reports.
    pub(crate) dry_run: bool,
    /// Which of near-duplicates stays, as `--keep` names it.
    pub(crate) keep: String,
    /// As `--known-ids` names it, where it is not `keep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known_ids: Option<&'static str>,
    /// Null for the usual one, or where no time is asked for.
    pub(crate) time_field: Option<String>,
    pub(crate) store: String,
    pub(crate) scheme: String,
    pub(crate) profile: &'static str,
    pub(crate) max_distance: u32,
    /// Null where the index does not verify.
    pub(crate) min_similarity: Option<f64>,
    /// Whether similarities are counted over the texts; they are estimates else.
    pub(crate) counted: bool,
    /// Whether documents with other numbers are other documents.
    pub(crate) same_numbers: bool,
    /// The least share of a document that makes it a part of another one, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<f64>,
    /// How texts become fingerprints.
    pub(crate) recipe: BTreeMap<String, String>,
}

/// What of a run is in doubt, of each kept document one pair in each list.
#[derive(Debug, Serialize)]
pub(crate) struct Doubtful {
    /// Signs that the run went wrong, as they were said on stderr.
    pub(crate) signs: Vec<String>,
    /// The dropped documents that are least similar to the kept ones, so nearest to the threshold.
    pub(crate) least_similar: Vec<Pair>,
    /// Dropped although the numbers differ; those in which least else differs first.
    pub(crate) numbers_differ: Worst,
    /// Dropped although a fifth or more of the text is in nothing that stays; the most text first.
    pub(crate) text_lost: Worst,
    /// Dropped as parts of documents that stay, those of which least stands there first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<Worst>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Worst {
    /// How many there are in all.
    pub(crate) n: u64,
    pub(crate) pairs: Vec<Pair>,
}

/// A dropped document and the kept one, from where the two begin to differ.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) kept: String,
    pub(crate) dropped: String,
    /// Null where the index does not verify.
    pub(crate) similarity: Option<f64>,
    /// Whether that was counted over both texts; it is an estimate else.
    pub(crate) exact: Option<bool>,
    pub(crate) distance: u32,
    /// What of each is in the other one.
    pub(crate) share_of_kept: Option<f64>,
    pub(crate) share_of_dropped: Option<f64>,
    pub(crate) numbers_differ: Option<bool>,
    /// Where they differ, and both texts are at hand.
    pub(crate) numbers: Option<Numbers>,
    /// Null where it was not at hand any more.
    pub(crate) text_kept: Option<String>,
    pub(crate) text_dropped: String,
    /// The same, with what differs.
    #[serde(skip)]
    pub(crate) parts: (Option<Vec<Part>>, Vec<Part>),
}

/// The numbers of two texts in their order, from the first on that differs.
#[derive(Debug, Serialize)]
pub(crate) struct Numbers {
    pub(crate) n_same_before: u64,
    pub(crate) kept: Vec<String>,
    pub(crate) dropped: Vec<String>,
    /// With some of those before, and with what differs.
    #[serde(skip)]
    pub(crate) parts: [Vec<Part>; 2],
}

#[derive(Debug, Serialize)]
pub(crate) struct Distance {
    pub(crate) distance: u32,
    pub(crate) n: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Similar {
    /// From this similarity on, up to .05 more; 1 for those that are the same.
    pub(crate) from: f64,
    pub(crate) n: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Rejected {
    pub(crate) reason: String,
    pub(crate) n: u64,
}

/// Each is a kept document with its duplicates.
#[derive(Debug, Serialize)]
pub(crate) struct Groups {
    pub(crate) n: u64,
    /// Those with the most duplicates, the biggest first.
    pub(crate) biggest: Vec<Group>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Group {
    /// The id of the kept document.
    pub(crate) kept: String,
    /// The beginning of its text; null where it was not at hand any more, or was in the index before.
    pub(crate) excerpt: Option<String>,
    pub(crate) n_duplicates: u64,
    /// The first duplicate at each similarity, in steps of .05, or at each distance.
    pub(crate) examples: Vec<Example>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) id: String,
    pub(crate) distance: u32,
    /// Null where the index does not verify.
    pub(crate) similarity: Option<f64>,
    pub(crate) excerpt: String,
}

/// Documents that hang together by being near, as in the file of `--clusters`.
#[derive(Debug, Serialize)]
pub(crate) struct Clusters {
    pub(crate) n: u64,
    /// Those in which two documents are not near each other.
    pub(crate) n_chained: u64,
    /// Whether those were split around the documents that stay, of which `n` counts the parts.
    pub(crate) split: bool,
}

/// Which sources repeat each other, or themselves. A document without a source counts by its file.
#[derive(Debug, Serialize)]
pub(crate) struct Repeats {
    /// False where there were too many different pairs to count them all; then the numbers may be too small.
    pub(crate) is_exact: bool,
    pub(crate) most: Vec<Repeat>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Repeat {
    pub(crate) kept_from: String,
    pub(crate) dropped_from: String,
    pub(crate) n: u64,
}

/// Where a report is to be written, and how.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: std::path::PathBuf,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Json,
    Page,
}

impl FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(path: &str) -> anyhow::Result<Self> {
        let form = match Role::Report.of(Path::new(path))? {
            Written::Page => Form::Page,
            _ => Form::Json,
        };
        Ok(Self { path: path.into(), form })
    }
}

impl Target {
    /// Writes the report into an `output` that was opened for it.
    pub(crate) fn write(&self, report: &ReportFile, mut output: Output) -> anyhow::Result<()> {
        let content = match self.form {
            Form::Json => serde_json::to_string_pretty(report)? + "\n",
            Form::Page => page::page(report),
        };
        output.write_all(content.as_bytes()).map_err(|error| output.failed(error))?;
        output.finish()
    }
}
