//! Seats of connections that wait for their clients, one of which gives way if all places are
//! taken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::turns::Turns;

/// Order of giving way: first clients that were never answered, and among equals the first to sit
/// down. Clients without a request thus keep out neither new clients nor those served before.
pub(super) type Rank = (bool, u64);

/// Connections that sit, and those that stood up for a request since. The latter sit down again at
/// the end.
#[derive(Default)]
pub(super) struct Seats(Mutex<Sitting>);

#[derive(Default)]
struct Sitting {
    n_given: u64,
    by_rank: BTreeMap<Rank, Arc<Turns>>,
}

impl Seats {
    /// Gives a connection a seat in place of its previous one.
    pub(super) fn sit(&self, before: Option<Rank>, was_answered: bool, turns: &Arc<Turns>) -> Rank {
        let mut sitting = self.lock();
        if let Some(before) = before {
            sitting.by_rank.remove(&before);
        }
        sitting.n_given += 1;
        let rank = (was_answered, sitting.n_given);
        sitting.by_rank.insert(rank, Arc::clone(turns));
        rank
    }

    /// Removes a connection that has ended.
    pub(super) fn leave(&self, rank: Rank) {
        self.lock().by_rank.remove(&rank);
    }

    /// Tells one connection that waits for its client to close; returns false if there is none.
    pub(super) fn call_one(&self) -> bool {
        let mut sitting = self.lock();
        while let Some((_, turns)) = sitting.by_rank.pop_first() {
            // A connection in the middle of a request sits down again by itself.
            if turns.is_clients() {
                turns.call();
                return true;
            }
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, Sitting> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, timeout};

    use super::*;

    /// Calls all connections that wait for their clients; returns their numbers in the order of the
    /// calls.
    async fn called(seats: &Seats, all: &[Arc<Turns>]) -> Vec<usize> {
        let mut order = Vec::new();
        while seats.call_one() {
            for (n, turns) in all.iter().enumerate() {
                if timeout(Duration::ZERO, turns.called()).await.is_ok() {
                    order.push(n);
                }
            }
        }
        order
    }

    #[tokio::test(start_paused = true)]
    async fn the_order_in_which_they_are_called() {
        let seats = Arc::new(Seats::default());
        let all: Vec<_> = (0..5).map(|_| Turns::seated(&seats)).collect();
        // The first connection has had an answer, the second waits for one, and the third has
        // ended.
        drop(all[0].begin());
        let under_way = all[1].begin();
        all[2].leave();
        assert_eq!(called(&seats, &all).await, [3, 4, 0]);
        drop(under_way);
        assert_eq!(called(&seats, &all).await, [1]);
        assert!(!seats.call_one());
    }
}
