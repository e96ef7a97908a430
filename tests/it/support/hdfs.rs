//! A real HDFS for the tests: one for the whole run, started by the first test that needs it, with
//! HBase's own script.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::{OnceLock, RwLock};

use super::hbase::{Started, start, start_script, watch};
use super::{Suite, free_ports};

/// A name node and a data node.
pub(crate) struct Hdfs {
    /// The address, without a path.
    pub(crate) url: String,
    /// Held to read by a test that writes there, and to write while the data node is away.
    pub(crate) data_node: RwLock<()>,
    /// `--data` of the start script. Deleted when the tests end.
    data: PathBuf,
    /// Keeps the watchdog waiting.
    _until_the_end: ChildStdin,
}

/// Returns the HDFS of this run; `None` unless the suite is selected.
pub(crate) fn hdfs() -> Option<&'static Hdfs> {
    static HDFS: OnceLock<Result<Hdfs, String>> = OnceLock::new();
    if !Suite::Hdfs.is_asked_for() {
        return None;
    }
    let started = HDFS.get_or_init(|| {
        let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hdfs-{}", std::process::id()));
        // The folder of an earlier process with this id, on a machine that stopped in the middle.
        fs::remove_dir_all(&data).unwrap_or(());
        let until_the_end = watch(&data, "datanode namenode");
        for _ in 0..3 {
            let [port] = free_ports();
            match start(start_script(&data).args(["up", "--hdfs", "--namenode-port", &port.to_string()]))? {
                Started::Up => {
                    let url = format!("hdfs://127.0.0.1:{port}");
                    let data_node = RwLock::default();
                    return Ok(Hdfs { url, data_node, data, _until_the_end: until_the_end });
                }
                Started::PortTaken => {}
            }
        }
        Err("the ports that were free are taken, three times in a row".to_owned())
    });
    Some(started.as_ref().unwrap_or_else(|why| panic!("HDFS did not start: {why}")))
}

impl Hdfs {
    /// Runs a command of the start script.
    #[track_caller]
    pub(crate) fn script(&self, args: &[&str]) {
        let output = start_script(&self.data).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
