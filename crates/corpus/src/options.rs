//! What is to be read, and what records are.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::field_path::FieldPath;
use super::format::Format;

/// What is read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct InputOptions {
    /// Files, folders, globs and addresses, in their order; `-` is standard input. A program that writes its options down
    /// compares what was found, file by file, and not these.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
    /// A file that names more of them, one a line. Likewise.
    #[serde(skip)]
    pub files_from: Option<PathBuf>,
    /// How long to go on trying when a file that lies elsewhere breaks off. What it reads is the same.
    #[serde(skip)]
    pub wait: Duration,
    /// What their records are.
    #[serde(flatten)]
    pub records: RecordOptions,
    /// Whether a record without an id gets one.
    pub make_ids: bool,
}

/// What records are, wherever they come from.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RecordOptions {
    /// None where each file says what it is.
    pub format: Option<Format>,
    /// The field that holds the id; none for the format's own, `id` or `WARC-Record-ID`.
    pub id_field: Option<FieldPath>,
    /// The fields that hold the text, joined by line breaks where there are several.
    pub text_field: Vec<FieldPath>,
    /// A record of more bytes is rejected, which bounds memory.
    pub record_bytes_max: usize,
}

/// How many bytes a record may have unless more are asked for.
pub(crate) const RECORD_BYTES_MAX: usize = 16 << 20;

/// How long to go on trying unless something else is asked for.
pub(crate) const WAIT: Duration = Duration::from_secs(60);

impl InputOptions {
    /// Files, folders, globs and addresses as they are read where nothing else is asked for.
    pub fn of(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let files = files.into_iter().map(Into::into).collect();
        let records = RecordOptions::default();
        Self { files, files_from: None, wait: WAIT, records, make_ids: false }
    }
}

impl Default for RecordOptions {
    fn default() -> Self {
        let text_field = vec![FieldPath::name("text")];
        Self { format: None, id_field: None, text_field, record_bytes_max: RECORD_BYTES_MAX }
    }
}
