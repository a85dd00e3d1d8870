#!/usr/bin/env python3
"""Do two builds of `rffnet` compute the same fits?

    benchmarks/same_fits.py OLD NEW [--data-dir DIR] [--timing N] [--only WORD] [--rename committee=members]

OLD and NEW are two `rffnet` commands. Each fit of same_fits.json is made by both, and each model predicts rows it was
not fitted on. The table says whether predictions (with probabilities), validation loss, relevances and importances are
the same to the last bit, or else how large the largest relative difference is. NEW also predicts with OLD's model file.
A difference is relative to the larger of the two numbers, or to the root mean square of its column if that is larger.
The exit status is 1 if a difference is larger than 1e-6 or if a command fails.

The data are simulated, partly by `rffnet`, partly here. With --data-dir, a folder with abalone.csv.gz, compact.csv.gz,
higgs.csv.gz and a9a.libsvm.gz, the fits of these sets are made too.

With --timing N the fits marked "timed" run N times each, OLD and NEW in turn, instead of being compared. The table has the
median of the ratios NEW/OLD; other work on the machine makes it worthless. --only takes the fits whose names contain a
word. --rename says what NEW calls a flag of the list. Standard library only.
"""
import argparse
import array
import gzip
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "same_fits.json")
SIMULATED = ["gse1", "gse2", "jse2", "jse3", "classification", "moons"]
REAL = {"abalone": "csv", "compact": "csv", "higgs": "csv", "a9a": "libsvm"}
NEW_ROWS = 200  # that the models predict
TOLERANCE = 1e-6


# ---- tables ------------------------------------------------------------------------------------------------------------
# Each takes a source of random numbers and a number of rows, and returns (names, rows of cells).

def smooth(rng, rows):
    """Six columns, of which three matter, in a target with noise."""
    table = []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(6)]
        table.append(x + [math.sin(2 * x[0]) * x[1] + 0.5 * x[2] + rng.gauss(0, 0.1)])
    return [f"x{j}" for j in range(1, 7)] + ["y"], table


def exact(rng, rows):
    """A ridge function without noise: one network on rotated frequencies explains it all."""
    table = []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(6)]
        table.append(x + [math.tanh(x[0] + x[1] - x[2])])
    return [f"x{j}" for j in range(1, 7)] + ["y"], table


def weighted(rng, rows):
    """As `smooth`, with row weights, some of them zero, a column of two values and a constant one."""
    names, table = smooth(rng, rows)
    table = [row[:6] + [rng.choice([0, 1]), 7] + row[6:] + [rng.choice([0, 0.5, 1, 2, 3])] for row in table]
    return names[:6] + ["switch", "constant", "y", "weight"], table


def gaps(rng, rows):
    """As `smooth`, with missing cells."""
    names, table = smooth(rng, rows)
    return names, [[("NA" if rng.random() < 0.1 else v) for v in row[:6]] + row[6:] for row in table]


def skewed(rng, rows):
    """Columns of which the target depends on the logarithm, and one with long tails."""
    table = []
    for _ in range(rows):
        logs = [rng.gauss(0, 1.2) for _ in range(3)]
        tail = rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1, 1))
        table.append([math.exp(v) for v in logs] + [tail, rng.gauss(0, 1)]
                     + [logs[0] * logs[1] + math.atan(tail) + rng.gauss(0, 0.1)])
    return ["area", "income", "price", "tail", "plain", "y"], table


def tailed(rng, rows):
    """Even columns with long tails: soft clipping, and no power to choose."""
    table = []
    for _ in range(rows):
        x = [rng.choice([-1, 1]) * rng.paretovariate(1.5) + rng.gauss(0, 1) for _ in range(4)]
        table.append(x + [math.atan(x[0]) * math.atan(x[1]) + 0.05 * rng.gauss(0, 1)])
    return ["a", "b", "c", "d", "y"], table


def copies(rng, rows):
    """Few rows, most of them two or three times."""
    names, table = smooth(rng, max(rows // 2, 1))
    return names, [table[int(rng.random() ** 1.5 * len(table))] for _ in range(rows)]


def wide(rng, rows):
    """More columns than rows."""
    table = []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(320)]
        table.append(x + [x[0] * x[1] + 2 * x[2] + rng.gauss(0, 0.1)])
    return [f"gene{j}" for j in range(320)] + ["y"], table


def collinear(rng, rows):
    """Columns that are nearly copies of one another, and a target that is their small difference."""
    table = []
    for _ in range(rows):
        level, parts = rng.gauss(0, 1), [rng.gauss(0, 0.01) for _ in range(4)]
        table.append([level + p for p in parts] + [100 * (parts[0] - parts[1]) + 0.1 * math.sin(level)])
    return ["a", "b", "c", "d", "y"], table


def counts(rng, rows):
    """Counts whose expectation is the exponential of a smooth function."""
    table = []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(4)]
        limit, count, product = math.exp(-math.exp(math.sin(x[0]) + 0.5 * x[1])), 0, rng.random()
        while product > limit:
            count, product = count + 1, product * rng.random()
        table.append(x + [count])
    return ["a", "b", "c", "d", "y"], table


def labels(rng, rows):
    """Two classes as text, one of them rare, and weights."""
    table = []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(5)]
        score = 2 * (x[0] * x[1] + x[2]) - 2 + rng.gauss(0, 0.5)
        table.append(x + ["yes" if score > 0 else "no", rng.choice([1, 1, 2])])
    return ["a", "b", "c", "d", "e", "y", "weight"], table


def species(rng, rows):
    """Four classes as text, with missing cells."""
    table = []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(5)]
        label = ["ant", "bee", "cat", "dog"][2 * (x[0] * x[1] > 0) + (x[2] + 0.3 * rng.gauss(0, 1) > 0)]
        table.append([("" if rng.random() < 0.03 else v) for v in x] + [label])
    return ["a", "b", "c", "d", "e", "y"], table


def sparse(rng, rows):
    """Many columns of zeros and ones, two classes; LIBSVM."""
    table = []
    for _ in range(rows):
        x = [int(rng.random() < 0.15) for _ in range(40)]
        score = sum(x[:6]) - sum(x[6:12]) + 2 * x[0] * x[7] + rng.gauss(0, 0.5)
        table.append(x + [1 if score > 0 else -1])
    return None, table


def same(rng, rows):
    """A target with one value."""
    return ["a", "b", "y"], [[rng.gauss(0, 1), rng.gauss(0, 1), 2.5] for _ in range(rows)]


TABLES = [smooth, exact, weighted, gaps, skewed, tailed, copies, wide, collinear, counts, labels, species, sparse, same]
TABLES = {table.__name__: table for table in TABLES}


def write(folder, name, part, names, rows):
    """CSV, or LIBSVM where columns have no names."""
    path = os.path.join(folder, f"{name}-{part}.{'csv' if names else 'libsvm'}")
    if names:
        lines = [",".join(names)] + [",".join(map(str, row)) for row in rows]
    else:
        cells = lambda row: "".join(f" {j}:{v}" for j, v in enumerate(row[:-1], 1) if v)
        lines = [str(row[-1]) + cells(row) for row in rows]
    with open(path, "w") as text:
        text.write("\n".join(lines) + "\n")
    return path


def some_rows(data_dir, name, count, folder):
    """`count` rows of a real set to fit, and others to predict."""
    ending = REAL[name]
    with gzip.open(os.path.join(data_dir, f"{name}.{ending}.gz"), "rt") as text:
        lines = [line for line in text.read().splitlines() if line.strip()]
    head = [lines.pop(0)] if ending == "csv" else []
    random.Random(2024).shuffle(lines)
    paths = []
    for part, rows in (("fit", lines[:count]), ("new", lines[count:count + NEW_ROWS])):
        paths.append(os.path.join(folder, f"{name}-{count}-{part}.{ending}"))
        with open(paths[-1], "w") as text:
            text.write("\n".join(head + rows) + "\n")
    return paths


def many_rows(count, columns, folder):
    """So many rows of normal deviates, as .npy: reading text would take longer than predicting."""
    rng = random.Random(7)
    block = array.array("f", (rng.gauss(0, 1) for _ in range(1000 * columns)))
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, {columns}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    if sys.byteorder == "big":
        block.byteswap()
    path = os.path.join(folder, f"many-{columns}.npy")
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        for _ in range(count // 1000):
            block.tofile(file)
    return path


def is_real(entry):
    return entry["data"].split()[0] in REAL


class Task:
    """A fit of the list: its arguments, and the rows to predict."""

    def __init__(self, entry, command, data_dir, folder):
        self.name, self.timed, self.many = entry["name"], entry.get("timed", False), entry.get("many", 0)
        set_name, count = entry["data"].split()
        count = int(count)
        if set_name in SIMULATED:
            self.data = ["--dataset", set_name, "--rows", str(count)]
            self.new = os.path.join(folder, f"{set_name}.csv")
            run([command, "generate", set_name, "--rows", str(NEW_ROWS), "--seed", "99", "-o", self.new, "--quiet"])
        elif set_name in TABLES:
            paths = []
            for part, rows in (("fit", count), ("new", NEW_ROWS)):
                names, table = TABLES[set_name](random.Random(f"{set_name} {part}"), rows)
                paths.append(write(folder, f"{set_name}-{count}", part, names, table))
            self.data, self.new = [paths[0]] + (["--target", "y"] if names else []), paths[1]
        else:
            fit, self.new = some_rows(data_dir, set_name, count, folder)
            self.data = [fit] + (["--target", "target"] if REAL[set_name] == "csv" else ["--columns", "123"])
        self.flags = shlex.split(entry["fit"])
        if self.many:
            with open(self.new) as text:
                columns = len(text.readline().split(",")) - 1
            self.many = many_rows(self.many, columns, folder)


# ---- commands ----------------------------------------------------------------------------------------------------------

class Failed(Exception):
    pass


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [""]
        raise Failed(f"exit status {done.returncode}: {lines[-1]}")
    return done.stdout


def fit(command, task, rename, model=None):
    flags = [rename.get(flag, flag) for flag in task.flags]
    output = ["-o", model] if model else []
    return json.loads(run([command, "fit", *task.data, *flags, *output, "--json", "--quiet"]))


def predict(command, model, task, classes):
    """Lines of cells."""
    text = run([command, "predict", model, task.new, "--quiet"] + (["--proba"] if classes else []))
    return [line.split(",") for line in text.splitlines()]


# ---- comparisons -------------------------------------------------------------------------------------------------------

def number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def difference(old, new):
    """The largest relative difference of two columns; infinite if something other than a number differs."""
    if old == new:
        return 0.0
    if len(old) != len(new):
        return math.inf
    pairs = [(number(a), number(b)) for a, b in zip(old, new)]
    size = math.sqrt(sum(a * a for a, _ in pairs if a is not None) / len(pairs))
    largest = 0.0
    for (a, b), cells in zip(pairs, zip(old, new)):
        if cells[0] == cells[1]:
            continue
        if a is None or b is None or not math.isfinite(a + b):
            return math.inf
        largest = max(largest, abs(a - b) / max(abs(a), abs(b), size))
    return largest


def tables_differ(old, new):
    if old == new:
        return 0.0
    if len(old) != len(new) or {len(row) for row in old} != {len(row) for row in new}:
        return math.inf
    # -0 and 0 are different text and the same number, hence the smallest positive number.
    return max([difference(list(a), list(b)) for a, b in zip(zip(*old), zip(*new))]) or sys.float_info.min


def reports_differ(old, new):
    """Validation loss, relevances and importances."""
    loss = difference([(old["validation"] or {}).get("loss")], [(new["validation"] or {}).get("loss")])
    columns = []
    for report in (old, new):
        by_name = sorted(report["relevances"], key=lambda r: r["feature"])
        columns.append([[r[key] for r in by_name] for key in ("feature", "relevance", "importance")])
    return max([loss] + [difference(a, b) for a, b in zip(*columns)])


def compared(task, old, new, rename, folder):
    """(largest difference, cells of the table)"""
    models = [os.path.join(folder, f"{which}.rffnet") for which in ("old", "new")]
    try:
        reports = [fit(old, task, {}, models[0])]
        classes = reports[0]["task"] == "classification"
        predictions = [predict(old, models[0], task, classes)]
    except Failed as error:
        return math.inf, f"OLD fails, {error}", "", "", ""
    try:
        reports.append(fit(new, task, rename, models[1]))
        predictions.append(predict(new, models[1], task, classes))
    except Failed as error:
        return math.inf, f"NEW fails, {error}", "", "", ""
    try:
        by_new = tables_differ(predictions[0], predict(new, models[0], task, classes))
        old_model = verdict(by_new)
    except Failed as error:
        by_new, old_model = math.inf, f"NEW fails, {error}"
    predicted, reported = tables_differ(*predictions), reports_differ(*reports)
    losses = [(report["validation"] or {}).get("loss") for report in reports]
    shown = "" if losses[0] == losses[1] else f"{losses[0]} / {losses[1]}"
    return max(predicted, reported, by_new), verdict(predicted), verdict(reported), old_model, shown


def verdict(value):
    return "identical" if value == 0 else "different" if value == math.inf else f"{value:.1e}"


def compare(tasks, old, new, rename, folder):
    print("| fit | predictions | loss, relevances, importances | NEW with OLD's model | validation loss OLD / NEW |")
    print("|---|---|---|---|---|")
    worst, same_count = 0.0, 0
    for task in tasks:
        value, *cells = compared(task, old, new, rename, folder)
        worst, same_count = max(worst, value), same_count + (value == 0)
        print(f"| {task.name} | {' | '.join(cells)} |", flush=True)
    print(f"\n{same_count} of {len(tasks)} fits are identical; the largest relative difference is {worst:.1e}.")
    return 1 if worst > TOLERANCE else 0


def timing(tasks, old, new, rename, folder, times):
    print("| fit | OLD s | NEW s | NEW/OLD, median | smallest to largest |")
    print("|---|---|---|---|---|")
    commands = [(old, {}), (new, rename)]

    def seconds_to_fit(which, task):
        command, names = commands[which]
        return fit(command, task, names)["fit_seconds"]

    def seconds_to_predict(which, task):
        start = time.perf_counter()
        run([commands[which][0], "predict", os.path.join(folder, f"{which}.rffnet"), task.many, "--quiet"])
        return time.perf_counter() - start

    for task in tasks:
        name, measure = task.name, seconds_to_fit
        if task.many:
            name, measure = f"{task.name}: predict", seconds_to_predict
            for which, (command, names) in enumerate(commands):
                fit(command, task, names, os.path.join(folder, f"{which}.rffnet"))
        seconds = [[measure(which, task) for which in (0, 1)] for _ in range(times)]
        ratios = [b / a for a, b in seconds]
        old_median, new_median = (statistics.median(column) for column in zip(*seconds))
        print(f"| {name} | {old_median:.3f} | {new_median:.3f} | {statistics.median(ratios):.3f} "
              f"| {min(ratios):.3f} to {max(ratios):.3f} |", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a build of rffnet to compare with")
    parser.add_argument("new", help="a build of rffnet")
    parser.add_argument("--data-dir", help="folder of the real sets; their fits are left out without it")
    parser.add_argument("--timing", type=int, metavar="N", help="time the fits marked so, N times each")
    parser.add_argument("--only", default="", metavar="WORD", help="only the fits whose names contain this")
    parser.add_argument("--rename", action="append", default=[], metavar="FLAG=FLAG",
                        help="what NEW calls a flag of the list")
    options = parser.parse_args()
    rename = {f"--{a}": f"--{b}" for a, b in (pair.split("=") for pair in options.rename)}
    with open(LIST) as text:
        entries = json.load(text)
    entries = [entry for entry in entries if options.only in entry["name"]]
    entries = [entry for entry in entries if options.data_dir or not is_real(entry)]
    if options.timing:
        entries = [entry for entry in entries if entry.get("timed")]
    if not entries:
        parser.error("no fit is left")
    with tempfile.TemporaryDirectory() as folder:
        tasks = [Task(entry, options.old, options.data_dir, folder) for entry in entries]
        if options.timing:
            return timing(tasks, options.old, options.new, rename, folder, options.timing)
        return compare(tasks, options.old, options.new, rename, folder)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"a command fails, {error}")
