"""The results of suite.py as Markdown, CSV and SVG: ranks, wins, normalised scores and times, then every table."""
import csv
import glob
import math
import os
import statistics

from categories import results
from categories_report import CONSTANT, ranks

LARGE = 1000  # Rows from which a table counts for the second time column.


def gathered(folder, tables, names):
    """By method and table the mean score and CPU seconds over the splits, where all of them have been run; and the failures."""
    splits = {table["table"]: table["splits"] for table in tables}
    means, failures = {}, []
    for name in names:
        by_table = {}
        for r in results(os.path.join(folder, "results", f"{name}.jsonl")):
            if r["table"] in splits and r["split"] < splits[r["table"]]:
                by_table.setdefault(r["table"], []).append(r)
        means[name] = {}
        for table, lines in by_table.items():
            failures += [r for r in lines if r["score"] is None]
            # The slow methods have the first split only: what they are compared with is in `first`.
            scores = {r["split"]: CONSTANT[r["metric"]] if r["score"] is None else r["score"] for r in lines}
            times = {r["split"]: r["cpu"] for r in lines if r["score"] is not None}
            means[name][table] = {"splits": scores, "times": times, "whole": len(scores) == splits[table]}
    return means, failures


def cell(means, method, table, first):
    """Score and CPU seconds of a method on a table: of its first split, or the means over all of them; None without a result."""
    found = means[method].get(table["table"])
    if not found or not (0 in found["splits"] if first else found["whole"]):
        return None
    scores = [found["splits"][0]] if first else list(found["splits"].values())
    times = [found["times"][0]] if first and 0 in found["times"] else [] if first else list(found["times"].values())
    return {"score": statistics.mean(scores), "cpu": statistics.mean(times) if times else None}


def normalised(row, table, methods):
    """Scores between that of a constant, 0, and the best of the methods, 1; 0 for all where none beats the constant."""
    constant = CONSTANT[table["metric"]]
    best = max(row[m]["score"] for m in methods)
    if best <= constant:
        return {m: 0.0 for m in methods}
    return {m: min(1.0, max(0.0, (row[m]["score"] - constant) / (best - constant))) for m in methods}


def geometric(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(statistics.mean(math.log(ratio) for ratio in ratios)) if ratios else None


def error(differences):
    """The standard error of the mean."""
    return statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else None


def shown(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def significant(value):
    """Three digits, without an exponent: what spans orders of magnitude."""
    return "-" if value is None else f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def times(rows, method, reference):
    """The geometric mean of the method's CPU seconds over those of the reference."""
    pairs = [(row[method]["cpu"], row[reference]["cpu"]) for row in rows]
    return geometric([a / b for a, b in pairs if a and b])


def summary(tables, means, methods, against, first=False):
    """By method what the tables say on which all methods have results, the number of such tables, and those nobody can do."""
    rows = {t["table"]: {m: cell(means, m, t, first) for m in methods} for t in tables}
    whole = [t for t in tables if all(rows[t["table"]].values())]
    if not whole:
        return {}, 0, []
    reference = "hist" if "hist" in methods else methods[0]
    parts = [rows[t["table"]] for t in whole]
    placed = [ranks({m: row[m]["score"] for m in methods}, methods) for row in parts]
    levels = [normalised(row, t, methods) for row, t in zip(parts, whole)]
    large = [row for row, t in zip(parts, whole) if t["rows"] >= LARGE]
    found = {}
    for m in methods:
        found[m] = {"rank": statistics.mean(p[m] for p in placed),
                    "wins": sum(row[m]["score"] == max(row[o]["score"] for o in methods) for row in parts),
                    "better": sum(row[m]["score"] > row[against]["score"] for row in parts),
                    "level": statistics.mean(level[m] for level in levels),
                    "error": None if m == against else error([level[m] - level[against] for level in levels]),
                    "time": times(parts, m, reference), "large": times(large, m, reference)}
    nobody = [t["table"] for t, level in zip(whole, levels) if not any(level.values())]
    return found, len(whole), nobody


def summary_lines(title, tables, means, methods, against, first=False):
    found, size, nobody = summary(tables, means, methods, against, first)
    if not found:
        return
    reference = "hist" if "hist" in methods else methods[0]
    yield f"\n## {title}: {size} tables\n"
    yield (f"| method | mean rank | best on | better than {against} on | normalised score | error of its difference to {against} "
           f"| CPU time / {reference} | with {LARGE:,} rows or more |")
    yield "|---|---|---|---|---|---|---|---|"
    for m, f in found.items():
        yield (f"| {m} | {f['rank']:.2f} | {f['wins']} | {'-' if m == against else f['better']} | {f['level']:.3f} | "
               f"{shown(f['error'])} | {significant(f['time'])} | {significant(f['large'])} |")
    if size < len(tables):
        yield f"\n{len(tables) - size} of {len(tables)} tables lack a result of some method and are left out here."
    if nobody:
        yield f"\nNo method beats a constant on {', '.join(nobody)}: 0 for all."


def mixed(table):
    return bool(table["text"] or table["gaps"])


def lines(tables, means, failures, methods, slow, against):
    yield "# The suite\n"
    yield ("`benchmarks/suite/suite.py`: R2 (regression) and AUC (classification) on 20% of the rows of public tables, the mean "
           "over three splits below 1,500 rows and one split above. Every fit has one thread. The normalised score of a table "
           "is 0 for a constant and 1 for the best method. A fit that fails has the score of a constant. Times are CPU seconds, "
           "for rffnet of the whole process with the reading of its files, for others of fit and prediction alone.")
    for title, keep in (("All", lambda t: True), ("Report half", lambda t: t["half"] == "report"),
                        ("Tune half", lambda t: t["half"] == "tune"), ("Numbers alone", lambda t: not mixed(t)),
                        ("Categories or gaps", mixed), ("More columns than training rows", lambda t: t["wide"])):
        yield from summary_lines(title, [t for t in tables if keep(t)], means, methods, against)
    if slow:
        few = [t for t in tables if t["subset"]]
        yield from summary_lines("With networks, first split", few, means, methods + slow, against, first=True)
    yield from every_table("Every table", tables, means, methods, False)
    if slow:
        yield from every_table("With networks, first split: every table", few, means, methods + slow, True)
    if failures:
        yield "\n## Fits that failed\n"
        yield "| table | split | method | message |\n|---|---|---|---|"
        for r in sorted(failures, key=lambda r: (r["table"], r["method"], r["split"])):
            yield f"| {r['table']} | {r['split']} | {r['method']} | {r['error'].splitlines()[-1].replace('|', chr(92) + '|')} |"


def every_table(title, tables, means, methods, first):
    yield f"\n## {title}: score, and CPU seconds in brackets\n"
    names = ["table", "half", "rows", "columns", "text", "gaps", "metric", *methods]
    yield "| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|"
    for t in sorted(tables, key=lambda t: (t["task"], t["table"])):
        row = {m: cell(means, m, t, first) for m in methods}
        best = max((c["score"] for c in row.values() if c), default=None)
        cells = ["-" if not c else f"{'**' if c['score'] == best else ''}{c['score']:.4f}{'**' if c['score'] == best else ''} "
                 f"({significant(c['cpu'])})" for c in row.values()]
        metric = "R2" if t["task"] == "regression" else "AUC"
        yield (f"| {t['table']} | {t['half']} | {t['rows']} | {t['columns']} | {len(t['text'])} | {t['gaps']} | {metric} | "
               + " | ".join(cells) + " |")


def draw(found, size, reference, file):
    """Mean normalised score over the time relative to the reference."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    from suite import METHODS

    plot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "suite", "font.family": "sans-serif", "font.size": 10})
    figure, axes = plot.subplots(figsize=(7.2, 4.4))
    points = {m: (f["time"], f["level"]) for m, f in found.items() if f["time"]}
    axes.set_xscale("log")
    axes.scatter(*zip(*points.values()), s=36, color=["#9aa3ad" if m in METHODS else "#c2410c" for m in points], zorder=3)
    axes.set_xlabel(f"CPU time, geometric mean, {reference} = 1")
    axes.set_ylabel("Mean normalised score")
    axes.set_title(f"Accuracy and time on {size} tables", loc="left", fontsize=11)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.margins(0.12)
    figure.tight_layout()
    figure.canvas.draw()
    label(axes, points)
    figure.savefig(file, metadata={"Date": None})
    plot.close(figure)


# Where a label may lie beside its point, the likeliest first: offset in points and alignment.
PLACES = [(7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 8, "center", "bottom"), (0, -8, "center", "top"),
          (7, 9, "left", "bottom"), (7, -9, "left", "top"), (-7, 9, "right", "bottom"), (-7, -9, "right", "top"),
          (14, 20, "left", "bottom"), (14, -20, "left", "top"), (-14, 20, "right", "bottom"), (-14, -20, "right", "top")]


def label(axes, points):
    """Puts every name where it hides no point and no other name."""
    from matplotlib.transforms import Bbox

    dots = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in (axes.transData.transform(p) for p in points.values())]
    taken, frame = list(dots), axes.get_window_extent()
    for name, point in sorted(points.items(), key=lambda item: -item[1][1]):
        for x, y, across, up in PLACES:
            text = axes.annotate(name, point, (x, y), textcoords="offset points", ha=across, va=up)
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in taken) and frame.x0 <= box.x0 and box.x1 <= frame.x1:
                break
            text.remove()
        else:
            text = axes.annotate(name, point, PLACES[0][:2], textcoords="offset points", ha="left", va="center")
        taken.append(text.get_window_extent())


def write(folder, tables, names, against, out):
    """Prints the report, and writes OUT.md, OUT.csv and OUT.svg."""
    from suite import METHODS, SLOW

    if names is None:
        files = glob.glob(os.path.join(folder, "results", "*.jsonl"))
        present = {os.path.basename(file).removesuffix(".jsonl") for file in files}
        own = sorted(n for n in present if n not in METHODS and not n.startswith("ablate-"))
        names = own + [m for m in METHODS if m in present]
    means, failures = gathered(folder, tables, names)
    methods, slow = [n for n in names if n not in SLOW], [n for n in names if n in SLOW]
    against = against or methods[0]
    text = "\n".join(lines(tables, means, failures, methods, slow, against)) + "\n"
    print(text, end="")
    with open(f"{out}.md", "w", encoding="utf-8") as file:
        file.write(text)
    with open(f"{out}.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["table", "half", "task", "rows", "columns", "metric",
                        *(f"{n} score" for n in names), *(f"{n} cpu" for n in names)])
        for t in sorted(tables, key=lambda t: (t["task"], t["table"])):
            row = [cell(means, n, t, n in SLOW) or {"score": None, "cpu": None} for n in names]
            table.writerow([t["table"], t["half"], t["task"], t["rows"], t["columns"], t["metric"],
                            *("" if c["score"] is None else f"{c['score']:.6g}" for c in row),
                            *("" if c["cpu"] is None else f"{c['cpu']:.4g}" for c in row)])
    found, size, _ = summary(tables, means, methods, against)
    if any(f["time"] for f in found.values()):
        draw(found, size, "hist" if "hist" in methods else methods[0], f"{out}.svg")


def ablation(folder, tables, plain, changes, flags, out):
    """Prints what each change does, and writes OUT.md."""
    from suite import METHODS, SLOW

    peers = [m for m in METHODS if m not in SLOW]
    means, _ = gathered(folder, tables, peers)
    own, failures = gathered(folder, tables, [plain, *(c["name"] for c in changes)])
    means.update(own)
    text = ["# Ablation\n", f"`benchmarks/suite/suite.py ablate`: every row is one change of the recipe against the plain command"
            f"{f' (`{flags}`)' if flags else ''}, on the tables where both have results. A table's score is 0 for a constant and "
            "1 for the best of all changes and of the boosting and linear methods that have results; the difference is the mean "
            "over tables with its standard error; time is the geometric mean.\n",
            "| key | value | what | tables | score - plain | error | better on | worse on | CPU time / plain |",
            "|---|---|---|---|---|---|---|---|---|"]
    for c in changes:
        differences, ratios = [], []
        for t in tables:
            row = {m: cell(means, m, t, False) for m in means}
            row = {m: found for m, found in row.items() if found}
            if plain in row and c["name"] in row:
                levels = normalised(row, t, list(row))
                differences.append(levels[c["name"]] - levels[plain])
                ratios.append((row[c["name"]]["cpu"], row[plain]["cpu"]))
        cells = ["-"] * 5
        if differences:
            cells = [f"{statistics.mean(differences):+.4f}", shown(error(differences), 4), sum(d > 0 for d in differences),
                     sum(d < 0 for d in differences), shown(geometric([a / b for a, b in ratios if a and b]), 2)]
        text.append("| " + " | ".join(str(x) for x in (c["key"], c["value"], c.get("what", ""), len(differences), *cells)) + " |")
    if failures:
        text += ["\nFits that failed:\n", *(f"- {r['method']}, {r['table']}: {r['error'].splitlines()[-1]}" for r in failures)]
    text = "\n".join(text) + "\n"
    print(text, end="")
    with open(f"{out}.md", "w", encoding="utf-8") as file:
        file.write(text)
