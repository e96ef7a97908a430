//! Fingerprints in, matches out: every clever thing against the naive one.

mod corpora;
mod self_join;
mod tables;
