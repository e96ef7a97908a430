//! Minimal HTTP/1.1 client of a load generator: one kept connection, a request, its answer. It does
//! little, because it runs beside the measured worker.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const N_HEADERS_MAX: usize = 32;

/// A connection to a worker.
pub(crate) struct Connection {
    stream: TcpStream,
    host: String,
    request: Vec<u8>,
    /// Bytes read and not yet used.
    read: Vec<u8>,
    answer: Vec<u8>,
}

/// Length of a body.
#[derive(Clone, Copy)]
enum Length {
    Known(usize),
    Chunked,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, host: address.to_owned(), request: Vec::new(), read: Vec::new(), answer: Vec::new() }
    }

    /// Posts a body; returns the status and the body of the answer.
    pub(crate) async fn post(&mut self, path: &str, body: &[u8]) -> (u16, &[u8]) {
        use std::io::Write;
        self.request.clear();
        write!(
            self.request,
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        )
        .unwrap();
        self.request.extend_from_slice(body);
        // Batches are answered during the upload, so both run at once.
        let (mut reader, mut writer) = self.stream.split();
        let request = &self.request;
        let write = async { writer.write_all(request).await.unwrap() };
        let (read, answer) = (&mut self.read, &mut self.answer);
        let receive = async {
            answer.clear();
            let (status, length, mut at) = loop {
                if let Some(head) = head(read) {
                    break head;
                }
                more(&mut reader, read).await;
            };
            match length {
                Length::Known(len) => {
                    while read.len() < at + len {
                        more(&mut reader, read).await;
                    }
                    answer.extend_from_slice(&read[at..at + len]);
                    at += len;
                }
                Length::Chunked => loop {
                    let (start, len) = loop {
                        match httparse::parse_chunk_size(&read[at..]).unwrap() {
                            httparse::Status::Complete((start, len)) => break (at + start, len as usize),
                            httparse::Status::Partial => more(&mut reader, read).await,
                        }
                    };
                    while read.len() < start + len + 2 {
                        more(&mut reader, read).await;
                    }
                    answer.extend_from_slice(&read[start..start + len]);
                    at = start + len + 2;
                    if len == 0 {
                        break;
                    }
                },
            }
            read.drain(..at);
            status
        };
        let ((), status) = tokio::join!(write, receive);
        (status, &self.answer)
    }
}

async fn more(reader: &mut (impl AsyncReadExt + Unpin), read: &mut Vec<u8>) {
    assert!(reader.read_buf(read).await.unwrap() > 0, "the worker has closed the connection");
}

/// Returns the status, the length of the body and its start, once the head is complete.
fn head(read: &[u8]) -> Option<(u16, Length, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; N_HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(at) = response.parse(read).unwrap() else { return None };
    let status = response.code.unwrap();
    let value = |name: &str| {
        response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value)
    };
    let length = match value("content-length") {
        Some(digits) => Length::Known(std::str::from_utf8(digits).unwrap().parse().unwrap()),
        None => Length::Chunked,
    };
    Some((status, length, at))
}
