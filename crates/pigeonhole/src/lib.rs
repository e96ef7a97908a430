//! The operator's tool: one file a command. Each command writes its results to the given writer.
#![forbid(unsafe_code)]

mod backup;
mod bench;
mod compare;
mod eval;
mod examples;
mod first;
mod info;
mod key;
mod plan;
mod progress;
mod query;
mod remove;
mod scheme;
mod shell;
mod stored;
mod upkeep;

use std::io::{self, Write};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use program::flags::input_words;
use program::settings;

/// Look at texts, fingerprints, row keys, schemes and indexes.
#[derive(Debug, Parser)]
#[command(
    name = "pigeonhole",
    version,
    after_help = "\
Examples:
  pigeonhole compare '你妈妈喊你回家吃饭哦' '你妈妈叫你回家吃饭啦'   whether two texts match, and why
  pigeonhole eval news.jsonl                                what of the near-duplicates is found
  pigeonhole tune news.jsonl -o pigeonhole.toml             settings that suit these texts
  pigeonhole query --store embedded:./news-index 'a text'   which documents are near it
  pigeonhole remove --store embedded:./news-index --source crawl-7   take all of one source out
  pigeonhole verify --store embedded:./news-index           is all of it as it should be?
  pigeonhole backup embedded:./news-index ./news-backup     copy it while it is in use
  pigeonhole key encode 0123456789abcdef                    the rows that hold a fingerprint
  pigeonhole key decode '\\x00\\x04\\x8D\\x15\\x01\\x01#Eg\\x89\\xAB\\xCD\\xEF'
  pigeonhole scheme t11                                     a table scheme, its proof and its cost
  pigeonhole scheme minhash                                 the bands of n-grams, and what they find
  pigeonhole plan --documents 1e10 --queries-per-second 5000   the HBase that it takes
  pigeonhole bench                                          how fast all of it is on this machine

Exit status: 0 done, 1 some documents to remove were not there, 2 could not run."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare two texts: what they have in common, whether they are near-duplicates, and why
    ///
    /// The similarity is the share of the character n-grams that both texts have, of those that
    /// either has, counted in the texts. The verdict is that of a new index, which counts, or of
    /// the index of --store. --why shows what makes the simhashes, which only propose: bits,
    /// margins and terms.
    Compare(compare::Args),
    /// Hold what the programs call near-duplicates in a corpus against the exact truth
    ///
    /// Finds all pairs of documents with a Jaccard similarity of --min-similarity by an exact join.
    /// Then it makes an index in memory for each profile, the default first, as `indexer` does: by
    /// the same rule that the programs decide by, over texts that the index keeps (--texts none: by
    /// estimates). The similarity is that of character n-grams: of bigrams where both texts have at
    /// most 50 different ones, else of four characters where they start at a Chinese, Japanese or
    /// Korean one, and else of five.
    ///
    /// Of each profile: the pairs that it finds and their share (recall); the pairs that it calls
    /// near-duplicates, and those of them that are truly below --min-similarity, or differ in
    /// numbers; what `dedup` drops, wrongly dropped where no kept document has that similarity, and
    /// wrongly kept where an earlier kept one has. All of it by similarity and by length, too, with
    /// the worst misses and mistakes.
    ///
    /// The corpus is held in memory, with some 48 bytes for each byte of its texts; of a larger one
    /// a sample is taken, and it is said. So it is where there are more than --pairs-max pairs, and
    /// past its hundredth copy a text is left out.
    ///
    /// Which similarity fits differs: families of long versions, as of laws and manuals, want 0.7,
    /// old spelling against new 0.6, and news, headlines and templates 0.8 and more. `tune`
    /// measures it.
    Eval(eval::Args),
    /// Find the threshold and the profile that suit your texts, and write them as settings for all
    /// three programs
    ///
    /// Takes a random sample of the documents, always the same of the same input. Where --families
    /// names a field that says which documents are versions of one, each threshold from .5 to .95
    /// is held against it, and the one with the best F1 is taken. Else the file shows how many
    /// pairs there are at each similarity, counted, with five of each step to read: they tell where
    /// near-duplicates begin, which --min-similarity then says. As a rule of thumb it is 0.7 for
    /// families of long versions, 0.6 for old spelling against new, and 0.8 and more for news,
    /// headlines and templates.
    ///
    /// Then it holds what each profile finds against the exact truth, as `eval` does, and takes the
    /// cheapest of those that are about as good as the best. The file that is written says what was
    /// measured and why, and which command to run.
    ///
    /// Near-duplicates are rarer in a sample than in the whole: of n of N documents it has about
    /// (n/N)² of their pairs. Where copies are rare, take a large sample. It is held in memory,
    /// with some 48 bytes for each byte of its texts.
    Tune(eval::tune::Args),
    /// Decode a row key, or list the row keys of a fingerprint
    #[command(subcommand)]
    Key(key::Command),
    /// Find the documents of an index that are near a text or a fingerprint
    Query(query::Args),
    /// Show a scheme: masks, proof of completeness, expected candidates; of bands what share of the
    /// pairs they find
    Scheme(scheme::Args),
    /// Plan an index in HBase: rows, bytes, regions, region servers, workers, latency, money
    ///
    /// A calculation: nothing is asked, and no index is needed. Rows are documents times tables and
    /// bands; a query meets documents · Σ 2^-(key bits) strangers in the tables of its simhashes,
    /// and in its bands as many as the texts have in common. Bytes and times are constants that
    /// were measured with HBase 2.6.1 on two cores; --constants shows each with its source. There
    /// are as many region servers as the greatest need asks for: disk, memory, regions, cores for
    /// queries and inserts, or random reads.
    ///
    /// deploy/hbase/README.md has the formulas and what they assume, in "How large".
    Plan(plan::Args),
    /// Show what an index says of itself: scheme, recipe, number of documents, digest of its
    /// contents
    Info(info::Args),
    /// Remove documents from an index: by id, by source, or by when they were inserted
    ///
    /// Documents are named by id, as arguments or in a file, or selected by source and time of
    /// insertion; ids and a selection together remove those of the ids that are selected. A version
    /// of a document that does not match is never removed, whatever is written meanwhile. Services
    /// and jobs that use the index may go on: their next search does not find what is gone. Space
    /// is used again, but files do not shrink.
    ///
    /// Removing by a selection reads the whole index. --dry-run lists what would go, and removes
    /// nothing.
    Remove(remove::Args),
    /// Look at everything in an index, and say what is not as it should be
    ///
    /// Reads the whole index and changes nothing. Services and jobs that use it may go on: what
    /// they are in the middle of is not told, nor what was written in the last ten minutes and may
    /// still be on its way. Each finding is a line: what it is, a tab, where it is; the counts
    /// follow.
    Verify(upkeep::VerifyArgs),
    /// Mend what verify finds; without --apply only say what would be mended
    ///
    /// Reads the whole index, as verify does, and with --apply mends what it finds on the way.
    /// Services and jobs that use the index may go on. After an interruption run it again: what was
    /// mended stays mended.
    Repair(upkeep::RepairArgs),
    /// Copy an index into a directory, while services and jobs use it
    ///
    /// For an index of this machine, embedded:. The copy is the index as of one moment, without
    /// free pages. Writers are not held up; pages that they free meanwhile are used again only
    /// after the copy, so that the index's file grows by as much as is written. All pages are
    /// checked before. The directory has its name once all of it is on disk: a backup that was cut
    /// off lies beside it, as .NAME.partial, and the next one to the same directory takes its
    /// place.
    ///
    /// HBase backs its tables up by itself: --script prints the commands.
    Backup(backup::BackupArgs),
    /// Make an index of a backup, and verify it
    ///
    /// The checksums of the backup are compared first. The index is there once all of it is on
    /// disk, or not at all; then `pigeonhole verify` looks at all of it. It has the identity of the
    /// index that was backed up, so a worker or a job whose index it replaces is started again, and
    /// both are not to be used side by side.
    Restore(backup::RestoreArgs),
    /// Measure on this machine what the programs do, and what a store of yours does
    ///
    /// On texts of yours or made-up ones: texts to signatures and fingerprints, `dedup` in memory,
    /// insertion of what is new into an index, its opening, queries, and a million fingerprints.
    /// All of it by the code that the programs run. Each job is repeated; shown are medians, by the
    /// clock and in processor seconds.
    ///
    /// It writes into no index that is there: it makes one of its own, and removes it in the end.
    Bench(bench::Args),
    #[command(flatten)]
    Manual(program::manual::Command),
}

/// Options shown by `-h`; `--help` shows all.
const COMMON: [&str; 42] = [
    "all",
    "apply",
    "bytes",
    "digest",
    "documents",
    "dry-run",
    "examples",
    "families",
    "fingerprint",
    "fingerprints",
    "html",
    "ids-from",
    "index",
    "inserted-from",
    "inserted-until",
    "inserts-per-second",
    "json",
    "labels",
    "limit",
    "literal",
    "max-distance",
    "min-similarity",
    "output",
    "pairs",
    "print-texts",
    "profile",
    "queries-per-second",
    "regions",
    "retain",
    "sample",
    "scheme",
    "script",
    "seconds",
    "server-price",
    "source",
    "store",
    "terms",
    "text-field",
    "texts",
    "threads",
    "unverified",
    "why",
];

/// Options that a file of settings sets only in the command's own table: `compare` works without an
/// index, unless one is named.
const APART: [(&str, &str); 1] = [("compare", "store")];

/// The whole command line.
fn command_line() -> clap::Command {
    let command = settings::with_examples(settings::configurable(Cli::command()), examples::EXAMPLES);
    settings::with_short_help(command, &COMMON)
}

/// Runs the command line of this process. Exit codes: 0 done, 1 some documents to remove were not
/// there or an index has findings, 2 could not run.
#[must_use]
pub fn main() -> u8 {
    let matches = settings::of_this_process(command_line(), &APART);
    let cli =
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| program::exit_with("pigeonhole", &error));
    let mut stdout = io::BufWriter::new(program::stdout());
    let done = program::see_limits().and_then(|()| match &cli.command {
        Command::Compare(args) => compare::run(args, &mut stdout).map(|()| 0),
        Command::Eval(args) => eval::run(args, &mut stdout).map(|()| 0),
        Command::Tune(args) => {
            let words = matches.subcommand().map(|(_, given)| input_words(given)).unwrap_or_default();
            eval::tune::run(args, &words, &mut stdout).map(|()| 0)
        }
        Command::Key(command) => key::run(command, &mut stdout).map(|()| 0),
        Command::Query(args) => query::run(args, &mut stdout).map(|()| 0),
        Command::Scheme(args) => scheme::run(args, &mut stdout).map(|()| 0),
        Command::Plan(args) => plan::run(args, &mut stdout).map(|()| 0),
        Command::Info(args) => info::run(args, &mut stdout).map(|()| 0),
        Command::Remove(args) => remove::run(args, &mut stdout),
        Command::Verify(args) => upkeep::verify(args, &mut stdout),
        Command::Repair(args) => upkeep::repair(args, &mut stdout),
        Command::Backup(args) => backup::backup(args, &mut stdout).map(|()| 0),
        Command::Restore(args) => backup::restore(args, &mut stdout),
        Command::Bench(args) => bench::run(args, &mut stdout),
        Command::Manual(command) => command.run(command_line(), &mut stdout).map(|()| 0).map_err(Into::into),
    });
    let done = done.and_then(|code| match stdout.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(code),
    });
    match done {
        Ok(code) => code,
        // The reader has seen enough, as in `pigeonhole … | head`.
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) =>
        {
            0
        }
        Err(error) => {
            progress::complain(format_args!("{}", program::error(&error)));
            2
        }
    }
}
