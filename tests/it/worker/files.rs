//! The worker over a directory: its files are removed, replaced or cut, or another user keeps their
//! lock.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use super::{TEXT, is_problem};
use crate::support::Worker;

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in ["data.mdb", "lock.mdb"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// Checks that searches and insertions fail, and that the worker is alive but not ready.
fn is_unready(worker: &Worker) {
    for _ in 0..2 {
        is_problem(worker.get("/readyz"), 503, "store-unavailable");
        for path in ["/v1/query", "/v1/documents"] {
            let (status, problem) = worker.post(path, &json!({ "text": TEXT }));
            assert!((500..600).contains(&status), "{path} {problem}");
        }
    }
    assert_eq!(worker.get("/healthz").0, 200);
}

/// Before, insertions were acknowledged into a directory that no other process finds, and /readyz
/// reported ready.
#[test]
fn a_directory_that_is_removed_or_replaced_under_a_worker() {
    for is_restored in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("index"), folder.path().join("aside"));
        let store = format!("embedded:{}", path.display());
        let worker = Worker::start(&store, &[]);
        assert_eq!(worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT })).0, 201);
        assert_eq!(worker.get("/readyz").0, 200);
        fs::rename(&path, &aside).unwrap();
        if is_restored {
            copy(&aside, &path);
        }
        is_unready(&worker);
        let (_, problem) = worker.get("/readyz");
        assert!(problem["detail"].as_str().unwrap().contains("restart the worker"), "{problem}");
        if is_restored {
            // It has the acknowledged documents, and no others.
            let again = Worker::start(&store, &[]);
            assert_eq!(again.get("/readyz").0, 200);
            assert_eq!(again.get("/v1/documents/a").0, 200);
            assert_eq!(again.get("/v1/index").1["n_documents"], 1);
        } else {
            fs::rename(&aside, &path).unwrap();
            assert_eq!(worker.get("/readyz").0, 200);
            assert_eq!(worker.post("/v1/documents", &json!({ "id": "b", "text": "another one" })).0, 201);
        }
    }
}

/// Before, a truncated file killed the worker by a signal.
#[test]
fn a_file_that_is_truncated_under_a_worker() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let worker = Worker::start(&format!("embedded:{}", whole.display()), &[]);
    for n in 0..20 {
        let text = format!("a text about the number {n} and {} and no other one", n * n);
        worker.post("/v1/documents", &json!({ "id": n.to_string(), "text": text }));
    }
    drop(worker);
    let len = fs::metadata(whole.join("data.mdb")).unwrap().len();
    for cut in [0, 1, 4096, len / 2, len - 1] {
        let path = folder.path().join(cut.to_string());
        copy(&whole, &path);
        let mut worker = Worker::start(&format!("embedded:{}", path.display()), &[]);
        assert_eq!(worker.get("/readyz").0, 200);
        File::options().write(true).open(path.join("data.mdb")).unwrap().set_len(cut).unwrap();
        is_unready(&worker);
        worker.log_until("it was truncated");
    }
}

/// All users who may read the file of pages may lock it. Before, insertions waited for ever then,
/// and /readyz reported ready.
#[test]
fn a_lock_that_another_user_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker =
        Worker::start(&format!("embedded:{}", folder.path().display()), &["--store-wait-seconds", "1"]);
    assert_eq!(worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT })).0, 201);
    assert_eq!(worker.get("/readyz").0, 200);
    let other = File::open(folder.path().join("data.mdb")).unwrap();
    flock(&other, FlockOperation::LockExclusive).unwrap();
    is_problem(worker.get("/readyz"), 503, "store-unavailable");
    is_problem(worker.post("/v1/documents", &json!({ "text": "another" })), 503, "store-unavailable");
    worker.log_until("lslocks");
    // Searches need no turn.
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).1["n_matches"], 1);
    flock(&other, FlockOperation::Unlock).unwrap();
    assert_eq!(worker.get("/readyz").0, 200);
    assert_eq!(worker.post("/v1/documents", &json!({ "id": "b", "text": "another one" })).0, 201);
}
