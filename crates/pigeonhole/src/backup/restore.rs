//! `pigeonhole restore`: makes an index of a backup, and looks at all of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use engine::StoreUri;
use index::{Backups, Error};

use super::check_room;
use super::copying::copy_summed;
use super::manifest::{BYTES_MAX, FILE, MANIFEST, Manifest};
use crate::first;
use crate::shell::of_shell;
use crate::stored::StoredArgs;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 done, 1 the index is there and `verify` found something in it, 2 could not run.")]
pub(crate) struct RestoreArgs {
    /// The directory of the backup
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The index, for example embedded:./news-index: a new or empty directory
    #[arg(value_name = "URL")]
    store: String,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,
}

/// Restores an index, and verifies it.
pub(crate) fn restore(args: &RestoreArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    let uri: StoreUri = args.store.parse()?;
    let file = match uri.backups() {
        Backups::File(file) => file,
        Backups::Script(_) => bail!(
            "HBase restores an index from its own snapshots: the script that `pigeonhole backup --script` printed ends \
             with the commands"
        ),
        Backups::Elsewhere(says) => bail!("`restore` has no copy of {}: {says}", engine::shown(&args.store)),
    };
    let manifest = read_manifest(&args.from)?;
    let to = engine::local_path(&args.store).context("the index is no directory of this machine")?;
    let there = to.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    check_room(there, manifest.n_bytes)?;
    let path = args.from.join(FILE);
    // The store passes its own kind of error on; this one is told as it is.
    let mut refused = None;
    let placed = file.put_back(&mut |copy| {
        copied(&path, copy, &manifest, args.quiet).map_err(|error| {
            let says = format!("{error:#}");
            refused = Some(error);
            Error::corrupt(says)
        })
    });
    if let Some(error) = refused {
        return Err(error.context("nothing was restored"));
    }
    placed?;
    let identity = StoredArgs::at(args.store.clone()).open(BTreeMap::new())?.metadata().identity;
    ensure!(
        identity == manifest.identity,
        "the restored index has the identity {identity}, and its manifest says {}; do not use it",
        manifest.identity
    );
    writeln!(out, "restored    {}, as of {}", args.store, manifest.made_at)?;
    writeln!(out, "identity    {identity}")?;
    writeln!(out, "# pigeonhole verify --store {}", of_shell(&args.store))?;
    out.flush()?;
    let quiet = args.quiet.then_some("--quiet");
    let verify = ["verify", "--store", &args.store].into_iter().chain(quiet);
    first::run(verify, &to, out)
}

fn read_manifest(folder: &Path) -> anyhow::Result<Manifest> {
    let path = folder.join(MANIFEST);
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut text));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "{} is no backup: it has no {MANIFEST}; a backup that was cut off lies beside its place, as .NAME.partial",
            folder.display()
        ),
        read => read.with_context(|| format!("failed to read {}", path.display()))?,
    };
    Manifest::read(&text).map_err(|error| {
        anyhow!("the manifest {} cannot be used: {error:#}; take another backup", path.display())
    })
}

/// Copies the file of a backup, which has to be as the manifest says.
fn copied(path: &Path, to: &mut File, manifest: &Manifest, quiet: bool) -> anyhow::Result<()> {
    let (n_bytes, sha256) = copy_summed(path, to, "restored", quiet)?;
    ensure!(
        n_bytes == manifest.n_bytes && sha256 == manifest.sha256,
        "{} is damaged: it has {n_bytes} bytes with the SHA-256 {sha256}, and the manifest says {} with {}; take \
         another backup",
        path.display(),
        manifest.n_bytes,
        manifest.sha256
    );
    Ok(())
}
