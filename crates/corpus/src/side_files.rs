//! Files that programs write beside tables: marks, logs, checksums, and what was never finished.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Folders of Spark, Hadoop and their like without data, or with data that was never finished, and
/// the one that macOS puts into archives.
const FOLDERS: [&str; 7] = [
    "_temporary",
    "_delta_log",
    "_delta_index",
    "_change_data",
    "_spark_metadata",
    "_impala_insert_staging",
    "__macosx",
];

const FILES: [&str; 6] = [
    "_success",
    "_metadata",
    "_common_metadata",
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
];

/// Beginnings of the marks that Databricks writes; a number follows.
const MARKS: [&str; 3] = ["_committed_", "_committed_vacuum", "_started_"];

/// Keys in the head of a README that describes a data set of the Hugging Face Hub.
const CARD_KEYS: [&str; 6] =
    ["configs", "dataset_info", "license", "pretty_name", "size_categories", "task_categories"];

/// Number of bytes by which a card is told.
pub(super) const CARD_BYTES: u64 = 64 << 10;

/// Returns true for a file below a folder that a program wrote beside its data.
#[must_use]
pub fn is_beside_data(folder: &Path, file: &Path) -> bool {
    let below = file.strip_prefix(folder).unwrap_or(file);
    is_side_file(&below.to_string_lossy()) || is_card(file) || is_state(file)
}

/// Returns true for a file without data, by its path below the folder that is read.
pub(super) fn is_side_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut steps = path.split('/').rev();
    let name = steps.next().unwrap_or_default();
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    FILES.contains(&name)
        || MARKS.iter().any(|mark| name.strip_prefix(mark).is_some_and(is_number))
        || name.ends_with(".crc")
        || steps.any(|step| FOLDERS.contains(&step))
}

/// Returns true for the description of a data set, by the keys at its beginning.
pub(super) fn is_card(path: &Path) -> bool {
    let mut head = Vec::new();
    path.to_str().is_some_and(may_be_card)
        && File::open(path).is_ok_and(|file| file.take(CARD_BYTES).read_to_end(&mut head).is_ok())
        && is_head_of_card(&head)
}

/// Returns true for the path of a README, whose [beginning](is_head_of_card) may tell a card.
pub(super) fn may_be_card(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case("README.md"))
}

/// Returns true for the first [`CARD_BYTES`] of the description of a data set.
pub(super) fn is_head_of_card(head: &[u8]) -> bool {
    has_card_keys(&String::from_utf8_lossy(head))
}

/// Returns true for the state of a data set that the library `datasets` saved, by the description
/// beside it.
pub(super) fn is_state(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "state.json")
        && path.with_file_name("dataset_info.json").is_file()
}

fn has_card_keys(text: &str) -> bool {
    let mut lines = text.lines();
    let is_key = |line: &str| {
        CARD_KEYS.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    lines.next().is_some_and(|line| line.trim_end() == "---")
        && lines.take_while(|line| line.trim_end() != "---").any(is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_files_are_told_by_their_names() {
        for path in [
            "_SUCCESS",
            "day=1/_SUCCESS",
            "_temporary/0/task_1/part-0.parquet",
            "_committed_123",
            "_committed_vacuum123",
            "_started_123",
            "part-0.csv.crc",
            "_delta_log/0.json",
            "dataset_infos.json",
        ] {
            assert!(is_side_file(path), "{path}");
        }
        for path in [
            "part-0.parquet",
            "_posts/a.md",
            "_b.jsonl",
            "temporary/a.txt",
            "a/state.json",
            "success",
            "_started_work.txt",
            "_committed_x.md",
            "_started_",
        ] {
            assert!(!is_side_file(path), "{path}");
        }
    }

    #[test]
    fn cards_are_told_by_their_keys() {
        for (text, expected) in [
            ("---\nlicense: mit\nconfigs:\n- a\n---\n# Data", true),
            ("---\r\ndataset_info:\r\n---\r\n", true),
            ("---\ntitle: A post\n---\nconfigs: none", false),
            ("# configs:\n", false),
            ("", false),
        ] {
            assert_eq!(has_card_keys(text), expected, "{text:?}");
        }
    }
}
