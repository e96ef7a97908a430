//! Findings and repairs of an examination in Redis after tampering, by the store and by the
//! program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use index::testsuite::FakeClock;
use index::{Examined, Finding, FindingKind, Metadata, Retention, Store};

use super::{document, metadata, open_with_clock};
use crate::support::{Random, Redis, apart, redis, run};

fn examine(store: &dyn Store, mends: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |examined| {
        if let Examined::Found(finding) = examined {
            findings.push(finding);
        }
    };
    store.examine(mends, &mut report).unwrap();
    findings.sort_by(|a, b| (a.kind, &a.place).cmp(&(b.kind, &b.place)));
    findings
}

/// Returns the kinds of the findings, and the first words of their places.
fn told(findings: &[Finding]) -> Vec<(FindingKind, &str)> {
    let mut told: Vec<_> = findings
        .iter()
        .map(|finding| (finding.kind, finding.place.split(' ').next().unwrap_or_default()))
        .collect();
    told.dedup();
    told
}

/// Returns all keys of an index with their values, without answers stored for repetitions.
fn dump(redis: &Redis, name: &str) -> String {
    let script = "local all = {} for _, key in ipairs(redis.call('KEYS', ARGV[1])) do \
        if not string.find(key, ':a:', 1, true) then \
        local is_set = redis.call('TYPE', key).ok == 'zset' \
        local value = is_set and table.concat(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), ' ') or redis.call('GET', key) \
        all[#all + 1] = redis.sha1hex(key) .. ' ' .. redis.sha1hex(value) end end \
        table.sort(all) return all";
    redis.cli(&["eval", script, "0", &format!("pigeonhole:{{{name}}}:*")])
}

/// Runs a script on the index in the server; `P` in the script is the prefix of its keys.
fn meddle(redis: &Redis, name: &str, script: &str) {
    let script = format!(
        "local P, call = 'pigeonhole:{{{name}}}:', redis.call \
         local function all(what) local keys = call('KEYS', P .. what .. ':*') table.sort(keys) return keys end {script} return 'ok'"
    );
    let said = redis.cli(&["eval", &script, "0"]);
    assert_eq!(said.trim(), "ok", "{script}");
}

fn open(redis: &Redis, name: &str, retains: bool) -> (FakeClock, Box<dyn Store>) {
    let clock = FakeClock::at_present();
    let store = open_with_clock(&redis.url(name), clock.clock());
    let retain = Retention::from_seconds(1_000).filter(|_| retains);
    store.create(&Metadata { retain, ..metadata() }).unwrap();
    (clock, store)
}

/// Every fault, one after another, in an index of either kind.
///
/// An examination lists all keys of its server, and other tests leave many in theirs.
#[test]
fn what_is_wrong_is_found_and_mended() {
    let Some(redis) = &Redis::start(&[]) else { return };
    let ghost = |place| (FindingKind::Ghost, place);
    let unfiled = |place| (FindingKind::Unfiled, place);
    for (number, (script, retaining_only, expected)) in [
        // The run of document a is in none of its buckets; in all but one.
        ("for _, key in ipairs(all('b')) do call('ZREM', key, RUN) end", false, vec![unfiled("a")]),
        ("call('ZREM', OWN, RUN)", false, vec![unfiled("a")]),
        ("call('ZREM', P .. 'r:' .. RUN, 'a')", false, vec![unfiled("a")]),
        ("call('ZREM', P .. 'ids', 'a')", false, vec![unfiled("a")]),
        ("call('ZREM', P .. 'times', 'a')", true, vec![unfiled("a")]),
        ("call('ZADD', P .. 'times', 7, 'a')", true, vec![unfiled("a")]),
        ("call('ZREM', P .. 't:' .. LARGE, 'l17')", true, vec![unfiled("l17")]),
        // Traces of a missing record that expire by themselves.
        ("call('DEL', P .. 'd:a')", false, vec![ghost("a"), ghost("run")]),
        // Ids in wrong places.
        ("call('ZADD', P .. 'ids', 0, 'never')", false, vec![ghost("never")]),
        ("call('ZADD', P .. 'times', 7, 'never')", true, vec![ghost("never")]),
        ("call('ZADD', P .. 'r:' .. RUN, 0, 'c')", false, vec![ghost("c")]),
        ("call('ZADD', P .. 'r:' .. RUN, 0, 'never')", false, vec![ghost("never")]),
        ("call('ZADD', P .. 't:' .. RUN, 0, 'a')", true, vec![ghost("a")]),
        ("call('ZADD', P .. 't:' .. LARGE, 9, 'never')", true, vec![ghost("never")]),
        // A run in a bucket of another one, and a run without ids.
        ("call('ZADD', P .. 'b:zzzzz', 0, RUN)", false, vec![ghost("run")]),
        ("call('ZADD', OWN, 0, '12345678\\0')", false, vec![ghost("run")]),
    ]
    .into_iter()
    .enumerate()
    {
        for retains in [false, true] {
            if retaining_only && !retains {
                continue;
            }
            let name = format!("upkeep-{number}-{retains}");
            let (_, store) = open(redis, &name, retains);
            let mut documents = vec![document("a", 1), document("b", 2), document("c", u64::MAX)];
            documents.extend((0..150).map(|n| document(&format!("l{n}"), 0xffff)));
            store.insert(&documents).unwrap();
            assert_eq!(examine(&*store, true), []);
            let begin = "local record = call('GET', P .. 'd:a') local RUN = string.sub(record, 2, 10) \
                local OWN = P .. 'b:' .. string.sub(record, -9, -5) \
                local LARGE = string.sub(call('GET', P .. 'd:l0'), 2, 10) ";
            meddle(redis, &name, &format!("{begin}{script}"));
            let before = dump(redis, &name);
            let seen = examine(&*store, false);
            // A repair of the first finding may reveal or settle others.
            assert!(told(&seen).contains(&expected[0]), "{script}: {seen:?}");
            assert_eq!(dump(redis, &name), before, "{script}: looking has changed something");
            let mended = examine(&*store, true);
            assert!(mended.iter().all(|finding| finding.is_mended), "{script}: {mended:?}");
            assert_eq!(told(&mended), expected, "{script}");
            assert_eq!(examine(&*store, false), [], "{script}");
            let left = !script.contains("DEL");
            let found = store.near(&[document("query", 1).sketch], &apart(0).into(), 9).unwrap().remove(0);
            assert_eq!(found.n_matches, u64::from(left), "{script}");
            // Later writes find all in order.
            store.insert(&[document("a", 1)]).unwrap();
            let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
            assert!(store.remove(&ids).unwrap().iter().all(|&removed| removed), "{script}");
            assert_eq!(examine(&*store, false), [], "{script}");
            assert_eq!(store.status().unwrap().n_documents, Some(0), "{script}");
        }
    }
}

/// An unreadable record is reported, and stays with all that leads to it.
#[test]
fn what_is_damaged_stays() {
    let Some(redis) = redis() else { return };
    let (_, store) = open(redis, "upkeep-damaged", false);
    store.insert(&[document("a", 1), document("b", 1), document("c", u64::MAX)]).unwrap();
    meddle(
        redis,
        "upkeep-damaged",
        "call('SET', P .. 'd:a', 'nonsense') call('SETRANGE', P .. 'd:c', 12, 'x')",
    );
    for mends in [false, true, true] {
        let findings = examine(&*store, mends);
        let places: Vec<_> = findings.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["record a", "record c"]);
        assert!(findings.iter().all(|f| f.kind == FindingKind::Damaged && !f.is_mended), "{findings:?}");
    }
}

/// Without tampering there are no findings, despite other writers and expired documents.
#[test]
fn beside_writers_of_every_kind() {
    let Some(redis) = redis() else { return };
    for retains in [false, true] {
        let name = format!("upkeep-beside-{retains}");
        let (clock, store) = open(redis, &name, retains);
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let (is_done, store, clock) = (&is_done, &store, &clock);
            let writers: Vec<_> = (0..2_u64)
                .map(|writer| {
                    scope.spawn(move || {
                        let mut random = Random(writer + 3);
                        for round in 0..60_u64 {
                            let documents: Vec<_> = (0..40)
                                .map(|_| {
                                    document(
                                        &format!("{}", random.below(300)),
                                        (random.below(9) as u64) << 20,
                                    )
                                })
                                .collect();
                            match round % 3 {
                                0 => drop(store.insert(&documents).unwrap()),
                                1 => drop(store.insert_if_new(&documents, &apart(1).into()).unwrap()),
                                _ => {
                                    let ids: Vec<_> = documents.iter().map(|d| d.id.clone()).collect();
                                    store.remove(&ids[..20]).unwrap();
                                }
                            }
                            clock.advance_ms(20_000);
                        }
                    })
                })
                .collect();
            let examiner = scope.spawn(move || {
                let mut n_rounds = 0;
                while !is_done.load(Ordering::Relaxed) || n_rounds < 2 {
                    n_rounds += 1;
                    assert_eq!(examine(&**store, n_rounds % 2 == 0), []);
                }
            });
            let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            is_done.store(true, Ordering::Relaxed);
            examiner.join().unwrap();
            outcomes.into_iter().for_each(|outcome| outcome.unwrap());
        });
        clock.advance_ms(5_000_000);
        assert_eq!(examine(&*store, false), []);
    }
}

#[test]
fn the_programs_find_and_mend_it() {
    let Some(redis) = redis() else { return };
    let (_, store) = open(redis, "upkeep-cli", false);
    let documents: Vec<_> = (0..30_u64).map(|n| document(&format!("n{n:02}"), (n << 32) | (n * n))).collect();
    store.insert(&documents).unwrap();
    let url = redis.url("upkeep-cli");
    let at =
        |command, more: &[&str]| run("pigeonhole", [&[command, "-q", "--store", &url][..], more].concat());
    let sound = at("verify", &[]).expect(0).stdout;
    assert!(sound.contains("unfiled              0\n"), "{sound}");
    assert!(!sound.contains('#'), "{sound}");
    at("repair", &[]).expect(0);

    meddle(redis, "upkeep-cli", "for _, key in ipairs(all('b')) do call('DEL', key) end");
    for command in ["verify", "repair"] {
        let seen = at(command, &["--limit", "7"]).expect(1).stdout;
        assert_eq!(seen.lines().filter(|line| line.starts_with("unfiled\tn")).count(), 7, "{seen}");
        assert!(seen.contains("unfiled\tand 23 more\n"), "{seen}");
        assert!(seen.contains("unfiled             30"), "{seen}");
        assert!(seen.contains(&format!("pigeonhole repair --store {url} --apply")), "{seen}");
    }
    let mended = at("repair", &["--apply"]).expect(0).stdout;
    assert!(
        mended.contains("\tmended\n") && mended.contains("unfiled             30        30         0\n"),
        "{mended}"
    );
    at("verify", &[]).expect(0);
    // Damage is left, and the output names a remedy.
    meddle(redis, "upkeep-cli", "call('SET', P .. 'd:n03', 'nonsense')");
    let left = at("repair", &["--apply"]).expect(1).stdout;
    assert!(left.contains("damaged\trecord n03\tleft\n"), "{left}");
    assert!(left.contains("pigeonhole repair --help"), "{left}");
    at("verify", &[]).expect(1);
}
