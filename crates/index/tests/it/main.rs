//! The crate from outside.

mod conformance;
mod opening;

use tempfile::TempDir;

/// In memory where there is such a place, because no test here is about losing power.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory for the test")
}
