"""The table of a file of results."""

import statistics

BEGIN, END = "<!-- table: written by peers.py --readme -->", "<!-- end of table -->"
ORDER = ["Pigeonhole classic-unverified", "Pigeonhole classic", "Pigeonhole minhash", "Pigeonhole full"]
HEAD = (
    "| | recall | called | called below .8 | strict precision | wrongly dropped "
    "| documents/s | without tokens | bytes |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def rendered(results):
    corpora = sorted(results["corpora"].items(), key=lambda item: item[1]["median_characters"])
    return "\n\n".join([summary(corpora), *details(corpora)])


def summary(corpora):
    """All tools, all corpora, short texts first: recall, called below the asked similarity, wrongly dropped."""
    head = "| recall / called below .8 / wrongly dropped | " + " | ".join(name for name, _ in corpora) + " |"
    lines = [head, "|" + "---|" * (len(corpora) + 1)]
    for name in ordered({row for _, corpus in corpora for row in corpus["rows"]}):
        cells = [quality(corpus["rows"].get(name), corpus) for _, corpus in corpora]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ordered(rows):
    return sorted(rows, key=lambda row: (ORDER.index(row) if row in ORDER else len(ORDER), row))


def quality(row, corpus):
    if row is None:
        return ""
    if "timeout_seconds" in row:
        return f"not done in {row['timeout_seconds']} s"
    return " / ".join([rates(row, corpus)[0], f"{n_below(row):,}", f"{row['n_wrongly_dropped']:,}"])


def n_below(row):
    """Called pairs that are none of the truth's: truly below the asked similarity."""
    return row["n_called"] - row["n_found"]


def rates(row, corpus):
    return share(row["n_found"], corpus["n_pairs"]), share(row["n_called"] - row["n_wrong"], row["n_called"])


def details(corpora):
    for name, corpus in corpora:
        n, length, n_pairs = (corpus[key] for key in ["n_documents", "median_characters", "n_pairs"])
        head = f"**{name}**: {n:,} documents, {length:,} characters in the middle, {n_pairs:,} pairs\n\n{HEAD}"
        yield "\n".join([head, *(line(row, corpus["rows"][row], corpus) for row in ordered(corpus["rows"]))])


def line(name, row, corpus):
    if "timeout_seconds" in row:
        return f"| {name} | not done in {row['timeout_seconds']} s | | | | | | | |"
    recall, precision = rates(row, corpus)
    seconds = statistics.median(row["seconds"])
    # Where nothing is tokenized apart there is one figure.
    search = row["seconds_without_tokens"]
    without = speed(corpus, search) if search < 0.999 * seconds else "–"
    called = [f"{row['n_called']:,}", f"{n_below(row):,}"]
    cells = [name, recall, *called, precision, f"{row['n_wrongly_dropped']:,}"]
    return "| " + " | ".join([*cells, speed(corpus, seconds), without, f"{row['bytes']:,.0f}" if "bytes" in row else ""]) + " |"


def share(part, whole):
    """Three decimals, and only all is shown as 1; a dash where there is nothing to count."""
    if whole == 0:
        return "–"
    if part == whole:
        return "1"
    return f"{min(part / whole, 0.999):.3f}".removeprefix("0")


def speed(corpus, seconds):
    """Two significant digits: the machine is shared."""
    per_second = corpus["n_documents"] / seconds
    return f"{float(f'{per_second:.2g}'):,.0f}"


PACKAGE = "Pigeonhole from Python"
HEAD_OF_PACKAGE = "recall | precision | called below .8 | documents a processor second | memory, MB"


def of_package(results):
    """The table of the Python package: what tools that pip installs find, and the time from `pip install` to a result."""
    parts = []
    if results.get("first"):
        lines = ["| | `pip install`, s | first result after that, s | on disk, MB |", "|---|---|---|---|"]
        for name, row in sorted(results["first"].items(), key=lambda item: item[1]["install"] + item[1]["run"]):
            lines.append(f"| {name} | {row['install']:.1f} | {row['run']:.1f} | {row['bytes'] / 1e6:,.0f} |")
        parts.append("\n".join(lines))
    for name, corpus in sorted(results["corpora"].items(), key=lambda item: item[1]["median_characters"]):
        if PACKAGE not in corpus["rows"]:
            continue
        n, length, n_pairs = (corpus[key] for key in ["n_documents", "median_characters", "n_pairs"])
        lines = [f"| {name} | {HEAD_OF_PACKAGE} |", "|" + "---|" * 6]
        for tool in sorted(corpus["rows"], key=lambda tool: (tool != PACKAGE, tool)):
            row = corpus["rows"][tool]
            if "memory" in row:
                found = share(row["n_found"], n_pairs), share(row["n_found"], row["n_called"]), f"{n_below(row):,}"
                seconds = speed(corpus, row["processor_seconds"])
                lines.append("| " + " | ".join([tool, *found, seconds, f"{row['memory'] / 1e6:,.0f}"]) + " |")
        parts.append(f"**{name}**: {n:,} documents, {length:,} characters in the middle, {n_pairs:,} pairs\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def into(page, made):
    """Puts a table between its marks in a page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
