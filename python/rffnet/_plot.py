"""Plots; matplotlib is needed only when one is drawn. All return the Axes and none shows anything."""

import numpy as np
from sklearn.utils.validation import check_is_fitted


def axes_of(ax):
    """The Axes to draw on."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return plt.subplots(layout="constrained")[1]


def plot_relevances(estimator, *, kind="importance", max_features=20, ax=None):
    """Bars of the columns that matter most.

    Parameters
    ----------
    estimator : RFFNetRegressor or RFFNetClassifier
        Fitted.
    kind : {'importance', 'relevance'}, default='importance'
        What to show.
    max_features : int, default=20
        Columns to show at most.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib Axes
        With the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from rffnet import RFFNetRegressor, plot_relevances
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = RFFNetRegressor(effort="quick").fit(X, X[:, 1] ** 2)
    >>> ax = plot_relevances(model)  # doctest: +SKIP
    """
    check_is_fitted(estimator)
    if kind not in ("importance", "relevance"):
        raise ValueError(f"kind is {kind!r}; it must be 'importance' or 'relevance'")
    values = estimator.feature_importances_ if kind == "importance" else estimator.relevances_
    order = np.argsort(-values, kind="stable")[:max_features][::-1]
    names = estimator._card["feature_names"]
    ax = axes_of(ax)
    ax.barh([names[j] for j in order], values[order])
    ax.set_xlabel(kind)
    return ax


def plot_path(selector, *, ax=None):
    """Scores with 0, 1, 2, ... columns, and the number that was chosen.

    Parameters
    ----------
    selector : TopKSelector
        Fitted.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib Axes
        With the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from rffnet import TopKSelector, plot_path
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> selector = TopKSelector().fit(X, X[:, 1] ** 2)
    >>> ax = plot_path(selector)  # doctest: +SKIP
    """
    check_is_fitted(selector)
    ax = axes_of(ax)
    classes = hasattr(selector.estimator_, "classes_")
    ax.plot(np.arange(len(selector.scores_)), selector.scores_, marker=".")
    ax.axvline(selector.n_features_, linestyle="--", color="grey")
    ax.set_xlabel("columns, by falling relevance")
    ax.set_ylabel("AUC" if classes else "minus mean squared error")
    return ax


def plot_history(estimator, *, ax=None):
    """Losses from epoch to epoch.

    Parameters
    ----------
    estimator : RFFNetRegressor or RFFNetClassifier
        Fitted.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib Axes
        With the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from rffnet import RFFNetRegressor, plot_history
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = RFFNetRegressor(solver="adam").fit(X, X[:, 1] ** 2)
    >>> ax = plot_history(model)  # doctest: +SKIP
    """
    check_is_fitted(estimator)
    ax = axes_of(ax)
    history = estimator.history_
    ax.plot(history["epoch"], history["train_loss"], label="training")
    held_out = [np.nan if loss is None else loss for loss in history["validation_loss"]]
    if np.isfinite(held_out).any():
        ax.plot(history["epoch"], held_out, label="held out")
        ax.legend()
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    return ax
