"""Kernel machines that say which columns matter.

A nonlinear regression or classifier that learns, with its predictions, one relevance per column. The work is done in
Rust; this package puts scikit-learn's clothes on it.

>>> import numpy as np
>>> from rffnet import RFFNetRegressor
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(500, 5))
>>> y = np.sin(2 * X[:, 0]) + X[:, 3] ** 2
>>> model = RFFNetRegressor().fit(X, y)
>>> sorted(np.argsort(model.feature_importances_)[-2:].tolist())
[0, 3]
"""

import importlib

from rffnet._rffnet import __version__

# Where everything public lives; imported when it is asked for, so that the command does not wait for scikit-learn.
_HOME = {
    "RFFNetClassifier": "_classifier",
    "RFFNetRegressor": "_regressor",
    "RFFTransformer": "_transformer",
    "TopKSelector": "_selector",
    "load": "_file",
    "plot_history": "_plot",
    "plot_path": "_plot",
    "plot_relevances": "_plot",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'rffnet' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"rffnet.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
