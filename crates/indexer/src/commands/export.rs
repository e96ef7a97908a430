//! `indexer export`: every record of an index, as a table that `indexer import` takes back.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use features::Recipe;
use index::{Cursor, MAX_BATCH, Metadata, Profile, Source, StoredDocument};

use crate::job::refuse_remote;
use crate::numbers::Grouped;
use crate::opening::{check_outlives, open_existing};
use crate::output::{OUTPUT, Role, is_stdout, place_of, print_to_stdout};
use crate::progress::Scanned;
use crate::table::{Bits, Columns, Schema, Table};

#[derive(Debug)]
pub(crate) struct ExportOptions {
    pub(crate) uri: String,
    pub(crate) output: PathBuf,
    pub(crate) quiet: bool,
}

/// The columns of an export; `schema/export.md` says what they hold.
enum Records {}

impl Schema for Records {
    type Row<'a> = &'a StoredDocument;

    const ROLE: Role = Role::Records;
    const OPTION: &'static str = OUTPUT;
    // An import takes null for "there is none", and no field for a slip in its name.
    const WRITES_NULL: bool = true;

    fn columns<'a>(to: &mut impl Columns<'a, &'a StoredDocument>) {
        to.column("id", |row| row.document.id.as_str());
        to.column("fingerprint", |row| row.document.sketch.features().simhash.map(Bits));
        to.column("signature", |row| row.document.sketch.signature().map(minhash::Signature::as_bytes));
        to.column("source", |row| row.document.source.as_ref().map(Source::as_str));
        to.column("inserted_at", |row| row.inserted_at);
    }
}

pub(super) fn run(options: &ExportOptions) -> anyhow::Result<()> {
    let ExportOptions { uri, output, quiet } = options;
    check_outlives(uri)?;
    refuse_remote(std::iter::once(output.as_path()), None)?;
    if let Some(folder) = engine::local_path(uri).filter(|_| !is_stdout(output)) {
        let inside = place_of(output).starts_with(place_of(&folder));
        ensure!(!inside, "{} lies in the directory of the index; write elsewhere", output.display());
    }
    let index = open_existing(uri, BTreeMap::new())?;
    let mut table = Table::<Records>::open(output, None)?;
    let mut progress =
        Scanned::new(&index, *quiet || (is_stdout(output) && program::stdout().is_terminal()))?;
    let (mut n_records, mut n_with_fingerprint, mut n_with_signature) = (0, 0, 0);
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = index.scan(after, MAX_BATCH)?;
        for stored in &page.documents {
            let features = stored.document.sketch.features();
            n_with_fingerprint += u64::from(features.simhash.is_some());
            n_with_signature += u64::from(features.signature.is_some());
            table.add(stored)?;
        }
        n_records += page.documents.len() as u64;
        progress.show(n_records);
        next = page.next;
    }
    table.finish()?;
    let flags = flags_like(index.metadata());
    let time = progress.elapsed();
    drop(progress);
    let report = Exported { n_records, n_with_fingerprint, n_with_signature, flags, time };
    if is_stdout(output) {
        program::print_to_stderr(&report);
        Ok(())
    } else {
        print_to_stdout(&report)
    }
}

/// What became of an export.
struct Exported {
    n_records: u64,
    n_with_fingerprint: u64,
    n_with_signature: u64,
    flags: String,
    time: Duration,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "records       {:>12}", Grouped(self.n_records))?;
        writeln!(f, "fingerprints  {:>12}", Grouped(self.n_with_fingerprint))?;
        writeln!(f, "signatures    {:>12}", Grouped(self.n_with_signature))?;
        writeln!(f, "seconds       {:>12.2}", self.time.as_secs_f64())?;
        writeln!(f, "the same index again: indexer import FILE --store URL{}", self.flags)
    }
}

/// The flags by which a new index is like this one, each after a space. What is so by default is left out.
fn flags_like(metadata: &Metadata) -> String {
    let mut flags = String::new();
    let mut flag = |name: &str, value: &dyn fmt::Display| {
        flags.push_str(&format!(" --{name} {value}"));
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
    if let Some(retain) = metadata.retain {
        flag("retain", &retain);
    }
    let default = Recipe::default().fields();
    for (field, value) in &metadata.recipe {
        match field.as_str() {
            _ if default.get(field) == Some(value) => {}
            "user-dictionary" => flag("user-dict", &format_args!("FILE (SHA-256 {value})")),
            // Where the weights use none it follows from them.
            "stop-words" | "idf" if value != "none" => flag(field, &format_args!("FILE (SHA-256 {value})")),
            "segmenter" | "simplify" | "weights" | "top-terms" | "seed" => flag(field, value),
            _ => {}
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use index::OpenOptions;

    use super::*;

    #[test]
    fn flags_are_of_what_is_not_so_by_default() {
        let of = |options: OpenOptions| {
            let recipe_default = Recipe::default().fields();
            flags_like(&OpenOptions { recipe_default, ..options }.new_metadata().unwrap())
        };
        assert_eq!(of(OpenOptions::default()), "");
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
