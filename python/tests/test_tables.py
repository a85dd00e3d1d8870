"""Tables as they are: categories, texts, dates, truth values and gaps of pandas, polars and Arrow."""

import copy
import pickle
import warnings
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from rffnet import RFFNetClassifier, RFFNetRegressor, RFFTransformer, TopKSelector, load
from rffnet._columns import learn_columns
from rffnet._data import rows_of
from rffnet._tables import table_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ROWS = 240
NAMES = ["city", "plan", "member", "since", "size", "count"]
TYPES = ["category", "category", "boolean", "date", "number", "number"]


def columns():
    """Six columns as lists, with gaps in all but the last, and a target that depends on most of them."""
    rng = np.random.default_rng(0)

    def gap(values):
        return [None if rng.random() < 0.08 else value for value in values]

    city = rng.choice(["Bern", "Graz", "Pisa", "Rome"], ROWS).tolist()
    plan = rng.choice(["a", "b"], ROWS).tolist()
    member = (rng.random(ROWS) < 0.5).tolist()
    since = [datetime(2023, 1, 1) + timedelta(days=int(d), hours=int(d) % 24) for d in rng.integers(0, 300, ROWS)]
    size, count = rng.normal(size=ROWS).tolist(), rng.integers(0, 9, ROWS).tolist()
    effect = {"Bern": 0.0, "Graz": 3.0, "Pisa": -2.0, "Rome": 1.0}
    y = [effect[c] + 2 * m + s + 0.1 * k for c, m, s, k in zip(city, member, size, count)]
    table = [gap(city), gap(plan), gap(member), gap(since), gap(size), count]
    return dict(zip(NAMES, table)), np.array(y)


def pandas_table(values):
    return pd.DataFrame(values)


def pandas_dtypes(values):
    """Nullable and categorical dtypes."""
    dtypes = ["category", "string", "boolean", "datetime64[ns]", "Float64", "Int8"]
    return pd.DataFrame({name: pd.Series(values[name], dtype=dtype) for name, dtype in zip(values, dtypes)})


def pandas_arrow(values):
    table = pa.table(values)
    return pd.DataFrame({name: pd.Series(table[name].to_pylist(), dtype=pd.ArrowDtype(table[name].type)) for name in values})


def polars_table(values):
    return pl.DataFrame(values)


def polars_categories(values):
    return pl.DataFrame(values).with_columns(
        pl.col("city").cast(pl.Enum(["Rome", "nowhere", "Pisa", "Graz", "Bern"])),
        pl.col("plan").cast(pl.Categorical),
        pl.col("since").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        pl.col("count").cast(pl.Decimal(10, 2)),
    )


def arrow_table(values):
    return pa.table(values)


def arrow_chunks(values):
    """Dictionaries that differ from chunk to chunk, a time zone, large integers as decimals."""
    table = pa.table(values)
    parts = [table.slice(0, 100), table.slice(100)]
    city = pa.chunked_array([part["city"].combine_chunks().dictionary_encode() for part in parts])
    table = table.set_column(0, "city", city)
    return table.set_column(3, "since", table["since"].cast(pa.timestamp("ms", "UTC"), safe=False))


class Stream:
    """A table of another library, of which nothing is known but that it speaks Arrow."""

    def __init__(self, values):
        self.table = pa.table(values)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def objects(values):
    return np.array(list(values.values()), dtype=object).T


KINDS = [pandas_table, pandas_dtypes, pandas_arrow, polars_table, polars_categories, arrow_table, arrow_chunks, Stream, objects]


@pytest.fixture(scope="module")
def expected():
    """The model of a pandas table, its predictions and its rows."""
    values, y = columns()
    table = pandas_table(values)
    model = RFFNetRegressor(effort="quick").fit(table, y)
    return model, model.predict(table), learn_columns(table_of(table), None, "").x


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_kind_of_table_gives_the_same_model(kind, expected):
    values, y = columns()
    table = kind(values)
    model, prediction, x = expected
    found = learn_columns(table_of(table), None, "")
    assert np.array_equal(found.x, x, equal_nan=True)
    assert [("category" if isinstance(t, list) else t) for t in found.types] == TYPES
    assert found.types[:2] == [["Bern", "Graz", "Pisa", "Rome"], ["a", "b"]]
    fitted = RFFNetRegressor(effort="quick").fit(table, y)
    assert fitted.column_types_ == TYPES
    assert np.array_equal(fitted.predict(table), prediction)
    assert np.array_equal(model.predict(table), prediction)


def test_it_learns_from_them(expected):
    model, prediction, _ = expected
    _, y = columns()
    assert np.corrcoef(prediction, y)[0, 1] > 0.95
    assert model.feature_names_in_.tolist() == NAMES
    assert model.relevances_.shape == model.feature_importances_.shape == model.coef_.shape == (6,)
    assert set(np.argsort(model.feature_importances_)[3:]) == {0, 2, 4}
    assert model.encode(pandas_table(columns()[0])).shape == (ROWS, model.linear_.shape[1])
    assert model.linear_.shape[1] > 6
    assert len(model.history_["relevances"][-1]) == 6
    assert "| city |" in model.model_card()


def test_rows_are_days_indices_and_gaps():
    table = pd.DataFrame({
        "d": [pd.Timestamp("2000-01-02 06:00"), pd.NaT, pd.Timestamp("1999-12-31")],
        "c": ["b", None, "a"],
        "t": [True, None, False],
        "n": [Decimal("1.5"), None, 2],
    })  # fmt: skip
    found = learn_columns(table_of(table), None, "")
    assert np.array_equal(found.x, np.array([[1.25, 1, 1, 1.5], [np.nan] * 4, [-1, 0, 0, 2]]), equal_nan=True)
    assert found.types == ["date", ["a", "b"], "boolean", "number"]


class TestPredictions:
    def test_levels_are_matched_by_their_texts(self, expected):
        model = expected[0]
        table = pandas_dtypes(columns()[0])
        other = table.assign(city=table["city"].cat.set_categories(["Rome", "Pisa", "Bern", "Graz", "unused"]))
        assert np.array_equal(model.predict(other[:50]), model.predict(table[:50]))

    def test_an_unknown_level(self, expected):
        table = pandas_table(columns()[0]).assign(city="Atlantis", plan="z")
        assert np.isfinite(expected[0].predict(table)).all()

    @pytest.mark.parametrize("kind", [pandas_table, polars_table, arrow_table, objects])
    @pytest.mark.filterwarnings("ignore:X does not have valid feature names")
    def test_no_rows_and_gaps_only(self, kind, expected):
        values, _ = columns()
        model = expected[0]
        assert model.predict(pandas_table(values)[:0]).shape == (0,)
        gaps = kind({name: [None, None] for name in NAMES})
        assert np.isfinite(model.predict(gaps)).all()

    def test_no_rows_of_several_outputs_and_classes(self, curve):
        X, y = curve
        assert RFFNetRegressor(effort="quick").fit(X, np.column_stack([y, y])).predict(X[:0]).shape == (0, 2)
        classifier = RFFNetClassifier(effort="quick").fit(X, np.digitize(y, [0, 1]))
        assert classifier.predict(X[:0]).shape == (0,)
        assert classifier.predict_proba(X[:0]).shape == classifier.decision_function(X[:0]).shape == (0, 3)

    def test_columns_are_matched_as_scikit_learn_does(self, expected):
        table = pandas_table(columns()[0])
        with pytest.raises(ValueError, match="feature names should match"):
            expected[0].predict(table.rename(columns={"city": "town"}))
        with pytest.raises(ValueError, match="feature names"):
            expected[0].predict(table[NAMES[::-1]])

    def test_copies_files_and_pickles(self, expected, tmp_path):
        model, prediction, _ = expected
        table = polars_table(columns()[0])
        model.save(tmp_path / "m.rffnet")
        again = load(tmp_path / "m.rffnet")
        assert again.column_types_ == TYPES
        for other in (again, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert np.array_equal(other.predict(table), prediction)
        assert np.array_equal(again.fit(table, columns()[1]).predict(table), prediction)
        assert clone(RFFNetRegressor(categorical_features=["city"])).categorical_features == ["city"]

    def test_dates_and_numbers_written_as_text(self, expected):
        values, _ = columns()
        text = [None if v is None else v.isoformat() for v in values["since"]]
        table = pandas_table(values).assign(since=text, count=[str(v) for v in values["count"]])
        assert np.array_equal(expected[0].predict(table), expected[1])


class TestDates:
    MOMENT = datetime(2024, 7, 1, 12, tzinfo=timezone(timedelta(hours=5)))

    @pytest.mark.parametrize(
        "table",
        [
            pd.DataFrame({"d": pd.Series([MOMENT, None], dtype="datetime64[ns, Asia/Tashkent]")}),
            pd.DataFrame({"d": pd.Series([MOMENT, None], dtype=object)}),
            pl.DataFrame({"d": [MOMENT, None]}),
            pa.table({"d": pa.array([MOMENT, None], pa.timestamp("s", "Asia/Tashkent"))}),
            np.array([[MOMENT], [pd.NaT]], dtype=object),
            np.array([["2024-07-01T07"], ["NaT"]], dtype="datetime64[h]"),
        ],
        ids=["pandas", "objects", "polars", "arrow", "array", "numpy"],
    )
    def test_time_zones_are_utc(self, table):
        found = learn_columns(table_of(table), None, "")
        days = (datetime(2024, 7, 1, 7) - datetime(2000, 1, 1)) / timedelta(days=1)
        assert found.types == ["date"] and found.x[0, 0] == np.float32(days) and np.isnan(found.x[1, 0])

    def test_days_without_a_time(self):
        day = date(2001, 1, 1)
        for table in (pl.DataFrame({"d": [day]}), pa.table({"d": [day]}), pd.DataFrame({"d": [day]})):
            assert learn_columns(table_of(table), None, "").x[0, 0] == 366


class TestDtypes:
    def found(self, *values, **options):
        return learn_columns(table_of(pd.DataFrame({"c": pd.Series(values, **options)})), None, "")

    def test_pandas_strings(self):
        for dtype in ("string", "string[python]", "string[pyarrow]", "str", "category", object):
            found = self.found("b", None, "a", dtype=dtype)
            assert found.types == [["a", "b"]] and np.array_equal(found.x[:, 0], [1, np.nan, 0], equal_nan=True), dtype

    def test_categories_of_numbers(self):
        assert self.found(10, 2, 2.0, None, dtype="category").types == [["10", "2"]]
        assert self.found(True, False, dtype="category").types == [["False", "True"]]

    def test_empty_categories(self):
        assert self.found(None, None, dtype=pd.CategoricalDtype(["a", "b"])).types == [[]]
        empty = pl.DataFrame({"c": pl.Series([None, None], dtype=pl.Enum(["a"])), "d": [None, None]})
        found = learn_columns(table_of(empty), None, "")
        assert found.types == [[], "number"] and np.isnan(found.x).all()

    def test_a_column_without_a_level_does_not_stop_a_fit(self):
        table = pd.DataFrame({"c": pd.Series([None] * 60, dtype="category"), "o": ["one"] * 60, "x": np.linspace(-1, 1, 60)})
        with pytest.warns(UserWarning, match="columns 'c', 'o' are constant"):
            model = RFFNetRegressor(effort="quick").fit(table, table["x"] ** 2)
        assert model.feature_importances_[:2].tolist() == [0, 0]
        assert np.isfinite(model.predict(table.assign(c="new", o="other"))).all()

    def test_objects(self):
        assert self.found(1, 2.5, Decimal(3), None, np.int8(4)).types is None
        assert self.found(True, None, False, dtype=object).types == ["boolean"]
        assert self.found(True, 2, dtype=object).types is None
        assert self.found("x", np.nan, pd.NA, dtype=object).types == [["x"]]
        assert self.found(0, 1, 2, "3+", 1.0, "3+", dtype=object).types == [["0", "1", "2", "3+"]]

    def test_durations_are_days(self):
        assert self.found(pd.Timedelta(hours=36)).x[0, 0] == 1.5
        span = [timedelta(hours=36), None]
        for table in (pl.DataFrame({"d": span}), pa.table({"d": span})):
            found = learn_columns(table_of(table), None, "")
            assert found.types is None and found.x[0, 0] == 1.5 and np.isnan(found.x[1, 0])

    def test_texts_of_arrays_that_are_numbers(self):
        for X in (np.array([["1.5", "a"], ["2", "b"]]), np.array([[b"1.5", b"a"], [b"2", b"b"]]), [["1.5", "a"], [2, "b"]]):
            found = learn_columns(table_of(X), None, "")
            assert found.types == ["number", ["a", "b"]] and found.x.tolist() == [[1.5, 0], [2, 1]]

    @pytest.mark.parametrize(
        "table", [pl.DataFrame({"c": [[1], [2]]}), pa.table({"c": [[1], [2]]}), pd.DataFrame({"c": [1j, 2j]})]
    )
    def test_other_dtypes_are_refused_by_name(self, table):
        with pytest.raises(ValueError, match="column 'c' is of the type .*not supported"):
            RFFNetRegressor().fit(table, [1, 2])


class TestMemory:
    def test_rows_are_not_copied(self, curve):
        X, _ = curve
        for given in (X, pd.DataFrame(X, columns=list("abcde"), copy=False)):
            assert np.shares_memory(rows_of(RFFNetRegressor(), given, reset=True).x, X)

    def test_large_integers_stay_apart(self):
        """float32 would take neighbouring codes for one."""
        code = 2**24 + np.tile([0, 1, 2, 3], 50)
        for table in (code[:, None], pd.DataFrame({"code": code}), pl.DataFrame({"code": code})):
            model = RFFNetRegressor(effort="quick", categorical_features=[0]).fit(table, code % 4)
            assert model.score(table, code % 4) > 0.99


class TestCategoricalFeatures:
    def fitted(self, table, chosen):
        return RFFNetRegressor(effort="quick", categorical_features=chosen).fit(table, columns()[1])

    @pytest.mark.parametrize("chosen", [["city", "plan", "count"], [0, 1, 5], [True, True, False, False, False, True]])
    def test_names_indices_and_masks(self, chosen):
        model = self.fitted(pandas_table(columns()[0]), chosen)
        assert model.column_types_ == [*TYPES[:5], "category"]
        assert model._model.column_types[5] == [str(k) for k in range(9)]

    def test_none(self):
        table = pandas_table(columns()[0])
        with pytest.raises(ValueError, match=r"column 'city' holds '\w+' \(row \d+\), which is not a number; name the column"):
            self.fitted(table, None)
        assert self.fitted(table[["since", "size"]], None).column_types_ == ["date", "number"]

    def test_numbers_of_an_array(self, curve):
        X = np.column_stack([curve[0][:ROWS], np.arange(ROWS) % 3])
        model = self.fitted(X, [5])
        assert model.column_types_ == ["number"] * 5 + ["category"]
        assert np.array_equal(model.predict(X), model.predict(X.tolist()))

    @pytest.mark.parametrize(
        ("chosen", "text"),
        [
            ("dtype", "categorical_features is 'dtype'"),
            (["nowhere"], "names 'nowhere'"),
            ([6], "has 6; X has 6 columns"),
            ([True, False], "has 2 truth values"),
            ([1.5], "has 1.5"),
        ],
    )
    def test_wrong_ones(self, chosen, text):
        with pytest.raises(ValueError, match=text):
            self.fitted(pandas_table(columns()[0]), chosen)


class TestErrors:
    def test_a_text_among_numbers(self):
        values = [*range(40), "u"]
        for table in (pd.DataFrame({"size": values}, dtype=object), np.array([values], dtype=object).T):
            with pytest.raises(ValueError, match=r"column '(size|x1)' holds numbers, but 'u' in row 41 is not a number \(1 "):
                RFFNetRegressor().fit(table, np.arange(41))

    def test_a_text_where_the_model_has_numbers(self, expected):
        table = pandas_table(columns()[0]).assign(size="u")
        with pytest.raises(ValueError, match=r"column 'size' holds 'u' \(row 1\), which is not a number; the column must"):
            expected[0].predict(table)
        with pytest.raises(ValueError, match=r"column 'since' holds '3' \(row 1\), which is not a date"):
            expected[0].predict(table.assign(size=1.0, since=3))
        with pytest.raises(ValueError, match=r"column 'size' holds '2024-01-01' \(row 1\), which is not a number"):
            expected[0].predict(table.assign(size=pd.Timestamp("2024-01-01")))

    def test_gaps_that_are_not_allowed(self, curve):
        X, y = curve
        X[2, 1] = np.nan
        for given, name in ((X, "x2"), (pd.DataFrame(X, columns=list("abcde")), "b")):
            with pytest.raises(ValueError, match=rf"column '{name}' holds NaN \(row 3\); fill it in"):
                RFFNetRegressor(missing="error").fit(given, y)
            with pytest.raises(ValueError, match=rf"column '{name}' holds NaN \(row 3\); fill it in"):
                TopKSelector(RFFNetRegressor(missing="error")).fit(given, y)
        X[2, 1] = np.inf
        with pytest.raises(ValueError, match=r"column 'x2' holds inf \(row 3\); every number must be finite"):
            RFFNetRegressor().fit(X, y)

    def test_objects_that_are_no_cells(self):
        with pytest.raises(TypeError, match=r"column 'c' holds \{'a': 1\} \(row 2\); every cell"):
            RFFNetRegressor().fit(pd.DataFrame({"c": ["x", {"a": 1}]}), [1, 2])

    def test_a_column_like_an_id(self):
        table = pd.DataFrame({"id": [f"u{i}" for i in range(60)], "x": np.linspace(-1, 1, 60)})
        y = np.sin(3 * table["x"])
        with pytest.warns(UserWarning, match="column 'id' has another text in every row"):
            RFFNetRegressor(effort="quick").fit(table, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RFFNetRegressor(effort="quick").fit(table.assign(id=table["id"].str[:2]), y)


class TestInScikitLearn:
    @pytest.mark.parametrize("kind", [pandas_dtypes, polars_table, arrow_table], ids=lambda kind: kind.__name__)
    def test_the_selector(self, kind):
        values, y = columns()
        table = kind(values)
        selector = TopKSelector(RFFNetRegressor(effort="quick")).fit(table, y)
        chosen = selector.get_feature_names_out().tolist()
        assert {"city", "member", "size"} <= set(chosen)
        assert selector.estimator_.feature_names_in_.tolist() == NAMES
        assert selector.transform(table).shape == (ROWS, len(chosen))
        pipeline = make_pipeline(clone(selector), RFFNetRegressor(effort="quick"))
        assert pipeline.fit(table, y).score(table, y) > 0.9
        if kind is pandas_dtypes:
            frame = selector.set_output(transform="pandas").transform(table)
            assert frame.dtypes.equals(table[chosen].dtypes)

    def test_the_transformer(self, expected):
        table = pandas_table(columns()[0])
        features = RFFTransformer(n_random_features=30, relevances=expected[0]).fit(table)
        assert features.transform(table).shape == (ROWS, 30)
        assert np.isfinite(features.transform(table)).all()
        assert features.get_feature_names_out().tolist()[0] == "rfftransformer0"
        with pytest.raises(ValueError, match=r"column 'city' holds '\w+' \(row 1\), which is not a number; encode the column"):
            RFFTransformer().fit(table)
        numbers = table[["count"]].assign(half=0.5)
        assert RFFTransformer().fit_transform(numbers).shape == (ROWS, 100)

    def test_cross_validation_and_classes(self):
        values, y = columns()
        table = pandas_dtypes(values)
        assert cross_val_score(RFFNetRegressor(effort="quick"), table, y, cv=3).mean() > 0.8
        label = np.where(y > np.median(y), "high", "low")
        assert cross_val_score(RFFNetClassifier(effort="quick"), table, label, cv=3).mean() > 0.8

    def test_going_on_keeps_the_levels(self):
        values, y = columns()
        table = pandas_table(values)
        model = RFFNetRegressor(lr=3e-3)
        for _ in range(3):
            model.partial_fit(table, y)
            model.partial_fit(table[table["city"] != "Bern"], y[table["city"] != "Bern"])
        assert model._model.column_types[0] == ["Bern", "Graz", "Pisa", "Rome"]
        warm = RFFNetRegressor(solver="adam", max_iter=3, warm_start=True).fit(table, y)
        warm.fit(table.assign(city="Rome"), y)
        assert warm._model.column_types[0] == ["Bern", "Graz", "Pisa", "Rome"] and warm.n_iter_ == 6
        with pytest.raises(ValueError, match="fitted on 6 columns but the data have 5"):
            warm.fit(table[NAMES[:5]], y)
