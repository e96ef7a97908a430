//! The files of the page, as they are sent. Their look in a browser is tested in `browser.rs`.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::Worker;
use crate::worker::keys::{add_key, key_file};

/// Returns the head and the body of an answer.
fn get(worker: &Worker, path: &str, headers: &str) -> (String, String) {
    let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    let host = if headers.contains("host: ") { "" } else { "host: localhost\r\n" };
    write!(connection, "GET {path} HTTP/1.1\r\n{host}{headers}connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
    (head.to_owned(), body.to_owned())
}

/// Each file that another names exists, with the right type. A request with its current tag gets no
/// body.
#[test]
fn they_come_with_what_keeps_them_safe() {
    let worker = Worker::start("memory:", &[]);
    let mut paths = vec!["/".to_owned()];
    let mut n_seen = 0;
    while n_seen < paths.len() {
        let path = paths[n_seen].clone();
        n_seen += 1;
        let (head, body) = get(&worker, &path, "");
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        let kind = match path.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        for line in [
            &format!("content-type: {kind}"),
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; ",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-cache",
        ] {
            assert!(head.contains(line), "{path} {line}: {head}");
        }
        assert!(head.contains("frame-ancestors 'none'") && !head.contains("unsafe"), "{head}");
        for inline in ["<style", " style=", " onclick=", " onload=", "<script>", "http://", "https://"] {
            assert!(path.ends_with(".svg") || !body.contains(inline), "{path} has {inline}");
        }
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
        for (tags, status) in [(tag, 304), (&format!("\"x\", W/{tag}"), 304), ("*", 304), ("\"x\"", 200)] {
            let (head, again) = get(&worker, &path, &format!("if-none-match: {tags}\r\n"));
            assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{path} {tags}: {head}");
            assert_eq!(again.is_empty(), status == 304, "{path} {tags}");
        }
        let folder = path.rsplit_once('/').unwrap().0.to_owned();
        let named = body.split('"').filter(|word| !word.contains(['\n', ' ', '<']));
        let named = named.filter(|word| [".js", ".css", ".svg"].iter().any(|end| word.ends_with(end)));
        for name in named {
            let path = format!("{folder}/{}", name.trim_start_matches("./"));
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    assert_eq!(paths.len(), 24, "{paths:?}");
}

/// The page has no data, so it needs no key. Under a foreign host name, the page is not served
/// either.
#[test]
fn who_may_see_them() {
    let folder = tempfile::tempdir().unwrap();
    let keys = key_file(&folder);
    add_key(&keys, "reader", "read", "");
    let worker = Worker::start("memory:", &["--keys", keys.to_str().unwrap()]);
    assert!(get(&worker, "/", "").0.starts_with("HTTP/1.1 200"));
    assert!(get(&worker, "/page/find.js", "").0.starts_with("HTTP/1.1 200"));
    assert!(get(&worker, "/page/", "").0.starts_with("HTTP/1.1 404"));
    assert!(get(&worker, "/page/../../keys.toml", "").0.starts_with("HTTP/1.1 404"));

    let worker = Worker::start("memory:", &[]);
    assert!(get(&worker, "/", "host: evil.example\r\n").0.starts_with("HTTP/1.1 421"));
    let (head, _) = get(&worker, "/", "origin: http://evil.example\r\n");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let figures = worker.get_text("/metrics");
    assert!(!figures.contains("evil") && figures.contains("route=\"/\""), "{figures}");
}
