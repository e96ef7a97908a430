//! The parts with a transport of two servers in memory: no protocol, no socket, and each row on the
//! server of its region.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use index::{ErrorKind, Result};

use super::pool::Pooled;
use super::*;
use crate::rows::TableNames;

const N_ROWS: usize = 12;

const OPTIONS: Options = Options {
    n_connections: 2,
    connect_timeout: Duration::from_secs(30),
    reply_timeout: Duration::from_secs(30),
    first_reply_timeout: Duration::from_secs(30),
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
    /// A row is on another server.
    Moved,
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
            Self::Broken | Self::Moved => Meaning::Passing,
            Self::Says(meaning) => *meaning,
        }
    }
}

/// The state that the servers share.
struct World {
    /// The server of each row.
    server_of: Vec<usize>,
    /// The number of writes of each row.
    n_written: Vec<u32>,
    faults: VecDeque<Fault>,
    n_calls: usize,
}

struct Link {
    world: Arc<Mutex<World>>,
    server: usize,
    /// Calls that are under way.
    due: VecDeque<Vec<usize>>,
}

impl Connection for Link {
    type Address = (Arc<Mutex<World>>, usize);
    type Failure = Failed;

    const IDLE_MAX: Duration = Duration::MAX;

    fn open((world, server): &Self::Address, _: Timeouts) -> Result<Self, Failed> {
        Ok(Self { world: Arc::clone(world), server: *server, due: VecDeque::new() })
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
            _ if rows.iter().any(|&row| world.server_of[row] != link.server) => {
                link.due.pop_front();
                return Err(Failed::Moved);
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

struct Cluster {
    world: Arc<Mutex<World>>,
    servers: [Pool<Link>; 2],
    /// The server of each row at the last look-up.
    route: Mutex<Vec<usize>>,
    retry: Retry,
}

impl Cluster {
    fn new(options: Options, faults: &[Fault]) -> Self {
        let server_of: Vec<_> = (0..N_ROWS).map(|row| row / 6).collect();
        let route = Mutex::new(server_of.clone());
        let faults = faults.iter().copied().collect();
        let world = Arc::new(Mutex::new(World { server_of, n_written: vec![0; N_ROWS], faults, n_calls: 0 }));
        let servers = [0, 1].map(|server| Pool::new((Arc::clone(&world), server), &options));
        let server = Server {
            address: "h:1".to_owned(),
            role: "cluster",
            kind: "a cluster",
            denied: "joe may not".to_owned(),
            way: "at h:1".to_owned(),
            away: "does it run?",
            strange: "is it one?",
            foreign: "what is it?",
        };
        Self { world, servers, route, retry: Retry::new(server, TableNames::new("t"), options) }
    }

    fn pool(&self, call: &Write) -> &Pool<Link> {
        let server = call.rows.first().map_or(0, |&row| self.route.lock().unwrap()[row]);
        &self.servers[server]
    }

    /// Writes all rows; returns the number of calls.
    fn write(&self) -> Result<usize> {
        let rows: Vec<_> = (0..N_ROWS).collect();
        let parts = Shard { min: 2, max: 3 }.parts(&rows, OPTIONS.n_connections);
        let calls = parts.map(|(_, part)| Write { rows: part.to_vec(), is_known: true }).collect();
        self.retry.run(&mut Dispatch::new(self, calls, &mut |_| Ok(())))?;
        Ok(self.world.lock().unwrap().n_calls)
    }

    fn n_written(&self) -> Vec<u32> {
        self.world.lock().unwrap().n_written.clone()
    }
}

impl Lanes<Write> for Cluster {
    type Lane<'a> = Pooled<'a, Link>;

    fn has_connected(&self) -> bool {
        self.servers.iter().any(Lanes::<Write>::has_connected)
    }

    fn take(&self, call: &Write, until: Until) -> Result<Result<Pooled<'_, Link>, Failed>, Exhausted> {
        self.pool(call).take(call, until)
    }

    fn try_take(&self, call: &Write, until: Until) -> Option<Pooled<'_, Link>> {
        self.pool(call).try_take(call, until)
    }

    fn serves(&self, lane: &Pooled<'_, Link>, call: &Write) -> bool {
        self.route.lock().unwrap()[call.rows[0]] == lane.server
    }

    fn again(&self, call: Write, failure: &Failed) -> Vec<Write> {
        let Failed::Moved = failure else { return vec![call] };
        let server_of = self.world.lock().unwrap().server_of.clone();
        let parts = call.rows.chunk_by(|a, b| server_of[*a] == server_of[*b]);
        let parts = parts.map(|part| Write { rows: part.to_vec(), is_known: true }).collect();
        *self.route.lock().unwrap() = server_of;
        parts
    }
}

fn check_fails(cluster: &Cluster, kind: ErrorKind, says: &str, n_calls: usize) {
    let error = cluster.write().unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
    assert!(
        std::error::Error::source(&error).is_none_or(|source| source.to_string().starts_with("it failed"))
    );
    assert_eq!(cluster.world.lock().unwrap().n_calls, n_calls, "{error}");
}

#[test]
fn each_call_goes_to_the_server_of_its_rows() {
    let cluster = Cluster::new(OPTIONS, &[]);
    assert_eq!(cluster.write().unwrap(), 4);
    assert_eq!(cluster.n_written(), [1; N_ROWS]);
}

/// The region of the rows 1 to 7 has moved since it was looked up.
#[test]
fn a_call_whose_region_has_moved_is_cut_anew() {
    let cluster = Cluster::new(OPTIONS, &[]);
    for row in 1..8 {
        cluster.world.lock().unwrap().server_of[row] ^= 1;
    }
    cluster.write().unwrap();
    assert_eq!(cluster.n_written(), [1; N_ROWS]);
}

#[test]
fn what_passes_is_repeated() {
    let passing = [Fault::Lost, Fault::Says(Meaning::Passing), Fault::Unanswered];
    let cluster = Cluster::new(OPTIONS, &passing);
    assert_eq!(cluster.write().unwrap(), 4 + passing.len());
    // A call that was done without an answer is done twice: calls are harmless to repeat, or
    // `Once`.
    assert_eq!(cluster.n_written().iter().sum::<u32>() as usize, N_ROWS + 3);
    let counts: Vec<_> = cluster.servers.iter().map(Pool::counts).collect();
    assert!(counts.iter().all(|counts| counts.n_in_use == 0), "{counts:?}");
}

#[test]
fn patience_ends() {
    let options =
        Options { first_patience: Duration::from_millis(30), patience: Duration::from_millis(30), ..OPTIONS };
    let cluster = Cluster::new(options, &[Fault::Lost; 100]);
    let error = cluster.write().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let says = "the HBase cluster at h:1 failed (for 0 s, 0 of 4 requests were done); does it run? The same call may be \
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
        (Meaning::Foreign, ErrorKind::InvalidArgument, "h:1 is not a cluster; what is it?"),
    ] {
        // The other calls of the first attempt, each on a connection of its own, are finished.
        let cluster = Cluster::new(OPTIONS, &[Fault::Says(meaning)]);
        check_fails(&cluster, kind, says, 4);
    }
    let cluster = Cluster::new(OPTIONS, &[Fault::Says(Meaning::Strange); 20]);
    let says = "h:1 does not answer as a cluster does (0 of 4 requests were done); is it one?";
    check_fails(&cluster, ErrorKind::Unavailable, says, 3 * 4);
}

#[test]
fn what_must_not_be_repeated_is_sent_once() {
    for (fault, n_written) in [(Fault::Lost, 0), (Fault::Unanswered, 1), (Fault::Says(Meaning::Passing), 0)] {
        let cluster = Cluster::new(OPTIONS, &[fault]);
        let calls = vec![Once::new(Write { rows: vec![0], is_known: true })];
        let mut is_known = None;
        let mut done = |Once { call, .. }: Once<Write>| {
            is_known = Some(call.is_known);
            Ok(())
        };
        cluster.retry.run(&mut Dispatch::new(&cluster.servers[0], calls, &mut done)).unwrap();
        assert_eq!(is_known, Some(false), "{fault:?}");
        assert_eq!(cluster.n_written()[0], n_written, "{fault:?}");
    }
}

#[test]
fn what_hbase_says() {
    for (text, can_retry, expected) in [
        ("org.apache.hadoop.hbase.TableNotFoundException: t", false, Meaning::NoTables),
        ("java.io.IOException: ...NoSuchColumnFamilyException", true, Meaning::NoTables),
        ("org.apache.hadoop.hbase.TableNotEnabledException: t", false, Meaning::Disabled),
        ("org.apache.hadoop.hbase.security.AccessDeniedException: x", false, Meaning::Denied),
        ("org.apache.hadoop.hbase.NotServingRegionException: t,,1", true, Meaning::Moving),
        ("org.apache.hadoop.hbase.CallQueueTooBigException: full", true, Meaning::Busy),
        ("org.apache.hadoop.hbase.PleaseHoldException: x", true, Meaning::Passing),
        ("org.apache.hadoop.hbase.DoNotRetryIOException", false, Meaning::Refused),
    ] {
        assert_eq!(Meaning::of_exception(text, can_retry), expected, "{text}");
    }
}
