//! `POST /v1/documents:batch` and `/v1/query:batch`: one JSON object a line, in and out, in the order of the lines.
//!
//! Lines are worked on as they come and answered as they are done, so a batch may be of any length. What is held is the
//! lines and the answers of one call, and those lines of the next that came meanwhile; each is bounded as a body is.
//! Whoever reads no answers while sending is waited for, and then given up.

mod lines;
mod reading;

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
use tracing::Instrument;

use self::lines::Line;
use self::reading::Reading;
use super::guard::Pass;
use super::{Problem, parse};
use crate::server::{Permit, Worker};

/// What one kind of batch does with the lines of a call, one answer for each.
pub(super) type Work<T, A> = fn(&Worker, Vec<T>) -> Vec<Result<(StatusCode, A), Problem>>;

/// The answer to one line: that of a request of its own, with the line's number and the status it would have had.
#[derive(Serialize)]
struct LineAnswer<'a, A> {
    line: u64,
    status: u16,
    #[serde(flatten)]
    answer: &'a A,
}

/// Answers the lines of `body`, which is an admitted request's.
pub(super) fn answer<T, A>(
    worker: Arc<Worker>,
    permit: Permit,
    pass: Option<Extension<Pass>>,
    body: Body,
    work: Work<T, A>,
) -> Response
where
    T: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    let (answers, receiver) = mpsc::channel(1);
    let answering = Answering { worker, permit: Arc::new(permit), pass, answers, work };
    // Nobody listens any more where it breaks off.
    let run = async move { answering.run(body).await.unwrap_or(()) };
    tokio::spawn(run.in_current_span());
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (headers, Body::from_stream(ReceiverStream::new(receiver))).into_response()
}

/// The client does not take its answers.
struct Gone;

struct Answering<T, A> {
    worker: Arc<Worker>,
    /// Shared with the work on a blocking thread, which goes on where the client goes away.
    permit: Arc<Permit>,
    /// How the client was let in, where that is asked.
    pass: Option<Extension<Pass>>,
    answers: mpsc::Sender<Result<Bytes, Infallible>>,
    work: Work<T, A>,
}

impl<T, A> Answering<T, A>
where
    T: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    async fn run(self, body: Body) -> Result<(), Gone> {
        let mut reading = Reading::new(body, &self.worker);
        loop {
            let call = match reading.call().await {
                Ok(call) => call,
                Err((_, Ok(()))) => return Ok(()),
                Err((line, Err(problem))) => {
                    return self.send(line_of(line, &Err::<(StatusCode, A), _>(problem))).await;
                }
            };
            // A batch may last for days, and its key not so long.
            if self.pass.as_ref().is_some_and(|pass| !pass.is_valid()) {
                let line = call.first().map_or(1, |first| first.number);
                return self.send(line_of(line, &Err::<(StatusCode, A), _>(Problem::unknown_key()))).await;
            }
            let mut answers = pin!(self.answer(call));
            // While the store works the lines of the next call arrive: the slower it is, the more go to it at once.
            let answers = loop {
                tokio::select! {
                    answers = &mut answers => break answers,
                    () = reading.read(), if reading.has_room() => {}
                }
            };
            let (answers, is_late) = answers;
            self.send(answers).await?;
            if is_late {
                // The work goes on; more of it beside would take more than one place.
                return Ok(());
            }
        }
    }

    /// The answers to some lines, and whether the work for them is still under way since it took too long.
    async fn answer(&self, call: Vec<Line>) -> (Vec<u8>, bool) {
        let numbers: Vec<u64> = call.iter().map(|line| line.number).collect();
        let (permit, work) = (Arc::clone(&self.permit), self.work);
        let done = Arc::clone(&self.worker).work(permit, move |worker| Ok(answer_all(worker, call, work)));
        let wait_max = self.worker.limits().request_seconds_max;
        let done = tokio::time::timeout(wait_max, done).await;
        let is_late = done.is_err();
        let answers = done.unwrap_or_else(|_| Err(Problem::timeout(wait_max))).unwrap_or_else(|problem| {
            let failed = |&number| line_of(number, &Err::<(StatusCode, A), _>(problem.clone()));
            numbers.iter().flat_map(failed).collect()
        });
        (answers, is_late)
    }

    async fn send(&self, answers: Vec<u8>) -> Result<(), Gone> {
        let wait_max = self.worker.limits().answer_seconds_max;
        let sent = tokio::time::timeout(wait_max, self.answers.send(Ok(answers.into()))).await;
        sent.map_err(|_| Gone)?.map_err(|_| Gone)
    }
}

/// The answers to some lines, in their order. What is wrong with a line, or with the store while it was worked on, is its
/// answer.
fn answer_all<T: DeserializeOwned, A: Serialize>(
    worker: &Worker,
    lines: Vec<Line>,
    work: Work<T, A>,
) -> Vec<u8> {
    let mut good = Vec::new();
    let mut parsed = Vec::with_capacity(lines.len());
    for Line { number, content } in lines {
        let outcome = content.and_then(|content| parse(&content)).map(|value| good.push(value));
        parsed.push((number, outcome));
    }
    let mut answers = work(worker, good).into_iter();
    let mut written = Vec::new();
    for (number, outcome) in parsed {
        let next = |()| answers.next().unwrap_or_else(|| Err(Problem::internal()));
        written.extend(line_of(number, &outcome.and_then(next)));
    }
    written
}

fn line_of<A: Serialize>(line: u64, answer: &Result<(StatusCode, A), Problem>) -> Vec<u8> {
    let written = match answer {
        Ok((status, answer)) => serde_json::to_vec(&LineAnswer { line, status: status.as_u16(), answer }),
        Err(problem) => serde_json::to_vec(&NumberedProblem { line, problem: &problem.body() }),
    };
    // JSON of strings and numbers can always be written.
    let mut written = written.unwrap_or_default();
    written.push(b'\n');
    written
}

/// A problem has its status already.
#[derive(Serialize)]
struct NumberedProblem<'a> {
    line: u64,
    #[serde(flatten)]
    problem: &'a super::problem::Body,
}
