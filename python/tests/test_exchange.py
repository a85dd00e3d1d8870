"""The same model in Python, in the command, in pickles and in files."""

import csv
import json
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest

import rffnet
from rffnet import RFFNetClassifier, RFFNetRegressor, load


def command(*arguments, status=0):
    """Runs the `rffnet` of the package; what it printed."""
    run = subprocess.run([sys.executable, "-m", "rffnet", *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == status, run.stderr
    return run.stdout if status == 0 else run.stderr


def parts(path):
    """The metadata of a model file, and all of its other bytes. An array has no name, so only the command knows the target's."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    card = json.loads(header.pop("__metadata__")["rffnet"])
    assert len(card.pop("checksum")) == 16
    card.pop("target_name", None)
    return card, header, data[start:]


def column(text, name):
    return [row[name] for row in csv.DictReader(text.splitlines())]


def write(path, X, names, **more):
    """A CSV file; numbers are written so that they read back to the last bit."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*names, *more])
        for i, row in enumerate(X):
            out.writerow([*(repr(float(v)) for v in row), *(values[i] for values in more.values())])


OPTIONS = [
    ({}, []),
    ({"random_state": 5, "effort": "quick", "kernel": "matern32"}, ["--seed", 5, "--effort", "quick", "--kernel", "matern32"]),
    ({"effort": "quick", "partitions": 8}, ["--effort", "quick", "--partitions", 8]),
    (
        {"solver": "adam", "max_iter": 9, "n_random_features": 50, "lr": 0.01, "batch_size": 32},
        ["--solver", "adam", "--epochs", 9, "--features", 50, "--lr", 0.01, "--batch-size", 32],
    ),
    ({"preset": "paper", "max_iter": 5}, ["--preset", "paper", "--epochs", 5]),
    (
        {"init": "restarter", "n_restarts": 3, "max_iter": 4, "n_random_features": 30},
        ["--init", "restarter", "--restarts", 3, "--epochs", 4, "--features", 30],
    ),
]


@pytest.mark.parametrize(("options", "flags"), OPTIONS)
def test_regression_is_the_same_bit_for_bit(options, flags, curve, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = curve
    frame = pandas.DataFrame(X, columns=list("abcde"))
    write(tmp_path / "train.csv", X, "abcde", y=[repr(float(v)) for v in y])
    model = RFFNetRegressor(**options).fit(frame, y)
    command("fit", tmp_path / "train.csv", "--target", "y", "-o", tmp_path / "command.rffnet", *flags)
    model.save(tmp_path / "python.rffnet")
    assert parts(tmp_path / "python.rffnet") == parts(tmp_path / "command.rffnet")

    # A model fitted here predicts the same there, and the other way round.
    expected = model.predict(frame)
    there = column(command("predict", tmp_path / "python.rffnet", tmp_path / "train.csv"), "prediction")
    assert [float(v) for v in there] == expected.tolist()
    assert np.array_equal(load(tmp_path / "command.rffnet").predict(frame), expected)


def thirds(X):
    return np.array(["high", "low", "middle"])[np.digitize(X[:, 0], [-0.4, 0.4])]


def halves(X):
    return np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 1.0, "in", "out")


CLASSES = [
    (halves, {}, []),
    (thirds, {"effort": "quick", "random_state": 2}, ["--effort", "quick", "--seed", 2]),
    (halves, {"solver": "adam", "max_iter": 5, "class_weight": "balanced"}, ["--solver", "adam", "--epochs", 5, "--class-weight", "balanced"]),
]


@pytest.mark.parametrize(("labels", "options", "flags"), CLASSES)
def test_classification_is_the_same_bit_for_bit(labels, options, flags, tmp_path):
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(4).normal(size=(180, 4))
    y = labels(X)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    write(tmp_path / "train.csv", X, "abcd", label=y)
    model = RFFNetClassifier(**options).fit(frame, y)
    command("fit", tmp_path / "train.csv", "--target", "label", "-o", tmp_path / "command.rffnet", *flags)
    model.save(tmp_path / "python.rffnet")
    assert parts(tmp_path / "python.rffnet") == parts(tmp_path / "command.rffnet")

    printed = command("predict", tmp_path / "python.rffnet", tmp_path / "train.csv", "--proba")
    assert column(printed, "prediction") == model.predict(frame).tolist()
    p = np.array([column(printed, f"p_{c}") for c in model.classes_], dtype=float).T
    assert np.array_equal(p, model.predict_proba(frame))
    again = load(tmp_path / "command.rffnet")
    assert again.classes_.tolist() == sorted(set(y))
    assert again.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(again.predict_proba(frame), p)


def test_weights_and_gaps_are_the_same_bit_for_bit(curve, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = curve
    X = X.astype(float)
    X[::7, 1] = np.nan
    weight = np.linspace(0.0, 2.0, len(y))
    with open(tmp_path / "train.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*"abcde", "y", "w"])
        for row, *rest in zip(X, y, weight):
            out.writerow(["" if np.isnan(v) else repr(float(v)) for v in row] + [repr(float(v)) for v in rest])
    model = RFFNetRegressor(missing="mean", effort="quick").fit(pandas.DataFrame(X, columns=list("abcde")), y, sample_weight=weight)
    flags = ["--target", "y", "--weight", "w", "--missing", "mean", "--effort", "quick"]
    command("fit", tmp_path / "train.csv", *flags, "-o", tmp_path / "command.rffnet")
    model.save(tmp_path / "python.rffnet")
    assert parts(tmp_path / "python.rffnet") == parts(tmp_path / "command.rffnet")


@pytest.mark.parametrize("labels", [[1, 2, 10], [False, True], ["10", "9", "a"], [1.0, 2.0, 4.0]])
def test_labels_survive_the_file(labels, tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.asarray(labels)[np.arange(120) % len(labels)]
    model = RFFNetClassifier(effort="quick").fit(X, y)
    model.save(tmp_path / "m.rffnet")
    again = load(tmp_path / "m.rffnet")
    assert again.classes_.tolist() == model.classes_.tolist()
    if model.classes_.dtype.kind != "f":  # the file does not tell 1.0 from 1
        assert again.classes_.dtype.kind == model.classes_.dtype.kind
    assert np.array_equal(again.predict(X), model.predict(X))


def test_a_loaded_model_can_be_fitted_again(curve, tmp_path):
    X, y = curve
    restarter = {"init": "restarter", "n_restarts": 2, "max_iter": 2}
    varpro = {"effort": "quick", "alpha": 1e-3, "recipe": "agop_rounds=5"}
    partitions = [{"effort": "quick", "partitions": p} for p in (7, "none")]
    for options in (varpro, *partitions, {"solver": "adam", "max_iter": 4, "lr": 0.003}, restarter):
        model = RFFNetRegressor(**options, random_state=3).fit(X, y)
        model.save(tmp_path / "m.rffnet")
        again = load(tmp_path / "m.rffnet")
        assert again.partitions == (options.get("partitions", "auto") if "effort" in options else None)
        again.fit(X, y)
        assert np.array_equal(again.predict(X), model.predict(X))


def test_pickles_carry_the_model_file(stairs, tmp_path):
    X, y = stairs
    model = RFFNetRegressor(effort="quick").fit(X, y)
    assert "cells" in model._model.tensors()
    data = pickle.dumps(model)
    assert model._model.to_bytes() in data
    again = pickle.loads(data)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.history_ == model.history_
    joblib.dump(model, tmp_path / "m.joblib")
    assert np.array_equal(joblib.load(tmp_path / "m.joblib").predict(X), model.predict(X))


def test_files_that_are_no_models(tmp_path):
    (tmp_path / "no.rffnet").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="not an rffnet model file"):
        load(tmp_path / "no.rffnet")
    with pytest.raises(FileNotFoundError, match="absent"):
        load(tmp_path / "absent.rffnet")


def test_the_command_does_not_wait_for_scikit_learn():
    code = "import sys, rffnet._command; print([m for m in ('numpy', 'sklearn') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_command_is_the_whole_command(tmp_path):
    assert command("--version").strip() == f"rffnet {rffnet.__version__}"
    assert "error: " in command("predict", tmp_path / "absent", "-", status=1)
    assert "Usage" in command("fit", "--no-such-flag", status=2)
    printed = json.loads(command("fit", "--dataset", "gse1", "--rows", 200, "--effort", "quick", "--json"))
    assert printed["columns"] == 18
    script = subprocess.run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('scripts'))"],
                            capture_output=True, text=True, check=True)  # fmt: skip
    assert subprocess.run([script.stdout.strip() + "/rffnet", "--version"], capture_output=True).returncode == 0


class TestOnnx:
    @pytest.fixture
    def session(self):
        runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        return lambda model: runtime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])

    @pytest.mark.parametrize("options", [{}, {"solver": "adam"}, {"preset": "paper", "max_iter": 5}])
    def test_numbers(self, options, curve, session):
        X, y = curve
        model = RFFNetRegressor(**options).fit(X, y)
        (found,) = session(model).run(["prediction"], {"X": X})
        assert np.abs(found - model.predict(X)).max() < 1e-5 * y.std()

    def test_labels(self, ring, session):
        X, y = ring
        for target in (y, np.where(y == "in", 3, 7), np.where(X[:, 2] > 1, "up", y)):
            model = RFFNetClassifier(effort="quick").fit(X, target)
            label, p = session(model).run(["label", "probabilities"], {"X": X})
            assert np.array_equal(label, model.predict(X))
            assert np.abs(p - model.predict_proba(X)).max() < 1e-5
