//! Drops near-duplicates from lines of text: a line that is near to no earlier one goes to stdout.
#![expect(clippy::disallowed_methods, reason = "an example is no program that is installed")]

use std::io::{self, Write};

use pigeonhole_engine::index::DocumentId;
use pigeonhole_engine::{Engine, Options, Outcome, Text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::open("memory:", &Options::default())?;
    let mut out = io::stdout().lock();
    for (n, line) in (1..).zip(io::stdin().lines()) {
        let line = line?;
        let text = Text::new(DocumentId::new(format!("line {n}"))?, &line);
        // One text is a batch here; a program with many texts gives them together.
        if !matches!(engine.insert_if_new(&[text])?[..], [Outcome::Duplicate(_)]) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
