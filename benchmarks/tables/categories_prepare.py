"""Tables of categories.py as files: cleaned, split, and encoded as a scikit-learn user encodes them."""
import csv
import gzip
import io
import json
import os
import random
import sys
from collections import Counter

import fetch

SPLITS = 3
TEST_SHARE = 5  # One row in five.
CLASS_ROWS = 10  # A class needs rows in both parts of every split; rows of rarer classes are left out.
GAPS = {"", "NA", "N/A", "NaN", "nan", "NULL", "null", "?", "."}
METRIC = {"regression": "r2", "classification": "auc"}


def read(file):
    """The header and the rows of a CSV file, every cell as it is written; names without the space around them."""
    with gzip.open(file) if file.endswith(".gz") else open(file, "rb") as raw:
        header, *rows = csv.reader(io.StringIO(raw.read().decode("utf-8-sig"), newline=""))
    return [name.strip() for name in header], [row for row in rows if row]


def write(file, header, rows):
    with gzip.open(file, "wt", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def gap(cell):
    return cell.strip() in GAPS


def number(cell):
    """The number of a cell, NaN for a gap, and None for text."""
    try:
        return float("nan") if gap(cell) else float(cell)
    except ValueError:
        return None


def clean(table, cache):
    """The header, the rows with a target, the target's position, and which columns hold text; the columns of `drop` (ids, free
    text, dates, the target in other words) are left out."""
    header, rows = read(fetch.path(table, cache))
    for line, row in enumerate(rows, 2):
        if len(row) != len(header):
            sys.exit(f"{fetch.path(table, cache)}: row {line} has {len(row)} cells and the header {len(header)}")
    unknown = set(table.get("drop", [])) - set(header)
    if unknown:
        sys.exit(f"{fetch.path(table, cache)}: no column is called {', '.join(sorted(unknown))}; see `drop` in tables.json")
    keep = [i for i, name in enumerate(header) if name not in table.get("drop", [])]
    header, rows = [header[i] for i in keep], [[row[i] for i in keep] for row in rows]
    at = header.index(table["target"])
    rows = [row for row in rows if not gap(row[at])]
    if table["task"] == "classification":
        sizes = Counter(row[at] for row in rows)
        rows = [row for row in rows if sizes[row[at]] >= CLASS_ROWS]
    text = [name for i, name in enumerate(header) if i != at and any(number(row[i]) is None for row in rows)]
    return header, rows, at, text


def split(rows, at, task, seed):
    """Training and test rows of the split with this seed; every class is split in the same proportion."""
    groups = {}
    for row in rows:
        groups.setdefault(row[at] if task == "classification" else "", []).append(row)
    rng, train, test = random.Random(seed), [], []
    for key in sorted(groups):
        group = groups[key][:]
        rng.shuffle(group)
        cut = len(group) // TEST_SHARE
        test += group[:cut]
        train += group[cut:]
    rng.shuffle(train)
    return train, test


def frame(header, rows, at, text):
    """The inputs as a data frame: numbers with NaN for gaps, text as objects with None for gaps."""
    import pandas

    columns = {}
    for i, name in enumerate(header):
        if name in text:
            columns[name] = pandas.Series([None if gap(row[i]) else row[i] for row in rows], dtype=object)
        elif i != at:
            columns[name] = pandas.Series([number(row[i]) for row in rows], dtype=float)
    return pandas.DataFrame(columns)


def encoder(numbers, text):
    """What makes numbers of the columns: means for gaps in numbers, the most frequent category for gaps in text, one-hot."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    categories = make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=None),
                               OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    return ColumnTransformer([("numbers", SimpleImputer(strategy="mean"), numbers), ("categories", categories, text)])


def one_hot(header, train, test, at, text):
    """Header, training and test rows behind the encoders, with the target last."""
    both = encoder([name for i, name in enumerate(header) if i != at and name not in text], text)
    encoded = [both.fit_transform(frame(header, train, at, text)), both.transform(frame(header, test, at, text))]
    parts = [[[f"{value:.9g}" for value in values] + [row[at]] for values, row in zip(inputs, rows)]
             for inputs, rows in zip(encoded, (train, test))]
    return [f"x{i + 1}" for i in range(encoded[0].shape[1])] + [header[at]], *parts


def prepare(folder, cache):
    """Writes the files of every table with a `half`, and jobs.json: the tables, and one job for each fit of rffnet."""
    tables, jobs = [], []
    for table in fetch.fetch(cache=cache):
        if "half" not in table:
            continue
        name = f"{table['collection']}/{os.path.basename(table['file']).split('.csv')[0]}"
        header, rows, at, text = clean(table, cache)
        gaps = sum(gap(cell) for row in rows for cell in row)
        place = name.replace("/", "-")
        os.makedirs(os.path.join(folder, place), exist_ok=True)
        tables.append({"table": name, "half": table["half"], "task": table["task"], "rows": len(rows), "columns": len(header) - 1,
                       "text": text, "gaps": gaps, "target": table["target"], "licence": table["licence"]})
        for seed in range(SPLITS):
            train, test = split(rows, at, table["task"], seed)
            versions = {"native": (header, train, test), "onehot": one_hot(header, train, test, at, text)}
            for method, (names, *parts) in versions.items():
                files = [f"{place}/{method}-{seed}-{part}.csv.gz" for part in ("train", "test")]
                for file, part in zip(files, parts):
                    write(os.path.join(folder, file), names, part)
                jobs.append({"table": name, "half": table["half"], "split": seed, "method": method, "target": table["target"],
                             "metric": METRIC[table["task"]], "train": files[0], "test": files[1],
                             "cells": len(train) * len(names)})
        size = f"{len(rows)} rows, {len(header) - 1} columns, {len(text)} of text, {gaps} gaps"
        print(f"{name}: {size}", file=sys.stderr, flush=True)
    # The longest jobs start first, so that none of them is left alone at the end.
    jobs.sort(key=lambda job: -job["cells"])
    with open(os.path.join(folder, "jobs.json"), "w", encoding="utf-8") as text:
        json.dump({"tables": tables, "jobs": jobs}, text, indent=1)
