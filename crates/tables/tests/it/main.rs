//! Fingerprints in, matches out: every layout against the naive one.

mod corpora;
mod self_join;
mod tables;
