"""The Python package against PyTorch, end to end: from numpy arrays to a fitted model, at equal work.

    benchmarks/python_end_to_end.py [--repeats N] [--threads N]      # with a Python that has torch and the package (a release build)

10,000 x 18 rows, 300 random features, batches of 128, 50 epochs of Adam with the paper's prox. Each run is a process of its
own that imports, makes the arrays, and then measures the fit alone: seconds, and how far the peak of the resident
memory rises above where it stood before. Prints Markdown; the ratios are what counts.

The last line is what Python costs: the same fit through `RFFNetRegressor` and in Rust alone, taking turns in one process.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
N, D, S, BATCH, EPOCHS, RATE, ALPHA = 10_000, 18, 300, 128, 50, 1e-3, 0.1


def arrays():
    import numpy as np

    rng = np.random.default_rng(1)
    x = rng.normal(size=(N, D)).astype(np.float32)
    return x, (x[:, 0] * x[:, 1]).astype(np.float64)


def measured(work):
    """Seconds, and bytes by which the peak of the resident memory rises."""
    import resource
    import time

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    before, begin = peak(), time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - begin, "bytes": peak() - before}


def pytorch(threads, by_hand):
    import torch

    sys.path.insert(0, HERE)
    import against_pytorch as peer

    torch.set_num_threads(threads)
    x, y = arrays()

    def work():
        tensors = torch.from_numpy(x), torch.from_numpy(y).float()
        peer.data = lambda n, d, classes: tensors
        epoch = (peer.manual_epoch if by_hand else peer.autograd_epoch)(N, D, S, BATCH, 0)
        for _ in range(EPOCHS):
            epoch()

    return measured(work)


def rffnet(threads):
    from rffnet import RFFNetRegressor

    x, y = arrays()
    model = RFFNetRegressor(
        preset="paper", n_random_features=S, batch_size=BATCH, max_iter=EPOCHS, lr=RATE, alpha=ALPHA,
        early_stopping=False, n_jobs=threads,
    )  # fmt: skip
    return measured(lambda: model.fit(x, y))


def overhead(threads, repeats):
    """Seconds of a fit through scikit-learn's API and of the compiled part alone: medians."""
    import time
    import warnings

    from rffnet import RFFNetRegressor
    from rffnet._data import Rows
    from rffnet._rffnet import Model

    warnings.simplefilter("ignore")
    x, y = arrays()
    options = {"preset": "paper", "n_random_features": S, "batch_size": BATCH, "max_iter": EPOCHS, "lr": RATE, "alpha": ALPHA}
    model = RFFNetRegressor(**options, early_stopping=False, n_jobs=threads)
    options |= {"validation_fraction": 0.0, "seed": 0}
    rows = Rows(x, y.reshape(-1, 1))
    ours, bare = [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        model.fit(x, y)
        middle = time.perf_counter()
        Model.fit(options, rows, None, threads)
        bare.append(time.perf_counter() - middle)
        ours.append(middle - begin)
    return {"python": statistics.median(ours), "rust": statistics.median(bare)}


def child(*arguments):
    run = subprocess.run([sys.executable, __file__, "--worker", *map(str, arguments)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        kind, threads, *rest = arguments.worker
        work = {
            "autograd": lambda: pytorch(int(threads), False),
            "by-hand": lambda: pytorch(int(threads), True),
            "rffnet": lambda: rffnet(int(threads)),
            "overhead": lambda: overhead(int(threads), int(rest[0])),
        }
        print(json.dumps(work[kind]()))
        return
    print(f"{N:,} x {D}, s = {S}, batch {BATCH}, {EPOCHS} epochs, {arguments.threads} thread(s); medians of {arguments.repeats}\n")
    print("| | seconds | memory above the imports, MB | rffnet is faster by | memory of rffnet |")
    print("|---|---|---|---|---|")
    kinds = ["autograd", "by-hand", "rffnet"]
    runs = {kind: [] for kind in kinds}
    for _ in range(arguments.repeats):
        for kind in kinds:
            runs[kind].append(child(kind, arguments.threads))
    middle = {k: {f: statistics.median(r[f] for r in runs[k]) for f in ("seconds", "bytes")} for k in kinds}
    ours = middle["rffnet"]
    for kind, label in (("autograd", "PyTorch, autograd + Adam"), ("by-hand", "PyTorch, gradients by hand"), ("rffnet", "rffnet")):
        seconds, size = middle[kind]["seconds"], middle[kind]["bytes"]
        ratios = f"{seconds / ours['seconds']:.1f}x | 1/{size / max(ours['bytes'], 1):.0f}" if kind != "rffnet" else " | "
        print(f"| {label} | {seconds:.3f} | {size / 1e6:.1f} | {ratios} |")
    cost = child("overhead", arguments.threads, 15)
    extra = 100 * (cost["python"] / cost["rust"] - 1)
    print(f"\nThrough Python: {1e3 * cost['python']:.1f} ms, in Rust: {1e3 * cost['rust']:.1f} ms ({extra:+.1f} %)")


if __name__ == "__main__":
    main()
