//! A client for callers that wait: each call blocks its thread until the answer comes.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};

use crate::regions::Address;
use crate::{Cell, CheckAndMutate, Checked, ClientOptions, Error, Get, Mutation, PageOptions, Pages, Range};

/// A client of one cluster for threads. Many threads may call at once, but no asynchronous task
/// may, since a call blocks the task's thread.
#[derive(Debug)]
pub struct Client {
    client: crate::Client,
    /// The runtime's one thread moves bytes; the callers' threads do the rest.
    runtime: Option<Runtime>,
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Calls under way have no caller any more, and tasks must not wait for their end.
            runtime.shutdown_background();
        }
    }
}

impl Client {
    /// Creates a client, as [`crate::Client::new`].
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn new(masters: Vec<Address>, options: ClientOptions) -> io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("hbase-rpc").enable_all().build()?;
        Ok(Self { client: crate::Client::new(masters, options), runtime: Some(runtime) })
    }

    fn wait<T>(&self, task: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("it is there until the client is dropped").block_on(task)
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.client.n_open()
    }

    /// As [`crate::Client::n_look_ups`].
    #[must_use]
    pub fn n_look_ups(&self) -> u64 {
        self.client.n_look_ups()
    }

    /// As [`crate::Client::get_many`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn get_many(
        &self,
        table: &str,
        gets: &[Get],
        last: Option<(&str, &Get)>,
    ) -> Result<(Vec<Vec<Cell>>, Vec<Cell>), Error> {
        self.wait(self.client.get_many(table, gets, last))
    }

    /// As [`crate::Client::mutate_many`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn mutate_many(
        &self,
        table: &str,
        mutations: &[Mutation],
        last: Option<(&str, &Get)>,
    ) -> Result<Vec<Cell>, Error> {
        self.wait(self.client.mutate_many(table, mutations, last))
    }

    /// As [`crate::Client::check_and_mutate_many`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn check_and_mutate_many(
        &self,
        table: &str,
        checks: &[CheckAndMutate],
        last: Option<(&str, &Get)>,
    ) -> Result<(Vec<Checked>, Vec<Cell>), Error> {
        self.wait(self.client.check_and_mutate_many(table, checks, last))
    }

    /// As [`crate::Client::pages`].
    ///
    /// # Errors
    /// [`Error`], and the first error of `visit`.
    pub fn pages<E: From<Error>>(
        &self,
        table: &str,
        family: &Bytes,
        ranges: &[Range],
        options: &PageOptions,
        visit: &mut impl FnMut(usize, Pages) -> Result<(), E>,
    ) -> Result<(), E> {
        self.wait(self.client.pages(table, family, ranges, options, visit))
    }

    /// As [`crate::Client::time_to_live`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn time_to_live(
        &self,
        table: &str,
        family: &[u8],
        patience: Option<Duration>,
    ) -> Result<Option<Duration>, Error> {
        self.wait(self.client.time_to_live(table, family, patience))
    }
}
