//! Formats of outputs, and their names: a suffix that stands for a format must state the right one.

use std::path::Path;

use anyhow::{bail, ensure};
use serde::{Serialize, Serializer};

/// Format of the files in a folder of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultsFormat {
    /// JSON Lines: each item as read.
    Jsonl,
    /// JSON Lines, packed with gzip.
    JsonlGz,
    /// JSON Lines, packed with zstd.
    JsonlZst,
    Parquet,
}

impl ResultsFormat {
    pub(crate) const ALL: [Self; 4] = [Self::Jsonl, Self::JsonlGz, Self::JsonlZst, Self::Parquet];

    /// The suffix of file names, which is also the value of `--results-format`.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::JsonlGz => "jsonl.gz",
            Self::JsonlZst => "jsonl.zst",
            Self::Parquet => "parquet",
        }
    }
}

impl Serialize for ResultsFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.suffix())
    }
}

/// Role of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The documents that stay.
    Kept,
    Duplicates,
    Clusters,
    Pairs,
    /// The records of an index.
    Records,
    Rejects,
    Report,
    /// The number of documents for each term.
    Frequencies,
    /// The folder of a job.
    Journal,
    /// The folder of rows for a bulk load.
    Rows,
    /// The folder of parts with the pairs of an index.
    PairParts,
    /// The folder of collected items, in files of this format.
    Results(ResultsFormat),
}

/// Format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    JsonLines,
    Csv,
    Tsv,
    Parquet,
    /// One object for the whole file.
    Json,
    Page,
    /// Lines of terms and counts, checked by readers to the byte.
    Frequencies,
    /// Files under names of their own.
    Folder,
}

/// Suffixes of other formats for tables. Under such a name JSON Lines would be found out only when
/// another program fails to read them, after the run.
const PROMISES: [&str; 10] =
    [".arrow", ".avro", ".db", ".feather", ".ods", ".orc", ".sqlite", ".xls", ".xlsx", ".xml"];

/// Suffixes of supported packings.
const PACKED: [&str; 2] = [".gz", ".zst"];

/// Suffixes of other packings, by which readers would unpack.
const PACKED_OTHERWISE: [&str; 8] = [".7z", ".br", ".bz2", ".lz4", ".tgz", ".xz", ".zip", ".zstd"];

impl Role {
    /// All possible formats; the first is the default for names without a known suffix.
    const fn writes(self) -> &'static [Written] {
        match self {
            Self::Kept | Self::Duplicates | Self::Clusters | Self::Pairs | Self::Records => {
                &[Written::JsonLines, Written::Parquet, Written::Csv, Written::Tsv]
            }
            Self::Rejects => &[Written::JsonLines],
            Self::Report => &[Written::Json, Written::Page],
            Self::Frequencies => &[Written::Frequencies],
            Self::Journal | Self::Rows | Self::PairParts | Self::Results(_) => &[Written::Folder],
        }
    }

    /// The format for a name. Refuses the suffix of another format.
    pub(crate) fn of(self, path: &Path) -> anyhow::Result<Written> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if let Self::Results(format) = self
            && name.ends_with(&format!(".{}", format.suffix()))
        {
            return Ok(Written::Folder);
        }
        let writes = self.writes();
        let otherwise = PACKED_OTHERWISE.iter().find(|suffix| name.ends_with(*suffix));
        let packing = PACKED.iter().copied().find(|suffix| name.ends_with(suffix)).unwrap_or_default();
        let can_be_packed = writes.iter().any(|written| written.can_be_packed());
        if let Some(suffix) = otherwise {
            ensure!(
                !can_be_packed,
                "outputs are packed with gzip (.gz) or zstd (.zst), and the name promises {suffix}; name another one"
            );
            bail!("the name promises {suffix}, and {}", self.instead());
        }
        let stem = &name[..name.len() - packing.len()];
        let ending = stem.rfind('.').map_or("", |dot| &stem[dot..]);
        let written = writes.iter().copied().find(|written| written.endings().contains(&ending));
        let promises = || PROMISES.contains(&ending) || Written::ALL.iter().any(|any| any.promises(ending));
        let written = match written {
            Some(written) => written,
            None if promises() => bail!("the name promises {ending}, and {}", self.instead()),
            // The name must state the format of a report.
            None if self == Self::Report => bail!("{}", self.instead()),
            None => writes[0],
        };
        ensure!(
            packing.is_empty() || written != Written::Parquet,
            "Parquet is packed inside, and would be packed twice; name an output that ends in .parquet"
        );
        ensure!(
            packing.is_empty() || written.can_be_packed(),
            "the name promises {packing}, and {}",
            self.instead()
        );
        Ok(written)
    }

    /// The possible formats and their suffixes, for an error.
    fn instead(self) -> String {
        let show = |written: &Written| format!("{} ({})", written.what(), written.endings().join(" "));
        match self {
            Self::Journal | Self::Rows | Self::PairParts => {
                "a folder is written, of files with names of their own; name it like a folder".to_owned()
            }
            Self::Results(format) => format!(
                "a folder is written, of files that end in .{0} (--results-format); name it like a folder",
                format.suffix()
            ),
            Self::Frequencies => {
                "lines of text are written, not packed; name a file that ends in .idf or .txt".to_owned()
            }
            _ => {
                let writes = self.writes().iter().map(show).collect::<Vec<_>>().join(", ");
                let n_packed = self.writes().iter().filter(|written| written.can_be_packed()).count();
                let packed = match n_packed {
                    0 => "",
                    n if n == self.writes().len() => " plain or packed (.gz .zst)",
                    _ => ", all but Parquet plain or packed (.gz .zst)",
                };
                format!("what is written here is {writes}{packed}; name a file that ends so")
            }
        }
    }
}

impl Written {
    const ALL: [Self; 8] = [
        Self::JsonLines,
        Self::Csv,
        Self::Tsv,
        Self::Parquet,
        Self::Json,
        Self::Page,
        Self::Frequencies,
        Self::Folder,
    ];

    fn what(self) -> &'static str {
        match self {
            Self::JsonLines => "JSON Lines",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Parquet => "Parquet",
            Self::Json => "JSON",
            Self::Page => "a page",
            Self::Frequencies => "lines of text",
            Self::Folder => "a folder",
        }
    }

    /// Suffixes of the format. JSON Lines are also read from `.json` files, and are text.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::JsonLines => &[".jsonl", ".ndjson", ".json", ".txt", ".text"],
            Self::Csv => &[".csv"],
            Self::Tsv => &[".tsv"],
            Self::Parquet => &[".parquet"],
            Self::Json => &[".json"],
            Self::Page => &[".html", ".htm"],
            Self::Frequencies => &[".idf", ".txt", ".text"],
            Self::Folder => &[],
        }
    }

    fn promises(self, ending: &str) -> bool {
        self.endings().contains(&ending)
    }

    fn can_be_packed(self) -> bool {
        matches!(self, Self::JsonLines | Self::Csv | Self::Tsv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 12] = [
        Role::Kept,
        Role::Duplicates,
        Role::Clusters,
        Role::Pairs,
        Role::Records,
        Role::Rejects,
        Role::Report,
        Role::Frequencies,
        Role::Journal,
        Role::Rows,
        Role::PairParts,
        Role::Results(ResultsFormat::Jsonl),
    ];

    #[test]
    fn names_that_fit() {
        for (role, name, expected) in [
            (Role::Kept, "kept", Written::JsonLines),
            (Role::Kept, "-", Written::JsonLines),
            (Role::Kept, "/dev/null", Written::JsonLines),
            (Role::Kept, "of.2026-01-31", Written::JsonLines),
            (Role::Kept, "a.parquet/kept.JSONL.GZ", Written::JsonLines),
            (Role::Kept, "kept.parquet", Written::Parquet),
            (Role::Kept, "kept.csv.zst", Written::Csv),
            (Role::Kept, "kept.TSV", Written::Tsv),
            (Role::Duplicates, "dropped.ndjson.zst", Written::JsonLines),
            (Role::Duplicates, "dropped.parquet", Written::Parquet),
            (Role::Duplicates, "dropped.csv.gz", Written::Csv),
            (Role::Clusters, "clusters.json", Written::JsonLines),
            (Role::Clusters, "clusters.tsv", Written::Tsv),
            (Role::Pairs, "pairs.parquet", Written::Parquet),
            (Role::Records, "index.parquet", Written::Parquet),
            (Role::Records, "index.jsonl.zst", Written::JsonLines),
            (Role::Rejects, "rejects.txt", Written::JsonLines),
            (Role::Rejects, "rejects.gz", Written::JsonLines),
            (Role::Report, "report.json", Written::Json),
            (Role::Report, "report.HTML", Written::Page),
            (Role::Frequencies, "news.idf", Written::Frequencies),
            (Role::Frequencies, "counts", Written::Frequencies),
            (Role::Journal, "job.of.monday", Written::Folder),
            (Role::Rows, "rows/", Written::Folder),
            (Role::Results(ResultsFormat::Parquet), "items.parquet", Written::Folder),
            (Role::Results(ResultsFormat::JsonlZst), "items.jsonl.zst", Written::Folder),
        ] {
            assert_eq!(role.of(Path::new(name)).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn names_that_promise_something_else() {
        for (role, name, part) in [
            (Role::Kept, "kept.xlsx", "promises .xlsx, and what is written here is JSON Lines (.jsonl"),
            (Role::Kept, "kept.csv.XZ", "gzip (.gz) or zstd (.zst)"),
            (Role::Kept, "kept.parquet.gz", "Parquet is packed inside"),
            (Role::Duplicates, "dropped.parquet.zst", "Parquet is packed inside"),
            (
                Role::Duplicates,
                "dropped.arrow",
                "promises .arrow, and what is written here is JSON Lines (.jsonl",
            ),
            (
                Role::Clusters,
                "clusters.html",
                "Parquet (.parquet), CSV (.csv), TSV (.tsv), all but Parquet plain",
            ),
            (Role::Rejects, "rejects.html", "plain or packed (.gz .zst)"),
            (Role::Report, "report", "JSON (.json), a page (.html .htm)"),
            (Role::Report, "report.pdf", "JSON (.json), a page (.html .htm)"),
            (Role::Report, "report.json.gz", "promises .gz"),
            (Role::Frequencies, "news.jsonl", "promises .jsonl"),
            (Role::Frequencies, "news.idf.gz", "promises .gz"),
            (Role::Journal, "job.json", "a folder is written"),
            (Role::Rows, "rows.parquet", "a folder is written"),
            (Role::Results(ResultsFormat::Jsonl), "items.parquet", "end in .jsonl (--results-format)"),
            (Role::Results(ResultsFormat::Parquet), "items.jsonl", "end in .parquet"),
        ] {
            let refused = role.of(Path::new(name)).unwrap_err().to_string();
            assert!(refused.contains(part), "{name}: {refused}");
        }
    }

    /// For each known suffix, an output either has its format or is refused.
    #[test]
    fn no_output_takes_a_promise_that_it_does_not_keep() {
        let known = Written::ALL.iter().flat_map(|written| written.endings());
        for ending in known.chain(&PROMISES).chain(&PACKED_OTHERWISE) {
            for role in ROLES {
                let fits = role.writes().iter().any(|written| written.promises(ending))
                    || (role == Role::Results(ResultsFormat::Jsonl) && *ending == ".jsonl");
                let path = format!("a folder/name{ending}");
                assert_eq!(role.of(Path::new(&path)).is_ok(), fits, "{role:?} {ending}");
            }
        }
    }
}
