"""Inputs, options, errors."""

import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import NotFittedError

import rffnet._data
from rffnet import RFFNetClassifier, RFFNetRegressor, RFFTransformer, _rffnet

QUICK = {"effort": "quick"}


def quick(**options):
    return RFFNetRegressor(**QUICK, **options)


class TestInputs:
    def test_any_layout_and_type_gives_the_same_model(self, curve):
        X, y = curve
        expected = quick().fit(X, y).predict(X)
        layouts = {
            "float64": X.astype(np.float64),
            "fortran": np.asfortranarray(X),
            "strided": np.repeat(X, 2, axis=0)[::2],
            "csr": sparse.csr_array(X),
            "csc": sparse.csc_matrix(X.astype(np.float64)),
            "list": X.tolist(),
        }
        for name, layout in layouts.items():
            model = quick().fit(layout, y)
            assert np.array_equal(model.predict(layout), expected), name
            assert np.array_equal(model.predict(X), expected), name

    def test_read_only_arrays(self, curve):
        X, y = curve
        X.flags.writeable = y.flags.writeable = False
        assert quick().fit(X, y).predict(X).shape == y.shape

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_tables_with_names(self, library, curve):
        module = pytest.importorskip(library)
        X, y = curve
        columns = {name: X[:, j] for j, name in enumerate("abcde")}
        table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
        model = quick().fit(table, y)
        assert model.feature_names_in_.tolist() == list("abcde")
        assert model._card["feature_names"] == list("abcde")
        assert np.array_equal(model.predict(table), quick().fit(X, y).predict(X))

    def test_integers_and_truth_values(self):
        X = np.random.default_rng(0).integers(0, 2, size=(200, 3))
        y = X[:, 0] ^ X[:, 1]
        for X in (X, X.astype(bool), X.astype(np.int8)):
            assert RFFNetClassifier(**QUICK).fit(X, y).score(X, y) == 1

    def test_sparse_data_that_do_not_fit(self, monkeypatch):
        monkeypatch.setattr(rffnet._data, "available_memory", lambda: 1 << 20)
        X = sparse.random(10_000, 100, density=0.01, format="csr", random_state=0)
        with pytest.raises(MemoryError, match="10,000 x 100 float32 take"):
            quick().fit(X, np.arange(10_000))

    def test_missing_values(self, curve):
        X, y = curve
        X[::7, 2] = np.nan
        with pytest.raises(ValueError, match="column 'x3' holds NaN"):
            quick(missing="error").fit(X, y)
        for missing in ("auto", "mean"):
            model = quick(missing=missing).fit(X, y)
            assert np.isfinite(model.predict(X)).all()
            assert model.encode(X).shape[1] == (6 if missing == "auto" else 5)


class TestTargets:
    def test_several_outputs(self, curve):
        X, y = curve
        both = np.column_stack([y, X[:, 2]])
        model = quick().fit(X, both)
        assert model.predict(X).shape == both.shape
        assert model.score(X, both) > 0.9
        assert model.intercept_.shape == (2,)
        assert quick().fit(X, both[:, :1]).predict(X).shape == (len(y), 1)

    @pytest.mark.parametrize(
        "labels", [["a", "b", "c"], [3, 1, 7], [1.0, 2.0, 5.0], [True, False], [b"x".decode(), "ü"]]
    )
    def test_labels_come_back(self, labels):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        y = np.asarray(labels)[np.digitize(X[:, 0], np.linspace(-0.5, 0.5, len(labels) - 1))]
        model = RFFNetClassifier(**QUICK).fit(X, y)
        assert model.classes_.tolist() == sorted(labels)
        assert model.score(X, y) > 0.9
        p = model.predict_proba(X)
        assert np.allclose(p.sum(1), 1)
        assert np.array_equal(model.classes_[p.argmax(1)], model.predict(X))
        assert np.allclose(np.exp(model.predict_log_proba(X)), p)
        assert model.decision_function(X).shape == ((200,) if len(labels) == 2 else (200, 3))

    def test_class_weights(self, ring):
        X, y = ring
        shares = [
            RFFNetClassifier(solver="adam", class_weight=weight).fit(X, y).predict_proba(X)[:, 0].mean()
            for weight in ({"in": 0.02, "out": 1}, None, {"in": 50})
        ]
        assert shares[0] < shares[1] < shares[2]
        given = np.where(y == "in", 3.0, 1.0)
        by_row = RFFNetClassifier(solver="adam").fit(X, y, sample_weight=given).predict_proba(X)
        by_class = RFFNetClassifier(solver="adam", class_weight={"in": 3}).fit(X, y).predict_proba(X)
        assert np.array_equal(by_row, by_class)
        balanced = RFFNetClassifier(solver="adam", class_weight="balanced").fit(X, y)
        assert balanced._plan["class-weight"] == "balanced"

    def test_weights_of_zero(self, curve):
        X, y = curve
        weight = np.ones(len(y))
        weight[100:] = 0
        spoiled = np.where(weight > 0, y, 1e6)
        some = quick(early_stopping=False).fit(X, spoiled, sample_weight=weight)
        few = quick(early_stopping=False).fit(X[:100], y[:100])
        assert np.allclose(some.predict(X), few.predict(X), rtol=1e-3, atol=1e-3)


class TestOptions:
    def test_every_parameter_of_the_library_is_there(self):
        varpro = {
            "spectrum": "fixed", "linear": False, "committee": 2, "effort": "quick", "budget": 60.0, "alpha": 1e-3,
            "recipe": "members=3,judge-errors=1", "partitions": 12,
        }  # fmt: skip
        model = RFFNetRegressor(**varpro, n_random_features=40, kernel="matern32", max_iter=7)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        plan = model.fit(X, X[:, 0])._plan
        assert (plan["spectrum"], plan["linear"], plan["committee"], plan["fixed-alpha"]) == ("fixed", False, 2, 1e-3)
        assert (plan["random-features"], plan["kernel"], plan["epochs"]) == (40, "matern32", 7)
        assert (plan["recipe"], plan["partitions"]) == ("members=3,judge_errors=1", "12")
        descent = {
            "solver": "palm-sgd", "loss": "huber:0.5", "sampling": "orthogonal", "init": "regressor", "penalty": "elastic-net",
            "alpha_theta": 0.01, "penalty_theta": "l2", "l1_ratio": 0.3, "lr": 0.02, "schedule": "cosine", "batch_size": 17,
            "n_iter_no_change": 5, "validation_fraction": 0.25, "missing": "mean",
        }  # fmt: skip
        plan = RFFNetRegressor(**descent).fit(X, X[:, 0])._plan
        for name in ("solver", "loss", "sampling", "init", "lr", "schedule", "missing"):
            assert plan[name] == descent[name]
        assert (plan["batch-size"], plan["patience"], plan["validation-fraction"]) == (17, 5, 0.25)
        assert plan["penalty-theta"] == {"l1": 0.0, "l2": 0.01}
        assert RFFNetRegressor(preset="paper", max_iter=1).fit(X, X[:, 0])._plan["preset"] == "paper"

    def test_restarts(self, curve, ring):
        """None is ten, one is another start, and the classifier takes them too."""
        X, y = curve
        options = {"init": "restarter", "max_iter": 2, "n_random_features": 30}
        none, one, ten = (RFFNetRegressor(**options, n_restarts=n).fit(X, y) for n in (None, 1, 10))
        assert (one._plan["restarts"], none._plan["restarts"]) == (1, 10)
        assert np.array_equal(none.relevances_, ten.relevances_)
        assert not np.array_equal(none.relevances_, one.relevances_)
        assert RFFNetClassifier(**options, n_restarts=3).fit(*ring)._plan["restarts"] == 3

    def test_partitions(self, stairs):
        """A number, as Python or as numpy has it, 'none' and 'auto', which is the default and finds steps."""
        X, y = stairs
        models = {p: quick(partitions=p).fit(X[:300], y[:300]) for p in (None, "auto", "none", 0, 9, np.int64(20))}
        cells = {p: model._model.tensors().get("cells") for p, model in models.items()}
        assert cells["none"] is None and cells[0] is None
        assert [cells[p].shape for p in (9, 20)] == [(3, p, 64, 1) for p in (9, 20)]
        assert np.array_equal(cells[None], cells["auto"])
        scores = {p: model.score(X[300:], y[300:]) for p, model in models.items()}
        assert scores["none"] == scores[0] < 0.9 < 0.95 < scores["auto"] == scores[None]

    def test_a_class_named_like_a_parameter_keeps_its_name(self, curve):
        X, _ = curve
        with pytest.raises(ValueError, match="'restarts'"):
            RFFNetClassifier(**QUICK).fit(X, np.full(len(X), "restarts"))

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"kernel": "gauss"}, "kernel is 'gauss'; it must be one of gaussian"),
            ({"n_random_features": 0}, "n_random_features is 0; it must be at least 1"),
            ({"n_random_features": 1.5}, "n_random_features is 1.5; it must be a whole number"),
            ({"alpha": -1}, "alpha is -1; it must be zero or positive"),
            ({"alpha": "much"}, "alpha is 'much'; it must be a number"),
            ({"linear": "yes"}, "linear is 'yes'; it must be True or False"),
            ({"recipe": 3}, "recipe is 3; it must be a text"),
            ({"recipe": "member=3"}, "recipe is 'member=3'; it must be NAME=NUMBER with NAME one of quick"),
            ({"recipe": "members=3", "solver": "adam"}, "recipe belong to the varpro solver"),
            ({"partitions": "few"}, "partitions is 'few'; it must be auto, none or a whole number"),
            ({"partitions": -1}, "partitions is -1; it must be auto, none or a whole number"),
            ({"partitions": 2.5}, "partitions is 2.5; it must be auto, none or a whole number"),
            ({"partitions": True}, "partitions is True; it must be auto, none or a whole number"),
            ({"partitions": 10001}, "partitions is 10001; it must be at most 10000"),
            ({"partitions": 9, "solver": "adam"}, "partitions, budget and recipe belong to the varpro solver"),
            ({"max_iter": 0}, "max_iter is 0"),
            ({"init": "restarter", "n_restarts": 0}, "n_restarts is 0; it must be between 1 and 10000"),
            ({"init": "restarter", "n_restarts": 10001}, "n_restarts is 10001; it must be between 1 and 10000"),
            ({"init": "restarter", "n_restarts": 2.5}, "n_restarts is 2.5; it must be a whole number"),
            ({"n_restarts": 3}, "n_restarts is 3; it must be left out unless init is restarter"),
            ({"solver": "varpro", "n_restarts": 3}, "init and n_restarts belong to descent"),
            ({"early_stopping": "maybe"}, "early_stopping is 'maybe'"),
            ({"solver": "varpro", "batch_size": 3}, "batch_size"),
            ({"n_jobs": 0}, "n_jobs is 0"),
            ({"penalty_theta": "l1"}, "alpha_theta"),
            ({"loss": "cross-entropy"}, "does not fit the task"),
        ],
    )
    def test_wrong_ones_are_named(self, options, text, curve):
        with pytest.raises(ValueError, match=text.replace("(", r"\(")):
            RFFNetRegressor(**options).fit(*curve)

    def test_class_weights_that_cannot_be(self, ring):
        X, y = ring
        for weight, text in (("even", "class_weight is 'even'"), ({"nowhere": 1}, "which is not in y")):
            with pytest.raises(ValueError, match=text):
                RFFNetClassifier(class_weight=weight).fit(X, y)

    def test_any_number_of_threads_gives_the_same_bits(self, curve):
        X, y = curve
        one, two = quick(n_jobs=1).fit(X, y), quick(n_jobs=2).fit(X, y)
        assert np.array_equal(one.predict(X), two.set_params(n_jobs=-1).predict(X))

    def test_random_states(self, curve):
        X, y = curve
        same = [quick(random_state=3).fit(X, y).predict(X) for _ in range(2)]
        assert np.array_equal(*same)
        state = np.random.RandomState(0)
        other = [quick(random_state=state).fit(X, y).predict(X) for _ in range(2)]
        assert not np.array_equal(*other)

    def test_verbose(self, curve, capsys):
        RFFNetRegressor(solver="adam", max_iter=3, verbose=1).fit(*curve)
        assert capsys.readouterr().out.startswith("epoch 1/3  loss ")


class TestAttributes:
    def test_they_say_how_it_went(self, curve):
        X, y = curve
        model = RFFNetRegressor(solver="adam", max_iter=8).fit(X, y)
        assert model.n_iter_ == 8 == len(model.history_["train_loss"]) == len(model.history_["relevances"])
        assert model.stopped_ == "epochs"
        assert model.relevances_.shape == model.feature_importances_.shape == model.coef_.shape == (5,)
        assert np.argmax(model.feature_importances_) in (0, 1)

    @pytest.mark.parametrize(
        "options", [{}, {"partitions": "none"}, {"preset": "paper", "max_iter": 3}, {"solver": "adam", "max_iter": 3}]
    )
    def test_the_head_is_the_model(self, options, curve):
        """head_, linear_ and intercept_ on the features of the model file make the predictions, with its partitions."""
        X, y = curve
        model = RFFNetRegressor(**options).fit(X, y)
        tensors = model._model.tensors()
        standardised = (X - tensors["scale.mean"]) * tensors["scale.inverse"]
        several = tensors["omega"].ndim == 3
        parts = zip(*(tensors[name] if several else [tensors[name]] for name in ("theta", "omega", "phase")), strict=True)
        s = model.n_random_features_
        z = np.hstack([np.sqrt(2 / s) * np.cos(standardised * theta @ omega + phase) for theta, omega, phase in parts])
        f = z @ model.head_[0] + standardised @ model.linear_[0] + model.intercept_[0]
        assert ("cells" in tensors) == (options == {})
        if options == {}:
            parts = zip(*(tensors[name] for name in ("cut.column", "cut.place", "cells")), strict=True)
            numbers = [((standardised[:, column.astype(int)] >= place) @ (1 << np.arange(6)), cells) for column, place, cells in parts]
            steps = [cells[np.arange(len(cells)), number, 0].sum(axis=1) for number, cells in numbers]
            f += tensors["scale.target_scale"][0] * np.mean(steps, axis=0)
        assert np.allclose(f, model.predict(X), atol=1e-4)

    def test_the_sign_of_a_linear_model(self):
        X = np.random.default_rng(0).normal(size=(500, 3))
        model = RFFNetRegressor().fit(X, 2 * X[:, 0] - 3 * X[:, 1])
        assert np.allclose(model.coef_, [2, -3, 0] * np.array([X[:, 0].std(), X[:, 1].std(), 1]), atol=0.1)

    def test_before_a_fit(self):
        for estimator in (RFFNetRegressor(), RFFNetClassifier()):
            with pytest.raises(NotFittedError):
                estimator.predict(np.zeros((2, 2)))
            assert not hasattr(estimator, "coef_")
        with pytest.raises(NotFittedError):
            RFFTransformer().transform(np.zeros((2, 2)))

    def test_a_fit_that_fails_leaves_nothing_fitted(self, curve):
        model = RFFNetRegressor(kernel="none")
        with pytest.raises(ValueError, match="kernel is 'none'"):
            model.fit(*curve)
        with pytest.raises(NotFittedError):
            model.predict(curve[0])

    def test_the_model_card(self, ring):
        card = RFFNetClassifier(**QUICK).fit(*ring).model_card()
        assert card.startswith("# RFFNetClassifier\n") and "| classes | in, out |" in card and "| x1 |" in card


class TestGoingOn:
    def test_warm_start(self, curve):
        X, y = curve
        options = {"solver": "adam", "schedule": "constant", "lr": 3e-3, "max_iter": 20, "early_stopping": False}
        cold = RFFNetRegressor(**options).fit(X, y)
        warm = RFFNetRegressor(**options, warm_start=True).fit(X, y).fit(X, y)
        assert warm.n_iter_ == 40
        assert warm.score(X, y) > cold.score(X, y)
        assert warm.history_["train_loss"][0] < cold.history_["train_loss"][0]

    def test_warm_start_of_an_exact_fit_by_descent(self, curve):
        X, y = curve
        model = RFFNetRegressor().fit(X, y)
        before = model.score(X, y)
        model.set_params(solver="adam", lr=1e-4, max_iter=2, warm_start=True, early_stopping=False).fit(X, y)
        assert model.score(X, y) > before - 0.02

    def test_the_exact_solver_cannot(self, curve):
        model = RFFNetRegressor(solver="varpro", warm_start=True).fit(*curve)
        with pytest.raises(ValueError, match="only descent can go on"):
            model.fit(*curve)

    def test_partial_fit(self, curve):
        X, y = curve
        model = RFFNetRegressor(lr=3e-3)
        scores = [model.partial_fit(X, y).score(X, y) for _ in range(40)]
        assert scores[-1] > 0.8 > scores[0]
        assert model.n_iter_ == 40
        with pytest.raises(ValueError, match="5 features"):
            model.partial_fit(X[:, :3], y)

    def test_partial_fit_of_classes(self, ring):
        X, y = ring
        model = RFFNetClassifier()
        for _ in range(40):
            model.partial_fit(X, y, classes=["in", "out", "never"])
        assert model.score(X, y) > 0.9
        assert model.predict_proba(X).shape == (len(y), 3)
        with pytest.raises(ValueError, match="not among the classes"):
            model.partial_fit(X, np.where(y == "in", "new", "out"))
        with pytest.raises(ValueError, match="choose solver='adam'"):
            RFFNetClassifier(solver="varpro").partial_fit(X, y)


class TestProcess:
    def test_a_panic_is_an_error_and_no_more(self, curve):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="on purpose"):
                _rffnet.panic()
        assert quick(n_jobs=1).fit(*curve).n_iter_ > 0

    @pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
    def test_joblib(self, backend, curve):
        X, y = curve
        here = quick().fit(X, y).predict(X)
        work = joblib.delayed(lambda seed: quick(random_state=seed).fit(X, y).predict(X))
        if backend == "multiprocessing":
            work = joblib.delayed(fit_and_predict)
            jobs = [work(X, y, seed) for seed in (0, 1, 0)]
        else:
            jobs = [work(seed) for seed in (0, 1, 0)]
        first, other, again = joblib.Parallel(n_jobs=2, backend=backend)(jobs)
        assert np.array_equal(first, here) and np.array_equal(again, here) and not np.array_equal(other, here)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_has_threads_of_its_own(self, curve):
        X, y = curve
        model = quick().fit(X, y)
        child = os.fork()
        if child == 0:
            try:
                same = np.array_equal(model.predict(X), quick().fit(X, y).predict(X))
                os._exit(0 if same else 1)
            except BaseException:
                os._exit(2)
        for _ in range(600):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.1)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        assert os.waitstatus_to_exitcode(status) == 0

    def test_threads_follow_the_environment(self):
        code = "from rffnet import _rffnet; print(_rffnet.threads())"
        environment = os.environ | {"OMP_NUM_THREADS": "3"}
        environment.pop("RAYON_NUM_THREADS", None)
        found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "3"

    @pytest.mark.skipif(os.name == "nt", reason="signals differ there")
    def test_ctrl_c_interrupts_a_fit(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4000, 10)).astype(np.float32)
        # A shell that runs the tests in the background has them ignore the signal.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        try:
            with pytest.raises(KeyboardInterrupt):
                RFFNetRegressor(solver="adam", max_iter=20_000, early_stopping=False).fit(X, X[:, 0])
        finally:
            signal.signal(signal.SIGINT, before)
        assert time.monotonic() - begun < 30

    def test_the_gil_is_released(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4000, 10)).astype(np.float32)
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        begun = time.monotonic()
        RFFNetRegressor(solver="adam", max_iter=200, early_stopping=False, n_jobs=1).fit(X, X[:, 0])
        took = time.monotonic() - begun
        done.set()
        thread.join()
        during = sum(begun <= t <= begun + took for t in ticks)
        assert during > 20 * took, (during, took)


def fit_and_predict(X, y, seed):
    return quick(random_state=seed).fit(X, y).predict(X)


def test_a_subclass_may_have_a_constructor_of_its_own():
    class Mine(RFFNetRegressor):
        def __init__(self, extra=1, alpha=None):
            super().__init__(alpha=alpha, effort="quick")
            self.extra = extra

    X = np.linspace(-1, 1, 120).reshape(60, 2)
    model = sklearn.clone(Mine(extra=3, alpha=1e-3)).fit(X, X[:, 0] ** 2)
    assert (model.extra, model.alpha, model.effort) == (3, 1e-3, "quick")
    assert model.score(X, X[:, 0] ** 2) > 0.9
