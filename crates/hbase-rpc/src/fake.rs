//! An HBase within the process, for tests: a master and region servers on loopback ports, which
//! speak HBase's own RPC.
//!
//! The fake follows HBase 2.6 in everything a client can see: regions and `hbase:meta`, the order
//! of a scan's calls, rows in pieces, the bounds of atomicity, times of cells and the deletes that
//! hide them, and the classes of exceptions. A test splits, merges and moves regions, disables and
//! drops tables, and kills servers, also in the middle of a call. Calls go wrong in the ways of
//! servers and networks ([`FaultKind`]).
//!
//! Absent on purpose: calls that [`crate::Client`] does not make, access control, versions beyond
//! one, and compactions other than by [`Table::compact`].

mod calls;
mod cluster;
mod faults;
mod filter;
mod meta;
mod multi;
mod scans;
mod server;
mod state;
mod table;

use std::fmt;
use std::net::TcpListener;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use prost::Message;
use tokio::runtime::{Builder, Handle, Runtime};

/// The messages that tests of connections and decoders take apart.
pub mod messages {
    pub use crate::messages::{
        CellBlockMeta, ExceptionResponse, GetMetaRegionLocationsRequest, GetMetaRegionLocationsResponse,
        GetTableDescriptorsResponse, MultiResponse, ResponseHeader, ScanResponse,
    };
}

pub use self::faults::{Fault, FaultKind};
use self::server::Listener;
use self::state::State;
pub use self::table::{ColumnRange, Table, View};
use crate::regions::META_REGION;

/// A handle to act on a cluster, from any thread. Actions in the middle of a call get one, too.
#[derive(Clone, Debug)]
pub struct Cluster(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    listeners: Mutex<Vec<Option<Listener>>>,
    runtime: Handle,
}

/// A running cluster. Dropping it ends the cluster.
pub struct FakeCluster {
    cluster: Cluster,
    runtime: Option<Runtime>,
}

impl fmt::Debug for FakeCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FakeCluster").field(&self.master()).finish()
    }
}

impl Deref for FakeCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl Drop for FakeCluster {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl FakeCluster {
    /// Starts a master and `n_servers` region servers, at least one, without tables. The first
    /// region server has `hbase:meta`.
    ///
    /// # Panics
    /// If the system gives no port or no thread.
    #[must_use]
    pub fn start(n_servers: usize) -> Self {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).thread_name("fake-hbase").enable_all().build();
        let runtime = runtime.expect("the system gives threads");
        let bind = |_| TcpListener::bind((HOST, 0)).expect("loopback has a free port");
        let listeners: Vec<TcpListener> = (0..=n_servers.max(1)).map(bind).collect();
        let port = |listener: &TcpListener| listener.local_addr().expect("it is bound").port();
        let ports: Vec<u16> = listeners.iter().map(port).collect();
        let cluster = Cluster(Arc::new(Shared {
            state: Mutex::new(State::new(HOST, &ports)),
            listeners: Mutex::default(),
            runtime: runtime.handle().clone(),
        }));
        let start = |(server, listener)| Listener::start(&cluster, server, listener).ok();
        let listeners = listeners.into_iter().enumerate().map(start).collect();
        *lock(&cluster.0.listeners) = listeners;
        Self { cluster, runtime: Some(runtime) }
    }
}

const HOST: &str = "127.0.0.1";

/// Locks in spite of poison: a test that panicked elsewhere has its own message, and the data are
/// still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An answer: a message and its cells.
#[derive(Debug)]
struct Reply {
    message: Vec<u8>,
    block: Bytes,
}

impl Reply {
    fn new(message: &impl Message, block: Bytes) -> Self {
        Self { message: message.encode_to_vec(), block }
    }
}

/// An exception in place of an answer.
#[derive(Clone, Debug)]
struct Failure {
    class: String,
    message: String,
    is_final: bool,
    moved_to: Option<(String, u16)>,
}

impl Failure {
    /// Creates an exception of a class of HBase, unless `class` has a package of Java.
    fn new(class: &str, message: &str) -> Self {
        let class = match class.starts_with("java.") {
            true => class.to_owned(),
            false => format!("org.apache.hadoop.hbase.{class}"),
        };
        Self { class, message: message.to_owned(), is_final: false, moved_to: None }
    }

    /// Creates an exception that says not to try again.
    fn last(class: &str, message: &str) -> Self {
        Self { is_final: true, ..Self::new(class, message) }
    }

    fn stack_trace(&self) -> String {
        format!("{}: {}\n\tat java.base/java.lang.Thread.run(Thread.java:840)", self.class, self.message)
    }
}
