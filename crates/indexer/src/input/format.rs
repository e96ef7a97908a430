//! What is in a file, by the end of its name.

use std::fmt;

use clap::ValueEnum;

/// How the records of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON Lines: one object a line
    Jsonl,
    /// Comma-separated values; the first row names the fields
    Csv,
    /// Tab-separated values, with the quoting of CSV
    Tsv,
    /// Parquet, from files only
    Parquet,
    /// A file is a document: its path is the id, all of it the text, in any usual encoding
    Text,
    /// WARC and WET: HTML pages and plain texts, those with an HTTP answer where its status is 200
    Warc,
}

/// The known ends of names, which a suffix of [`COMPRESSED`] may follow.
const SUFFIXES: [(&str, Format); 9] = [
    (".jsonl", Format::Jsonl),
    (".ndjson", Format::Jsonl),
    (".json", Format::Jsonl),
    (".csv", Format::Csv),
    (".tsv", Format::Tsv),
    (".parquet", Format::Parquet),
    (".txt", Format::Text),
    (".warc", Format::Warc),
    (".wet", Format::Warc),
];

const COMPRESSED: [&str; 3] = [".gz", ".zst", ".bz2"];

impl Format {
    /// The format that a file of this name has, as far as names say.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = COMPRESSED.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name);
        SUFFIXES.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, format)| *format)
    }

    /// What stands between the cells of a row, where there are any.
    pub(crate) fn delimiter(self) -> Option<u8> {
        match self {
            Self::Csv => Some(b','),
            Self::Tsv => Some(b'\t'),
            Self::Jsonl | Self::Parquet | Self::Text | Self::Warc => None,
        }
    }

    /// All known ends of names, for people.
    pub(crate) fn suffixes() -> String {
        SUFFIXES.map(|(suffix, _)| suffix).join(" ")
    }
}

/// As `--format` has it.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("no format is hidden").get_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, expected) in [
            ("a.jsonl", Some(Format::Jsonl)),
            ("a.JSON.GZ", Some(Format::Jsonl)),
            ("a.b.ndjson.zst", Some(Format::Jsonl)),
            ("a.txt.bz2", Some(Format::Text)),
            ("CC-MAIN-1.warc.wet.gz", Some(Format::Warc)),
            ("a.gz", None),
            ("a.jsonl.gz.gz", None),
            ("jsonl", None),
        ] {
            assert_eq!(Format::of(name), expected, "{name}");
        }
    }
}
