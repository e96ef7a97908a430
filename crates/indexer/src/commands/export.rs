//! `indexer export`: writes every record of an index as a table, readable by `indexer import`.

mod once;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use engine::TextPace;
use features::Recipe;
use index::{Cursor, Index, MAX_BATCH, Metadata, Profile, Source, StoredDocument, Text, TextKeeping};

use self::once::Once;
use crate::flag_values::path_for;
use crate::job::refuse_remote;
use crate::numbers::Grouped;
use crate::opening::{check_outlives, open_existing};
use crate::output::{OUTPUT, Replacing, Role, is_stdout, place_of, print_to_stdout};
use crate::progress::Scanned;
use crate::table::{Bits, Columns, Schema, Table};

/// The most documents whose texts are in memory at a time.
const TEXTS_BATCH: usize = 256;

#[derive(Debug)]
pub(crate) struct ExportOptions {
    pub(crate) uri: String,
    pub(crate) flags: ExportFlags,
}

/// The flags of this command alone.
#[derive(Debug, Args)]
pub(crate) struct ExportFlags {
    /// Write the records here; the name says what it is: .parquet, .csv, .tsv, else JSON Lines
    /// [packed where it ends in .gz or .zst; - for stdout]
    ///
    /// Cells of CSV and TSV are written as they are: one that begins with =, +, - or @ is a formula
    /// to a spreadsheet.
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Records), help_heading = "Output")]
    pub(crate) output: PathBuf,
    /// Write the texts of the documents too, in a field `text`; who has the file can read them
    #[arg(long, help_heading = "Output")]
    pub(crate) with_texts: bool,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A document, with its text if requested.
struct Row {
    stored: StoredDocument,
    text: Option<Text>,
}

/// The columns of an export, described in `schema/export.md`.
enum Records {}

/// The same columns and the text.
enum RecordsWithTexts {}

impl Schema for Records {
    type Row<'a> = &'a Row;

    const ROLE: Role = Role::Records;
    const OPTION: &'static str = OUTPUT;
    // An import reads null as "has none", and a missing field as a misspelt name.
    const WRITES_NULL: bool = true;

    fn columns<'a>(to: &mut impl Columns<'a, &'a Row>) {
        to.column("id", |row| row.stored.document.id.as_str());
        to.column("fingerprint", |row| row.stored.document.sketch.features().simhash.map(Bits));
        to.column("signature", |row| {
            row.stored.document.sketch.signature().map(minhash::Signature::as_bytes)
        });
        to.column("source", |row| row.stored.document.source.as_ref().map(Source::as_str));
        to.column("inserted_at", |row| row.stored.inserted_at);
    }
}

impl Schema for RecordsWithTexts {
    type Row<'a> = &'a Row;

    const ROLE: Role = Records::ROLE;
    const OPTION: &'static str = Records::OPTION;
    const WRITES_NULL: bool = Records::WRITES_NULL;

    fn columns<'a>(to: &mut impl Columns<'a, &'a Row>) {
        Records::columns(to);
        to.column("text", |row| row.text.as_deref());
    }
}

pub(super) fn run(options: &ExportOptions) -> anyhow::Result<()> {
    let ExportOptions { uri, flags: ExportFlags { output, with_texts, replacing, .. } } = options;
    check_outlives(uri)?;
    refuse_remote(std::iter::once(output.as_path()), None)?;
    if let Some(folder) = engine::local_path(uri).filter(|_| !is_stdout(output)) {
        let inside = place_of(output).starts_with(place_of(&folder));
        ensure!(!inside, "{} lies in the directory of the index; write elsewhere", output.display());
    }
    replacing.check(&[output])?;
    let index = open_existing(uri, BTreeMap::new())?;
    if *with_texts {
        let keeps_texts = index.metadata().texts != TextKeeping::None;
        ensure!(keeps_texts, "index `{uri}` keeps no texts; leave --with-texts out");
    }
    let report = match with_texts {
        true => write::<RecordsWithTexts>(&options.flags, &index, TEXTS_BATCH)?,
        false => write::<Records>(&options.flags, &index, MAX_BATCH)?,
    };
    if is_stdout(output) {
        program::print_to_stderr(&report);
        Ok(())
    } else {
        print_to_stdout(&report)
    }
}

/// Writes all records, at most `n_max` at a time.
fn write<S>(flags: &ExportFlags, index: &Index, n_max: usize) -> anyhow::Result<Exported>
where
    S: for<'a> Schema<Row<'a> = &'a Row>,
{
    let ExportFlags { output, with_texts, quiet, .. } = flags;
    let mut table = Table::<S>::open(output, None)?;
    let mut progress = Scanned::new(index, *quiet || (is_stdout(output) && program::stdout().is_terminal()))?;
    let (mut exported, pace) = (Exported::default(), TextPace::default());
    let mut next = Some(Cursor::start());
    let mut once = Once::new(index.last_write()?);
    while let Some(after) = next {
        let mut page = index.scan(after, n_max)?;
        once.retain_new(&mut page)?;
        let mut rest = page.documents;
        while !rest.is_empty() {
            let n_rows = if *with_texts { pace.n_texts().min(rest.len()) } else { rest.len() };
            let some = rest.drain(..n_rows).collect();
            let rows = match with_texts {
                true => rows_with_texts(index, some)?,
                false => some.into_iter().map(|stored| Row { stored, text: None }).collect(),
            };
            pace.note(rows.iter().filter_map(|row| row.text.as_ref()));
            for row in rows {
                let Row { stored, text } = &row;
                let features = stored.document.sketch.features();
                exported.n_records += 1;
                exported.n_with_fingerprint += u64::from(features.simhash.is_some());
                exported.n_with_signature += u64::from(features.signature.is_some());
                exported.n_with_text += u64::from(text.is_some());
                table.add(&row)?;
            }
        }
        progress.show(exported.n_records);
        next = page.next;
    }
    table.finish()?;
    exported.flags = flags_like(index.metadata(), *with_texts);
    exported.time = progress.elapsed();
    Ok(exported)
}

/// The documents with their texts. Of a document replaced meanwhile, both come from one version; a
/// document removed meanwhile is left out.
fn rows_with_texts(index: &Index, documents: Vec<StoredDocument>) -> index::Result<Vec<Row>> {
    let (mut rows, mut rest) = (Vec::with_capacity(documents.len()), documents);
    while !rest.is_empty() {
        let ids: Vec<_> = rest.iter().map(|stored| stored.document.id.clone()).collect();
        let texts = index.texts(&ids)?;
        let mut changed = Vec::new();
        for ((stored, text), now) in rest.into_iter().zip(texts).zip(index.get(&ids)?) {
            match now {
                Some(now) if now == stored => rows.push(Row { stored, text }),
                now => changed.extend(now),
            }
        }
        rest = changed;
    }
    Ok(rows)
}

/// The counts of an export.
#[derive(Default)]
struct Exported {
    n_records: u64,
    n_with_fingerprint: u64,
    n_with_signature: u64,
    n_with_text: u64,
    flags: String,
    time: Duration,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "records       {:>12}", Grouped(self.n_records))?;
        writeln!(f, "fingerprints  {:>12}", Grouped(self.n_with_fingerprint))?;
        writeln!(f, "signatures    {:>12}", Grouped(self.n_with_signature))?;
        if self.n_with_text > 0 {
            writeln!(f, "texts         {:>12}", Grouped(self.n_with_text))?;
        }
        writeln!(f, "seconds       {:>12.2}", self.time.as_secs_f64())?;
        writeln!(f, "the same index again: indexer import FILE --store URL{}", self.flags)
    }
}

/// The flags that make a new index like this one, each after a space, without defaults. Texts are a
/// flag only if exported, because an import makes an index without texts by default.
fn flags_like(metadata: &Metadata, with_texts: bool) -> String {
    let mut flags = String::new();
    let mut flag = |name: &str, value: &dyn fmt::Display| {
        flags.push_str(format!(" --{name} {value}").trim_end());
    };
    let kind = &metadata.kind;
    if kind.profile() != Profile::default() {
        flag("profile", &kind.profile());
    }
    if kind.files_by_simhash() && kind.name() != index::SketchKind::NAMES[0] {
        flag("scheme", &kind.name());
    }
    if kind.files_by_simhash() && metadata.max_distance != kind.max_distance() {
        flag("max-distance", &metadata.max_distance);
    }
    match metadata.min_similarity {
        None => flag("verify", &"off"),
        Some(similarity) if similarity.get() != index::OpenOptions::MIN_SIMILARITY => {
            flag("min-similarity", &similarity.get());
        }
        Some(_) => {}
    }
    if with_texts {
        flag("texts", &metadata.texts);
    }
    if metadata.same_numbers {
        flag("same-numbers", &"");
    }
    if let Some(key) = metadata.key {
        flag("key-file", &format_args!("FILE (of pigeonhole info --key; check digits {key})"));
    }
    if let Some(retain) = metadata.retain {
        flag("retain", &retain);
    }
    let default = Recipe::default().fields();
    for (field, value) in &metadata.recipe {
        match field.as_str() {
            _ if default.get(field) == Some(value) => {}
            "user-dictionary" => flag("user-dict", &format_args!("FILE (SHA-256 {value})")),
            // The value `none` follows from the weights.
            "stop-words" | "idf" if value != "none" => flag(field, &format_args!("FILE (SHA-256 {value})")),
            "fold" | "segmenter" | "simplify" | "weights" | "top-terms" | "seed" => flag(field, value),
            _ => {}
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use index::{Key, OpenOptions};

    use super::*;

    #[test]
    fn flags_are_of_what_is_not_so_by_default() {
        let of = |options: OpenOptions| {
            let recipe_default = Recipe::default().fields();
            flags_like(&OpenOptions { recipe_default, ..options }.new_metadata().unwrap(), false)
        };
        assert_eq!(of(OpenOptions::default()), "");
        let keeping = OpenOptions { texts: Some(TextKeeping::Zstd), ..OpenOptions::default() };
        assert_eq!(flags_like(&keeping.new_metadata().unwrap(), true), " --texts zstd");
        assert_eq!(of(keeping), "", "what is not in the file is not kept");
        let key = Key::parse(&"07".repeat(16));
        let options = OpenOptions { key, same_numbers: Some(true), ..OpenOptions::default() };
        let said = of(options);
        assert!(said.starts_with(" --same-numbers --key-file FILE (of pigeonhole info --key; "), "{said}");
        assert!(!said.contains("0707"), "{said}");
        let classic = OpenOptions {
            profile: Some(Profile::Classic),
            verify: Some(false),
            scheme: Some("t11".to_owned()),
            max_distance: Some(simhash::Distance::of_differing(3)),
            recipe: [("segmenter", "words"), ("dictionary", "none"), ("stop-words", "ab")]
                .map(|(field, value)| (field.to_owned(), value.to_owned()))
                .into(),
            ..OpenOptions::default()
        };
        assert_eq!(
            of(classic),
            " --profile classic --scheme t11 --max-distance 2 --verify off --segmenter words --stop-words FILE (SHA-256 ab)"
        );
        let minhash = OpenOptions {
            profile: Some(Profile::Minhash),
            min_similarity: minhash::Similarity::new(0.75),
            retain: index::Retention::from_seconds(7200),
            ..OpenOptions::default()
        };
        assert_eq!(of(minhash), " --profile minhash --min-similarity 0.75 --retain 2h");
    }
}
