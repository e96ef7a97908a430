//! `POST /v1/documents:batch` and `/v1/query:batch`: one JSON object a line, in and out, in the
//! order of the lines.
//!
//! Lines are processed as they arrive and answered as they are done, so a batch may be of any
//! length. The worker holds the lines of one call, the lines of the next that arrive meanwhile, and
//! a bounded number of answers. A client that sends without reading answers is waited for, and then
//! given up.

mod lines;
mod reading;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tracing::{Instrument, warn};

use self::lines::Line;
use self::reading::Reading;
use super::parse;
use crate::access::Pass;
use crate::problem::{self, Problem};
use crate::request::Cut;
use crate::worker::{Permit, Worker};

/// The number of documents in answers after which a call takes no further line. A whole call of
/// queries fits that ask for ten documents at most; a query may ask for a thousand.
const ANSWERS_MAX: usize = 10 << 10;

/// Share of the client's time to read after which its batch is given up.
const UNREAD_SHARE: f64 = 0.5;

/// A request in one line of a batch.
pub(super) trait Asks {
    /// Returns the most documents that the answer may hold.
    fn n_answers_max(&self) -> usize;
}

/// Operation of a batch on some lines; returns one answer for each.
pub(super) type Work<T, A> = fn(&Worker, Vec<T>) -> Vec<Result<(StatusCode, A), Problem>>;

/// Answer to one line: the answer to a single request, with the line's number and the status of
/// such a request.
#[derive(Serialize)]
struct LineAnswer<'a, A> {
    line: u64,
    status: u16,
    #[serde(flatten)]
    answer: &'a A,
}

/// Answers the lines of the body of an admitted request.
pub(super) fn answer<T, A>(
    worker: Arc<Worker>,
    permit: Permit,
    pass: Option<Extension<Pass>>,
    body: Body,
    work: Work<T, A>,
) -> Response
where
    T: Asks + DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    let (answers, receiver) = mpsc::channel(1);
    let answering = Answering { worker, permit: Arc::new(permit), pass, answers, work };
    let cut = Cut::default();
    let is_cut = cut.clone();
    let run = async move {
        let mut reading = Reading::new(body, &answering.worker);
        if let Err(unread) = answering.run(&mut reading).await {
            is_cut.set();
            answering.give_up(reading, unread).await;
        }
    };
    tokio::spawn(run.in_current_span());
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (headers, Extension(cut), Body::from_stream(ReceiverStream::new(receiver))).into_response()
}

/// A batch whose client does not take its answers.
struct Unread {
    /// The answers that the client was to take next.
    answers: Vec<u8>,
    /// The first line that was not processed; `None` if all are answered.
    next: Option<u64>,
}

struct Answering<T, A> {
    worker: Arc<Worker>,
    /// Shared with the work on a blocking thread, which goes on if the client goes away.
    permit: Arc<Permit>,
    /// Admission of the client, if keys are required.
    pass: Option<Extension<Pass>>,
    answers: mpsc::Sender<Result<Bytes, Infallible>>,
    work: Work<T, A>,
}

impl<T, A> Answering<T, A>
where
    T: Asks + DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    async fn run(&self, reading: &mut Reading) -> Result<(), Unread> {
        loop {
            let mut call = match reading.call().await {
                Ok(call) => VecDeque::from(call),
                Err((_, Ok(()))) => return Ok(()),
                Err((line, Err(problem))) => return self.send_last(reading, line, problem).await,
            };
            // The key may be withdrawn during a batch of days.
            if let Some(Err(problem)) = self.pass.as_ref().map(|pass| pass.check()) {
                let line = call.front().map_or(1, |first| first.number);
                return self.send_last(reading, line, problem).await;
            }
            while !call.is_empty() {
                let mut some = pin!(self.answer(call));
                // During the store's call the lines of the next one arrive: the slower the store,
                // the larger the calls.
                let (answers, rest) = loop {
                    tokio::select! {
                        some = &mut some => break some,
                        () = reading.read_ahead(), if reading.has_room() => {}
                    }
                };
                let next = rest
                    .as_ref()
                    .map(|rest| rest.front().map_or_else(|| reading.next_number(), |next| next.number));
                self.send(reading, answers, next).await?;
                let Some(rest) = rest else { return self.end_late(reading).await };
                call = rest;
                if let Some(next) = call.front().filter(|_| reading.is_ending()) {
                    return self.send_last(reading, next.number, Problem::stopping()).await;
                }
            }
            reading.wait_anew();
        }
    }

    /// Returns the answers to the first lines of `call`, and the remaining lines. Returns a timeout
    /// for every line, and `None`, if the work takes too long and is still under way.
    async fn answer(&self, call: VecDeque<Line>) -> (Vec<u8>, Option<VecDeque<Line>>) {
        let numbers: Vec<u64> = call.iter().map(|line| line.number).collect();
        let (permit, work) = (Arc::clone(&self.permit), self.work);
        let done = Arc::clone(&self.worker).work(permit, move |worker| Ok(answer_first(worker, call, work)));
        let wait_max = self.worker.limits().request_seconds_max;
        let failed = |problem: &Problem| {
            let failed = |&number| line_of(number, &Err::<(StatusCode, A), _>(problem.clone()));
            numbers.iter().flat_map(failed).collect()
        };
        match tokio::time::timeout(wait_max, done).await {
            Ok(Ok((answers, rest))) => (answers, Some(rest)),
            Ok(Err(problem)) => (failed(&problem), Some(VecDeque::new())),
            Err(_) => (failed(&Problem::timeout(wait_max)), None),
        }
    }

    /// Hands answers to the client; `next` is the first line not processed. Meanwhile lines are
    /// read ahead, as far as there is room, for a client that sends before it reads.
    async fn send(&self, reading: &mut Reading, answers: Vec<u8>, next: Option<u64>) -> Result<(), Unread> {
        // The whole time without a read ends the connection, and with it any chance to report the
        // reason.
        let wait_max = self.worker.limits().answer_seconds_max.mul_f64(UNREAD_SHARE);
        let mut taken = pin!(tokio::time::timeout(wait_max, self.answers.reserve()));
        let taken = loop {
            tokio::select! {
                biased;
                taken = &mut taken => break taken,
                () = reading.read_ahead(), if reading.has_room() => {}
            }
        };
        match taken {
            Ok(Ok(place)) => {
                place.send(Ok(answers.into()));
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(Unread { answers, next }),
        }
    }

    /// Ends the answers with a problem.
    async fn send_last(&self, reading: &mut Reading, line: u64, problem: Problem) -> Result<(), Unread> {
        self.send(reading, line_of(line, &Err::<(StatusCode, A), _>(problem)), None).await
    }

    /// Ends a batch with work that took too long. That work goes on; a second call beside it would
    /// take more than one place. A last answer names the first line that was not processed, unless
    /// there is none, and the rest of the body is dropped.
    async fn end_late(&self, reading: &mut Reading) -> Result<(), Unread> {
        if reading.is_done() {
            return Ok(());
        }
        let (next, wait_max) = (reading.next_number(), self.worker.limits().request_seconds_max);
        self.send_last(reading, next, Problem::not_begun(wait_max)).await?;
        // A client that sends on receives the end of the answers all the same.
        drop(tokio::time::timeout(wait_max, reading.drop_rest()).await);
        Ok(())
    }

    /// Ends a batch whose client does not take its answers. A client that only sends will read once
    /// it has sent the rest, which is dropped; the last answer then reports how far it came.
    async fn give_up(&self, mut reading: Reading, unread: Unread) {
        let Unread { mut answers, next } = unread;
        if self.answers.is_closed() {
            return;
        }
        let limits = self.worker.limits();
        if let Some(next) = next {
            warn!(
                next,
                "a client does not read the answers to its batch; nothing was done from that line on"
            );
            let problem = Problem::unread(limits.answer_seconds_max);
            answers.extend(line_of(next, &Err::<(StatusCode, A), _>(problem)));
        }
        let wait_max = limits.request_seconds_max;
        let sent = tokio::time::timeout(wait_max, self.answers.send(Ok(answers.into())));
        let dropped = tokio::time::timeout(wait_max, reading.drop_rest());
        // A client that still does not read receives no report.
        let (_, _) = tokio::join!(sent, dropped);
    }
}

/// Answers the first of some lines, in order, and returns the answers with the other lines. A fault
/// of a line, or of the store during its processing, is the answer to the line.
fn answer_first<T: Asks + DeserializeOwned, A: Serialize>(
    worker: &Worker,
    mut lines: VecDeque<Line>,
    work: Work<T, A>,
) -> (Vec<u8>, VecDeque<Line>) {
    let mut good: Vec<T> = Vec::new();
    let mut parsed = Vec::with_capacity(lines.len());
    let mut n_answers = 0;
    while n_answers < ANSWERS_MAX
        && let Some(Line { number, content }) = lines.pop_front()
    {
        let outcome = content.and_then(|content| parse(&content)).map(|value: T| {
            n_answers += value.n_answers_max();
            good.push(value);
        });
        parsed.push((number, outcome));
    }
    let mut answers = work(worker, good).into_iter();
    let mut written = Vec::new();
    for (number, outcome) in parsed {
        let next = |()| answers.next().unwrap_or_else(|| Err(Problem::internal()));
        written.extend(line_of(number, &outcome.and_then(next)));
    }
    (written, lines)
}

fn line_of<A: Serialize>(line: u64, answer: &Result<(StatusCode, A), Problem>) -> Vec<u8> {
    let written = match answer {
        Ok((status, answer)) => serde_json::to_vec(&LineAnswer { line, status: status.as_u16(), answer }),
        Err(problem) => serde_json::to_vec(&NumberedProblem { line, problem: &problem.body() }),
    };
    // A struct of strings and numbers always serializes.
    let mut written = written.unwrap_or_default();
    written.push(b'\n');
    written
}

/// A problem with the number of its line; its status is part of the problem.
#[derive(Serialize)]
struct NumberedProblem<'a> {
    line: u64,
    #[serde(flatten)]
    problem: &'a problem::Body,
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use clap::Parser;
    use engine::Engine;
    use features::{Dictionaries, Recipe};
    use index::{Index, MemoryStore, OpenOptions};
    use serde_json::Value;
    use tokio_stream::StreamExt;

    use super::*;
    use crate::config::Config;

    impl Asks for usize {
        fn n_answers_max(&self) -> usize {
            *self
        }
    }

    fn worker(arguments: &[&str]) -> Worker {
        let options = OpenOptions { recipe_default: Recipe::default().fields(), ..OpenOptions::default() };
        let index = Index::over(Box::new(MemoryStore::new()), &options).unwrap();
        let limits = Config::parse_from([&["query-worker"], arguments].concat()).limits;
        let engine = Engine::over(index, &Dictionaries::default()).unwrap();
        Worker::over(engine, &"memory:".parse().unwrap(), limits)
    }

    /// Regression: a thousand lines that ask for a thousand documents each made seven gigabytes of
    /// answers.
    #[test]
    fn what_is_answered_at_once_is_bounded() {
        let worker = worker(&[]);
        let work: Work<usize, ()> = |_, asked| asked.iter().map(|_| Ok((StatusCode::OK, ()))).collect();
        for (asked, n_at_once) in [(1, 1000), (10, 1000), (1000, 11), (10_000, 2)] {
            let line = |number| Line { number, content: Ok(asked.to_string().into_bytes()) };
            let mut lines: VecDeque<Line> = (1..=1000).map(line).collect();
            let mut n_answered = 0;
            while !lines.is_empty() {
                let answers;
                (answers, lines) = answer_first(&worker, lines, work);
                let n_lines = answers.split(|&byte| byte == b'\n').count() - 1;
                n_answered += n_lines;
                assert!(n_lines == n_at_once || lines.is_empty(), "{n_lines} lines at once of {asked} each");
                assert!(lines.front().is_none_or(|next| next.number == n_answered as u64 + 1));
            }
            assert_eq!(n_answered, 1000);
        }
    }

    /// Lets work end that waits, also where the test fails.
    struct Ends(&'static OnceLock<()>);

    impl Drop for Ends {
        fn drop(&mut self) {
            // Nothing else sets it.
            let _ = self.0.set(());
        }
    }

    /// Regression: the batch ended without an answer to the lines after the timeouts, and without
    /// reading them.
    #[tokio::test]
    async fn lines_after_a_call_that_takes_too_long() {
        let (pieces, body) = mpsc::channel::<Result<Bytes, Infallible>>(1);
        let worker = Arc::new(worker(&["--request-seconds-max", "1"]));
        let permit = worker.admit_batch().unwrap();
        static MAY_END: OnceLock<()> = OnceLock::new();
        let _ends = Ends(&MAY_END);
        let work: Work<usize, ()> = |_, _| {
            MAY_END.wait();
            Vec::new()
        };
        pieces.send(Ok("1\n".into())).await.unwrap();
        let response = answer(worker, permit, None, Body::from_stream(ReceiverStream::new(body)), work);
        let mut answers = response.into_body().into_data_stream();
        for (line, detail) in [(1, "may have been written"), (2, "those after it are not done")] {
            let answer: Value = serde_json::from_slice(&answers.next().await.unwrap().unwrap()).unwrap();
            assert_eq!((&answer["line"], &answer["status"]), (&line.into(), &503.into()));
            assert!(answer["detail"].as_str().unwrap().contains(detail), "{answer}");
        }
        for _ in 2..10 {
            pieces.send(Ok("1\n".into())).await.unwrap();
        }
        drop(pieces);
        assert!(answers.next().await.is_none());
    }

    #[tokio::test]
    async fn no_line_after_a_call_that_takes_too_long() {
        let worker = Arc::new(worker(&["--request-seconds-max", "0.1"]));
        let permit = worker.admit_batch().unwrap();
        static MAY_END: OnceLock<()> = OnceLock::new();
        let _ends = Ends(&MAY_END);
        let work: Work<usize, ()> = |_, _| {
            MAY_END.wait();
            Vec::new()
        };
        let response = answer(worker, permit, None, Body::from("1\n2\n"), work);
        let answers = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert_eq!(answers.split(|&byte| byte == b'\n').count(), 3);
    }
}
