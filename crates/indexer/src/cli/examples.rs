//! Examples at the end of each command's help.

use program::settings::Examples;

/// Three examples of each command.
pub(super) const EXAMPLES: Examples<'static> = &[
    (
        "fingerprint",
        &[
            "indexer fingerprint news.jsonl                          id, tab, 16 hexadecimal digits",
            "indexer fingerprint 'crawl/*.warc.gz' > fingerprints.tsv",
            "indexer fingerprint --text-field title,body news.parquet",
        ],
    ),
    (
        "index",
        &[
            "indexer index news.jsonl --store embedded:./news-index",
            "indexer index s3://crawl/2026-01/ --store hbase+rpc://master:16000/news --journal job",
            "indexer index news.jsonl --store embedded:./two-days --retain 2d",
        ],
    ),
    (
        "bulk-rows",
        &[
            "indexer bulk-rows news.jsonl --store hbase+rpc://master:16000/news --rows rows",
            "indexer bulk-rows 'crawl/*.warc.gz' --store hbase+rpc://master:16000/pages --rows rows",
            "indexer bulk-rows news.parquet --id-field url --store hbase+rpc://master:16000/news --rows rows",
        ],
    ),
    (
        "dedup",
        &[
            "indexer dedup news.jsonl                                show which documents are near-duplicates",
            "indexer dedup news.jsonl --output kept.jsonl --report report.html",
            "indexer dedup 2026-02.jsonl --store embedded:./seen --output new.jsonl --journal job",
        ],
    ),
    (
        "collect",
        &[
            "indexer collect --watch inbox --results items --store embedded:./seen --retain 2d",
            "indexer collect --watch inbox --results items --store hbase+rpc://master:16000/news",
            "indexer collect --watch inbox --results items --store redis://localhost:6379/news",
        ],
    ),
    (
        "idf",
        &[
            "indexer idf news.jsonl --output news.idf",
            "indexer idf 'crawl/*.jsonl.gz' --output crawl.idf --min-df 5",
            "indexer idf news.jsonl --shard 0/4 --min-df 1 --output part-0.idf",
        ],
    ),
    (
        "idf-merge",
        &[
            "indexer idf-merge part-0.idf part-1.idf --output news.idf",
            "indexer idf-merge part-0.idf part-1.idf --min-df 5 --output news.idf",
            "indexer idf-merge january.idf february.idf --output - | head",
        ],
    ),
    (
        "export",
        &[
            "indexer export --store embedded:./news-index --output records.parquet",
            "indexer export --store hbase+rpc://master:16000/news --output records.jsonl.zst",
            "indexer export --store redis://localhost:6379/news --output records.csv",
        ],
    ),
    (
        "import",
        &[
            "indexer import records.parquet --store embedded:./copy",
            "indexer import records.jsonl.zst --store hbase+rpc://master:16000/news",
            "indexer import prints.csv --store embedded:./prints --profile classic --verify off",
        ],
    ),
    (
        "reindex",
        &[
            "indexer reindex embedded:./news-index hbase+rpc://master:16000/news",
            "indexer reindex embedded:./news-index embedded:./stricter --min-similarity 0.9",
            "indexer reindex embedded:./old embedded:./new --profile full news.jsonl",
        ],
    ),
    (
        "pairs",
        &[
            "indexer pairs --store embedded:./news-index --output pairs",
            "indexer pairs --store hbase+rpc://master:16000/news --output pairs",
            "indexer pairs --store hbase+rpc://master:16000/news --output pairs --shard 0/4",
        ],
    ),
];
