//! A real HBase for the tests: one for the whole run, started by the first test that needs it.
//!
//! No JVM outlives the run, however it ends. A shell waits for the end of a pipe that only this
//! process holds open, and then stops the JVMs. No destructor is involved: a panic, an early exit
//! and `kill -9` have the same effect.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tempfile::TempDir;

use super::hbase_shell::HbaseShell;
use super::{Run, Suite, free_ports, root, without_settings};

/// The variable for the folder of the jars, which all runs share.
const CACHE: &str = "PIGEONHOLE_HBASE_CACHE";

/// The variable for flags of each JVM.
const JAVA_FLAGS: &str = "PIGEONHOLE_HBASE_JAVA_FLAGS";

/// Flags of JVMs that live for minutes: the second stage of the JIT takes more than it gives.
pub(crate) const SHORT_LIVED: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/// The exit code of `deploy/hbase/hbase` for a port that is taken.
const PORT_TAKEN: i32 = 75;

/// A shell script: waits for the end of its input, then ends the JVMs of `$2` with the roles `$3`,
/// and deletes their data. `kill` does not wait until the servers have written data that is deleted
/// anyway; `down` waits for a start that is still under way.
const WATCHDOG: &str = r#"cat
for role in $3; do "$1" kill "$role" --data "$2"; done
"$1" down --data "$2" && rm -rf "$2""#;

/// An HBase with its Thrift gateway.
pub(crate) struct Hbase {
    /// The address of Thrift.
    pub(crate) gateway: SocketAddr,
    /// The address of the master, for HBase's own protocol.
    pub(crate) master: SocketAddr,
    /// `--data` of the start script. Deleted when the tests end.
    pub(crate) data: PathBuf,
    /// True if the master had begun its work when the start script reported HBase as up.
    pub(crate) was_initialised: bool,
    /// The shell of all scripts that need no shell of their own, once there was one.
    shell: Mutex<Option<HbaseShell>>,
    /// Keeps the watchdog waiting. Never written to, closed when this process ends.
    _until_the_end: ChildStdin,
}

/// Locks HBase against the other tests that call this function. A load of whole tables or a split
/// would delay tests with deadlines for answers.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the HBase of this run; `None` unless the suite is selected.
pub(crate) fn hbase() -> Option<&'static Hbase> {
    static HBASE: OnceLock<Result<Hbase, String>> = OnceLock::new();
    if !Suite::Hbase.is_asked_for() {
        return None;
    }
    let started = HBASE.get_or_init(|| Hbase::start(&STANDALONE).map(|(hbase, _)| hbase));
    // Kept as text, so that a failed start is not repeated by every test.
    Some(started.as_ref().unwrap_or_else(|why| panic!("HBase did not start: {why}")))
}

/// The settings of a start.
pub(super) struct Kind {
    /// The name of the data folder, before the process id.
    name: &'static str,
    up: &'static [&'static str],
    /// The roles, in the order in which they are killed.
    roles: &'static str,
    /// The role with the log of the master's start.
    master: &'static str,
}

const STANDALONE: Kind =
    Kind { name: "hbase", up: &["--heap", "2g"], roles: "gateway server", master: "server" };

/// Seconds: seven JVMs start slowly beside other tests.
pub(super) const START_MAX: &str = "600";

/// A cluster of seven JVMs.
pub(super) const CLUSTER: Kind = Kind {
    name: "hbase-cluster",
    up: &["--cluster", "--timeout", START_MAX],
    roles: "gateway regionserver-2 regionserver-1 master zookeeper datanode namenode",
    master: "master",
};

impl Hbase {
    /// Starts HBase, and returns the port of its first region server too.
    pub(super) fn start(kind: &Kind) -> Result<(Self, u16), String> {
        let folder = format!("{}-{}", kind.name, std::process::id());
        let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        // The folder of an earlier process with this id, on a machine that stopped in the middle.
        fs::remove_dir_all(&data).unwrap_or(());
        let until_the_end = watch(&data, kind.roles);
        for _ in 0..3 {
            let ports @ [gateway, _, master, region_server, _] = free_ports::<5>();
            let names =
                ["--port", "--zookeeper-port", "--master-port", "--regionserver-port", "--namenode-port"];
            let mut up = start_script(&data);
            up.arg("up").args(kind.up);
            for (name, port) in names.into_iter().zip(ports) {
                up.args([name, &port.to_string()]);
            }
            match start(&mut up)? {
                Started::Up => {
                    let log = data.join(format!("logs/{}.log", kind.master));
                    let log = fs::read_to_string(log).unwrap_or_default();
                    let was_initialised = log.contains("Master has completed initialization");
                    let [gateway, master] =
                        [gateway, master].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
                    let shell = Mutex::new(None);
                    let hbase =
                        Self { gateway, master, data, was_initialised, shell, _until_the_end: until_the_end };
                    return Ok((hbase, region_server));
                }
                // Another process took a port first; the next attempt uses others.
                Started::PortTaken => {}
            }
        }
        Err("the ports that were free are taken, three times in a row".to_owned())
    }

    /// Runs a script in a shell of its own with these variables, as an operator does. Parameters of
    /// scripts do not come from this process's environment.
    pub(crate) fn shell(&self, script: &Path, variables: &[(&str, &str)]) -> Run {
        let mut command = self.scripts();
        command.arg("shell").arg(script).envs(variables.iter().copied()).current_dir(root());
        let Output { status, stdout, stderr } = command.output().expect("the start script runs");
        let text = |bytes| String::from_utf8(bytes).expect("scripts print UTF-8");
        Run { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Runs a script in the shell that stays, with these variables.
    pub(crate) fn script(&self, script: &Path, variables: &[(&str, &str)]) -> Run {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        let running = shell.get_or_insert_with(|| HbaseShell::start(&self.scripts(), &self.data));
        let outcome = running.run(script, variables);
        if outcome.is_err() {
            *shell = None;
        }
        let errors = || fs::read_to_string(self.data.join(HbaseShell::ERRORS)).unwrap_or_default();
        outcome.unwrap_or_else(|why| panic!("the shell ended: {why}\n{}", errors()))
    }

    /// Returns a command of the start script for scripts without parameters.
    fn scripts(&self) -> Command {
        let mut command = start_script(&self.data);
        // Parameters of the scripts in `schema/`, which may be set where the tests run.
        for variable in
            ["TABLE", "SCHEME", "PROFILE", "REGIONS", "TTL", "COMPRESSION", "BLOCKSIZE", "DRY_RUN", "COMMAND"]
        {
            command.env_remove(variable);
        }
        command
    }

    /// Returns the command that loads a folder of rows.
    pub(crate) fn bulk_load(&self, rows: &Path) -> Command {
        let mut command = start_script(&self.data);
        command.arg("bulk-load").arg(rows).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the text of a script in the shell that stays; `name` is unique within a run.
    pub(crate) fn shell_text(&self, name: &str, script: &str) -> Run {
        self.script(&self.written(name, script), &[])
    }

    /// Writes the text of a script into a file; `name` is unique within a run.
    pub(crate) fn written(&self, name: &str, script: &str) -> PathBuf {
        let file = self.data.join(format!("{name}.rb"));
        fs::write(&file, script).expect("the data folder can be written");
        file
    }
}

/// Roles as in containers: each in the foreground, with its own data folder below a common folder.
pub(crate) struct Foreground {
    folder: TempDir,
    /// The ports of the gateway and of the server, which has three.
    ports: [u16; 4],
    _until_the_end: Vec<ChildStdin>,
}

impl Foreground {
    /// Prepares roles, given as pairs of a data folder's name and a role; `None` as with [`hbase`].
    pub(crate) fn new(roles: &[(&str, &str)]) -> Option<Self> {
        if !Suite::Hbase.is_asked_for() {
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the roles");
        fetch(folder.path());
        let watch_over = |(name, role): &(&str, &str)| watch(&folder.path().join(name), role);
        let until_the_end = roles.iter().map(watch_over).collect();
        Some(Self { folder, ports: free_ports(), _until_the_end: until_the_end })
    }

    /// Returns the common folder of the roles.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the port of the gateway.
    pub(crate) fn port(&self) -> u16 {
        self.ports[0]
    }

    /// Returns the port of the master.
    pub(crate) fn master_port(&self) -> u16 {
        self.ports[2]
    }

    /// Returns a command of the start script, at the root of the checkout.
    pub(crate) fn command(&self, name: &str, args: impl IntoIterator<Item = String>) -> Command {
        let mut command = start_script(&self.folder.path().join(name));
        let flags = ["--port", "--zookeeper-port", "--master-port", "--regionserver-port"];
        for (flag, port) in flags.into_iter().zip(self.ports) {
            command.args([flag, &port.to_string()]);
        }
        command.args(args).current_dir(root());
        command
    }
}

/// Settings for the start script as the pages call it, with its own home folder.
pub(crate) struct HbaseOfAReader {
    home: PathBuf,
    /// The ports of the gateway and of the servers, which have four. A fifth port of a server
    /// follows the last one.
    ports: [u16; 5],
    _until_the_end: Vec<ChildStdin>,
}

impl HbaseOfAReader {
    /// Prepares the home folder, and fetches the jars if needed.
    pub(crate) fn new(home: &Path, is_needed: bool) -> Self {
        let mut reader = Self { home: home.to_owned(), ports: free_ports(), _until_the_end: Vec::new() };
        if !is_needed {
            return reader;
        }
        fetch(home);
        let roles = "gateway regionserver-2 regionserver-1 master zookeeper datanode namenode server";
        reader._until_the_end = reader.data().iter().map(|data| watch(data, roles)).collect();
        reader
    }

    /// Returns the default data folder of the start script, and the second folder of the pages.
    fn data(&self) -> [PathBuf; 2] {
        [self.home.join(".local/state/pigeonhole/hbase"), self.home.join("hbase-cluster")]
    }

    /// Returns pairs of a port in the pages and the port that replaces it.
    pub(crate) fn ports(&self) -> Vec<(&'static str, String)> {
        let names = ["9090", "2181", "16000", "8020", "16020"];
        let mut ports: Vec<_> = names.into_iter().zip(self.ports.map(|port| port.to_string())).collect();
        ports.push(("16021", (self.ports[4] + 1).to_string()));
        ports
    }

    /// Sets the environment in which a shell runs the start script with these ports.
    pub(crate) fn settings(&self, command: &mut Command) {
        let default = || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache");
        let cache = || {
            std::env::var_os("XDG_CACHE_HOME").map_or_else(default, PathBuf::from).join("pigeonhole/hbase")
        };
        command.env(CACHE, std::env::var_os(CACHE).map_or_else(cache, PathBuf::from));
        let names = ["PORT", "ZOOKEEPER_PORT", "MASTER_PORT", "NAMENODE_PORT", "REGIONSERVER_PORT"];
        for (name, port) in names.into_iter().zip(self.ports) {
            command.env(format!("PIGEONHOLE_HBASE_{name}"), port.to_string());
        }
        command.env("PIGEONHOLE_HBASE_TIMEOUT", "600").env(JAVA_FLAGS, SHORT_LIVED);
    }

    /// Starts HBase, for a page that requires a running one.
    pub(crate) fn up(&self) {
        let mut up = start_script(&self.data()[0]);
        self.settings(&mut up);
        assert!(matches!(start(up.arg("up")), Ok(Started::Up)));
    }
}

impl Drop for HbaseOfAReader {
    fn drop(&mut self) {
        for data in self.data().iter().filter(|data| data.exists()) {
            // If this fails, the watchdog tries again.
            drop(start_script(data).arg("down").output());
        }
    }
}

/// Fetches the jars through the start script.
fn fetch(data: &Path) {
    start(start_script(data).arg("fetch")).unwrap_or_else(|why| panic!("no jars: {why}"));
}

/// Outcome of a start without another error.
pub(super) enum Started {
    Up,
    PortTaken,
}

pub(super) fn start(up: &mut Command) -> Result<Started, String> {
    let output = up.output().map_err(|error| error.to_string())?;
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => Ok(Started::Up),
        Some(PORT_TAKEN) => Ok(Started::PortTaken),
        _ => Err(why),
    }
}

pub(super) fn start_script(data: &Path) -> Command {
    start_script_of(&root().join("deploy/hbase/hbase"), data)
}

/// Returns a command of a copy of the start script.
pub(super) fn start_script_of(script: &Path, data: &Path) -> Command {
    let mut command = Command::new(script);
    without_settings(&mut command);
    if let Some(cache) = std::env::var_os(CACHE) {
        command.env(CACHE, cache);
    }
    command.env(JAVA_FLAGS, SHORT_LIVED).arg("--data").arg(data).stdin(Stdio::null());
    command
}

/// Starts the watchdog ahead of the servers. The watchdog has its own process group, because Ctrl-C
/// in a terminal reaches the whole group of this process.
#[expect(clippy::zombie_processes, reason = "it outlives this process, so nothing here can wait for it")]
pub(super) fn watch(data: &Path, roles: &str) -> ChildStdin {
    let mut command = Command::new("sh");
    without_settings(&mut command);
    command.args(["-c", WATCHDOG, "watchdog"]).arg(root().join("deploy/hbase/hbase")).arg(data).arg(roles);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut watchdog = command.spawn().expect("sh runs");
    watchdog.stdin.take().expect("stdin is piped")
}
