//! `pigeonhole backup`: copies an index while it is in use.

mod copying;
mod manifest;
mod restore;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use engine::StoreUri;
use features::field;
use index::{BackupFile, Backups, Clock, Index};
use program::settings::TASK;
use rustix::fs::{FlockOperation, flock, statvfs};

use self::copying::{sum, watching};
use self::manifest::{FILE, MANIFEST, Manifest};
use crate::stored::StoredArgs;

pub(crate) use self::restore::{RestoreArgs, restore};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A backup has index.lmdb, the pages of the index, and manifest.txt, with the identity of the index
and checksums. Files that were given to the index when it was made, as stop words, are not in it:
it holds their checksums only, and the programs ask for the same files again.

Exit status: 0 done, 2 could not run.")]
pub(crate) struct BackupArgs {
    /// The index, for example embedded:./news-index
    #[arg(value_name = "URL")]
    store: String,
    /// The directory of the backup, new or empty; for --script the place where copies of snapshots
    /// go
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Print commands for HBase's shell, which takes the backup of an index in HBase: snapshots of
    /// its tables, and in comments how to copy and to restore them
    #[arg(long, help_heading = TASK)]
    script: bool,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,
}

/// Takes a backup.
pub(crate) fn backup(args: &BackupArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let uri: StoreUri = args.store.parse()?;
    let open = || StoredArgs::at(args.store.clone()).open(BTreeMap::new());
    match uri.backups() {
        Backups::Elsewhere(says) => bail!("`backup` has no copy of {}: {says}", engine::shown(&args.store)),
        Backups::Script(script) => {
            ensure!(
                args.script,
                "HBase takes the backup of an index by its own snapshots; the same with --script prints the commands for \
                 its shell"
            );
            // The tables are there, and are an index's.
            open()?;
            let script = script.script(Clock::system().now(), &args.to.to_string_lossy());
            Ok(out.write_all(script.as_bytes())?)
        }
        Backups::File(file) => {
            ensure!(!args.script, "--script is for an index in HBase; without it the index is copied");
            let folder = vacant(&args.to)?;
            let index = open()?;
            let manifest = copy(file, &index, &folder, args.quiet)?;
            writeln!(out, "backup      {}", args.to.display())?;
            writeln!(out, "identity    {}", manifest.identity)?;
            writeln!(out, "bytes       {}", manifest.n_bytes)?;
            say_files(&index, out)
        }
    }
}

/// Says which files of the user's the index goes by and does not hold.
fn say_files(index: &Index, out: &mut dyn Write) -> anyhow::Result<()> {
    let built_in = features::Recipe::default().fields();
    let named = index.recipe().iter().filter(|(field, value)| {
        [field::USER_DICTIONARY, field::STOP_WORDS, field::IDF].contains(&field.as_str())
            && value.as_str() != "none"
            && built_in.get(*field) != Some(value)
    });
    for (field, value) in named {
        writeln!(
            out,
            "# not in it: the file given as {field}, of SHA-256 {value}; keep it beside the backup"
        )?;
    }
    Ok(())
}

/// The folder of a backup that is to be made.
struct Folder {
    place: PathBuf,
    /// The folder's name until the backup is whole, in the same file system.
    partial: PathBuf,
    parent: PathBuf,
}

/// Refuses a folder that holds anything.
fn vacant(place: &Path) -> anyhow::Result<Folder> {
    let shown = place.display();
    match fs::read_dir(place).map(|mut entries| entries.next()) {
        Ok(None) => {}
        Ok(Some(_)) => bail!("{shown} is not empty; name a new directory for each backup"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("failed to read the directory {shown}")),
    }
    let name =
        place.file_name().with_context(|| format!("{shown} has no name of its own; name a new directory"))?;
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(parent.is_dir(), "there is no directory {}; make it first", parent.display());
    let partial = parent.join(format!(".{}.partial", name.to_string_lossy()));
    Ok(Folder { place: place.to_owned(), partial, parent: parent.to_owned() })
}

/// Copies the index into a folder of another name, which gets its own once all of it is on disk.
fn copy(file: &dyn BackupFile, index: &Index, folder: &Folder, quiet: bool) -> anyhow::Result<Manifest> {
    let Folder { place, partial, parent } = folder;
    let n_bytes_max = file.copy_bytes_max()?;
    let path = partial.join(FILE);
    // What a killed backup has left makes room.
    let n_bytes_left = fs::metadata(&path).map_or(0, |left| left.len());
    check_room(parent, n_bytes_max.saturating_sub(n_bytes_left))?;
    match DirBuilder::new().mode(0o700).create(partial) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("failed to make the directory {}", partial.display()));
        }
        _ => {}
    }
    let mut copy = take(&path, place)?;
    let made_at = Clock::system().now();
    watching("copied", &path, n_bytes_max, quiet, || file.copy_to(&mut copy))
        .context("failed to copy the index; nothing was put at the backup's place")?;
    copy.sync_all()?;
    let (n_bytes, sha256) = sum(&path, quiet)?;
    let manifest = Manifest { identity: index.metadata().identity, made_at, n_bytes, sha256 };
    let mut written =
        File::options().write(true).create(true).truncate(true).mode(0o600).open(partial.join(MANIFEST))?;
    written.write_all(manifest.write().as_bytes())?;
    written.sync_all()?;
    File::open(partial)?.sync_all()?;
    fs::rename(partial, place).with_context(|| {
        format!(
            "failed to give the backup its name {}; it is whole, at {}",
            place.display(),
            partial.display()
        )
    })?;
    File::open(parent)?.sync_all()?;
    Ok(manifest)
}

/// Opens the file of a copy, alone: a killed backup has left its file, a live one holds it.
fn take(path: &Path, place: &Path) -> anyhow::Result<File> {
    let file = File::options().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
    let is_alone = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    // A backup that ended a moment ago has moved its file.
    let is_there =
        fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|ours| ours.ino() == there.ino()));
    ensure!(is_alone && is_there, "another backup to {} is under way; wait until it ends", place.display());
    Ok(file)
}

/// Refuses a copy for which the disk is too small.
fn check_room(folder: &Path, n_bytes: u64) -> anyhow::Result<()> {
    let Ok(disk) = statvfs(folder) else { return Ok(()) };
    let n_bytes_free = disk.f_bavail.saturating_mul(disk.f_frsize);
    ensure!(
        n_bytes <= n_bytes_free,
        "the copy takes {n_bytes} bytes and the disk of {} has room for {n_bytes_free}; nothing was written",
        folder.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_told_of() {
        let folder = std::env::temp_dir();
        check_room(&folder, 0).unwrap();
        let refused = check_room(&folder, u64::MAX).unwrap_err().to_string();
        assert!(refused.contains("has room for") && refused.contains("nothing was written"), "{refused}");
    }
}
