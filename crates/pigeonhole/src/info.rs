//! `pigeonhole info`: prints the attributes of an index.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context;
use index::{ImageStatus, TextKeeping};
use program::settings::TASK;

use crate::stored::StoredArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    stored: StoredArgs,
    /// Also read and count every document, and print a digest: equal for equal contents, in
    /// whatever order they were inserted
    #[arg(long, help_heading = TASK)]
    digest: bool,
    /// Print nothing but the secret key of an index that was made with --keyed, for --key-file.
    /// Keep it from others
    #[arg(long, conflicts_with = "digest", help_heading = TASK)]
    key: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let index = args.stored.open(BTreeMap::new())?;
    if args.key {
        let key = index.metadata().key;
        let key = key.context("the index has no secret key: it was made without --keyed")?;
        return Ok(writeln!(out, "{}", key.secret())?);
    }
    // Before any output, because this may take long, and fail.
    let status = index.status()?;
    let (n_documents, digest) = match args.digest {
        true => index.digest().map(|(n_documents, digest)| (Some(n_documents), Some(digest)))?,
        false => (status.n_documents, None),
    };
    match n_documents {
        Some(n_documents) => writeln!(out, "documents     {n_documents}")?,
        None => writeln!(out, "documents     not counted by this store; --digest reads and counts them")?,
    }
    writeln!(out, "profile       {}", index.kind().profile())?;
    writeln!(out, "scheme        {}", index.kind().name())?;
    writeln!(out, "max distance  {}", index.max_distance())?;
    if let Some(filing) = index.kind().filing() {
        writeln!(out, "bands         {filing}")?;
    }
    match index.min_similarity() {
        Some(min_similarity) => {
            writeln!(out, "verify        on, similarity {} and more", min_similarity.get())?;
        }
        None => writeln!(out, "verify        off: what the simhashes propose is taken as it is")?,
    }
    match (index.metadata().texts, index.min_similarity()) {
        (TextKeeping::Zstd, _) => writeln!(out, "texts         zstd: similarities are counted over them")?,
        (TextKeeping::None, Some(_)) => writeln!(out, "texts         none: similarities are estimates")?,
        (TextKeeping::None, None) => writeln!(out, "texts         none")?,
    }
    if index.metadata().same_numbers {
        writeln!(out, "numbers       other numbers make another document")?;
    }
    if let Some(key) = index.metadata().key {
        writeln!(out, "key           secret, with check digits {key}")?;
    }
    match index.metadata().retain {
        Some(retain) => writeln!(out, "retain        {retain} after insertion")?,
        None => writeln!(out, "retain        until removed")?,
    }
    if let Some(ImageStatus { up_to, last_change }) = status.image {
        writeln!(
            out,
            "image         up to change {up_to} of {last_change}: a search need not read all documents"
        )?;
    }
    writeln!(out, "format        {}", index.metadata().format_version)?;
    writeln!(out, "identity      {}", index.metadata().identity)?;
    for (field, value) in index.recipe() {
        writeln!(out, "recipe        {field} = {value}")?;
    }
    if let Some(digest) = digest {
        writeln!(out, "digest        {digest}")?;
    }
    Ok(())
}
