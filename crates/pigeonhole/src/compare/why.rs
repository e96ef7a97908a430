//! Explains the simhashes of two texts: the differing bits, and the terms that move them.

use std::io::Write;

use anyhow::Context;
use features::{Analysis, ComparedTerm, Comparison, Push};

/// Prints the bits, and `n_terms` of the terms.
pub(super) fn show(a: &Analysis, b: &Analysis, n_terms: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    let Comparison { bits, terms } = Comparison::new(a, b).context("both sides have a simhash")?;
    if !bits.is_empty() {
        writeln!(out, "\nbits that differ (63 is the first), and how clearly each side decided them")?;
        for &bit in &bits {
            writeln!(out, "  bit {bit:>2}   a {}   b {}", decision(a, bit), decision(b, bit))?;
        }
    }
    writeln!(out, "\nheaviest terms; + pushes a differing bit from a's side to b's, - the other way")?;
    writeln!(out, "  weight a  weight b  term")?;
    for ComparedTerm { text, weight_a, weight_b, pushes, .. } in terms.iter().take(n_terms) {
        write!(out, "  {:>8}  {:>8}  {}", weight_a.0, weight_b.0, printable(text))?;
        let moved: Vec<String> = pushes.iter().map(pushed).collect();
        writeln!(out, "{}{}", if moved.is_empty() { "" } else { "  " }, moved.join(" "))?;
    }
    if terms.len() > n_terms {
        writeln!(out, "  … {} more (--terms N)", terms.len() - n_terms)?;
    }
    Ok(())
}

/// The value of the bit, and the margin of its decision as a share of all weight.
fn decision(analysis: &Analysis, bit: u32) -> String {
    let margin = analysis.margins[bit as usize];
    // The sum of all weights bounds a margin.
    let mass: i128 = analysis.terms.iter().map(|term| i128::from(term.weight.0)).sum();
    let value = u8::from(margin > 0);
    format!("{value} by {:>4.1} %", margin.unsigned_abs() as f64 / mass as f64 * 100.0)
}

/// `+bit` or `-bit`.
fn pushed(&Push { bit, towards_b }: &Push) -> String {
    format!("{}{bit}", if towards_b { '+' } else { '-' })
}

/// A printable form of a term: n-grams may hold white space and control characters.
fn printable(term: &str) -> String {
    term.chars().map(|c| if c.is_control() { '�' } else { c }).collect()
}
