//! A web server with the answers of a test, good or bad.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub(super) struct Server {
    pub(super) base: String,
    /// Requests received: method, path and first byte wanted.
    pub(super) asked: Arc<Mutex<Vec<String>>>,
}

pub(super) struct Request {
    /// Index among all requests, from 0.
    pub(super) n: usize,
    pub(super) method: String,
    /// Part wanted, with its end (exclusive); `None` for the whole.
    range: Option<(usize, usize)>,
}

/// An answer, with or without contents.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content: Vec<u8>,
    pub(super) e_tag: Option<&'static str>,
    /// True if a part is given on request.
    pub(super) gives_parts: bool,
    /// Number of bytes after which the connection is closed.
    pub(super) cut: Option<usize>,
    /// True if silence follows these bytes instead, on an open connection.
    pub(super) stalls: bool,
}

impl Answer {
    pub(super) fn ok(content: &[u8]) -> Self {
        let content = content.to_vec();
        Self { status: 200, content, e_tag: Some("\"one\""), gives_parts: true, cut: None, stalls: false }
    }

    pub(super) fn status(status: u16, content: &str) -> Self {
        Self { status, e_tag: None, gives_parts: false, ..Self::ok(content.as_bytes()) }
    }

    pub(super) fn cut(self, n_bytes: usize) -> Self {
        Self { cut: Some(n_bytes), ..self }
    }
}

impl Server {
    pub(super) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        // The thread ends with the test's process.
        thread::spawn(move || {
            let answer = Arc::new(answer);
            for stream in listener.incoming() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || serve(&stream.unwrap(), &log, &*answer));
            }
        });
        Self { base, asked }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, log: &Mutex<Vec<String>>, answer: &dyn Fn(&Request) -> Answer) {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap_or_default);
    let first = lines.next().unwrap_or_default();
    let mut words = first.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return };
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let range = head.iter().find_map(|line| {
        let line = line.to_ascii_lowercase();
        let (start, end) = line.strip_prefix("range: bytes=")?.split_once('-')?;
        Some((start.parse().unwrap(), end.parse::<usize>().unwrap() + 1))
    });
    let n = {
        let mut log = log.lock().unwrap();
        log.push(format!("{method} {path} {}", range.map_or(0, |(start, _)| start)));
        log.len() - 1
    };
    let request = Request { n, method, range };
    // The client may have gone.
    send(stream, &request, &answer(&request)).unwrap_or(());
}

fn send(mut stream: &TcpStream, request: &Request, answer: &Answer) -> std::io::Result<()> {
    let part = request.range.filter(|_| answer.gives_parts);
    let (status, body) = match part {
        Some((start, end)) => (206, &answer.content[start..end]),
        None => (answer.status, &answer.content[..]),
    };
    let mut head = format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    if let Some((start, end)) = part {
        head += &format!("Content-Range: bytes {start}-{}/{}\r\n", end - 1, answer.content.len());
    }
    if let Some(e_tag) = answer.e_tag {
        head += &format!("ETag: {e_tag}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if request.method != "HEAD" {
        let cut = answer.cut.filter(|cut| *cut < body.len());
        stream.write_all(&body[..cut.unwrap_or(body.len())])?;
        if answer.stalls && cut.is_some() {
            // Longer than the patience of any test.
            thread::sleep(Duration::from_secs(60));
        }
    }
    Ok(())
}
