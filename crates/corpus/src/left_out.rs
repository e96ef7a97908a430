//! Files found and not read, counted by ending: their names imply no known format, or they say how
//! a folder was written.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Format;
use super::conversions::conversion;
use super::numbers::Grouped;

/// Maximum number of distinct endings; the rest count as one.
const ENDINGS_MAX: usize = 1000;

/// Number of endings shown to the user.
const ENDINGS_SHOWN: usize = 8;

/// Maximum length of an ending in bytes. A longer one is part of the name.
const ENDING_BYTES_MAX: usize = 16;

const NO_ENDING: &str = "no ending";
const OTHERS: &str = "others";

/// Number of files by ending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut(BTreeMap<String, u64>);

impl LeftOut {
    /// Stands in the place of an ending for files that programs write beside their data.
    pub(super) const SIDE_FILES: &str = "side files";
    pub(super) const LINKS: &str = "links";
    pub(super) const DEVICES: &str = "pipes and devices";
    pub(super) const DANGLING: &str = "links to nothing";

    /// Counts a file of this name.
    pub fn add(&mut self, name: &str) {
        self.add_kind(&ending(name));
    }

    /// Counts a file by its ending, or by the word that stands in the place of one.
    pub fn add_kind(&mut self, ending: &str) {
        self.add_ending(ending, 1);
    }

    /// Counts a file that a program wrote beside its data.
    pub fn add_side_file(&mut self) {
        self.add_kind(Self::SIDE_FILES);
    }

    /// Returns true if there are none but files that programs write beside their data, and links
    /// and devices.
    #[must_use]
    pub fn is_side_files(&self) -> bool {
        let kinds = [Self::SIDE_FILES, Self::LINKS, Self::DEVICES, Self::DANGLING];
        self.0.keys().all(|ending| kinds.contains(&&**ending))
    }

    /// Returns true if every file found is read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of files left out.
    pub fn n(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the endings with their numbers of files, most files first.
    pub fn endings(&self) -> Vec<(&str, u64)> {
        let mut endings: Vec<_> = self.0.iter().map(|(ending, n)| (ending.as_str(), *n)).collect();
        endings.sort_by_key(|(_, n)| Reverse(*n));
        endings
    }

    /// Adds the files of `more`.
    pub fn merge(&mut self, more: &Self) {
        more.0.iter().for_each(|(ending, n)| self.add_ending(ending, *n));
    }

    fn add_ending(&mut self, ending: &str, n: u64) {
        let is_new = !self.0.contains_key(ending);
        let ending = if is_new && self.0.len() >= ENDINGS_MAX { OTHERS } else { ending };
        *self.0.entry(ending.to_owned()).or_default() += n;
    }

    /// Formats the commands that convert files of these endings, each after a semicolon; empty if
    /// none is known.
    pub fn advice(&self) -> String {
        let converted = self.0.keys().filter_map(|ending| conversion(ending));
        converted.map(|(what, command)| format!("; this converts {what}: {command}")).collect()
    }

    /// Formats the endings with their numbers on one line.
    pub fn by_ending(&self) -> String {
        let endings = self.endings();
        let show = |(ending, n): &(&str, u64)| format!("{ending} {}", Grouped(*n));
        let mut shown: Vec<String> = endings.iter().take(ENDINGS_SHOWN).map(show).collect();
        let n_more: u64 = endings.iter().skip(ENDINGS_SHOWN).map(|(_, n)| n).sum();
        if n_more > 0 {
            shown.push(format!("others {}", Grouped(n_more)));
        }
        shown.join(", ")
    }
}

/// Formats as in `12 files (.docx 8, .pdf 4)`.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.n();
        let files = if n == 1 { "file" } else { "files" };
        write!(f, "{} {files} ({})", Grouped(n), self.by_ending())
    }
}

/// Returns the ending of a name, with the suffix of its compression. Nothing in an ending can act
/// as a command to a terminal.
pub(super) fn ending(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let (stem, packing) = Format::split_packing(&name);
    let is_ending = |ending: &&str| {
        !ending.is_empty()
            && ending.len() <= ENDING_BYTES_MAX
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let last =
        |name: &str| name.rsplit_once('.').map(|(_, ending)| ending).filter(is_ending).map(str::to_owned);
    match (last(stem), packing) {
        (Some(ending), packing) => format!(".{ending}{packing}"),
        (None, "") => NO_ENDING.to_owned(),
        (None, packing) => packing.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings() {
        for (name, expected) in [
            ("a.docx", ".docx"),
            ("A.B.DOCX", ".docx"),
            ("a.tar.gz", ".tar.gz"),
            ("a.gz", ".gz"),
            ("README", NO_ENDING),
            ("a.", NO_ENDING),
            ("a. and so on", NO_ENDING),
            ("a.\u{1b}[31m", NO_ENDING),
            ("a.averyveryverylongone", NO_ENDING),
        ] {
            assert_eq!(ending(name), expected, "{name:?}");
        }
    }

    #[test]
    fn they_are_counted_and_bounded() {
        let mut left_out = LeftOut::default();
        assert!(left_out.is_empty());
        left_out.add("a.pdf");
        assert_eq!(left_out.to_string(), "1 file (.pdf 1)");
        ["b.docx", "c.docx", "d"].iter().for_each(|name| left_out.add(name));
        assert_eq!(left_out.to_string(), "4 files (.docx 2, .pdf 1, no ending 1)");
        assert!(!left_out.is_side_files());
        let mut side_files = LeftOut::default();
        side_files.add_side_file();
        assert!(side_files.is_side_files() && side_files.to_string() == "1 file (side files 1)");
        for n in 0..5_000 {
            left_out.add(&format!("a.{n}"));
        }
        assert_eq!((left_out.n(), left_out.endings().len()), (5_004, ENDINGS_MAX + 1));
        assert_eq!(left_out.endings()[..2], [(OTHERS, 5_004 - 1_001), (".docx", 2)]);
        assert!(left_out.to_string().len() < 200, "{left_out}");
    }
}
