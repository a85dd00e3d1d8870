"""From what users have to what Rust takes: C-contiguous float32, copied only where it must be."""

import os
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, validate_data


class Rows(NamedTuple):
    """What Rust learns from or scores on; `y` is a table of float64, or class codes and the names of the classes."""

    x: np.ndarray
    y: np.ndarray | tuple[np.ndarray, list[str]]
    weight: np.ndarray | None = None
    names: list[str] | None = None


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


def rows_of(estimator, X, y="no_validation", *, reset=False, missing=False, **checks):
    """scikit-learn's checks, then dense C-contiguous float32 rows; with `y`, both.

    A C-contiguous float32 array is returned as it is.
    """
    checks = {
        "dtype": np.float32,
        "order": "C",
        "accept_sparse": ("csr", "csc"),
        "ensure_all_finite": "allow-nan" if missing else True,
        **checks,
    }
    if isinstance(y, str):  # scikit-learn's word for "there is none"
        return dense(validate_data(estimator, X, reset=reset, **checks))
    X, y = validate_data(estimator, X, y, reset=reset, **checks)
    return dense(X), y


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


def label_texts(classes):
    """Labels as the model file has them: whole numbers without a fraction, as the command writes them."""
    return [f"{c:.0f}" if isinstance(c, (float, np.floating)) and float(c).is_integer() else str(c) for c in classes]


def labels_from(texts):
    """The labels that these texts of a model file stand for: truth values, whole numbers, numbers, or text."""
    if set(texts) == {"False", "True"}:
        return np.array([text == "True" for text in texts])
    for kind in (int, float):
        try:
            values = [kind(text) for text in texts]
        except ValueError:
            continue
        if label_texts(np.asarray(values)) == list(texts):
            return np.asarray(values)
    return np.asarray(texts)
