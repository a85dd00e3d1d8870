#!/usr/bin/env python3
"""Whether the command fits the tables people have, as they come.

    benchmarks/tables/any_table.py COMMAND [--out any_table.md] [--cache DIR] [--parallel 2] [--collections islp,dmba,...]

Runs `COMMAND fit FILE --target COLUMN --effort quick --budget 10` on every table of tables.json, and nothing else: no table is
cleaned, and no other option is given. A table fits, is refused with a message (exit status 1 or 2), or crashed: any
other end, or none within 60 seconds. Prints the outcomes as a Markdown table and writes them to --out.
Standard library only, and pip and npm for tables that are not in the cache.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import fetch

SECONDS = 60
FITS, REFUSED, CRASHED = "fits", "refused", "crashed"


def attempt(command, table, cache):
    """What became of one table: the outcome, the message if there is one, and the seconds it took."""
    file = fetch.path(table, cache)
    line = [command, "fit", file, "--target", table["target"], "--effort", "quick", "--budget", "10"]
    start = time.monotonic()
    try:
        run = subprocess.run(line, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return CRASHED, f"not done after {SECONDS} s", SECONDS
    seconds = time.monotonic() - start
    if run.returncode == 0:
        return FITS, "", seconds
    # The last message says why; warnings and progress may come before it.
    lines = [line for line in run.stderr.decode(errors="replace").splitlines() if line.strip()]
    at = max((i for i, line in enumerate(lines) if line.startswith("error:")), default=None)
    if run.returncode in (1, 2) and at is not None:
        return REFUSED, " ".join(lines[at:]).removeprefix("error: ").replace(file, os.path.basename(file)), seconds
    return CRASHED, f"exit status {run.returncode}: {lines[-1] if lines else 'no message'}", seconds


def groups(table):
    """The kinds of table a summary tells apart; one table may be of several kinds."""
    yield "all"
    if table["text_columns"]:
        yield "with columns of text"
    if table["gaps"]:
        yield "with gaps"
    if not table["text_columns"] and not table["gaps"]:
        yield "numbers only"
    yield f"from {table['collection']}"


def summary(tables, outcomes):
    counts = {}
    for table, (outcome, _, _) in zip(tables, outcomes):
        for group in groups(table):
            counts.setdefault(group, Counter())[outcome] += 1
    yield f"| tables | number | {FITS} | {REFUSED} | {CRASHED} |\n|---|---|---|---|---|"
    kinds = ["all", "with columns of text", "with gaps", "numbers only"]
    for group in [k for k in kinds if k in counts] + [k for k in counts if k not in kinds]:
        c = counts[group]
        yield f"| {group} | {c.total()} | {c[FITS]} | {c[REFUSED]} | {c[CRASHED]} |"


def rows(tables, outcomes):
    yield "| table | rows | columns | text | gaps | target | outcome |\n|---|---|---|---|---|---|---|"
    for t, (outcome, message, _) in zip(tables, outcomes):
        cells = [f"{t['collection']}/{t['file']}", t["rows"], t["columns"], t["text_columns"], t["gaps"], t["target"],
                 f"{outcome}: {message}" if message else outcome]
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--out", default=os.path.join(fetch.HERE, "any_table.md"))
    parser.add_argument("--cache", default=fetch.CACHE)
    parser.add_argument("--parallel", type=int, default=2, help="fits at a time")
    parser.add_argument("--collections", help="comma-separated; all without it")
    options = parser.parse_args()
    tables = fetch.fetch(options.collections.split(",") if options.collections else None, options.cache)
    outcomes = []
    with ThreadPoolExecutor(options.parallel) as pool:
        for table, outcome in zip(tables, pool.map(lambda t: attempt(options.command, t, options.cache), tables)):
            outcomes.append(outcome)
            print(f"{table['collection']}/{table['file']}: {outcome[0]} in {outcome[2]:.1f} s", file=sys.stderr, flush=True)
    version = subprocess.run([options.command, "--version"], capture_output=True, text=True).stdout.strip()
    seconds = [s for outcome, _, s in outcomes if outcome == FITS] or [0.0]
    report = "\n".join([
        "# Tables as they come", "",
        f"{version}, `benchmarks/tables/any_table.py`: `rffnet fit FILE --target COLUMN --effort quick --budget 10` on "
        f"{len(tables)} public tables, none of them cleaned, {options.parallel} at a time.",
        f"A fit took {statistics.median(seconds):.1f} s in the median and {max(seconds):.1f} s at most.",
        "Columns of text (the target aside) and gaps are counted as pandas reads the table.", "",
        *summary(tables, outcomes), "", *rows(tables, outcomes), ""])
    print(report, end="")
    with open(options.out, "w", encoding="utf-8") as text:
        text.write(report)


if __name__ == "__main__":
    main()
