//! Options of a deduplication.

use std::path::PathBuf;

use clap::Args;
use corpus::{FieldPath, RankBy};
use engine::dedup::KnownIds;
use minhash::Similarity;
use serde::Serialize;

use crate::clusters::Chains;
use crate::flag_values::{bytes, contained, known_ids, path_for};
use crate::job::JobOptions;
use crate::journal::{Description, JournalOptions, values};
use crate::keep::Keep;
use crate::opening::StoreOptions;
use crate::output::Role;
use crate::report_file::Target;
use crate::staged::{Place, Staged};

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct DedupOptions {
    #[serde(flatten)]
    pub(crate) job: JobOptions,
    /// Described by [`StoreOptions::asked`], which reads files.
    #[serde(skip)]
    pub(crate) store: StoreOptions,
    /// Excludes reports, clusters and dry runs, and requires an output.
    #[serde(flatten)]
    pub(crate) journal: Option<JournalOptions>,
    /// The ranking of documents, derived from two of the flags.
    #[serde(skip)]
    pub(crate) rank_by: Option<RankBy>,
    #[serde(flatten)]
    pub(crate) flags: DedupFlags,
}

/// The flags of this command alone.
#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct DedupFlags {
    /// Which of near-duplicates stays: first, longest, newest or best:FIELD
    ///
    /// `first` is the one that comes first in the input. `longest` has the most characters,
    /// `newest` the latest time (--time-field), and `best:FIELD` the highest number in a field,
    /// named as in --id-field, as doubles have it: integers beyond 2^53 may be equal, and Parquet's
    /// half floats are not read. Of equals the first stays; a document without a time or number
    /// comes after all others. What the index of --store has under other ids stays in any case. All
    /// but `first` read the input twice, a pipe from a copy (--temp), and hold some 200 bytes for
    /// each document, and its id twice, in memory; a job with a --journal goes on in the second
    /// reading, after doing the first one again. Of an id that is used for several texts the best
    /// one counts, and the others are rejected.
    #[arg(long, value_name = "POLICY", default_value = "first", help_heading = "Which one stays")]
    pub(crate) keep: Keep,
    /// Drop a document too of which at least this share stands in one that stays, .5 to 1: a part
    /// beside its whole
    ///
    /// What two texts share of their n-grams is counted, and the share is of the document that
    /// comes later; its row in --duplicates says "contained": true. A whole that comes after its
    /// part stays beside it: --keep longest lets it come first. Texts must be at hand: in memory:,
    /// the default, or in an index of embedded: that keeps them; hbase: and redis: cannot decide by
    /// it.
    ///
    /// Not all are found. Candidates come from the bands of the index, so what is found falls with
    /// the similarity J, which for a part of a text is about its share of the text: of long texts
    /// the bands of the default --min-similarity propose .04 of the pairs at J = .3, .15 at .4, .40
    /// at .5, .73 at .6 and .95 at .7. A text of up to 40 different pairs of characters is looked
    /// for in texts of up to 50 only. With --same-numbers a part whose numbers are not all those of
    /// the whole is another document.
    #[arg(long, value_name = "SHARE", value_parser = contained(), help_heading = "Which one stays")]
    // Serialized only where given, because older journals lack it.
    #[serde(serialize_with = "values::shown", skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<Similarity>,
    /// The field that holds a document's time, for --keep newest [default: time, and in WARC
    /// WARC-Date]
    ///
    /// A date or a date with a time of day as in RFC 3339 and ISO 8601 (2026-01-31,
    /// 2026-01-31T18:00:00+08:00, 2026-01-31 18:00), in UTC where it has no offset, and text of
    /// eight digits (20260131); or the seconds since 1970, a number; or, from 100,000,000,000 on,
    /// the milliseconds. In Parquet also a column of dates or timestamps.
    #[arg(long, value_name = "FIELD", help_heading = "Which one stays")]
    pub(crate) time_field: Option<FieldPath>,
    /// Meaning of an id that the index of --store has from an earlier run: its document of then is
    /// the earlier version
    ///
    /// It is for holding a corpus against the same one of before, as this month's crawl against
    /// last month's, and needs an index of --store. What this index has under another id counts as
    /// long as it is there, also where a later record of the input is about to take its place. Of
    /// an id that comes twice in the input the first text that is kept counts, whatever was known.
    ///
    /// Give a run that compares or replaces a --journal. Without one, compare drops what a run that
    /// broke off had stored as copies of itself, so that it is in no output, and replace may keep
    /// what that run had dropped.
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "keep",
        value_parser = known_ids(),
        help_heading = "Which one stays"
    )]
    // Serialized only where not the default, because older journals lack it.
    #[serde(serialize_with = "values::text", skip_serializing_if = "is_usual")]
    pub(crate) known_ids: KnownIds,
    /// Make temporary files in this folder [default: the folder of --output, else that for
    /// temporary files]
    ///
    /// They have no names, and are gone when the run ends, however it ends. Each pair is counted
    /// over its texts before a document is dropped: where the index is in memory, the texts of what
    /// stays go to a file, compressed to a third or half of their bytes. With --keep, --pairs and
    /// --clusters the texts of all documents do. A run that would pass its memory (--memory-max)
    /// has all documents in files: of short texts some 400 bytes each.
    ///
    /// An input that comes only once, such as standard input, is copied there as it is read, so
    /// that it can be read again; not with --store, unless --keep has to read twice. The copy takes
    /// at most half of the free room. Where there is less, or the folder lies in memory (tmpfs), a
    /// run that has to read again stops.
    #[arg(long, alias = "spool", value_name = "DIR", help_heading = "Output")]
    // The results do not depend on it.
    #[serde(skip)]
    pub(crate) temp: Option<PathBuf>,
    /// Write the documents that stay here; the name says what it is: .parquet, .csv, .tsv, else
    /// JSON Lines [gzip where the name ends in .gz, zstd where in .zst; - for stdout]
    ///
    /// Cells of CSV and TSV are written as they are: one that begins with =, +, - or @ is a formula
    /// to a spreadsheet.
    ///
    /// CSV or TSV is made from CSV or TSV, with all columns; several inputs must have the same
    /// ones. JSON Lines and Parquet are made from anything: of JSON all fields, JSON Lines as they
    /// were read, of CSV every column as a string, of Parquet all columns in Parquet, and of others
    /// id and text. Of JSON a column of Parquet is of strings, integers, floats or booleans where
    /// all values are; any other, as one of lists, has each value as JSON.
    ///
    /// The file appears when it is whole. A run that is killed leaves `.KEPT.….partial` beside it,
    /// which the next one removes.
    ///
    /// s3://BUCKET/KEY and gs://BUCKET/KEY are taken for all outputs, with the environment of
    /// inputs there. They are uploaded at the end of the run and appear when all of them is there;
    /// the disk holds them meanwhile, in the folder of --journal, --temp or for temporary files.
    #[arg(long, value_name = "KEPT", value_parser = path_for(Role::Kept), help_heading = "Output")]
    #[serde(serialize_with = "values::path")]
    pub(crate) output: Option<PathBuf>,
    /// Cut --output into parts of at most this many bytes: 1GB, 500MB, 2GiB; its name has {} for
    /// their number, as in --output 'part-{}.jsonl.zst'
    ///
    /// The numbers are 00000, 00001 and so on. All parts appear together when they are whole, the
    /// first one last: where it is, all are. Bytes are those of the files, packed. One document
    /// that is longer is a part of its own; of Parquet inputs a row group is not cut. Each part of
    /// CSV has the names of the columns.
    #[arg(long, value_name = "SIZE", value_parser = bytes(), requires = "output", help_heading = "Output")]
    // Serialized only where given, because older journals lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_bytes_max: Option<u64>,
    /// Write each dropped document here: id, duplicate_of, both fingerprints, distance, similarity
    /// and shares; the name says what it is: .parquet, .csv, .tsv, else JSON Lines
    ///
    /// Columns, in this order: id, duplicate_of, fingerprint and duplicate_of_fingerprint, which
    /// are text; distance, in bits, an integer of 64 bits; similarity, a float from 0 to 1, where
    /// the index verifies; exact, whether that was counted, and numbers_differ, booleans;
    /// share_of_a and share_of_b, the shares of the document and of the kept one that are in
    /// common; and contained, a boolean, with --contained. All but Parquet may be packed (.gz
    /// .zst).
    ///
    /// Cells of CSV and TSV are written as they are, as with --output.
    #[arg(long, value_name = "DUPS", value_parser = path_for(Role::Duplicates), help_heading = "Output")]
    #[serde(serialize_with = "values::path")]
    pub(crate) duplicates: Option<PathBuf>,
    /// Write the clusters: all documents that hang together by being near, kept or dropped; the
    /// name says what it is: .parquet, .csv, .tsv, else JSON Lines
    ///
    /// A cluster is what can be reached from one document by steps to near ones: of the input (with
    /// --shard of this worker's part), and of the index of --store those documents for which
    /// something was dropped. JSON Lines have an object for each. Its fields: group, the id of the
    /// first document that stays; nodes, each a fingerprint and the documents that have it, with
    /// status kept, dropped or in_index; n_documents; n_edges and edges, the nodes that are near
    /// each other, with similarity, exact where it was counted over the texts, and share_of_a and
    /// share_of_b, the shares of both that are in common. Beyond the edges that hold it together a
    /// cluster is written with 100,000 more, and edges_cut where it has others. Clusters and
    /// documents come in the order of the input, after those of the index.
    ///
    /// Copies of a text are one node. Of more than 1,000 different texts in a bucket, as near-equal
    /// pages are and texts that begin alike, each is compared with the 4 of them before it that
    /// promise most, and with all other texts that it meets: so time grows as the input does, and a
    /// line on stderr says how many texts that are. Such a cluster has edges_cut.
    ///
    /// Parquet, CSV and TSV have a row for each document, in the same order, and no edges. Columns:
    /// group, id, status, fingerprint and split_from, which are text; chained, a boolean;
    /// n_documents and n_edges, integers of 64 bits; and, for a chained cluster only, widest_a and
    /// widest_b, fingerprints, widest_distance, an integer, widest_similarity, a float, and
    /// widest_at_least, a boolean. split_from is there for a part of a cluster only. Cells of CSV
    /// and TSV are written as they are, as with --output.
    ///
    /// What is dropped does not depend on it: a document goes only for a kept one within the
    /// distance, never for a chain. The clusters are found at the end of the run, which holds every
    /// document's id until then and some 100 bytes beside: with the documents in files, of those
    /// alone that share a bucket with another one.
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Clusters), help_heading = "Output")]
    // `None` with a journal.
    #[serde(skip)]
    pub(crate) clusters: Option<PathBuf>,
    /// Write every pair of documents that are near to each other, once: a, b, similarity, shares,
    /// distance and copy_of; the name says what it is: .parquet, .csv, .tsv, else JSON Lines
    ///
    /// Of the input (with --shard of this worker's part), kept or dropped; a comes before b there.
    /// similarity is the share of n-grams that both have of those that either has, a float, and
    /// missing where the index does not verify; exact says whether it was counted over the texts,
    /// share_of_a and share_of_b what of each is in common; distance, in bits, is an integer. Pairs
    /// come in no order that says something, and in the same one for the same input. Cells of
    /// CSV and TSV are written as they are, as with --output.
    ///
    /// Of m copies of a text there are m - 1 rows: a is the first of them, and copy_of has it too.
    /// What else is near to a copy is written of the first alone. Of more than 1,000 different
    /// texts in a bucket, as near-equal pages are and texts that begin alike, each is compared with
    /// the 4 of them before it that promise most, and with all other texts that it meets; a line on
    /// stderr says how many texts that are. So time and rows grow as the input does.
    ///
    /// They are found at the end of the run, which holds every document's id and signature until
    /// then: some 300 bytes, and with the documents in files those alone of documents that share a
    /// bucket with another one.
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Pairs), help_heading = "Output")]
    // `None` with a journal.
    #[serde(skip)]
    pub(crate) pairs: Option<PathBuf>,
    /// Treatment of a chained cluster, in which two nodes are not near each other: A near B near C,
    /// but not A near C
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "report",
        requires = "clusters",
        help_heading = "Output"
    )]
    // Requires clusters.
    #[serde(skip)]
    pub(crate) chains: Chains,
    /// Write a report: JSON where the name ends in .json, a page to look at where it ends in .html;
    /// may be given twice
    ///
    /// First what is in doubt, with the texts side by side: signs that the run went wrong, the
    /// dropped documents nearest to the threshold, those whose numbers differ, and those that lost
    /// a fifth of their text and more. Then how near the duplicates are, the biggest groups,
    /// sources that repeat each other most, and why records were rejected. It takes memory for the
    /// ids of the kept documents once more and some 250 bytes for each group, and up to 128 MiB for
    /// texts.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    // Empty with a journal.
    #[serde(skip)]
    pub(crate) report: Vec<Target>,
    /// Decide and report, but write nothing else: no kept documents, no duplicates, nothing into
    /// the index of --store
    ///
    /// That index must be there already. What the run would keep is held in memory beside it.
    #[arg(long, conflicts_with_all = ["output", "duplicates", "clusters", "pairs"], help_heading = "Output")]
    // False with a journal.
    #[serde(skip)]
    pub(crate) dry_run: bool,
    /// Number of groups to print where no output file is given
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    // A journal requires an output.
    #[serde(skip)]
    pub(crate) groups: usize,
}

fn is_usual(known_ids: &KnownIds) -> bool {
    *known_ids == KnownIds::default()
}

impl DedupOptions {
    /// The description of the job for a journal.
    pub(crate) fn description(&self) -> anyhow::Result<Description> {
        Description::new("dedup").with(self)?.with(&self.store.asked())
    }

    /// The same options with local files in the place of outputs in buckets, and these.
    pub(super) fn staged(&self) -> anyhow::Result<(Self, Option<Staged>)> {
        let mut here = self.clone();
        let Self { job, flags, .. } = &mut here;
        let reports = flags.report.iter_mut().map(|target| &mut target.path);
        let lists = [&mut flags.duplicates, &mut flags.clusters, &mut flags.pairs];
        let outputs = reports.chain(lists.into_iter().flatten());
        let outputs = outputs.chain(&mut job.rejects).chain(&mut flags.output).collect();
        let temporary = self.flags.temp.clone().unwrap_or_else(std::env::temp_dir);
        let place = match &self.journal {
            Some(journal) => Place::Journal(&journal.folder),
            None => Place::Temporary(&temporary),
        };
        let staged = Staged::of(outputs, &place, self.job.input.wait)?;
        Ok((here, staged))
    }
}
