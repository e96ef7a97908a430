//! The arguments of the commands that carry indexes over.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use corpus::{Digits, FieldPath, GivenFields};
use index::Mode;
use program::flags::{
    BuiltArgs, FileArgs, PageArgs, PlaceArgs, RecipeArgs, RecordArgs, StoreArgs, TextlessArgs, UriParser,
};

use super::options::store_options;
use super::run::{JournalArgs, RunArgs};
use crate::commands::{BulkRowsOptions, ExportFlags, ExportOptions, IndexOptions, ReindexOptions, Task};
use crate::flag_values::path_for;
use crate::job::{JobOptions, SourceOptions};
use crate::output::Role;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    store: PlaceArgs,
    #[command(flatten)]
    flags: ExportFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    records: TextlessArgs,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
    #[command(flatten)]
    journal: JournalArgs,
    /// Write rows for a bulk load into HBase to this folder, as `bulk-rows` does, in place of
    /// documents into the index
    #[arg(
        long,
        value_name = "ROWS",
        value_parser = path_for(Role::Rows),
        conflicts_with = "journal",
        help_heading = "Output"
    )]
    rows: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReindexArgs {
    /// The index to carry over, for example embedded:./news-index
    #[arg(value_name = "OLD", value_parser = UriParser)]
    old: String,
    /// Where it is to be: hbase://HOST:PORT/NAME, redis://HOST:PORT/NAME, embedded:PATH
    #[arg(value_name = "NEW", value_parser = UriParser)]
    new: String,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    pages: PageArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    built: BuiltArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// The text field of an exported record.
const TEXT_FIELD: &str = "text";

/// The fields of a record with its features.
#[derive(Debug, Args)]
#[command(next_help_heading = "Records")]
struct GivenArgs {
    /// The field that holds a document's fingerprint, 64 bits
    ///
    /// A number is decimal, from 0 to 2^64 - 1, or with a sign, from -2^63, and then taken bit for
    /// bit; in Parquet a column of integers with a sign or without. A string has 16 hexadecimal
    /// digits, whatever they look like. So have the cells of CSV and TSV: --fingerprint-digits says
    /// otherwise. Null is for a document that has none, which is a text of symbols only.
    #[arg(long, value_name = "FIELD", default_value = "fingerprint", env = "PIGEONHOLE_FINGERPRINT_FIELD")]
    fingerprint_field: FieldPath,
    /// Digits of fingerprints that are strings
    #[arg(
        long,
        value_name = "DIGITS",
        default_value = "hex",
        env = "PIGEONHOLE_FINGERPRINT_DIGITS",
        value_parser = program::flags::digits()
    )]
    fingerprint_digits: Digits,
    /// The field that holds a document's signature, as `export` writes it: base64, in Parquet bytes
    #[arg(long, value_name = "FIELD", default_value = "signature", env = "PIGEONHOLE_SIGNATURE_FIELD")]
    signature_field: FieldPath,
}

impl ExportArgs {
    pub(super) fn options(self) -> anyhow::Result<ExportOptions> {
        let Self { store, flags } = self;
        let uri =
            store.uri().context("name the index with --store, for example --store embedded:./my-index")?;
        Ok(ExportOptions { uri: uri.to_owned(), flags })
    }
}

impl ReindexArgs {
    pub(super) fn options(self) -> anyhow::Result<ReindexOptions> {
        let Self { old, new, files, records, pages, run, built, recipe } = self;
        let job = run.job(|ids| files.options(pages.options(records), ids), None)?;
        let dictionaries = recipe.dictionaries()?;
        let insisted = recipe.explicit_fields(&dictionaries);
        let asked = built.open_options(Mode::CreateIfMissing, BTreeMap::new(), BTreeMap::new());
        Ok(ReindexOptions { old, new, asked, insisted, dictionaries, job })
    }
}

impl ImportArgs {
    pub(super) fn task(self) -> anyhow::Result<Task> {
        let Self { files, records, given, run, source, store, recipe, journal, rows } = self;
        let job = run.job(|ids| files.options(records, ids), Some(source))?;
        let job = JobOptions { given: Some(given.fields()), ..job };
        let store = store_options(&store, &recipe)?;
        Ok(match rows {
            Some(rows) => Task::BulkRows(BulkRowsOptions { job, store, rows }),
            None => Task::Index(IndexOptions { job, store, journal: journal.options() }),
        })
    }
}

impl GivenArgs {
    fn fields(self) -> GivenFields {
        let Self { fingerprint_field, fingerprint_digits, signature_field } = self;
        let text_field = FieldPath::name(TEXT_FIELD);
        GivenFields { fingerprint_field, fingerprint_digits, signature_field, text_field }
    }
}
