//! Options of reading: the inputs, and the form of their records.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use encoding_rs::Encoding;
use serde::{Serialize, Serializer};

use super::csv::Quote;
use super::field_path::FieldPath;
use super::format::Format;

/// Selection of the inputs, with the options of their records.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct InputOptions {
    /// Files, folders, globs and addresses, in reading order; `-` is standard input. Not
    /// serialized: a program that stores its options compares the files found, one by one, instead.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
    /// A file that lists more inputs, one a line. Not serialized, like `files`.
    #[serde(skip)]
    pub files_from: Option<PathBuf>,
    /// Time to keep retrying when the reading of a remote file breaks off. Not serialized: the
    /// content read stays the same.
    #[serde(skip)]
    pub wait: Duration,
    /// Options of the records in these inputs.
    #[serde(flatten)]
    pub records: RecordOptions,
    /// True if a record without an id gets one.
    pub make_ids: bool,
}

/// Options of records, independent of the inputs that hold them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RecordOptions {
    /// Format of all inputs; `None` if each file tells its own.
    pub format: Option<Format>,
    /// Field that holds the id; `None` for the format's own, `id` or `WARC-Record-ID`.
    pub id_field: Option<FieldPath>,
    /// Fields that hold the text; several are joined by line breaks.
    pub text_field: Vec<FieldPath>,
    /// Form of the inputs that are CSV or TSV.
    #[serde(flatten)]
    pub tables: TableOptions,
    /// Maximum length of a record in bytes, which bounds memory. A longer record is rejected.
    pub record_bytes_max: usize,
    /// Text that is taken of HTML pages.
    pub html: PageText,
}

/// Text that is taken of an HTML page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageText {
    /// The main text, without navigation and the like; all text of a page without one.
    #[default]
    Main,
    /// All text that a reader sees, the title included.
    Text,
}

impl PageText {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Main, Self::Text];

    /// Returns the name, as in `--html`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Text => "text",
        }
    }
}

/// Form of tables of text, as far as each file does not tell its own.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableOptions {
    /// Byte between the cells of a row.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_character")]
    pub delimiter: Option<u8>,
    /// Quoting of cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// Encoding of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<TextEncoding>,
}

fn as_character<S: Serializer>(delimiter: &Option<u8>, serializer: S) -> Result<S::Ok, S::Error> {
    delimiter.map(char::from).serialize(serializer)
}

/// Encoding of a text, by any of the names that browsers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding(pub(super) &'static Encoding);

impl FromStr for TextEncoding {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Encoding::for_label_no_replacement(name.as_bytes())
            .map(Self)
            .ok_or("no such encoding is known; utf-8, gb18030, big5, shift_jis, windows-1252 and others are")
    }
}

impl Serialize for TextEncoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

/// Default of [`RecordOptions::record_bytes_max`].
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Default of [`InputOptions::wait`].
pub const WAIT: Duration = Duration::from_secs(60);

impl InputOptions {
    /// Returns the default options for these files, folders, globs and addresses.
    pub fn of(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let files = files.into_iter().map(Into::into).collect();
        let records = RecordOptions::default();
        Self { files, files_from: None, wait: WAIT, records, make_ids: false }
    }
}

impl Default for RecordOptions {
    fn default() -> Self {
        let text_field = vec![FieldPath::name("text")];
        let (record_bytes_max, html) = (RECORD_BYTES_MAX, PageText::default());
        let tables = TableOptions::default();
        Self { format: None, id_field: None, text_field, tables, record_bytes_max, html }
    }
}
