"""The regressor."""

import numpy as np
from sklearn.base import RegressorMixin

from rffnet._base import RFFNet
from rffnet._callbacks import with_callbacks
from rffnet._data import threads_of, weights_of
from rffnet._docs import documented


@documented
class RFFNetRegressor(RegressorMixin, RFFNet):
    """Regression by random Fourier features with one learned relevance per column.

    {parameters}

    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from rffnet import RFFNetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = RFFNetRegressor().fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> sorted(np.argsort(model.feature_importances_)[-2:].tolist())
    [0, 1]
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags

    def _goal(self, y):
        return np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns: numbers, truth values, texts, categories and dates, with or without gaps. A C-contiguous float32
            array is used as it is; everything else is converted once.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight zero have no influence at all.

        Returns
        -------
        self : RFFNetRegressor
            Fitted.
        """
        before = self._before()
        columns, y = self._checked(X, y, before, reset=True)
        self._flat = y.ndim == 1
        return self._train(X, columns, y, weights_of(sample_weight, columns.x), before=before)

    @with_callbacks
    def partial_fit(self, X, y, sample_weight=None):
        """One epoch of descent over these rows, from where the last call ended.

        Standardisation is learned from the rows of the first call, which should be many.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self : RFFNetRegressor
            Fitted.
        """
        before = getattr(self, "_model", None)
        columns, y = self._checked(X, y, before, reset=before is None)
        self._flat = y.ndim == 1
        weight = weights_of(sample_weight, columns.x)
        return self._train(X, columns, y, weight, options=self._one_epoch(), before=before)

    def _checked(self, X, y, before, *, reset):
        return self._read(X, y, before, reset=reset, multi_output=True, y_numeric=True)

    def predict(self, X):
        """Predict numbers.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        X = self._rows(X)
        values = self._model.predict(X, threads_of(self.n_jobs))
        return values if self._flat else values.reshape(len(X), self._model.outputs)
