//! Every interleaving of two and three claimants, with crashes at every step, leases that run out
//! at any moment, and lost answers: the product's own [`Claimant`]s over rows in memory. Where time
//! passes, a tier of the older cells is filled at any moment.

mod tiers;
mod world;

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

use simhash::Distance;

use self::world::{Participant, Row, World, id_of, number_of, sketch_of, wrong_at_the_end, wrong_in};
use super::*;

const MAX_DISTANCE: Distance = Distance::of_differing(0b111);
/// Longer than any walk, in milliseconds of the world.
const LEASE: i64 = 1 << 40;
/// The two moments of reads, counted from the time of the reader: every lease is good, every lease
/// has run out.
const NOW: i64 = 0;
const LATER: i64 = 3 * LEASE;
/// The number of announcements allowed to a claimant; runs with more are cut off.
const ANNOUNCEMENTS_MAX: u8 = 3;

/// Ways to get the protocol wrong, each of which the walk has to notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    /// Cells are written after searching.
    FileAfterSearch,
    /// An aborted claimant commits all the same.
    CommitThoughAborted,
    /// An aborted claimant searches again, and only then is pending again.
    SearchBeforePending,
    /// Compare-and-set compares the owner and the state of a claim, not its incarnation.
    IgnoreIncarnation,
    /// Compare-and-set compares the state of a claim, not its owner.
    IgnoreOwner,
    /// Cells are swept whatever their timestamp.
    SweepAllCells,
    /// Pending claims are swept like aborted ones.
    SweepPending,
    /// A claim on a removed document lets the older version under it show again.
    LeaveWhatWasRemoved,
    /// A claimant whose cells came late searches all the same.
    SearchAfterLateCells,
}

/// The participants: for each claimant its process, the number of its document, and its
/// fingerprint.
#[derive(Clone, Debug)]
struct Scenario {
    claimants: Vec<(usize, usize, u64)>,
    /// Documents stored before.
    stored: Vec<(usize, u64)>,
    n_losses: u8,
    n_deaths: u8,
    n_removals: u8,
    n_sweeps: u8,
    leases_run_out: bool,
    /// The number of steps of time, and of fillings of the tier.
    n_ticks: u8,
    n_fillings: u8,
    /// The time in milliseconds by which the clock of the last process is behind.
    behind: i64,
}

impl Scenario {
    fn new(claimants: &[(usize, usize, u64)]) -> Self {
        Self {
            claimants: claimants.to_vec(),
            stored: Vec::new(),
            n_losses: 0,
            n_deaths: 0,
            n_removals: 0,
            n_sweeps: 0,
            leases_run_out: false,
            n_ticks: 0,
            n_fillings: 0,
            behind: 0,
        }
    }

    /// The same scenario with every fault.
    fn with_faults(self) -> Self {
        Self { n_losses: 1, n_deaths: u8::MAX, leases_run_out: true, ..self }
    }

    fn world(&self) -> World {
        let n_documents = self.claimants.iter().map(|&(_, document, _)| document + 1).max().unwrap_or(0);
        let mut world = World {
            rows: vec![Rc::<Row>::default(); n_documents],
            cells: BTreeMap::new(),
            participants: Vec::new(),
            late: Vec::new(),
            n_losses: self.n_losses,
            n_deaths: self.n_deaths,
            n_removals: self.n_removals,
            removed: Vec::new(),
            n_sweeps: self.n_sweeps,
            doomed: Vec::new(),
            time: if self.n_ticks > 0 { tiers::BEGIN } else { NOW },
            n_ticks: self.n_ticks,
            n_fillings: self.n_fillings,
            behind: self.behind,
            tier: None,
        };
        for &(document, bits) in &self.stored {
            Rc::make_mut(&mut world.rows[document]).record = Some((sketch_of(bits), 1));
            world.cells.insert((document, bits), 1);
        }
        for (number, &(process, document, bits)) in (0..).zip(&self.claimants) {
            let document = Document { id: id_of(document), sketch: sketch_of(bits), source: None };
            let ticket = Ticket { time: number.into(), owner: process as u64, number };
            world.participants.push(Rc::new(Participant {
                claimant: Claimant::new(document, MAX_DISTANCE.into(), ticket, LEASE),
                process,
                is_dead: false,
                n_announcements: 0,
                met: None,
                put_off: None,
            }));
        }
        world
    }
}

/// The result of a walk.
#[derive(Debug, Default)]
struct Walk {
    n_states: usize,
    n_ends: usize,
    /// The first violation.
    wrong: Option<String>,
}

fn walk(scenario: &Scenario, mutation: Option<Mutation>) -> Walk {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut seen = HashSet::new();
    let mut stack = vec![scenario.world()];
    let mut walk = Walk::default();
    while let Some(world) = stack.pop() {
        if !seen.insert(hasher.hash_one(&world)) {
            continue;
        }
        walk.n_states += 1;
        let mut next = Vec::new();
        let mut is_cut = false;
        for number in 0..world.participants.len() {
            is_cut |= successors(scenario, mutation, &world, number, &mut next);
        }
        if world.n_removals > 0 {
            next.extend((0..world.rows.len()).filter_map(|document| world.without(document)));
        }
        if world.n_sweeps > 0 {
            next.extend(world.cells.keys().filter_map(|&cell| world.sweeping(mutation, cell)));
        }
        next.extend(world.later());
        next.extend(world.filled());
        next.extend((0..world.doomed.len()).map(|number| world.swept(mutation, number)));
        next.extend((0..world.late.len()).map(|number| world.arrived(mutation, number)));
        next.retain(|after| *after != world);
        let mut wrong = wrong_in(&world);
        if next.is_empty() && !is_cut {
            walk.n_ends += 1;
            wrong = wrong.or_else(|| wrong_at_the_end(&world));
        }
        if wrong.is_some() {
            walk.wrong = wrong;
            return walk;
        }
        stack.extend(next);
    }
    walk
}

/// Adds all next worlds by an action or a fault of this participant. Returns true if further ones
/// were cut off.
fn successors(
    scenario: &Scenario,
    mutation: Option<Mutation>,
    world: &World,
    number: usize,
    next: &mut Vec<World>,
) -> bool {
    let participant = &world.participants[number];
    let step = participant.claimant.step();
    if participant.is_dead || matches!(step, Step::Done(_)) {
        return false;
    }
    let process = participant.process;
    if world.n_deaths > 0 {
        let mut after = world.clone();
        after.n_deaths -= 1;
        for other in after.participants.iter_mut().filter(|other| other.process == process) {
            Rc::make_mut(other).is_dead = true;
        }
        next.push(after);
    }
    let now = world.local(process);
    let moments: &[i64] = if scenario.leases_run_out { &[now, now + LATER] } else { &[now] };
    match step {
        Step::Read { ids, .. } => {
            let entries: Vec<_> =
                ids.iter().map(|id| (id.clone(), world.rows[number_of(id)].entry())).collect();
            for &now in moments {
                next.push(world.told(number, Seen::Entries(entries.clone()), now));
            }
        }
        Step::Swap { ref id, ref from, ref to } => {
            let is_announcement = to.state == State::Pending;
            if is_announcement && participant.n_announcements == ANNOUNCEMENTS_MAX {
                return true;
            }
            let mut after = world.clone();
            after.participant_mut(number).n_announcements += u8::from(is_announcement);
            if mutation == Some(Mutation::SearchBeforePending)
                && is_announcement
                && participant.n_announcements > 0
            {
                after.participant_mut(number).put_off = Some(step);
                next.push(after.told(number, Seen::Swapped(true), now));
                return false;
            }
            if world.n_losses > 0 {
                let mut lost = World { n_losses: world.n_losses - 1, ..after.clone() };
                lost.late.push((number_of(id), from.clone(), to.clone()));
                next.push(lost.told(number, Seen::Swapped(false), now));
            }
            let is_done = after.swap(mutation, number_of(id), from.as_ref(), to);
            next.push(after.told(number, Seen::Swapped(is_done), now));
        }
        Step::File(ref claim) => {
            let mut after = world.clone();
            let told_at = match mutation {
                Some(Mutation::SearchAfterLateCells) => claim.timestamp,
                _ => now,
            };
            if mutation == Some(Mutation::FileAfterSearch) {
                after.participant_mut(number).put_off = Some(step);
            } else {
                after.file(participant.document(), claim);
            }
            next.push(after.told(number, Seen::Filed, told_at));
        }
        Step::Look(_) => {
            // No later step depends on the moment, so one is enough.
            let rows = (0..world.rows.len()).map(|document| (id_of(document), world.rows[document].entry()));
            next.push(world.told(number, Seen::Entries(rows.collect()), now));
        }
        Step::Search(ref sketch) => {
            let Some(met) = &participant.met else {
                // The first half: cells.
                let mut after = world.clone();
                after.participant_mut(number).met = Some(world.meet(participant.document(), sketch));
                next.push(after);
                return false;
            };
            let entries: Vec<_> =
                met.iter().map(|&document| (id_of(document), world.rows[document].entry())).collect();
            let mut after = world.clone();
            after.participant_mut(number).met = None;
            match after.participant_mut(number).put_off.take() {
                Some(Step::Swap { id, from, to }) => {
                    after.swap(mutation, number_of(&id), from.as_ref(), &to);
                }
                Some(Step::File(claim)) => after.file(participant.document(), &claim),
                _ => {}
            }
            for &now in moments {
                next.push(after.told(number, Seen::Entries(entries.clone()), now));
            }
        }
        Step::Done(_) => {}
    }
    false
}

/// Fingerprints of two or three documents, by the near ones: a pair, a chain, all three.
const PAIR: [u64; 2] = [0, 0b1];
const CHAIN: [u64; 3] = [0b111, 0, 0b11_1000];
const CHAIN_FROM_THE_MIDDLE: [u64; 3] = [0, 0b111, 0b11_1000];
const TRIANGLE: [u64; 3] = [0, 0b1, 0b10];

/// A process for each document.
fn apart(bits: &[u64]) -> Scenario {
    let claimants: Vec<_> = bits.iter().enumerate().map(|(number, &bits)| (number, number, bits)).collect();
    Scenario::new(&claimants)
}

fn holds(name: &str, scenario: &Scenario) -> usize {
    let walk = walk(scenario, None);
    println!("{name}: {} states, {} ends", walk.n_states, walk.n_ends);
    assert_eq!(walk.wrong, None, "{name}");
    assert!(walk.n_ends > 0, "{name}: no run ends");
    walk.n_states
}

#[test]
fn two_claimants() {
    holds("no faults", &apart(&PAIR));
    holds("faults", &apart(&PAIR).with_faults());
}

#[test]
fn three_claimants() {
    for (name, bits) in
        [("chain", CHAIN), ("chain from the middle", CHAIN_FROM_THE_MIDDLE), ("triangle", TRIANGLE)]
    {
        holds(name, &apart(&bits));
        let faults = Scenario { n_deaths: 1, leases_run_out: true, ..apart(&bits) };
        holds(&format!("{name}, a death and leases that run out"), &faults);
    }
}

#[test]
fn one_id_twice() {
    for (name, bits) in [("one text", [0, 0]), ("near texts", [0, 1]), ("other texts", [0, u64::MAX])] {
        let scenario = Scenario::new(&[(0, 0, bits[0]), (1, 0, bits[1])]);
        holds(&format!("an id twice, {name}"), &scenario.clone().with_faults());
        let beside = Scenario::new(&[(0, 0, bits[0]), (1, 0, bits[1]), (2, 1, 2)]);
        holds(&format!("an id twice, {name}, and another"), &beside);
        let replaced = Scenario { stored: vec![(0, u64::MAX << 20)], ..scenario };
        holds(&format!("an id that is there, {name}"), &replaced.with_faults());
    }
}

#[test]
fn removals() {
    let removal = |scenario: Scenario| Scenario { n_removals: 1, leases_run_out: true, ..scenario };
    holds("a pair, one of which is removed", &removal(apart(&PAIR)));
    holds("one text twice, a removal", &removal(Scenario::new(&[(0, 0, 0), (1, 0, 0)])));
    holds("two texts, a removal", &removal(Scenario::new(&[(0, 0, 0), (1, 0, 1)])));
    let stored = Scenario { stored: vec![(0, u64::MAX << 20)], ..apart(&PAIR) };
    holds("an old version, a removal", &removal(stored));
    let twice = Scenario { stored: vec![(0, u64::MAX << 20)], ..Scenario::new(&[(0, 0, 0), (1, 0, 1)]) };
    holds("two texts over an old version, a removal", &removal(twice));
}

/// Cells of aborted claims are deleted by any participant that meets them, at any moment.
#[test]
fn sweeps() {
    let sweep = |scenario: Scenario| Scenario { n_sweeps: 1, leases_run_out: true, ..scenario };
    holds("a pair, a sweep", &sweep(apart(&PAIR)));
    holds("one text twice, a sweep", &sweep(Scenario::new(&[(0, 0, 0), (1, 0, 0)])));
    holds("two texts, a sweep", &sweep(Scenario::new(&[(0, 0, 0), (1, 0, 1)])));
    let both = Scenario { n_removals: 1, ..sweep(Scenario::new(&[(0, 0, 0), (1, 0, 0)])) };
    holds("one text twice, a sweep and a removal", &both);
}

/// Two documents of one process, which goes on and dies as one.
#[test]
fn batches() {
    let beside = Scenario::new(&[(0, 0, 0), (0, 1, u64::MAX), (1, 2, 2)]);
    holds("a batch of two that are far, and one beside", &beside.with_faults());
    let between = Scenario::new(&[(0, 0, 0b111), (0, 1, 0b11_1000), (1, 2, 0)]);
    holds("one that is near to both of a batch", &Scenario { leases_run_out: true, n_deaths: 1, ..between });
}

/// The walk notices each mutation. Each of these steps was right until a simplification.
#[test]
fn mutations_are_noticed() {
    let one_text_and_another = Scenario::new(&[(2, 1, 1), (0, 0, 0), (1, 0, 0)]);
    let scenarios = [
        apart(&PAIR),
        Scenario { leases_run_out: true, ..apart(&PAIR) },
        Scenario { leases_run_out: true, n_losses: 1, ..apart(&PAIR) },
        Scenario { leases_run_out: true, n_sweeps: 1, ..apart(&PAIR) },
        Scenario { leases_run_out: true, ..Scenario::new(&[(0, 0, 0), (1, 0, 0)]) },
        Scenario { leases_run_out: true, n_removals: 1, ..Scenario::new(&[(0, 0, 0), (1, 0, 0)]) },
        Scenario {
            stored: vec![(0, 1 << 20)],
            n_removals: 1,
            ..Scenario::new(&[(0, 0, 0), (1, 1, 1 << 20)])
        },
        apart(&TRIANGLE),
        Scenario { leases_run_out: true, n_removals: 1, ..one_text_and_another },
        Scenario { leases_run_out: true, ..Scenario::new(&[(0, 0, 0), (1, 0, 0), (2, 1, 1)]) },
        Scenario { leases_run_out: true, ..apart(&TRIANGLE) },
    ];
    for mutation in [
        Mutation::FileAfterSearch,
        Mutation::CommitThoughAborted,
        Mutation::SearchBeforePending,
        Mutation::IgnoreIncarnation,
        Mutation::IgnoreOwner,
        Mutation::SweepAllCells,
        Mutation::SweepPending,
        Mutation::LeaveWhatWasRemoved,
    ] {
        let walks = scenarios.iter().enumerate();
        let noticed =
            walks.filter_map(|(n, scenario)| Some((n, walk(scenario, Some(mutation)).wrong?))).next();
        println!("{mutation:?}: {noticed:?}");
        assert!(noticed.is_some(), "{mutation:?} goes unnoticed");
    }
}
