//! The command line: its commands and arguments, with their help.

mod carry;
mod collect;
mod examples;
mod idf;
mod options;
mod pairs;
mod run;

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use program::flags::{RecipeArgs, StoreArgs};
use program::settings;

use self::carry::{ExportArgs, ImportArgs, ReindexArgs};
use self::collect::CollectArgs;
use self::idf::IdfArgs;
use self::pairs::PairsArgs;
use self::run::{InputArgs, JournalArgs, RunArgs};
use crate::commands::{DedupFlags, IdfMergeOptions};
use crate::flag_values::path_for;
use crate::job::SourceOptions;
use crate::output::Role;

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
            "html",
            "delimiter",
            "quote",
            "encoding",
            "record-bytes-max",
            "zstd-window-log-max",
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

 3. Drop also what an earlier run kept under another id:
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
        Self::from_arg_matches(&matches).unwrap_or_else(|error| program::exit_with("indexer", &error))
    }

    /// The task of a command line, for tests of the rooms below.
    #[cfg(test)]
    pub(crate) fn task_of(words: &[&str]) -> crate::commands::Task {
        let matches = Self::command_line().try_get_matches_from(words).unwrap();
        Self::from_arg_matches(&matches).unwrap().command.task().unwrap().unwrap()
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
        // A run without an index expects none.
        let command = command
            .mut_subcommand("dedup", |found| found.mut_arg("expect_documents", |arg| arg.requires("store")));
        let command = settings::with_topics(settings::configurable(command), &TOPICS);
        let command = settings::with_examples(command, examples::EXAMPLES);
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
    /// Goes through the documents in order (or with --keep the best first) and drops one when it
    /// is near to a document kept before it. Without --output and --duplicates it
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
    IdfMerge(IdfMergeOptions),
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
    /// folder, where they take 900 bytes a document and 52 times its id until the end. Where
    /// simhashes alone decide (--profile classic --verify off) these are sorted instead, in 40
    /// bytes a document and twice its id, and 50 bytes a pair; all pairs are found before a part is
    /// written. The index may be written to meanwhile: then a pair of what is written may be there
    /// or not, or twice where a document is replaced.
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
    pub(crate) source: SourceOptions,
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
    pub(crate) source: SourceOptions,
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
    pub(crate) source: SourceOptions,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) journal: JournalArgs,
    #[command(flatten)]
    pub(crate) flags: DedupFlags,
}
