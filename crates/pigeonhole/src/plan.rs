//! `pigeonhole plan`: the resources of an index in HBase, by a model of measured constants.

mod figures;
mod measured;
mod model;
mod numbers;
mod report;

use std::io::Write;

use anyhow::{bail, ensure};
use clap::builder::PossibleValuesParser;
use index::{Profile, Retention, SketchKind, TextKeeping};
use program::flags::{bytes, count};
use program::settings::TASK;

use self::measured::STRANGERS_A_MILLION;
use self::model::{Load, Machines};

/// Greatest number of documents for the model, which was never compared with anything larger.
const DOCUMENTS_MAX: f64 = 1e13;

/// Greatest value of all rates.
const RATE_MAX: f64 = 1e9;

/// Greatest number of keys of a document.
const KEYS_MAX: f64 = 100.0;

/// The headings of the help.
const LOAD: &str = "What it is for";
const ROWS: &str = "What is stored";
const MACHINES: &str = "Machines";

#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct Args {
    /// Documents in the index at once: 1e10, 10_000_000_000, 10G, 250M
    #[arg(long, value_name = "N", value_parser = count, help_heading = TASK)]
    documents: Option<f64>,
    /// Queries a second, at peak
    #[arg(long, value_name = "N", value_parser = count, default_value = "100", help_heading = TASK)]
    queries_per_second: f64,
    /// Documents a second that are inserted if they are new [default: what --retain and --documents
    /// imply, or none]
    #[arg(long, value_name = "N", value_parser = count, help_heading = TASK)]
    inserts_per_second: Option<f64>,
    /// Queries in one call, as a batch has them
    #[arg(long, value_name = "N", value_parser = count, default_value = "1", help_heading = LOAD)]
    queries_a_call: f64,
    /// Bytes of a text in the middle
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "2000", help_heading = LOAD)]
    text_bytes: f64,
    /// Rows of unlike documents that a query meets in its bands, for each million documents
    /// [default: 63, of headlines]
    ///
    /// It depends on the texts more than on anything else: 1 of poems, 63 of headlines and 310 of
    /// sentences were measured. To measure it, index a sample of N documents with --profile
    /// minhash, and ask for some texts that are like none of them: `pigeonhole query` says how many
    /// candidates it read. That number times 1,000,000 / N is what this wants. Pages that begin
    /// alike have hundreds of thousands.
    #[arg(long, value_name = "ROWS", value_parser = count, help_heading = LOAD)]
    strangers_a_million: Option<f64>,

    /// By what documents are found: classic, minhash or full [default: full with --scheme, else
    /// what is recommended for as many documents, as --expect-documents of other commands takes it]
    #[arg(
        long,
        value_name = "PROFILE",
        value_parser = PossibleValuesParser::new(Profile::ALL.map(|(_, name)| name)),
        help_heading = ROWS
    )]
    profile: Option<String>,
    /// The table scheme of the simhashes [default: with --profile 5c2, else the one recommended for
    /// as many documents]; profile minhash has none
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(SketchKind::NAMES), help_heading = ROWS)]
    scheme: Option<String>,
    /// Keep the texts of the documents in the index: zstd or none
    #[arg(
        long,
        value_name = "HOW",
        default_value = TextKeeping::Zstd.name(),
        value_parser = PossibleValuesParser::new(TextKeeping::ALL.map(|(_, name)| name)),
        help_heading = ROWS
    )]
    texts: String,
    /// Bytes of an id: each row of the index holds it whole
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "36", help_heading = ROWS)]
    id_bytes: f64,
    /// Time that documents stay; what has expired is on disk until a major compaction, a week later
    #[arg(long, value_name = "TIME", help_heading = ROWS)]
    retain: Option<Retention>,
    /// Copies of each block in HDFS
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = ROWS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10))]
    replication: u32,
    /// Size of a region, as hbase.hregion.max.filesize
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "10GB", help_heading = ROWS)]
    region_size: f64,

    /// Disk of a region server
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "8TB", help_heading = MACHINES)]
    server_disk: f64,
    /// Memory of a region server
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "128GB", help_heading = MACHINES)]
    server_ram: f64,
    /// Cores of a region server, and of a machine for workers
    #[arg(long, value_name = "N", value_parser = count, default_value = "32", help_heading = MACHINES)]
    server_cores: f64,
    /// The price of a region server a month, in any currency, to add up that of all machines
    #[arg(long, value_name = "PRICE", value_parser = count, help_heading = MACHINES)]
    server_price: Option<f64>,
    /// Random reads a second of one server's disks: SSDs; 150 for each disk that spins
    #[arg(long, value_name = "N", value_parser = count, default_value = "50000", help_heading = MACHINES)]
    server_reads: f64,
    /// Milliseconds of one such read: 8 of a disk that spins
    #[arg(long, value_name = "MS", value_parser = count, default_value = "0.2", help_heading = MACHINES)]
    seek_ms: f64,
    /// Milliseconds of a round trip between worker and region server
    #[arg(long, value_name = "MS", value_parser = count, default_value = "0.3", help_heading = MACHINES)]
    round_trip_ms: f64,
    /// The share of the tables that is read again and again, and is to be in memory: 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = count, default_value = "0.05", help_heading = MACHINES)]
    hot_share: f64,

    /// Print the plan as JSON, with the constants that it is made of
    #[arg(long, help_heading = TASK)]
    json: bool,
    /// Print the constants: what each is, and where it was measured
    #[arg(long, help_heading = TASK)]
    constants: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    if args.constants {
        return report::constants(out);
    }
    let load = args.load()?;
    let machines = args.machines()?;
    let plan = model::plan(&load, &machines);
    match args.json {
        true => figures::print(&load, &machines, &plan, out),
        false => report::text(&load, &machines, &plan, out),
    }
}

impl Args {
    fn load(&self) -> anyhow::Result<Load> {
        let retain_seconds = self.retain.map(|retain| f64::from(retain.as_seconds()));
        let n_documents = match (self.documents, self.inserts_per_second, retain_seconds) {
            (Some(n), _, _) => n,
            (None, Some(inserts), Some(seconds)) => inserts * seconds,
            _ => bail!(
                "how many documents? Give --documents, or --inserts-per-second and --retain, which say it as well"
            ),
        };
        between("--documents", n_documents, 1.0, DOCUMENTS_MAX)?;
        // A full index with a retention takes in as much as expires.
        let inserts_per_second = match (self.inserts_per_second, retain_seconds) {
            (Some(inserts), _) => inserts,
            (None, Some(seconds)) => n_documents / seconds,
            (None, None) => 0.0,
        };
        between("--queries-per-second", self.queries_per_second, 0.0, RATE_MAX)?;
        between("--inserts-per-second", inserts_per_second, 0.0, RATE_MAX)?;
        between("--queries-a-call", self.queries_a_call, 1.0, 10_000.0)?;
        between("--text-bytes", self.text_bytes, 1.0, 1e9)?;
        between("--id-bytes", self.id_bytes, 1.0, 4_096.0)?;
        let strangers_a_million = self.strangers_a_million.unwrap_or(STRANGERS_A_MILLION);
        let kind = self.kind(n_documents, strangers_a_million)?;
        between("--strangers-a-million", strangers_a_million, 0.0, 1e6 * KEYS_MAX)?;
        Ok(Load {
            is_recommended: self.profile.is_none() && self.scheme.is_none(),
            kind,
            n_documents,
            queries_per_second: self.queries_per_second,
            inserts_per_second,
            retain: self.retain,
            id_bytes: self.id_bytes,
            text_bytes: self.text_bytes,
            texts: self.texts.parse()?,
            queries_a_call: self.queries_a_call,
            strangers_a_million,
        })
    }

    /// The kind that was asked for, or else the one that is recommended.
    fn kind(&self, n_documents: f64, strangers_a_million: f64) -> anyhow::Result<SketchKind> {
        if self.profile.is_none() && self.scheme.is_none() {
            return Ok(SketchKind::expected(n_documents, strangers_a_million));
        }
        let profile = self.profile.as_ref().map_or(Ok(Profile::Full), |name| name.parse())?;
        ensure!(
            self.scheme.is_none() || profile != Profile::Minhash,
            "profile minhash has no tables of simhashes: leave --scheme out"
        );
        let tables: SketchKind =
            self.scheme.as_ref().map_or(Ok(SketchKind::default()), |name| name.parse())?;
        Ok(tables.of_profile(profile)?)
    }

    fn machines(&self) -> anyhow::Result<Machines> {
        between("--region-size", self.region_size, 1e6, 1e14)?;
        between("--server-disk", self.server_disk, 1e9, 1e18)?;
        between("--server-ram", self.server_ram, 1e9, 1e16)?;
        between("--server-cores", self.server_cores, 1.0, 10_000.0)?;
        self.server_price.map_or(Ok(()), |price| between("--server-price", price, 0.0, 1e12))?;
        between("--server-reads", self.server_reads, 1.0, 1e10)?;
        between("--seek-ms", self.seek_ms, 0.0, 1e4)?;
        between("--round-trip-ms", self.round_trip_ms, 0.0, 1e4)?;
        between("--hot-share", self.hot_share, 0.0, 1.0)?;
        Ok(Machines {
            disk_bytes: self.server_disk,
            memory_bytes: self.server_ram,
            cores: self.server_cores,
            reads_per_second: self.server_reads,
            seek_seconds: self.seek_ms / 1e3,
            round_trip_seconds: self.round_trip_ms / 1e3,
            price: self.server_price,
            replication: f64::from(self.replication),
            region_bytes: self.region_size,
            hot_share: self.hot_share,
        })
    }
}

fn between(flag: &str, value: f64, min: f64, max: f64) -> anyhow::Result<()> {
    let shown = |number: f64| if number < 1e6 { number.to_string() } else { format!("{number:e}") };
    ensure!(
        (min..=max).contains(&value),
        "{flag} is {}: it is from {} to {}",
        shown(value),
        shown(min),
        shown(max)
    );
    Ok(())
}
