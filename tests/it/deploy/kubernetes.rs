//! The manifests: their schemas, references between them, and the Job's shards, run as processes.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::invocation::{Invocation, help};
use super::{check, path, python, stdout, stop_seconds, text, words, yaml};
use crate::support::{Worker, command, news, run};

/// The oldest supported version: the first with failures by index and, beside a gateway, sidecars
/// on by default.
const OLDEST: &str = "1.29";

/// The kustomizations that are applied.
const KUSTOMIZATIONS: [&str; 2] = ["worker", "indexer"];

/// The line of each kustomization that is a comment unless there is a gateway.
const BY_GATEWAY: &str = "components: [../gateway]";

/// The probes of a worker, with their paths.
const PROBES: [(&str, &str); 3] =
    [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")];

/// Returns the files of a kustomization and of its bases.
fn resources(python: &Path, folder: &str) -> Vec<String> {
    let kustomization = yaml(python, &format!("kubernetes/{folder}/kustomization.yaml")).remove(0);
    let mut files = Vec::new();
    for name in words(&kustomization["resources"]) {
        match name.strip_prefix("../") {
            Some(base) => files.extend(resources(python, base)),
            None => files.push(format!("kubernetes/{folder}/{name}")),
        }
    }
    files
}

fn object(python: &Path, file: &str, kind: &str) -> Value {
    let found = yaml(python, file).into_iter().find(|object| object["kind"] == kind);
    found.unwrap_or_else(|| panic!("{file} has no {kind}"))
}

fn deployment(python: &Path) -> Value {
    object(python, "kubernetes/worker/deployment.yaml", "Deployment")
}

fn job(python: &Path) -> Value {
    object(python, "kubernetes/indexer/job.yaml", "Job")
}

/// Returns the applied workloads, each also with a gateway beside its program, merged by name like
/// kustomize.
fn workloads(python: &Path) -> Vec<Value> {
    let sidecar = object(python, "kubernetes/gateway/sidecar.yaml", "Deployment");
    let sidecar = &sidecar["spec"]["template"]["spec"];
    let plain = [deployment(python), job(python)];
    let by_gateway = plain.clone().map(|mut workload| {
        let pod = &mut workload["spec"]["template"]["spec"];
        for name in ["initContainers", "volumes"] {
            let mut all = list(pod, &format!("/{name}")).to_vec();
            all.extend(list(sidecar, &format!("/{name}")).iter().cloned());
            pod[name] = all.into();
        }
        workload
    });
    plain.into_iter().chain(by_gateway).collect()
}

fn pods(python: &Path) -> impl Iterator<Item = Value> {
    workloads(python).into_iter().map(|workload| workload["spec"]["template"]["spec"].clone())
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns all containers of a pod, its sidecars first.
fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    list(pod, "/initContainers").iter().chain(list(pod, "/containers"))
}

/// Returns the command of a container or of its image, and its arguments.
fn started(container: &Value) -> Vec<String> {
    let mut started = match container.get("command") {
        Some(command) => words(command),
        None => vec!["hbase".to_owned()],
    };
    started.extend(words(&container["args"]));
    started
}

/// Checks that every label of a selector is there.
#[track_caller]
fn selects(selector: &Value, labels: &Value) {
    let asked = selector.as_object().expect("a selector");
    assert!(
        !asked.is_empty() && asked.iter().all(|(name, value)| labels[name] == *value),
        "{selector} of {labels}"
    );
}

#[test]
fn schemas_know_every_field() {
    let Some(python) = python("the manifests") else { return };
    for folder in KUSTOMIZATIONS {
        let files = resources(python, folder);
        assert!(files.len() >= 3, "{files:?}");
        for version in [OLDEST, "newest"] {
            let files = files.iter().map(|file| path(file).into_os_string());
            check(python, "kubernetes", std::iter::once(version.into()).chain(files));
        }
    }
    let made = tempfile::NamedTempFile::new().unwrap();
    for workload in workloads(python) {
        fs::write(made.path(), workload.to_string()).unwrap();
        check(python, "kubernetes", [OLDEST.as_ref(), made.path().as_os_str()]);
    }
}

/// Returns a copy of the manifests in which each kustomization has the gateway.
fn by_gateway() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for folder in ["base", "gateway"].into_iter().chain(KUSTOMIZATIONS) {
        fs::create_dir(copy.path().join(folder)).unwrap();
        for file in fs::read_dir(path("kubernetes").join(folder)).unwrap() {
            let file = file.unwrap().path();
            let text = fs::read_to_string(&file).unwrap();
            let with_it = text.replace(&format!("\n# {BY_GATEWAY}\n"), &format!("\n{BY_GATEWAY}\n"));
            let is_asked = KUSTOMIZATIONS.contains(&folder) && file.ends_with("kustomization.yaml");
            assert_eq!(with_it != text, is_asked, "{}", file.display());
            fs::write(copy.path().join(folder).join(file.file_name().unwrap()), with_it).unwrap();
        }
    }
    copy
}

/// kustomize is part of kubectl, of which Debian has no recent one: without kubectl this is not
/// tested, even in CI.
#[test]
fn kustomize_makes_what_schemas_know() {
    let Some(python) = python("what kustomize makes") else { return };
    if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
        return;
    }
    let by_gateway = by_gateway();
    for (place, n_sidecars) in [(path("kubernetes"), 0), (by_gateway.path().to_owned(), 1)] {
        for folder in KUSTOMIZATIONS {
            check_made(python, &place.join(folder), n_sidecars);
        }
    }
}

fn check_made(python: &Path, folder: &Path, n_sidecars: usize) {
    let made = tempfile::NamedTempFile::new().unwrap();
    let text = stdout(Command::new("kubectl").arg("kustomize").arg(folder));
    fs::write(made.path(), &text).unwrap();
    check(python, "kubernetes", [OLDEST.as_ref(), made.path().as_os_str()]);
    let objects: Vec<Value> = serde_json::from_str(&check(python, "documents", [made.path()])).unwrap();
    let version = format!(":{}", env!("CARGO_PKG_VERSION"));
    let mut n_found = 0;
    for object in &objects {
        let is_namespace = object["kind"] == "Namespace";
        assert!(is_namespace || object["metadata"]["namespace"] == "pigeonhole", "{object}");
        if let Some(store) = object.pointer("/data/PIGEONHOLE_STORE") {
            let by_gateway = store.as_str().unwrap().starts_with("hbase://127.0.0.1:");
            assert_eq!(by_gateway, n_sidecars == 1, "{store}");
        }
        if let Some(pod) = object.pointer("/spec/template/spec") {
            for container in containers(pod) {
                assert!(container["image"].as_str().unwrap().ends_with(&version), "{container}");
            }
            n_found += list(pod, "/initContainers").len();
        }
    }
    assert_eq!(n_found, n_sidecars, "{text}");
}

#[test]
fn selectors_ports_and_volumes_meet() {
    let Some(python) = python("the manifests") else { return };
    let deployment = deployment(python);
    let template = &deployment["spec"]["template"];
    let labels = &template["metadata"]["labels"];
    selects(&deployment["spec"]["selector"]["matchLabels"], labels);
    selects(&template["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"], labels);
    let budget = object(python, "kubernetes/worker/pod-disruption-budget.yaml", "PodDisruptionBudget");
    selects(&budget["spec"]["selector"]["matchLabels"], labels);
    let service = object(python, "kubernetes/worker/service.yaml", "Service");
    selects(&service["spec"]["selector"], labels);
    // Prometheus finds the pods by one of the labels.
    let scraping = text("prometheus/prometheus.yml");
    let component = labels["app.kubernetes.io/component"].as_str().unwrap();
    assert!(scraping.contains("__meta_kubernetes_pod_label_app_kubernetes_io_component]"));
    assert!(scraping.contains(&format!("regex: {component}\n")));

    let worker = &template["spec"]["containers"][0];
    let port = &worker["ports"][0];
    let listens = format!("--listen=0.0.0.0:{}", port["containerPort"]);
    assert!(words(&worker["args"]).contains(&listens), "{listens} is not what the worker is told");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port["name"]);
    assert!(scraping.contains(&format!("regex: {}\n", port["name"].as_str().unwrap())));
    let description = Worker::start("memory:", &[]).get("/openapi.json").1;
    for (probe, asks) in PROBES {
        let probe = &worker[probe]["httpGet"];
        assert_eq!((probe["path"].as_str(), &probe["port"]), (Some(asks), &port["name"]));
        assert!(description["paths"].get(asks).is_some(), "the worker has no {asks}");
    }

    for pod in pods(python) {
        let volumes: Vec<&Value> = list(&pod, "/volumes").iter().map(|volume| &volume["name"]).collect();
        let mounts: Vec<&Value> =
            containers(&pod).flat_map(|of| list(of, "/volumeMounts")).map(|mount| &mount["name"]).collect();
        assert!(mounts.iter().all(|name| volumes.contains(name)), "{mounts:?} of {volumes:?}");
        assert!(volumes.iter().all(|name| mounts.contains(name)), "{volumes:?} for {mounts:?}");
    }
    let keys =
        words(&worker["args"]).into_iter().find_map(|arg| Some(arg.strip_prefix("--keys=")?.to_owned()));
    let mount = worker["volumeMounts"][0]["mountPath"].as_str().unwrap();
    assert_eq!(keys.as_deref(), Some(&*format!("{mount}/keys.toml")));
    let secret = template.pointer("/spec/volumes/0/secret/secretName").and_then(Value::as_str).unwrap();
    let page = text("README.md");
    assert!(page.contains(&format!("create secret generic {secret} --from-file=keys.toml")), "{secret}");
}

/// Returns the generated config maps of a kustomization or a component.
fn made(python: &Path, folder: &str) -> Value {
    yaml(python, &format!("kubernetes/{folder}/kustomization.yaml")).remove(0)["configMapGenerator"].clone()
}

/// `base` and `gateway` make every config map that pods refer to.
#[test]
fn what_pods_ask_for_is_made() {
    let Some(python) = python("the manifests") else { return };
    let [base, gateway] = ["base", "gateway"].map(|folder| made(python, folder));
    let names = |made: &Value| -> Vec<String> {
        list(made, "").iter().map(|made| made["name"].as_str().unwrap().to_owned()).collect()
    };
    let account = object(python, "kubernetes/base/service-account.yaml", "ServiceAccount");
    for pod in pods(python) {
        assert_eq!(pod["serviceAccountName"], account["metadata"]["name"]);
        let volumes = list(&pod, "/volumes").iter().filter_map(|volume| volume.pointer("/configMap/name"));
        let variables = containers(&pod).flat_map(|of| list(of, "/envFrom"));
        let variables = variables.filter_map(|from| from.pointer("/configMapRef/name"));
        let mut asked: Vec<&str> = variables.chain(volumes).map(|name| name.as_str().unwrap()).collect();
        asked.sort_unstable();
        let is_direct = list(&pod, "/initContainers").is_empty();
        assert_eq!(asked, if is_direct { names(&base) } else { names(&gateway) });
    }
    // The ports of masters and gateway, and the threads of the gateway, are those of the HBase of
    // developers.
    let said = help("hbase", None).unwrap();
    let default = |flag: &str| said.split_once(flag).unwrap().1.split(['[', ']']).nth(1).unwrap().to_owned();
    let store = words(&base[0]["literals"]).remove(0);
    let masters =
        store.strip_prefix("PIGEONHOLE_STORE=hbase+rpc://").and_then(|store| store.strip_suffix("/news"));
    let port = default("--master-port N");
    assert!(
        masters.is_some_and(|masters| masters.split(',').all(|master| master.ends_with(&format!(":{port}")))),
        "{store}"
    );
    assert_eq!(gateway[0]["behavior"], "merge");
    let store = words(&gateway[0]["literals"]).remove(0);
    assert_eq!(store, format!("PIGEONHOLE_STORE=hbase://127.0.0.1:{}/news", default("--port N")));
    let files = words(&gateway[1]["files"]);
    assert!(files.iter().all(|file| path("kubernetes/gateway").join(file).exists()), "{files:?}");
    let [own, of_developers] = ["kubernetes/gateway/hbase-site.xml", "hbase/conf/common-site.xml"].map(text);
    for setting in
        ["hbase.thrift.minWorkerThreads", "hbase.thrift.maxWorkerThreads", "hbase.thrift.info.port"]
    {
        let line = own.lines().find(|line| line.contains(setting)).expect(setting);
        assert!(of_developers.contains(line.trim()), "{line}");
    }
}

#[test]
fn containers_are_restricted_and_take_what_they_are_told() {
    let Some(python) = python("the manifests") else { return };
    let namespace = object(python, "kubernetes/base/namespace.yaml", "Namespace");
    assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
    for pod in &pods(python).collect::<Vec<_>>() {
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        for container in containers(pod) {
            let context = &container["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false, "{container}");
            assert_eq!(context["readOnlyRootFilesystem"], true, "{container}");
            assert_eq!(context["capabilities"]["drop"][0], "ALL", "{container}");
            assert!(container["resources"]["limits"]["memory"].is_string(), "{container}");
            let own =
                list(container, "/env").iter().map(|variable| variable["name"].as_str().unwrap().to_owned());
            let name = container["name"].as_str().unwrap();
            let variables = own.chain((name != "gateway").then(|| "PIGEONHOLE_STORE".to_owned()));
            Invocation::new(name, &started(container), variables).check();
        }
        let Some(sidecar) = list(pod, "/initContainers").first() else { continue };
        assert_eq!(sidecar["restartPolicy"], "Always");
        let probe = words(&sidecar["startupProbe"]["exec"]["command"]);
        Invocation::new("the gateway's probe", &probe, []).check();
        assert_eq!(probe[1..], ["status", "gateway"]);
    }
}

#[test]
fn there_is_time_to_stop() {
    let Some(python) = python("the manifests") else { return };
    let pod = deployment(python)["spec"]["template"]["spec"].clone();
    let needed = stop_seconds(words(&pod["containers"][0]["args"]));
    let given = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(given > needed, "a worker may take {needed} s, and is killed after {given}");
}

/// The Job's pods, run one after another over a local corpus and index, cover the corpus. A missing
/// shard would lose documents.
#[test]
fn the_shards_of_the_job_are_everything() {
    let Some(python) = python("the Job") else { return };
    let job = job(python)["spec"].clone();
    let n_pods = job["completions"].as_u64().unwrap();
    assert_eq!(job["completionMode"], "Indexed");
    let rules = list(&job, "/podFailurePolicy/rules");
    assert!(rules.iter().any(|rule| rule["action"] == "FailIndex" && rule["onExitCodes"]["values"][0] == 1));
    let args = started(&job["template"]["spec"]["containers"][0]);
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").display());
    let corpus = news().display().to_string();
    let args: Vec<&str> =
        args[1..].iter().map(|arg| if arg.starts_with("s3://") { &*corpus } else { &**arg }).collect();
    assert!(args.contains(&&*corpus), "the Job reads no bucket: {args:?}");
    let mut n_indexed = 0;
    for n in 0..n_pods {
        let mut pod = command("indexer", &args);
        let report = stdout(pod.env("JOB_COMPLETION_INDEX", n.to_string()).env("PIGEONHOLE_STORE", &store));
        let indexed = report.lines().find_map(|line| line.strip_prefix("indexed")).expect(&report);
        n_indexed += indexed.trim().parse::<u64>().unwrap();
    }
    let whole = folder.path().join("whole");
    let whole = format!("embedded:{}", whole.display());
    let report = run("indexer", ["index", "-q", &corpus, "--store", &whole]).expect(0).stdout;
    assert!(
        report.contains(&format!("indexed {n_indexed:>18}\n")),
        "{n_indexed} by shards, and in one go:\n{report}"
    );
}
