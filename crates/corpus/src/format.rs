//! Formats of files, by the endings of their names.

use std::fmt;

use serde::{Serialize, Serializer};

/// Format of the records in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines: one object a line.
    Jsonl,
    /// Comma-separated values; the first row names the fields.
    Csv,
    /// Tab-separated values, with the quoting of CSV.
    Tsv,
    /// Parquet, which is read in any order and so never from a pipe.
    Parquet,
    /// Arrow: its stream, and its file, which is Feather.
    Arrow,
    /// Plain text: a file is a document.
    Text,
    /// HTML: a file is a page.
    Html,
    /// WARC and WET.
    Warc,
}

/// Known endings of names. A suffix of [`COMPRESSED`] may follow.
const SUFFIXES: [(&str, Format); 20] = [
    (".jsonl", Format::Jsonl),
    (".ndjson", Format::Jsonl),
    (".json", Format::Jsonl),
    (".csv", Format::Csv),
    (".tsv", Format::Tsv),
    (".parquet", Format::Parquet),
    (".arrow", Format::Arrow),
    (".arrows", Format::Arrow),
    (".feather", Format::Arrow),
    (".ipc", Format::Arrow),
    (".txt", Format::Text),
    (".text", Format::Text),
    (".md", Format::Text),
    (".markdown", Format::Text),
    (".rst", Format::Text),
    (".html", Format::Html),
    (".htm", Format::Html),
    (".xhtml", Format::Html),
    (".warc", Format::Warc),
    (".wet", Format::Warc),
];

const COMPRESSED: [&str; 3] = [".gz", ".zst", ".bz2"];

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] =
        [Self::Jsonl, Self::Csv, Self::Tsv, Self::Parquet, Self::Arrow, Self::Text, Self::Html, Self::Warc];

    /// Returns the name of the format, as in `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Text => "text",
            Self::Html => "html",
            Self::Warc => "warc",
        }
    }

    /// Returns the format that the ending of a file name implies.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let (name, _) = Self::split_packing(&name);
        SUFFIXES.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, format)| *format)
    }

    /// Splits `name`, in lowercase, before the suffix of its compression; the second part is empty
    /// if there is none.
    pub fn split_packing(name: &str) -> (&str, &str) {
        let stem = COMPRESSED.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        name.split_at(stem.len())
    }

    /// Returns true if a file of this format is one document, which is named after the file.
    pub fn is_document(self) -> bool {
        matches!(self, Self::Text | Self::Html)
    }

    /// Returns the byte between the cells of a row, for formats with delimiters.
    pub fn delimiter(self) -> Option<u8> {
        match self {
            Self::Csv => Some(b','),
            Self::Tsv => Some(b'\t'),
            Self::Jsonl | Self::Parquet | Self::Arrow | Self::Text | Self::Html | Self::Warc => None,
        }
    }

    /// Returns all known endings of names, as shown to the user.
    pub fn suffixes() -> String {
        SUFFIXES.map(|(suffix, _)| suffix).join(" ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
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
            ("README.md", Some(Format::Text)),
            ("a.XHTML", Some(Format::Html)),
            ("CC-MAIN-1.warc.wet.gz", Some(Format::Warc)),
            ("a.wet", Some(Format::Warc)),
            ("a.docx", None),
            ("a.gz", None),
            ("a.jsonl.gz.gz", None),
            ("jsonl", None),
        ] {
            assert_eq!(Format::of(name), expected, "{name}");
        }
    }
}
