"""The classifier."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from rffnet._base import RFFNet
from rffnet._callbacks import with_callbacks
from rffnet._data import threads_of, weights_of
from rffnet._docs import documented
from rffnet._tables import texts_of


@documented
class RFFNetClassifier(ClassifierMixin, RFFNet):
    """Classification by random Fourier features with one learned relevance per column.

    {parameters}
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes, or 'balanced' for all classes to count the same.

    {attributes}
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from rffnet import RFFNetClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 1.4, "in", "out")
    >>> model = RFFNetClassifier().fit(X, y)
    >>> model.predict([[0, 0, 2, -1], [2, 2, 0, 0]]).tolist()
    ['in', 'out']
    """

    def __init__(
        self,
        *,
        preset="auto",
        solver="auto",
        loss=None,
        kernel=None,
        sampling=None,
        init=None,
        n_restarts=None,
        n_random_features=None,
        alpha=None,
        penalty=None,
        alpha_theta=None,
        penalty_theta=None,
        l1_ratio=None,
        lr=None,
        schedule=None,
        batch_size=None,
        max_iter=None,
        early_stopping="auto",
        n_iter_no_change=None,
        validation_fraction=None,
        class_weight=None,
        missing="auto",
        categorical_features="from_dtype",
        spectrum=None,
        linear=None,
        committee=None,
        partitions=None,
        effort=None,
        budget=None,
        recipe=None,
        warm_start=False,
        random_state=0,
        n_jobs=None,
        verbose=0,
    ):
        self._store(locals())

    def _options(self):
        balanced = isinstance(self.class_weight, str)
        return super()._options() | {"class_weight": self.class_weight if balanced else None}

    def _goal(self, y):
        codes = np.searchsorted(self.classes_, y)
        return codes.astype(np.uint32), texts_of(self.classes_)

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns: numbers, truth values, texts, categories and dates, with or without gaps. A C-contiguous float32
            array is used as it is; everything else is converted once.
        y : array-like of shape (n_samples,)
            The labels: numbers, text or truth values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight zero have no influence at all.

        Returns
        -------
        self : RFFNetClassifier
            Fitted.
        """
        before = self._before()
        columns, y = self._checked(X, y, before, reset=True)
        self.classes_ = np.unique(y)
        return self._train(X, columns, y, self._weights(sample_weight, columns.x, y), before=before)

    @with_callbacks
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One epoch of descent over these rows, from where the last call ended.

        Standardisation is learned from the rows of the first call, which should be many and of at least two classes.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like of shape (n_classes,), default=None
            All labels there will be; needed in the first call unless `y` has them all.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self : RFFNetClassifier
            Fitted.
        """
        before = getattr(self, "_model", None)
        columns, y = self._checked(X, y, before, reset=before is None)
        if before is None:
            self.classes_ = np.unique(y if classes is None else classes)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"classes is {classes!r}, but the first call of partial_fit had {self.classes_!r}")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the label {unknown[0]!r}, which is not among the classes {self.classes_!r}")
        weight = self._weights(sample_weight, columns.x, y)
        return self._train(X, columns, y, weight, options=self._one_epoch(), before=before)

    def _checked(self, X, y, before, *, reset):
        columns, y = self._read(X, y, before, reset=reset)
        check_classification_targets(y)
        return columns, y

    def _weights(self, sample_weight, X, y):
        """Sample weights times class weights that were given one by one."""
        weight = weights_of(sample_weight, X)
        if not isinstance(self.class_weight, dict):
            if self.class_weight not in (None, "balanced"):
                raise ValueError(f"class_weight is {self.class_weight!r}; it must be a dictionary, 'balanced' or None")
            return weight
        factor = np.ones(len(y), dtype=np.float32)
        for label, value in self.class_weight.items():
            if not np.any(y == label):
                raise ValueError(f"class_weight has the class {label!r}, which is not in y")
            factor[y == label] = value
        return factor if weight is None else weight * factor

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The most probable label of each row.
        """
        X = self._rows(X)
        return self.classes_[self._model.labels(X, threads_of(self.n_jobs))]

    def predict_proba(self, X):
        """Predict probabilities.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            The probability of each class, in the order of `classes_`.
        """
        X = self._rows(X)
        return self._model.probabilities(X, threads_of(self.n_jobs)).reshape(len(X), len(self.classes_))

    def predict_log_proba(self, X):
        """Predict logarithms of probabilities.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Logarithms of `predict_proba`.
        """
        return np.log(self.predict_proba(X))

    def decision_function(self, X):
        """The model's outputs: log-odds of the second class, or one score per class.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        f : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        X = self._rows(X)
        f = self._model.decision(X, threads_of(self.n_jobs))
        return f if self._model.outputs == 1 else f.reshape(len(X), self._model.outputs)
