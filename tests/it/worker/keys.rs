//! API keys: their scopes, their bounds, and their removal.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{TEXT, is_problem, open_batch};
use crate::support::{Worker, run, until};

/// Adds a key to a file and returns the key.
pub(super) fn add_key(file: &Path, name: &str, scopes: &str, more: &str) -> String {
    let made = run("query-worker", ["new-key", "--name", name, "--scopes", scopes]).expect(0);
    let mut keys = OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(keys, "{}{more}", made.stdout).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    made.stderr.trim().rsplit(' ').next().unwrap().to_owned()
}

pub(super) fn key_file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("keys.toml")
}

/// Returns the status, the head, and the body of an answer.
fn ask(worker: &Worker, key: &str, method: &str, path: &str, body: &Value) -> (u16, String, Value) {
    let body = body.to_string();
    let authorization =
        if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
    let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    write!(
        connection,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
    (head[9..12].parse().unwrap(), head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn each_route_needs_its_scope() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let scopes = ["read", "write", "admin"];
    let keys = scopes.map(|scope| add_key(&file, scope, scope, ""));
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let (text, both) = (json!({ "text": TEXT }), json!({ "a": { "text": TEXT }, "b": { "text": TEXT } }));
    for (method, path, body, needed, then) in [
        ("POST", "/v1/documents", json!({ "id": "a", "text": TEXT }), "write", 201),
        ("POST", "/v1/documents:batch", text.clone(), "write", 200),
        ("POST", "/v1/query", text.clone(), "read", 200),
        ("POST", "/v1/query:batch", text.clone(), "read", 200),
        ("POST", "/v1/compare", both, "read", 200),
        ("POST", "/v1/analyze", text, "read", 200),
        ("GET", "/v1/documents/a", json!(null), "read", 200),
        ("GET", "/v1/documents/a/text", json!(null), "read", 200),
        ("HEAD", "/v1/documents/a", json!(null), "read", 200),
        ("GET", "/v1/index", json!(null), "read", 200),
        ("GET", "/metrics", json!(null), "read", 200),
        ("DELETE", "/v1/documents/a", json!(null), "admin", 204),
    ] {
        let place = format!("{method} {path}");
        let (status, head, problem) = ask(&worker, "", method, path, &body);
        assert_eq!(status, 401, "{place}");
        assert!(head.to_lowercase().contains("www-authenticate: bearer"), "{head}");
        if method != "HEAD" {
            is_problem((status, problem), 401, "no-key");
            let (status, _, problem) = ask(&worker, "ph_0123", method, path, &body);
            is_problem((status, problem), 401, "unknown-key");
        }
        for (scope, key) in scopes.iter().zip(&keys).filter(|(scope, _)| **scope != needed) {
            let (status, _, problem) = ask(&worker, key, method, path, &body);
            assert_eq!(status, 403, "{place} with {scope}");
            if method != "HEAD" {
                assert!(problem["detail"].as_str().unwrap().contains(needed), "{problem}");
                is_problem((status, problem), 403, "wrong-scope");
            }
        }
        let key = &keys[scopes.iter().position(|scope| *scope == needed).unwrap()];
        assert_eq!(ask(&worker, key, method, path, &body).0, then, "{place}");
        let description = worker.get("/openapi.json").1;
        let operation =
            &description["paths"][path.replace("documents/a", "documents/{id}")][method.to_lowercase()];
        // A path that answers GET answers HEAD.
        if method != "HEAD" {
            assert_eq!(operation["security"], json!([{ "key": [needed] }]), "{place}");
        }
    }
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(worker.get(path).0, 200, "{path}");
    }
    let (_, log) = {
        worker.send_stop();
        worker.wait()
    };
    assert!(keys.iter().all(|key| !log.contains(&key[3..])), "keys are never logged: {log}");
}

/// A removed key is refused, even in a batch under way; a new key is accepted. A broken file
/// changes nothing.
#[test]
fn keys_come_and_go_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let revoked = add_key(&file, "revoked", "read", "");
    let mut worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let query = json!({ "text": TEXT });
    let status = |worker: &Worker, key: &str| ask(worker, key, "POST", "/v1/query", &query).0;
    assert_eq!(status(&worker, &revoked), 200);
    let mut to = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    let mut batch = BufReader::new(to.try_clone().unwrap());
    write!(to, "POST /v1/query:batch HTTP/1.1\r\nhost: localhost\r\nauthorization: bearer {revoked}\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    let mut answer_of_line = || {
        let line = format!("{query}\n");
        write!(to, "{:x}\r\n{line}\r\n", line.len()).unwrap();
        let mut answer = String::new();
        while !answer.starts_with('{') {
            answer.clear();
            assert!(batch.read_line(&mut answer).unwrap() > 0, "the worker hung up");
        }
        serde_json::from_str::<Value>(&answer).unwrap()["status"].clone()
    };
    assert_eq!(answer_of_line(), 200);

    fs::write(&file, "[[key]]\nname = ").unwrap();
    let log = worker.log_until("cannot be read again");
    assert!(log.contains("keys.toml"), "{log}");
    assert_eq!(status(&worker, &revoked), 200);

    // Opening a pipe waits for a writer.
    fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    worker.log_until("no regular file");
    assert_eq!(status(&worker, &revoked), 200);

    fs::remove_file(&file).unwrap();
    let other = add_key(&file, "other", "read", "");
    let begun = std::time::Instant::now();
    until(|| status(&worker, &revoked) == 401);
    assert!(begun.elapsed().as_secs() < 30, "it is looked at each second");
    assert_eq!(status(&worker, &other), 200);
    assert!(worker.log_until("the keys read again").contains("n_read=1"));
    assert_eq!(answer_of_line(), 401);
}

/// The requests of a key under way are bounded, and other keys are unaffected.
#[test]
fn a_key_with_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let bounded = add_key(&file, "bounded", "read", "requests_max = 1");
    let other = add_key(&file, "other", "read", "");
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let status = |key: &str| ask(&worker, key, "GET", "/v1/index", &json!(null)).0;
    let mut batch = open_batch(&worker, &format!("authorization: Bearer {bounded}\r\n"));
    let (refused, head, problem) = ask(&worker, &bounded, "GET", "/v1/index", &json!(null));
    assert!(head.contains("retry-after: 1"), "{head}");
    is_problem((refused, problem), 429, "too-many-requests");
    assert_eq!(status(&other), 200);
    batch.get_mut().write_all(b"0\r\n\r\n").unwrap();
    until(|| status(&bounded) == 200);
}

/// An unread answer takes memory, and counts as under way like one that is not made yet.
#[test]
fn an_answer_is_under_way_until_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let bounded = add_key(&file, "bounded", "read", "requests_max = 1");
    let other = add_key(&file, "other", "read,write", "");
    // Six bytes a byte in JSON, more than the sockets hold.
    let text = format!("{TEXT}{}", "\u{1}".repeat(1_000_000));
    let worker =
        Worker::start("memory:", &["--keys", file.to_str().unwrap(), "--bodies-bytes-max", "8000000"]);
    let document = json!({ "id": "long", "text": text });
    assert_eq!(ask(&worker, &other, "POST", "/v1/documents", &document).0, 201);
    let path = "/v1/documents/long/text";
    let open = |key: &str| {
        let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
        write!(
            connection,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut head = [0; 12];
        connection.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        connection
    };
    let mut unread = open(&bounded);
    let status = |key: &str, path: &str| ask(&worker, key, "GET", path, &json!(null)).0;
    let (refused, _, problem) = ask(&worker, &bounded, "GET", "/v1/index", &json!(null));
    is_problem((refused, problem), 429, "too-many-requests");
    // There is room for one such answer, and for any number of small ones.
    let (refused, _, problem) = ask(&worker, &other, "GET", path, &json!(null));
    is_problem((refused, problem), 503, "busy");
    assert_eq!(status(&other, "/v1/index"), 200);
    let mut rest = Vec::new();
    unread.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"\\u0001\"}"), "it comes to its end");
    until(|| status(&bounded, path) == 200);
    // An abandoned answer does not hold its place for ever either.
    drop(open(&bounded));
    until(|| status(&bounded, path) == 200);
}

/// A batch may last for days. A key that loses a scope must insert and remove nothing from then on.
#[test]
fn a_key_that_loses_a_scope() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let key = add_key(&file, "all", "read,admin", "");
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let mut batch = open_batch(&worker, &format!("authorization: Bearer {key}\r\n"));
    let keys = fs::read_to_string(&file).unwrap();
    fs::write(&file, keys.replace("\"read\", ", "")).unwrap();
    until(|| ask(&worker, &key, "GET", "/v1/index", &json!(null)).0 == 403);
    let line = format!("{}\n", json!({ "text": TEXT }));
    write!(batch.get_mut(), "{:x}\r\n{line}\r\n", line.len()).unwrap();
    let mut answer = String::new();
    while !answer.starts_with('{') {
        answer.clear();
        assert!(batch.read_line(&mut answer).unwrap() > 0, "the worker hung up");
    }
    let problem: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&problem["line"], &problem["status"]), (&json!(2), &json!(403)), "{answer}");
}

#[test]
fn what_is_not_safe_is_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    add_key(&file, "a", "read", "");
    let file = file.to_str().unwrap();
    let start =
        |args: &[&str]| run("query-worker", [&["--store", "memory:"], args].concat()).expect(2).stderr;
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let error = start(&["--listen", address]);
        assert!(error.contains("--keys") && error.contains("--insecure-no-auth"), "{error}");
    }
    assert!(start(&["--keys", file, "--insecure-no-auth"]).contains("leave one of them out"));
    assert!(start(&["--keys", "/nowhere/keys.toml"]).contains("/nowhere/keys.toml"));
    fs::set_permissions(file, fs::Permissions::from_mode(0o620)).unwrap();
    assert!(start(&["--keys", file]).contains("chmod go-w"));
}
