//! A proxy between a program and a server, which a test interrupts.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

pub(super) struct Proxy {
    pub(super) address: String,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes of answers that passed.
    n_bytes: usize,
    /// The number of bytes that may pass.
    end: Option<usize>,
    /// True to close connections at the end; otherwise they wait.
    closes: bool,
    n_closed: usize,
    /// Words in the first lines of requests to be held, or of the one whose answer is lost.
    held: Option<&'static [&'static str]>,
    lost: Option<&'static [&'static str]>,
    n_held: usize,
}

impl Proxy {
    /// Starts a proxy that holds requests with all of these words, all others pass.
    pub(super) fn holding(server: &str, words: &'static [&'static str]) -> Self {
        let proxy = Self::start(server, 0);
        proxy.set(|state| (state.end, state.held) = (None, Some(words)));
        proxy
    }

    /// Starts a proxy that loses the answer to the first request with all of these words.
    pub(super) fn losing(server: &str, words: &'static [&'static str]) -> Self {
        let proxy = Self::start(server, 0);
        proxy.set(|state| (state.end, state.lost) = (None, Some(words)));
        proxy
    }

    /// Returns true once such a request is held.
    pub(super) fn is_holding(&self) -> bool {
        self.gate.state.lock().unwrap().n_held > 0
    }

    /// Closes the connections of requests that are held, and of all such that follow.
    pub(super) fn close_held(&self) {
        self.set(|state| state.closes = true);
    }

    /// Starts a proxy that lets the first `end` bytes of answers from `server` pass.
    pub(super) fn start(server: &str, end: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let gate = Arc::new(Gate::default());
        gate.state.lock().unwrap().end = Some(end);
        let (server, shared) = (server.to_owned(), Arc::clone(&gate));
        // The thread ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                let (questions, answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let gate = Arc::clone(&shared);
                let of_questions = Arc::clone(&shared);
                let is_lost = Arc::new(AtomicBool::new(false));
                let loses = Arc::clone(&is_lost);
                thread::spawn(move || forward(questions, server, |bytes| of_questions.ask(bytes, &loses)));
                thread::spawn(move || {
                    forward(answers, client, |bytes| {
                        !is_lost.load(Ordering::Relaxed) && gate.pass(bytes.len())
                    });
                });
            }
        });
        Self { address, gate }
    }

    /// Waits until all allowed bytes have passed.
    pub(super) fn wait(&self) {
        let state = self.gate.state.lock().unwrap();
        drop(
            self.gate
                .changed
                .wait_while(state, |state| state.end.is_some_and(|end| state.n_bytes < end))
                .unwrap(),
        );
    }

    /// Closes each connection at its next answer from now on, and waits for the first.
    pub(super) fn close(&self) {
        self.set(|state| state.closes = true);
        let state = self.gate.state.lock().unwrap();
        drop(self.gate.changed.wait_while(state, |state| state.n_closed == 0).unwrap());
    }

    /// Returns the number of connections that were closed.
    pub(super) fn n_closed(&self) -> usize {
        self.gate.state.lock().unwrap().n_closed
    }

    /// Lets everything pass from now on.
    pub(super) fn open(&self) {
        self.set(|state| (state.end, state.closes) = (None, false));
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.gate.state.lock().unwrap());
        self.gate.changed.notify_all();
    }
}

impl Gate {
    /// Waits while a request is held. Returns false if the connection is to be closed, and notes a
    /// request whose answer is lost.
    fn ask(&self, bytes: &[u8], loses: &AtomicBool) -> bool {
        let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let fits = |words: &'static [&'static str]| words.iter().all(|word| line.contains(word));
        let mut state = self.state.lock().unwrap();
        if state.lost.is_some_and(fits) {
            state.lost = None;
            loses.store(true, Ordering::Relaxed);
        }
        if !state.held.is_some_and(fits) {
            return true;
        }
        state.n_held += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| !state.closes).unwrap();
        !state.closes
    }

    /// Waits until `n_bytes` may pass. Returns false if the connection is to be closed.
    fn pass(&self, n_bytes: usize) -> bool {
        let mut state = self.state.lock().unwrap();
        state.n_bytes += n_bytes;
        self.changed.notify_all();
        let stops = |state: &State| state.end.is_some_and(|end| state.n_bytes > end);
        let mut state = self.changed.wait_while(state, |state| stops(state) && !state.closes).unwrap();
        let stopped = stops(&state);
        state.n_closed += usize::from(stopped);
        self.changed.notify_all();
        !stopped
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, may_pass: impl Fn(&[u8]) -> bool) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if !may_pass(&buffer[..n]) || to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    // The other direction may have closed them.
    for stream in [from, to] {
        stream.shutdown(Shutdown::Both).unwrap_or(());
    }
}
