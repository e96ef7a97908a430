//! HTTP service for near-duplicate detection: answers queries about texts and inserts new texts.
//!
//! The stores and the fingerprinter block, so calls to them cross from async to blocking threads in
//! [`worker`]. The HTTP interface is [`api`].
//!
//! Dependencies point downwards only: [`server`] uses [`api`] and `connections`; both use
//! `request`, which uses [`worker`]. [`access`], [`config`], [`problem`] and `metrics` lie below
//! them.
#![forbid(unsafe_code)]

pub mod access;
pub mod api;
mod check;
pub mod config;
mod connections;
mod handles;
mod imaging;
pub mod limits;
pub mod log;
mod metrics;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "otlp/absent.rs"]
pub mod otlp;
pub mod problem;
mod reload;
mod request;
mod request_id;
pub mod server;
mod signals;
pub mod tls;
pub mod worker;

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Context;
use clap::FromArgMatches;
use index::TextKeeping;
use program::MemoryLimits;
use program::settings::Settings;
use tokio::net::TcpListener;
use tracing::{info, warn};

use crate::access::keys::{self, Scope};
use crate::config::{Command, Config};
use crate::otlp::Traces;
use crate::server::Service;
use crate::signals::Signals;
use crate::worker::Worker;

/// Runs the [command line](program::invocation) of this process; returns 0 after an orderly stop
/// and 2 if the service could not run.
#[must_use]
pub fn main() -> u8 {
    let words = program::invocation::command_line("query-worker");
    let settings = program::see_limits().and_then(|()| Settings::read(Config::command_line(), &[], words));
    match settings.and_then(|settings| obey(&settings)) {
        Ok(()) => {
            log::end("");
            0
        }
        Err(error) => {
            if let Some(error) = error.downcast_ref::<clap::Error>() {
                program::exit_with("query-worker", error);
            }
            log::end(&format!("query-worker: {}\n", program::line(&program::error(&error))));
            2
        }
    }
}

/// Prints or checks the settings if asked to, and serves otherwise.
fn obey(settings: &Settings) -> anyhow::Result<()> {
    let config = Config::from_arg_matches(settings.matches())?;
    match &config.command {
        Some(Command::NewKey { name, scopes }) => return print_new_key(name, scopes),
        Some(Command::Manual(command)) => {
            return command.run(Config::command_line(), &mut program::stdout()).or_else(|error| {
                match error.kind() {
                    // The reader has closed the pipe, which is no failure.
                    io::ErrorKind::BrokenPipe => Ok(()),
                    _ => Err(error.into()),
                }
            });
        }
        None => {}
    }
    let said = if settings.is_asked_for() {
        settings.to_string()
    } else if config.check {
        check::check(&config)?
    } else {
        let (traces, layer) = Traces::start(&config.otlp)?;
        log::start(&config.log, layer);
        let served = run(&config);
        traces.flush(config.grace());
        return served;
    };
    program::stdout().write_all(said.as_bytes()).context("failed to write to stdout")
}

/// Prints a new key: its entry on stdout, ready to append to the key file, and the key on stderr.
fn print_new_key(name: &str, scopes: &[Scope]) -> anyhow::Result<()> {
    let (key, entry) = keys::new_key(name, scopes)?;
    program::stdout().write_all(entry.as_bytes()).context("failed to write the entry")?;
    writeln!(program::stderr(), "the key, which is shown only this once: {key}")
        .context("failed to write the key")
}

/// Opens the store, binds the address, and serves until the process receives a stop signal.
fn run(config: &Config) -> anyhow::Result<()> {
    reload::survive_hang_ups()?;
    let keys = config.keys()?;
    let tls = config.tls()?;
    handles::raise();
    let worker = Worker::open(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(worker.limits().blocking_threads_max(&MemoryLimits::of_process()))
        .build()
        .context("failed to start the async runtime")?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("failed to listen on {}", config.listen))?;
        let address = listener.local_addr().context("failed to read the address listened on")?;
        if config.insecure_no_auth {
            warn!(%address, "whoever reaches this address can read and write the index");
        }
        if keys.is_some() && tls.is_none() && !config.listens_on_loopback() {
            warn!(%address, "keys and texts are sent in the clear, unless something before the worker does TLS");
        }
        if let Some(tls) = tls.clone() {
            reload::watch(tls, Arc::clone(worker.metrics()), Arc::clone(worker.outdated()))?;
        }
        if let Some(keys) = keys.clone() {
            reload::watch(keys, Arc::clone(worker.metrics()), Arc::clone(worker.outdated()))?;
        }
        if keys.is_none() && tls.is_none() {
            reload::watch_nothing()?;
        }
        let (asked, connections_max) = (config.limits.connections_max, worker.limits().connections_max);
        if connections_max < asked {
            warn!(connections_max, asked, "the process may not open enough files for --connections-max");
        }
        let metadata = worker.index().metadata();
        if metadata.min_similarity.is_some() && metadata.texts == TextKeeping::None && metadata.key.is_none() {
            info!(
                "similarities are estimates by hashes that everybody knows: where strangers choose the texts, take an index \
                 that was made with --texts zstd or --keyed"
            );
        }
        let signals = Signals::listen()?;
        let service = Service::of(config, keys, tls);
        info!(%address, store = config.store.uri().unwrap_or_default(), "ready");
        tokio::select! {
            served = server::serve(listener, worker, service, signals.clone().nth(1)) => served,
            () = signals.nth(2) => Err(anyhow::anyhow!("told twice to stop; requests under way were not answered")),
        }
    });
    // Dropping the runtime would wait for work that has outlived its grace period.
    runtime.shutdown_background();
    served
}
