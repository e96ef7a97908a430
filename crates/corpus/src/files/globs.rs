//! Files that a glob matches.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use glob::{GlobError, Pattern, glob_with};
use walkdir::{DirEntry, WalkDir};

use super::super::internal_error::caught;
use super::super::left_out::LeftOut;
use super::super::side_files::is_side_file;
use super::super::table_folders::{self, Log};
use super::super::wildcards::{GLOB, GLOB_CHARACTERS, for_library, on_braces};
use super::folders::is_hidden;
use super::{By, Found, Source, WHAT_TO_DO};

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
        let matches = matches(&for_library(pattern), &base).with_context(failed)?;
        let folders = matches.iter().filter(|path| path.is_dir());
        let folders: HashSet<&Path> = folders.map(PathBuf::as_path).collect();
        let is_side_file = |path: &Path| {
            let below = path.strip_prefix(&base).unwrap_or(path).to_string_lossy();
            // The slash tells a folder from a file.
            if folders.contains(path) { is_side_file(&format!("{below}/")) } else { is_side_file(&below) }
        };
        // With `**` a glob may match a folder and what is in it, which is read once.
        let is_in_folder = |path: &&PathBuf| {
            !folders.is_empty() && path.ancestors().skip(1).any(|folder| folders.contains(folder))
        };
        let mut tables = Tables { base: &base, logs: HashMap::new() };
        for path in matches.iter().filter(|path| !is_in_folder(path)) {
            if is_side_file(path) {
                self.listing.left_out.add_side_file();
                continue;
            }
            let table = tables.around(path)?;
            if folders.contains(path.as_path()) {
                let left_out = self.add_folder(path, &base, table)?;
                self.listing.left_out.merge(&left_out);
            } else if table.is_some_and(|log| !log.takes(path)) {
                self.listing.left_out.add_side_file();
            } else {
                self.add_file(path, &base, By::Glob)?;
            }
        }
        self.drop_reached_again(n_before, &base);
        if self.listing.sources.len() == n_before {
            let left_out = &self.listing.left_out;
            ensure!(
                left_out.n() > n_left_out_before,
                "there is no file {pattern}, and as a glob it matches nothing{}; look at it with ls",
                on_braces(pattern)
            );
            bail!(nothing_in_matches(pattern, left_out));
        }
        Ok(())
    }

    /// Drops files from the `n_before`th on that a way through links to folders reaches again. The
    /// way without such links stays, else the first.
    fn drop_reached_again(&mut self, n_before: usize, base: &Path) {
        let real_base = real(base);
        let mut folders: HashMap<PathBuf, (PathBuf, bool)> = HashMap::new();
        for folder in self.listing.sources[n_before..].iter().filter_map(|source| source.path().parent()) {
            if !folders.contains_key(folder) {
                let real = real(folder);
                let has_links = real != real_base.join(folder.strip_prefix(base).unwrap_or(folder));
                folders.insert(folder.to_owned(), (real, has_links));
            }
        }
        if !folders.values().any(|(_, has_links)| *has_links) {
            return;
        }
        let place = |source: &Source| {
            let (folder, has_links) = folders.get(source.path().parent()?)?;
            Some((folder.join(source.path().file_name()?), *has_links))
        };
        let sources = self.listing.sources.split_off(n_before);
        let direct = sources.iter().filter_map(place).filter(|(_, has_links)| !has_links);
        let mut reached: HashSet<PathBuf> = direct.map(|(file, _)| file).collect();
        for source in sources {
            if let Some((file, true)) = place(&source)
                && !reached.insert(file)
            {
                let n_bytes = source.location().n_bytes();
                self.listing.n_bytes = self.listing.n_bytes.map(|sum| sum.saturating_sub(n_bytes));
            } else {
                self.listing.sources.push(source);
            }
        }
    }
}

/// Returns all that a glob matches, sorted by name; `base` is the path before the first wildcard.
fn matches(pattern: &str, base: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let below: PathBuf = Path::new(pattern)
        .components()
        .skip_while(|step| !step.as_os_str().to_string_lossy().contains(GLOB_CHARACTERS))
        .collect();
    let (has_any_depth, goes_up) =
        (below.iter().any(|step| step == "**"), below.iter().any(|step| step == ".."));
    if !has_any_depth || goes_up {
        let matches = glob_with(pattern, GLOB)?;
        match caught(|| matches.collect::<Result<_, GlobError>>()) {
            Ok(matches) => return Ok(matches?),
            // The library panics at a name that is not UTF-8, whatever the pattern is.
            Err(_) if goes_up => {
                bail!(
                    "a name there is not UTF-8; write the path without .., name the folder, or rename the file"
                )
            }
            Err(_) => {}
        }
    }
    let depth_max = if has_any_depth { usize::MAX } else { below.iter().count() };
    // The library would follow links around their own folders, again and again.
    let has_hidden = below.iter().any(|step| step.as_encoded_bytes().starts_with(b"."));
    let must_be_folder = below.ends_with("**") || pattern.ends_with('/');
    let steps = below.iter().take_while(|step| *step != "**");
    let steps: Vec<Pattern> =
        steps.map(|step| Pattern::new(&step.to_string_lossy())).collect::<Result<_, _>>()?;
    // Folders beside the way to `**` are not looked at.
    let is_on_way = |entry: &DirEntry| {
        let step = entry.depth().checked_sub(1).and_then(|n| steps.get(n));
        step.is_none_or(|step| step.matches_with(&entry.file_name().to_string_lossy(), GLOB))
    };
    let pattern = Pattern::new(&below.to_string_lossy())?;
    let root = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let walk = WalkDir::new(root).min_depth(1).max_depth(depth_max).follow_links(true);
    let walk = walk.sort_by_file_name().into_iter();
    let mut matches = Vec::new();
    let is_shown = |entry: &DirEntry| has_hidden || entry.depth() == 0 || !is_hidden(entry.file_name());
    for entry in walk.filter_entry(|entry| is_on_way(entry) && is_shown(entry)) {
        let (path, is_folder) = match entry {
            Ok(entry) => (entry.path().to_owned(), entry.file_type().is_dir()),
            Err(error) if error.loop_ancestor().is_some() || (error.depth() == 0 && !root.exists()) => {
                continue;
            }
            // A folder in which one name alone was asked for, as a shell looks it up.
            Err(error)
                if steps.get(error.depth()).is_some_and(|step| !step.as_str().contains(GLOB_CHARACTERS)) =>
            {
                continue;
            }
            Err(error) => match error.path().filter(|path| !path.is_dir()) {
                Some(path) => (path.to_owned(), false),
                None => return Err(error.into()),
            },
        };
        let below = path.strip_prefix(root).unwrap_or(&path);
        if (is_folder || !must_be_folder) && pattern.matches_with(&below.to_string_lossy(), GLOB) {
            matches.push(base.join(below));
        }
    }
    Ok(matches)
}

/// Returns the path of a folder without links; an empty one is the current folder.
fn real(folder: &Path) -> PathBuf {
    Path::new(".").join(folder).canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Logs of the tables in which matches of a glob lie.
struct Tables<'b> {
    /// The path before the first wildcard.
    base: &'b Path,
    /// By folder; `None` for one that is no table.
    logs: HashMap<PathBuf, Option<Log>>,
}

impl Tables<'_> {
    /// Returns the log of the innermost table around a match.
    fn around(&mut self, path: &Path) -> anyhow::Result<Option<&mut Log>> {
        let base = self.base;
        let folders = || path.ancestors().skip(1).take_while(|folder| folder.starts_with(base));
        for folder in folders() {
            if !self.logs.contains_key(folder) {
                self.logs.insert(folder.to_owned(), table_folders::listed(folder)?);
            }
        }
        let table = folders().find(|folder| self.logs.get(*folder).is_some_and(Option::is_some));
        Ok(table.and_then(|folder| self.logs.get_mut(folder)?.as_mut()))
    }
}

/// Formats the reason why no match of a glob is read.
pub(super) fn nothing_in_matches(pattern: &str, left_out: &LeftOut) -> String {
    let what_to_do = if left_out.is_side_files() { "a pipe is read by its own name" } else { WHAT_TO_DO };
    format!("nothing that {pattern} matches can be read: {left_out}; {what_to_do}{}", left_out.advice())
}
