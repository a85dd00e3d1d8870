"""The selector, the transformer and the plots."""

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel

from rffnet import (
    RFFNetClassifier,
    RFFNetRegressor,
    RFFTransformer,
    TopKSelector,
    plot_history,
    plot_path,
    plot_relevances,
)
from rffnet._data import Rows


class TestTopK:
    def test_regression(self, curve):
        X, y = curve
        selector = TopKSelector().fit(X, y)
        assert {0, 1} <= set(selector.get_support(indices=True))
        assert selector.transform(X).shape == (300, selector.n_features_)
        assert len(selector.scores_) == 6
        assert selector.scores_[selector.n_features_] == selector.scores_.max()
        assert sorted(selector.ranking_.tolist()) == [1, 2, 3, 4, 5]
        assert set(selector.order_[:2]) == {0, 1}

    def test_classes(self, ring):
        X, y = ring
        selector = TopKSelector().fit(X, y)
        assert isinstance(selector.estimator_, RFFNetClassifier)
        assert {0, 1} <= set(selector.get_support(indices=True))
        assert selector.scores_.max() > 0.9

    def test_several_outputs(self, curve):
        X, y = curve
        selector = TopKSelector(RFFNetRegressor(effort="quick")).fit(X, np.column_stack([y, X[:, 3]]))
        assert {0, 1, 3} <= set(selector.get_support(indices=True))

    def test_steps(self, stairs):
        """A column that is left out leaves the partitions, too."""
        X, y = stairs
        selector = TopKSelector(RFFNetRegressor(effort="quick", partitions=60)).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [0, 1, 2]
        model = selector.estimator_._model.restricted([0, 2])
        assert "cells" in model.tensors() and np.abs(model.predict(X) - selector.estimator_.predict(X)).max() > 0.1
        other = X.copy()
        other[:, [1, 3]] = 9.0
        assert np.array_equal(model.predict(other), model.predict(X))

    def test_at_least(self, curve):
        X, y = curve
        assert TopKSelector(min_features_to_select=4).fit(X, y).n_features_ >= 4
        with pytest.raises(ValueError, match="min_features_to_select is 9"):
            TopKSelector(min_features_to_select=9).fit(X, y)

    def test_other_estimators_are_refused(self, curve):
        from sklearn.linear_model import Ridge

        with pytest.raises(ValueError, match="estimator is a Ridge"):
            TopKSelector(Ridge()).fit(*curve)

    def test_it_is_the_command_s(self, curve, tmp_path):
        """`rffnet select` on the same model and rows finds the same path."""
        import json
        import subprocess
        import sys

        X, y = curve
        model = RFFNetRegressor(effort="quick").fit(X[:200], y[:200])
        model.save(tmp_path / "m.rffnet")
        np.save(tmp_path / "rest.npy", np.column_stack([X[200:], y[200:]]).astype(np.float64))
        run = [sys.executable, "-m", "rffnet", "select", tmp_path / "m.rffnet", tmp_path / "rest.npy", "--json"]
        printed = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        order, scores, best = model._model.top_k(Rows(X[200:], np.ascontiguousarray(y[200:, None])))
        assert [-step["score"] for step in printed["path"]] == scores
        assert printed["selected"] == [f"x{j + 1}" for j in order[:best]]


class TestTransformer:
    @pytest.mark.parametrize("kernel", ["gaussian", "laplace", "cauchy", "matern32", "matern52"])
    def test_inner_products_approximate_the_kernel(self, kernel):
        rng = np.random.default_rng(0)
        X, theta = rng.normal(size=(20, 3)), np.array([0.5, 1.0, 0.0])
        Z = RFFTransformer(kernel, 20_000, theta).fit_transform(X)
        distance = np.abs(X[:, None] - X[None]) * theta
        root3, root5 = 3**0.5 * distance, 5**0.5 * distance
        factor = {
            "gaussian": np.exp(-(distance**2) / 2),
            "laplace": np.exp(-distance),
            "cauchy": 1 / (1 + distance**2),
            "matern32": (1 + root3) * np.exp(-root3),
            "matern52": (1 + root5 + root5**2 / 3) * np.exp(-root5),
        }[kernel]
        assert np.abs(Z @ Z.T - factor.prod(-1)).max() < 0.04

    def test_it_replaces_the_rbf_sampler(self):
        X = np.random.default_rng(0).normal(size=(50, 4))
        exact = rbf_kernel(X, gamma=0.3)
        ours = RFFTransformer(n_random_features=4000, relevances=0.6**0.5).fit_transform(X)
        theirs = RBFSampler(gamma=0.3, n_components=4000, random_state=0).fit_transform(X)
        assert np.abs(ours @ ours.T - exact).max() < 1.5 * np.abs(theirs @ theirs.T - exact).max()

    def test_orthogonal_frequencies_are_better(self):
        X = np.random.default_rng(0).normal(size=(40, 10))
        exact = rbf_kernel(X, gamma=0.045)
        errors = [
            np.mean([
                np.square((Z := RFFTransformer("gaussian", 50, 0.3, sampling=s, random_state=r).fit_transform(X)) @ Z.T - exact).mean()
                for r in range(10)
            ])
            for s in ("orthogonal", "iid")
        ]  # fmt: skip
        assert errors[0] < errors[1]

    def test_relevances_of_an_estimator(self, curve):
        X, y = curve
        X = 100 + 10 * X
        model = RFFNetRegressor(solver="adam", n_random_features=60, random_state=4).fit(X, y)
        features = RFFTransformer(n_random_features=60, relevances=model, random_state=4).fit(X)
        # The same seed draws the same frequencies, so the features are the model's own.
        z = features.transform(X)
        theta = model._model.tensors()["theta"]
        signed = RFFTransformer(n_random_features=60, random_state=4, relevances=model).fit(X)
        signed.relevances_ = theta
        f = signed.transform(X) @ model.head_[0] + model.intercept_[0]
        assert np.allclose(f, model.predict(X), atol=1e-3)
        assert z.dtype == np.float32

    def test_the_shape_of_an_estimators_columns(self, skewed):
        X, y = skewed
        model = RFFNetRegressor(effort="quick").fit(X, y)
        features = RFFTransformer(n_random_features=60, relevances=model).fit(X)
        t = model._model.tensors()
        power, bend = t["scale.warp"][0], t["scale.bend"]
        assert 0 != power[0] < 1 < power[1] and power[3] in (0, 1) and bend[2] > 0, (power, bend)
        z = (X - t["scale.mean"]).astype(np.float64) * t["scale.inverse"]
        for j, (power, low, high, centre, inverse) in enumerate(t["scale.warp"].T.astype(np.float64)):
            if power != 0:
                v = np.clip(z[:, j], low, high)
                up, down = 1 + np.maximum(v, 0), 1 - np.minimum(v, 0)
                u = np.where(v >= 0, (up**power - 1) / power, -(down ** (2 - power) - 1) / (2 - power))
                z[:, j] = (u - centre) * inverse
        z = z / np.sqrt(1 + bend * z * z)
        expected = np.sqrt(2 / 60) * np.cos((z * features.relevances_) @ features.frequencies_ + features.phases_)
        assert np.allclose(features.transform(X), expected, atol=1e-5)
        features._scale["scale.warp"] = features._scale["scale.warp"][:4]
        with pytest.raises(ValueError, match="do not fit"):
            features.transform(X)

    def test_wrong_relevances(self):
        X = np.zeros((3, 2))
        for relevances, text in (([1, 2, 3], "shape"), ([1, np.nan], "finite")):
            with pytest.raises(ValueError, match=text):
                RFFTransformer(relevances=relevances).fit(X)
        with pytest.raises(ValueError, match="kernel is 'none'"):
            RFFTransformer("none").fit(X)
        with pytest.raises(ValueError, match="orthogonal sampling is biased"):
            RFFTransformer("cauchy", sampling="orthogonal").fit(X)


class TestPlots:
    @pytest.fixture(autouse=True)
    def agg(self):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        yield
        import matplotlib.pyplot as plt

        plt.close("all")

    def test_relevances(self, curve):
        model = RFFNetRegressor(effort="quick").fit(*curve)
        ax = plot_relevances(model, max_features=3)
        assert len(ax.patches) == 3
        assert np.isclose(max(bar.get_width() for bar in ax.patches), model.feature_importances_.max())
        assert plot_relevances(model, kind="relevance", ax=ax) is ax
        with pytest.raises(ValueError, match="kind is 'size'"):
            plot_relevances(model, kind="size")

    def test_path(self, curve):
        ax = plot_path(TopKSelector(RFFNetRegressor(effort="quick")).fit(*curve))
        assert len(ax.lines[0].get_xdata()) == 6

    def test_history(self, curve):
        ax = plot_history(RFFNetRegressor(solver="adam", max_iter=6).fit(*curve))
        assert [line.get_label() for line in ax.lines] == ["training", "held out"]
        assert len(plot_history(RFFNetRegressor(solver="adam", early_stopping=False).fit(*curve)).lines) == 1
