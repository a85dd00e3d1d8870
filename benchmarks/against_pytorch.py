"""The same training work in PyTorch and in rffnet, interleaved in one run; medians and ratios.

Started by `benchmarks/run`, which makes the environment. Ratios are what counts: absolute times depend on the machine
and drift from run to run.

PyTorch runs twice: with autograd and torch.optim.Adam, as the paper's library does, and with gradients and Adam
written by hand, which is the best that library calls can do. All three make the same steps: gather a shuffled batch,
features, prediction, loss, gradients for head and relevances, Adam, proximal step on the head.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
WORKER = os.path.join(ROOT, "target", "release", "examples", "bench_worker")
RATE, ALPHA = 1e-3, 0.1


def data(n, d, classes):
    gen = torch.Generator().manual_seed(1)
    x = torch.randn(n, d, generator=gen)
    y = torch.arange(n) % classes if classes else x[:, 0] * x[:, min(1, d - 1)]
    return x, y


def start(d, s, k):
    gen = torch.Generator().manual_seed(2)
    omega, phase = torch.randn(d, s, generator=gen), 6.2831853 * torch.rand(s, generator=gen)
    theta = torch.full((d,), 6.0 / d)
    beta = (2 * torch.rand(s, k, generator=gen) - 1) / s ** 0.5
    return omega, phase, theta, beta


def autograd_epoch(n, d, s, batch, classes):
    x, y = data(n, d, classes)
    omega, phase, theta, beta = start(d, s, classes or 1)
    theta, beta = torch.nn.Parameter(theta), torch.nn.Parameter(beta)
    optimiser = torch.optim.Adam([theta, beta], lr=RATE)
    criterion = torch.nn.CrossEntropyLoss() if classes else torch.nn.MSELoss()

    def epoch():
        order = torch.randperm(n)
        for i in range(0, n - batch + 1, batch):
            rows = order[i:i + batch]
            f = torch.cos((x[rows] * theta) @ omega + phase) @ beta
            loss = criterion(f if classes else f[:, 0], y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                beta.div_(1 + 2 * ALPHA * RATE)

    return epoch


def manual_epoch(n, d, s, batch, classes):
    x, y = data(n, d, classes)
    omega, phase, theta, beta = start(d, s, classes or 1)
    state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in (theta, beta)]
    steps = [0]

    def adam(p, g, m, v):
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        t = steps[0]
        step = RATE / (1 - 0.9 ** t)
        p.addcdiv_(m, v.sqrt().div_((1 - 0.999 ** t) ** 0.5).add_(1e-8), value=-step)

    @torch.no_grad()
    def epoch():
        order = torch.randperm(n)
        for i in range(0, n - batch + 1, batch):
            rows = order[i:i + batch]
            xb = x[rows]
            p = torch.addmm(phase, xb * theta, omega)
            c, sine = torch.cos(p), torch.sin(p)
            f = c @ beta
            if classes:
                r = torch.softmax(f, 1)
                r[torch.arange(batch), y[rows]] -= 1
                r /= batch
            else:
                r = 2 * (f - y[rows, None]) / batch
            grad_beta = c.T @ r
            grad_theta = -(xb * ((r @ beta.T * sine) @ omega.T)).sum(0)
            steps[0] += 1
            adam(theta, grad_theta, *state[0])
            adam(beta, grad_beta, *state[1])
            beta.div_(1 + 2 * ALPHA * RATE)

    return epoch


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def worker(*arguments):
    text = subprocess.run([WORKER, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    return [float(t) for t in text.split()]


def training(shapes, threads, repeats):
    print(f"\nTraining, one epoch, {threads} thread{'s' if threads > 1 else ''} (medians of {repeats} x 3 epochs)\n")
    print("| d, s, batch, classes | rows | autograd ms | by hand ms | rffnet ms | vs autograd | vs by hand |")
    print("|---|---|---|---|---|---|---|")
    torch.set_num_threads(threads)
    medians = {}
    for d, s, batch, classes, n in shapes:
        peers = [autograd_epoch(n, d, s, batch, classes), manual_epoch(n, d, s, batch, classes)]
        times = [[], [], []]
        for peer in peers:
            peer()  # warm up
        for _ in range(repeats):
            for i, peer in enumerate(peers):
                times[i] += [timed(peer) for _ in range(3)]
            times[2] += worker("fit", n, d, s, batch, classes, threads, 3)
        a, h, r = (1e3 * statistics.median(t) for t in times)
        medians[d, s, batch, classes] = r
        name = f"{d}, {s}, {batch}, {classes or 'regression'}"
        print(f"| {name} | {n} | {a:.2f} | {h:.2f} | {r:.2f} | {a / r:.1f}x | {h / r:.1f}x |", flush=True)
    return medians


def prediction(threads, repeats):
    d, s, n, block = 28, 1000, 100_000, 10_000
    torch.set_num_threads(threads)
    x, _ = data(n, d, 0)
    omega, phase, theta, beta = start(d, s, 1)

    @torch.no_grad()
    def peer():
        for i in range(0, n, block):
            torch.cos(torch.addmm(phase, x[i:i + block] * theta, omega)) @ beta

    peer()
    ours, theirs = [], []
    for _ in range(repeats):
        theirs += [timed(peer) for _ in range(2)]
        ours += worker("predict", n, d, s, threads, 2)
    a, r = statistics.median(theirs), statistics.median(ours)
    print(f"| {d}, {s} | {threads} | {n / a / 1e6:.2f} | {n / r / 1e6:.2f} | {a / r:.1f}x |", flush=True)


def memory():
    """Peak resident memory of the same fit (10,000 x 18, s = 300) in processes of their own."""
    code = "import sys; sys.argv=['']; import against_pytorch as b; e=b.autograd_epoch(9000,18,300,128,0); e(); e()"
    torch_mb = peak([sys.executable, "-c", code])
    import_mb = peak([sys.executable, "-c", "import torch"])
    command = os.path.join(ROOT, "target", "release", "rffnet")
    fit = [command, "fit", "--dataset", "gse1", "--rows", "10000", "--preset", "paper", "--quiet"]
    print("\nPeak resident memory, gse1, 10,000 rows, s = 300\n\n| | MB |\n|---|---|")
    print(f"| PyTorch, autograd | {torch_mb:.0f} |\n| of which `import torch` | {import_mb:.0f} |\n| `rffnet fit` | {peak(fit):.0f} |")


def peak(command):
    run = subprocess.run([sys.executable, os.path.join(HERE, "peak.py"), *command], check=True, capture_output=True, text=True, cwd=HERE)
    return float(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}")
    shapes = [(18, 300, 128, 0, 10_000), (100, 300, 128, 0, 10_000), (28, 1000, 256, 0, 20_000),
              (3000, 300, 128, 0, 2_560), (28, 1000, 256, 10, 20_000)]
    one = training(shapes, 1, options.repeats)
    two = training(shapes, 2, options.repeats)
    shape = (28, 1000, 256, 0)
    print(f"\nTwo threads over one in rffnet at {shape[:3]}: {one[shape] / two[shape]:.2f}x")
    print("\nPrediction\n\n| d, s | threads | PyTorch, million rows/s | rffnet | ratio |\n|---|---|---|---|---|")
    for threads in (1, 2):
        prediction(threads, options.repeats)
    memory()


if __name__ == "__main__":
    main()
