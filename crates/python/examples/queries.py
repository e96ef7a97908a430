"""Near-duplicates in DuckDB: functions of SQL, and tables of pairs and verdicts.

    pip install pigeonhole-dedup duckdb pyarrow
    python queries.py
"""

import duckdb
import pigeonhole as ph
import pyarrow as pa
from frames import PAGES


def main() -> None:
    con = duckdb.connect()
    ph.register(con)
    con.register("pages", pa.table(PAGES))

    # Similarity of each page to one text.
    query = "select url from pages where ph_similarity(body, $text) >= .8 order by url"
    print(con.execute(query, {"text": "The harbour office closes at noon on Fridays"}).fetchall())

    # All near pairs, found without comparing all with all, joined to their rows.
    con.register("near", pa.table(ph.pairs(con.table("pages"), text="body", id="url")))
    query = """
        select a.url, b.url, round(near.similarity, 2), b.words - a.words as longer_by
        from near join pages a on a.url = near.a join pages b on b.url = near.b
        order by all
    """
    print(con.sql(query).fetchall())

    # The verdict on each row, for a table without near-duplicates.
    con.register("verdicts", ph.dedup(con.table("pages"), text="body", id="url", result="full").rows)
    con.sql("create table once as select pages.* from pages join verdicts on url = id where not is_duplicate")
    print(con.sql("select url from once order by url").fetchall())


if __name__ == "__main__":
    main()
