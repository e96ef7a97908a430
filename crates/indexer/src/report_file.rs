//! The report file of a deduplication: JSON for programs, a page for people, with the same content.
//!
//! The fields of the JSON are the fields here. An added field leaves [`VERSION`] as it is; a
//! removed field or a new meaning raises it.

mod biggest;
mod doubtful;
mod findings;
mod page;
mod reporting;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use corpus::LeftOut;
use program::page::Part;
use serde::Serialize;

pub(crate) use self::doubtful::HowDropped;
pub(crate) use self::findings::{EXCERPT_COLUMNS, Findings};
pub(crate) use self::reporting::Reporting;
use crate::numbers::is_zero;
use crate::output::{Output, Role, Written};

/// Version of the JSON format.
pub(crate) const VERSION: u32 = 1;

/// Bound on the listed suffixes of files left out.
const ENDINGS_MAX: usize = 100;

/// The content of a report.
#[derive(Debug, Serialize)]
pub(crate) struct ReportFile {
    pub(crate) version: u32,
    /// Name and version of the program.
    pub(crate) program: &'static str,
    /// End of the run, as in 2026-01-31T12:00:00.000Z.
    pub(crate) finished_at: String,
    pub(crate) seconds: f64,
    pub(crate) counts: Counts,
    /// Bytes of UTF-8 of the texts of all documents, and of the dropped ones.
    pub(crate) text_bytes: u64,
    pub(crate) text_bytes_dropped: u64,
    /// Documents without a rank among those read; null if the first ones stay.
    pub(crate) unranked: Option<u64>,
    pub(crate) inputs: Inputs,
    pub(crate) options: Options,
    /// Results worth a look first.
    pub(crate) doubtful: Doubtful,
    /// Number of dropped documents at each distance from the kept one, from 0 to the index's
    /// distance or the greatest distance found.
    pub(crate) distances: Vec<Distance>,
    /// Number of dropped documents at each similarity to the kept one, the most similar first;
    /// empty if the index does not verify.
    pub(crate) similarities: Vec<Similar>,
    /// The most frequent kinds of reasons, with `N` for a number and `…` for a quotation.
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) groups: Groups,
    /// Null without `--clusters`.
    pub(crate) clusters: Option<Clusters>,
    pub(crate) repeats: Repeats,
}

/// The printed counts: `read` is the sum of the others, except for those that count some of the
/// duplicates.
#[derive(Debug, Serialize)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) kept: u64,
    pub(crate) duplicates: u64,
    /// Duplicates of their own earlier versions; only with `--known-ids compare`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unchanged: Option<u64>,
    /// Duplicates that are records repeated under their ids with the same texts.
    pub(crate) same_id: u64,
    /// Duplicates with other numbers than the document that stays.
    pub(crate) numbers_differ: u64,
    /// Duplicates with a fifth or more of their text in no document that stays for them.
    pub(crate) text_lost: u64,
    /// Duplicates contained in documents that stay; only with `--contained`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<u64>,
    /// Also kept.
    pub(crate) no_features: u64,
    pub(crate) rejected: u64,
    /// Records that hold no document, such as requests in WARC; not among `read`.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) passed_over: u64,
    /// Pages in which no main text was found, and of which all text was taken.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) whole_pages: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Inputs {
    pub(crate) n: u64,
    /// The first inputs.
    pub(crate) names: Vec<String>,
    /// Files found beside the inputs and not read.
    pub(crate) left_out: FilesLeftOut,
}

/// Files whose names tell no known format.
#[derive(Debug, Serialize)]
pub(crate) struct FilesLeftOut {
    pub(crate) n: u64,
    /// The most frequent suffixes with their numbers.
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

/// Options that decide which documents are near-duplicates.
#[derive(Debug, Serialize)]
pub(crate) struct Options {
    /// If true, no files were written but reports.
    pub(crate) dry_run: bool,
    /// The choice of the document that stays, as in `--keep`.
    pub(crate) keep: String,
    /// The value of `--known-ids`, unless `keep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known_ids: Option<&'static str>,
    /// Null for the default field, or if times are not used.
    pub(crate) time_field: Option<String>,
    pub(crate) store: String,
    pub(crate) scheme: String,
    pub(crate) profile: &'static str,
    pub(crate) max_distance: u32,
    /// Null if the index does not verify.
    pub(crate) min_similarity: Option<f64>,
    /// True if similarities are counted over the texts, false if they are estimates.
    pub(crate) counted: bool,
    /// True if documents with other numbers are not near.
    pub(crate) same_numbers: bool,
    /// Least contained share of a document that makes it a part of another one; absent without
    /// `--contained`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<f64>,
    /// The recipe from texts to fingerprints.
    pub(crate) recipe: BTreeMap<String, String>,
}

/// Doubtful results. Each list has at most one pair of each kept document.
#[derive(Debug, Serialize)]
pub(crate) struct Doubtful {
    /// Signs of a wrong run, as printed on stderr.
    pub(crate) signs: Vec<String>,
    /// The dropped documents least similar to the kept ones, and so nearest to the threshold.
    pub(crate) least_similar: Vec<Pair>,
    /// Documents dropped despite other numbers, those with the fewest other differences first.
    pub(crate) numbers_differ: Worst,
    /// Documents dropped although a fifth or more of their text is in no document that stays; the
    /// most lost text first.
    pub(crate) text_lost: Worst,
    /// Documents dropped as parts of documents that stay; the smallest contained share first. Only
    /// with `--contained`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<Worst>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Worst {
    /// The number of all such pairs.
    pub(crate) n: u64,
    pub(crate) pairs: Vec<Pair>,
}

/// A dropped document and the kept one, from their first difference on.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) kept: String,
    pub(crate) dropped: String,
    /// Null if the index does not verify.
    pub(crate) similarity: Option<f64>,
    /// True if the similarity was counted over both texts, false if it is an estimate.
    pub(crate) exact: Option<bool>,
    pub(crate) distance: u32,
    /// The share of each document contained in the other one.
    pub(crate) share_of_kept: Option<f64>,
    pub(crate) share_of_dropped: Option<f64>,
    pub(crate) numbers_differ: Option<bool>,
    /// The numbers, if they differ and both texts are available.
    pub(crate) numbers: Option<Numbers>,
    /// Null if the text is not available any more.
    pub(crate) text_kept: Option<String>,
    pub(crate) text_dropped: String,
    /// Both texts with marked differences.
    #[serde(skip)]
    pub(crate) parts: (Option<Vec<Part>>, Vec<Part>),
}

/// The numbers of two texts in their order, from the first difference on.
#[derive(Debug, Serialize)]
pub(crate) struct Numbers {
    pub(crate) n_same_before: u64,
    pub(crate) kept: Vec<String>,
    pub(crate) dropped: Vec<String>,
    /// Both texts with some of the numbers before, and with marked differences.
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
    /// Least similarity of the step, which spans .05; 1 for equal texts.
    pub(crate) from: f64,
    pub(crate) n: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Rejected {
    pub(crate) reason: String,
    pub(crate) n: u64,
}

/// Groups: each is a kept document with its duplicates.
#[derive(Debug, Serialize)]
pub(crate) struct Groups {
    pub(crate) n: u64,
    /// The groups with the most duplicates, the biggest first.
    pub(crate) biggest: Vec<Group>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Group {
    /// The id of the kept document.
    pub(crate) kept: String,
    /// The beginning of its text; null if it is not available any more, or was in the index before.
    pub(crate) excerpt: Option<String>,
    pub(crate) n_duplicates: u64,
    /// The first duplicate at each similarity, in steps of .05, or at each distance.
    pub(crate) examples: Vec<Example>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) id: String,
    pub(crate) distance: u32,
    /// Null if the index does not verify.
    pub(crate) similarity: Option<f64>,
    pub(crate) excerpt: String,
}

/// Documents connected by near pairs, as in the file of `--clusters`.
#[derive(Debug, Serialize)]
pub(crate) struct Clusters {
    pub(crate) n: u64,
    /// Clusters with two documents that are not near.
    pub(crate) n_chained: u64,
    /// True if chained clusters were split around the documents that stay; then `n` counts the
    /// parts.
    pub(crate) split: bool,
}

/// Sources that repeat each other, or themselves. A document without a source counts by its file.
#[derive(Debug, Serialize)]
pub(crate) struct Repeats {
    /// False if there were too many different pairs to count them all; then the numbers may be too
    /// small.
    pub(crate) is_exact: bool,
    pub(crate) most: Vec<Repeat>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Repeat {
    pub(crate) kept_from: String,
    pub(crate) dropped_from: String,
    pub(crate) n: u64,
}

/// Path and format of a report.
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
    /// Writes the report into `output`, opened for it.
    pub(crate) fn write(&self, report: &ReportFile, mut output: Output) -> anyhow::Result<()> {
        let content = match self.form {
            Form::Json => serde_json::to_string_pretty(report)? + "\n",
            Form::Page => page::page(report),
        };
        output.write_all(content.as_bytes()).map_err(|error| output.failed(error))?;
        output.finish()
    }
}
