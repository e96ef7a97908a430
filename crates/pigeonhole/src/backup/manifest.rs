//! The manifest of a backup: a small text that says which index it is, and what its file is.
//!
//! ```text
//! pigeonhole backup 1
//! identity 7f3c…
//! made-at 2026-11-26T12:03:25.000Z
//! file index.lmdb 53248 9f86…
//! sum 5e88…
//! ```
//!
//! Drawn in `schema/embedded.md`. Both sums are SHA-256, the last one of the lines above it.

use anyhow::{Context, bail, ensure};
use index::{Identity, Timestamp};
use sha2::{Digest, Sha256};

/// The name of the manifest in a backup.
pub(super) const MANIFEST: &str = "manifest.txt";
/// The name of the index's file in a backup. It is not the name of a live index, so that no program
/// opens the backup and writes into it.
pub(super) const FILE: &str = "index.lmdb";
/// Far more than any manifest has.
pub(super) const BYTES_MAX: u64 = 4096;

const FIRST_LINE: &str = "pigeonhole backup 1";

/// The content of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) identity: Identity,
    pub(super) made_at: Timestamp,
    /// The length of the index's file.
    pub(super) n_bytes: u64,
    /// The checksum of the index's file, in hexadecimal digits.
    pub(super) sha256: String,
}

impl Manifest {
    /// The text of the manifest.
    pub(super) fn write(&self) -> String {
        let Self { identity, made_at, n_bytes, sha256 } = self;
        let lines =
            format!("{FIRST_LINE}\nidentity {identity}\nmade-at {made_at}\nfile {FILE} {n_bytes} {sha256}\n");
        let sum = hex(&Sha256::digest(&lines));
        format!("{lines}sum {sum}\n")
    }

    /// Reads the text of a manifest.
    ///
    /// # Errors
    /// Damage, or a manifest of a later version.
    pub(super) fn read(text: &[u8]) -> anyhow::Result<Self> {
        let text = std::str::from_utf8(text).context("it is damaged: it is not text")?;
        let first = text.lines().next().unwrap_or_default();
        if first != FIRST_LINE && first.starts_with("pigeonhole backup ") && first.len() < 40 {
            bail!(
                "it begins with {first:?} and this program reads {FIRST_LINE:?}: it is damaged, or of a later version"
            );
        }
        let found = read_lines(text).context("it is damaged: its lines are not those of a manifest")?;
        ensure!(found.write() == text, "it is damaged: its sum does not agree");
        Ok(found)
    }
}

fn read_lines(text: &str) -> Option<Manifest> {
    let mut lines = text.lines().skip(1);
    let identity = Identity::parse(lines.next()?.strip_prefix("identity ")?)?;
    let made_at = lines.next()?.strip_prefix("made-at ")?.parse().ok()?;
    let mut file = lines.next()?.strip_prefix("file ")?.strip_prefix(FILE)?.split_whitespace();
    let n_bytes = file.next()?.parse().ok()?;
    Some(Manifest { identity, made_at, n_bytes, sha256: file.next()?.to_owned() })
}

/// Hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manifest drawn in `schema/embedded.md`.
    #[test]
    fn a_manifest_is_as_it_is_drawn() {
        let page = include_str!("../../../../schema/embedded.md");
        let begin = page.find(FIRST_LINE).expect("the page draws one");
        let drawn = &page[begin..][..page[begin..].find("```").expect("the drawing ends")];
        let read = Manifest::read(drawn.as_bytes()).unwrap_or_else(|error| {
            let lines = &drawn[..drawn.find("sum ").expect("it has a sum")];
            panic!("{error}: the sum is {}", hex(&Sha256::digest(lines)))
        });
        assert_eq!((read.n_bytes, read.identity), (53_248, Identity::new([7; 16])));
    }

    #[test]
    fn no_byte_of_a_manifest_may_change() {
        let manifest = Manifest {
            identity: Identity::new([7; 16]),
            made_at: Timestamp::saturating(1_795_641_222_438),
            n_bytes: 53_248,
            sha256: "ab".repeat(32),
        };
        let text = manifest.write();
        assert_eq!(Manifest::read(text.as_bytes()).unwrap(), manifest);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut damaged = text.clone().into_bytes();
                damaged[at] ^= 1 << bit;
                let refused = Manifest::read(&damaged).expect_err("a byte was changed").to_string();
                assert!(refused.contains("damaged"), "{refused}");
            }
            assert!(Manifest::read(&text.as_bytes()[..at]).is_err(), "{at} bytes");
        }
    }
}
