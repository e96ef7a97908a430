//! Serving: a worker with its routes and connections, from the first accepted connection to the
//! orderly stop.
//!
//! [`api`] decides the answers, and `connections` the limits of a connection. Only the start of the
//! process uses this module.

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
use crate::imaging;
use crate::tls::Tls;
use crate::worker::{STATUS_WAIT_MAX, Stage, Worker};

/// Longest wait for batches to end after they are cut off.
const ENDING_WAIT_MAX: Duration = Duration::from_secs(2);

/// Settings of serving: access, TLS, and the times of a stop.
#[derive(Clone, Default)]
pub struct Service {
    /// Keys and host names that requests are checked against.
    pub access: Access,
    /// Certificate for HTTPS; `None` serves plain HTTP.
    pub tls: Option<Arc<Tls>>,
    /// Time after a stop signal during which the service still takes requests, for a load balancer
    /// to notice the stop.
    pub drain: Duration,
    /// Time after `drain` for requests under way to finish.
    pub grace: Duration,
}

impl Service {
    /// Takes the settings of `config`, with the keys and the certificate in force.
    #[must_use]
    pub fn of(config: &Config, keys: Option<Arc<Keys>>, tls: Option<Arc<Tls>>) -> Self {
        // A client with a key knows which worker it asks, so its `Host` header needs no check.
        let is_open = keys.is_none() && config.listens_on_loopback();
        let hosts = is_open.then(|| config.allowed_host.clone());
        let drain = Duration::from_secs(config.drain_seconds);
        Self { access: Access { keys, hosts }, tls, drain, grace: config.grace() }
    }
}

/// Serves until `stop` resolves, then takes new requests for [`Service::drain`] more, then waits up
/// to [`Service::grace`] for requests under way. A longer batch is ended between two lines, and its
/// last line reports the end.
///
/// # Errors
/// Requests are still under way after `grace` and the time for batches to end.
pub async fn serve(
    listener: TcpListener,
    worker: Worker,
    service: Service,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let worker = Arc::new(worker);
    imaging::begin(&worker);
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

/// Logs the counts of this process's insertion claims, if the store has claims. A store that is
/// away delays the end of the process by [`STATUS_WAIT_MAX`] at most.
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
