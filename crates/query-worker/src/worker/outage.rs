//! What requests hear whose calls come after others that wait for a store that is away: each waits
//! its own time, however many are before it.

use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio::time;

use crate::problem::Problem;

/// When the store was away last, and what was said of it.
pub(super) struct Outage {
    last: watch::Sender<Option<(Instant, Problem)>>,
    /// How long a request waits for a store that is away.
    wait: Duration,
}

impl Outage {
    pub(super) fn new(wait: Duration) -> Self {
        Self { last: watch::Sender::new(None), wait }
    }

    /// Passes on the answers of a call, and notes it where the store gave none.
    pub(super) fn hear<R>(&self, answers: Vec<Result<R, Problem>>) -> Vec<Result<R, Problem>> {
        if let Some(Err(problem)) =
            answers.iter().find(|answer| answer.as_ref().is_err_and(Problem::is_outage))
        {
            self.last.send_replace(Some((Instant::now(), problem.clone())));
        }
        answers
    }

    /// The answer of a call that is to be made; after the time that a request waits, that of
    /// another call that was made since and found the store away.
    pub(super) async fn answer<R>(
        &self,
        mut answer: oneshot::Receiver<Result<R, Problem>>,
    ) -> Result<R, Problem> {
        let asked = Instant::now();
        let of_own =
            |answered: Result<Result<R, Problem>, _>| answered.unwrap_or_else(|_| Err(Problem::internal()));
        if let Ok(answered) = time::timeout(self.wait, &mut answer).await {
            return of_own(answered);
        }
        let mut last = self.last.subscribe();
        let is_away = |last: &Option<(Instant, Problem)>| last.as_ref().is_some_and(|(at, _)| *at >= asked);
        tokio::select! {
            biased;
            answered = answer => of_own(answered),
            Ok(last) = last.wait_for(is_away) => match &*last {
                Some((_, problem)) => Err(problem.clone()),
                None => Err(Problem::internal()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use index::ErrorKind;

    use super::*;

    fn away() -> Problem {
        index::Error::new(ErrorKind::Unavailable, "it is away").into()
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_behind_others_waits_no_longer() {
        const WAIT: Duration = Duration::from_secs(5);
        let outage = Outage::new(WAIT);
        // Two requests whose calls are not made yet.
        let (_first, first) = oneshot::channel::<Result<u8, Problem>>();
        let (second_answer, second) = oneshot::channel();
        let begun = time::Instant::now();
        let (first, second, ()) = tokio::join!(outage.answer(first), outage.answer(second), async {
            time::sleep(WAIT * 3 / 2).await;
            second_answer.send(Ok(7)).unwrap();
            time::sleep(WAIT / 2).await;
            drop(outage.hear::<u8>(vec![Err(Problem::internal())]));
            assert_eq!(outage.hear(vec![Ok(1), Err(away())]).len(), 2);
        });
        // As long as nobody has found it away, each waits on.
        assert_eq!(first.unwrap_err().status(), away().status());
        assert_eq!(second.unwrap(), 7);
        assert_eq!(begun.elapsed(), 2 * WAIT);
        let (_third, third) = oneshot::channel::<Result<u8, Problem>>();
        let (begun, found_away) = (time::Instant::now(), async {
            time::sleep(WAIT / 2).await;
            outage.hear::<u8>(vec![Err(away())]);
        });
        let (third, ()) = tokio::join!(outage.answer(third), found_away);
        assert_eq!(third.unwrap_err().status(), away().status());
        assert_eq!(begun.elapsed(), WAIT);
    }
}
