"""`rffnet export --onnx`: onnxruntime predicts what `rffnet predict` does.

The command is the one that RFFNET_BIN names, else the one on the path.
"""

import csv
import json
import os
import platform
import shutil
import subprocess

import numpy as np
import pytest

ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime onnx")

RFFNET = os.environ.get("RFFNET_BIN") or shutil.which("rffnet")
pytestmark = pytest.mark.skipif(RFFNET is None, reason="there is no rffnet command: set RFFNET_BIN")

TOLERANCE = 1e-5
# The portable kernels have no fused multiply-add, so they round the cosines' arguments otherwise than onnxruntime does. It
# shows where the spectrum has a heavy tail and arguments reach the thousands.
FUSED = platform.machine() in ("x86_64", "AMD64") and os.environ.get("RFFNET_SIMD") != "portable"
NAMES = ["a", "b", "c", "d", "e"]


def rffnet(folder, *arguments):
    done = subprocess.run([RFFNET, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_csv(path, x, y):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*NAMES, "y"])
        for row, target in zip(x, y):
            # The shortest text that reads back as the same 32-bit number.
            rows.writerow(["" if np.isnan(v) else str(v) for v in row] + [target])


def rows(seed, n, missing=0.0):
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(n, len(NAMES))) * [1.0, 100.0, 1e-3, 1.0, 5.0] + [0.0, 5e3, 0.0, 3.0, -1.0]
    x = x.astype(np.float32)
    x[chance.random(x.shape) < missing] = np.nan
    return x


def signal(x):
    u = np.nan_to_num((x - [0.0, 5e3, 0.0, 3.0, -1.0]) / [1.0, 100.0, 1e-3, 1.0, 5.0])
    return np.sin(2.0 * u[:, 0]) + u[:, 1] * u[:, 2] + 0.3 * u[:, 3]


def prices(x):
    return 1e5 + 300.0 * signal(x) + np.random.default_rng(9).normal(size=len(x))


def counts(x):
    return np.random.default_rng(9).poisson(np.exp(1.0 + 0.5 * np.clip(signal(x), -2, 2)))


def sides(x):
    return np.where(signal(x) > 0.2, "été, chaud", "winter")


def thirds(x):
    return np.array(["low", "middle", "high"])[np.digitize(signal(x), [-0.5, 0.7])]


def codes(x):
    return np.digitize(signal(x), [-0.5, 0.7]) - 1


def skew(x):
    """To the right, long tails, as it was, to the left, as it was."""
    tails = np.sinh(np.clip((x[:, 1] - 5e3) / 30, -20, 20))
    columns = [np.exp(1.2 * x[:, 0]), tails, x[:, 2], -np.exp(x[:, 3]), x[:, 4]]
    return np.column_stack(columns).astype(np.float32)


# The target, further flags and, where columns are not normal, what makes them so.
CASES = {
    "default": (prices, []),
    "single model, spectrum learned": (prices, ["--spectrum", "learned", "--committee", "1"]),
    "no linear terms": (prices, ["--linear", "false", "--committee", "2", "--features", "70"]),
    "descent": (prices, ["--solver", "adam"]),
    "laplace": (prices, ["--kernel", "laplace"]),
    "few columns": (prices, ["--solver", "adam", "--alpha-theta", "0.03"]),
    "paper": (prices, ["--preset", "paper"]),
    "missing": (prices, ["--missing", "mean"]),
    "skewed": (prices, [], skew),
    "skewed, missing": (sides, ["--missing", "mean"], skew),
    "poisson": (counts, ["--loss", "poisson", "--task", "regression"]),
    "partitions": (prices, ["--partitions", "50"]),
    "partitions, no linear terms": (prices, ["--partitions", "50", "--linear", "false", "--committee", "2"]),
    "partitions, two classes": (sides, ["--partitions", "50"], skew),
    "partitions, three classes": (thirds, ["--partitions", "50", "--missing", "mean"]),
    "quantile": (prices, ["--loss", "quantile:0.9"]),
    "two classes": (sides, []),
    "two classes, missing": (sides, ["--missing", "mean", "--class-weight", "balanced"]),
    "three classes": (thirds, []),
    "whole numbers as classes": (codes, ["--task", "classification"]),
    "paper, three classes": (thirds, ["--preset", "paper"]),
}


def exported(folder, target, flags, shape=np.asarray):
    """Fits and exports; the session, rows that were not learned from, and what the command predicts for them."""
    missing = 0.1 if "--missing" in flags else 0.0
    train, new = rows(1, 400, missing), rows(2, 300, missing)
    new[:20] *= 3.0  # some of them far from the training rows
    y = target(train)
    train, new = shape(train), shape(new)
    write_csv(folder / "train.csv", train, y)
    write_csv(folder / "new.csv", new, np.zeros(len(new)))
    rffnet(folder, "fit", "train.csv", "--target", "y", "--quiet", "--effort", "quick", *flags, "-o", "m.rffnet")
    rffnet(folder, "export", "m.rffnet", "--onnx", "m.onnx")
    proba = [] if target in (prices, counts) else ["--proba"]
    expected = json.loads(rffnet(folder, "predict", "m.rffnet", "new.csv", "--json", *proba))
    session = ort.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    return session, new, expected, y


@pytest.mark.parametrize("case", CASES)
def test_onnxruntime_predicts_the_same(tmp_path, case, record_property):
    session, new, expected, y = exported(tmp_path, *CASES[case])
    assert [i.name for i in session.get_inputs()] == ["X"]
    got = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": new})))
    if "classes" not in expected:
        want = np.array(expected["predictions"])
        assert got["prediction"].shape == want.shape
        difference = np.abs(got["prediction"] - want).max() / np.std(y)
    else:
        want = np.array(expected["probabilities"])
        assert got["probabilities"].shape == want.shape
        difference = np.abs(got["probabilities"] - want).max()
        top = np.sort(want, axis=1)
        sure = top[:, -1] - top[:, -2] > 10 * TOLERANCE
        assert sure.mean() > 0.9
        labels = got["label"].astype(str)
        assert (labels == np.array(expected["predictions"]))[sure].all()
        assert (got["label"].dtype == np.int64) == (CASES[case][0] is codes)
    record_property("difference", float(difference))
    print(f"{case}: {difference:.2e}")
    assert difference < (TOLERANCE if FUSED or case != "laplace" else 10 * TOLERANCE)


def test_the_checker_is_content(tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    checked = ["default", "missing", "skewed", "poisson", "two classes", "whole numbers as classes", "few columns"]
    for case in [*checked, "partitions"]:
        exported(tmp_path, *CASES[case])
        model = onnx.load(tmp_path / "m.onnx")
        onnx.checker.check_model(model, full_check=True)
        assert model.producer_name == "rffnet" and model.producer_version
        assert any(node.op_type == "Pow" for node in model.graph.node) == (case == "skewed")
        properties = {p.key: p.value for p in model.metadata_props}
        assert json.loads(properties["feature_names"]) == NAMES
        assert properties["task"] in ("regression", "classification")


@pytest.mark.parametrize("case", ["default", "partitions"])
def test_any_number_of_rows(tmp_path, case):
    session, new, expected, y = exported(tmp_path, *CASES[case])
    (whole,) = session.run(None, {"X": new})
    (one,) = session.run(None, {"X": new[:1]})
    (none,) = session.run(None, {"X": new[:0]})
    assert one.shape == (1,) and none.shape == (0,)
    assert abs(one[0] - whole[0]) < TOLERANCE * np.std(y)


@pytest.mark.parametrize("case", ["default", "skewed", "partitions, no linear terms"])
def test_a_row_the_model_would_refuse_is_not_a_number(tmp_path, case):
    target, flags, *shape = CASES[case]
    session, new, _, _ = exported(tmp_path, target, [*flags, "--missing=error"], *shape)
    new[3, 0] = np.nan
    (prediction,) = session.run(None, {"X": new})
    assert np.isnan(prediction[3]) and np.isfinite(np.delete(prediction, 3)).all()
