//! Attempts calls until they are done or hopeless: the class of each failure, and the wording of
//! the final error.

use std::time::Duration;

use index::backend::Away;
use index::backend::retry::{self, Failed, Late, Pause};
use index::{Error, ErrorKind, Result};

use super::{Attempt, Call, Dispatch, FailureOf};
use crate::options::Options;
use crate::rows::TableNames;
use crate::server::{Failure, Meaning, Server};

/// The number of senseless answers, or breakdowns, of a server after which calls fail.
const STRANGE_MAX: u32 = 3;

const RETRY: retry::Retry = retry::Retry::new(Duration::from_millis(20), Duration::from_secs(2));

/// The failed attempts in a row from which the server counts as away: from here on pauses are the
/// longest.
const AWAY_FROM: u32 = 8;

/// Repeats the calls of one store.
pub(crate) struct Retry {
    server: Server,
    tables: TableNames,
    options: Options,
    away: Away,
}

impl Retry {
    pub(crate) fn new(server: Server, tables: TableNames, options: Options) -> Self {
        Self { server, tables, options, away: Away::default() }
    }

    /// Attempts the calls until none is left.
    pub(crate) fn run<C: Call>(&self, mut calls: Dispatch<'_, C>) -> Result<()> {
        let (mut limit, mut n_strange) = (self.limit(&calls), 0);
        let outcome = RETRY.run(
            limit,
            |tries| {
                while calls.n_left() > 0 {
                    let n_done = calls.n_done();
                    let attempt = calls.attempt(tries.until()).map_err(Failed::Final)?;
                    if calls.n_done() > n_done {
                        self.away.is_back(&self.server.address);
                        (limit, n_strange) = (self.limit(&calls), 0);
                        tries.has_gone_on(limit);
                    }
                    match attempt {
                        Attempt::Went => {}
                        Attempt::Failed(failure) => return Err(self.class(failure, &calls, &mut n_strange)),
                        Attempt::Exhausted => return Err(Failed::Final(self.busy(limit))),
                    }
                }
                Ok(())
            },
            |failure, Pause { n_failed, .. }| {
                if n_failed >= AWAY_FROM {
                    self.away.waits(&self.server.address, failure);
                }
            },
        );
        outcome.map_err(|failed| match failed {
            Failed::Final(error) => error,
            Failed::Away(Late { last, waited }) => {
                let tried = format!("for {:.0} s, {}", waited.as_secs_f32(), progress(&calls));
                self.server.unavailable(last.means(), &tried, &self.tables).caused_by(last)
            }
        })
    }

    fn limit<C: Call>(&self, calls: &Dispatch<'_, C>) -> Duration {
        let Options { patience, first_patience, .. } = self.options;
        if calls.has_connected() { patience } else { first_patience }
    }

    /// Returns a failure by the use of another attempt; `n_strange` is the number of senseless
    /// answers since the last progress.
    fn class<C: Call>(
        &self,
        failure: FailureOf<C>,
        calls: &Dispatch<'_, C>,
        n_strange: &mut u32,
    ) -> Failed<Error, FailureOf<C>> {
        let meaning = failure.means();
        *n_strange += u32::from(meaning == Meaning::Strange);
        let refusal = self.server.refusal(meaning, &self.tables);
        let is_strange = *n_strange >= STRANGE_MAX;
        match refusal.or_else(|| is_strange.then(|| self.server.strange(&progress(calls)))) {
            Some(error) => Failed::Final(error.caused_by(failure)),
            None => Failed::Away(failure),
        }
    }

    fn busy(&self, waited: Duration) -> Error {
        Error::new(
            ErrorKind::Busy,
            format!(
                "all {} connections to {} were in use for {} s; allow more with ?connections=N",
                self.options.n_connections,
                self.server.address,
                waited.as_secs_f32()
            ),
        )
    }
}

fn progress<C: Call>(calls: &Dispatch<'_, C>) -> String {
    let n_done = calls.n_done();
    format!("{n_done} of {} requests were done", n_done + calls.n_left())
}
