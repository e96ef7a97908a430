//! Clusters to browse, and lists of documents that are filtered in the page.

use serde_json::json;
use tempfile::TempDir;

use super::{TEXT, edited, explained, find};
use crate::support::{Browser, Worker, browser, json_lines, run_with_input};

/// Words of a chain of documents: each is near the next one, and not near the one after that.
const SHIFT: usize = 6;
const LENGTH: usize = 60;

fn chained(n: usize) -> String {
    let word = |n: usize| {
        let letter = |n: usize| char::from(b"bcdfghjklmnpqrst"[n % 16]);
        format!("{}a{}o{}e ", letter(n), letter(n / 16), letter(n / 5 + n))
    };
    (n * SHIFT..n * SHIFT + LENGTH).map(word).collect()
}

/// Returns a worker on an index of documents with the sources `wire-7` and `crawl`.
fn worker(wire: &[(&str, &str)], crawl: &[(&str, &str)]) -> (TempDir, Worker) {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}/store", folder.path().to_str().unwrap());
    for (source, documents) in [("wire-7", wire), ("crawl", crawl)] {
        let args = ["index", "-q", "--store", &store, "--source", source, "-"];
        run_with_input("indexer", args, json_lines(documents.iter().copied()).as_bytes()).expect(0);
    }
    let worker = Worker::start(&store, &[]);
    (folder, worker)
}

fn cluster(page: &Browser, worker: &Worker, id: &str) {
    page.open("about:blank");
    page.open(&format!("{}/?cluster={id}", worker.base()));
    page.wait("document.querySelectorAll('#find-answer h2').length === 2 && !document.querySelector('#find-answer[aria-busy]')");
}

/// Checks and draws what is there, on a telephone and on a desk, in light and dark.
#[track_caller]
fn at_every_width(page: &Browser, view: &str) {
    for (scheme, width) in [("dark", 375), ("dark", 768), ("light", 375), ("light", 1280)] {
        page.prefer(scheme);
        page.resize(width, 900);
        let place = format!("{view}-{scheme}-{width}");
        page.is_readable(&place);
        page.fits(&place);
        page.is_named(&place);
        page.draw(&place);
    }
}

#[test]
fn a_cluster_is_walked_from_one_document() {
    let Some(page) = browser() else { return };
    let texts: Vec<_> = (0..4).map(chained).collect();
    let lone = "Bees sleep in winter, and nobody has written about that here so far.";
    let wire = [("one", &*texts[0]), ("two", &*texts[1]), ("lone", lone)];
    let (_folder, worker) = worker(&wire, &[("three", &*texts[2]), ("four", &*texts[3])]);
    page.open(&format!("{}/?id=one", worker.base()));
    page.wait_for(".matches");
    assert_eq!(page.texts(".matches .id"), ["two"], "the others are not near the first");
    page.click(".document .actions a");
    page.wait("document.querySelectorAll('.matches > li').length === 3");
    assert_eq!(page.script("return location.search"), "?cluster=one");
    assert_eq!(page.texts("#find-answer h2"), ["one", "A cluster of 4 documents"]);
    assert_eq!(page.texts(".matches .id"), ["two", "three", "four"]);
    let facts = page.texts(".matches .facts");
    assert!(!facts[0].contains("steps") && facts[1].contains("2 steps away, by two"), "{facts:?}");
    assert!(facts[2].contains("3 steps away, by three"), "{facts:?}");
    let asked = json!({ "a": { "id": "two" }, "b": { "id": "three" } });
    let counted = worker.post("/v1/compare", &asked).1["similarity"].as_f64().unwrap();
    let shares = page.texts(".nearness");
    assert_eq!(shares[1], format!("{:.1} % in common", (1000.0 * counted).floor() / 10.0));
    at_every_width(&page, "a-cluster");
    // A row opens to what it has in common with the one that it was reached from.
    page.click(".matches > li:nth-child(2) summary");
    page.wait_for(".matches > li:nth-child(2) .common strong");
    assert_eq!(page.texts(".nearness")[1], shares[1]);
    assert!(page.text(".common").contains("of the one before it is in this document"));
    page.click(".matches > li:nth-child(2) .actions a");
    page.wait(
        "document.querySelector('.document h2').innerText === 'three' && location.search === '?id=three'",
    );
    page.go_back();
    page.wait("document.querySelector('.document h2').innerText === 'one' && document.querySelectorAll('.matches > li').length === 3");
    cluster(&page, &worker, "lone");
    assert_eq!(page.texts("#find-answer h2"), ["lone", "No document is near this one"]);
    assert_eq!(page.console(&[]), [""; 0]);
    page.open(&format!("{}/?cluster=nobody", worker.base()));
    page.wait_for("#find-answer .problem");
    assert_eq!(page.text("#find-answer .problem h2"), "No such document");
    assert_eq!(page.console(&[404]), [""; 0]);
}

/// Neither a crowd nor a long chain keeps the worker or the reader for long.
#[test]
fn a_walk_has_an_end() {
    let Some(page) = browser() else { return };
    let chain: Vec<_> = (0..30).map(|n| (format!("c{n:02}"), chained(n))).collect();
    let chain: Vec<_> = chain.iter().map(|(id, text)| (&**id, &**text)).collect();
    let crowd: Vec<_> = (0..70).map(|n| format!("x{n:02}")).collect();
    let crowd: Vec<_> = crowd.iter().map(|id| (&**id, TEXT)).collect();
    let (_folder, worker) = worker(&chain, &crowd);
    for (id, n_documents, n_requests) in [("c00", 12, 11), ("x00", 51, 6)] {
        cluster(&page, &worker, id);
        assert_eq!(page.text("#find-answer h2:nth-of-type(1)"), id);
        let title = page.texts("#find-answer h2").pop().unwrap();
        assert_eq!(title, format!("A cluster of {n_documents} documents"));
        assert!(page.text("#find-answer").contains("The walk ends at 50 others or eleven requests"));
        let asked = "return performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/query')).length";
        assert_eq!(page.script(asked), n_requests, "{id}");
    }
    cluster(&page, &worker, "c29");
    assert_eq!(page.texts(".matches .id")[..2], ["c28", "c27"], "a walk goes either way");
    assert_eq!(page.console(&[]), [""; 0]);
}

#[test]
fn lists_are_filtered_by_source_and_by_time() {
    let Some(page) = browser() else { return };
    let others: Vec<_> = (0..30).map(|n| format!("d{n:02}")).collect();
    let others: Vec<_> = others.iter().map(|id| (&**id, TEXT)).collect();
    let edited = edited();
    let lone = ("lone", "Bees sleep in winter, and nobody has written about that here so far.");
    let (_folder, worker) = worker(&others, &[("e", &edited), lone]);
    page.open(worker.base());
    find(&page, TEXT);
    explained(&page);
    assert!(!page.text("#find-answer").contains("takes no source"), "folded");
    page.click(".filter > summary");
    assert!(page.text(".filter").contains("the search itself takes no source and no time"));
    assert_eq!(page.texts(".filter option"), ["all", "crawl", "wire-7"]);
    let choose = |n: usize| {
        page.script(&format!(
            "const select = document.querySelector('main section:not([hidden]) .filter select'); \
             select.selectedIndex = {n}; select.dispatchEvent(new Event('change'))"
        ));
    };
    let told = |list: &str| {
        (page.count(&format!("{list} > li")), page.text("main section:not([hidden]) .filter [aria-live]"))
    };
    choose(1);
    assert_eq!(told(".matches"), (1, "1 of 31 listed".into()));
    assert_eq!(page.texts(".matches .id"), ["e"]);
    choose(2);
    assert_eq!(told(".matches"), (20, "30 of 31 listed".into()));
    page.click("#find-answer > button");
    assert_eq!(page.count(".matches > li"), 30);
    let day = |which: usize, days: i32| {
        page.script(&format!(
            "const at = new Date(); at.setDate(at.getDate() + {days}); \
             const input = document.querySelectorAll('main section:not([hidden]) .filter input')[{which}]; \
             input.value = `${{at.getFullYear()}}-${{String(at.getMonth() + 1).padStart(2, '0')}}-${{String(at.getDate()).padStart(2, '0')}}`; \
             input.dispatchEvent(new Event('change'))"
        ));
    };
    for (which, days, n) in [(0, 1, 0), (0, -1, 30), (1, -1, 0), (1, 1, 30)] {
        day(which, days);
        assert_eq!(told(".matches").1, format!("{n} of 31 listed"), "{which}, {days}");
    }
    // The list of the index, with clusters to go to.
    page.click("#tab-index");
    page.wait_for(".browsed");
    assert_eq!(page.text(".browse h2"), "The latest 32 documents");
    assert_eq!(page.count(".browsed > li"), 20);
    page.click(".browse .filter > summary");
    choose(1);
    assert_eq!(told(".browsed"), (2, "2 of 32 listed".into()));
    let near = "document.querySelector('.browsed .near a')?.innerText";
    page.wait(&format!("{near} === 'cluster: 30 near'"));
    let said = page.texts(".browsed > li");
    assert!(
        said[0].contains("lone") && said[0].contains("Bees sleep") && !said[0].contains("near"),
        "{said:?}"
    );
    at_every_width(&page, "browsing");
    page.click(".browsed .near a");
    page.wait("document.querySelectorAll('#find-answer h2').length === 2");
    assert_eq!(page.texts("#find-answer h2"), ["e", "A cluster of 31 documents"]);
    assert_eq!(page.console(&[]), [""; 0]);
}

/// A day is one of the reader's calendar, from its first moment to its last.
#[test]
fn days_are_the_readers() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    page.open(worker.base());
    let chosen = page.script(
        "const { chosen } = await import('/page/listing.js'); \
         const at = (...parts) => ({ source: null, inserted_at: new Date(...parts).toISOString() }); \
         const all = [at(2026, 0, 30, 23, 59, 59, 999), at(2026, 0, 31), at(2026, 0, 31, 23, 59, 59, 999), at(2026, 1, 1), { source: 'a', inserted_at: 'x' }]; \
         const numbers = (asked) => chosen(all, asked).map((one) => all.indexOf(one)); \
         return [numbers({ from: '2026-01-31', to: '2026-01-31' }), numbers({ from: '', to: '2026-01-30' }), \
           numbers({ from: '2026-02-01', to: '' }), numbers({ source: 'a' }), numbers({ source: null }), numbers({})]",
    );
    assert_eq!(chosen, json!([[1, 2, 4], [0, 4], [3, 4], [4], [0, 1, 2, 3], [0, 1, 2, 3, 4]]));
    assert_eq!(page.console(&[]), [""; 0]);
}
