//! A folder of results in parts, each a file that is whole or absent. Existing parts are not made
//! again: the same command resumes a killed run, and several workers fill one folder.
//!
//! A manifest states the index of the parts and their options. Parts of another index or other
//! options are refused.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use index::{Index, WriteMark};
use serde::{Deserialize, Serialize};

use crate::output::Left;

const MANIFEST: &str = "manifest.json";

/// Version of the manifest.
const FORMAT: u32 = 1;

/// Attributes of the parts, readable for people, too. All but `store` determine the content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    format: u32,
    /// Identity of the index, independent of its URL.
    index: String,
    /// URL of the index in the run that made the folder.
    store: String,
    max_distance: u32,
    min_similarity: Option<f64>,
    parts: u32,
    results_format: String,
    /// Number of workers sharing the parts; `None` if the run that made the folder did not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shards: Option<u32>,
    /// The last write to the index when the folder was made: a copy of the index from before has
    /// other pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_write: Option<WriteMark>,
}

/// Attributes requested by the run.
pub(crate) struct Asked<'a> {
    pub(crate) index: String,
    pub(crate) last_write: Option<WriteMark>,
    pub(crate) store: &'a str,
    pub(crate) max_distance: u32,
    pub(crate) min_similarity: Option<f64>,
    /// Number of parts; `None` for that of the folder, or `n_parts_default` for a new one.
    pub(crate) n_parts: Option<u32>,
    pub(crate) n_parts_default: u32,
    /// Number of workers, of which this one takes every `n_shards`th part; `None` for all parts.
    pub(crate) n_shards: Option<u32>,
    pub(crate) suffix: &'static str,
}

/// An open folder of parts.
pub(crate) struct Parts {
    path: PathBuf,
    n_parts: u32,
    suffix: String,
    last_write: Option<WriteMark>,
    is_older: bool,
}

impl Parts {
    /// Makes the folder, or opens one of the same attributes.
    pub(crate) fn open(path: &Path, asked: &Asked<'_>) -> anyhow::Result<Self> {
        crate::durable::create_folder(path)
            .with_context(|| format!("failed to make the folder {}", path.display()))?;
        let manifest = match read(path)? {
            Some(manifest) => manifest,
            None => begin(path, asked)?,
        };
        if let Some((what, theirs, ours)) = asked.difference(&manifest) {
            bail!(
                "{} has pairs {what} {theirs}, and these are {what} {ours}; name another folder, or remove it to begin anew",
                path.display()
            );
        }
        let Manifest { parts: n_parts, results_format: suffix, last_write, .. } = manifest;
        let is_older = last_write != asked.last_write;
        Ok(Self { path: path.to_owned(), n_parts, suffix, last_write, is_older })
    }

    /// Returns true if the index was written to since the folder was made, as far as the store can
    /// tell.
    pub(crate) fn is_older(&self) -> bool {
        self.is_older
    }

    /// Refuses an index restored from a copy older than the folder.
    pub(crate) fn hold_to(&self, index: &Index) -> anyhow::Result<()> {
        let has_written = self.last_write.map_or(Ok(true), |then| index.has_written(&then));
        ensure!(
            has_written.context("failed to ask the index for its last write")?,
            "the index was put back to a copy that is older than the pairs in {}; put back a copy that was made later, or \
             remove the folder to begin anew",
            self.path.display()
        );
        Ok(())
    }

    pub(crate) fn len(&self) -> u32 {
        self.n_parts
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.path
    }

    /// The path of a part, whether it exists or not.
    pub(crate) fn path_of(&self, part: u32) -> PathBuf {
        self.path.join(format!("part-{part:05}.{}", self.suffix))
    }

    pub(crate) fn has(&self, part: u32) -> bool {
        self.path_of(part).exists()
    }

    /// Removes partial files of killed runs whose parts exist by now. Skips files to which another
    /// run writes.
    pub(crate) fn tidy(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let of_whom = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial"));
            // The file's name, a dot and a part that distinguishes several files.
            let of_whom = of_whom.and_then(|name| name.rsplit_once('.')).map(|(whole, _)| whole);
            let path = self.path.join(&*name);
            if of_whom.is_some_and(|whole| self.path.join(whole).exists())
                && let Some(_left) = Left::at(path.clone())
            {
                crate::durable::remove(&path)?;
            }
        }
        Ok(())
    }
}

impl Asked<'_> {
    fn manifest(&self) -> Manifest {
        Manifest {
            format: FORMAT,
            index: self.index.clone(),
            store: self.store.to_owned(),
            max_distance: self.max_distance,
            min_similarity: self.min_similarity,
            parts: self.n_parts.unwrap_or(self.n_parts_default),
            results_format: self.suffix.to_owned(),
            shards: self.n_shards,
            last_write: self.last_write,
        }
    }

    /// The first difference between the folder and the request: its name, and both values.
    fn difference(&self, there: &Manifest) -> Option<(&'static str, String, String)> {
        let ours = self.manifest();
        let similarity = |manifest: &Manifest| format!("{:?}", manifest.min_similarity.unwrap_or(0.0));
        if there.index != ours.index {
            let name = |manifest: &Manifest| format!("{} ({})", manifest.index, manifest.store);
            Some(("of the index", name(there), name(&ours)))
        } else if there.max_distance != ours.max_distance {
            Some(("by --max-distance", there.max_distance.to_string(), ours.max_distance.to_string()))
        } else if there.min_similarity != ours.min_similarity {
            Some(("by --min-similarity", similarity(there), similarity(&ours)))
        } else if there.results_format != ours.results_format {
            Some(("as --results-format", there.results_format.clone(), ours.results_format))
        } else if let Some((theirs, ours)) =
            there.shards.zip(ours.shards).filter(|(theirs, ours)| theirs != ours)
        {
            Some(("by workers that are", theirs.to_string(), ours.to_string()))
        } else {
            let n_parts = self.n_parts.filter(|&n_parts| n_parts != there.parts)?;
            Some(("in --parts", there.parts.to_string(), n_parts.to_string()))
        }
    }
}

/// Reads the manifest; `None` if there is none.
fn read(path: &Path) -> anyhow::Result<Option<Manifest>> {
    let file = path.join(MANIFEST);
    let bytes = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.with_context(|| format!("failed to read {}", file.display()))?,
    };
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not one of `indexer pairs`; name another folder", file.display()))?;
    ensure!(
        manifest.format == FORMAT,
        "{} is of format {}, and this program knows {FORMAT}; name another folder",
        file.display(),
        manifest.format
    );
    Ok(Some(manifest))
}

/// Writes the manifest, unless another worker was faster.
fn begin(path: &Path, asked: &Asked<'_>) -> anyhow::Result<Manifest> {
    let failed = || format!("failed to begin the folder {}", path.display());
    for entry in fs::read_dir(path).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') {
            // Another worker has written its manifest first.
            let manifest = read(path)?;
            return manifest.with_context(|| {
                format!("{} has other files ({name}); name a new folder for the pairs", path.display())
            });
        }
    }
    let manifest = asked.manifest();
    let mut builder = tempfile::Builder::new();
    let prefix = format!(".{MANIFEST}.");
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(path).with_context(failed)?;
    let mut bytes = serde_json::to_vec_pretty(&manifest)?;
    bytes.push(b'\n');
    file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).with_context(failed)?;
    match file.persist_noclobber(path.join(MANIFEST)) {
        Ok(_) => crate::durable::sync(path).with_context(failed).map(|()| manifest),
        // Another worker was faster.
        Err(error) => match read(path)? {
            Some(manifest) => Ok(manifest),
            None => Err(error.error).with_context(failed),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(index: &str, n_parts: Option<u32>) -> Asked<'static> {
        Asked {
            index: index.to_owned(),
            last_write: None,
            store: "embedded:x",
            max_distance: 3,
            min_similarity: Some(0.8),
            n_parts,
            n_parts_default: 16,
            n_shards: Some(2),
            suffix: "jsonl",
        }
    }

    fn refused(path: &Path, asked: &Asked<'_>) -> String {
        format!("{:#}", Parts::open(path, asked).err().unwrap())
    }

    #[test]
    fn a_folder_is_for_one_index_and_one_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("new/pairs");
        let parts = Parts::open(path, &asked("one", Some(4))).unwrap();
        assert_eq!((parts.len(), parts.has(3)), (4, false));
        assert_eq!(parts.path_of(3), path.join("part-00003.jsonl"));
        // The folder has its original number of parts, from any URL of the index.
        let again = Asked { store: "hbase://h:1/x", ..asked("one", None) };
        assert_eq!(Parts::open(path, &again).unwrap().len(), 4);
        // One worker completes the parts that others have left.
        Parts::open(path, &Asked { n_shards: None, ..asked("one", None) }).unwrap();
        for (asked, part) in [
            (asked("other", None), "of the index one (embedded:x), and these are of the index other"),
            (asked("one", Some(5)), "in --parts 4, and these are in --parts 5"),
            (Asked { max_distance: 2, ..asked("one", None) }, "by --max-distance 3"),
            (
                Asked { min_similarity: Some(0.9), ..asked("one", None) },
                "--min-similarity 0.8, and these are",
            ),
            (Asked { n_shards: Some(3), ..asked("one", None) }, "by workers that are 2, and these are"),
            (Asked { suffix: "parquet", ..asked("one", None) }, "as --results-format jsonl"),
        ] {
            let refused = refused(path, &asked);
            assert!(refused.contains(part) && refused.contains("name another folder"), "{refused}");
        }
        fs::write(path.join(MANIFEST), "{}").unwrap();
        assert!(refused(path, &asked("one", None)).contains("is not one of `indexer pairs`"));
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "x").unwrap();
        let refused = refused(folder.path(), &asked("one", None));
        assert!(refused.contains("has other files (thesis.txt)"), "{refused}");
        assert!(!folder.path().join(MANIFEST).exists());
    }

    #[test]
    fn what_the_killed_leave_goes_once_the_part_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let parts = Parts::open(folder.path(), &asked("one", Some(4))).unwrap();
        let left = |name: &str| folder.path().join(name);
        let of =
            [".part-00001.jsonl.x1.partial", ".part-00002.jsonl.x2.partial", ".manifest.json.x3.partial"];
        of.iter().for_each(|name| fs::write(left(name), "").unwrap());
        fs::write(parts.path_of(1), "").unwrap();
        parts.tidy().unwrap();
        assert_eq!(of.map(|name| left(name).exists()), [false, true, false]);
        assert!(parts.has(1) && Parts::open(folder.path(), &asked("one", None)).is_ok());
    }
}
