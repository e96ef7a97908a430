//! `pigeonhole plan`: its output as JSON and as text, and refused requests.

use serde_json::Value;

use crate::support::{news, run};

fn plan(args: &[&str]) -> Value {
    let said = run("pigeonhole", [&["plan", "--json"], args].concat()).expect(0).stdout;
    serde_json::from_str(&said).unwrap()
}

fn number(plan: &Value, pointer: &str) -> f64 {
    plan.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number {pointer} in {plan:#}"))
}

#[test]
fn the_plan_of_ten_billion_documents() {
    let asked = ["--documents", "1e10", "--queries-per-second", "5000"];
    for (profile, scheme, keys, candidates) in
        [("classic", "5c2", 10.0, 2_086.0), ("classic", "t11", 11.0, 214.0), ("full", "5c2", 26.0, 2_086.0)]
    {
        let plan = plan(&[&asked[..], &["--profile", profile, "--scheme", scheme]].concat());
        assert_eq!(number(&plan, "/stored/rows"), keys * 1e10);
        assert!((number(&plan, "/query/simhash_rows") / candidates - 1.0).abs() < 0.01, "{plan:#}");
        // As many servers as the greatest need, which is named.
        let decided_by = plan["servers"]["decided_by"].as_str().unwrap();
        let needed = number(&plan, &format!("/servers/by/{decided_by}"));
        let needs = plan["servers"]["by"].as_object().unwrap().values().map(|n| n.as_f64().unwrap());
        assert!(needs.clone().count() == 7 && needs.fold(0.0, f64::max) <= needed, "{plan:#}");
        assert!(number(&plan, "/servers/n") >= needed);
        assert!(number(&plan, "/query/cold_seconds_max") > number(&plan, "/query/warm_seconds"));
        assert!(plan["price_a_month"].is_null());
        let constants = plan["constants"].as_array().unwrap();
        assert!(
            constants.iter().all(|constant| constant["from"].as_str().is_some_and(|from| from.len() > 5))
        );
    }
}

/// Without a profile the plan recommends one, of which a query reads few rows.
#[test]
fn the_plan_recommends_what_reads_few_rows() {
    for (n, profile, scheme) in
        [("1e7", "full", "5c2"), ("1e9", "classic", "5c2"), ("1e10", "classic", "t11")]
    {
        let plan = plan(&["--documents", n]);
        assert_eq!((&plan["asked"]["profile"], &plan["asked"]["scheme"]), (&profile.into(), &scheme.into()));
        assert!(
            number(&plan, "/query/simhash_rows") + number(&plan, "/query/band_rows") <= 1_000.0,
            "{plan:#}"
        );
    }
    let said = run("pigeonhole", ["plan", "--documents", "1e10"]).expect(0).stdout;
    assert!(said.contains("profile classic, scheme t11 (recommended for as many)"), "{said}");
    assert!(said.contains("with profile full a query reads 630,000 rows"), "{said}");
}

/// A new index gets the recommended kind by the number of documents it is to hold.
#[test]
fn an_index_that_expects_many_documents_has_the_recommended_scheme() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").display());
    let index = |n: &str| {
        run("indexer", ["index", "-q", "--store", &store, "--expect-documents", n, news().to_str().unwrap()])
    };
    index("1e10").expect(0);
    let info = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
    assert!(info.contains("classic") && info.contains("t11"), "{info}");
    index("1e10").expect(0);
    assert!(index("1000").expect(2).stderr.contains("profile"));
    assert!(index("0").expect(2).stderr.contains("from 1 to"));
    let without = run("indexer", ["dedup", "-q", "--expect-documents", "1e10", news().to_str().unwrap()]);
    assert!(without.expect(2).stderr.contains("--store"));
}

#[test]
fn flags_say_what_is_planned() {
    let asked = ["--documents", "100M"];
    let default = plan(&asked);
    let with = |flags: &[&str]| plan(&[&asked[..], flags].concat());
    for (flags, pointer, factor) in [
        (&["--replication", "6"][..], "/stored/disk_bytes", 2.0),
        (&["--hot-share", "0.1"], "/stored/hot_bytes", 2.0),
        (&["--server-disk", "4TB"], "/servers/by/disk", 2.0),
        (&["--server-ram", "256GB"], "/servers/by/memory", 0.5),
        (&["--server-cores", "64"], "/servers/by/queries", 0.5),
        (&["--server-cores", "64"], "/bulk_load_seconds", 0.5),
        (&["--server-reads", "100_000"], "/servers/by/reads", 0.5),
        (&["--queries-per-second", "1k"], "/servers/by/queries", 10.0),
        (&["--strangers-a-million", "31.5"], "/query/band_rows", 0.5),
    ] {
        let factor_found = number(&with(flags), pointer) / number(&default, pointer);
        assert!((factor_found / factor - 1.0).abs() < 0.03, "{flags:?}: {pointer} is {factor_found} times");
    }
    // Money is of no plan without a price.
    let [priced, twice] = ["400", "800"].map(|price| with(&["--server-price", price]));
    assert!(number(&priced, "/price_a_month") > 400.0 * number(&priced, "/servers/n"));
    assert_eq!(number(&twice, "/price_a_month"), 2.0 * number(&priced, "/price_a_month"));
    for (flags, pointer, is_more) in [
        (&["--id-bytes", "80"][..], "/stored/index_bytes", true),
        (&["--text-bytes", "20kB"], "/query/worker_seconds", true),
        (&["--region-size", "100MB"], "/stored/regions_to_create", true),
        (&["--seek-ms", "8"], "/query/cold_seconds_min", true),
        (&["--round-trip-ms", "2"], "/query/warm_seconds", true),
        (&["--inserts-per-second", "5000"], "/worker_cores", true),
        (&["--queries-a-call", "1000"], "/query/server_seconds", false),
        (&["--texts", "none"], "/stored/disk_bytes", false),
    ] {
        let (before, now) = (number(&default, pointer), number(&with(flags), pointer));
        assert!(if is_more { now > before } else { now < before }, "{flags:?}: {pointer} {before} {now}");
    }
}

/// An index with retention takes in as many documents as expire.
#[test]
fn documents_and_inserts_follow_from_each_other() {
    let by_inserts = plan(&["--inserts-per-second", "1000", "--retain", "1d"]);
    assert_eq!(number(&by_inserts, "/asked/documents"), 86_400_000.0);
    assert_eq!(number(&by_inserts, "/asked/retain_seconds"), 86_400.0);
    let by_documents = plan(&["--documents", "86_400_000", "--retain", "1d"]);
    assert_eq!(number(&by_documents, "/asked/inserts_per_second"), 1_000.0);
    assert!(
        number(&by_documents, "/stored/documents") > 86_400_000.0,
        "what has expired is on disk for a while"
    );
}

#[test]
fn the_text_says_what_decides_and_where_it_is_from() {
    let said = run("pigeonhole", ["plan", "--documents", "1e10", "--profile", "classic"]).expect(0).stdout;
    for part in [
        "100,000,000,000   10 tables and 0 bands",
        "2,086   documents · Σ",
        "   920 bytes a document in NAME_docs; --texts none keeps none\n",
        "   decided by disk\n",
        "REGIONS ",
    ] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    assert!(!said.contains("note:"), "{said}");
    let args = ["plan", "--documents", "1e10", "--profile", "classic", "--texts", "none"];
    let without_texts = run("pigeonhole", args).expect(0).stdout;
    assert!(without_texts.contains("   decided by memory\n"), "{without_texts}");
    let many = run("pigeonhole", ["plan", "--documents", "1e10", "--profile", "full"]).expect(0).stdout;
    assert!(many.contains("\nnote: a query reads 630,000 rows of unlike documents by its bands."), "{many}");
    let constants = run("pigeonhole", ["plan", "--constants"]).expect(0).stdout;
    assert!(constants.contains("SCAN_SECONDS = 0.000057\n") && constants.contains("  from: "), "{constants}");
}

#[test]
fn what_cannot_be_planned_is_refused() {
    for (args, part) in [
        (&[][..], "--documents"),
        (&["--documents", "0"], "--documents is 0: it is from 1 to 1e13"),
        (&["--documents", "-5"], "--documents is -5"),
        (&["--documents", "2e13"], "it is from 1 to 1e13"),
        (&["--documents", "inf"], "is no number"),
        (&["--documents", "many"], "is no number"),
        (&["--documents", "1e6", "--scheme", "9c9"], "5c2"),
        (&["--documents", "1e6", "--profile", "both"], "minhash"),
        (&["--documents", "1e6", "--profile", "minhash", "--scheme", "t11"], "leave --scheme out"),
        (&["--documents", "1e6", "--queries-per-second", "-1"], "--queries-per-second is -1"),
        (&["--documents", "1e6", "--queries-per-second", "1e12"], "--queries-per-second"),
        (&["--documents", "1e6", "--inserts-per-second", "-0.5"], "--inserts-per-second is -0.5"),
        (&["--documents", "1e6", "--retain", "soon"], "no duration"),
        (&["--documents", "1e6", "--replication", "0"], "replication"),
        (&["--documents", "1e6", "--id-bytes", "5000"], "--id-bytes is 5000: it is from 1 to 4096"),
        (&["--documents", "1e6", "--server-disk", "8XB"], "is no number of bytes"),
        (&["--documents", "1e6", "--server-disk", "0"], "--server-disk"),
        (&["--documents", "1e6", "--hot-share", "2"], "--hot-share is 2: it is from 0 to 1"),
        (&["--retain", "2d"], "--documents"),
    ] {
        let refused = run("pigeonhole", [&["plan"], args].concat()).expect(2);
        assert!(refused.stderr.contains(part) && refused.stdout.is_empty(), "{args:?}: {}", refused.stderr);
    }
}
