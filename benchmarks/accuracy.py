#!/usr/bin/env python3
"""Held-out scores beside the paper's, from nothing but `rffnet fit --json`.

    benchmarks/accuracy.py [--preset paper|auto] [--sets gse1,jse3,...] [--seeds 10] [--data-dir DIR]

Simulated sets: 10,000 training and 2,000 test rows, seeds 0, 1, ...; mean and standard deviation over seeds, and in how
many seeds the columns that matter are the ones with the largest relevances. Real sets (with --data-dir, a folder with
abalone.csv.gz, a9a.libsvm.gz, ...): five fixed 90/10 splits, pairwise against the boosting scores in boosting.json.
Standard library only; needs a release build (cargo build --release -p rffnet-cli).
"""
import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMAND = os.environ.get("RFFNET_BIN", os.path.join(ROOT, "target", "release", "rffnet"))

# Name: (metric, the paper's RFFNet as mean and standard deviation, columns that matter).
SIMULATED = {
    "gse1": ("mse", 0.073, 0.004, "x1 x3 x7 x8 x9"),
    "gse2": ("mse", 1.865, 0.222, "x11 x12 x13 x14 x15"),
    "jse2": ("mse", 1.359, 1.386, "x1 x2"),
    "jse3": ("mse", 0.012, 0.002, "x1 x2"),
    "classification": ("auc", 0.98, 0.016, ""),
    "moons": ("auc", 1.00, 0.00, ""),
}
# Name: (metric, the paper's RFFNet, the best method in the paper).
REAL = {
    "abalone": ("mse", 4.851, 4.408),
    "compact": ("mse", 9.765, 9.765),
    "powerplant": ("mse", 29.762, 15.092),
    "powerplant_sheet1": ("mse", None, None),
    "yearprediction": ("mse", 95.367, 81.421),
    "a9a": ("auc", 0.890, 0.899),
    "w8a": ("auc", 0.949, 0.967),
    "higgs": ("auc", 0.774, 0.774),
}
WIDTH = {"a9a": 123, "w8a": 300}


def fit(*arguments):
    run = subprocess.run([COMMAND, "fit", "--json", "--quiet", *map(str, arguments)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"rffnet fit {' '.join(map(str, arguments))}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def simulated(names, preset, seeds, threads):
    print("| set | metric | paper | rffnet mean | sd | median | true columns on top | fit s |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        metric, mean, sd, active = SIMULATED[name]
        active = set(active.split())
        scores, found, seconds = [], 0, []
        for seed in range(seeds):
            report = fit("--dataset", name, "--rows", 10000, "--preset", preset, "--seed", seed, *threads)
            scores.append(report["test"][metric])
            seconds.append(report["fit_seconds"])
            ranked = sorted(report["relevances"], key=lambda r: -r["relevance"])
            found += {r["feature"] for r in ranked[:len(active)]} == active
        on_top = f"{found} of {seeds}" if active else "-"
        print(f"| {name} | {metric} | {mean} ± {sd} | {statistics.mean(scores):.4f} | {statistics.pstdev(scores):.4f} "
              f"| {statistics.median(scores):.4f} | {on_top} | {statistics.median(seconds):.2f} |", flush=True)


def split(data_dir, name, k, folder):
    """The k-th of five fixed 90/10 splits."""
    sparse = name in WIDTH
    files = [f"{name}.libsvm.gz", f"{name}.t.libsvm.gz"] if sparse else [f"{name}.csv.gz"]
    lines = []
    for file in files:
        path = os.path.join(data_dir, file)
        if os.path.exists(path):
            with gzip.open(path, "rt") as text:
                lines += [line for line in text.read().splitlines() if line.strip()]
    head = [] if sparse else [lines.pop(0)]
    order = list(range(len(lines)))
    random.Random(1000 + k).shuffle(order)
    cut = len(lines) // 10
    paths = []
    for part, rows in (("train", order[cut:]), ("test", order[:cut])):
        paths.append(os.path.join(folder, f"{part}.{'libsvm' if sparse else 'csv'}"))
        with open(paths[-1], "w") as text:
            text.write("\n".join(head + [lines[i] for i in rows]) + "\n")
    return paths


def real(names, preset, splits, data_dir, threads):
    with open(os.path.join(data_dir, "boosting.json")) as text:
        boosting = json.load(text)
    print("\n| set | metric | paper RFFNet / best | boosting | rffnet | rffnet over boosting, by split | fit s |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        metric, ours, best = REAL[name]
        scores, seconds = [], []
        for k in range(1 if name == "yearprediction" else splits):
            with tempfile.TemporaryDirectory() as folder:
                if name == "yearprediction":
                    train, test = (os.path.join(data_dir, f"yearprediction_{part}.csv.gz") for part in ("5k_train", "2k_test"))
                else:
                    train, test = split(data_dir, name, k, folder)
                target = ["--columns", WIDTH[name]] if name in WIDTH else ["--target", "target"]
                report = fit(train, "--test", test, *target, "--preset", preset, "--seed", k, *threads)
            scores.append(report["test"][metric])
            seconds.append(report["fit_seconds"])
            print(f"  {name} split {k}: {scores[-1]:.4f} in {seconds[-1]:.1f} s", file=sys.stderr, flush=True)
        peer = boosting.get(name, {}).get("boosting", [])[:len(scores)]
        mean = statistics.mean(scores)
        if not peer:
            against, pairs = "-", "-"
        else:
            against = f"{statistics.mean(peer):.4f}"
            differ = (lambda a, b: f"{a / b:.3f}") if metric == "mse" else (lambda a, b: f"{a - b:+.4f}")
            pairs = f"{differ(mean, statistics.mean(peer))}: " + " ".join(differ(a, b) for a, b in zip(scores, peer))
        paper = "-" if ours is None else f"{ours} / {best}"
        print(f"| {name} | {metric} | {paper} | {against} | {mean:.4f} | {pairs} | {statistics.median(seconds):.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--sets", default="", help="comma-separated; all without it")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--data-dir", help="folder of the real sets; skipped without it")
    options = parser.parse_args()
    wanted = options.sets.split(",") if options.sets else [*SIMULATED, *REAL]
    threads = ["--threads", options.threads] if options.threads else []
    some = [name for name in wanted if name in SIMULATED]
    if some:
        simulated(some, options.preset, options.seeds, threads)
    some = [name for name in wanted if name in REAL]
    if some and options.data_dir:
        real(some, options.preset, options.splits, options.data_dir, threads)


if __name__ == "__main__":
    main()
