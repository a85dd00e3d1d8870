"""Reading tables with polars, pyarrow and rffnet, interleaved in one run; medians and ratios as a Markdown table.

    pip install numpy polars pyarrow
    cargo build --release -p rffnet-data --example read
    python benchmarks/reading.py [--rows 1000000] [--threads 2] [--repeats 5]

Every read is the first of a process of its own, and all readers get the same number of threads. Files are written before
and read once unmeasured, so that they come from memory. Ratios are what counts: absolute times depend on the machine.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = 28
CITIES = np.array(["Oslo", "Rome", "Lima", "Kyoto", "Accra", "Perth"])

POLARS = "import sys, time, polars as p; t = time.perf_counter(); p.read_csv(sys.argv[1]); print(time.perf_counter() - t)"
PYARROW = (
    "import sys, time, pyarrow as a, pyarrow.parquet as q; a.set_cpu_count({threads}); a.set_io_thread_count({threads}); "
    "t = time.perf_counter(); q.read_table(sys.argv[1]); print(time.perf_counter() - t)"
)


def make(folder, rows):
    """The files, as (name, path, the other reader)."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, COLUMNS))
    names = [f"x{i + 1}" for i in range(COLUMNS)]
    city = CITIES[rng.integers(0, len(CITIES), rows)]
    wide = pa.table({name: x[:, i] for i, name in enumerate(names)})
    narrow = pa.table({name: x[:, i].astype(np.float32) for i, name in enumerate(names)})
    mixed = narrow.append_column("city", pa.array(city))
    files = []

    def csv(label, table):
        import polars

        path = os.path.join(folder, f"{len(files)}.csv")
        polars.from_arrow(table).write_csv(path)
        files.append((f"CSV, {label}", path, "polars"))

    def parquet(label, table, codec):
        path = os.path.join(folder, f"{len(files)}.parquet")
        pq.write_table(table, path, compression=codec)
        files.append((f"Parquet, {label}, {codec}", path, "pyarrow"))

    csv("64-bit floats", wide)
    csv("32-bit floats", narrow)
    csv("32-bit floats and texts", mixed)
    for codec in ("snappy", "zstd"):
        parquet("32-bit floats", narrow, codec)
        parquet("64-bit floats", wide, codec)
        parquet("32-bit floats and texts", mixed, codec)
    return files


def seconds(command, threads):
    variables = os.environ | {"POLARS_MAX_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}
    out = subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout
    return float(out.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--reader", default=os.path.join(ROOT, "target", "release", "examples", "read"))
    arguments = parser.parse_args()
    others = {"polars": POLARS, "pyarrow": PYARROW.format(threads=arguments.threads)}
    with tempfile.TemporaryDirectory() as folder:
        print(f"{arguments.rows:,} rows x {COLUMNS} columns, {arguments.threads} threads, median of {arguments.repeats}\n")
        print("| file | other reader | its seconds | rffnet's seconds | ratio |")
        print("|---|---|---:|---:|---:|")
        for label, path, other in make(folder, arguments.rows):
            commands = [[sys.executable, "-c", others[other], path], [arguments.reader, path]]
            times = [[], []]
            for repeat in range(arguments.repeats + 1):
                for command, measured in zip(commands, times):
                    took = seconds(command, arguments.threads)
                    if repeat > 0:
                        measured.append(took)
            theirs, ours = (statistics.median(measured) for measured in times)
            print(f"| {label} | {other} | {theirs:.3f} | {ours:.3f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
