//! `pigeonhole info`: what an index says of itself.

use std::collections::BTreeMap;
use std::io::Write;

use crate::stored::StoredArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    stored: StoredArgs,
    /// Also read every document and print a digest: equal for equal contents, in whatever order they were inserted
    #[arg(long)]
    digest: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let index = args.stored.open(BTreeMap::new())?;
    writeln!(out, "documents     {}", index.n_documents()?)?;
    writeln!(out, "scheme        {}", index.scheme().name())?;
    writeln!(out, "max distance  {}", index.max_distance())?;
    writeln!(out, "format        {}", index.metadata().format_version)?;
    for (field, value) in index.recipe() {
        writeln!(out, "recipe        {field} = {value}")?;
    }
    if args.digest {
        writeln!(out, "digest        {}", index.digest()?)?;
    }
    Ok(())
}
