//! Options of reading: the inputs, and the form of their records.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::compression::WINDOW_LOG_MAX;
use super::copies::Copies;
use super::csv::TableOptions;
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
    /// The place of copies of inputs that come only once; `None` if they are not to be read again.
    #[serde(skip)]
    pub copies: Option<Copies>,
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
    /// Binary logarithm of the largest window of zstd in bytes, which bounds memory. A frame with a
    /// larger one is rejected.
    pub zstd_window_log_max: u32,
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

/// Default of [`RecordOptions::record_bytes_max`].
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Default of [`InputOptions::wait`].
pub const WAIT: Duration = Duration::from_secs(60);

impl InputOptions {
    /// Returns the default options for these files, folders, globs and addresses.
    pub fn of(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let files = files.into_iter().map(Into::into).collect();
        let records = RecordOptions::default();
        Self { files, files_from: None, wait: WAIT, copies: None, records, make_ids: false }
    }
}

impl Default for RecordOptions {
    fn default() -> Self {
        let text_field = vec![FieldPath::name("text")];
        let (record_bytes_max, html) = (RECORD_BYTES_MAX, PageText::default());
        let tables = TableOptions::default();
        Self {
            format: None,
            id_field: None,
            text_field,
            tables,
            record_bytes_max,
            zstd_window_log_max: WINDOW_LOG_MAX,
            html,
        }
    }
}
