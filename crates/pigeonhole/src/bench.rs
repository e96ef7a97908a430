//! `pigeonhole bench`: measures the programs' work on this machine, and on a store of the user's.

mod fingerprints;
mod machine;
mod made;
mod report;
mod rounds;
mod stop;
mod store;
mod texts;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, ensure};
use clap::builder::PossibleValuesParser;
use corpus::{Fields, Inputs, PageText};
use engine::Options;
use program::flags::{FileArgs, IdArgs, PageArgs, RecipeArgs, RecordArgs, UriParser, bytes, count};
use program::settings::TASK;

use self::made::Kind;
use self::rounds::Rounds;
use self::stop::{Stop, Stopped};
use self::store::Place;
use crate::progress::{Progress, complain};

/// Limits of `--bytes`.
const BYTES: (f64, f64) = (1e3, 1e11);
/// Limits of `--fingerprints`.
const FINGERPRINTS: (f64, f64) = (1e3, 1e9);
/// Limits of `--seconds`.
const SECONDS: (f64, f64) = (0.0, 1e6);

/// Jobs on each corpus, on the index, and on fingerprints.
const TEXT_JOBS: usize = 4;
const INDEX_JOBS: usize = 3;
const FINGERPRINT_JOBS: usize = 3;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A round's processor seconds are those of all threads of this process; those of a server are not
among them. `MB/s a core` is bytes of text by processor seconds, which other work on the machine
disturbs less than the rates by the clock. Reading of files and writing of outputs are in no figure.

Exit status: 0 done, 2 could not run, 130 stopped by Ctrl-C.")]
pub(crate) struct Args {
    /// Texts to measure by, read from the first on; without any, made-up ones: English-like,
    /// Chinese-like and short
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    ids: IdArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// Make an index here, measure it, and remove it in the end; one that is there is refused
    /// [default: embedded: in a new folder below --temp]
    ///
    /// Of embedded: the folder is removed. In Redis and HBase the documents are, and an empty index
    /// stays, which its server's own tools remove; the tables in HBase are made before, by
    /// schema/create.rb. memory: is opened once only.
    #[arg(long, value_name = "URL", value_parser = UriParser, help_heading = TASK)]
    index: Option<String>,
    /// Bytes of texts in each corpus
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "8MB", help_heading = TASK)]
    bytes: f64,
    /// Fingerprints to import, to search within 3 bits, and to join
    #[arg(long, value_name = "N", value_parser = count, default_value = "1e6", help_heading = TASK)]
    fingerprints: f64,
    /// Seconds to measure for, in all: each job takes its share, and three rounds or more
    #[arg(long, value_name = "N", value_parser = count, default_value = "60", help_heading = TASK)]
    seconds: f64,
    /// Threads that make features [default: one for each core]
    #[arg(long, value_name = "N", help_heading = TASK)]
    threads: Option<NonZeroUsize>,
    /// Where temporary files go; nothing stays there
    #[arg(long, value_name = "DIR", help_heading = TASK)]
    temp: Option<PathBuf>,
    /// Print the figures as JSON, with each round's seconds
    #[arg(long, help_heading = TASK)]
    json: bool,
    /// Measure nothing: print the made-up texts of this kind, as JSON Lines
    #[arg(
        long,
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::name)),
        conflicts_with_all = ["files", "json", "index"],
        help_heading = TASK
    )]
    print_texts: Option<String>,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Texts to measure by.
struct Corpus {
    name: String,
    texts: Vec<String>,
}

impl Corpus {
    fn n_bytes(&self) -> u64 {
        self.texts.iter().map(|text| text.len() as u64).sum()
    }
}

/// What all jobs share.
struct Bench<'a> {
    rounds: Rounds<'a>,
    n_threads: NonZeroUsize,
    /// Options of all indexes: the recipe, with its dictionaries.
    options: Options,
    /// The folder of temporary files.
    temp: PathBuf,
    n_fingerprints: usize,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<u8> {
    match measure(args, out) {
        Err(error) => match error.downcast_ref::<Stopped>() {
            Some(stopped) => {
                complain(format_args!("stopped; what it made is removed"));
                Ok(stopped.exit_code())
            }
            None => Err(error),
        },
        Ok(()) => Ok(0),
    }
}

fn measure(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let n_bytes = between("--bytes", args.bytes, BYTES)? as u64;
    let n_fingerprints = between("--fingerprints", args.fingerprints, FINGERPRINTS)? as usize;
    let seconds = between("--seconds", args.seconds, SECONDS)?;
    if let Some(name) = &args.print_texts {
        return Ok(print(Kind::named(name)?, n_bytes, out)?);
    }
    let stop = Stop::listen().context("failed to listen for signals")?;
    let machine = machine::Machine::of_this();
    let temp = args.temp.clone().unwrap_or_else(std::env::temp_dir);
    // Refused before any work.
    let place = Place::new(args.index.as_deref(), &temp)?;
    let mut progress = Progress::start(args.quiet);
    let corpora = args.corpora(n_bytes)?;
    let n_jobs = corpora.len() * TEXT_JOBS + INDEX_JOBS + FINGERPRINT_JOBS;
    let rounds = Rounds::new(seconds / n_jobs as f64, &stop, &mut progress);
    let n_threads = args.threads.or_else(|| thread::available_parallelism().ok());
    let n_threads = n_threads.unwrap_or(NonZeroUsize::MIN);
    let dictionaries = args.recipe.dictionaries()?;
    let options = Options {
        recipe: args.recipe.recipe(&dictionaries),
        dictionaries,
        n_threads: Some(n_threads),
        ..Options::default()
    };
    let mut bench = Bench { rounds, n_threads, options, temp, n_fingerprints };
    let mut measured = Vec::new();
    for corpus in &corpora {
        texts::measure(&mut bench, corpus, &mut measured)?;
    }
    // Short texts show most of a store: their features take least beside it.
    let corpus = corpora.last().context("there is a corpus")?;
    let uri = place.uri().to_owned();
    store::measure(&mut bench, place, corpus, &mut measured)?;
    fingerprints::measure(&mut bench, &mut measured)?;
    let report = report::Report { machine, n_threads, index: engine::shown(&uri), corpora, measured };
    match args.json {
        true => report.print_json(out),
        false => report.print_text(out),
    }
}

impl Args {
    fn corpora(&self, n_bytes: u64) -> anyhow::Result<Vec<Corpus>> {
        if self.files.is_empty() {
            let made =
                |kind: Kind| Corpus { name: format!("made-up {}", kind.name()), texts: kind.texts(n_bytes) };
            return Ok(Kind::ALL.map(made).into());
        }
        let files = FileArgs {
            files: self.files.clone(),
            files_from: None,
            input_wait_seconds: corpus::WAIT.as_secs(),
        };
        let records = PageArgs { html: PageText::default() }.options(self.records.clone());
        let options = files.options(records, self.ids);
        let (mut texts, mut n_read, mut n_rejected) = (Vec::new(), 0, 0_u64);
        for document in Inputs::open(&options)?.documents(Fields::of(&options)) {
            match document {
                Ok(document) => {
                    n_read += document.text.len() as u64;
                    texts.push(document.text);
                }
                Err(_) => n_rejected += 1,
            }
            if n_read >= n_bytes {
                break;
            }
        }
        ensure!(
            !texts.is_empty(),
            "there is no document in what was named, and {n_rejected} records were rejected; \
             `pigeonhole eval` says why"
        );
        if n_rejected > 0 {
            complain(format_args!("{n_rejected} records were rejected and are in no figure"));
        }
        Ok(vec![Corpus { name: "the files'".to_owned(), texts }])
    }
}

fn print(kind: Kind, n_bytes: u64, out: &mut dyn Write) -> io::Result<()> {
    for (n, text) in kind.texts(n_bytes).iter().enumerate() {
        writeln!(out, "{}", serde_json::json!({ "id": format!("{}-{n}", kind.name()), "text": text }))?;
    }
    Ok(())
}

fn between(flag: &str, value: f64, (min, max): (f64, f64)) -> anyhow::Result<f64> {
    ensure!((min..=max).contains(&value), "{flag} is {value}: it is from {min} to {max:e}");
    Ok(value)
}
