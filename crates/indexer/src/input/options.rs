//! What is to be read, and what records are.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::{FieldPath, Format};

/// What is read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct InputOptions {
    /// Files, folders, globs and addresses, in their order; `-` is standard input. A journal compares what was found,
    /// file by file.
    #[serde(skip)]
    pub(crate) files: Vec<PathBuf>,
    /// A file that names more of them, one a line. Likewise.
    #[serde(skip)]
    pub(crate) files_from: Option<PathBuf>,
    /// How long to go on trying when a file that lies elsewhere breaks off. What it reads is the same.
    #[serde(skip)]
    pub(crate) wait: Duration,
    #[serde(flatten)]
    pub(crate) records: RecordOptions,
    /// Whether a record without an id gets one.
    pub(crate) make_ids: bool,
}

/// What records are, wherever they come from.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct RecordOptions {
    /// None where each file says what it is.
    pub(crate) format: Option<Format>,
    pub(crate) id_field: Option<FieldPath>,
    pub(crate) text_field: Vec<FieldPath>,
    pub(crate) record_bytes_max: usize,
}

#[cfg(test)]
impl InputOptions {
    /// Files as they are read where nothing else is asked for.
    pub(crate) fn of(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let text = "text".parse().unwrap_or_else(|never| match never {});
        Self {
            files: files.into_iter().map(Into::into).collect(),
            files_from: None,
            wait: Duration::ZERO,
            records: RecordOptions {
                format: None,
                id_field: None,
                text_field: vec![text],
                record_bytes_max: 16 << 20,
            },
            make_ids: false,
        }
    }
}
