"""scikit-learn to the letter."""

import importlib.util
from unittest import SkipTest

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from rffnet import RFFNetClassifier, RFFNetRegressor, RFFTransformer, TopKSelector

ALL = [RFFNetRegressor(), RFFNetClassifier(), TopKSelector(), RFFTransformer()]
# Estimators that take gaps, as they do unless told otherwise, say so in a tag; those that do not meet other checks.
STRICT = [RFFNetRegressor(missing="error", effort="quick"), RFFNetClassifier(missing="error", effort="quick")]
STRICT += [TopKSelector(STRICT[0])]


@parametrize_with_checks([*ALL, *STRICT])
def test_checks(estimator, check):
    try:
        check(estimator)
    except SkipTest as why:
        # What is left out for want of a package is installed where CI runs; nothing else may be.
        assert "not installed" in str(why), why
        raise


def test_pipelines_and_searches(curve):
    X, y = curve
    pipeline = make_pipeline(StandardScaler(), RFFNetRegressor(effort="quick"))
    search = GridSearchCV(pipeline, {"rffnetregressor__alpha": [1e-4, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"rffnetregressor__alpha": 1e-4}
    assert cross_val_score(clone(pipeline), X, y, cv=3).mean() > 0.8


def test_features_and_a_linear_model_in_a_pipeline(curve):
    from sklearn.linear_model import Ridge

    X, y = curve
    pipeline = make_pipeline(StandardScaler(), RFFTransformer(n_random_features=300, relevances=0.5), Ridge(alpha=1e-3))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8


@pytest.mark.parametrize("kind", [SelectFromModel, RFE])
def test_selection_by_scikit_learn(kind, curve):
    X, y = curve
    options = {"max_features": 2, "threshold": -np.inf} if kind is SelectFromModel else {"n_features_to_select": 2}
    selector = kind(RFFNetRegressor(effort="quick"), **options).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 1]


def test_set_output(curve):
    pandas = pytest.importorskip("pandas")
    X, y = curve
    frame = pandas.DataFrame(X, columns=list("abcde"))
    chosen = TopKSelector(RFFNetRegressor()).set_output(transform="pandas").fit_transform(frame, y)
    assert {"a", "b"} <= set(chosen.columns) < set("abcde")
    features = RFFTransformer(n_random_features=3).set_output(transform="pandas").fit_transform(frame)
    assert list(features.columns) == ["rfftransformer0", "rfftransformer1", "rfftransformer2"]


def test_metadata_routing(curve):
    X, y = curve
    weight = np.where(X[:, 2] > 0, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = RFFNetRegressor(effort="quick").set_fit_request(sample_weight=True)
        scores = cross_val_score(
            estimator.set_score_request(sample_weight=False), X, y, cv=3, params={"sample_weight": weight}
        )
        assert scores.mean() > 0.7
        selector = TopKSelector(estimator).fit(X, y, sample_weight=weight)
        assert selector.estimator_._summary["rows"] < 0.6 * len(y)
    selector = TopKSelector(RFFNetRegressor(effort="quick")).fit(X, y, sample_weight=weight)
    assert selector.estimator_._summary["rows"] < 0.6 * len(y)


def test_html_repr():
    assert "RFFNetClassifier" in RFFNetClassifier(alpha=0.5)._repr_html_()


@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.9"), reason="scikit-learn before 1.9")
class TestCallbacks:
    class Counter:
        """Counts epochs and stops after some."""

        def __init__(self, most):
            self.most, self.losses, self.events = most, [], []

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            if context.task_name != "epoch":
                return False
            self.losses.append(estimator.history_["train_loss"][-1])
            return len(self.losses) >= self.most

    def test_they_hear_every_epoch_and_stop_the_fit(self, curve):
        X, y = curve
        counter = self.Counter(7)
        model = RFFNetRegressor(solver="adam", max_iter=50).set_callbacks(counter).fit(X, y)
        assert len(counter.losses) == model.n_iter_ == 7
        assert model.stopped_ == "interrupted"
        assert counter.losses == model.history_["train_loss"]
        assert counter.events == ["setup", "teardown"]

    def test_an_error_in_one_ends_the_fit(self, curve):
        class Broken(self.Counter):
            def on_fit_task_end(self, estimator, context):
                raise ZeroDivisionError("broken")

        X, y = curve
        broken = Broken(1)
        with pytest.raises(ZeroDivisionError):
            RFFNetRegressor(solver="adam").set_callbacks(broken).fit(X, y)
        assert broken.events == ["setup", "teardown"]

    @pytest.mark.parametrize("options", [{"solver": "adam", "max_iter": 5}, {"effort": "quick"}])
    def test_the_monitor_and_the_progress_bar(self, options, curve, capsys):
        from sklearn.callback import ProgressBar, ScoringMonitor

        X, y = curve
        monitor = ScoringMonitor(scoring="r2")
        bar = [ProgressBar()] if importlib.util.find_spec("rich") else []
        weight = np.linspace(0, 1, len(y))
        model = RFFNetRegressor(**options).set_callbacks(monitor, *bar).fit(X, y, sample_weight=weight)
        assert np.isclose(monitor.get_logs().data[-1]["r2"], model.score(X, y, sample_weight=weight), atol=1e-6)
        assert not bar or "RFFNetRegressor" in capsys.readouterr().out


def test_names_of_columns_are_kept_and_checked():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = RFFNetClassifier(effort="quick").fit(X, y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert isinstance(X, pandas.DataFrame)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
