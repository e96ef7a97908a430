//! A real HBase cluster on HDFS for the tests, with servers that die and come back: one for the
//! whole run, started by the first test that needs it.
//!
//! The second region server stands behind a [`Gate`]: the server listens on another address of
//! loopback than the announced one.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::gate::BEHIND;
use super::hbase::{CLUSTER, START_MAX, start_script};
use super::{Gate, Hbase, Mood, Suite};

/// A name node, a data node, ZooKeeper, a master, two region servers and a gateway.
pub(crate) struct HbaseCluster {
    pub(crate) hbase: Hbase,
    /// The gate before the second region server.
    pub(crate) gate: Gate,
    /// The announced port of the second region server.
    port: u16,
}

/// Returns the cluster of this run, locked for one test at a time; `None` unless the suite is
/// selected.
pub(crate) fn hbase_cluster() -> Option<(&'static HbaseCluster, MutexGuard<'static, ()>)> {
    static CLUSTER: OnceLock<Result<HbaseCluster, String>> = OnceLock::new();
    static ONE: Mutex<()> = Mutex::new(());
    if !Suite::Hbase.is_asked_for() {
        return None;
    }
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let started = CLUSTER.get_or_init(HbaseCluster::start);
    let cluster = started.as_ref().unwrap_or_else(|why| panic!("the cluster did not start: {why}"));
    // A failed test may have left the cluster in any state.
    cluster.gate.set(Mood::Open);
    for role in ["master", "regionserver-1"] {
        cluster.script("start", role);
    }
    Some((cluster, one))
}

impl HbaseCluster {
    fn start() -> Result<Self, String> {
        let (hbase, port) = Hbase::start(&CLUSTER)?;
        let port = port + 1;
        let gate = start_behind_gate(&hbase, port)?;
        Ok(Self { hbase, gate, port })
    }

    /// Returns the URL of an index. The URL names a region server too, so that `hbase:meta` is
    /// found while the master is away.
    pub(crate) fn url(&self, table: &str) -> String {
        format!("hbase+rpc://{},127.0.0.1:{}/{table}", self.hbase.master, self.port)
    }

    /// Runs a command of the start script on a role.
    #[track_caller]
    pub(crate) fn script(&self, command: &str, role: &str) {
        let output =
            start_script(&self.hbase.data).args([command, role, "--timeout", START_MAX]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command} {role}: {said}");
    }
}

/// Kills the second region server, and starts it behind a gate.
fn start_behind_gate(hbase: &Hbase, port: u16) -> Result<Gate, String> {
    let why = |error: std::io::Error| error.to_string();
    let role = "regionserver-2";
    start_script(&hbase.data).args(["kill", role]).output().map_err(why)?;
    let file = hbase.data.join("conf/hbase-site.xml");
    let site = fs::read_to_string(&file).map_err(why)?;
    let address =
        |address: &str| format!("<name>hbase.regionserver.ipc.address</name><value>{address}</value>");
    let behind = site.replace(&address("127.0.0.1"), &address(&BEHIND.to_string()));
    assert_ne!(behind, site, "the address of region servers is in the configuration");
    fs::write(&file, behind).map_err(why)?;
    let mut starting = start_script(&hbase.data);
    let mut starting = starting
        .args(["start", role, "--timeout", START_MAX])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(why)?;
    // The script checks that the port is free, and then waits until a server answers there.
    let mut said = String::new();
    let mut stderr = BufReader::new(starting.stderr.take().expect("stderr is piped"));
    while !said.contains("starting") && stderr.read_line(&mut said).map_err(why)? > 0 {}
    let gate = Gate::open(port).map_err(why)?;
    stderr.read_to_string(&mut said).map_err(why)?;
    let status = starting.wait().map_err(why)?;
    // A restart of the first region server must not use this address.
    fs::write(&file, site).map_err(why)?;
    if status.success() { Ok(gate) } else { Err(said) }
}
