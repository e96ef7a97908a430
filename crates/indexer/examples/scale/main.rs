//! Builds and checks an index of any size with a known truth, for `bench/scale/run`.
//!
//! ```text
//! cargo run --release --locked -p indexer --example scale -- COMMAND --seed S --documents N …
//! ```
//! Document `n` has the id `n` and a fingerprint that follows from the seed and `n`. The last three
//! of each hundred documents differ in one, two and three bits from a document of the same hundred;
//! the others are random. Each command prints a line of JSON, and exits with 1 if an answer is
//! wrong.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

mod calls;
#[path = "../made/mod.rs"]
mod made;
mod pairs;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use index::{Mode, OpenOptions};
use serde_json::json;

use calls::Callers;
use world::World;

#[derive(Parser)]
struct Args {
    /// Seed of all fingerprints.
    #[arg(long, default_value_t = 7, global = true)]
    seed: u64,
    /// Number of documents in the index.
    #[arg(long, global = true, default_value_t = 100_000)]
    documents: u64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the documents as Parquet, for `indexer import`.
    Documents { file: String },
    /// Ask the index for near documents.
    Query {
        store: String,
        #[arg(long, default_value_t = 1_000)]
        queries: u64,
        #[arg(long, default_value_t = 0)]
        seconds: u64,
        #[command(flatten)]
        callers: Callers,
    },
    /// Insert what is new of the documents that come next.
    Insert {
        store: String,
        #[arg(long, default_value_t = 1_000)]
        insertions: u64,
        /// Documents to go on from, of which those before are in the index [default: all of them].
        #[arg(long)]
        first: Option<u64>,
        /// Offer near-duplicates of what the index has.
        #[arg(long)]
        known: bool,
        /// Begin when this file is there: that of the store's tier, which is filled meanwhile. It
        /// never comes where the tier takes more than its `tier-mb`.
        #[arg(long)]
        after: Option<PathBuf>,
        #[command(flatten)]
        callers: Callers,
    },
    /// Hold the folder that `indexer pairs` has written against the truth.
    Pairs {
        folder: PathBuf,
        /// Pairs of the real documents, as `indexer dedup --pairs` writes them.
        #[arg(long)]
        real: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let Args { seed, documents, command } = Args::parse();
    let world = World { seed };
    let open = |uri: &str| {
        let options = OpenOptions { mode: Mode::MustExist, ..OpenOptions::default() };
        engine::open_index(uri, &options).unwrap()
    };
    let (report, is_right) = match command {
        Command::Documents { file } => {
            made::write(&file, documents, |first, end| (first..end).map(|n| world.fingerprint(n)).collect());
            (
                json!({ "documents": documents, "seed": seed, "planted": world::n_planted(documents)[1..] }),
                true,
            )
        }
        Command::Query { store, queries, seconds, callers } => {
            calls::query(&open(&store), world, documents, queries, seconds, callers)
        }
        Command::Insert { store, insertions, first, known, after, callers } => {
            let first = first.unwrap_or(documents.next_multiple_of(world::FAMILY));
            let index = open(&store);
            let waited = after.map(|file| calls::wait_for(&index, &file));
            let (mut report, is_right) = calls::insert(&index, world, first, insertions, known, callers);
            report["waited"] = json!(waited);
            (report, is_right)
        }
        Command::Pairs { folder, real } => pairs::check(world, documents, &folder, real.as_deref()),
    };
    println!("{report}");
    ExitCode::from(u8::from(!is_right))
}
