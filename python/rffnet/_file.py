"""Reading model files."""

import json

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
    card = json.loads(model.card)
    estimator = RFFNetClassifier() if card["classes"] else RFFNetRegressor()
    estimator._adopt(model)
    estimator.set_params(**parameters(card["params"]))
    if card["classes"]:
        estimator.classes_ = labels_from(card["classes"])
    else:
        estimator._flat = model.outputs == 1
    estimator.n_features_in_ = len(card["feature_names"])
    if card["named"]:
        estimator.feature_names_in_ = np.asarray(card["feature_names"], dtype=object)
    return estimator


def parameters(plan):
    """The constructor's arguments that lead to this plan."""
    varpro = plan["solver"] == "varpro"
    same = ["preset", "solver", "loss", "kernel", "sampling", "missing"]
    same += ["spectrum", "linear", "committee", "effort"] if varpro else ["lr", "schedule", "init"]
    found = {name: plan[name] for name in same} | {
        "random_state": plan["seed"],
        "max_iter": plan["epochs"],
        "validation_fraction": plan["validation-fraction"],
        "n_random_features": plan["fixed-features"],
        "alpha": plan["fixed-alpha"],
    }
    if plan["class-weight"] != "none":
        found["class_weight"] = plan["class-weight"]
    if varpro:
        found["recipe"] = plan.get("recipe")
        # The plan has a text, and leaves out the default.
        partitions = plan.get("partitions", "auto")
        found["partitions"] = int(partitions) if partitions.isdecimal() else partitions
    else:
        found |= {"batch_size": plan["batch-size"], "n_iter_no_change": plan["patience"]}
        if plan["init"] == "restarter":
            found["n_restarts"] = plan["restarts"]
    return found
