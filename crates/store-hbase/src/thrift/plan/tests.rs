//! The parts with connections to a server in memory: no protocol, no socket.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use index::{ErrorKind, Result};

use super::*;
use crate::options::Options;
use crate::rows::TableNames;
use crate::server::{Meaning, Server};

const N_ROWS: usize = 12;

const OPTIONS: Options = Options {
    n_connections: 2,
    connect_timeout: Duration::from_secs(30),
    reply_timeout: Duration::from_secs(30),
    first_patience: Duration::from_secs(30),
    patience: Duration::from_secs(30),
};

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The call does not arrive.
    Lost,
    /// The call is done, and its answer does not arrive.
    Unanswered,
    /// The call is answered with this failure, and not done.
    Says(Meaning),
}

#[derive(Debug)]
enum Failed {
    /// The connection broke.
    Broken,
    Says(Meaning),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it failed: {self:?}")
    }
}

impl std::error::Error for Failed {}

impl Failure for Failed {
    fn means(&self) -> Meaning {
        match self {
            Self::Broken => Meaning::Passing,
            Self::Says(meaning) => *meaning,
        }
    }
}

/// The state of the server.
struct World {
    /// The number of writes of each row.
    n_written: Vec<u32>,
    faults: VecDeque<Fault>,
    n_calls: usize,
}

struct Link {
    world: Arc<Mutex<World>>,
    /// Calls that are under way.
    due: VecDeque<Vec<usize>>,
}

impl Connection for Link {
    type Address = Arc<Mutex<World>>;
    type Failure = Failed;

    const IDLE_MAX: Duration = Duration::MAX;

    fn open(world: &Self::Address, _: Timeouts) -> Result<Self, Failed> {
        Ok(Self { world: Arc::clone(world), due: VecDeque::new() })
    }

    fn is_clean(&self) -> bool {
        self.due.is_empty()
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn set_reply_timeout(&mut self, _: Duration) -> io::Result<()> {
        Ok(())
    }
}

/// A write of rows.
struct Write {
    rows: Vec<usize>,
    is_known: bool,
}

impl Call for Write {
    type Connection = Link;

    fn start(&mut self, link: &mut Link) -> Result<(), Failed> {
        link.due.push_back(self.rows.clone());
        Ok(())
    }

    fn go_on(&mut self, link: &mut Link) -> Result<bool, Failed> {
        let mut world = link.world.lock().unwrap();
        let rows = link.due[0].clone();
        world.n_calls += 1;
        match world.faults.pop_front() {
            Some(Fault::Lost) => return Err(Failed::Broken),
            Some(Fault::Says(meaning)) => {
                link.due.pop_front();
                return Err(Failed::Says(meaning));
            }
            fault => {
                for row in rows {
                    world.n_written[row] += 1;
                }
                if fault.is_some() {
                    return Err(Failed::Broken);
                }
            }
        }
        link.due.pop_front();
        Ok(true)
    }
}

impl Resolve for Write {
    fn resolve(&mut self, link: &mut Link) -> Result<(), Failed> {
        self.is_known = false;
        self.rows.clear();
        self.start(link)
    }
}

struct Place {
    world: Arc<Mutex<World>>,
    pool: Pool<Link>,
    retry: Retry,
}

impl Place {
    fn new(options: Options, faults: &[Fault]) -> Self {
        let faults = faults.iter().copied().collect();
        let world = Arc::new(Mutex::new(World { n_written: vec![0; N_ROWS], faults, n_calls: 0 }));
        let server = Server {
            address: "h:1".to_owned(),
            role: "gateway",
            kind: "a gateway",
            denied: "joe may not".to_owned(),
            way: "at h:1".to_owned(),
            away: "does it run?",
            strange: "is it one?",
            foreign: "what is it?",
        };
        let pool = Pool::new(Arc::clone(&world), &options);
        Self { world, pool, retry: Retry::new(server, TableNames::new("t"), options) }
    }

    /// Writes all rows; returns the number of calls.
    fn write(&self) -> Result<usize> {
        let rows: Vec<_> = (0..N_ROWS).collect();
        let parts = Shard { min: 2, max: 3 }.parts(&rows, OPTIONS.n_connections);
        let calls = parts.map(|(_, part)| Write { rows: part.to_vec(), is_known: true }).collect();
        self.retry.run(Dispatch::new(&self.pool, calls, &mut |_| Ok(())))?;
        Ok(self.world.lock().unwrap().n_calls)
    }

    fn n_written(&self) -> Vec<u32> {
        self.world.lock().unwrap().n_written.clone()
    }
}

fn check_fails(place: &Place, kind: ErrorKind, says: &str, n_calls: usize) {
    let error = place.write().unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
    assert!(
        std::error::Error::source(&error).is_none_or(|source| source.to_string().starts_with("it failed"))
    );
    assert_eq!(place.world.lock().unwrap().n_calls, n_calls, "{error}");
}

#[test]
fn each_row_is_written_once() {
    let place = Place::new(OPTIONS, &[]);
    assert_eq!(place.write().unwrap(), 4);
    assert_eq!(place.n_written(), [1; N_ROWS]);
}

#[test]
fn what_passes_is_repeated() {
    let passing = [Fault::Lost, Fault::Says(Meaning::Passing), Fault::Unanswered];
    let place = Place::new(OPTIONS, &passing);
    assert_eq!(place.write().unwrap(), 4 + passing.len());
    // A call that was done without an answer is done twice: calls are harmless to repeat, or
    // `Once`.
    assert_eq!(place.n_written().iter().sum::<u32>() as usize, N_ROWS + 3);
    assert_eq!(place.pool.counts().n_in_use, 0);
}

#[test]
fn patience_ends() {
    let options =
        Options { first_patience: Duration::from_millis(30), patience: Duration::from_millis(30), ..OPTIONS };
    let place = Place::new(options, &[Fault::Lost; 100]);
    let error = place.write().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let says = "the HBase gateway at h:1 failed (for 0 s, 0 of 4 requests were done); does it run? The same call may be \
                repeated";
    assert_eq!(error.to_string(), says);
}

#[test]
fn no_hope_is_no_second_attempt() {
    for (meaning, kind, says) in [
        (Meaning::Refused, ErrorKind::Unavailable, "HBase refused a request at h:1"),
        (Meaning::Denied, ErrorKind::PermissionDenied, "joe may not"),
        (Meaning::Disabled, ErrorKind::Disabled, "`enable 't'` and `enable 't_docs'`"),
        (Meaning::NoTables, ErrorKind::NotFound, "the tables t and t_docs are not there"),
        (Meaning::Foreign, ErrorKind::InvalidArgument, "h:1 is not a gateway; what is it?"),
    ] {
        // The other call of the first attempt, on a connection of its own, is finished.
        let place = Place::new(OPTIONS, &[Fault::Says(meaning)]);
        check_fails(&place, kind, says, OPTIONS.n_connections);
    }
    let place = Place::new(OPTIONS, &[Fault::Says(Meaning::Strange); 20]);
    let says = "h:1 does not answer as a gateway does (0 of 4 requests were done); is it one?";
    check_fails(&place, ErrorKind::Unavailable, says, 3 * OPTIONS.n_connections);
}

#[test]
fn what_must_not_be_repeated_is_sent_once() {
    for (fault, n_written) in [(Fault::Lost, 0), (Fault::Unanswered, 1), (Fault::Says(Meaning::Passing), 0)] {
        let place = Place::new(OPTIONS, &[fault]);
        let calls = vec![Once::new(Write { rows: vec![0], is_known: true })];
        let mut is_known = None;
        let mut done = |Once { call, .. }: Once<Write>| {
            is_known = Some(call.is_known);
            Ok(())
        };
        place.retry.run(Dispatch::new(&place.pool, calls, &mut done)).unwrap();
        assert_eq!(is_known, Some(false), "{fault:?}");
        assert_eq!(place.n_written()[0], n_written, "{fault:?}");
    }
}
