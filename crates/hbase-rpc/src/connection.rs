//! One connection to one server, on which many calls are under way at once.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time;

use crate::Error;
use crate::frame::{self, Answer, Service};

/// How a connection is opened.
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// Who asks, by name alone: the server must be set up to believe it.
    pub user: String,
    /// How long to wait for the server to take the connection.
    pub connect_timeout: Duration,
    /// The longest answer that is taken, in bytes: what a peer announces is not what room is made for.
    pub answer_len_max: usize,
    /// The longest request, in bytes; servers take 256 MiB unless they were told otherwise.
    pub request_len_max: usize,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            user: "hbase".to_owned(),
            connect_timeout: Duration::from_secs(5),
            answer_len_max: 128 << 20,
            request_len_max: 64 << 20,
        }
    }
}

/// So many requests wait to be written before callers wait.
const QUEUE_LEN: usize = 256;

/// Requests up to so many bytes together are written at once.
const WRITE_LEN: usize = 64 << 10;

/// A connection. Calls may be made from many tasks at once; dropping it gives up those that are under way.
#[derive(Debug)]
pub struct Connection {
    calls: Arc<Calls>,
    requests: mpsc::Sender<Bytes>,
    options: ConnectionOptions,
    tasks: [AbortHandle; 2],
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
    /// Why there can be no more.
    closed: Option<(io::ErrorKind, String)>,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What is in it is whole between any two steps.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call with an id that no other one under way has.
    fn begin(&self) -> Result<(u32, oneshot::Receiver<Result<Answer, Error>>), Error> {
        let mut state = self.lock();
        if let Some((kind, why)) = &state.closed {
            return Err(Error::Connection { source: io::Error::new(*kind, why.clone()), was_sent: false });
        }
        loop {
            // Servers take ids as signed.
            state.last_id = (state.last_id + 1) & 0x7fff_ffff;
            if !state.waiting.contains_key(&state.last_id) {
                break;
            }
        }
        let id = state.last_id;
        let (sender, receiver) = oneshot::channel();
        state.waiting.insert(id, sender);
        Ok((id, receiver))
    }

    /// An answer to nobody is to a call that was given up.
    fn end(&self, id: u32, outcome: Result<Answer, Error>) {
        if let Some(waiting) = self.lock().waiting.remove(&id) {
            let _ = waiting.send(outcome);
        }
    }

    /// Ends all calls, and lets no other begin.
    fn close(&self, error: &io::Error) {
        let mut state = self.lock();
        let (kind, why) = state.closed.get_or_insert_with(|| (error.kind(), error.to_string())).clone();
        for (_, waiting) in state.waiting.drain() {
            let source = io::Error::new(kind, why.clone());
            let _ = waiting.send(Err(Error::Connection { source, was_sent: true }));
        }
    }
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

impl Connection {
    /// Connects to a server. Its service and the caller's name hold for all calls.
    ///
    /// # Errors
    /// [`Error::Connection`] and [`Error::Deadline`].
    pub async fn open(
        address: (&str, u16),
        service: Service,
        options: ConnectionOptions,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Connection { source, was_sent: false };
        let connecting = time::timeout(options.connect_timeout, TcpStream::connect(address));
        let stream =
            connecting.await.map_err(|_| Error::Deadline(options.connect_timeout))?.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Self::over(stream, service, options).await
    }

    /// Over a stream that is open, as one of TLS.
    ///
    /// # Errors
    /// [`Error::Connection`] where the beginning cannot be written.
    pub async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        service: Service,
        options: ConnectionOptions,
    ) -> Result<Self, Error> {
        let (read, mut write) = tokio::io::split(stream);
        let failed = |source| Error::Connection { source, was_sent: false };
        write.write_all(&frame::preamble(&options.user, service)).await.map_err(failed)?;
        write.flush().await.map_err(failed)?;
        let calls = Arc::new(Calls::default());
        let (requests, queue) = mpsc::channel(QUEUE_LEN);
        let (of_writer, of_reader) = (Arc::clone(&calls), Arc::clone(&calls));
        let writer = tokio::spawn(async move {
            if let Err(error) = write_all(write, queue).await {
                of_writer.close(&error);
            }
        });
        let answer_len_max = options.answer_len_max;
        let reader = tokio::spawn(async move {
            let error = read_all(read, &of_reader, answer_len_max).await;
            of_reader.close(&error);
        });
        let tasks = [writer.abort_handle(), reader.abort_handle()];
        Ok(Self { calls, requests, options, tasks })
    }

    /// Whether a call can be made still.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.calls.lock().closed.is_none()
    }

    /// Asks, and waits for the answer. The server is told of the deadline, too.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn call(
        &self,
        method: &str,
        param: &impl Message,
        cells: &Bytes,
        deadline: Duration,
    ) -> Result<Answer, Error> {
        let (id, answer) = self.calls.begin()?;
        let _under_way = UnderWay { calls: &self.calls, id };
        let request = frame::request(id, method, param, cells, deadline, self.options.request_len_max)?;
        let asked = async {
            if self.requests.send(request).await.is_err() {
                // Why it is closed is in the answer.
                self.calls.close(&io::ErrorKind::BrokenPipe.into());
            }
            answer.await
        };
        match time::timeout(deadline, asked).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Error::Connection { source: io::ErrorKind::BrokenPipe.into(), was_sent: true }),
            Err(_) => Err(Error::Deadline(deadline)),
        }
    }
}

/// Writes requests, those that wait together at once.
async fn write_all(mut write: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Bytes>) -> io::Result<()> {
    let mut together = BytesMut::new();
    while let Some(request) = queue.recv().await {
        together.extend_from_slice(&request);
        while together.len() < WRITE_LEN
            && let Ok(request) = queue.try_recv()
        {
            together.extend_from_slice(&request);
        }
        write.write_all(&together).await?;
        write.flush().await?;
        together.clear();
    }
    write.shutdown().await
}

/// Reads answers until that fails.
async fn read_all(read: impl AsyncRead + Unpin, calls: &Calls, len_max: usize) -> io::Error {
    let mut read = BufReader::with_capacity(WRITE_LEN, read);
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
) -> Result<(u32, Result<Answer, Error>), Error> {
    let failed = |source| Error::Connection { source, was_sent: true };
    let mut len = [0; 4];
    read.read_exact(&mut len).await.map_err(failed)?;
    let len = frame::answer_len(&len, len_max)?;
    // Room is made as bytes come, not as they are announced.
    let mut bytes = Vec::with_capacity(len.min(WRITE_LEN));
    let n = read.take(len as u64).read_to_end(&mut bytes).await.map_err(failed)?;
    if n < len {
        return Err(failed(io::ErrorKind::UnexpectedEof.into()));
    }
    let (id, outcome) = frame::answer(bytes.into())?;
    Ok((id, outcome.map_err(Error::Remote)))
}

#[cfg(test)]
mod tests;
