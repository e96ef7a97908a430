//! Checks the pairs in the output of `indexer pairs` against the truth.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{self, World};

/// Returns the counts, and true if `folder` has each planted pair and each pair of the real
/// documents exactly once, and otherwise only pairs that are near by chance.
pub(crate) fn check(world: World, n: u64, folder: &Path, real: Option<&Path>) -> (Value, bool) {
    let real: HashSet<[String; 2]> = real.map(read_real).unwrap_or_default();
    let mut found = [0; world::DISTANCE_MAX as usize + 1];
    let (mut n_chance, mut n_wrong) = (0, 0);
    // One bit for each planted document: a second pair of the same document is wrong.
    let mut planted = vec![false; (n / world::FAMILY + 1) as usize * 3];
    let mut real_found = HashSet::new();
    let mut parts: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    parts.sort();
    for part in parts.iter().filter(|part| part.extension().is_some_and(|end| end == "jsonl")) {
        for line in BufReader::new(File::open(part).unwrap()).lines() {
            let pair: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let ids = [&pair["a"], &pair["b"]].map(|id| id.as_str().unwrap().to_owned());
            let distance = pair["distance"].as_u64().unwrap();
            match ids.each_ref().map(|id| id.parse::<u64>()) {
                [Ok(a), Ok(b)] => {
                    let is_so =
                        u64::from((world.fingerprint(a) ^ world.fingerprint(b)).count_ones()) == distance;
                    let later = a.max(b);
                    if !is_so || later >= n || distance > world::DISTANCE_MAX {
                        n_wrong += 1;
                    } else if world.mate(a) == Some(b) {
                        let place = (later / world::FAMILY * 3 + world::distance(later) - 1) as usize;
                        n_wrong += u64::from(std::mem::replace(&mut planted[place], true));
                        found[distance as usize] += 1;
                    } else {
                        n_chance += 1;
                    }
                }
                [Err(_), Err(_)] => {
                    let ids = sorted(ids);
                    if real.contains(&ids) {
                        n_wrong += u64::from(!real_found.insert(ids));
                    } else {
                        n_wrong += 1;
                    }
                }
                _ => n_chance += 1,
            }
        }
    }
    let expected = world::n_planted(n);
    let is_right = n_wrong == 0 && found == expected && real_found.len() == real.len();
    let report = json!({
        "planted": expected[1..].iter().sum::<u64>(),
        "planted_by_distance": expected[1..],
        "found_by_distance": found[1..],
        "real": real.len(),
        "real_found": real_found.len(),
        "by_chance": n_chance,
        "by_chance_expected": world::n_by_chance(n),
        "wrong": n_wrong,
    });
    (report, is_right)
}

/// Reads pairs in the format of `indexer dedup --pairs`. Ids of real documents get a letter in
/// front, because ids of made documents are numbers.
fn read_real(path: &Path) -> HashSet<[String; 2]> {
    let lines = BufReader::new(File::open(path).unwrap()).lines();
    let ids = |line: String| {
        let pair: Value = serde_json::from_str(&line).unwrap();
        sorted([&pair["a"], &pair["b"]].map(|id| format!("r{}", id.as_str().unwrap())))
    };
    lines.map(|line| ids(line.unwrap())).collect()
}

fn sorted(mut ids: [String; 2]) -> [String; 2] {
    ids.sort();
    ids
}
