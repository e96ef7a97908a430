//! Walks in which time passes and claimants know older cells.

use super::*;

/// A step of time: cells that are written in the step of their claim, or one later, are not late.
pub(super) const TICK: i64 = FILED_WITHIN_MS - 10_000;

/// The time by which a clock may be behind.
const BEHIND: i64 = 40_000;

/// The time by which a timestamp may be earlier than the write of its cell.
pub(super) const LEEWAY: i64 = FILED_WITHIN_MS + BEHIND;

/// The time at which a walk begins: no timestamp is below 0.
pub(super) const BEGIN: i64 = 10 * LEEWAY;

fn timed(scenario: Scenario) -> Scenario {
    Scenario { n_ticks: 4, n_fillings: 1, ..scenario }
}

#[test]
fn a_tier_is_filled_at_any_moment() {
    holds("a pair, a tier", &timed(apart(&PAIR)));
    let behind = Scenario { behind: BEHIND, ..timed(apart(&PAIR)) };
    holds("a pair, a tier, a clock that is behind", &behind);
    holds("two tiers", &Scenario { n_fillings: 2, n_ticks: 3, ..behind.clone() });
    let faults = Scenario { n_deaths: 1, leases_run_out: true, n_ticks: 2, ..behind };
    holds("a pair, a tier, a death and leases that run out", &faults);
    let twice = Scenario { behind: BEHIND, ..timed(Scenario::new(&[(0, 0, 0), (1, 0, 1)])) };
    holds("an id twice, a tier", &twice);
}

/// Cells that come too late for their timestamp, and a clock that is further behind than allowed.
#[test]
fn what_breaks_the_contract_is_noticed() {
    let behind = Scenario { behind: BEHIND, ..timed(apart(&PAIR)) };
    assert!(walk(&behind, Some(Mutation::SearchAfterLateCells)).wrong.is_some());
    let further = Scenario { behind: BEHIND + 2 * TICK, ..behind };
    assert!(walk(&further, None).wrong.is_some());
}
