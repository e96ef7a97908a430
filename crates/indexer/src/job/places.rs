//! The places of a job's inputs and outputs, and the refusal of those that cannot be.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use corpus::{InputOptions, is_remote};

use crate::output::{Numbered, is_stdout, place_of};

/// Refuses inputs and outputs that a resumed run could not read or write again.
pub(super) fn check_repeatable(input: &InputOptions, outputs: &[&Path]) -> anyhow::Result<()> {
    let is_list_on_stdin = input.files_from.as_deref().is_some_and(is_stdout);
    ensure!(
        !is_list_on_stdin && !input.files.iter().any(|path| is_stdout(path)),
        "a job with a journal must be able to read its input again, and standard input (-) can be read only once; write \
         it to a file first"
    );
    for output in outputs {
        let is_other = std::fs::metadata(output).is_ok_and(|metadata| !metadata.is_file());
        ensure!(
            !is_stdout(output) && !is_other,
            "a job with a journal must be able to go on with its outputs, and what was written to {} cannot be taken back; \
             name a file",
            output.display()
        );
    }
    Ok(())
}

/// Refuses remote places for outputs and indexes. A remote name would make a local folder `s3:`.
pub(crate) fn refuse_remote<'a>(
    places: impl Iterator<Item = &'a Path>,
    store: Option<&'a str>,
) -> anyhow::Result<()> {
    let index = store.and_then(engine::local_path);
    let Some(place) = places.map(Path::to_owned).chain(index).find(|place| is_remote(place)) else {
        return Ok(());
    };
    bail!(
        "{} is elsewhere, and results, journals and indexes are local, but for the outputs of dedup, which may be at s3:// \
         and gs://; write to a file and copy it",
        place.display()
    )
}

/// Refuses an output in the place of an input, which would destroy its records, and two outputs in
/// one place.
pub(super) fn check_paths<'a>(
    inputs: impl Iterator<Item = &'a Path>,
    outputs: &[&Path],
) -> anyhow::Result<()> {
    // A missing file is no input.
    let inputs: Vec<PathBuf> = inputs.filter_map(|path| path.canonicalize().ok()).collect();
    let mut taken: Vec<PathBuf> = Vec::new();
    let parts: Vec<Numbered> = outputs.iter().filter_map(|output| Numbered::of(output)).collect();
    let is_part = |place: &PathBuf| parts.iter().any(|names| names.is_of(place));
    for output in outputs {
        let place = if is_stdout(output) { output.to_path_buf() } else { place_of(output) };
        ensure!(
            is_stdout(output) || !inputs.contains(&place) && !inputs.iter().any(is_part),
            "{} is an input; write elsewhere",
            output.display()
        );
        ensure!(
            !taken.contains(&place) && !is_part(&place),
            "two outputs go to {}; name a file for each",
            output.display()
        );
        // Anything but a regular file takes any number of writers: `/dev/null`, a pipe.
        if is_stdout(output) || place.is_file() || !place.exists() {
            taken.push(place);
        }
    }
    Ok(())
}

/// Refuses an output inside the directory of the index, or inside an input folder, all of which is
/// read.
pub(super) fn check_folders(
    input: &InputOptions,
    outputs: &[&Path],
    store: Option<&str>,
) -> anyhow::Result<()> {
    let store = store.and_then(engine::local_path).map(|path| place_of(&path));
    for output in outputs.iter().filter(|path| !is_stdout(path)) {
        let inside = store.as_ref().is_some_and(|store| place_of(output).starts_with(store));
        ensure!(!inside, "{} lies in the directory of the index; write elsewhere", output.display());
        let read =
            input.files.iter().find(|path| path.is_dir() && place_of(output).starts_with(place_of(path)));
        if let Some(folder) = read {
            let (output, folder) = (output.display(), folder.display());
            bail!("{output} lies in {folder}, all of which is read, by the next run too; write elsewhere");
        }
    }
    Ok(())
}
