"""Random Fourier features as a transformer."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rffnet import _rffnet
from rffnet._data import AS_FITTED, FILL_IN, rows_of, seed_of, threads_of

# What to do about a text or a gap.
NUMBERS = "encode the column, leave it out, or give relevances as a fitted estimator, which encodes it"
DROP = "fill it in, drop the row, or give relevances as a fitted estimator that takes gaps"


class RFFTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Random Fourier features of a product ARD kernel: sqrt(2/s) cos(omega . (theta o x) + phase).

    The inner product of two transformed rows approximates their kernel. In place of scikit-learn's `RBFSampler(gamma=g)` use
    `RFFTransformer(relevances=np.sqrt(2 * g))`.

    Parameters
    ----------
    kernel : {'gaussian', 'laplace', 'cauchy', 'matern32', 'matern52'}, default='gaussian'
        The kernel.
    n_random_features : int, default=100
        Features to make.
    relevances : None, float, array-like of shape (n_features,) or fitted estimator, default=None
        theta: one over the length scale of every column, or of each. None is 1. A fitted `RFFNetRegressor` or
        `RFFNetClassifier` gives its relevances, and the encoding and the transforms of the columns they belong to; without
        one, columns must be numbers.
    sampling : {'iid', 'orthogonal'}, default='iid'
        How frequencies are drawn; 'orthogonal' is for the Gaussian kernel.
    random_state : int, RandomState instance or None, default=0
        The seed of the frequencies.
    n_jobs : int, default=None
        Threads; None is all cores.

    Attributes
    ----------
    relevances_ : ndarray of shape (n_encoded_columns,)
        theta; the columns are those of `X`, or those that the estimator encodes them as.
    frequencies_ : ndarray of shape (n_encoded_columns, n_random_features)
        omega.
    phases_ : ndarray of shape (n_random_features,)
        The phases.
    n_features_in_ : int
        Columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the data had names.

    Examples
    --------
    >>> import numpy as np
    >>> from rffnet import RFFTransformer
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> Z = RFFTransformer(n_random_features=20_000).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5)) < 0.02)
    True
    """

    def __init__(
        self,
        kernel="gaussian",
        n_random_features=100,
        relevances=None,
        *,
        sampling="iid",
        random_state=0,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.n_random_features = n_random_features
        self.relevances = relevances
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self.relevances, "missing", "error") != "error"
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def fit(self, X, y=None):
        """Draw the frequencies.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Only the number of columns, and their names, are looked at.
        y : Ignored
            For scikit-learn.

        Returns
        -------
        self : RFFTransformer
            Fitted.
        """
        estimator = self._estimator()
        self._encoder = None if estimator is None else estimator._model
        self._gaps = estimator is not None and estimator.missing != "error"
        X = self._rows(X, reset=True)
        self._scale = {"scale.mean": np.zeros(X.shape[1], np.float32), "scale.inverse": np.ones(X.shape[1], np.float32)}
        self.relevances_ = self._theta(X.shape[1])
        self.frequencies_, self.phases_ = _rffnet.frequencies(
            self.kernel, self.sampling, X.shape[1], self.n_random_features, seed_of(self.random_state)
        )
        self._n_features_out = len(self.phases_)
        return self

    def _estimator(self):
        """The fitted estimator whose relevances are taken, or None."""
        theta = self.relevances
        if not isinstance(theta, BaseEstimator):
            return None
        check_is_fitted(theta)
        if not hasattr(theta, "_model"):
            raise ValueError(f"relevances is a {type(theta).__name__}; it must be an RFFNetRegressor or RFFNetClassifier")
        return theta

    def _rows(self, X, *, reset):
        """Rows of numbers; those of an estimator's columns, encoded."""
        if self._encoder is None:
            return rows_of(self, X, types="number", reset=reset, remedies=(NUMBERS, DROP)).x
        known = {"types": self._encoder.column_types, "gaps": self._gaps, "remedies": (AS_FITTED, FILL_IN)}
        return self._encoder.encode(rows_of(self, X, reset=reset, **known).x, threads_of(self.n_jobs))

    def _theta(self, columns):
        theta = self.relevances
        if self._encoder is not None:
            tensors = self._encoder.tensors()
            self._scale = {name: array for name, array in tensors.items() if name.startswith("scale.")}
            theta = np.abs(tensors["theta"]).reshape(-1, columns).mean(axis=0)
        elif theta is None or isinstance(theta, Real):
            theta = np.full(columns, 1.0 if theta is None else theta)
        theta = np.ascontiguousarray(theta, dtype=np.float32)
        if theta.shape != (columns,):
            raise ValueError(f"relevances has the shape {theta.shape}, but there are {columns} columns")
        if not np.isfinite(theta).all():
            raise ValueError("relevances must be finite numbers")
        return theta

    def transform(self, X):
        """Random features of rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_random_features)
            The features, float32.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        arrays = {"theta": self.relevances_, "omega": self.frequencies_, "phase": self.phases_}
        return _rffnet.transform(X, arrays | self._scale, threads_of(self.n_jobs))
