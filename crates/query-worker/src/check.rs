//! `--check`: whether a start would succeed.

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

/// Opens what a start opens, makes nothing, and says what there is.
pub(crate) fn check(config: &Config) -> anyhow::Result<String> {
    config.keys()?;
    config.tls()?;
    let address = listening(config.listen)?;
    handles::raise();
    let asked = Worker::asked(config)?;
    let uri = asked.uri;
    let connections = connections(config, uri)?;
    // Where none is to be made a start says what is wrong.
    if asked.options.mode == Mode::MustExist
        || is_there(uri).with_context(|| format!("failed to open index `{uri}`"))?
    {
        let worker = Worker::open(config)?;
        let scheme = worker.index().kind().name();
        return Ok(format!(
            "all is well: the index at {uri} is there, of scheme {scheme}{address}{connections}\n"
        ));
    }
    // Whether one can be that is as asked for.
    let options = asked.options.open_options();
    Index::over(Box::new(MemoryStore::new()), &options).context("no such index can be made")?;
    if let Some(path) = uri.parse::<StoreUri>()?.capabilities().local_path {
        can_be_made(path).with_context(|| format!("`{}` cannot be made", path.display()))?;
    }
    Ok(format!("all is well: there is no index at {uri} yet, and a start makes one{address}{connections}\n"))
}

/// Whether a start could take as many connections as are asked for. What there is to say is said as the end of a
/// sentence.
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

/// Whether a start could listen there, found out without listening: a worker that starts meanwhile is not in the way of
/// that. What there is to say is said as the end of a sentence.
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

/// Whether a start could make a directory, which is found out by making another one in its place and removing it.
fn can_be_made(path: &Path) -> anyhow::Result<()> {
    // An empty path is that of where we are.
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
        // A directory, which a start makes. Of tables that are missing, which it does not make, the metadata tells.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
