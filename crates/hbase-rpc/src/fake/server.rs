//! The ports of the cluster: connections, requests and answers.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Notify};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time;

use super::faults::FaultKind;
use super::{Cluster, Failure, Reply, calls, lock, multi};
use crate::messages::{CellBlockMeta, ConnectionHeader, ExceptionResponse, RequestHeader, ResponseHeader};

/// The bound of HBase's own servers.
const REQUEST_LEN_MAX: usize = 256 << 20;

/// A port with a listener. All of its connections end with it.
#[derive(Debug)]
pub(super) struct Listener {
    task: AbortHandle,
    is_gone: Receiver<()>,
}

impl Listener {
    /// Takes connections for the server of this number.
    pub(super) fn start(cluster: &Cluster, server: usize, listener: StdListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let _runtime = cluster.0.runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let cluster = cluster.clone();
        let (gone, is_gone) = channel::<()>();
        let task = cluster.0.runtime.clone().spawn(take_all(cluster, server, listener, gone));
        Ok(Self { task: task.abort_handle(), is_gone })
    }

    /// Stops as if killed: nothing more is done or answered, and the port is closed.
    pub(super) fn stop(self) {
        self.task.abort();
        // The task drops the sender, and sends nothing.
        let _ = self.is_gone.recv_timeout(Duration::from_secs(5));
    }
}

async fn take_all(cluster: Cluster, server: usize, listener: TcpListener, gone: Sender<()>) {
    // Dropped last, with all connections gone.
    let _gone = gone;
    let listener = listener;
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(serve(cluster.clone(), server, stream));
    }
}

/// The write side of a connection.
struct Answers {
    write: Mutex<OwnedWriteHalf>,
    ends: Notify,
}

async fn serve(cluster: Cluster, server: usize, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let (mut read, write) = stream.into_split();
    let answers = Arc::new(Answers { write: Mutex::new(write), ends: Notify::new() });
    let mut requests = JoinSet::new();
    let reading = async {
        let mut begin = [0; 6];
        read.read_exact(&mut begin).await?;
        let header = ConnectionHeader::decode(take(&mut read).await?).map_err(io::Error::other)?;
        if &begin != b"HBas\0\x50" {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if lock(&cluster.0.state).wants_kerberos {
            let refusal = Failure::last("security.AccessDeniedException", "Authentication is required");
            // Under the id of no call.
            answers.write.lock().await.write_all(&frame(u32::MAX, Err(refusal))).await?;
            return Ok(());
        }
        let service: Arc<str> = header.service.unwrap_or_default().into();
        loop {
            let request = take(&mut read).await?;
            while requests.try_join_next().is_some() {}
            let (cluster, answers) = (cluster.clone(), Arc::clone(&answers));
            let service = Arc::clone(&service);
            // Calls on one connection do not wait for each other.
            requests.spawn(async move {
                let _under_way = UnderWay::begin(&cluster);
                if answer(&cluster, server, &service, request, &answers).await.is_err() {
                    answers.ends.notify_one();
                }
            });
        }
    };
    let _: Result<(), io::Error> = tokio::select! {
        outcome = reading => outcome,
        () = answers.ends.notified() => Ok(()),
    };
}

/// A call that a server is at, counted until it is answered or dropped with its connection.
struct UnderWay<'a>(&'a Cluster);

impl<'a> UnderWay<'a> {
    fn begin(cluster: &'a Cluster) -> Self {
        lock(&cluster.0.state).n_under_way += 1;
        Self(cluster)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.0.0.state).n_under_way -= 1;
    }
}

/// Reads bytes with their length before them.
async fn take(read: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Bytes> {
    let len = read.read_u32().await? as usize;
    if len > REQUEST_LEN_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; len];
    read.read_exact(&mut bytes).await?;
    Ok(bytes.into())
}

/// Executes a request, with the fault of a test, and answers. An error ends the connection.
async fn answer(
    cluster: &Cluster,
    server: usize,
    service: &str,
    mut request: Bytes,
    answers: &Answers,
) -> io::Result<()> {
    let header = RequestHeader::decode_length_delimited(&mut request).map_err(io::Error::other)?;
    let method = header.method.unwrap_or_default();
    let call_id = header.call_id.unwrap_or(0);
    let work = if method == "Multi" { multi::name(request.clone()) } else { None };
    let methods: Vec<_> = [method.as_str()].into_iter().chain(work).collect();
    let fault = cluster.count(&methods, server);
    let closed = || Err(io::ErrorKind::ConnectionAborted.into());
    let mut outcome = None;
    match &fault {
        Some(FaultKind::Close) => return closed(),
        Some(FaultKind::Stall) => return Ok(()),
        Some(FaultKind::Delay(time)) => time::sleep(*time).await,
        // The deed may wait for tasks that this thread would otherwise run.
        Some(FaultKind::Do(deed)) => tokio::task::block_in_place(|| deed(cluster)),
        Some(FaultKind::Exception(class)) => outcome = Some(Err(Failure::new(class, "as told"))),
        Some(FaultKind::FinalException(class)) => outcome = Some(Err(Failure::last(class, "as told"))),
        _ => {}
    }
    let outcome = match outcome {
        Some(outcome) => outcome,
        None => calls::execute(cluster, server, service, &method, request, fault.as_ref()),
    };
    let mut bytes = frame(call_id, outcome);
    match fault {
        Some(FaultKind::ExceptionAfter(class) | FaultKind::ExceptionAfterActions(_, class)) => {
            bytes = frame(call_id, Err(Failure::new(class, "as told")));
        }
        Some(FaultKind::GarbageAfter(garbage)) => bytes = garbage.into(),
        Some(FaultKind::RewriteAfter(rewrite)) => bytes = rewrite(bytes.into()).into(),
        Some(FaultKind::CutAfter(n)) => {
            let whole = bytes.slice(..bytes.len().saturating_sub(n));
            answers.write.lock().await.write_all(&whole).await?;
            return closed();
        }
        Some(FaultKind::CloseAfter) => return closed(),
        Some(FaultKind::StallAfter) => return Ok(()),
        _ => {}
    }
    answers.write.lock().await.write_all(&bytes).await
}

/// Encodes a whole answer.
pub(super) fn frame(call_id: u32, outcome: Result<Reply, Failure>) -> Bytes {
    let mut header = ResponseHeader { call_id: Some(call_id), ..ResponseHeader::default() };
    let mut rest = BytesMut::new();
    match outcome {
        Ok(reply) => {
            let length = u32::try_from(reply.block.len()).ok();
            header.cells = (!reply.block.is_empty()).then_some(CellBlockMeta { length });
            prost::encode_length_delimiter(reply.message.len(), &mut rest).expect("there is room");
            rest.put_slice(&reply.message);
            rest.put_slice(&reply.block);
        }
        Err(failure) => {
            header.exception = Some(ExceptionResponse {
                stack_trace: Some(failure.stack_trace()),
                class: Some(failure.class),
                hostname: failure.moved_to.as_ref().map(|(host, _)| host.clone()),
                port: failure.moved_to.map(|(_, port)| port.into()),
                do_not_retry: Some(failure.is_final),
            });
        }
    }
    let header = header.encode_length_delimited_to_vec();
    let mut bytes = BytesMut::new();
    bytes.put_u32((header.len() + rest.len()) as u32);
    bytes.put_slice(&header);
    bytes.put_slice(&rest);
    bytes.freeze()
}
