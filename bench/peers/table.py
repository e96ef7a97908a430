"""The table of a file of results."""

import statistics

BEGIN, END = "<!-- table: written by peers.py --readme -->", "<!-- end of table -->"
ORDER = ["Pigeonhole classic-unverified", "Pigeonhole classic", "Pigeonhole minhash", "Pigeonhole full"]
HEAD = (
    "| | recall | strict precision | called | wrongly dropped | documents/s | without tokens | bytes |\n"
    "|---|---|---|---|---|---|---|---|"
)


def rendered(results):
    parts = []
    for name, corpus in sorted(results["corpora"].items()):
        n, length, n_pairs = (corpus[key] for key in ["n_documents", "median_characters", "n_pairs"])
        parts.append(f"**{name}**: {n:,} documents, {length:,} characters in the middle, {n_pairs:,} pairs\n\n{HEAD}")
        rows = sorted(corpus["rows"], key=lambda row: (ORDER.index(row) if row in ORDER else len(ORDER), row))
        parts[-1] += "".join(f"\n{line(row, corpus['rows'][row], corpus)}" for row in rows)
    return "\n\n".join(parts)


def line(name, row, corpus):
    if "timeout_seconds" in row:
        return f"| {name} | not done in {row['timeout_seconds']} s | | | | | | |"
    recall = share(row["n_found"], corpus["n_pairs"])
    precision = share(row["n_called"] - row["n_wrong"], row["n_called"])
    seconds = statistics.median(row["seconds"])
    # Where nothing is tokenized apart there is one figure.
    search = row["seconds_without_tokens"]
    without = speed(corpus, search) if search < 0.999 * seconds else "–"
    cells = [name, recall, precision, f"{row['n_called']:,}", f"{row['n_wrongly_dropped']:,}"]
    return "| " + " | ".join([*cells, speed(corpus, seconds), without, f"{row['bytes']:,.0f}"]) + " |"


def share(part, whole):
    """Three decimals, rounded down so that only all is shown as 1; a dash where there is nothing to count."""
    if whole == 0:
        return "–"
    if part == whole:
        return "1"
    return f"{int(part / whole * 1000) / 1000:.3f}".removeprefix("0")


def speed(corpus, seconds):
    """Two significant digits: the machine is shared."""
    per_second = corpus["n_documents"] / seconds
    return f"{float(f'{per_second:.2g}'):,.0f}"


def into(page, results):
    """Puts the table between its marks in a page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{rendered(results)}\n\n{END}{after}", encoding="utf-8")
