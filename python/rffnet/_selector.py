"""Variable selection: TopK, Algorithm 3 of the paper."""

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.validation import check_is_fitted

from rffnet._base import RFFNet
from rffnet._classifier import RFFNetClassifier
from rffnet._data import Rows, check_names, names_of, rows_of, threads_of, weights_of
from rffnet._regressor import RFFNetRegressor
from rffnet._tables import table_of

# Fewer rows than this are not split.
FEW = 20


class TopKSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Keeps the columns of largest relevance, as many as predict best.

    An estimator is fitted to one part of the rows. On the other part, it is scored with its 0, 1, 2, ... most relevant
    columns, the others being switched off, and the number with the best score is kept; or fewer, as long as their score is
    within one standard error of the best (not with ``preset='paper'``).

    Parameters
    ----------
    estimator : RFFNetRegressor or RFFNetClassifier, default=None
        What to fit. None: a classifier if the target is text, a truth value or has two values, else a regressor; without
        linear terms, which relevances know nothing of.
    selection_fraction : float, default=0.2
        Share of the rows to score on. With fewer than 20 rows, all are used for both.
    min_features_to_select : int, default=1
        Columns that are kept at least.
    random_state : int, RandomState instance or None, default=0
        The seed of the split.

    Attributes
    ----------
    estimator_ : RFFNetRegressor or RFFNetClassifier
        The fitted estimator.
    support_ : ndarray of shape (n_features_in_,)
        Which columns are kept.
    n_features_ : int
        How many.
    order_ : ndarray of shape (n_features_in_,)
        Columns by falling relevance.
    ranking_ : ndarray of shape (n_features_in_,)
        The place of each column in that order, from 1.
    scores_ : ndarray of shape (n_features_in_ + 1,)
        Scores with 0, 1, 2, ... columns: minus the mean squared error, or the AUC.
    n_features_in_ : int
        Columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the data had names.

    Examples
    --------
    >>> import numpy as np
    >>> from rffnet import TopKSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 6))
    >>> y = np.sin(X[:, 1]) * X[:, 4]
    >>> TopKSelector().fit(X, y).get_support(indices=True).tolist()
    [1, 4]
    """

    def __init__(self, estimator=None, *, selection_fraction=0.2, min_features_to_select=1, random_state=0):
        self.estimator = estimator
        self.selection_fraction = selection_fraction
        self.min_features_to_select = min_features_to_select
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        estimator = RFFNetRegressor() if self.estimator is None else self.estimator
        tags.input_tags.allow_nan = estimator.__sklearn_tags__().input_tags.allow_nan
        return tags

    def fit(self, X, y, **fit_params):
        """Fit the estimator, score its columns, select.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.
        **fit_params : dict
            Passed to the estimator's `fit`, row by row where they have as many rows as `X`.

        Returns
        -------
        self : TopKSelector
            Fitted.
        """
        gaps = self.__sklearn_tags__().input_tags.allow_nan
        categorical = getattr(self.estimator, "categorical_features", "from_dtype")
        checks = {"categorical": categorical, "gaps": gaps, "multi_output": True, "ensure_min_samples": 2}
        columns, y = rows_of(self, X, y, reset=True, **checks)
        estimator = self._chosen(y)
        if _routing_enabled():
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        learn, score = self._split(y, isinstance(estimator, RFFNetClassifier))
        weight = fit_params.get("sample_weight")
        fit_params = {name: _safe_indexing(value, learn) for name, value in fit_params.items()}
        part = columns._replace(x=columns.x[learn], names=names_of(self))
        self.estimator_ = estimator.fit(part, y[learn], **fit_params)
        weight = None if weight is None else _safe_indexing(weight, score)
        order, scores, kept = self._score(columns.x[score], columns.types, y[score], weight)
        if not 0 <= self.min_features_to_select <= len(order):
            raise ValueError(
                f"min_features_to_select is {self.min_features_to_select}; it must be between 0 and {len(order)}"
            )
        kept = max(kept, self.min_features_to_select)
        self.order_, self.scores_, self.n_features_ = np.asarray(order), np.asarray(scores), kept
        self.ranking_ = np.empty(len(order), dtype=int)
        self.ranking_[self.order_] = np.arange(1, len(order) + 1)
        self.support_ = self.ranking_ <= kept
        return self

    def _chosen(self, y):
        """A copy of the estimator, or the one that suits the target, as the command chooses it."""
        if self.estimator is not None:
            if not isinstance(self.estimator, RFFNet):
                raise ValueError(
                    f"estimator is a {type(self.estimator).__name__}; it must be an RFFNetRegressor or RFFNetClassifier"
                )
            return clone(self.estimator)
        classes = y.ndim == 1 and (y.dtype.kind in "OSUb" or len(np.unique(y)) == 2)
        # Without linear terms columns are ranked by relevance, as Algorithm 3 has it; with them, by importance.
        return RFFNetClassifier(linear=False) if classes else RFFNetRegressor(linear=False)

    def _split(self, y, classes):
        """Rows to learn from and rows to score on."""
        everything = np.arange(len(y))
        if len(y) < FEW:
            return everything, everything
        # Classes of a single row cannot be in both parts.
        stratify = y if classes and np.unique(y, return_counts=True)[1].min() > 1 else None
        return train_test_split(
            everything, test_size=self.selection_fraction, random_state=self.random_state, stratify=stratify
        )

    def _score(self, X, types, y, weight):
        estimator = self.estimator_
        if isinstance(estimator, RFFNetClassifier):
            known = np.isin(y, estimator.classes_)
            X, y, weight = X[known], y[known], None if weight is None else np.asarray(weight)[known]
        rows = Rows(X, estimator._goal(y), weights_of(weight, X), types=types)
        return estimator._model.top_k(rows, threads_of(estimator.n_jobs))

    def transform(self, X):
        """The selected columns.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        X : array or sparse matrix of shape (n_samples, n_features_)
            Those that are kept; of objects where a table holds more than numbers. `set_output` makes it a table again.
        """
        check_is_fitted(self)
        table = table_of(X)
        if table is None or _get_output_config("transform", self)["dense"] != "default":
            return super().transform(X)
        # scikit-learn before 1.9 would read the categories of some tables as numbers.
        check_names(self, table)
        return np.asarray(table.source)[:, self.support_]

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def get_metadata_routing(self):
        """How metadata reach the estimator.

        Returns
        -------
        routing : MetadataRouter
            All of `fit` goes to the estimator's `fit`.
        """
        estimator = RFFNetRegressor() if self.estimator is None else self.estimator
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=type(self).__name__).add(estimator=estimator, method_mapping=mapping)
