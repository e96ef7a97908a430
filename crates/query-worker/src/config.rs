//! The command line and its environment twins. Where else settings come from is for [`settings`](crate::settings).

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Parser;
use features::cli::RecipeArgs;
use index::cli::StoreArgs;

use crate::log::LogArgs;
use crate::settings::SettingsArgs;

/// Answer over HTTP whether a text, or one like it, has been seen; insert what is new.
#[derive(Debug, Parser)]
#[command(
    name = "query-worker",
    version,
    after_help = "\
Examples:
  query-worker --store embedded:./news-index --listen 127.0.0.1:8080
  curl localhost:8080/v1/query -d '{\"text\": \"have we seen this?\"}'
  curl localhost:8080/v1/documents -d '{\"id\": \"a1\", \"text\": \"insert this if it is new\"}'

Exit status: 0 after an orderly stop (SIGTERM or Ctrl-C); 2 could not run, or requests outlived --grace-seconds."
)]
pub struct Config {
    /// Where to find the index.
    #[command(flatten)]
    pub store: StoreArgs,
    /// How a new index is to fingerprint, or what an existing one is expected to.
    #[command(flatten)]
    pub recipe: RecipeArgs,
    /// Where settings come from, and what to do with them but serve.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
    /// Address and port to listen on; port 0 takes a free one, which the log names
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:8080",
        env = "PIGEONHOLE_LISTEN",
        help_heading = "Service"
    )]
    pub listen: SocketAddr,
    /// Refuse a request body of more bytes than this
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20, env = "PIGEONHOLE_BODY_BYTES_MAX", help_heading = "Service")]
    pub body_bytes_max: usize,
    /// Answer 503 while this many requests are being read or worked on
    #[arg(
        long,
        value_name = "N",
        default_value = "64",
        env = "PIGEONHOLE_REQUESTS_MAX",
        help_heading = "Service"
    )]
    pub requests_max: NonZeroUsize,
    /// After a stop signal, how long requests under way may take to finish
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        env = "PIGEONHOLE_GRACE_SECONDS",
        help_heading = "Service"
    )]
    pub grace_seconds: u64,
}

impl Config {
    /// How long requests under way may take after a stop signal.
    #[must_use]
    pub fn grace(&self) -> Duration {
        Duration::from_secs(self.grace_seconds)
    }
}
