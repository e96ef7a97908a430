//! Configuration of Docker Compose: read by its own parser, and with the containers' commands run
//! as processes beside each other.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::invocation::{Invocation, help};
use super::{check, path, python, seconds, stdout, stop_seconds, words};
use crate::support::{self, Foreground, Worker, news, root, run};

/// The time limit of HBase's start.
const START: Duration = Duration::from_secs(180);

/// The address of a test's server: a client that connects to 127.0.0.1 instead of the name finds no
/// server.
const ELSEWHERE: &str = "127.0.0.2";

/// The protocol between the programs and HBase.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Direct,
    Gateway,
}

/// Returns the files as Docker Compose reads them, with their defaults.
fn config(way: Way) -> Option<Value> {
    let python = python("what Docker Compose reads")?;
    let mut compose = Command::new(check(python, "compose_program", [""; 0]));
    for variable in ["CORPUS", "HBASE_HEAP", "JOB", "KEYS", "WORKER_PORT"] {
        compose.env_remove(variable);
    }
    compose.arg("-f").arg(path("compose/compose.yaml"));
    if way == Way::Gateway {
        compose.arg("-f").arg(path("compose/gateway.yaml"));
    }
    compose.args(["--profile", "*", "config", "--format", "json"]);
    Some(serde_json::from_str(&stdout(&mut compose)).unwrap())
}

fn is_hbase(service: &Value) -> bool {
    service["image"] == "pigeonhole-hbase"
}

/// Returns the command of a service.
fn started(service: &Value) -> Vec<String> {
    let program = is_hbase(service).then(|| "hbase".to_owned());
    program.into_iter().chain(words(&service["command"])).collect()
}

fn variables(service: &Value) -> Vec<(String, String)> {
    let own = service["environment"].as_object().into_iter().flatten();
    own.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// Returns an environment variable of a service.
fn variable(services: &Value, service: &str, name: &str) -> String {
    services[service]["environment"][name].as_str().unwrap().to_owned()
}

#[test]
fn services_take_what_they_are_told() {
    for way in [Way::Direct, Way::Gateway] {
        let Some(config) = config(way) else { return };
        for (name, service) in config["services"].as_object().unwrap() {
            takes_what_it_is_told(name, service);
        }
    }
}

fn takes_what_it_is_told(name: &str, service: &Value) {
    let own = variables(service).into_iter().map(|(name, _)| name);
    Invocation::new(name, &started(service), own).check();
    let build = &service["build"];
    assert_eq!(
        Path::new(build["context"].as_str().unwrap()).canonicalize().unwrap(),
        root().canonicalize().unwrap()
    );
    assert!(root().join(build["dockerfile"].as_str().unwrap()).is_file(), "{build}");
    assert_eq!((&service["read_only"], &service["cap_drop"][0]), (&json!(true), &json!("ALL")), "{name}");
    if let Some(test) = service.pointer("/healthcheck/test").filter(|_| is_hbase(service)) {
        let test = words(test);
        // The check is of the service's own role.
        assert_eq!((&*test[0], &*test[2], test.last()), ("CMD", "status", started(service).get(2)));
        Invocation::new(name, &test[1..], []).check();
    }
    for port in service["ports"].as_array().into_iter().flatten() {
        assert_eq!(port["host_ip"], "127.0.0.1", "{name} is open to others");
    }
}

#[test]
fn services_meet() {
    let Some(config) = config(Way::Direct) else { return };
    let services = &config["services"];
    let table = variable(services, "tables", "TABLE");
    // The host of the master's address is the name that HBase announces, and a name of its
    // container.
    let host = services["hbase"]["hostname"].as_str().unwrap();
    assert!(services[host].is_object(), "no container is called {host}");
    assert_eq!(started(&services["hbase"])[1..], ["run", "server", "--hostname", host]);
    let said = help("hbase", None).unwrap();
    let port = said.split_once("--master-port N").unwrap().1.split(['[', ']']).nth(1).unwrap();
    for service in ["worker", "indexer"] {
        let store = variable(services, service, "PIGEONHOLE_STORE");
        assert_eq!(store, format!("hbase+rpc://{host}:{port}/{table}"));
        assert!(services[service]["depends_on"]["tables"].is_object());
    }
    assert!(services.get("gateway").is_none());
    assert_eq!(services["tables"]["network_mode"], "service:hbase");
    let port = services["worker"]["ports"][0]["target"].to_string();
    assert_eq!(variable(services, "worker", "PIGEONHOLE_LISTEN"), format!("0.0.0.0:{port}"));
    let asks = words(&services["worker"]["healthcheck"]["test"]).join(" ");
    assert!(asks.contains(&format!("/dev/tcp/127.0.0.1/{port}")), "{asks}");
    let secret = services["worker"]["secrets"][0]["source"].as_str().unwrap();
    assert_eq!(variable(services, "worker", "PIGEONHOLE_KEYS"), format!("/run/secrets/{secret}"));
    // The page tells the reader to make this file.
    let keys = config["secrets"][secret]["file"].as_str().unwrap();
    assert_eq!(Path::new(keys), path("compose/keys.toml"));
    shares_the_data(services, &["tables"]);
    let needed = stop_seconds(&started(&services["worker"])[1..]);
    let given = seconds(services["worker"]["stop_grace_period"].as_str().unwrap());
    assert!(given > needed, "a worker may take {needed} s, and is killed after {given}");
}

/// Checks that services find HBase's configuration in the volume of its data.
#[track_caller]
fn shares_the_data(services: &Value, beside: &[&str]) {
    let places = beside.iter().map(|service| ("/hbase", *service));
    for (place, service) in places.chain([("/var/lib/hbase", "hbase")]) {
        let volume = &services[service]["volumes"][0];
        assert_eq!((volume["source"].as_str(), volume["target"].as_str()), (Some("hbase"), Some(place)));
    }
}

#[test]
fn services_meet_at_the_gateway() {
    let Some(config) = config(Way::Gateway) else { return };
    let services = &config["services"];
    let (host, table) = ("gateway", variable(services, "tables", "TABLE"));
    assert_eq!(services["gateway"]["network_mode"], "service:hbase");
    assert_eq!(services["hbase"]["networks"]["default"]["aliases"], json!([host]));
    // HBase itself is on loopback again.
    assert_eq!(started(&services["hbase"])[1..], ["run", "server", "--hostname", "localhost"]);
    let gateway = started(&services["gateway"]).join(" ");
    assert!(gateway.contains("--listen 0.0.0.0") && !gateway.contains("--port"), "{gateway}");
    for service in ["worker", "indexer"] {
        let store = variable(services, service, "PIGEONHOLE_STORE");
        assert_eq!(store, format!("hbase://{host}:9090/{table}"));
        assert!(services[service]["depends_on"][host].is_object());
    }
    shares_the_data(services, &["tables", "gateway"]);
}

/// A service as a process, stopped when dropped.
struct Process(Child);

impl Process {
    fn start(command: &mut Command, log: &Path) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.stderr(File::create(log).unwrap()).spawn().unwrap())
    }

    /// Ends the process by SIGTERM, as `docker stop` does.
    fn stop(&mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap_or(());
        self.0.wait().unwrap();
    }
}

/// Returns the result of the worker's health check as in the container, at another port.
fn is_healthy(config: &Value, port: &str) -> bool {
    let test = words(&config["services"]["worker"]["healthcheck"]["test"]);
    assert_eq!(test[0], "CMD");
    // Compose writes a dollar sign doubled.
    let here = |arg: &String| arg.replace("$$", "$").replace("127.0.0.1/8080", &format!("127.0.0.1/{port}"));
    let mut command = Command::new(&test[1]);
    command.args(test[2..].iter().map(here)).stdin(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

/// Waits until a service is up, with a limit for a busy machine.
#[track_caller]
fn until_up(is_up: impl Fn() -> bool, process: &mut Process, log: &Path) {
    let begun = Instant::now();
    while !is_up() {
        let is_alive = process.0.try_wait().unwrap().is_none();
        assert!(is_alive && begun.elapsed() < START, "{}", fs::read_to_string(log).unwrap());
        thread::sleep(Duration::from_millis(200));
    }
}

/// Runs the containers' commands as processes, with a folder for each volume and other ports. HBase
/// has the name of another loopback address, and listens only there.
#[test]
fn the_services_run_on_hbase() {
    run_services(Way::Direct);
}

#[test]
fn the_services_run_on_hbase_behind_the_gateway() {
    run_services(Way::Gateway);
}

fn run_services(way: Way) {
    let Some(config) = config(way) else { return };
    let _alone = support::alone();
    let Some(place) = Foreground::new(&[("hbase", "server"), ("gateway", "gateway")]) else { return };
    let services = &config["services"];
    let at = |name: &str| place.folder().join(name);
    let log = |service: &str| at(&format!("{service}.log"));
    let hbase = |service: &str| {
        let conf = at("hbase/conf");
        let here = |arg: String| match &*arg {
            "hbase" => ELSEWHERE.to_owned(),
            // On a test machine, only loopback may be open.
            _ => arg.replace("/hbase/conf", conf.to_str().unwrap()).replace("0.0.0.0", "127.0.0.1"),
        };
        let mut command = place.command(service, started(&services[service]).into_iter().skip(1).map(here));
        command.envs(variables(&services[service])).stdout(Stdio::piped());
        command
    };
    let is_up = |service: &str| {
        let test = words(&services[service]["healthcheck"]["test"]);
        place.command(service, test[2..].to_vec()).output().unwrap().status.success()
    };
    assert!(!is_up("hbase"));
    let mut server = Process::start(hbase("hbase").env("PIGEONHOLE_HBASE_HEAP", "1g"), &log("hbase"));
    until_up(|| is_up("hbase"), &mut server, &log("hbase"));
    let listens = |address: &str| TcpStream::connect((address, place.master_port())).is_ok();
    let is_direct = way == Way::Direct;
    assert_eq!((listens(ELSEWHERE), listens("127.0.0.1")), (is_direct, !is_direct));
    let gateway = (way == Way::Gateway).then(|| Process::start(&mut hbase("gateway"), &log("gateway")));
    let made = stdout(&mut hbase("tables"));
    assert!(made.contains("created news: 4 regions"), "{made}");
    let gateway = gateway.map(|mut gateway| {
        until_up(|| is_up("gateway"), &mut gateway, &log("gateway"));
        gateway
    });

    let key = run("query-worker", ["new-key", "--name", "compose", "--scopes", "read,write"]).expect(0);
    fs::write(at("keys.toml"), key.stdout).unwrap();
    let ours = |service: &str| {
        let here = |text: &str| {
            let text = text.replace("gateway:9090", &format!("127.0.0.1:{}", place.port()));
            let text = text.replace("hbase:16000", &format!("{ELSEWHERE}:{}", place.master_port()));
            let text = text.replace("/run/secrets/keys", at("keys.toml").to_str().unwrap());
            let text = text.replace("/var/lib/pigeonhole", at("journals").to_str().unwrap());
            text.replace("0.0.0.0:8080", "127.0.0.1:0")
                .replace("/corpus", news().parent().unwrap().to_str().unwrap())
        };
        let args = started(&services[service]);
        let mut command = support::command(&args[0], args[1..].iter().map(|arg| here(arg)));
        command.envs(variables(&services[service]).into_iter().map(|(name, value)| (name, here(&value))));
        command
    };
    fs::create_dir(at("journals")).unwrap();
    let indexed = stdout(&mut ours("indexer"));
    assert!(indexed.contains("indexed                 35"), "{indexed}");
    let mut worker = Worker::start_as(&mut ours("worker"));
    let port = worker.base().rsplit(':').next().unwrap().to_owned();
    assert!(is_healthy(&config, &port));
    // Without its store, the worker lives but is not healthy.
    match gateway {
        Some(mut gateway) => gateway.stop(),
        None => server.stop(),
    }
    assert_eq!(worker.get("/healthz").0, 200);
    assert!(!is_healthy(&config, &port));
    worker.send_stop();
    worker.log_until("stopped");
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(!is_healthy(&config, &port));
    if way == Way::Gateway {
        server.stop();
    }
    assert!(!is_up("hbase"));
}
