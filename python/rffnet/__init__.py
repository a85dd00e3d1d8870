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

from rffnet._classifier import RFFNetClassifier
from rffnet._file import load
from rffnet._plot import plot_history, plot_path, plot_relevances
from rffnet._regressor import RFFNetRegressor
from rffnet._rffnet import __version__
from rffnet._selector import TopKSelector
from rffnet._transformer import RFFTransformer

__all__ = [
    "RFFNetClassifier",
    "RFFNetRegressor",
    "RFFTransformer",
    "TopKSelector",
    "__version__",
    "load",
    "plot_history",
    "plot_path",
    "plot_relevances",
]
