//! Clients of several workers: they post, and post again if no answer came.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use index::{DocumentId, Insertion, Match, Nearness};
use serde_json::{Value, json};

use super::groups::{N_CLIENTS, Posting};
use crate::support::{Random, Worker, apart};

/// The longest time of an answer, with all repetitions. Claims of a killed worker delay others by
/// 10 s, and nothing may delay them longer.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// The pause before a busy worker is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// The outcome of a race.
pub(super) struct Race {
    /// The answer to each posting; true if it was posted more than once.
    pub(super) answers: Vec<(Insertion, bool)>,
    pub(super) seconds: f64,
    /// The time of the slowest answer.
    pub(super) slowest: Duration,
}

/// Posts everything once, from many threads, each to a random place, and to the next place if no
/// answer came. `after` gets the number of answers so far.
pub(super) fn run(
    postings: &[Posting],
    n_places: usize,
    after: &(dyn Fn(usize) + Sync),
    post: &(dyn Fn(usize, &Posting) -> Option<Insertion> + Sync),
) -> Race {
    let (next, n_answers) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let begun = Instant::now();
    let client = || {
        let mut answers = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(posting) = postings.get(number) else { break answers };
            let first = Random(number as u64).below(n_places);
            let sent = Instant::now();
            let places = (first..first + n_places).map(|place| place % n_places);
            let mut tries = places.zip(0..).map(|(place, n_before)| (post(place, posting), n_before > 0));
            let answer = tries.find_map(|(answer, is_repeated)| Some((answer?, is_repeated)));
            answers.push((number, sent.elapsed(), answer.expect("not all workers are dead")));
            after(n_answers.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let mut answers: Vec<_> = thread::scope(|scope| {
        let clients: Vec<_> = (0..N_CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    answers.sort_unstable_by_key(|(number, ..)| *number);
    let slowest = answers.iter().map(|(_, waited, _)| *waited).max().unwrap_or_default();
    assert!(slowest < ANSWER_MAX, "an answer took {slowest:?}");
    Race { answers: answers.into_iter().map(|(.., answer)| answer).collect(), seconds, slowest }
}

/// Returns the agent that all clients share.
pub(super) fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.max_idle_connections_per_host(N_CLIENTS).build().into()
}

/// Posts to one worker until it is not too busy. Returns `None` if the worker died, because the
/// outcome is unknown then.
pub(super) fn post(agent: &ureq::Agent, worker: &Worker, posting: &Posting) -> Option<Insertion> {
    let request = json!({ "id": posting.id, "text": posting.text }).to_string();
    let url = format!("{}/v1/documents", worker.base());
    let begun = Instant::now();
    let answer: Value = loop {
        let mut response = agent.post(&url).send(request.as_bytes()).ok()?;
        let body = response.body_mut().read_to_string().ok()?;
        match response.status().as_u16() {
            200 | 201 => break serde_json::from_str(&body).unwrap(),
            503 if begun.elapsed() < ANSWER_MAX => thread::sleep(BUSY_PAUSE),
            status => panic!("{status} {body}"),
        }
    };
    assert_eq!(answer["fingerprint"], posting.fingerprint.to_string());
    let of = &answer["duplicate_of"];
    Some(match answer["outcome"].as_str().unwrap() {
        "inserted" => Insertion::Inserted,
        "replaced" => Insertion::Replaced,
        "unchanged" => Insertion::Unchanged,
        "duplicate" => Insertion::Duplicate(Match::new(
            DocumentId::new(of["id"].as_str().unwrap()).unwrap(),
            of["fingerprint"].as_str().unwrap().parse().unwrap(),
            Nearness::by_distance(apart(of["distance"].as_u64().unwrap() as u32)),
        )),
        other => panic!("{other}"),
    })
}
