//! Sockets: one thread accepts, one serves each connection, and faults happen here.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hbase_thrift::hbase::HbaseSyncProcessor;
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TInputProtocol, TStoredInputProtocol, TType,
};
use thrift::server::TProcessor;
use thrift::transport::TBufferedReadTransport;

use super::faults::FaultKind;
use super::handler::{Handler, Injected};
use super::{Shared, lock};

/// The time for which a connection still reads after a fault has closed it. Closing with unread
/// requests resets the connection, and a reset can overtake the bytes sent before.
const LINGER: Duration = Duration::from_millis(200);

/// The open connections, and the state that they share.
#[derive(Default)]
pub(super) struct Connections {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_stopping: bool,
    open: BTreeMap<u64, Connection>,
    n_accepted: u64,
    n_open_max: usize,
    n_to_refuse: usize,
    idle_limit: Option<Duration>,
    threads: Vec<JoinHandle<()>>,
}

struct Connection {
    stream: TcpStream,
    is_idle: bool,
}

impl Connections {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn n_open(&self) -> usize {
        self.state().open.len()
    }

    pub(super) fn n_open_max(&self) -> usize {
        self.state().n_open_max
    }

    pub(super) fn n_accepted(&self) -> u64 {
        self.state().n_accepted
    }

    pub(super) fn refuse(&self, n: usize) {
        self.state().n_to_refuse += n;
    }

    pub(super) fn set_idle_limit(&self, limit: Duration) {
        self.state().idle_limit = Some(limit);
    }

    pub(super) fn close_idle(&self) {
        let mut state = self.state();
        state.open.retain(|_, connection| {
            if connection.is_idle {
                drop(connection.stream.shutdown(Shutdown::Both));
            }
            !connection.is_idle
        });
        self.changed.notify_all();
    }

    pub(super) fn wait_for(&self, n_open: usize, timeout: Duration) -> bool {
        let state = self.state();
        let waited = self.changed.wait_timeout_while(state, timeout, |state| state.open.len() != n_open);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn remove(&self, id: u64) {
        self.state().open.remove(&id);
        self.changed.notify_all();
    }

    /// Waits; returns true if the gateway still runs afterwards.
    fn delay(&self, delay: Duration) -> bool {
        let state = self.state();
        let waited = self.changed.wait_timeout_while(state, delay, |state| !state.is_stopping);
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_stopping
    }
}

/// The thread that accepts.
pub(super) struct Listener {
    address: SocketAddr,
    thread: JoinHandle<()>,
}

impl Listener {
    /// Binds a port, any one for 0, and serves it.
    pub(super) fn start(shared: &Arc<Shared>, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        shared.connections.state().is_stopping = false;
        let shared = Arc::clone(shared);
        Ok(Self { address, thread: thread::spawn(move || accept(&shared, &listener)) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes everything and waits for the threads.
    pub(super) fn stop(self, shared: &Shared) {
        {
            let mut state = shared.connections.state();
            state.is_stopping = true;
            for connection in state.open.values() {
                drop(connection.stream.shutdown(Shutdown::Both));
            }
            shared.connections.changed.notify_all();
        }
        // Wakes the thread that accepts, which has seen the flag by then, or sees it at this
        // connection.
        drop(TcpStream::connect(self.address));
        drop(self.thread.join());
        let threads = std::mem::take(&mut shared.connections.state().threads);
        for thread in threads {
            drop(thread.join());
        }
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut state = shared.connections.state();
        if state.is_stopping {
            return;
        }
        let Ok(stream) = stream else { continue };
        if state.n_to_refuse > 0 {
            state.n_to_refuse -= 1;
            continue;
        }
        let Ok(registered) = stream.try_clone() else { continue };
        state.n_accepted += 1;
        let id = state.n_accepted;
        state.open.insert(id, Connection { stream: registered, is_idle: true });
        state.n_open_max = state.n_open_max.max(state.open.len());
        state.threads.retain(|thread| !thread.is_finished());
        let of_thread = Arc::clone(shared);
        state.threads.push(thread::spawn(move || {
            // An error is the client's end or a broken connection; either way it is over.
            drop(serve(&of_thread, id, &stream));
            of_thread.connections.remove(id);
            linger(&stream);
        }));
        shared.connections.changed.notify_all();
    }
}

/// Answers the calls of one connection, until it ends or a fault ends it.
fn serve(shared: &Arc<Shared>, id: u64, stream: &TcpStream) -> thrift::Result<()> {
    stream.set_nodelay(true)?;
    let injected = Rc::new(Cell::new(None));
    let handler = Handler { shared: Arc::clone(shared), injected: Rc::clone(&injected) };
    let processor = HbaseSyncProcessor::new(handler);
    let mut input =
        TBinaryInputProtocol::new(TBufferedReadTransport::with_capacity(1 << 16, stream.try_clone()?), true);
    loop {
        let idle_limit = shared.connections.state().idle_limit;
        stream.set_read_timeout(idle_limit)?;
        let mut message = input.read_message_begin()?;
        match shared.connections.state().open.get_mut(&id) {
            Some(connection) => connection.is_idle = false,
            None => return Ok(()),
        }
        let fault = shared.count(&message.name);
        match &fault {
            Some(FaultKind::Close) => {
                input.skip(TType::Struct)?;
                return Ok(());
            }
            Some(FaultKind::Stall) => return stall(stream),
            Some(FaultKind::Delay(delay)) => {
                if !shared.connections.delay(*delay) {
                    return Ok(());
                }
            }
            Some(FaultKind::WrongSequenceAfter) => {
                message.sequence_number = message.sequence_number.wrapping_add(1);
            }
            fault => injected.set(injection(fault.as_ref())),
        }
        let mut reply = Vec::new();
        processor.process(
            &mut TStoredInputProtocol::new(&mut input, message),
            &mut TBinaryOutputProtocol::new(&mut reply, true),
        )?;
        // A method that takes no error leaves the error unused; it must not hit the next call.
        injected.set(None);
        // Idle before the reply is sent: a client that has the reply finds the connection idle.
        if let Some(connection) = shared.connections.state().open.get_mut(&id) {
            connection.is_idle = true;
        }
        let mut output = stream;
        match fault {
            Some(FaultKind::CloseAfter) => return Ok(()),
            Some(FaultKind::CutAfter(n_bytes)) => {
                output.write_all(&reply[..n_bytes.min(reply.len())])?;
                return Ok(());
            }
            Some(FaultKind::GarbageAfter(garbage)) => output.write_all(&garbage)?,
            Some(FaultKind::StallAfter) => return stall(stream),
            _ => output.write_all(&reply)?,
        }
    }
}

/// Returns the error that a fault makes the handler answer with.
fn injection(fault: Option<&FaultKind>) -> Option<Injected> {
    let (message, can_retry, after_rows) = match fault? {
        FaultKind::IoError(message) => (message, true, 0),
        FaultKind::DoNotRetry(message) => (message, false, 0),
        FaultKind::IoErrorAfter(message) => (message, true, usize::MAX),
        FaultKind::IoErrorAfterRows(n_rows, message) => (message, true, *n_rows),
        _ => return None,
    };
    Some(Injected { message: message.clone(), can_retry, after_rows })
}

/// Reads on and answers nothing, until the client or the gateway closes.
fn stall(mut stream: &TcpStream) -> thrift::Result<()> {
    stream.set_read_timeout(None)?;
    io::copy(&mut stream, &mut io::sink())?;
    Ok(())
}

fn linger(mut stream: &TcpStream) {
    let ends = Instant::now() + LINGER;
    if stream.shutdown(Shutdown::Write).is_err() || stream.set_read_timeout(Some(LINGER)).is_err() {
        return;
    }
    let mut unread = [0; 1 << 12];
    while Instant::now() < ends && matches!(stream.read(&mut unread), Ok(1..)) {}
}
