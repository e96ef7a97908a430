//! The command line: its commands and arguments, with their help.

mod carry;
mod collect;
mod idf;
mod options;
mod pairs;
mod run;
mod values;

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use corpus::FieldPath;
use engine::dedup::KnownIds;
use minhash::Similarity;
use program::flags::{RecipeArgs, StoreArgs};
use program::settings;

use self::carry::{ExportArgs, ImportArgs, ReindexArgs};
use self::collect::CollectArgs;
use self::idf::{CountingArgs, IdfArgs, IdfMergeArgs};
use self::pairs::PairsArgs;
use self::run::{InputArgs, JournalArgs, RunArgs, SourceArgs, WorkArgs};
use self::values::{contained, known_ids, path_for};
use crate::clusters::Chains;
use crate::keep::Keep;
use crate::output::Role;
use crate::report_file::Target;

/// Commands with a flag that only their own table sets. `dedup` writes the kept documents into its
/// index, so the index must be named for it: neither PIGEONHOLE_STORE, which names the index of a
/// service or a job, nor a setting for all commands counts.
const APART: [(&str, &str); 1] = [("dedup", "store")];

/// Headings of `--help` for flags that several commands share.
const TOPICS: [(&str, &[&str]); 2] = [
    (
        "Records",
        &[
            "format",
            "id-field",
            "text-field",
            "delimiter",
            "quote",
            "encoding",
            "record-bytes-max",
            "make-ids",
            "source",
            "source-field",
        ],
    ),
    ("The run", &["threads", "quiet", "shard", "shards"]),
];

/// Flags that `-h` shows; `--help` shows all.
const COMMON: [&str; 17] = [
    "duplicates",
    "fingerprint-field",
    "format",
    "id-field",
    "journal",
    "keep",
    "min-df",
    "output",
    "profile",
    "rejects",
    "report",
    "results",
    "retain",
    "rows",
    "store",
    "text-field",
    "watch",
];

/// Find near-duplicate texts: fingerprint a corpus, index it, or drop its near-duplicates.
#[derive(Debug, Parser)]
#[command(
    name = "indexer",
    version,
    after_help = "\
The four usual tasks, on the sample that comes with the source:

 1. See which documents are near-duplicates:
    indexer dedup tests/data/news.jsonl

 2. Drop them from a corpus, and look at what is dropped and why:
    indexer dedup tests/data/news.jsonl --output kept.jsonl --report out.html

 3. Drop what was seen before, in this corpus or in any earlier one:
    indexer dedup tests/data/news.jsonl --store embedded:seen --output new.jsonl

 4. Build an index to query, in a job that goes on where it was after a crash:
    indexer index tests/data/news.jsonl --store embedded:index --journal job

Input is JSON Lines, CSV, TSV or Parquet with a field for the id and one for the text, WARC and WET,
or text and HTML files; plain or packed.
Exit status: 0 all done, 1 some records were rejected (see --rejects), 2 could not run."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Parses the command line of this process; ends the process with help or a complaint if there
    /// is nothing to run.
    pub(crate) fn from_command_line() -> Self {
        let matches = settings::of_this_process(Self::command_line(), &APART);
        Self::from_arg_matches(&matches).unwrap_or_else(|error| program::exit_with(&error))
    }

    /// The command line with all its arguments.
    pub(crate) fn command_line() -> clap::Command {
        let command = APART.into_iter().fold(Self::command(), |command, (name, flag)| {
            command.mut_subcommand(name, |found| found.mut_arg(flag, |arg| arg.env(None)))
        });
        // The inputs are needed only if the index lacks features.
        let command = command.mut_subcommand("reindex", |found| {
            found.mut_arg("files", |arg| arg.required_unless_present("old"))
        });
        let command = settings::with_topics(settings::configurable(command), &TOPICS);
        settings::with_short_help(command, &COMMON)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the fingerprint of every document
    ///
    /// One line a document: its id, a tab, and 16 hexadecimal digits. Nothing follows the tab where
    /// a text has no features (it is empty, or holds only punctuation).
    Fingerprint(FingerprintArgs),
    /// Add every document to an index
    ///
    /// A document whose id is in the index already changes nothing where its fingerprint is the
    /// same, and replaces the older version where it is not; so a run that broke off can simply be
    /// run again. One whose text has no features any more is removed. Nothing is dropped: use
    /// `dedup` for that.
    Index(IndexArgs),
    /// Write the rows of every document for a bulk load into HBase
    ///
    /// What `index` would put into HBase, as sorted files in a folder, which
    /// `deploy/hbase/hbase bulk-load` then loads: several times as fast, with the same contents in
    /// the end. Nothing of a new index is there before all of it is. Into one in use only documents
    /// come that it does not know; those that it knows are written to it at once, as `index` does.
    ///
    /// Everything is sorted in the folder, with less than 1 GB of memory: it takes about twice the
    /// room of the rows, some 35 bytes and an id for each table of the scheme and document. A run
    /// that broke off is simply run again.
    BulkRows(BulkRowsArgs),
    /// Drop near-duplicates from a corpus, or show them
    ///
    /// Goes through the documents in order (or with --keep the best first) and drops one when a
    /// document kept before it is within the index's distance. Without --output and --duplicates it
    /// prints the groups found. The kept documents are indexed in memory, for this run only, unless
    /// --store names an index: then also a document near to one of that index is dropped, and those
    /// that are kept are added to it. A document that this index already holds under the same id,
    /// with the same text, is kept: so a run that broke off can be run again (--known-ids has other
    /// ways). To drop duplicates from a corpus do not index it first.
    ///
    /// The ids of all kept documents are held in memory; --keep needs more.
    Dedup(Box<DedupArgs>),
    /// Take files from a folder as they appear, drop what was seen before, and file the rest by
    /// source and half day
    ///
    /// For who gets items all day: each is kept unless an index has one that is near, also one
    /// under the same id. With --retain that index forgets. Items without an id get one: a UUID of
    /// version 7, unique and ordered by time. It runs until Ctrl-C or SIGTERM; killed at any
    /// moment, the same command loses nothing and keeps nothing twice. When something fails that
    /// may pass (a full disk, a server that is away), it says so and tries again.
    Collect(Box<CollectArgs>),
    /// Count in how many documents each term occurs: a dictionary for --idf
    ///
    /// It serves who lets simhashes alone decide (--profile classic --verify off). With the default
    /// profile it is not needed: signatures refuse what is unrelated, and bands find what simhashes
    /// miss.
    ///
    /// A term weighs the less the more documents it is in: 1 + ln(documents / those with the term).
    /// Counts of a corpus of your own know its boilerplate; those that come with the program are of
    /// Chinese texts. The counts go with the terms that they are of: who names the file with --idf
    /// has its segmenter, and must have its dictionaries.
    ///
    /// Reads the input once, in memory that --memory-bytes-max bounds. A document that comes twice
    /// counts twice. Nothing appears before it is whole; a run that was killed leaves
    /// `.NAME.….partial` beside the output, which the next one removes.
    Idf(Box<IdfArgs>),
    /// Add up what `indexer idf` counted in the parts of a corpus
    ///
    /// The result is, to the byte, what one run over everything gives. The parts must have all
    /// their terms, as --shard and --min-df 1 leave them, and be counted alike. No check tells
    /// whether a document is in two of them.
    IdfMerge(IdfMergeArgs),
    /// Write every record of an index to a file, for `import`
    ///
    /// A record has the id of a document, its fingerprint (16 hexadecimal digits, in Parquet an
    /// unsigned integer of 64 bits), its signature (base64, in Parquet bytes), its source and the
    /// time of its insertion; what it has none of is null. The index is only read, page by page,
    /// and may be written to meanwhile: then a document may be in the file or not. The file appears
    /// when it is whole.
    Export(ExportArgs),
    /// Add fingerprints or signatures to an index: what `export` wrote, or your own
    ///
    /// As `index`, but for the features: they stand in fields of the records, and no text is read.
    /// An index takes of a record what it files and confirms documents by: profile classic a
    /// fingerprint, minhash a signature, full both; and all of them a signature unless --verify is
    /// off. So fingerprints alone go into an index that is made with --profile classic --verify
    /// off, to be asked by fingerprint. For an index that is to be asked by text, too, give the
    /// flags of the text's fingerprint as they were where these were made; the summary of `export`
    /// has them.
    Import(Box<ImportArgs>),
    /// Carry an index over: to another store, scheme, profile or least similarity
    ///
    /// NEW is made like OLD but for what is asked for otherwise, and by its recipe; one that is
    /// there must fit. OLD is only read. What it holds is copied, with the sources; a run that
    /// broke off is simply run again. In the end every document of OLD is looked for in NEW.
    ///
    /// Where OLD lacks what NEW needs, because it has no signatures (it is of an older version, or
    /// does not verify) or no simhashes (it is of profile minhash), name the inputs that it was
    /// made of: then the features are made anew of their texts, for the documents that OLD has.
    /// Exit status: 1 where documents of OLD are missing in the end; --rejects lists all of them.
    Reindex(Box<ReindexArgs>),
    /// Write all near-duplicates of an index, pair by pair, to a folder
    ///
    /// An index is sorted so that documents which may be near stand side by side: one pass over it
    /// finds every pair that searches for all of its documents would, each once, and confirms it as
    /// they do. Parts of the index are gone through at the same time, in bounded memory, and each
    /// becomes a file of the folder. A part that is there is not made again: so the same command
    /// goes on after a kill, and with --shard several workers fill one folder.
    ///
    /// HBase is read in its own order. Any other store is read once and its rows are sorted in the
    /// folder, where they take 900 bytes a document and 52 times its id until the end. The index
    /// may be written to meanwhile: then a pair of what is written may be there or not, or twice
    /// where a document is replaced.
    ///
    /// Of n copies of one text there are n (n - 1) / 2 pairs. `dedup --pairs` has the pairs of
    /// texts without an index, and of copies n - 1. Where the index keeps texts every pair is
    /// counted over them.
    Pairs(PairsArgs),
    #[command(flatten)]
    Manual(program::manual::Command),
}

#[derive(Debug, Args)]
pub(crate) struct FingerprintArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) journal: JournalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BulkRowsArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    /// The folder for the rows: a new one, or of a run that broke off
    #[arg(long, value_name = "ROWS", value_parser = path_for(Role::Rows), help_heading = "Output")]
    pub(crate) rows: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct DedupArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) journal: JournalArgs,
    /// Which of near-duplicates stays: first, longest, newest or best:FIELD
    ///
    /// `first` is the one that comes first in the input. `longest` has the most characters,
    /// `newest` the latest time (--time-field), and `best:FIELD` the highest number in a field,
    /// named as in --id-field, as doubles have it: integers beyond 2^53 may be equal, and Parquet's
    /// half floats are not read. Of equals the first stays; a document without a time or number
    /// comes after all others. What the index of --store has under other ids stays in any case. All
    /// but `first` read the input twice, so it must be files, and hold some 200 bytes for each
    /// document, and its id twice, in memory; a job with a --journal goes on in the second reading,
    /// after doing the first one again. Of an id that is used for several texts the best one
    /// counts, and the others are rejected.
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
    pub(crate) known_ids: KnownIds,
    /// Keep the texts of the documents that stay in a file in this folder, for this run
    ///
    /// Each pair is counted over its texts before a document is dropped. Where the index is in
    /// memory, the texts of what stays go to a file without a name, compressed to a third or half
    /// of their bytes; it is gone when the run ends, however it ends. With --keep, --pairs and
    /// --clusters the texts of all documents do [default: the folder of --output, else that for
    /// temporary files].
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) spool: Option<PathBuf>,
    /// Write the documents that stay here; the name says what it is: .parquet, .csv, .tsv, else
    /// JSON Lines [gzip where the name ends in .gz, zstd where in .zst; - for stdout]
    ///
    /// Cells of CSV and TSV are written as they are: one that begins with =, +, - or @ is a formula
    /// to a spreadsheet.
    ///
    /// Parquet is made from Parquet, and CSV or TSV from CSV or TSV, with all columns; several
    /// inputs must have the same ones. JSON Lines are made from anything: lines of JSON as they
    /// were read, of CSV every column as a string, and of others id and text.
    ///
    /// The file appears when it is whole. A run that is killed leaves `.KEPT.….partial` beside it,
    /// which the next one removes.
    #[arg(long, value_name = "KEPT", value_parser = path_for(Role::Kept), help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
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
    pub(crate) duplicates: Option<PathBuf>,
    /// Write the clusters: all documents that hang together by being near, kept or dropped; the
    /// name says what it is: .parquet, .csv, .tsv, else JSON Lines
    ///
    /// A cluster is what can be reached from one document by steps within the index's distance: of
    /// the input (with --shard of this worker's part), and of the index of --store those documents
    /// for which something was dropped. JSON Lines have an object for each. Its fields: group, the
    /// id of the first document that stays; nodes, each a fingerprint and the documents that have
    /// it, with status kept, dropped or in_index; n_documents; n_edges and edges, the nodes that
    /// are near each other, with similarity, exact where it was counted over the texts, and
    /// share_of_a and share_of_b, the shares of both that are in common. Beyond the edges that hold
    /// it together a cluster is written with 100,000 more, and edges_cut where it has others.
    /// Clusters and documents come in the order of the input, after those of the index.
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
    /// document's id until then and some 100 bytes beside.
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Clusters), help_heading = "Output")]
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
    /// then: some 300 bytes.
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Pairs), help_heading = "Output")]
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
    pub(crate) report: Vec<Target>,
    /// Decide and report, but write nothing else: no kept documents, no duplicates, nothing into
    /// the index of --store
    ///
    /// That index must be there already. What the run would keep is held in memory beside it.
    #[arg(long, conflicts_with_all = ["output", "duplicates", "clusters", "pairs"], help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Number of groups to print where no output file is given
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    pub(crate) groups: usize,
}
