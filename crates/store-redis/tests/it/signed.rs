//! Documents with signatures, of every profile, compared with the store in memory; and the rows
//! that lead to them.

use std::collections::BTreeSet;
use std::thread;

use index::testsuite::{FakeClock, apart, id, signature, spread, within};
use index::{
    Clock, Document, Examined, Features, Finding, FindingKind, Identity, Insertion, MemoryStore, Metadata,
    Profile, Retention, Rule, SketchKind, Store,
};
use minhash::{Bins, LONG_BINS, Signature, Similarity, hash_words};
use redis::Connection;
use simhash::Fingerprint;

use crate::server::{Server, server};

pub(crate) const RETAIN_MS: i64 = 1_000_000;

pub(crate) fn metadata(profile: Profile, retains: bool) -> Metadata {
    let kind = SketchKind::default().of_profile(profile).expect("flags of the default do not clash");
    Metadata {
        format_version: index::FORMAT_VERSION,
        max_distance: kind.max_distance(),
        kind,
        min_similarity: Some(Similarity::clamped(0.8)),
        texts: index::TextKeeping::None,
        same_numbers: false,
        key: None,
        retain: Retention::from_seconds(RETAIN_MS as u32 / 1_000).filter(|_| retains),
        recipe: [].into(),
        identity: Identity::new([1; 16]),
    }
}

fn create(server: &Server, name: &str, profile: Profile, retains: bool) -> (FakeClock, Box<dyn Store>) {
    let clock = FakeClock::at_present();
    let store = server.open(name, clock.clock());
    store.create(&metadata(profile, retains)).expect("a fresh index can be created");
    (clock, Box::new(store))
}

/// Draws documents of few families, which are near each other in many ways and to many degrees.
struct Draw {
    state: u64,
    kind: SketchKind,
}

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.state += 1;
        spread(self.state) % n
    }

    /// A signature of either version.
    fn signature(&mut self) -> Option<Signature> {
        let signature = self.first_signature();
        match self.below(3) as u32 {
            0 => signature,
            digest => signature.map(|signature| signature.with_numbers(digest)),
        }
    }

    fn first_signature(&mut self) -> Option<Signature> {
        let n = [3_u64, 20, 40, 60, 300][self.below(5) as usize];
        let from = self.below(3) * n.div_ceil(12) + 10_000 * self.below(4);
        let set: Vec<u64> = (from..from + n).map(|element| hash_words(element, 7)).collect();
        let bins = || Bins::<LONG_BINS>::of(&set).expect("it has elements");
        match self.below(12) {
            0 => None,
            1 => Some(Signature::equality(spread(from))),
            2..=4 if n <= 60 => Signature::both(&bins(), n, &set),
            _ if n <= 40 => Signature::short(&set),
            _ => Some(Signature::long(&bins(), n)),
        }
    }

    fn document(&mut self, name: u64) -> Document {
        let simhash = (self.below(6) > 0).then(|| {
            let centre = spread(self.below(3) + 77);
            Fingerprint((0..self.below(4)).fold(centre, |bits, _| bits ^ 1 << self.below(64)))
        });
        let signature = self.signature();
        let features = Features { simhash, signature, text: None };
        Document { id: id(&format!("{name}")), sketch: self.kind.sketch(features), source: None }
    }
}

/// Batches, boilerplate and all rules, with and without a retention.
#[test]
fn redis_answers_as_the_memory_does() {
    let Some(server) = server() else { return };
    for (profile, name) in Profile::ALL {
        for retains in [false, true] {
            let (clock, store) = create(&server, &format!("as-memory-{name}-{retains}"), profile, retains);
            let memory = MemoryStore::with_clock(clock.clock());
            let metadata = metadata(profile, retains);
            memory.create(&metadata).unwrap();
            let mut draw = Draw { state: 9 << 40 | u64::from(retains), kind: metadata.kind.clone() };
            let (mut n_found, mut n_duplicates) = (0, 0);
            for round in 0..4 {
                let n = 100 * round;
                let mut documents: Vec<_> = (0..150).map(|k| draw.document(n + k)).collect();
                // More documents of one sketch than a page of ids has, and than a small run.
                let boilerplate = draw.document(0).sketch;
                documents.extend((0..140).map(|k| Document {
                    id: id(&format!("equal {k}")),
                    sketch: boilerplate.clone(),
                    source: None,
                }));
                let inserted = [&*store, &memory].map(|store| store.insert(&documents).unwrap());
                assert_eq!(inserted[0], inserted[1], "{name} {round}");
                for rule in [
                    metadata.rule(),
                    within(3),
                    Rule { max_distance: apart(0), ..metadata.rule() },
                    Rule { same_numbers: true, ..metadata.rule() },
                ] {
                    let queries: Vec<_> = (0..30).map(|k| draw.document(k).sketch).collect();
                    for limit in [0, 3, 10_000] {
                        let found = [&*store, &memory].map(|store| {
                            let found = store.near(&queries, &rule, limit).unwrap();
                            found
                                .into_iter()
                                .map(|found| (found.matches, found.n_matches))
                                .collect::<Vec<_>>()
                        });
                        assert_eq!(found[0], found[1], "{name} {round} {rule:?} {limit}");
                        n_found += found[0].iter().map(|(matches, _)| matches.len()).sum::<usize>();
                    }
                    let new: Vec<_> = (0..30).map(|k| draw.document(n + 5 * k)).collect();
                    let inserted = [&*store, &memory].map(|store| store.insert_if_new(&new, &rule).unwrap());
                    assert_eq!(inserted[0], inserted[1], "{name} {round} {rule:?}");
                    let is_duplicate = |of: &&Insertion| matches!(of, Insertion::Duplicate(_));
                    n_duplicates += inserted[0].iter().filter(is_duplicate).count();
                }
                let ids: Vec<_> = documents.iter().step_by(4).map(|document| document.id.clone()).collect();
                let removed = [&*store, &memory].map(|store| store.remove(&ids).unwrap());
                assert_eq!(removed[0], removed[1]);
                assert_eq!(examine(&*store, false), [], "{name} {round}");
                clock.advance_ms(RETAIN_MS / 3);
            }
            assert!(n_found > 3_000 && n_duplicates > 60, "{name}: {n_found} {n_duplicates}");
        }
    }
}

/// Documents proposed by bands alone, from several stores at once: one of each group stays.
#[test]
fn redis_takes_one_of_those_that_bands_propose() {
    let Some(server) = server() else { return };
    const N_GROUPS: u64 = 150;
    let metadata = metadata(Profile::Full, false);
    server.open("bands-race", Clock::system()).create(&metadata).unwrap();
    let inserted: Vec<u64> = thread::scope(|scope| {
        let writers: Vec<_> = (0..3_u64)
            .map(|writer| {
                let (metadata, store) = (&metadata, server.open("bands-race", Clock::system()));
                scope.spawn(move || {
                    let document = |group: u64| {
                        // Long and short texts, with simhashes that have nothing in common.
                        let (n, from) =
                            (if group.is_multiple_of(2) { 400 } else { 40 }, group * 1_000 + writer);
                        let simhash = Some(Fingerprint(spread(group * 3 + writer)));
                        let features =
                            Features { simhash, signature: Some(signature(from..from + n)), text: None };
                        let id = id(&format!("{group} {writer}"));
                        Document { id, sketch: metadata.kind.sketch(features), source: None }
                    };
                    let documents: Vec<_> = (0..N_GROUPS).map(document).collect();
                    let insertions = store.insert_if_new(&documents, &metadata.rule()).unwrap();
                    (0..)
                        .zip(insertions)
                        .filter(|(_, of)| *of == Insertion::Inserted)
                        .map(|(n, _)| n)
                        .collect()
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| -> Vec<u64> { writer.join().unwrap() }).collect()
    });
    assert_eq!(inserted.len() as u64, N_GROUPS);
    assert_eq!(inserted.into_iter().collect::<BTreeSet<_>>(), (0..N_GROUPS).collect());
}

pub(crate) fn examine(store: &dyn Store, mends: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |examined| {
        if let Examined::Found(finding) = examined {
            findings.push(finding);
        }
    };
    store.examine(mends, &mut report).expect("an examination");
    findings
}

/// The keys of an index with this prefix, except answers kept for repetitions.
pub(crate) fn keys(connection: &mut Connection, name: &str, what: &str) -> Vec<Vec<u8>> {
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS")
        .arg(format!("pigeonhole:{{{name}}}:{what}*"))
        .query(connection)
        .expect("an answer");
    let answers = format!("pigeonhole:{{{name}}}:a:").into_bytes();
    keys.into_iter().filter(|key| !key.starts_with(&answers)).collect()
}

/// A lost row of any facet is found and mended, and an extra one is removed.
#[test]
fn redis_mends_the_rows_of_all_facets() {
    let Some(server) = server() else { return };
    let mut connection = server.connection();
    for retains in [false, true] {
        let name = format!("mended-{retains}");
        let (_, store) = create(&server, &name, Profile::Full, retains);
        let kind = metadata(Profile::Full, retains).kind;
        let set: Vec<u64> = (0..45).map(|element| hash_words(element, 7)).collect();
        let signature = Signature::both(&Bins::of(&set).unwrap(), 45, &set);
        let features = Features { simhash: Some(Fingerprint(3)), signature, text: None };
        let sketch = kind.sketch(features);
        let a = Document { id: id("a"), sketch: sketch.clone(), source: None };
        store.insert(&[a.clone(), Document { id: id("b"), ..a.clone() }]).unwrap();
        let buckets = keys(&mut connection, &name, "b:");
        assert_eq!(buckets.len(), 10 + 16 + 16);
        assert_eq!(examine(&*store, true), []);
        let mut members = BTreeSet::new();
        for bucket in &buckets {
            let [member]: [Vec<u8>; 1] =
                redis::cmd("ZRANGE").arg(bucket).arg(0).arg(-1).query(&mut connection).unwrap();
            redis::cmd("ZREM").arg(bucket).arg(&member).exec(&mut connection).unwrap();
            let unfiled = |is_mended| {
                ["a", "b"].map(|id| Finding { kind: FindingKind::Unfiled, place: id.to_owned(), is_mended })
            };
            let mut found = examine(&*store, false);
            found.sort_by(|a, b| a.place.cmp(&b.place));
            assert_eq!(found, unfiled(false));
            // Mending the first document mends the row for both.
            let found = examine(&*store, true);
            assert!(matches!(&found[..], [mended] if unfiled(true).contains(mended)), "{found:?}");
            assert_eq!(examine(&*store, false), []);
            members.insert(member);
        }
        assert_eq!(members.len(), 3, "the bits of each facet");
        // A row with the bits of another facet, and a row of a run without documents.
        let (first, last) = (members.first().unwrap(), members.last().unwrap());
        let ghosts = [[&first[..8], &last[8..]].concat(), [&first[..9], &[7; 15]].concat(), last.clone()];
        for ghost in ghosts {
            let bucket = buckets.iter().find(|bucket| {
                let score: Option<f64> =
                    redis::cmd("ZSCORE").arg(bucket).arg(&ghost).query(&mut connection).unwrap();
                score.is_none()
            });
            redis::cmd("ZADD").arg(bucket).arg(0).arg(&ghost).exec(&mut connection).unwrap();
            let found = store.near(std::slice::from_ref(&sketch), &metadata(Profile::Full, false).rule(), 9);
            assert_eq!(found.unwrap()[0].n_matches, 2, "each once, and no ghost");
            let found = examine(&*store, true);
            assert!(
                matches!(&found[..], [Finding { kind: FindingKind::Ghost, is_mended: true, .. }]),
                "{found:?}"
            );
            assert_eq!(examine(&*store, false), []);
        }
        assert_eq!(store.remove(&[id("a"), id("b")]).unwrap(), [true, true]);
        for left in keys(&mut connection, &name, "") {
            assert!(
                [&b":metadata"[..], b":last_write", b":writes"].iter().any(|name| left.ends_with(name)),
                "{}",
                left.escape_ascii()
            );
        }
    }
}

/// An expired document gives the rows of all its facets back.
#[test]
fn redis_sweeps_the_rows_of_all_facets() {
    let Some(server) = server() else { return };
    let (clock, store) = create(&server, "swept", Profile::Full, true);
    let mut draw = Draw { state: 4, kind: metadata(Profile::Full, true).kind };
    let documents: Vec<_> = (0..120).map(|n| draw.document(n)).collect();
    store.insert(&documents).unwrap();
    assert!(keys(&mut server.connection(), "swept", "b:").len() > 300);
    clock.advance_ms(RETAIN_MS);
    let none = [id("none")];
    for _ in 0..10 {
        store.remove(&none).unwrap();
    }
    assert_eq!(keys(&mut server.connection(), "swept", "b:").len(), 0);
    assert_eq!(
        keys(&mut server.connection(), "swept", "").len(),
        3,
        "metadata, the last write and their number"
    );
}

/// A record changed by other hands is an error of the calls that meet it, and a finding of an
/// examination.
#[test]
fn redis_tells_damage_of_signed_records() {
    let Some(server) = server() else { return };
    let (_, store) = create(&server, "damaged", Profile::Full, false);
    let mut draw = Draw { state: 4, kind: metadata(Profile::Full, true).kind };
    let document = loop {
        let document = draw.document(0);
        if document.sketch.facets().len() == 2 {
            break document;
        }
    };
    store.insert(std::slice::from_ref(&document)).unwrap();
    let key = "pigeonhole:{damaged}:d:0";
    let mut connection = server.connection();
    let record: Vec<u8> = redis::cmd("GET").arg(key).query(&mut connection).unwrap();
    let mut check = |bytes: &[u8]| {
        let rule = metadata(Profile::Full, false).rule();
        let other = Document { id: id("other"), ..document.clone() };
        let calls: [&dyn Fn() -> index::Result<()>; 5] = [
            &|| store.near(std::slice::from_ref(&document.sketch), &rule, 3).map(drop),
            &|| store.insert_if_new(std::slice::from_ref(&other), &rule).map(drop),
            &|| store.get(std::slice::from_ref(&document.id)).map(drop),
            &|| store.insert(std::slice::from_ref(&document)).map(drop),
            &|| store.remove(&[id("other")]).map(drop),
        ];
        for call in calls {
            redis::cmd("SET").arg(key).arg(bytes).exec(&mut connection).unwrap();
            // A record with no more than a signature changed looks whole to a script.
            let kind = call().map_err(|error| error.kind());
            assert!(matches!(kind, Ok(()) | Err(index::ErrorKind::Corrupt)), "{bytes:?}: {kind:?}");
        }
        redis::cmd("SET").arg(key).arg(bytes).exec(&mut connection).unwrap();
    };
    for cut in 1..record.len() {
        check(&record[..cut]);
    }
    for position in 0..record.len() {
        let mut changed = record.clone();
        changed[position] ^= 1 << (position % 5);
        check(&changed);
    }
    let findings = examine(&*store, true);
    let is_told = |finding: &Finding| finding.kind == FindingKind::Damaged && finding.place == "record 0";
    assert!(findings.iter().any(is_told), "{findings:?}");
    let mut connection = server.connection();
    redis::cmd("SET").arg(key).arg(&record).exec(&mut connection).unwrap();
    store.remove(&[id("0"), id("other")]).unwrap();
    examine(&*store, true);
    assert_eq!(examine(&*store, false), []);
    assert_eq!(keys(&mut connection, "damaged", "").len(), 2, "the metadata and the number of writes");
}
