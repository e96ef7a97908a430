//! Files that a glob matches.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use glob::glob_with;

use super::super::left_out::LeftOut;
use super::super::side_files::is_side_file;
use super::super::wildcards::{GLOB, GLOB_CHARACTERS};
use super::{By, Found, WHAT_TO_DO};

impl Found {
    /// Adds the files that a glob matches, sorted by name. A matching folder stands for the files
    /// in it. Records are known by the path after the folders without wildcards.
    pub(super) fn add_glob(&mut self, pattern: &str) -> anyhow::Result<()> {
        let failed = || format!("failed to read the glob {pattern}");
        // Without `./`, as the matches are written.
        let base: PathBuf = Path::new(pattern)
            .components()
            .take_while(|step| !step.as_os_str().to_string_lossy().contains(GLOB_CHARACTERS))
            .filter(|step| *step != Component::CurDir)
            .collect();
        let n_before = self.listing.sources.len();
        let n_left_out_before = self.listing.left_out.n();
        let matches: Result<Vec<PathBuf>, _> = glob_with(pattern, GLOB).with_context(failed)?.collect();
        let matches = matches.with_context(failed)?;
        let is_side_file =
            |path: &Path| is_side_file(&path.strip_prefix(&base).unwrap_or(path).to_string_lossy());
        let folders = matches.iter().filter(|path| path.is_dir() && !is_side_file(path));
        let folders: HashSet<&Path> = folders.map(PathBuf::as_path).collect();
        // With `**` a glob may match a folder and what is in it, which is read once.
        let is_in_folder = |path: &&PathBuf| {
            !folders.is_empty() && path.ancestors().skip(1).any(|folder| folders.contains(folder))
        };
        for path in matches.iter().filter(|path| !is_in_folder(path)) {
            if is_side_file(path) {
                self.listing.left_out.add_side_file();
            } else if folders.contains(path.as_path()) {
                let left_out = self.add_folder(path, &base)?;
                self.listing.left_out.merge(&left_out);
            } else {
                self.add_file(path, &base, By::Glob)?;
            }
        }
        if self.listing.sources.len() == n_before {
            let left_out = &self.listing.left_out;
            ensure!(
                left_out.n() > n_left_out_before,
                "there is no file {pattern}, and as a glob it matches nothing; look at it with ls"
            );
            bail!(nothing_in_matches(pattern, left_out));
        }
        Ok(())
    }
}

/// Formats the reason why no match of a glob is read.
pub(super) fn nothing_in_matches(pattern: &str, left_out: &LeftOut) -> String {
    format!("nothing that {pattern} matches can be read: {left_out}; {WHAT_TO_DO}{}", left_out.advice())
}
