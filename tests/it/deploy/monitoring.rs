//! Prometheus and Grafana: the metrics in their expressions are those of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use store_hbase::FakeGateway;

use super::{check, is_there, path, python, stdout, text, words, yaml};
use crate::support::{Worker, run};

const TEXT: &str = "A worker that has something to count, since what was never counted is in no answer yet.";

/// Returns the labels by name of all samples of workers, over a local store and over HBase, after
/// each kind of event has happened.
fn served() -> BTreeMap<String, BTreeSet<String>> {
    let folder = tempfile::tempdir().unwrap();
    let embedded = Worker::start(&format!("embedded:{}", folder.path().join("index").display()), &[]);
    let gateway = FakeGateway::start();
    for table in [("news", &["f"][..]), ("news_docs", &["d", "m"][..])] {
        gateway.create_table(table.0, table.1);
    }
    let hbase = Worker::start(&format!("hbase://{}/news", gateway.address()), &["--store-wait-seconds", "0"]);
    for worker in [&embedded, &hbase] {
        assert_eq!(worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT })).0, 201);
        assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 200);
    }
    let answer = hbase.get_text("/metrics");
    drop(gateway);
    assert_eq!(hbase.post("/v1/query", &json!({ "text": TEXT })).0, 503);
    let mut served: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for text in [answer, hbase.get_text("/metrics"), embedded.get_text("/metrics")] {
        for sample in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, rest) = sample.split_at(sample.find(['{', ' ']).unwrap());
            let labels =
                rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(labels, _)| labels);
            let labels = labels
                .split("\",")
                .filter_map(|label| label.split_once('='))
                .map(|(name, _)| name.to_owned());
            served.entry(name.to_owned()).or_default().extend(labels);
        }
    }
    served
}

/// Labels that Prometheus adds.
const OF_PROMETHEUS: [&str; 2] = ["job", "instance"];

/// Returns the metrics of an expression, each with its labels there, and the grouping labels.
fn asked(expression: &str) -> (BTreeMap<String, BTreeSet<String>>, BTreeSet<String>) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let labels_of = |list: &str| -> BTreeSet<String> {
        let names = list.split(',').map(|label| label.split(['=', '!']).next().unwrap().trim().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    };
    let mut metrics: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut rest = expression;
    while let Some(at) = rest.find("pigeonhole_") {
        let from = &rest[at..];
        let (name, after) = from.split_at(from.find(|c| !is_name(c)).unwrap_or(from.len()));
        let labels =
            after.strip_prefix('{').and_then(|after| after.split_once('}')).map_or("", |(labels, _)| labels);
        metrics.entry(name.to_owned()).or_default().extend(labels_of(labels));
        rest = after;
    }
    let groups = expression.split("by (").skip(1).flat_map(|rest| labels_of(rest.split(')').next().unwrap()));
    (metrics, groups.collect())
}

/// Checks that workers serve every metric, with every label of the expression.
#[track_caller]
fn check_asked(place: &str, expression: &str, served: &BTreeMap<String, BTreeSet<String>>) -> usize {
    let (metrics, groups) = asked(expression);
    let mut known: BTreeSet<&str> = OF_PROMETHEUS.into();
    for (name, labels) in &metrics {
        let has = served.get(name).unwrap_or_else(|| panic!("{place}: no worker serves {name}"));
        for label in labels {
            let is_known = has.contains(label) || OF_PROMETHEUS.contains(&&**label);
            assert!(is_known, "{place}: {name} has no label {label}");
        }
        known.extend(has.iter().map(String::as_str));
    }
    for label in groups {
        assert!(known.contains(&*label), "{place}: no metric of it has the label {label}");
    }
    metrics.len()
}

/// Returns (name, expression) of all alerts.
fn alerts(python: &std::path::Path) -> Vec<(String, String)> {
    let rules = yaml(python, "prometheus/rules.yml").remove(0);
    let groups = rules["groups"].as_array().unwrap().iter();
    let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rules.map(|rule| (text(&rule["alert"]), text(&rule["expr"]))).collect()
}

/// Returns (title of the panel, expression) of all queries of the dashboard.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let title = panel["title"].as_str().unwrap().to_owned();
            queries.push((title, target["expr"].as_str().unwrap().to_owned()));
        }
    }
    queries
}

fn dashboard() -> Value {
    serde_json::from_str(&text("grafana/pigeonhole.json")).unwrap()
}

#[test]
fn metrics_are_those_of_workers() {
    let served = served();
    let dashboard = dashboard();
    let mut shown = BTreeSet::new();
    for (title, expression) in queries(&dashboard) {
        check_asked(&format!("panel {title:?}"), &expression, &served);
        shown.extend(asked(&expression).0.into_keys());
    }
    // The dashboard shows every metric.
    for name in served.keys().map(|name| name.trim_end_matches("_sum").trim_end_matches("_count")) {
        let name = name.trim_end_matches("_bucket");
        assert!(shown.iter().any(|shown| shown.starts_with(name)), "the dashboard does not show {name}");
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if let Some(query) = variable["query"]["query"].as_str() {
            assert_eq!(check_asked(&format!("variable {}", variable["name"]), query, &served), 1);
        }
    }
    let Some(python) = python("the rules") else { return };
    let alerts = alerts(python);
    let n_metrics: usize = alerts.iter().map(|(name, expr)| check_asked(name, expr, &served)).sum();
    assert!(n_metrics >= 10 && alerts.len() >= 8, "{alerts:?}");
}

/// Alerts match values of labels that exist, even those a worker has only in rare failures.
#[test]
fn values_of_labels_are_those_of_workers() {
    let description = Worker::start("memory:", &[]).get("/openapi.json").1;
    let is_path = |route: &str| description["paths"].get(route).is_some();
    let kinds =
        fs::read_to_string(crate::support::root().join("crates/query-worker/src/metrics.rs")).unwrap();
    let mut n_checked = 0;
    for text in
        [text("prometheus/rules.yml"), text("prometheus/rules_test.yml"), text("grafana/pigeonhole.json")]
    {
        let text = text.replace("\\\"", "\"");
        for (label, is_known) in [
            ("route", &(|value: &str| value == "none" || is_path(value)) as &dyn Fn(&str) -> bool),
            ("kind", &|value| kinds.contains(&format!("=> \"{value}\""))),
        ] {
            for sign in ["=~\"", "=\""] {
                for values in text.split(&format!("{label}{sign}")).skip(1) {
                    for value in values.split('"').next().unwrap().split('|') {
                        assert!(is_known(value), "{label} is never {value}");
                        n_checked += 1;
                    }
                }
            }
        }
    }
    assert!(n_checked > 15, "only {n_checked} were found");
}

#[test]
fn promtool_finds_nothing() {
    if !is_there("promtool", "the rules of Prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for file in ["prometheus.yml", "rules.yml", "rules_test.yml"] {
        fs::copy(path("prometheus").join(file), folder.path().join(file)).unwrap();
    }
    // The key is the operator's; any key shows that the file is read.
    let key = run("query-worker", ["new-key", "--name", "prometheus", "--scopes", "read"]).expect(0).stderr;
    fs::write(folder.path().join("pigeonhole.key"), key.trim().rsplit(' ').next().unwrap()).unwrap();
    // The second job, commented out, is valid too. Debian's promtool lacks Kubernetes, so static
    // targets replace its pods.
    let configuration = text("prometheus/prometheus.yml");
    let (first, jobs) = configuration.split_once("  - job_name").unwrap();
    let (_, other) = jobs.split_once("  # - job_name").expect("there is another job");
    let other = format!("{first}  - job_name{}", other.replace("\n  # ", "\n  "));
    let (before, pods) = other.split_once("    kubernetes_sd_configs:\n").expect("it is for Kubernetes");
    let (_, after) = pods.split_once("    relabel_configs:\n").unwrap();
    let other = format!("{before}    static_configs: [{{targets: [pod]}}]\n    relabel_configs:\n{after}");
    fs::write(folder.path().join("kubernetes.yml"), other).unwrap();
    let queries = queries(&dashboard());
    let records: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(n, (_, expr))| json!({ "record": format!("panel:{n}"), "expr": expr.replace("$__rate_interval", "5m") }))
        .collect();
    let rules = json!({ "groups": [{ "name": "dashboard", "rules": records }] });
    fs::write(folder.path().join("dashboard.yml"), rules.to_string()).unwrap();
    let promtool = |args: &[&str]| stdout(Command::new("promtool").args(args).current_dir(&folder));
    promtool(&["check", "config", "prometheus.yml"]);
    promtool(&["check", "config", "kubernetes.yml"]);
    let checked = promtool(&["check", "rules", "rules.yml", "dashboard.yml"]);
    assert!(checked.contains(&format!("{} rules found", queries.len())), "{checked}");
    promtool(&["test", "rules", "rules_test.yml"]);
}

/// Each rule has a test in which it fires and one in which it is silent.
#[test]
fn each_alert_is_tested() {
    let Some(python) = python("the tests of alerts") else { return };
    let tests = yaml(python, "prometheus/rules_test.yml").remove(0);
    assert_eq!(words(&tests["rule_files"]), ["rules.yml"]);
    let mut fires = BTreeSet::new();
    let mut silent = BTreeSet::new();
    for test in tests["tests"].as_array().unwrap() {
        for case in test["alert_rule_test"].as_array().unwrap() {
            let of_case = if case.get("exp_alerts").is_some() { &mut fires } else { &mut silent };
            of_case.insert(case["alertname"].as_str().unwrap());
        }
    }
    for (name, _) in alerts(python) {
        assert!(fires.contains(&*name), "{name} fires in no test");
        assert!(silent.contains(&*name), "{name} is silent in no test");
    }
}

#[test]
fn the_dashboard_is_one_of_grafana() {
    let Some(python) = python("the dashboard") else { return };
    check(python, "dashboard", [path("grafana/pigeonhole.json")]);
    let dashboard = dashboard();
    let ids: Vec<_> =
        dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["id"].to_string()).collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "two panels have one id");
    let kinds: BTreeSet<_> =
        dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["type"].as_str()).collect();
    assert_eq!(kinds, [Some("row"), Some("stat"), Some("timeseries")].into());
}
