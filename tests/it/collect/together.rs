//! Independent collectors with a common index and a common folder for results.

use std::process::Child;

use serde_json::{Value, json};

use super::{Place, item};
use crate::hbase::{create, url};
use crate::support::{command, hbase, run, until};

const N: usize = 400;

/// The folder of a collector's state.
const STATE: &str = "incoming/.collector";

/// Gives the same texts to two collectors at once, under other ids. Both are killed in the middle,
/// and go on.
fn check(store: &str) {
    let places = [Place::new(), Place::new()];
    let results = places[0].text("results");
    let args = |n: usize| {
        let incoming = places[n].text("incoming");
        let args = ["--watch", &incoming, "--results", &results, "--store", store, "--once", "-q"];
        ["collect"].iter().chain(&args).map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
    };
    for (n, place) in places.iter().enumerate() {
        let items = (0..N).map(|i| item(i, &json!({ "id": format!("{n}/{i}"), "n": i })));
        place.deliver("a.jsonl", items.collect::<String>());
    }
    let numbers = |items: &str| {
        let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["n"].as_u64().unwrap();
        let mut numbers: Vec<u64> = items.lines().map(number).collect();
        numbers.sort_unstable();
        numbers
    };
    let corpus = places[0].text("incoming/a.jsonl");
    let expected = numbers(&run("indexer", ["dedup", "-q", "--output", "-", &corpus]).expect(0).stdout);
    assert!(expected.len() > N - 10, "some are near by chance, but not many");
    let mut collectors: Vec<Child> = (0..2).map(|n| command("indexer", args(n)).spawn().unwrap()).collect();
    for (place, collector) in places.iter().zip(&mut collectors) {
        // The journal is gone once the round is counted.
        until(|| ["journal/job.json", "totals.json"].iter().any(|name| place.at(STATE).join(name).exists()));
        collector.kill().unwrap();
        collector.wait().unwrap();
    }
    let collectors: Vec<Child> = (0..2).map(|n| command("indexer", args(n)).spawn().unwrap()).collect();
    for collector in collectors {
        let output = collector.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let kept: String = places[0].items("source=").iter().map(|item| format!("{item}\n")).collect();
    assert_eq!(numbers(&kept), expected, "each text is kept once");
    let duplicates: u64 =
        places.iter().map(|place| place.totals()["counts"]["n_duplicates"].as_u64().unwrap()).sum();
    assert_eq!(duplicates as usize, 2 * N - expected.len());
}

#[test]
fn of_an_index_on_this_machine() {
    let place = Place::new();
    check(&place.store());
}

#[test]
fn of_an_index_in_hbase() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_collected", &[("collected", "5c2")]);
    check(&url(hbase.gateway, "collected"));
}

/// Forgotten documents are new again.
#[test]
fn of_an_index_that_forgets() {
    let place = Place::new();
    let collect = |id: &str, more: &[&str]| {
        place.deliver("a.jsonl", item(1, &json!({ "id": id })));
        place.collect(more).expect(0);
        place.items("source=").len()
    };
    assert_eq!(collect("first", &["--retain", "1h"]), 1);
    assert_eq!(collect("again", &[]), 1);
    let place = Place::new();
    let collect = |id: &str, more: &[&str]| {
        place.deliver("a.jsonl", item(1, &json!({ "id": id })));
        place.collect(more).expect(0);
        place.items("source=").len()
    };
    assert_eq!(collect("first", &["--retain", "1s"]), 1);
    until(|| collect("again", &[]) == 2);
}
