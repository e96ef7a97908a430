//! `--check`: tests whether a start would succeed.

use std::net::SocketAddr;
use std::path::Path;
use std::{fs, io};

use anyhow::Context;
use engine::StoreUri;
use index::{Clock, ErrorKind, Index, MemoryStore, Mode};
use tokio::net::TcpSocket;

use crate::config::Config;
use crate::handles;
use crate::worker::Worker;

/// Opens everything that a start opens, creates nothing, and returns a report.
pub(crate) fn check(config: &Config) -> anyhow::Result<String> {
    config.keys()?;
    config.tls()?;
    let address = listening(config.listen)?;
    handles::raise();
    let asked = Worker::asked(config)?;
    let uri = asked.uri;
    let connections = connections(config, uri)?;
    // If no index is to be made, the opening reports a missing one.
    if asked.options.mode == Mode::MustExist
        || is_there(uri).with_context(|| format!("failed to open index `{uri}`"))?
    {
        let worker = Worker::open(config)?;
        let scheme = worker.index().kind().name();
        return Ok(format!(
            "all is well: the index at {uri} is there, of scheme {scheme}{address}{connections}\n"
        ));
    }
    // Tests in memory whether an index with these options is possible.
    let options = asked.options.open_options();
    Index::over(Box::new(MemoryStore::new()), &options).context("no such index can be made")?;
    if let Some(path) = uri.parse::<StoreUri>()?.capabilities().local_path {
        can_be_made(path).with_context(|| format!("`{}` cannot be made", path.display()))?;
    }
    Ok(format!("all is well: there is no index at {uri} yet, and a start makes one{address}{connections}\n"))
}

/// Tests whether a start could take `--connections-max` connections. Returns the end of a sentence:
/// empty, or the lower number.
fn connections(config: &Config, uri: &str) -> anyhow::Result<String> {
    let asked = config.limits.connections_max;
    let connections_max = handles::connections_max(asked, &uri.parse()?)?;
    if connections_max == asked {
        return Ok(String::new());
    }
    Ok(format!(
        "; of --connections-max {asked} only {connections_max} are taken, for the process may not open more files"
    ))
}

/// Tests whether a start could bind the address, without listening, so a worker that starts
/// meanwhile is not disturbed. Returns the end of a sentence.
fn listening(address: SocketAddr) -> anyhow::Result<String> {
    let bound = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }
    .and_then(|socket| {
        socket.set_reuseaddr(true)?;
        socket.bind(address)
    });
    match bound {
        Ok(()) => Ok(String::new()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Ok(format!("; {address} is in use, perhaps by a worker that runs"))
        }
        Err(error) => Err(error).with_context(|| format!("failed to listen on {address}")),
    }
}

/// Tests whether a start could make a directory: makes another one in its nearest existing parent,
/// and removes it.
fn can_be_made(path: &Path) -> anyhow::Result<()> {
    // An empty path is the current directory.
    let there = |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_ok();
    let nearest = path.ancestors().find(there).unwrap_or(Path::new("."));
    let trial = nearest.join(format!(".pigeonhole-check-{}", std::process::id()));
    fs::create_dir(&trial)
        .and_then(|()| fs::remove_dir(&trial))
        .with_context(|| format!("failed to make a directory in `{}`", nearest.display()))
}

fn is_there(uri: &str) -> index::Result<bool> {
    match uri.parse::<StoreUri>()?.open(Mode::MustExist, Clock::system(), None) {
        Ok(store) => Ok(store.metadata()?.is_some()),
        // `NotFound` is a missing directory, which a start makes. Missing tables, which a start
        // does not make, show in `metadata`.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
