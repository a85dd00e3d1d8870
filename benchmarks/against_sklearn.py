"""The same fits and predictions in scikit-learn and in rffnet-baselines, interleaved in one run; medians and ratios.

Started by `benchmarks/run-sklearn`, which makes the environment. Ratios are what counts: absolute times depend on the
machine and drift from run to run.

Both get the same standardised rows (scikit-learn as float64, its usual type), the same landmarks and the same number of
threads. scikit-learn is timed as it comes; its logistic regression stops early by default, so differences of predictions
are taken against one that was run to convergence. They are differences of values, or of probabilities.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKER = os.path.join(ROOT, "target", "release", "examples", "sklearn_worker")
LANDMARKS, SEED = 300, 0


def make(folder, n, d, test, classes):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n + test, d))
    x = ((x - x[:n].mean(0)) / x[:n].std(0)).astype(np.float32)
    f = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * rng.standard_normal(n + test)
    y = (f > 0).astype(float) if classes else f
    landmarks = np.random.RandomState(SEED).permutation(n)[:LANDMARKS]
    arrays = {"x": x[:n], "test": x[n:], "y": y[:n].astype(np.float64), "landmarks": landmarks.astype(np.uint64)}
    for name, array in arrays.items():
        array.tofile(os.path.join(folder, name))
    with open(os.path.join(folder, "shape"), "w") as f:
        f.write(f"{n} {d} {test}")
    return x[:n].astype(float), y[:n], x[n:].astype(float)


def peer(method, d, converged=False):
    features = Nystroem(gamma=1 / d, n_components=LANDMARKS, random_state=SEED)
    if method == "krr":
        return KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / d)
    if method == "nystroem-ridge":
        return make_pipeline(features, Ridge(alpha=0.1))
    extra = {"tol": 1e-10, "solver": "newton-cholesky"} if converged else {}
    return make_pipeline(features, LogisticRegression(C=10, **extra))


def outputs(model, test):
    return model.predict_proba(test)[:, 1] if hasattr(model, "predict_proba") else model.predict(test)


def timed(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def compare(method, n, d, test, threads, repeats):
    classes = method.endswith("logistic")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(threads):
        x, y, rows = make(folder, n, d, test, classes)
        times = {"theirs": ([], []), "ours": ([], [])}
        outputs(peer(method, d).fit(x, y), rows)  # warm up
        for _ in range(repeats):
            seconds, model = timed(lambda: peer(method, d).fit(x, y))
            times["theirs"][0].append(seconds)
            times["theirs"][1].append(timed(lambda: outputs(model, rows))[0])
            command = [WORKER, method, folder, str(threads), "1"]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for line, seconds in zip(text.splitlines(), times["ours"]):
                seconds += map(float, line.split())
        ours = np.fromfile(os.path.join(folder, "ours"))
        ours = 1 / (1 + np.exp(-ours)) if classes else ours
        difference = np.abs(ours - outputs(peer(method, d, converged=True).fit(x, y), rows)).max()
    for part, a, b in zip(("fit", "predict"), times["theirs"], times["ours"]):
        a, b = 1e3 * statistics.median(a), 1e3 * statistics.median(b)
        print(f"| {method}, {part} | {n:,} x {d} | {threads} | {a:.1f} | {b:.1f} | {a / b:.1f}x | {difference:.0e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"scikit-learn {sklearn.__version__}, medians of {options.repeats}; predictions for 5,000 rows\n")
    print("| method | rows x columns | threads | scikit-learn ms | rffnet ms | ratio | largest difference |")
    print("|---|---|---|---|---|---|---|")
    for threads in (1, 2):
        compare("krr", 5_000, 20, 5_000, threads, options.repeats)
        compare("nystroem-ridge", 20_000, 20, 5_000, threads, options.repeats)
        compare("nystroem-logistic", 20_000, 20, 5_000, threads, options.repeats)


if __name__ == "__main__":
    main()
