"""One fit of another method: a job as JSON on standard input, its scores and what it took as JSON on standard output.

The time is that of `fit` and of the prediction of the test rows, with whatever encoding a method needs; reading and imports
are left out. Every method has its defaults and one thread, which suite.py sets in the environment.
"""
import json
import os
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tables"))

import categories_peers
from categories_prepare import encoder, frame, read

NETWORKS = {"realmlp": "RealMLP_TD", "tabm": "TabM_D", "xrfm": "XRFM_D"}


def linear(task, numbers, text, seed):
    """The lasso, or L1 logistic regression of each class against the others; five folds choose the penalty."""
    from sklearn.linear_model import LassoCV, LogisticRegressionCV
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task == "regression":
        last = LassoCV(cv=5, random_state=seed)
    else:
        last = OneVsRestClassifier(LogisticRegressionCV(Cs=[0.01, 0.1, 1, 10], cv=5, l1_ratios=(1,), solver="liblinear",
                                                        scoring="neg_log_loss", use_legacy_attributes=False, random_state=seed))
    return make_pipeline(encoder(numbers, text), StandardScaler(), last)


def xgboost(task, seed):
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBRegressor if task == "regression" else XGBClassifier)(enable_categorical=True, random_state=seed, n_jobs=1)


def network(method, task, text, seed):
    """A method of pytabkit, which takes gaps in categories and none in numbers: the mean stands for them."""
    import pytabkit
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    kind = getattr(pytabkit, NETWORKS[method] + ("_Regressor" if task == "regression" else "_Classifier"))
    numbers = [("numbers", SimpleImputer(), make_column_selector(dtype_include="number"))]
    impute = ColumnTransformer(numbers, remainder="passthrough", verbose_feature_names_out=False).set_output(transform="pandas")
    return make_pipeline(impute, kind(device="cpu", random_state=seed, n_threads=1))


def fit(method, table, train, test, seed):
    """Scores and times of the method; `train` and `test` are a header and rows as they are written."""
    import numpy

    task, at = table["task"], train[0].index(table["target"])
    targets = [[row[at] for row in rows] for _, rows in (train, test)]
    if task == "classification":
        classes = sorted(set(targets[0]))
        targets = [[classes.index(label) for label in part] for part in targets]
    y, truth = (numpy.array(part, dtype=float if task == "regression" else int) for part in targets)
    if method == "linear":
        inputs = [frame(header, rows, at, table["text"]) for header, rows in (train, test)]
        numbers = [name for name in inputs[0] if name not in table["text"]]
        model = linear(task, numbers, table["text"], seed)
    else:
        inputs, text = categories_peers.inputs(method, table, train, test)
        if method == "xgboost":
            model = xgboost(task, seed)
        elif method in NETWORKS:
            model = network(method, task, text, seed)
        else:
            model = categories_peers.model(method, task, text, seed, 1)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(inputs[0], y)
    predicted = model.predict(inputs[1]) if task == "regression" else model.predict_proba(inputs[1])
    spent = {"seconds": round(time.perf_counter() - wall, 3), "cpu": round(time.process_time() - cpu, 3)}
    return {**quality(task, truth, numpy.asarray(predicted, dtype=float)), **spent}


def quality(task, truth, predicted):
    """R2 and the mean squared error, or AUC and the log loss."""
    from sklearn.metrics import log_loss, mean_squared_error, r2_score, roc_auc_score

    if task == "regression":
        predicted = predicted.reshape(-1)
        return {"score": float(r2_score(truth, predicted)), "mse": float(mean_squared_error(truth, predicted))}
    labels = list(range(predicted.shape[1]))
    predicted = predicted / predicted.sum(axis=1, keepdims=True)
    if len(labels) == 2:
        score = roc_auc_score(truth, predicted[:, 1])
    else:
        score = roc_auc_score(truth, predicted, multi_class="ovr", average="macro", labels=labels)
    return {"score": float(score), "log_loss": float(log_loss(truth, predicted, labels=labels))}


def main():
    warnings.simplefilter("ignore")
    job = json.load(sys.stdin)
    output, sys.stdout = sys.stdout, sys.stderr  # What the libraries print is no result.
    result = fit(job["method"], job["table"], read(job["train"]), read(job["test"]), job["split"])
    print(json.dumps(result), file=output)


if __name__ == "__main__":
    main()
