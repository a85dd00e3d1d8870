#!/usr/bin/env python3
"""The suite: rffnet, boosting, networks and linear models on public tables of 100 to 100,000 rows.

    benchmarks/suite/suite.py prepare DIR [--cache TABLES]           splits the tables of suite.json
    benchmarks/suite/suite.py run DIR COMMAND --name NAME            fits with rffnet
    benchmarks/suite/suite.py peers DIR [--methods hist,lightgbm]    fits the other methods
    benchmarks/suite/suite.py report DIR [--against NAME]            results.md, results.csv and results.svg
    benchmarks/suite/suite.py ablate DIR COMMAND                     the command with each change of ablation.json; ablation.md

Every fit is a process of its own with one thread. Results are lines of JSON in DIR/results/METHOD.jsonl, and a stage that is
started again does what is missing: a fit that failed is a result, too, until its line is deleted. DIR may travel to another
machine for `run`, which needs Python's standard library only; README.md lists what the other stages need.
"""
import argparse
import json
import math
import os
import random
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tables"))

from categories import prepared, results

MANY_SPLITS, BELOW = 3, 1500  # Tables with fewer rows are split three times, the others once.
METHODS = ["hist", "lightgbm", "xgboost", "catboost", "linear", "realmlp", "tabm", "xrfm"]
SLOW = {"realmlp", "tabm", "xrfm"}  # On the tables with `subset` only, and there on the first split.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                                     "VECLIB_MAXIMUM_THREADS", "LOKY_MAX_CPU_COUNT")}


def prepare(options):
    """Writes training and test files of every table, and jobs.json: the tables, and one job for each split."""
    import fetch
    from categories_prepare import METRIC, clean, gap, split, write
    from sources import available

    cache = options.cache or fetch.CACHE
    tables, jobs = [], []
    for table in available(cache):
        name = f"{table['collection']}/{os.path.basename(table['file']).split('.csv')[0]}"
        header, rows, at, text = clean(table, cache)
        if table.get("sample", len(rows)) < len(rows):
            rows = random.Random(0).sample(rows, table["sample"])
        gaps = sum(gap(cell) for row in rows for cell in row)
        place = name.replace("/", "-")
        os.makedirs(os.path.join(options.dir, place), exist_ok=True)
        splits = table.get("splits", MANY_SPLITS if len(rows) < BELOW else 1)
        for seed in range(splits):
            files = [f"{place}/{seed}-{part}.csv.gz" for part in ("train", "test")]
            parts = split(rows, at, table["task"], seed)
            for file, part in zip(files, parts):
                if not os.path.exists(os.path.join(options.dir, file)):
                    write(os.path.join(options.dir, file), header, part)
            jobs.append({"table": name, "split": seed, "train": files[0], "test": files[1], "cells": len(parts[0]) * len(header)})
        tables.append({"table": name, "half": table["half"], "task": table["task"], "metric": METRIC[table["task"]],
                       "rows": len(rows), "columns": len(header) - 1, "text": text, "gaps": gaps, "target": table["target"],
                       "wide": len(header) - 1 > len(parts[0]), "subset": table.get("subset", False), "splits": splits,
                       "licence": table["licence"]})
        size = f"{len(rows)} rows, {len(header) - 1} columns, {len(text)} of text, {gaps} gaps"
        print(f"{name}: {size}", file=sys.stderr, flush=True)
    # The smallest come first, so that a stage that is cut short has most of the tables.
    jobs.sort(key=lambda job: job["cells"])
    with open(os.path.join(options.dir, "jobs.json"), "w", encoding="utf-8") as text:
        json.dump({"tables": tables, "jobs": jobs}, text, indent=1)


def child(command, timeout, given=None):
    """The output of a process, with its wall and CPU seconds and peak memory in MB; an error if it fails or takes too long."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as source:
        source.write((given or "").encode())
        source.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=source, stdout=out, stderr=err, env={**os.environ, **ONE_THREAD})
        late = threading.Timer(timeout, process.kill)
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        late.cancel()
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        spent = {"seconds": round(seconds, 3), "cpu": round(usage.ru_utime + usage.ru_stime, 3),
                 "memory_mb": round(usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)}
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace").strip())
        error = None
        if process.returncode:
            error = f"took more than {timeout:g} s" if seconds >= timeout else texts[1] or f"exit status {process.returncode}"
    return texts[0], spent, error


def with_command(command, folder, timeout, flags):
    """A function that fits a job with the command."""
    def fit(table, job):
        train, test = (os.path.join(folder, job[part]) for part in ("train", "test"))
        line = [command, "fit", train, "--target", table["target"], "--task", table["task"], "--test", test, "--json", "--quiet",
                "--threads", "1", *flags]
        output, spent, error = child(line, timeout)
        if error:
            return {**spent, "error": error.replace(folder.rstrip(os.sep) + os.sep, "")}
        output = json.loads(output)
        scores = {key: output["test"][key] for key in ("mse", "log_loss") if key in output["test"]}
        chosen = {"chosen": output["chosen"]} if "chosen" in output else {}
        return {"score": output["test"][table["metric"]], **scores, **spent, **chosen}
    return fit


def with_library(method, folder, timeout):
    """A function that fits a job with another method: peers.py in a process of its own says what it took."""
    def fit(table, job):
        given = json.dumps({"method": method, "table": table, "split": job["split"],
                            **{part: os.path.join(folder, job[part]) for part in ("train", "test")}})
        output, spent, error = child([sys.executable, os.path.join(HERE, "peers.py")], timeout, given)
        return {**spent, "error": error.splitlines()[-1]} if error else {**spent, **json.loads(output.splitlines()[-1])}
    return fit


def work(folder, name, pairs, parallel, fit):
    """Fits the pairs of a table and a job that results/NAME.jsonl does not hold yet, and appends a line for each."""
    file = os.path.join(folder, "results", f"{name}.jsonl")
    os.makedirs(os.path.dirname(file), exist_ok=True)
    done = {(r["table"], r["split"]) for r in results(file)}
    pairs = [(table, job) for table, job in pairs if (job["table"], job["split"]) not in done]

    def attempt(table, job):
        try:
            result = fit(table, job)
        except Exception as failure:  # One fit that fails must not end the others.
            result = {"error": str(failure) or type(failure).__name__}
        if isinstance(result.get("score"), float) and not math.isfinite(result["score"]):
            result.update(score=None, error="the score is no number")
        start = {"table": job["table"], "split": job["split"], "method": name, "metric": table["metric"], "score": None}
        return {**start, **result, "error": result.get("error")}

    with open(file, "a", encoding="utf-8") as text, ThreadPoolExecutor(parallel) as pool:
        for i, future in enumerate(as_completed([pool.submit(attempt, *pair) for pair in pairs]), 1):
            result = future.result()
            text.write(json.dumps(result) + "\n")
            text.flush()
            shown = result["error"] if result["score"] is None else f"{result['score']:.4f} in {result['cpu']} s"
            print(f"{name} {i}/{len(pairs)} {result['table']} {result['split']}: {shown}", file=sys.stderr, flush=True)


def wanted(options):
    """The pairs of a table and a job that the options leave, the smallest tables first."""
    tables, jobs = prepared(options.dir)
    by_name = {table["table"]: table for table in tables}
    only = set(options.only.split(",")) if options.only else set(by_name)
    if only - set(by_name):
        sys.exit(f"no table is called {', '.join(sorted(only - set(by_name)))}; jobs.json has the names")
    pairs = [(by_name[job["table"]], job) for job in jobs if job["table"] in only]
    return [(table, job) for table, job in pairs
            if options.half in (None, table["half"]) and table["rows"] <= (options.most_rows or table["rows"])]


def run(options):
    fit = with_command(options.command, options.dir, options.timeout, shlex.split(options.flags))
    work(options.dir, options.name, wanted(options), options.parallel, fit)


def peers(options):
    pairs = wanted(options)
    for method in options.methods.split(","):
        if method not in METHODS:
            sys.exit(f"no method is called {method}; there are {', '.join(METHODS)}")
        part = [(t, j) for t, j in pairs if method not in SLOW or t["subset"] and j["split"] == 0]
        work(options.dir, method, part, options.parallel, with_library(method, options.dir, options.timeout))


def variants(prefix):
    """The changes of ablation.json with the names of their results."""
    with open(os.path.join(HERE, "ablation.json"), encoding="utf-8") as text:
        return [{**change, "name": f"{prefix}{change['key']}={change['value']}"} for change in json.load(text)]


def ablate(options):
    import report as reports

    changes, plain = variants(options.name_prefix), f"{options.name_prefix}plain"
    for name, recipe in [(plain, []), *((c["name"], ["--recipe", f"{c['key']}={c['value']}"]) for c in changes)]:
        fit = with_command(options.command, options.dir, options.timeout, [*shlex.split(options.base_flags), *recipe])
        work(options.dir, name, wanted(options), options.parallel, fit)
    kept = {table["table"] for table, _ in wanted(options)}
    tables = [table for table in prepared(options.dir)[0] if table["table"] in kept]
    out = options.out or os.path.join(options.dir, "ablation")
    reports.ablation(options.dir, tables, plain, changes, options.base_flags, out)


def report(options):
    import report as reports

    names = options.methods.split(",") if options.methods else None
    out = options.out or os.path.join(options.dir, "results")
    reports.write(options.dir, prepared(options.dir)[0], names, options.against, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(required=True, metavar="STAGE")
    stage = {}
    for function in (prepare, run, peers, report, ablate):
        stage[function] = stages.add_parser(function.__name__)
        stage[function].add_argument("dir", metavar="DIR")
        stage[function].set_defaults(stage=function)
    stage[prepare].add_argument("--cache", help="folder of the packages' tables [default: that of fetch.py]")
    for function in (run, ablate):
        stage[function].add_argument("command", metavar="COMMAND")
    for function in (run, peers, ablate):
        stage[function].add_argument("--parallel", type=int, default=1, help="fits at a time, one thread each")
        stage[function].add_argument("--timeout", type=float, default=3600, help="seconds for one fit")
        stage[function].add_argument("--half", choices=["tune", "report"], default="tune" if function is ablate else None,
                                     help="this half only" + (" [default: tune]" if function is ablate else ""))
        stage[function].add_argument("--most-rows", type=int, help="tables of so many rows at most")
        stage[function].add_argument("--only", help="these tables, comma-separated")
    stage[run].add_argument("--name", required=True, help="what the method is called in results and report")
    stage[run].add_argument("--flags", default="", help="further flags of the command, as one word")
    stage[peers].add_argument("--methods", default=",".join(METHODS), help="comma-separated")
    stage[report].add_argument("--methods", help="comma-separated, in their order [default: all that have results]")
    stage[report].add_argument("--against", help="the method that the others are compared with [default: the first]")
    stage[ablate].add_argument("--name-prefix", default="ablate-", help="what the names of the results begin with")
    stage[ablate].add_argument("--base-flags", default="", help="further flags of every fit, as one word")
    for function in (report, ablate):
        stage[function].add_argument("--out", help="path without ending [default: in DIR]")
    options = parser.parse_args()
    options.stage(options)


if __name__ == "__main__":
    main()
