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
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tracing::Instrument;

use self::lines::Line;
use self::reading::Reading;
use super::{Problem, parse};
use crate::server::Worker;

/// How long a client may take to read what it was answered.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);

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
    permit: OwnedSemaphorePermit,
    body: Body,
    work: Work<T, A>,
) -> Response
where
    T: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    let (answers, receiver) = mpsc::channel(1);
    let answering = Answering { worker, permit: Arc::new(permit), answers, work };
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
    permit: Arc<OwnedSemaphorePermit>,
    answers: mpsc::Sender<Result<Bytes, Infallible>>,
    work: Work<T, A>,
}

impl<T, A> Answering<T, A>
where
    T: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    async fn run(self, body: Body) -> Result<(), Gone> {
        let mut reading = Reading::new(body, self.worker.body_bytes_max());
        loop {
            let call = match reading.call().await {
                Ok(call) => call,
                Err((_, Ok(()))) => return Ok(()),
                Err((line, Err(problem))) => {
                    return self.send(line_of(line, &Err::<(StatusCode, A), _>(problem))).await;
                }
            };
            let mut answers = pin!(self.answer(call));
            // While the store works the lines of the next call arrive: the slower it is, the more go to it at once.
            let answers = loop {
                tokio::select! {
                    answers = &mut answers => break answers,
                    () = reading.read(), if reading.has_room() => {}
                }
            };
            self.send(answers).await?;
        }
    }

    async fn answer(&self, call: Vec<Line>) -> Vec<u8> {
        let numbers: Vec<u64> = call.iter().map(|line| line.number).collect();
        let (permit, work) = (Arc::clone(&self.permit), self.work);
        let done = Arc::clone(&self.worker).work(permit, move |worker| Ok(answer_all(worker, call, work)));
        done.await.unwrap_or_else(|problem| {
            let failed = |&number| line_of(number, &Err::<(StatusCode, A), _>(problem.clone()));
            numbers.iter().flat_map(failed).collect()
        })
    }

    async fn send(&self, answers: Vec<u8>) -> Result<(), Gone> {
        let sent = tokio::time::timeout(ANSWER_WAIT_MAX, self.answers.send(Ok(answers.into()))).await;
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
