#!/usr/bin/env python3
"""Many columns, few rows: rffnet beside the lasso, and L1 logistic regression for classes.

    benchmarks/wide.py [--rows 150,500] [--columns 1000,5000] [--seeds 10] [--functions friedman,products,...]

Functions of four or five columns among many of noise; 1,000 test rows. R2, and AUC for classes: the means over the seeds, the
difference to the linear model with its standard error (paired by seed), how often all active columns have the largest
importances, and how many of them do on average, processor seconds of a fit on one thread. scikit-learn's LassoCV, and LogisticRegressionCV with an
L1 penalty, both with five folds on standardised columns. Needs numpy and scikit-learn, and a release build.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import warnings

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMAND = os.environ.get("RFFNET_BIN", os.path.join(ROOT, "target", "release", "rffnet"))
TEST_ROWS = 1000


def friedman(x):
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def products(x):
    return x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]


def linear(x):
    return 2 * (x[:, 0] + x[:, 1] - x[:, 2] + x[:, 3] - x[:, 4])


def uniform(rng, shape):
    return rng.random(shape)


def normal(rng, shape):
    return rng.normal(size=shape)


# Name: how columns are drawn, the function, its active columns, and how the target is made of it.
FUNCTIONS = {
    "friedman": (uniform, friedman, 5, lambda f, rng: f + rng.normal(size=len(f))),
    "products": (normal, products, 4, lambda f, rng: f + 0.5 * rng.normal(size=len(f))),
    "friedman, classes": (uniform, friedman, 5, lambda f, rng: (f + rng.normal(size=len(f)) > 14.4).astype(int)),
    "linear, classes": (normal, linear, 5, lambda f, rng: (f + rng.logistic(size=len(f)) > 0).astype(int)),
    "products, classes": (normal, products, 4, lambda f, rng: (f + 0.2 * rng.normal(size=len(f)) > 0).astype(int)),
}


def table(function, rows, columns, seed):
    draw, f, active, target = FUNCTIONS[function]
    rng = np.random.default_rng(seed)
    x = draw(rng, (rows + TEST_ROWS, columns))
    y = target(f(x), rng)
    return (x[:rows], y[:rows]), (x[rows:], y[rows:]), active


def by_rffnet(train, test, active, classes):
    """Score, how many active columns come first, processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("train.csv", "test.csv", "model.rffnet")]
        header = ",".join([f"x{j}" for j in range(train[0].shape[1])] + ["y"])
        for file, (x, y) in zip(files, (train, test)):
            np.savetxt(file, np.c_[x, y], delimiter=",", header=header, comments="", fmt="%.6g")
        task = "classification" if classes else "regression"
        line = [COMMAND, "fit", files[0], "--target", "y", "--task", task, "--test", files[1], "--output", files[2],
                "--threads", "1", "--quiet", "--json"]
        process = subprocess.Popen(line, stdout=subprocess.PIPE)
        output = json.loads(process.stdout.read())
        _, _, usage = os.wait4(process.pid, 0)
        inspected = json.loads(subprocess.run([COMMAND, "inspect", files[2], "--json"], capture_output=True, check=True).stdout)
    first = sorted(inspected["relevances"], key=lambda column: -column["importance"])[:active]
    hits = sum(int(column["feature"][1:]) < active for column in first)
    return output["test"]["auc" if classes else "r2"], hits, usage.ru_utime + usage.ru_stime


def by_lasso(train, test, classes):
    scaler = StandardScaler().fit(train[0])
    x, fresh = scaler.transform(train[0]), scaler.transform(test[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if classes:
            model = LogisticRegressionCV(Cs=10, penalty="l1", solver="liblinear", cv=5).fit(x, train[1])
            return roc_auc_score(test[1], model.decision_function(fresh))
        return LassoCV(cv=5).fit(x, train[1]).score(fresh, test[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="150,500")
    parser.add_argument("--columns", default="1000,5000")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--functions", default=";".join(FUNCTIONS), help="separated by semicolons")
    options = parser.parse_args()
    print("| function | rows | columns | linear | rffnet | difference | active first | of them | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for function in options.functions.split(";"):
        classes = "classes" in function
        for rows in map(int, options.rows.split(",")):
            for columns in map(int, options.columns.split(",")):
                ours, theirs, whole, some, seconds = [], [], 0, [], []
                for seed in range(options.seeds):
                    train, test, active = table(function, rows, columns, seed)
                    score, hits, cpu = by_rffnet(train, test, active, classes)
                    ours.append(score)
                    theirs.append(by_lasso(train, test, classes))
                    whole += hits == active
                    some.append(hits / active)
                    seconds.append(cpu)
                gains = [a - b for a, b in zip(ours, theirs)]
                error = statistics.stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
                print(f"| {function} | {rows} | {columns:,} | {statistics.mean(theirs):.3f} | **{statistics.mean(ours):.3f}** | "
                      f"{statistics.mean(gains):+.3f} ± {error:.3f} | {whole} of {options.seeds} | {100 * statistics.mean(some):.0f} % | "
                      f"{statistics.mean(seconds):.2f} |", flush=True)


if __name__ == "__main__":
    main()
