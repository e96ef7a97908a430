//! Examples at the end of each command's help.

use program::settings::Examples;

/// At least three examples of each command.
pub(crate) const EXAMPLES: Examples<'static> = &[
    (
        "compare",
        &[
            "pigeonhole compare '你妈妈喊你回家吃饭哦' '你妈妈叫你回家吃饭啦'",
            "pigeonhole compare january.txt february.txt --why",
            "pigeonhole compare a.txt b.txt --store embedded:./news-index      as this index decides",
        ],
    ),
    (
        "eval",
        &[
            "pigeonhole eval news.jsonl",
            "pigeonhole eval news.jsonl --min-similarity 0.7 --html eval.html",
            "pigeonhole eval 'crawl/*.jsonl.gz' --sample 20000 --profile minhash --json eval.json",
        ],
    ),
    (
        "tune",
        &[
            "pigeonhole tune news.jsonl --output pigeonhole.toml",
            "pigeonhole tune laws.jsonl --families law --output pigeonhole.toml",
            "pigeonhole tune 'crawl/*.jsonl.gz' --sample 50000 --min-similarity 0.7",
        ],
    ),
    (
        "query",
        &[
            "pigeonhole query --store embedded:./news-index 'a text'",
            "pigeonhole query --store hbase+rpc://master:16000/news --limit 5 'a text'",
            "pigeonhole query --store embedded:./news-index --fingerprint 7b8df48109ca0e0c",
        ],
    ),
    (
        "scheme",
        &[
            "pigeonhole scheme                     one line for each",
            "pigeonhole scheme t11                 masks of bits, and the proof that no pair is missed",
            "pigeonhole scheme minhash             bands of n-grams, and what share of the pairs they find",
        ],
    ),
    (
        "plan",
        &[
            "pigeonhole plan --documents 1e10 --queries-per-second 5000",
            "pigeonhole plan --documents 1e10 --queries-per-second 5000 --profile classic --scheme t11",
            "pigeonhole plan --inserts-per-second 300 --retain 30d   as many as come in meanwhile",
            "pigeonhole plan --documents 100M --server-disk 2TB --server-ram 64GB --server-price 150",
            "pigeonhole plan --documents 1e9 --json | jq .servers",
        ],
    ),
    (
        "info",
        &[
            "pigeonhole info --store embedded:./news-index",
            "pigeonhole info --store hbase+rpc://master:16000/news",
            "pigeonhole info --store embedded:./news-index --digest      equal for equal contents",
        ],
    ),
    (
        "remove",
        &[
            "pigeonhole remove --store embedded:./news-index a17 b3",
            "pigeonhole remove --store embedded:./news-index --ids-from takedowns.txt",
            "pigeonhole remove --store embedded:./news-index --source crawl-7 --dry-run | head",
            "pigeonhole remove --store embedded:./news-index --inserted-until 30d",
            "pigeonhole remove --store embedded:./index --source crawl-7 --inserted-from 2026-01-31T08:00:00Z",
        ],
    ),
    (
        "verify",
        &[
            "pigeonhole verify --store embedded:./news-index",
            "pigeonhole verify --store redis://localhost:6379/news",
            "pigeonhole verify --store hbase://localhost:9090/news --limit 1000 > findings.txt",
        ],
    ),
    (
        "repair",
        &[
            "pigeonhole repair --store embedded:./news-index           what would be mended",
            "pigeonhole repair --store embedded:./news-index --apply",
            "pigeonhole repair --store hbase+rpc://master:16000/news --apply > mended.txt",
        ],
    ),
    (
        "backup",
        &[
            "pigeonhole backup embedded:./news-index /backups/news/2026-11-26",
            "pigeonhole backup embedded:./news-index ./copy --quiet",
            "pigeonhole backup hbase+rpc://localhost:16000/news s3a://backups/hbase --script > backup.rb",
        ],
    ),
    (
        "restore",
        &[
            "pigeonhole restore /backups/news/2026-11-26 embedded:./news-index",
            "pigeonhole restore ./copy embedded:./a-second-index --quiet",
            "pigeonhole restore ./copy embedded:/var/lib/pigeonhole/news",
        ],
    ),
    (
        "bench",
        &[
            "pigeonhole bench                             on made-up texts, in about a minute",
            "pigeonhole bench news.jsonl --json > bench.json",
            "pigeonhole bench news.jsonl --index redis://localhost:6379/bench --seconds 20",
            "pigeonhole bench --print-texts short --bytes 1GB > short.jsonl",
        ],
    ),
];
