"""The benchmark's table: what is measured, beside whom, and how far it should be. Pure: from figures to text."""
import dataclasses
import textwrap

WALL, CPU = "median", "cpu"  # by which of a side's figures


@dataclasses.dataclass(frozen=True)
class Line:
    """`kind` says what is held against bar and aim, and which way is better: rows/s, time and bytes are ratios to the
    peer, the others are Tidemark's own, whatever a peer has."""
    what: str
    name: str
    kind: str
    bar: float
    aim: float
    peer: str = "table"


LINES = [
    Line("insert, one big transaction", "insert_big", "rows/s", 1.3, 2),
    Line("insert, 1,000 rows a transaction", "insert_1000", "rows/s", 1.1, 1.5),
    Line("insert, 1 row a commit, FULL", "commit_full", "rows/s", 0.9, 1),
    Line("insert, 1 row a commit, NORMAL", "commit_normal", "rows/s", 0.9, 1.2),
    Line("size after flush", "size_flushed", "bytes", 0.8, 0.55, "DuckDB Parquet"),
    Line("size after compaction", "size_compacted", "bytes", 0.65, 0.45, "DuckDB Parquet"),
    Line("last 1,000 rows, in the tail", "last_tail", "time", 1.6, 1.2),
    Line("last 1,000 rows, sealed", "last_sealed", "time", 1.6, 1.2),
    Line("idle read", "idle_read", "time", 10, 4),
    Line("idle read after another's commit", "idle_read_after", "time", 10, 4),
    Line("idle tick of 16 partitions", "idle_tick", "us", 100, 40, ""),
    Line("idle tick after another's commit", "idle_tick_after", "us", 100, 40, ""),
    Line("scan of all columns", "scan", "rows/s", 0.7, 1),
    Line("sum of one column", "sum", "time", 1 / 2, 1 / 2.5),
    Line("filter, rows in bursts", "filter", "time", 1 / 4, 1 / 10),
    Line("filter, rows everywhere", "filter_scattered", "time", 1 / 4, 1 / 10),
    Line("count(*)", "count", "ns a row", 30, 20),
    Line("time range, no index", "time_range", "time", 1 / 10, 1 / 50),
    Line("prune of the older half", "prune", "time", 1 / 20, 1 / 100),
    Line("VACUUM after it", "vacuum", "time", 1 / 5, 1 / 10),
    Line("Parquet of everything", "export_parquet", "rows/s", 1, 1.5, "DuckDB COPY"),
    Line("Parquet, size", "export_parquet_bytes", "bytes", 1, 0.9, "DuckDB COPY"),
    Line("NDJSON of everything", "export_ndjson", "rows/s", 1, 1.3, "DuckDB COPY"),
    Line("tick of 1,000 rows, 1e7 against 1e5", "tick", "growth", 1.2, 1.05, ""),
    Line("memory of a transaction of all rows", "memory_transaction", "MiB", 64, 32),
    Line("memory of a Parquet export", "memory_export_parquet", "MiB", 64, 32, ""),
    Line("memory of compaction", "memory_compact", "MiB", 64, 32, ""),
]
MOST = 10000000  # rows of a log that "growth" compares with one of 1e5, in turns with it
LINEAR = ["sum", "filter", "filter_scattered", "count", "time_range", "prune", "vacuum"]  # go over all rows
ASIDE = ["sum", "filter", "filter_scattered", "count", "time_range"]  # what DuckDB is asked, too, for information


def higher_is_better(line):
    return line.kind == "rows/s"


def peer_side(line, figures, rows):
    if line.kind == "bytes":
        return figures[rows].get("duckdb_parquet_bytes", {}).get("duckdb")
    figure = figures[rows].get(line.name, {})
    return figure.get("duckdb" if line.peer.startswith("DuckDB") else "table") if line.peer else None


def times_better(line, figures, rows, clock=WALL):
    """How many times less Tidemark takes than the peer, of time, bytes or memory; None where there is no peer."""
    own, peer = figures[rows].get(line.name, {}).get("tidemark"), peer_side(line, figures, rows)
    return peer[clock] / own[clock] if own and peer and clock in own and clock in peer else None


def ratio_of(line, figures, rows, clock=WALL):
    """What is held against bar and aim, or None when it was not measured. figures[rows][name][side]: see run.py."""
    if line.kind == "growth":
        ends = [figures.get(MOST, {}).get(name, {}).get("tidemark") for name in (f"{line.name}_small", line.name)]
        return ends[1][clock] / ends[0][clock] if all(ends) else None
    figure = figures[rows].get(line.name)
    if figure is None or "tidemark" not in figure:
        return None
    own = figure["tidemark"]
    if line.kind in ("us", "ns a row"):
        return own["cpu"] * 1e6 if line.kind == "us" else own["cpu"] * 1e9 / rows  # there is no peer to share the wait
    if line.kind == "MiB":
        return own["median"] if clock == WALL else None
    times = times_better(line, figures, rows, clock)
    return times if times is None or line.kind == "rows/s" else 1 / times


def verdict(line, ratio):
    if higher_is_better(line):
        return "aim" if ratio >= line.aim else "bar" if ratio >= line.bar else "short"
    return "aim" if ratio <= line.aim else "bar" if ratio <= line.bar else "short"


def number(value):
    """Three digits that count, without an exponent."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}" if value >= 0.0995 else f"{value:.3f}"


def seconds(value):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value / 1e-9)} ns"


def amount(line, side):
    """One side's figure in words."""
    if side is None:
        return ""
    if line.kind == "rows/s":
        return f"{number(side['rows'] / side['median'] / 1000)} k rows/s"
    if line.kind in ("bytes", "MiB"):
        return f"{number(side['median'])} {'bytes a row' if line.kind == 'bytes' else 'MiB'}"
    if line.kind in ("us", "ns a row"):
        return seconds(side["cpu"])
    return seconds(side["median"])


def cell(value):
    return "" if value is None else number(value)


def markdown(figures, rows):
    """The table at that number of rows."""
    text = ["| what | Tidemark | peer | | times better | by processor |", "|---" * 6 + "|"]
    for line in LINES:
        own = figures[rows].get(line.name, {}).get("tidemark")
        if own is None or line.kind == "growth":
            continue
        peer = amount(line, peer_side(line, figures, rows))
        text.append(f"| {line.what} | {amount(line, own)} | {line.peer if peer else ''} | {peer}"
                    f" | {cell(times_better(line, figures, rows))} | {cell(times_better(line, figures, rows, CPU))} |")
    asides = [f"{line.what} {seconds(figures[rows][line.name]['duckdb']['median'])}" for line in LINES
              if line.name in ASIDE and "duckdb" in figures[rows].get(line.name, {})]
    if asides:
        words = f"For information, the same asked of DuckDB's own table, one thread: {', '.join(asides)}."
        text += ["", textwrap.fill(words, 120)]
    return "\n".join(text) + "\n"


def bars(figures, rows):
    """What each line is held against, and what was reached."""
    text = ["| what | measured | by processor | bar | aim | reached |", "|---" * 6 + "|"]
    for line in LINES:
        ratio = ratio_of(line, figures, rows)
        if ratio is not None:
            text.append(f"| {line.what} | {number(ratio)} | {cell(ratio_of(line, figures, rows, CPU))}"
                        f" | {number(line.bar)} | {number(line.aim)} | {verdict(line, ratio)} |")
    return "\n".join(text) + "\n"


def cost(line, figure, rows):
    """What one row, one reading or one byte costs, by time on the processor where that was taken, and its words."""
    value = figure.get("cpu", figure["median"])
    if line.kind == "rows/s":
        return value / figure["rows"], f"{number(figure['rows'] / value / 1000)} k rows/s"
    if line.name in LINEAR:
        return value / rows, f"{seconds(value / rows)} a row"
    return value, amount(line, {**figure, "median": value})


def growth(figures):
    """What each line costs at each number of rows, and how many times more with the most rows than with the fewest."""
    sizes = sorted(figures)
    text = [f"| what | {' | '.join(f'{n:,} rows' for n in sizes)} | times |", "|---|" + "---|" * (len(sizes) + 1)]
    for line in LINES:
        own = [figures[n].get(line.name, {}).get("tidemark") for n in sizes]
        if not any(own):
            continue
        costs = [cost(line, figure, n) if figure else (None, "") for figure, n in zip(own, sizes)]
        times = number(costs[-1][0] / costs[0][0]) if own[0] and own[-1] else ""
        what = line.what.removesuffix(", 1e7 against 1e5")
        text.append(f"| {what} | {' | '.join(words for _, words in costs)} | {times} |")
    return "\n".join(text) + "\n"
