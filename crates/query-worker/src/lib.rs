//! The service: answers over HTTP whether a text has been seen, and inserts what is new.
//!
//! The stores and the fingerprinter block, so what asks them crosses from async to a blocking thread; see [`server`].
//! What HTTP sees is in [`api`].
#![forbid(unsafe_code)]

pub mod api;
mod calls;
mod check;
pub mod config;
mod gather;
pub mod log;
mod request;
pub mod server;
pub mod settings;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use tokio::net::TcpListener;
use tracing::{info, warn};

use crate::config::Config;
use crate::server::Worker;
use crate::settings::Settings;

/// Runs the command line of this process: 0 after an orderly stop, 2 if it could not run.
#[must_use]
pub fn main() -> ExitCode {
    match Settings::read(std::env::args_os()).and_then(|settings| obey(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(error) = error.downcast_ref::<clap::Error>() {
                error.exit();
            }
            // That nobody listens on stderr is no reason to fail in another way.
            writeln!(io::stderr(), "query-worker: error: {error:#}").unwrap_or(());
            ExitCode::from(2)
        }
    }
}

/// Shows or checks the settings where that is asked for, and else serves.
fn obey(settings: &Settings) -> anyhow::Result<()> {
    let said = match &settings.config.settings {
        args if args.print_config => settings.to_string(),
        args if args.check => check::check(&settings.config)?,
        _ => {
            log::start(&settings.config.log);
            return run(&settings.config);
        }
    };
    io::stdout().write_all(said.as_bytes()).context("failed to write to stdout")
}

/// Opens the store, binds, and serves until the process is told to stop.
fn run(config: &Config) -> anyhow::Result<()> {
    let worker = Worker::open(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(config.requests_max.get().saturating_add(server::BLOCKING_THREADS_MORE))
        .build()
        .context("failed to start the async runtime")?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("failed to listen on {}", config.listen))?;
        let address = listener.local_addr().context("failed to read the address listened on")?;
        if !address.ip().is_loopback() {
            warn!(%address, "whoever reaches this address can read and write the index");
        }
        let stop = stop_signal()?;
        info!(%address, store = config.store.uri().unwrap_or_default(), "ready");
        server::serve(listener, worker, stop, config.grace()).await
    });
    // Work that has outlived its grace must not hold the process: dropping the runtime would wait for it.
    runtime.shutdown_background();
    served
}

/// Resolves when the process is asked to stop: Ctrl-C, or SIGTERM where there is such a thing.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .context("failed to listen for SIGTERM")?;
    Ok(async move {
        #[cfg(unix)]
        let terminated = terminate.recv();
        #[cfg(not(unix))]
        let terminated = std::future::pending::<Option<()>>();
        tokio::select! {
            _ = terminated => {}
            interrupted = tokio::signal::ctrl_c() => {
                if let Err(error) = interrupted {
                    warn!(%error, "Ctrl-C cannot be heard; stopping now");
                }
            }
        }
    })
}
