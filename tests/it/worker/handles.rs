//! File handles: clients do not take the handles that the worker needs itself, and operations that
//! failed without a handle are repeated.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;

use super::TEXT;
use super::keys::{add_key, key_file};
use crate::support::{Run, Worker, until};

/// The number of handles that a worker over `memory:` reserves.
const RESERVE: usize = 192;

/// Returns a command of a worker that may open `n_handles` files.
fn limited(n_handles: usize, args: &[&str]) -> Command {
    let args = [&["--store", "memory:", "--listen", "127.0.0.1:0"], args].concat();
    crate::support::limited(&format!("-n {n_handles}"), "query-worker", &args)
}

/// Sets the number of files that a running worker may open, and returns the former number.
fn set_handles_max(worker: &Worker, current: Option<u64>) -> Option<u64> {
    let id = Pid::from_raw(worker.id().cast_signed());
    // The worker has the maximum of this process.
    let maximum = getrlimit(Resource::Nofile).maximum;
    prlimit(id, Resource::Nofile, Rlimit { current, maximum }).unwrap().current
}

fn connect(worker: &Worker) -> TcpStream {
    TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap()
}

/// A connection that is kept.
struct Kept(BufReader<TcpStream>);

impl Kept {
    fn ask(&mut self, key: &str, path: &str) -> (u16, String) {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n");
        self.0.get_mut().write_all(head.as_bytes()).unwrap();
        let (mut line, mut status, mut n_bytes) = (String::new(), 0, 0);
        while line != "\r\n" {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the worker hung up");
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            }
            if let Some(length) = line.strip_prefix("content-length: ") {
                n_bytes = length.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; n_bytes];
        self.0.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    fn status(&mut self, key: &str) -> u16 {
        self.ask(key, "/v1/index").0
    }
}

/// Before, clients without a key took every file that the process may open. The worker could not
/// read its keys again, and took the failed read for a success.
#[test]
fn a_key_is_revoked_however_many_connections_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let revoked = add_key(&file, "revoked", "read", "");
    // More places than refusals at once: each of these may have one idle connection closed.
    let n_handles = RESERVE + 128;
    let worker = Worker::start_as(&mut limited(n_handles, &["--keys", file.to_str().unwrap()]));
    let mut kept = Kept(BufReader::new(connect(&worker)));
    assert_eq!(kept.status(&revoked), 200);
    let idle: Vec<TcpStream> = (0..300).map(|_| connect(&worker)).collect();
    let metrics = kept.ask(&revoked, "/metrics").1;
    assert!(metrics.contains("pigeonhole_connections_max 128\n"), "{metrics}");
    fs::remove_file(&file).unwrap();
    add_key(&file, "other", "read", "");
    worker.send_hang_up();
    until(|| kept.status(&revoked) == 401);
    drop(idle);
}

#[test]
fn what_could_not_be_read_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let revoked = add_key(&file, "revoked", "read", "");
    let mut worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let mut kept = Kept(BufReader::new(connect(&worker)));
    assert_eq!(kept.status(&revoked), 200);
    // No more than the worker has open.
    let before = set_handles_max(&worker, Some(1));
    fs::remove_file(&file).unwrap();
    let other = add_key(&file, "other", "read", "");
    let said = worker.log_until("cannot be read again");
    assert!(said.contains("Too many open files"), "{said}");
    // The key stays valid until the file can be read again, and a metric says so.
    let metrics = kept.ask(&revoked, "/metrics").1;
    assert!(metrics.contains("pigeonhole_files_outdated{files=\"keys\"} 1\n"), "{metrics}");
    assert!(
        !metrics.contains("pigeonhole_reloads_total{files=\"keys\",outcome=\"unreadable\"} 0\n"),
        "{metrics}"
    );
    let (status, ready) = kept.ask("", "/readyz");
    let ready: Value = serde_json::from_str(&ready).unwrap();
    assert_eq!((status, &ready["status"]), (200, &"ready".into()));
    let warning = ready["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("the keys could not be read again") && !warning.contains("keys.toml"),
        "{warning}"
    );

    set_handles_max(&worker, before);
    until(|| kept.status(&revoked) == 401);
    assert_eq!(kept.status(&other), 200);
    worker.log_until("the keys read again");
    let metrics = kept.ask(&other, "/metrics").1;
    assert!(metrics.contains("pigeonhole_files_outdated{files=\"keys\"} 0\n"), "{metrics}");
    assert_eq!(kept.ask("", "/readyz"), (200, "{\"status\":\"ready\"}".to_owned()));
}

/// A process that may open no more files goes on with its connections, and takes others later. One
/// log line says so.
#[test]
fn no_file_for_one_connection_more() {
    let mut worker = Worker::start("memory:", &[]);
    let mut kept = Kept(BufReader::new(connect(&worker)));
    assert_eq!(kept.status(""), 200);
    let before = set_handles_max(&worker, Some(1));
    let later = connect(&worker);
    let said = worker.log_until("no connection can be taken now");
    assert!(said.contains("Too many open files"), "{said}");
    assert_eq!(kept.status(""), 200);
    set_handles_max(&worker, before);
    assert_eq!(Kept(BufReader::new(later)).status(""), 200);
    let said = worker.log_until("connections are taken again");
    assert!(said.contains("INFO"), "{said}");
    worker.send_stop();
    let (code, log) = worker.wait();
    assert!(code == Some(0) && !log.contains("no connection can be taken now"), "{log}");
}

/// With fewer files than connections, the worker takes fewer connections. With too few for itself,
/// it does not start.
#[test]
fn how_many_files_it_may_open() {
    let check = |n_handles: usize, more: &[&str]| {
        let output = limited(n_handles, &[&["--check"], more].concat()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    };
    let fits = check(RESERVE + 10, &["--connections-max", "10"]).expect(0).stdout;
    assert!(!fits.contains("--connections-max"), "{fits}");
    let fewer = check(RESERVE + 9, &["--connections-max", "10"]).expect(0).stdout;
    assert!(fewer.contains("of --connections-max 10 only 9 are taken"), "{fewer}");
    let none = check(RESERVE, &["--connections-max", "10"]).expect(2).stderr;
    assert!(
        none.contains(&format!("may open {RESERVE} files"))
            && none.contains(&format!("allow it {} or more", RESERVE + 10)),
        "{none}"
    );
    let refused = limited(RESERVE, &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));

    let mut started = limited(RESERVE + 9, &["--connections-max", "10"]);
    let mut child = started.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = log.find(|line| line.contains("WARN")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.contains("connections_max=9") && said.contains("--connections-max"), "{said}");
}

/// Idle clients hold every place. A client with a request is answered at once, before an idle one
/// times out.
#[test]
fn idle_connections_make_place() {
    let worker = Worker::start("memory:", &["--connections-max", "3"]);
    let mut kept = Kept(BufReader::new(connect(&worker)));
    assert_eq!(kept.status(""), 200);
    let idle = [(); 2].map(|()| connect(&worker));
    until(|| kept.ask("", "/metrics").1.contains("pigeonhole_connections 3\n"));
    for n in 0..10 {
        let (status, answer) = worker.post("/v1/query", &serde_json::json!({ "text": TEXT }));
        assert_eq!(status, 200, "{n}: {answer}");
    }
    // A connection that had an answer is kept longer than those that sent nothing.
    assert_eq!(kept.status(""), 200);
    let closed = |mut connection: &TcpStream| matches!(connection.read(&mut [0]), Ok(0));
    assert!(closed(&idle[0]), "the one that was idle longest is closed");
}
