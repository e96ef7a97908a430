//! Why two texts have the simhashes that they have: the bits in which these differ, and the terms that move them.

use std::io::Write;

use anyhow::Context;
use features::{Analysis, ComparedTerm, Comparison, Push};

/// Shows the bits, and `n_terms` of the terms.
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

/// The bit, and by how much of all weight it was decided.
fn decision(analysis: &Analysis, bit: u32) -> String {
    let margin = analysis.margins[bit as usize];
    // The sum of all weights is what a margin is at most.
    let mass: i128 = analysis.terms.iter().map(|term| i128::from(term.weight.0)).sum();
    let value = u8::from(margin > 0);
    format!("{value} by {:>4.1} %", margin.unsigned_abs() as f64 / mass as f64 * 100.0)
}

/// `+bit` or `-bit`.
fn pushed(&Push { bit, towards_b }: &Push) -> String {
    format!("{}{bit}", if towards_b { '+' } else { '-' })
}

/// A term as it can be printed: n-grams may hold white space and control characters.
fn printable(term: &str) -> String {
    term.chars().map(|c| if c.is_control() { '�' } else { c }).collect()
}
