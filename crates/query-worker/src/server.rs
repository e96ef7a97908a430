//! Serving: a worker, the routes over it and its connections, from the first one that is taken to the orderly stop.
//!
//! What is answered is for [`api`], and what a connection may do for `connections`. Nothing but the start of the
//! process names this room.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use index::Status;
use tokio::net::TcpListener;
use tokio::task;
use tracing::info;

use crate::access::Access;
use crate::access::keys::Keys;
use crate::api;
use crate::config::Config;
use crate::connections::Connections;
use crate::tls::Tls;
use crate::worker::{STATUS_WAIT_MAX, Stage, Worker};

/// How long batches may take to end when they are cut off.
const ENDING_WAIT_MAX: Duration = Duration::from_secs(2);

/// How a worker is served.
#[derive(Clone, Default)]
pub struct Service {
    /// Who may come in.
    pub access: Access,
    /// By what certificate it serves HTTPS; without it plain HTTP.
    pub tls: Option<Arc<Tls>>,
    /// How long to go on taking requests after a stop signal, for a load balancer to notice.
    pub drain: Duration,
    /// How long requests under way may take after that.
    pub grace: Duration,
}

impl Service {
    /// How the configuration has it served, with the keys and the certificate that are in force.
    #[must_use]
    pub fn of(config: &Config, keys: Option<Arc<Keys>>, tls: Option<Arc<Tls>>) -> Self {
        // A client with a key knows which worker it asks.
        let is_open = keys.is_none() && config.listens_on_loopback();
        let hosts = is_open.then(|| config.allowed_host.clone());
        let drain = Duration::from_secs(config.drain_seconds);
        Self { access: Access { keys, hosts }, tls, drain, grace: config.grace() }
    }
}

/// Serves until `stop` resolves, then as long as [`Service::drain`] says to whoever still comes, and gives what is under
/// way then [`Service::grace`] to finish. A batch that lasts longer is ended between two lines, and told so.
///
/// # Errors
/// Requests are still under way after `grace`.
pub async fn serve(
    listener: TcpListener,
    worker: Worker,
    service: Service,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let worker = Arc::new(worker);
    let router = api::router(Arc::clone(&worker), service.access);
    let connections = Connections::new(router, service.tls, &worker);
    let stopped = async {
        stop.await;
        info!(drain_seconds = service.drain.as_secs(), "stopping");
        worker.reach(Stage::Draining);
        tokio::time::sleep(service.drain).await;
    };
    tokio::select! {
        never = connections.take(&listener) => match never {},
        () = stopped => {}
    }
    connections.take_waiting(listener).context("failed to take the last connections")?;
    worker.reach(Stage::Stopping);
    let Service { grace, .. } = service;
    if tokio::time::timeout(grace, connections.closed()).await.is_err() {
        worker.reach(Stage::Ending);
        let closed = tokio::time::timeout(ENDING_WAIT_MAX, connections.closed()).await;
        closed.map_err(|_| {
            let waited = (grace + ENDING_WAIT_MAX).as_secs();
            anyhow::anyhow!("requests were still under way {waited} seconds after the worker took no more")
        })?;
    }
    log_claims(worker).await;
    info!("stopped");
    Ok(())
}

/// What the insertions of this process have met of others, where the store has claims. A store that is away does not keep
/// the process from ending.
async fn log_claims(worker: Arc<Worker>) {
    let status = task::spawn_blocking(move || worker.index().status());
    let status = tokio::time::timeout(STATUS_WAIT_MAX, status).await;
    if let Ok(Ok(Ok(Status { claims: Some(counts), .. }))) = status {
        info!(
            claims = counts.n_claims,
            conflicts = counts.n_conflicts,
            aborted = counts.n_aborted,
            waits = counts.n_waits,
            waited_s = format_args!("{:.3}", counts.waited.as_secs_f64()),
            "insertions beside others"
        );
    }
}
