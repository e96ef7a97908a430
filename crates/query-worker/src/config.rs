//! Command line and environment variables of the service, as values. [`program::settings`] handles
//! the other sources of settings; the modules that receive a setting apply it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use clap::{CommandFactory, Parser, Subcommand};
use program::flags::RecipeArgs;
use program::flags::StoreArgs;
use program::settings::{SettingsArgs, with_short_help};

use crate::access::keys::{Keys, Scope};
use crate::limits::Limits;
use crate::log::LogArgs;
use crate::otlp::OtlpArgs;
use crate::tls::Tls;

/// Answer over HTTP whether a text, or one like it, has been seen; insert what is new.
#[derive(Debug, Parser)]
#[command(
    name = "query-worker",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  query-worker --store embedded:./news-index --listen 127.0.0.1:8080
  query-worker --store embedded:./new-index --create-index
  curl localhost:8080/v1/query -d '{\"text\": \"have we seen this?\"}'
  curl localhost:8080/v1/documents -d '{\"id\": \"a1\", \"text\": \"insert this if it is new\"}'
  query-worker new-key --name crawler --scopes read,write >>keys.toml

Exit status: 0 after an orderly stop (SIGTERM or Ctrl-C); 2 could not run, or requests outlived --grace-seconds. Batches
are ended then, but their clients have to read the last answer. A stop takes up to 6 seconds more than --drain-seconds and
--grace-seconds; a second signal stops at once. At a SIGHUP the files of --keys and --tls-cert are read again."
)]
pub struct Config {
    /// Command to run instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Store of the index.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Make a new, empty index where there is none; without this the worker refuses to start there.
    /// With it a slip in --store, or a disk that is not mounted, is served as an index that knows
    /// nothing
    #[arg(long, env = "PIGEONHOLE_CREATE_INDEX", help_heading = "Index")]
    pub create_index: bool,
    /// Recipe of a new index, or the expected recipe of an existing one.
    #[command(flatten)]
    pub recipe: RecipeArgs,
    /// Sources of the settings, and the flag that prints them.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Open the index and whatever else a start opens, but do not listen; exit with 0 if all is
    /// well, else with 2
    ///
    /// An index that is not there yet is not made, also with --create-index. That the address of
    /// --listen is in use is said and no failure: it may be so by the worker that this one is to
    /// follow.
    #[arg(long, conflicts_with = "print_config", help_heading = "Settings")]
    pub check: bool,
    /// Format and level of the log.
    #[command(flatten)]
    pub log: LogArgs,
    /// Collector of traces.
    #[command(flatten)]
    pub otlp: OtlpArgs,
    /// Address and port to listen on; port 0 takes a free one, which the log names
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:8080",
        value_parser = address,
        env = "PIGEONHOLE_LISTEN",
        help_heading = "Service"
    )]
    pub listen: SocketAddr,
    /// File of the API keys; without a good one no request is answered. Made by
    /// `query-worker new-key`, read again when it changes
    #[arg(long, value_name = "FILE", env = "PIGEONHOLE_KEYS", help_heading = "Service")]
    pub keys: Option<PathBuf>,
    /// Serve HTTPS by this certificate, with the chain after it (PEM); read again when it changes
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        env = "PIGEONHOLE_TLS_CERT",
        help_heading = "Service"
    )]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key (PEM)
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        env = "PIGEONHOLE_TLS_KEY",
        help_heading = "Service"
    )]
    pub tls_key: Option<PathBuf>,
    /// Listen on an address that others can reach, without keys: any of them can read and write the
    /// index
    #[arg(long, env = "PIGEONHOLE_INSECURE_NO_AUTH", help_heading = "Service")]
    pub insecure_no_auth: bool,
    /// A name by which clients know the worker, besides localhost and IP addresses; may be
    /// repeated. On loopback without keys any other is refused
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = host_name,
        env = "PIGEONHOLE_ALLOWED_HOST",
        help_heading = "Service"
    )]
    pub allowed_host: Vec<String>,
    /// Where people find a document: an address with {id} in place of its id, as in
    /// `https://wiki.example/page/{id}`. The page at / makes links of it; ids that are addresses
    /// themselves need none
    ///
    /// The id is percent-encoded. The worker asks nothing of that address; a browser opens it, also
    /// where the index keeps no texts.
    #[arg(
        long,
        value_name = "URL",
        value_parser = document_url,
        env = "PIGEONHOLE_DOCUMENT_URL",
        help_heading = "Service"
    )]
    pub document_url: Option<String>,
    /// Time that a request waits for a store that has gone away to come back, or for its turn to
    /// write, before it is answered 503
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 5,
        env = "PIGEONHOLE_STORE_WAIT_SECONDS",
        help_heading = "Service"
    )]
    pub store_wait_seconds: u64,
    /// After a stop signal, how long to go on taking requests, with /readyz at 503, for a load
    /// balancer to notice
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 0,
        env = "PIGEONHOLE_DRAIN_SECONDS",
        help_heading = "Service"
    )]
    pub drain_seconds: u64,
    /// After that, how long requests under way may take to finish
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        env = "PIGEONHOLE_GRACE_SECONDS",
        help_heading = "Service"
    )]
    pub grace_seconds: u64,
    /// Bounds on the load and on waiting.
    #[command(flatten)]
    pub limits: Limits,
}

/// Parses an IP address with a port. Host names are refused: a name may stand for several
/// addresses, some of which other machines can reach.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "give an IP address and a port, as in 127.0.0.1:8080 or [::1]:8080".to_owned())
}

/// Checks a host name as the header `Host` carries it, without a port.
fn host_name(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if text.trim_end_matches('.').is_empty() || !text.bytes().all(is_plain) {
        let name =
            "give a host's whole name and nothing else, as in worker.example: no http://, port, or wildcard";
        return Err(format!("{name}; what is not ASCII as its xn-- form"));
    }
    Ok(text.to_owned())
}

/// Checks an address of documents: of a web server, with a place for the id.
fn document_url(text: &str) -> Result<String, String> {
    let example = "as in 'https://wiki.example/page/{id}'";
    let rest = ["https://", "http://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
    let Some(rest) = rest else {
        return Err(format!("give an address that begins with https:// or http://, {example}"));
    };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if host.is_empty() || host.contains(['{', '}', '@', '\\']) {
        return Err(format!("give the server's name between // and the next /, {example}"));
    }
    if !path.contains("{id}") {
        return Err(format!(
            "write {{id}} after the server's name, where the id of a document goes, {example}"
        ));
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("an address has no spaces: write %20, {example}"));
    }
    Ok(text.to_owned())
}

/// Commands other than serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make an API key: prints its entry for the file of --keys, and on stderr the key, which is
    /// shown only this once
    NewKey {
        /// Whose it is; for people
        #[arg(long)]
        name: String,
        /// Scopes of the key: read, write, admin (to remove documents)
        #[arg(long, value_delimiter = ',', required = true)]
        scopes: Vec<Scope>,
    },
    /// Completions, man pages.
    #[command(flatten)]
    Manual(program::manual::Command),
}

/// Ids of the arguments that `-h` shows; `--help` shows all.
const COMMON: [&str; 10] = [
    "store",
    "create-index",
    "listen",
    "keys",
    "tls-cert",
    "tls-key",
    "requests-max",
    "check",
    "log-level",
    "print-config",
];

impl Config {
    /// Returns the command line: all arguments and commands.
    #[must_use]
    pub fn command_line() -> clap::Command {
        with_short_help(Self::command(), &COMMON)
    }

    /// Longest wait for a store that is away, from `--store-wait-seconds`.
    #[must_use]
    pub fn store_wait(&self) -> Duration {
        Duration::from_secs(self.store_wait_seconds)
    }

    /// Reads the keys in force; `None` where the worker answers without keys.
    ///
    /// # Errors
    /// The key file cannot be read, or keys are required but missing: other machines can reach the
    /// worker, and `--insecure-no-auth` is not given.
    pub fn keys(&self) -> anyhow::Result<Option<Arc<Keys>>> {
        ensure!(
            self.keys.is_none() || !self.insecure_no_auth,
            "--insecure-no-auth lets everybody in, and --keys only who has one: leave one of them out"
        );
        ensure!(
            self.keys.is_some() || self.insecure_no_auth || self.listens_on_loopback(),
            "others can reach {}: give --keys FILE (`query-worker new-key` makes them), listen on 127.0.0.1, or let \
             everybody in with --insecure-no-auth",
            self.listen
        );
        self.keys.as_deref().map(Keys::open).transpose().map(|keys| keys.map(Arc::new))
    }

    pub(crate) fn listens_on_loopback(&self) -> bool {
        self.listen.ip().to_canonical().is_loopback()
    }

    /// Reads the TLS certificate; `None` where the worker serves plain HTTP.
    ///
    /// # Errors
    /// A file of the certificate or of its key cannot be read or used.
    pub fn tls(&self) -> anyhow::Result<Option<Arc<Tls>>> {
        let files = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        files.map(|(certificate, key)| Tls::open(certificate, key).map(Arc::new)).transpose()
    }

    /// Grace period of requests under way at a stop, from `--grace-seconds`.
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_secs(self.grace_seconds)
    }
}
