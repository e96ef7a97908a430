//! What Docker Compose is told: by its own parser, and with the containers' commands as processes beside each other.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::invocation::Invocation;
use super::{check, path, python, seconds, stdout, stop_seconds, words};
use crate::support::{self, Foreground, Worker, news, root, run};

/// How long HBase may take to start.
const START: Duration = Duration::from_secs(180);

/// The file as Docker Compose reads it, with its defaults.
fn config() -> Option<Value> {
    let python = python("what Docker Compose reads")?;
    let mut compose = Command::new(check(python, "compose_program", [""; 0]));
    for variable in ["CORPUS", "HBASE_HEAP", "JOB", "KEYS", "WORKER_PORT"] {
        compose.env_remove(variable);
    }
    compose.arg("-f").arg(path("compose/compose.yaml")).args([
        "--profile",
        "*",
        "config",
        "--format",
        "json",
    ]);
    Some(serde_json::from_str(&stdout(&mut compose)).unwrap())
}

fn is_hbase(service: &Value) -> bool {
    service["image"] == "pigeonhole-hbase"
}

/// What a service starts.
fn started(service: &Value) -> Vec<String> {
    let program = is_hbase(service).then(|| "hbase".to_owned());
    program.into_iter().chain(words(&service["command"])).collect()
}

fn variables(service: &Value) -> Vec<(String, String)> {
    let own = service["environment"].as_object().into_iter().flatten();
    own.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

#[test]
fn services_take_what_they_are_told() {
    let Some(config) = config() else { return };
    for (name, service) in config["services"].as_object().unwrap() {
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
            // Of the role that it has.
            assert_eq!((&*test[0], &*test[2], test.last()), ("CMD", "status", started(service).get(2)));
            Invocation::new(name, &test[1..], []).check();
        }
        for port in service["ports"].as_array().into_iter().flatten() {
            assert_eq!(port["host_ip"], "127.0.0.1", "{name} is open to others");
        }
    }
}

#[test]
fn services_meet() {
    let Some(config) = config() else { return };
    let services = &config["services"];
    let of = |service: &str, name: &str| services[service]["environment"][name].as_str().unwrap().to_owned();
    // Whoever shares a network is reached by the name of the one that it belongs to.
    let (host, table) = ("gateway", of("tables", "TABLE"));
    assert_eq!(services["gateway"]["network_mode"], "service:hbase");
    assert_eq!(services["hbase"]["networks"]["default"]["aliases"], json!([host]));
    let gateway = started(&services["gateway"]).join(" ");
    assert!(gateway.contains("--listen 0.0.0.0") && !gateway.contains("--port"), "{gateway}");
    for service in ["worker", "indexer"] {
        assert_eq!(of(service, "PIGEONHOLE_STORE"), format!("hbase://{host}:9090/{table}"));
    }
    let port = services["worker"]["ports"][0]["target"].to_string();
    assert_eq!(of("worker", "PIGEONHOLE_LISTEN"), format!("0.0.0.0:{port}"));
    let asks = words(&services["worker"]["healthcheck"]["test"]).join(" ");
    assert!(asks.contains(&format!("/dev/tcp/127.0.0.1/{port}")), "{asks}");
    let secret = services["worker"]["secrets"][0]["source"].as_str().unwrap();
    assert_eq!(of("worker", "PIGEONHOLE_KEYS"), format!("/run/secrets/{secret}"));
    // The page says to make this one.
    let keys = config["secrets"][secret]["file"].as_str().unwrap();
    assert_eq!(Path::new(keys), path("compose/keys.toml"));
    for (place, service) in [("/var/lib/hbase", "hbase"), ("/hbase", "gateway"), ("/hbase", "tables")] {
        let volume = &services[service]["volumes"][0];
        assert_eq!((volume["source"].as_str(), volume["target"].as_str()), (Some("hbase"), Some(place)));
    }
    let needed = stop_seconds(&started(&services["worker"])[1..]);
    let given = seconds(services["worker"]["stop_grace_period"].as_str().unwrap());
    assert!(given > needed, "a worker may take {needed} s, and is killed after {given}");
}

/// A service as a process, stopped when dropped.
struct Process(Child);

impl Process {
    fn start(command: &mut Command, log: &Path) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.stderr(File::create(log).unwrap()).spawn().unwrap())
    }

    /// Ends it by SIGTERM, as `docker stop` does.
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

/// The worker's health check, as the container would be asked, at another port.
fn is_healthy(config: &Value, port: &str) -> bool {
    let test = words(&config["services"]["worker"]["healthcheck"]["test"]);
    assert_eq!(test[0], "CMD");
    // For Compose a dollar sign is doubled, and it says it so again.
    let here = |arg: &String| arg.replace("$$", "$").replace("127.0.0.1/8080", &format!("127.0.0.1/{port}"));
    let mut command = Command::new(&test[1]);
    command.args(test[2..].iter().map(here)).stdin(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

/// Waits until a service is up, for as long as a machine that has much to do may need.
#[track_caller]
fn until_up(is_up: impl Fn() -> bool, process: &mut Process, log: &Path) {
    let begun = Instant::now();
    while !is_up() {
        let is_alive = process.0.try_wait().unwrap().is_none();
        assert!(is_alive && begun.elapsed() < START, "{}", fs::read_to_string(log).unwrap());
        thread::sleep(Duration::from_millis(200));
    }
}

/// The containers' commands as processes, with a folder for each volume, and other ports.
#[test]
fn the_services_run_on_hbase() {
    let Some(config) = config() else { return };
    let _alone = support::alone();
    let Some(place) = Foreground::new(&[("hbase", "server"), ("gateway", "gateway")]) else { return };
    let services = &config["services"];
    let at = |name: &str| place.folder().join(name);
    let log = |service: &str| at(&format!("{service}.log"));
    let hbase = |service: &str| {
        let conf = at("hbase/conf");
        // Of a machine of tests only loopback may be open.
        let here =
            |arg: String| arg.replace("/hbase/conf", conf.to_str().unwrap()).replace("0.0.0.0", "127.0.0.1");
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
    let mut gateway = Process::start(&mut hbase("gateway"), &log("gateway"));
    let made = stdout(&mut hbase("tables"));
    assert!(made.contains("created news: 4 regions"), "{made}");
    until_up(|| is_up("gateway"), &mut gateway, &log("gateway"));

    let key = run("query-worker", ["new-key", "--name", "compose", "--scopes", "read,write"]).expect(0);
    fs::write(at("keys.toml"), key.stdout).unwrap();
    let gateway_port = place.port();
    let ours = |service: &str| {
        let here = |text: &str| {
            let text = text.replace("gateway:9090", &format!("127.0.0.1:{gateway_port}"));
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
    // Without its store it lives and is not healthy.
    gateway.stop();
    assert_eq!(worker.get("/healthz").0, 200);
    assert!(!is_healthy(&config, &port));
    worker.send_stop();
    worker.log_until("stopped");
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(!is_healthy(&config, &port));
    server.stop();
    assert!(!is_up("hbase"));
}
