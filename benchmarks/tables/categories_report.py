"""The results of categories.py as Markdown and CSV: ranks, wins and means, then every table."""
import csv
import statistics

from categories_prepare import SPLITS

METHODS = ["native", "onehot", "hist", "lightgbm", "catboost"]
# What a method that fails is given: the score of a constant prediction.
CONSTANT = {"r2": 0.0, "auc": 0.5}


def mean_scores(tables, results):
    """By table and method the mean over the splits; None for a method that has not been run on all of them."""
    scores = {}
    for r in results:
        value = CONSTANT[r["metric"]] if r["score"] is None else r["score"]
        scores.setdefault((r["table"], r["method"]), []).append(value)
    means = {key: statistics.mean(values) for key, values in scores.items() if len(values) == SPLITS}
    return {t["table"]: {m: means.get((t["table"], m)) for m in METHODS} for t in tables}


def ranks(row, methods):
    """1 for the best; methods that are equal share the mean of their ranks."""
    return {m: 1 + sum(row[o] > row[m] for o in methods) + sum(row[o] == row[m] for o in methods if o != m) / 2 for m in methods}


def summary(title, tables, scores, methods):
    rows = [scores[t["table"]] for t in tables]
    placed = [ranks(row, methods) for row in rows]
    yield f"\n## {title}: {len(tables)} tables\n"
    yield "| method | mean rank | best on | mean R2 | mean AUC | native is better on |\n|---|---|---|---|---|---|"
    for m in methods:
        means = []
        for task in ("regression", "classification"):
            values = [scores[t["table"]][m] for t in tables if t["task"] == task]
            means.append(f"{statistics.mean(values):.4f}" if values else "-")
        best = sum(row[m] == max(row[o] for o in methods) for row in rows)
        beaten = "-" if m == "native" or "native" not in methods else sum(row["native"] > row[m] for row in rows)
        yield f"| {m} | {statistics.mean(p[m] for p in placed):.2f} | {best} | {means[0]} | {means[1]} | {beaten} |"


def lines(tables, results):
    scores = mean_scores(tables, results)
    methods = [m for m in METHODS if any(row[m] is not None for row in scores.values())]
    whole = [t for t in tables if all(scores[t["table"]][m] is not None for m in methods)]
    failed = sum(r["score"] is None for r in results)
    yield "# Categories and gaps\n"
    yield ("`benchmarks/tables/categories.py`: mean over three 80/20 splits of R2 (regression) and AUC (classification), every "
           "method with its defaults. A fit that fails is given the score of a constant.")
    yield (f"{len(results)} fits, of which {failed} failed. {len(tables) - len(whole)} tables lack a result and are left out of "
           "the ranks.")
    for title, half in (("All", None), ("Report half", "report"), ("Tune half", "tune")):
        part = [t for t in whole if half in (None, t["half"])]
        if part:
            yield from summary(title, part, scores, methods)
    yield "\n## Every table\n"
    names = ["table", "half", "rows", "columns", "text", "gaps", "metric", *methods]
    yield "| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|"
    for t in sorted(tables, key=lambda t: (t["task"], t["table"])):
        row = scores[t["table"]]
        best = max((row[m] for m in methods if row[m] is not None), default=None)
        cells = ["-" if row[m] is None else f"**{row[m]:.4f}**" if row[m] == best else f"{row[m]:.4f}" for m in methods]
        metric = "R2" if t["task"] == "regression" else "AUC"
        yield (f"| {t['table']} | {t['half']} | {t['rows']} | {t['columns']} | {len(t['text'])} | {t['gaps']} | {metric} | "
               + " | ".join(cells) + " |")
    messages = {(r["table"], r["method"]): r["error"].splitlines()[-1].replace("|", "\\|") for r in results if r["error"]}
    if messages:
        yield "\n## Fits that failed\n"
        yield "| table | method | message |\n|---|---|---|"
        for (table, method), message in sorted(messages.items()):
            yield f"| {table} | {method} | {message} |"


def write(tables, results, out):
    """Prints the report, and writes OUT.md and OUT.csv."""
    report = "\n".join(lines(tables, results)) + "\n"
    print(report, end="")
    with open(f"{out}.md", "w", encoding="utf-8") as text:
        text.write(report)
    with open(f"{out}.csv", "w", encoding="utf-8", newline="") as text:
        names = ["table", "split", "method", "metric", "score", "seconds"]
        table = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(results, key=lambda r: (r["table"], r["split"], METHODS.index(r["method"]))))
