"""What the regressor and the classifier share: parameters, fitting, fitted attributes."""

import json
import warnings
from abc import ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rffnet import _rffnet
from rffnet._callbacks import STACK, CallbackSupportMixin, Watch
from rffnet._card import model_card
from rffnet._data import AS_FITTED, FILL_IN, Rows, names_of, rows_of, seed_of, threads_of
from rffnet._rffnet import Model

# The parameters of a fit, as Rust knows them; None leaves the choice to the preset.
PARAMETERS = [name for name, *_ in _rffnet.parameters()]


class RFFNet(CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta):
    """The method behind both estimators."""

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

    def _store(self, given):
        """Keep the constructor's arguments under their own names, as scikit-learn wants them."""
        vars(self).update((name, value) for name, value in given.items() if name not in ("self", "__class__"))

    @abstractmethod
    def _goal(self, y):
        """The target as Rust takes it: a table of float64, or codes and class names."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        # The tags `categorical` and `string` are for estimators that take nothing else: with them, scikit-learn's checks would
        # round all numbers, and ask that cells which are neither numbers nor texts are taken.
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def _options(self):
        """The parameters, for Rust."""
        options = {name: getattr(self, name, None) for name in PARAMETERS}
        options["seed"] = seed_of(self.random_state)
        if self.early_stopping not in ("auto", True, False):
            raise ValueError(f"early_stopping is {self.early_stopping!r}; it must be 'auto', True or False")
        if self.early_stopping is False:
            options["validation_fraction"] = 0.0
        return options

    def _before(self):
        """The model that `fit` goes on from, if it is to."""
        return getattr(self, "_model", None) if self.warm_start else None

    def _read(self, X, y, before, *, reset, **checks):
        """Rows to learn from as `Columns`, of the types of the model `before` if there is one, and their target."""
        known = {} if before is None else {"types": before.column_types, "remedies": (AS_FITTED, FILL_IN)}
        checks |= {"gaps": self.missing != "error", "categorical": self.categorical_features} | known
        return rows_of(self, X, y, reset=reset, ensure_min_samples=2 if reset else 1, **checks)

    def _train(self, X, columns, y, weight, *, options=None, before=None):
        """Fit to checked data, `X` being what the caller has given, from the model `before` if there is one."""
        options = self._options() if options is None else options
        rows = Rows(columns.x, self._goal(y), weight, names_of(self), columns.types)
        epochs = None if options["solver"] in ("auto", "varpro") else options["max_iter"]
        watch = Watch(self, X, y, weight, epochs)
        threads = threads_of(self.n_jobs)
        if before is None:
            made = 0
            model = Model.fit(options, rows, watch.callback, threads)
        else:
            made = self.n_iter_
            model = before.resume(options, rows, watch.callback, threads)
        self._adopt(model)
        self.n_iter_ += made
        watch.done(lambda: {name: value for name, value in vars(self).items() if name not in self.get_params()})
        for warning in (*columns.warnings, *self._summary["warnings"]):
            warnings.warn(warning, UserWarning, stacklevel=STACK)
        return self

    def _one_epoch(self):
        """The options of `partial_fit`: one epoch of descent over all rows given."""
        if self.solver == "varpro":
            raise ValueError("partial_fit descends, epoch by epoch; choose solver='adam' or 'sgd', or leave it at 'auto'")
        return self._options() | {
            "solver": "adam" if self.solver == "auto" else self.solver,
            "init": self.init or "constant",
            "schedule": "constant",
            "max_iter": 1,
            "n_iter_no_change": None,
            "validation_fraction": 0.0,
        }

    def _adopt(self, model):
        """Take a fitted model and show what is in it."""
        self._model = model
        self._card = json.loads(model.card)
        self._summary, self._plan = self._card["summary"], self._card["params"]
        self.relevances_ = model.relevances.astype(np.float64)
        self.feature_importances_ = model.importances.astype(np.float64)
        self.column_types_ = ["category" if isinstance(holds, list) else holds for holds in model.column_types]
        self.n_iter_ = self._summary["epochs"]
        self.stopped_ = self._summary["stopped"]
        losses = self._summary["losses"]
        self.history_ = {
            "epoch": [loss["epoch"] for loss in losses],
            "train_loss": [loss["train"] for loss in losses],
            "validation_loss": [loss["validation"] for loss in losses],
            "relevances": model.relevance_history,
        }
        self.validation_loss_ = self._summary["validation_loss"]
        self.n_random_features_ = self._plan["random-features"]

    def _rows(self, X):
        """Rows to predict, as the model has them: what its columns hold was learned in the fit."""
        check_is_fitted(self)
        remedies, gaps = (AS_FITTED, FILL_IN), self.missing != "error"
        types = self._model.column_types
        return rows_of(self, X, types=types, gaps=gaps, remedies=remedies, ensure_min_samples=0).x

    def encode(self, X):
        """Rows as the features see them: categories, dates and common gaps become columns of numbers.

        The network of `rffnet.torch.RFFNet.from_estimator` takes them.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        E : ndarray of shape (n_samples, n_encoded_columns)
            float32, not yet standardised. A gap that is read as the column's mean is NaN.
        """
        return self._model.encode(self._rows(X), threads_of(self.n_jobs))

    @property
    def head_(self):
        """Coefficients of the random features, (n_outputs, n_members * n_random_features_), in units of the output."""
        return self._head()[0]

    @property
    def linear_(self):
        """Coefficients of the transformed columns, as `encode` has them, (n_outputs, n_encoded_columns); zeros without linear
        terms.
        """
        return self._head()[1]

    @property
    def intercept_(self):
        """The constant term of each output, (n_outputs,), in units of the output."""
        return self._head()[2]

    @property
    def coef_(self):
        """The root mean square slope of f along each standardised column, (n_features_in_,).

        For a linear f these are its coefficients, hence the name. The sign is that of the linear term where there is one
        output and the column is encoded as one, and positive otherwise. scikit-learn's `SelectFromModel` and `RFE` rank columns
        by it; the coefficients of the random features are in `head_`.
        """
        linear = self.linear_
        down = np.zeros(len(self.feature_importances_), dtype=bool)
        if len(linear) == 1:
            origin = np.asarray(self._model.origin)
            alone = np.bincount(origin)[origin] == 1
            down[origin[alone]] = linear[0][alone] < 0
        return np.where(down, -self.feature_importances_, self.feature_importances_)

    def _head(self):
        if not hasattr(self, "_model"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._model.head()

    def save(self, path):
        """Write the model file, which the command `rffnet` reads too.

        Parameters
        ----------
        path : str or path-like
            Where to; conventionally ends in `.rffnet`.
        """
        check_is_fitted(self)
        self._model.save(path)

    def to_onnx(self):
        """The model as an ONNX graph, scaling and labels included.

        Returns
        -------
        onnx : bytes
            What goes into an `.onnx` file; any ONNX runtime predicts with it.
        """
        check_is_fitted(self)
        return self._model.to_onnx()

    def model_card(self):
        """A description of the fitted model for people, in Markdown.

        Returns
        -------
        card : str
            What was learned from what, how it went, and which columns matter.
        """
        check_is_fitted(self)
        return model_card(self)
