//! Tables dropped and made again in HBase's own shell, under programs that have the index open.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{create, direct_url, n_cells, url};
use crate::support::{Worker, command, hbase, made_up_corpus, news, run};

const DROP: &str = "disable 'anew'\ndrop 'anew'\ndisable 'anew_docs'\ndrop 'anew_docs'\n";
const MAKE: &str = "ENV.update('TABLE' => 'anew', 'REGIONS' => '1')\nload 'schema/create.rb'\n";

#[test]
fn nothing_goes_on() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_anew", &[("anew", "5c2")]);
    let store = url(hbase.gateway, "anew");
    let make = |seed: &str| {
        let news = news();
        run("indexer", ["index", "-q", "--seed", seed, "--store", &store, news.to_str().unwrap()]).expect(0);
    };
    make("0");
    // Through the gateway, and without it.
    let stores = [store.clone(), direct_url(hbase, "anew")];
    let workers = stores.each_ref().map(|store| Worker::start(store, &[]));
    let text = json!({ "text": "The harbour of the old town is closed to ships until the end of the week." });
    let document = json!({ "id": "posted", "text": text["text"] });
    for worker in &workers {
        assert_eq!(worker.post("/v1/query", &text).0, 200);
    }
    let corpus = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(corpus.path(), made_up_corpus(200_000, 3)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let load =
        |store: &String| command("indexer", ["index", "-q", "--store", store, corpus]).spawn().unwrap();
    let loading = stores.each_ref().map(load);
    while n_cells(hbase.gateway, "anew_docs") < 3_000 {
        thread::sleep(Duration::from_millis(20));
    }

    hbase.shell_text("make_anew", &[DROP, MAKE].concat()).expect(0);
    make("5");
    for loading in loading {
        let loaded = loading.wait_with_output().unwrap();
        assert_eq!(loaded.status.code(), Some(2), "{}", String::from_utf8_lossy(&loaded.stderr));
    }
    let digest = || run("pigeonhole", ["info", "--digest", "--store", &store]).expect(0).stdout;
    let before = digest();
    for worker in &workers {
        for (path, body) in [("/v1/query", &text), ("/v1/documents", &document)] {
            let (status, problem) = worker.post(path, body);
            assert_eq!(status, 503, "{path}: {problem}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("start the worker again"), "{path}: {problem}");
        }
        assert_eq!(worker.delete("/v1/documents/en-harbour").0, 503);
        assert_eq!(worker.get("/readyz").0, 503);
    }
    assert_eq!(digest(), before, "nothing was written");

    // Emptied tables, as after the shell's `truncate`, have no index at all.
    hbase.shell_text("empty_anew", "truncate_preserve 'anew'\ntruncate_preserve 'anew_docs'\n").expect(0);
    for worker in &workers {
        let (status, problem) = worker.post("/v1/query", &text);
        assert_eq!(status, 503, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("has no index any more"), "{problem}");
    }
    make("0");
    let worker = Worker::start(&store, &[]);
    assert_eq!(worker.post("/v1/documents", &document).0, 201);
}
