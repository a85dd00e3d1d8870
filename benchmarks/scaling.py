#!/usr/bin/env python3
"""How the default algorithm scales with rows and threads.

    benchmarks/scaling.py [--rows 10000,100000,1000000] [--columns 28] [--threads 1,16] [--copies 0]

Friedman's first function with noise and idle columns, fitted with every number of rows and threads: seconds by the clock and of
the processor, peak memory, the speed relative to the first number of threads, and a check that the model files have the same
bytes. With --copies K also K fits of the first table at a time, one thread each: what this machine has to give to K threads.
Prints the slope of the logarithms of processor time and rows. Standard library only; needs a release build.
"""
import argparse
import hashlib
import json
import math
import multiprocessing
import os
import random
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMAND = os.environ.get("RFFNET_BIN", os.path.join(ROOT, "target", "release", "rffnet"))


def block(given):
    """Rows of a table as text."""
    seed, rows, columns = given
    rng = random.Random(seed)
    lines = []
    for _ in range(rows):
        x = [rng.random() for _ in range(columns)]
        y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4] + rng.gauss(0, 1)
        lines.append(",".join(f"{v:.4f}" for v in (*x, y)))
    return "\n".join(lines) + "\n"


def write(path, rows, columns):
    parts = [(seed, min(10_000, rows - first), columns) for seed, first in enumerate(range(0, rows, 10_000))]
    with open(path, "w", encoding="utf-8") as text, multiprocessing.Pool() as pool:
        text.write(",".join(f"x{j + 1}" for j in range(columns)) + ",y\n")
        for lines in pool.imap(block, parts):
            text.write(lines)


def line(path, threads):
    return [COMMAND, "fit", path, "--target", "y", "--quiet", "--json", "--threads", str(threads), "--output", path + ".rffnet"]


def fit(path, threads):
    """Seconds by the clock and of the processor, peak memory in MB, a hash of the model, and what was chosen."""
    start = time.monotonic()
    process = subprocess.Popen(line(path, threads), stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if process.returncode:
        raise SystemExit(f"{path}: exit status {process.returncode}")
    with open(path + ".rffnet", "rb") as model:
        digest = hashlib.md5(model.read()).hexdigest()[:8]
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, digest, json.loads(output)["chosen"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--copies", type=int, default=0)
    options = parser.parse_args()
    rows, threads = ([int(part) for part in text.split(",")] for text in (options.rows, options.threads))
    print("| rows | threads | s | CPU s | MB | speed | model | chosen |\n|---|---|---|---|---|---|---|---|")
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in rows:
            path = os.path.join(folder, f"{n}.csv")
            write(path, n, options.columns)
            first = None
            for t in threads:
                wall, cpu, memory, digest, chosen = fit(path, t)
                first = first or (wall, digest)
                times.setdefault(t, []).append((n, cpu))
                same = "same" if digest == first[1] else "DIFFERENT"
                print(f"| {n} | {t} | {wall:.2f} | {cpu:.1f} | {memory:.0f} | {first[0] / wall:.2f} | {same} | {chosen} |", flush=True)
        for t, points in times.items():
            (n, begun), (m, ended) = points[0], points[-1]
            if m > n:
                slope = math.log(ended / begun) / math.log(m / n)
                print(f"slope of log CPU time over log rows, {t} threads: {slope:.2f}")
        if options.copies:
            path = os.path.join(folder, f"{rows[0]}.csv")
            walls = []
            for k in (1, options.copies):
                start = time.monotonic()
                running = [subprocess.Popen(line(path, 1), stdout=subprocess.DEVNULL) for _ in range(k)]
                assert not any(process.wait() for process in running)
                walls.append(time.monotonic() - start)
            print(f"{options.copies} copies at a time, one thread each: {options.copies * walls[0] / walls[1]:.1f} times the rate of one")


if __name__ == "__main__":
    main()
