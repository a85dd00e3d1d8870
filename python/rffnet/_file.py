"""Reading model files."""

import numpy as np

from rffnet._classifier import RFFNetClassifier
from rffnet._data import labels_from
from rffnet._regressor import RFFNetRegressor
from rffnet._rffnet import Model


def load(path):
    """Read a model file, written by `save` or by the command `rffnet`.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : RFFNetRegressor or RFFNetClassifier
        Fitted; its parameters are those of the fit, as far as the file has them.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from rffnet import RFFNetRegressor, load
    >>> X = np.linspace(-2, 2, 100).reshape(50, 2)
    >>> model = RFFNetRegressor(effort="quick").fit(X, X[:, 0] ** 2)
    >>> path = os.path.join(tempfile.mkdtemp(), "square.rffnet")
    >>> model.save(path)
    >>> bool((load(path).predict(X) == model.predict(X)).all())
    True
    """
    return estimator_of(Model.load(path))


def estimator_of(model):
    """A fitted estimator around a model."""
    classes = model.classes
    estimator = RFFNetClassifier() if classes else RFFNetRegressor()
    estimator._adopt(model)
    estimator.set_params(**parameters(estimator._plan))
    if classes:
        estimator.classes_ = labels_from(classes)
    else:
        estimator._flat = model.outputs == 1
    estimator.n_features_in_ = len(model.feature_names)
    if model.has_names:
        estimator.feature_names_in_ = np.asarray(model.feature_names, dtype=object)
    return estimator


def parameters(plan):
    """The constructor's arguments that lead to this plan."""
    found = {
        "preset": plan["preset"],
        "solver": plan["solver"],
        "loss": plan["loss"],
        "kernel": plan["kernel"],
        "sampling": plan["sampling"],
        "random_state": plan["seed"],
        "max_iter": plan["epochs"],
        "validation_fraction": plan["validation-fraction"],
        "missing": plan["missing"],
        "n_random_features": plan["fixed-features"],
        "alpha": plan["fixed-alpha"],
    }
    if plan["class-weight"] != "none":
        found["class_weight"] = plan["class-weight"]
    if plan["solver"] == "varpro":
        found |= {name: plan[name] for name in ("spectrum", "linear", "committee", "effort")}
    else:
        found |= {name: plan[name] for name in ("lr", "schedule", "init")}
        found |= {"batch_size": plan["batch-size"], "n_iter_no_change": plan["patience"]}
        if plan["init"] == "restarter":
            found["n_restarts"] = plan["restarts"]
    return found
