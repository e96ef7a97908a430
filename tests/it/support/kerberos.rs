//! A KDC for the tests, and an HBase that requires its tickets. Neither outlives the run, and
//! nothing of the system is touched: the KDC has a database, a configuration and a port of its own.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use tempfile::TempDir;

use super::hbase::{Started, start, start_script_of, watch};
use super::{Run, Suite, free_ports, root, run_command, without_settings};

const REALM: &str = "PIGEONHOLE.TEST";

/// A shell script: waits for the end of its input, then ends the KDC.
const KDC: &str = "krb5kdc -n & cat; kill $!";

/// A KDC and an HBase, with their files in one folder.
pub(crate) struct Kerberos {
    folder: TempDir,
    /// The ports of the gateway, of ZooKeeper, of the master and of the region server.
    ports: [u16; 4],
    _until_the_end: [ChildStdin; 2],
}

impl Kerberos {
    /// Starts both; `None` unless the suite is selected.
    pub(crate) fn start() -> Option<Self> {
        if !Suite::Kerberos.is_asked_for() {
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for Kerberos");
        let path = folder.path();
        let [port, ports @ ..] = free_ports::<5>();
        configure(path, port);
        admin(path, "kdb5_util", &["create", "-s", "-r", REALM, "-P", "of no matter"]);
        for (principal, keytab) in [("hbase/localhost", "hbase.keytab"), ("alice", "alice.keytab")] {
            admin(path, "kadmin.local", &["-r", REALM, "-q", &format!("addprinc -randkey {principal}")]);
            let keytab = path.join(keytab);
            let add = format!("ktadd -k {} {principal}", keytab.display());
            admin(path, "kadmin.local", &["-r", REALM, "-q", &add]);
        }
        let mut kdc = with_kerberos(Command::new("sh"), path);
        kdc.args(["-c", KDC]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let until_the_end = kdc.process_group(0).spawn().expect("sh runs").stdin.take();
        let until_the_end = until_the_end.expect("stdin is piped");
        copy_deployment(path);
        let watchdog = watch(&path.join("data"), "gateway server");
        let kerberos = Self { folder, ports, _until_the_end: [until_the_end, watchdog] };
        let mut up = kerberos.deployment();
        up.args(["up", "--heap", "1g", "--timeout", "600"]);
        let names = ["--port", "--zookeeper-port", "--master-port", "--regionserver-port"];
        for (name, port) in names.into_iter().zip(ports) {
            up.args([name, &port.to_string()]);
        }
        match start(&mut up) {
            Ok(Started::Up) => Some(kerberos),
            Ok(Started::PortTaken) => panic!("a port that was free is taken"),
            Err(why) => panic!("HBase with Kerberos did not start: {why}"),
        }
    }

    /// Returns the principal of the servers.
    pub(crate) fn principal(&self) -> String {
        format!("hbase/_HOST@{REALM}")
    }

    /// Returns a URL of HBase's own protocol. The host is that of the servers' principal.
    pub(crate) fn direct_url(&self, name: &str) -> String {
        format!("hbase+rpc://localhost:{}/{name}", self.ports[2])
    }

    /// Returns a URL of the gateway, which has a keytab.
    pub(crate) fn gateway_url(&self, name: &str) -> String {
        format!("hbase://{}:{}/{name}", Ipv4Addr::LOCALHOST, self.ports[0])
    }

    /// Returns the path of a ticket cache with this name.
    pub(crate) fn cache(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of the keytab of `alice`.
    pub(crate) fn keytab(&self) -> PathBuf {
        self.folder.path().join("alice.keytab")
    }

    /// Gets a ticket for `alice`.
    pub(crate) fn kinit(&self, cache: &Path) {
        let mut kinit = self.command(Command::new("kinit"), cache);
        kinit.arg("-kt").arg(self.keytab()).arg("alice");
        run_command(&mut kinit).expect(0);
    }

    /// Runs a script of HBase's shell with the ticket of `cache`.
    pub(crate) fn shell(&self, script: &str, table: &str, cache: &Path) -> Run {
        let mut shell = self.deployment();
        shell.env("KRB5CCNAME", cache);
        shell.arg("shell").arg(root().join(script)).env("TABLE", table).env("REGIONS", "2");
        run_command(&mut shell)
    }

    /// Sets up a program to look for tickets in `cache`.
    pub(crate) fn command(&self, program: Command, cache: &Path) -> Command {
        let mut program = with_kerberos(program, self.folder.path());
        without_settings(&mut program);
        program.env("KRB5CCNAME", cache);
        program
    }

    /// Returns a command of the start script in the copy with Kerberos.
    fn deployment(&self) -> Command {
        let path = self.folder.path();
        let mut script = start_script_of(&path.join("hbase/hbase"), &path.join("data"));
        let configuration = path.join("krb5.conf");
        script.env("JAVA_TOOL_OPTIONS", format!("-Djava.security.krb5.conf={}", configuration.display()));
        with_kerberos(script, path)
    }
}

/// Sets the KDC of a folder, and removes tickets and keys of this environment.
fn with_kerberos(mut command: Command, folder: &Path) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).env("KRB5_CONFIG", folder.join("krb5.conf"));
    command.env("KRB5_KDC_PROFILE", folder.join("kdc.conf"));
    command.env_remove("KRB5CCNAME").env_remove("KRB5_CLIENT_KTNAME");
    command
}

fn admin(folder: &Path, program: &str, arguments: &[&str]) {
    let mut command = with_kerberos(Command::new(program), folder);
    run_command(command.args(arguments)).expect(0);
}

fn configure(folder: &Path, port: u16) {
    let of_clients = format!(
        "[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\ndns_lookup_realm = false\n\
         dns_canonicalize_hostname = false\nrdns = false\nudp_preference_limit = 1\n\
         [realms]\n{REALM} = {{\n  kdc = 127.0.0.1:{port}\n}}\n"
    );
    let place = folder.display();
    let of_kdc = format!(
        "[kdcdefaults]\nkdc_listen = 127.0.0.1:{port}\nkdc_tcp_listen = 127.0.0.1:{port}\n\
         [realms]\n{REALM} = {{\n  database_name = {place}/principal\n  key_stash_file = {place}/stash\n}}\n"
    );
    fs::write(folder.join("krb5.conf"), of_clients).expect("the folder can be written");
    fs::write(folder.join("kdc.conf"), of_kdc).expect("the folder can be written");
}

/// Copies `deploy/hbase`, configured so that HBase requires tickets.
fn copy_deployment(folder: &Path) {
    let copy = folder.join("hbase");
    let mut cp = Command::new("cp");
    run_command(cp.arg("-r").arg(root().join("deploy/hbase")).arg(&copy)).expect(0);
    let (of_hadoop, of_hbase) = (copy.join("conf/core-site.xml"), copy.join("conf/common-site.xml"));
    let hadoop = fs::read_to_string(&of_hadoop).expect("the template is there");
    let simple = "<name>hadoop.security.authentication</name><value>simple</value>";
    assert!(hadoop.contains(simple), "{hadoop}");
    fs::write(&of_hadoop, hadoop.replace(simple, &simple.replace(">simple<", ">kerberos<"))).expect("a copy");
    let mut hbase = fs::read_to_string(&of_hbase).expect("the template is there");
    let mut set = |name: &str, value: &str| {
        hbase.push_str(&format!("<property><name>{name}</name><value>{value}</value></property>\n"));
    };
    set("hbase.security.authentication", "kerberos");
    let keytab = folder.join("hbase.keytab").display().to_string();
    for role in ["master", "regionserver", "thrift"] {
        set(&format!("hbase.{role}.kerberos.principal"), &format!("hbase/localhost@{REALM}"));
        set(&format!("hbase.{role}.keytab.file"), &keytab);
    }
    fs::write(&of_hbase, hbase).expect("a copy");
}
