"""From what users have to what Rust takes: C-contiguous float32, copied only where it must be."""

import os
from typing import NamedTuple

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y, validate_data

from rffnet._columns import Columns, categorical_mask, check_cells, known_columns, learn_columns
from rffnet._tables import ArrayTable, table_of, texts_of


class Rows(NamedTuple):
    """What Rust learns from or scores on; `y` is a table of float64, or class codes and the names of the classes."""

    x: np.ndarray
    y: np.ndarray | tuple[np.ndarray, list[str]]
    weight: np.ndarray | None = None
    names: list[str] | None = None
    types: list[str | list[str]] | None = None


# What to do about a cell that is not what its column holds, or about a gap.
DECLARE = "name the column in categorical_features, or leave it out"
AS_FITTED = "the column must hold what it held in the fit"
FILL_IN = "fill it in, drop the row, or allow gaps with missing='auto'"


class Header:
    """The names of a table, for scikit-learn before 1.9, which looks for them in a protocol that not all tables have."""

    NEEDED = parse_version(sklearn.__version__) < parse_version("1.9")

    def __init__(self, table):
        self.shape, self.names = table.shape, table.names

    def __dataframe__(self):
        return self

    def column_names(self):
        """As the protocol has it."""
        return self.names


def check_names(estimator, table, y="no_validation", *, reset=False):
    """scikit-learn's checks of the number and the names of a table's columns."""
    source = table.source
    unseen = Header.NEEDED and table.names is not None and not hasattr(source, "__dataframe__")
    validate_data(estimator, Header(table) if unseen else source, y, reset=reset, skip_check_array=True)


def available_memory():
    """Bytes that are free, or None where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def dense(X):
    """`X` as an array; sparse matrices are filled in, if there is room for it."""
    if not sparse.issparse(X):
        return X
    rows, columns = X.shape
    needed, free = 4 * rows * columns, available_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"X is sparse and must be made dense: {rows:,} x {columns:,} float32 take {needed / 2**30:,.1f} GiB, but "
            f"{free / 2**30:,.1f} GiB are free; select columns or rows first"
        )
    return X.toarray(order="C")


def rows_of(
    estimator,
    X,
    y="no_validation",
    *,
    reset=False,
    types=None,
    categorical="from_dtype",
    gaps=False,
    remedies=(DECLARE, FILL_IN),
    **checks,
):
    """`X` as `Columns`, after scikit-learn's checks; with `y`, both.

    `types` are those of the columns, or the one of them all, where they are known; else dtypes and `categorical`, the
    parameter `categorical_features`, decide. A C-contiguous float32 array is used as it is.
    """
    checks = {"dtype": np.float32, "order": "C", "accept_sparse": ("csr", "csc"), "ensure_all_finite": False} | checks
    table = X if isinstance(X, Columns) else table_of(X)
    if table is None:
        typed = declared(types, categorical)
        # Levels are texts of the numbers as they are given, before they are rounded to float32.
        found = validate_data(estimator, X, y, reset=reset, **checks | ({"dtype": None} if typed else {}))
        X, y = (found, y) if isinstance(y, str) else found
        columns = read(ArrayTable(dense(X)), types, categorical, remedies[0]) if typed else Columns(dense(X))
    else:
        if isinstance(table, Columns):
            columns = adopted(estimator, table) if reset else table
        else:
            check_names(estimator, table, y, reset=reset)
            columns = read(table, types, categorical, remedies[0])
        if isinstance(y, str):  # scikit-learn's word for "there is none"
            x = check_array(columns.x, input_name="X", estimator=estimator, **checks)
        else:
            x, y = check_X_y(columns.x, y, estimator=estimator, **checks)
        columns = columns._replace(x=x)
    check_cells(columns.x, columns.names, gaps=gaps, advice=remedies[1])
    return columns if isinstance(y, str) else (columns, y)


def declared(types, categorical):
    """Whether columns of an array of numbers are to be read as something else."""
    if types is not None:
        return types != "number" and not all(holds in ("number", "boolean") for holds in types)
    if isinstance(categorical, str):
        return categorical_mask(categorical, None, 0) is not None
    return categorical is not None and len(categorical) > 0


def read(table, types, categorical, remedy):
    """The columns of a table, by the types they are known to have or by what they hold."""
    if types is not None:
        types = [types] * table.shape[1] if isinstance(types, str) else types
        whole = table.numbers() if all(holds in ("number", "boolean") for holds in types) else None
        return known_columns(table, types, remedy) if whole is None else Columns(whole, None, table.names)
    mask = categorical_mask(categorical, table.names, table.shape[1])
    whole = table.numbers() if mask is None or not mask.any() else None
    return learn_columns(table, mask, remedy) if whole is None else Columns(whole, None, table.names)


def adopted(estimator, columns):
    """What scikit-learn does with a table, for columns that were read before."""
    estimator.n_features_in_ = columns.x.shape[1]
    if columns.names is not None:
        estimator.feature_names_in_ = np.asarray(columns.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return columns


def names_of(estimator):
    """Column names for Rust, or None if the data had none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def weights_of(sample_weight, X):
    """Row weights as Rust takes them, or None."""
    if sample_weight is None:
        return None
    return np.ascontiguousarray(_check_sample_weight(sample_weight, X), dtype=np.float32)


def seed_of(random_state):
    """The seed Rust takes: an integer is the seed itself, anything else is asked for one."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def threads_of(n_jobs):
    """Threads for Rust: None for all cores (or what the environment says), -1 for all cores, -2 for all but one."""
    if n_jobs is None:
        return None
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; it must be a positive or a negative number, or None")
    cores = os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def labels_from(texts):
    """The labels that these texts of a model file stand for: truth values, whole numbers, numbers, or text."""
    if set(texts) == {"False", "True"}:
        return np.array([text == "True" for text in texts])
    for kind in (int, float):
        try:
            values = [kind(text) for text in texts]
        except ValueError:
            continue
        if texts_of(np.asarray(values)) == list(texts):
            return np.asarray(values)
    return np.asarray(texts)
