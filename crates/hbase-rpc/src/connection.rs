//! A connection to one server, with many calls under way at once.

mod writer;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time;

use self::writer::Writer;
use crate::frame::{self, Answer, Service};
use crate::{Error, RemoteError};

/// Options of a [`Connection`].
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// The name of the caller, which the server must be configured to believe.
    pub user: String,
    /// The longest wait for each step of opening: TCP, the handshake of TLS, the ticket of
    /// Kerberos.
    pub connect_timeout: Duration,
    /// The longest answer that is taken, in bytes. Room is made for received bytes, not for
    /// announced ones.
    pub answer_len_max: usize,
    /// The longest request, in bytes; servers take 256 MiB unless configured otherwise.
    pub request_len_max: usize,
    /// TLS, where the servers speak it.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::Tls>,
    /// Kerberos, where the servers want it: then the ticket names the caller, in place of `user`.
    #[cfg(feature = "kerberos")]
    pub kerberos: Option<crate::Kerberos>,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            user: "hbase".to_owned(),
            connect_timeout: Duration::from_secs(5),
            answer_len_max: 128 << 20,
            request_len_max: 64 << 20,
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "kerberos")]
            kerberos: None,
        }
    }
}

/// The bytes read at once, and the most room made before bytes have come.
const READ_LEN: usize = 64 << 10;

/// Probes of an idle connection after a minute: one that a firewall has forgotten, or one to a
/// machine without power, is found broken before the next call waits for it.
const KEEP_ALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(10))
    .with_retries(3);

/// A silence shorter than this gives up no connection: the last try of a call is a short one.
const SILENCE_MIN: Duration = Duration::from_millis(200);

/// The greatest id of a call: servers take ids as signed, and send news of the connection itself
/// under negative ids.
const ID_MAX: u32 = i32::MAX as u32;

/// A connection to one server. Many tasks may call at once; dropping the connection gives up calls
/// under way.
pub struct Connection {
    calls: Arc<Calls>,
    writer: Arc<Writer>,
    options: ConnectionOptions,
    tasks: [AbortHandle; 2],
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// The calls that wait for their answers.
#[derive(Debug, Default)]
struct Calls(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_id: u32,
    waiting: HashMap<u32, oneshot::Sender<Result<Answer, Error>>>,
    /// The reason no more calls can begin.
    closed: Option<Closed>,
    /// The number of answers that have come from the server.
    n_heard: u64,
}

/// The reason a connection carries no more calls.
#[derive(Clone, Debug)]
enum Closed {
    /// The connection broke, or the server sent bytes that are no answer.
    Broken(io::ErrorKind, String),
    /// The server refuses this caller.
    Refused(RemoteError),
    /// One of the two sides does not trust the other.
    Tls(String),
}

impl Closed {
    fn to_error(&self, was_sent: bool) -> Error {
        match self {
            Self::Broken(kind, why) => {
                Error::Connection { source: io::Error::new(*kind, why.clone()), was_sent }
            }
            Self::Refused(remote) => Error::Remote(remote.clone()),
            Self::Tls(what) => Error::Tls(what.clone()),
        }
    }
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The guarded data is consistent between any two steps.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call, with an id that no other call under way has.
    fn begin(&self) -> Result<(u32, oneshot::Receiver<Result<Answer, Error>>), Error> {
        let mut state = self.lock();
        if let Some(closed) = &state.closed {
            return Err(closed.to_error(false));
        }
        loop {
            state.last_id = (state.last_id + 1) & ID_MAX;
            if !state.waiting.contains_key(&state.last_id) {
                break;
            }
        }
        let id = state.last_id;
        let (sender, receiver) = oneshot::channel();
        state.waiting.insert(id, sender);
        Ok((id, receiver))
    }

    /// Hands an answer to its caller. An answer without a caller belongs to a call that was given
    /// up.
    fn end(&self, id: u32, outcome: Result<Answer, RemoteError>) {
        // From a server that has taken no call yet, and will take none.
        if let (Err(remote), true) = (&outcome, id > ID_MAX) {
            return self.close(Closed::Refused(remote.clone()));
        }
        let mut state = self.lock();
        state.n_heard += 1;
        if let Some(waiting) = state.waiting.remove(&id) {
            let _ = waiting.send(outcome.map_err(Error::Remote));
        }
    }

    /// Ends all calls, and lets no other begin.
    fn close(&self, why: Closed) {
        let mut state = self.lock();
        let why = state.closed.get_or_insert(why).clone();
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.send(Err(why.to_error(true)));
        }
    }

    fn break_off(&self, error: &io::Error) {
        self.close(if is_of_tls(error) {
            Closed::Tls(error.to_string())
        } else {
            Closed::Broken(error.kind(), error.to_string())
        });
    }
}

/// Returns true if TLS failed, rather than the system or the other end.
fn is_of_tls(error: &io::Error) -> bool {
    #[cfg(feature = "tls")]
    let is = |inner: &(dyn std::error::Error + Send + Sync + 'static)| inner.is::<rustls::Error>();
    #[cfg(not(feature = "tls"))]
    let is = |_: &(dyn std::error::Error + Send + Sync + 'static)| false;
    error.get_ref().is_some_and(is)
}

/// A call whose caller may go away: then its id is free again.
struct UnderWay<'a> {
    calls: &'a Calls,
    id: u32,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.calls.lock().waiting.remove(&self.id);
    }
}

/// Connects to the first address of a host that answers. Each has its own time.
async fn connected(host: (&str, u16), timeout: Duration) -> io::Result<TcpStream> {
    let addresses = time::timeout(timeout, lookup_host(host)).await??;
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match time::timeout(timeout, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failed = error,
            Err(late) => failed = late.into(),
        }
    }
    Err(failed)
}

impl Connection {
    /// Connects to a server. The service and the caller's name hold for all calls.
    ///
    /// # Errors
    /// [`Error::Connection`]; [`Error::Tls`], [`Error::Kerberos`] and [`Error::Protocol`] where TLS
    /// or Kerberos is used.
    pub async fn open(
        address: (&str, u16),
        service: Service,
        options: ConnectionOptions,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Connection { source, was_sent: false };
        let stream = connected(address, options.connect_timeout).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        SockRef::from(&stream).set_tcp_keepalive(&KEEP_ALIVE).map_err(failed)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &options.tls {
            let shaking_hands = time::timeout(options.connect_timeout, tls.connect(address.0, stream));
            let stream = shaking_hands.await.map_err(|_| failed(io::ErrorKind::TimedOut.into()))?;
            let stream = stream.map_err(|error| {
                if is_of_tls(&error) { Error::Tls(error.to_string()) } else { failed(error) }
            })?;
            return Self::to(address.0, stream, service, options).await;
        }
        Self::to(address.0, stream, service, options).await
    }

    /// Opens a connection over a stream to a host, which is shown a ticket if one is wanted.
    #[cfg_attr(
        not(feature = "kerberos"),
        expect(unused_variables, reason = "only a ticket is for a host of a certain name")
    )]
    async fn to(
        host: &str,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        service: Service,
        options: ConnectionOptions,
    ) -> Result<Self, Error> {
        #[cfg(feature = "kerberos")]
        if let Some(kerberos) = &options.kerberos {
            let mut stream = stream;
            let showing = time::timeout(options.connect_timeout, kerberos.show(host, &mut stream));
            showing.await.map_err(|_| Error::Connection {
                source: io::ErrorKind::TimedOut.into(),
                was_sent: false,
            })??;
            return Self::begin(stream, frame::header(None, service), options).await;
        }
        Self::over(stream, service, options).await
    }

    /// Opens a connection over an open stream, such as one of TLS.
    ///
    /// # Errors
    /// [`Error::Connection`] if the preamble cannot be written.
    pub async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        service: Service,
        options: ConnectionOptions,
    ) -> Result<Self, Error> {
        let preamble = frame::preamble(&options.user, service);
        Self::begin(stream, preamble, options).await
    }

    async fn begin(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        first: Bytes,
        options: ConnectionOptions,
    ) -> Result<Self, Error> {
        let (read, mut write) = tokio::io::split(stream);
        let failed = |source| Error::Connection { source, was_sent: false };
        write.write_all(&first).await.map_err(failed)?;
        write.flush().await.map_err(failed)?;
        let calls = Arc::new(Calls::default());
        let (of_writer, of_reader) = (Arc::clone(&calls), Arc::clone(&calls));
        let writer = Arc::new(Writer::new(write));
        let left_over = Arc::clone(&writer);
        let write = tokio::spawn(async move {
            let error = left_over.run().await;
            of_writer.break_off(&error);
        });
        let answer_len_max = options.answer_len_max;
        let read = tokio::spawn(async move {
            let error = read_all(read, &of_reader, answer_len_max).await;
            of_reader.break_off(&error);
        });
        let tasks = [write.abort_handle(), read.abort_handle()];
        Ok(Self { calls, writer, options, tasks })
    }

    /// Returns true if calls can still be made.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.calls.lock().closed.is_none()
    }

    /// Makes a call, and waits for the answer. The server is told the deadline, too.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn call(
        &self,
        method: &str,
        param: &impl Message,
        cells: &[Bytes],
        deadline: Duration,
    ) -> Result<Answer, Error> {
        let (id, answer) = self.calls.begin()?;
        let n_heard = self.calls.lock().n_heard;
        let _under_way = UnderWay { calls: &self.calls, id };
        let request = frame::request(id, method, param, cells, deadline, self.options.request_len_max)?;
        let asked = async {
            if let Err(error) = self.writer.send(request).await {
                // The waiting answer reports the error.
                self.calls.break_off(&error);
            }
            answer.await
        };
        match time::timeout(deadline, asked).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Error::Connection { source: io::ErrorKind::BrokenPipe.into(), was_sent: true }),
            Err(_) => {
                // No answer to any other call either: the other end is gone without a word.
                if deadline >= SILENCE_MIN && self.calls.lock().n_heard == n_heard {
                    self.calls.break_off(&io::ErrorKind::TimedOut.into());
                }
                Err(Error::Deadline(deadline))
            }
        }
    }
}

/// Reads answers until that fails, and returns the error.
async fn read_all(read: impl AsyncRead + Unpin, calls: &Calls, len_max: usize) -> io::Error {
    let mut read = BufReader::with_capacity(READ_LEN, read);
    loop {
        match read_one(&mut read, len_max).await {
            Ok((id, outcome)) => calls.end(id, outcome),
            Err(Error::Connection { source, .. }) => return source,
            Err(error) => return io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }
}

async fn read_one(
    read: &mut (impl AsyncRead + Unpin),
    len_max: usize,
) -> Result<(u32, Result<Answer, RemoteError>), Error> {
    let failed = |source| Error::Connection { source, was_sent: true };
    let mut len = [0; 4];
    read.read_exact(&mut len).await.map_err(failed)?;
    let len = frame::answer_len(&len, len_max)?;
    // Room is made as bytes come, not as they are announced.
    let mut bytes = Vec::with_capacity(len.min(READ_LEN));
    let n = read.take(len as u64).read_to_end(&mut bytes).await.map_err(failed)?;
    if n < len {
        return Err(failed(io::ErrorKind::UnexpectedEof.into()));
    }
    frame::answer(bytes.into())
}

#[cfg(test)]
mod tests;
