#!/usr/bin/env python3
"""Categories and gaps: the command on tables as they are, beside one-hot encoding and gradient boosting.

    benchmarks/tables/categories.py prepare DIR [--cache TABLES]     splits and encodes the tables
    benchmarks/tables/categories.py run DIR COMMAND [--parallel K]   fits with rffnet; standard library only
    benchmarks/tables/categories.py peers DIR [--threads 2]          fits the boosting libraries
    benchmarks/tables/categories.py report DIR [--out PATH]          benchmarks/tables/categories.md and .csv

The tables are those of tables.json with a `half`: settings may be chosen by scores on the `tune` half and are judged on the
`report` half; `run --half tune` keeps away from the latter. Three random 80/20 splits by seed, stratified for classes; R2
for regression, AUC (the mean over each class against the others) for classification. The methods, with their defaults:

    native     rffnet on the cells as they are
    onehot     rffnet behind scikit-learn's one-hot encoder and imputers (the mean, the most frequent category)
    hist       scikit-learn's HistGradientBoosting, categories by dtype, gaps as they are
    lightgbm   LightGBM, categories by dtype, gaps as they are
    catboost   CatBoost, cat_features, gaps in numbers as they are

Results are lines of JSON in DIR/rffnet.jsonl and DIR/peers.jsonl, and a stage that is started again does what is missing.
`prepare` and `peers` need scikit-learn, pandas, LightGBM and CatBoost. DIR may travel to another machine for `run`.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

HERE = os.path.dirname(os.path.abspath(__file__))


def prepared(folder):
    """The tables and the jobs of a prepared folder."""
    with open(os.path.join(folder, "jobs.json"), encoding="utf-8") as text:
        content = json.load(text)
    return content["tables"], content["jobs"]


def results(file):
    if not os.path.exists(file):
        return []
    with open(file, encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def work(jobs, file, parallel, score):
    """Scores the jobs that `file` does not hold yet, and appends a line for each; a failure is a result, too."""
    done = {(r["table"], r["split"], r["method"]) for r in results(file)}
    jobs = [job for job in jobs if (job["table"], job["split"], job["method"]) not in done]

    def attempt(job):
        start = time.monotonic()
        try:
            value, error = score(job), None
        except Exception as failure:  # One fit that fails must not end the others.
            value, error = None, str(failure) or type(failure).__name__
        return {"table": job["table"], "split": job["split"], "method": job["method"], "metric": job["metric"], "score": value,
                "seconds": round(time.monotonic() - start, 2), "error": error}

    with open(file, "a", encoding="utf-8") as text, ThreadPoolExecutor(parallel) as pool:
        for i, future in enumerate(as_completed([pool.submit(attempt, job) for job in jobs]), 1):
            result = future.result()
            text.write(json.dumps(result) + "\n")
            text.flush()
            shown = result["error"] if result["score"] is None else f"{result['score']:.4f}"
            print(f"{i}/{len(jobs)} {result['table']} {result['split']} {result['method']}: {shown} in {result['seconds']} s",
                  file=sys.stderr, flush=True)


def prepare(options):
    import categories_prepare
    import fetch

    categories_prepare.prepare(options.dir, options.cache or fetch.CACHE)


def run(options):
    def score(job):
        train, test = (os.path.join(options.dir, job[part]) for part in ("train", "test"))
        line = [options.command, "fit", train, "--target", job["target"], "--test", test, "--json", "--quiet", "--threads", "1"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=options.timeout)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().replace(options.dir.rstrip(os.sep) + os.sep, ""))
        return json.loads(done.stdout)["test"][job["metric"]]

    wanted = options.methods.split(",")
    jobs = [job for job in prepared(options.dir)[1] if job["method"] in wanted and options.half in (None, job["half"])]
    work(jobs, options.results or os.path.join(options.dir, "rffnet.jsonl"), options.parallel, score)


def peers(options):
    import categories_peers
    from categories_prepare import read

    tables, jobs = prepared(options.dir)
    by_name = {table["table"]: table for table in tables}
    # One fit at a time: what takes least comes first, so that a stage that is cut short has most of the tables.
    jobs = [dict(job, method=method) for method in categories_peers.METHODS for job in reversed(jobs) if job["method"] == "native"]

    def score(job):
        train, test = (read(os.path.join(options.dir, job[part])) for part in ("train", "test"))
        return categories_peers.score(job["method"], by_name[job["table"]], train, test, job["split"], options.threads)

    # scikit-learn takes its number of threads from here; threads that wait without spinning bear other work beside them.
    os.environ.update(OMP_NUM_THREADS=str(options.threads), OMP_WAIT_POLICY="passive")
    work(jobs, os.path.join(options.dir, "peers.jsonl"), 1, score)


def report(options):
    import categories_report

    files = [options.results or os.path.join(options.dir, "rffnet.jsonl"), os.path.join(options.dir, "peers.jsonl")]
    categories_report.write(prepared(options.dir)[0], [result for file in files for result in results(file)], options.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(required=True, metavar="STAGE")
    stage = {}
    for function in (prepare, run, peers, report):
        stage[function] = stages.add_parser(function.__name__)
        stage[function].add_argument("dir", metavar="DIR")
        stage[function].set_defaults(stage=function)
    stage[prepare].add_argument("--cache", help="folder of the tables [default: that of fetch.py]")
    stage[run].add_argument("command", metavar="COMMAND")
    stage[run].add_argument("--parallel", type=int, default=1, help="fits at a time, one thread each")
    stage[run].add_argument("--timeout", type=float, default=1800, help="seconds for one fit")
    stage[run].add_argument("--half", choices=["tune", "report"], help="this half only")
    stage[run].add_argument("--methods", default="native,onehot", help="comma-separated")
    stage[peers].add_argument("--threads", type=int, default=2)
    for function in (run, report):
        stage[function].add_argument("--results", help="the command's results [default: DIR/rffnet.jsonl]")
    stage[report].add_argument("--out", default=os.path.join(HERE, "categories"), help="path without .md and .csv")
    options = parser.parse_args()
    options.stage(options)


if __name__ == "__main__":
    main()
