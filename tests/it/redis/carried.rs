//! An index carried over to Redis and back.

use crate::carry::{embedded, indexed, records};
use crate::support::{digest, redis, run};

#[test]
fn there_and_back() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let old = indexed(folder, "old", &["--segmenter", "words"]);
    let (there, back) = (redis.url("carried"), embedded(folder, "back"));
    for (from, to) in [(&old, &there), (&there, &back)] {
        let told = run("indexer", ["reindex", "-q", from, to]).expect(0).stdout;
        assert!(told.contains("missing                  0"), "{told}");
        assert_eq!(digest(to), digest(&old));
        assert_eq!(records(folder, to), records(folder, &old));
    }
}
