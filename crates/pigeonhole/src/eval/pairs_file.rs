//! All pairs called near-duplicates, as lines of JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use minhash::Similarity;
use serde_json::json;

use super::{Evaluated, Ground};

/// Writes a line for each pair called near-duplicates: the similarity stated by the index, and the
/// true one.
pub(super) fn write(path: &Path, ground: &Ground<'_>, evaluated: &[Evaluated]) -> anyhow::Result<()> {
    let failed = || format!("failed to write {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(failed)?);
    for Evaluated { variant, found, called, .. } in evaluated {
        for (said, so) in found.called.iter().zip(called) {
            let line = json!({
                "profile": variant.to_string(),
                "a": ground.texts.ids[said.a],
                "b": ground.texts.ids[said.b],
                "similarity": said.nearness.similarity.map(Similarity::four_decimals),
                "exact": said.nearness.exact,
                "counted": Similarity::clamped(so.similarity).four_decimals(),
                "numbers_differ": ground.numbers_differ(so),
            });
            writeln!(file, "{line}").with_context(failed)?;
        }
    }
    file.flush().with_context(failed)
}
