# The results of `run` as a table of Markdown: a column for each table of HBase, the latest run of each step.
#   jq -rsf bench/scale/table.jq RESULTS…
def latest: group_by(.step) | map({ key: .[0].step, value: .[-1] }) | from_entries;
def round1: if . == null then "–" elif . >= 100 then round else (. * 10 | round) / 10 end;
def each($n): if . == null or $n == null then null else . * 1e6 / $n end;
def times($step): if .[$step] == null then "–" else "\(.[$step].seconds | round1) s, \(.[$step] | .client_user + .client_system | round1) + \(.[$step].hbase_cpu | round1)" end;
def queries($step): .[$step] | if .per_second == null then "–" else "\(.per_second)/s, \(.call_ms_p50 | round1), \(.call_ms_p99 | round1) ms" end;
def blocks($step): . as $all | .["\($step)-counters"] as $c | .[$step].n as $n | if $c == null then "–" else
  [$c.blockCacheDataMissCount, $c.blockCacheBloomChunkMissCount, $c.blockCacheLeafIndexMissCount]
  | map((. // 0) / $n * 100 | round / 100 | tostring) | join(", ") end;

[group_by(.table)[] | { name: .[0].table, steps: latest }]
| map(.steps as $s | ($s["pairs-report"].rows // $s["scan-0-report"].rows) as $rows | {
  "table": .name,
  "rows of the index, with what was inserted": ($rows // "–"),
  "regions": ($s.size.regions // "–"),
  "bytes of the index": ($s.size.bytes // "–"),
  "of these blooms": ($s.size.bloom_bytes // "–"),
  "bytes of the documents": ($s["size-docs"].bytes // "–"),
  "rows: s, processor s, MB": ($s.rows | if . == null then "–" else "\(.seconds | round1), \(.client_user + .client_system | round1), \(.client_kb_max / 1024 | round)" end),
  "bulk load: s, processor s of loader + HBase": ($s | times("load")),
  "query cold: rate, p50, p99": ($s | queries("cold")),
  "data, bloom, index blocks read a cold query": ($s | blocks("cold")),
  "the same again": ($s | queries("warm")),
  "others": ($s | queries("other")),
  "blocks read each of others": ($s | blocks("other")),
  "by 4 callers": ($s | queries("other-4")),
  "64 a call, 4 callers": ($s | queries("batch-64")),
  "512 a call, 2 callers": ($s | queries("batch-512")),
  "candidates a query": ($s.other.rows_each // "–"),
  "HBase's µs a query: single, 4 callers, 64 a call": ([ "other", "other-4", "batch-64" ] | map(. as $step | $s[$step] | (.hbase_cpu | each($s[$step].n)) | round1 | tostring) | join(", ")),
  "insert what is new": ($s | queries("insert-new")),
  "insert what is known": ($s | queries("insert-known")),
  "HBase's µs a document: new, known": ([ "insert-new", "insert-known" ] | map(. as $step | $s[$step] | (.hbase_cpu | each($s[$step].n)) | round1 | tostring) | join(", ")),
  "major compaction: s": ($s.compact.compaction_seconds | round1),
  "HBase's processor s of it": ($s.compact.hbase_cpu | round1),
  "HBase's scan: s, processor s": ($s | times("scan-0")),
  "two regions at a time": ($s | times("scan-2")),
  "pairs: s, processor s": ($s | times("pairs")),
  "pairs found": ($s["pairs-report"].pairs // "–"),
  "planted, real, by chance": ($s["pairs-truth"] | if . == null then "–" else "\(.planted), \(.real), \(.by_chance)" end),
  "with a server killed: slowest query, missed, wrong": ($s["kill-query"] | if . == null then "–" else "\(.call_ms_max | round1) ms, \(.missed), \(.wrong)" end)
})
| . as $columns | $columns[0] | keys_unsorted
| map(. as $row | "| \($row) | \($columns | map(.[$row] | tostring) | join(" | ")) |")
| .[0], "|\([range(($columns | length) + 1)] | map("---|") | join(""))", .[1:][]
