"""Tables, column by column: what the columns of pandas, polars, Arrow and arrays of objects hold.

None of these libraries is imported here unless the caller's table is one of theirs. A table is never copied as a whole: it
hands over its `Cells` one column at a time.
"""

import importlib.util
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from numbers import Real
from typing import NamedTuple

import numpy as np

DAY = np.timedelta64(1, "D")
MICROSECONDS = 86_400e6
# Dates are days since the beginning of the year 2000.
ORIGIN = np.datetime64("2000-01-01", "us")
ORIGIN_DAYS = 10_957  # since 1970
# Objects that a cell may be, in the order in which they are told: a truth value is also a number.
KINDS = {"boolean": (bool, np.bool_), "number": (Real, Decimal), "date": (date, np.datetime64), "text": str}


class Cells(NamedTuple):
    """One column: what its dtype says it holds, and its cells.

    `values` are numbers, 0 and 1 of a 'boolean', days since 2000 of a 'date', each with NaN for a gap. For a 'category', and
    for the 'mixed' texts and numbers of an object column, they are codes into `texts`, with -1 for a gap.
    """

    kind: str
    values: np.ndarray
    texts: list[str] = []


def table_of(X):
    """The columns of a table or of an array that is not made of numbers; None for anything else."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return PandasTable(X, pandas)
    if polars is not None and isinstance(X, polars.DataFrame):
        return PolarsTable(X)
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "dtype"):
        return arrow_table(X)
    if isinstance(X, (list, tuple)):
        try:
            array = np.asarray(X)
        except ValueError:  # rows of different lengths: scikit-learn says so
            return None
        # numpy writes numbers beside texts as texts; here they stay numbers.
        X = np.asarray(X, dtype=object) if array.dtype.kind in "US" else array
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OSUM":
        return ArrayTable(X)
    return None


def arrow_table(X):
    """A table of any library that speaks Arrow, read by pyarrow or polars, whichever is there."""
    if importlib.util.find_spec("pyarrow"):
        import pyarrow

        return ArrowTable(X if isinstance(X, pyarrow.Table) else pyarrow.table(X))
    if importlib.util.find_spec("polars"):
        import polars

        return PolarsTable(polars.DataFrame(X))
    raise ImportError(f"X is a {type(X).__name__}, an Arrow table; install pyarrow or polars to read it")


class Table:
    """What all tables have: `source`, `shape`, `names` (None without any) and `cells(j)`."""

    def numbers(self):
        """All cells at once, float32, where that is less work than column by column; else None."""
        return None


class PandasTable(Table):
    """A pandas.DataFrame."""

    def __init__(self, frame, pandas):
        self.source, self.pandas, self.shape = frame, pandas, frame.shape
        self.names = [str(name) for name in frame.columns]

    def numbers(self):
        """All cells at once where every column has the same numbers of numpy; without a copy if they are float32 rows."""
        dtypes = set(self.source.dtypes)
        plain = len(dtypes) == 1 and all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes)
        if not plain:
            return None
        # What float32 cannot hold becomes infinite, which is refused later, by name.
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(self.source.to_numpy(), dtype=np.float32)

    def cells(self, j):
        """Column `j`."""
        column, types = self.source.iloc[:, j], self.pandas.api.types
        dtype = column.dtype
        if isinstance(dtype, self.pandas.CategoricalDtype):
            return Cells("category", column.cat.codes.to_numpy(), texts_of(column.cat.categories))
        if isinstance(dtype, getattr(self.pandas, "ArrowDtype", ())):
            import pyarrow

            return arrow_cells(pyarrow.chunked_array([pyarrow.array(column.array)]), self.names[j])
        if types.is_bool_dtype(dtype):
            return Cells("boolean", column.to_numpy(dtype=np.float32, na_value=np.nan))
        if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
            return Cells("number", column.to_numpy(dtype=np.float64, na_value=np.nan))
        if types.is_datetime64_any_dtype(dtype):  # with a time zone, too: numpy's are in UTC
            return Cells("date", days(column.to_numpy(dtype="datetime64[us]")))
        if types.is_timedelta64_dtype(dtype):
            return Cells("number", column.to_numpy() / DAY)
        if isinstance(dtype, self.pandas.StringDtype):
            codes, texts = self.pandas.factorize(column)
            return Cells("category", codes, texts_of(texts))
        if dtype != object:
            raise unsupported(self.names[j], dtype)
        return object_cells(column.to_numpy(), self.names[j])


class PolarsTable(Table):
    """A polars.DataFrame."""

    def __init__(self, frame):
        self.source, self.shape, self.names = frame, frame.shape, list(frame.columns)

    def cells(self, j):
        """Column `j`."""
        import polars as pl

        column = self.source.to_series(j)
        dtype = column.dtype
        if dtype == pl.Null:
            return nothing(len(column))
        if dtype == pl.Boolean or dtype.is_numeric():
            return Cells("boolean" if dtype == pl.Boolean else "number", polars_floats(column))
        if dtype in (pl.Date, pl.Datetime):
            return Cells("date", polars_floats(column.dt.epoch("us")) / MICROSECONDS - ORIGIN_DAYS)
        if dtype == pl.Duration:
            return Cells("number", polars_floats(column.dt.total_microseconds()) / MICROSECONDS)
        if dtype in (pl.String, pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
            texts = column.drop_nulls().unique().sort()
            codes = column.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1)
            return Cells("category", codes.to_numpy(), texts.to_list())
        if dtype == pl.Object:
            return object_cells(np.array(column.to_list(), dtype=object), self.names[j])
        raise unsupported(self.names[j], dtype)


def polars_floats(column):
    """Numbers of a polars column, NaN where it is null."""
    import polars as pl

    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


class ArrowTable(Table):
    """A pyarrow.Table."""

    def __init__(self, table):
        self.source, self.shape, self.names = table, table.shape, list(table.column_names)

    def cells(self, j):
        """Column `j`."""
        return arrow_cells(self.source.column(j), self.names[j])


class ArrayTable(Table):
    """A two-dimensional array of objects, texts, dates or numbers, whose columns have no dtypes of their own."""

    def __init__(self, array):
        self.source = array.astype(str) if array.dtype.kind == "S" else array
        self.shape, self.names = array.shape, None

    def cells(self, j):
        """Column `j`."""
        column = self.source[:, j]
        if column.dtype.kind == "M":
            return Cells("date", days(column))
        if column.dtype.kind not in "OU":
            return Cells("number", column)
        cells = object_cells(column.astype(object), f"x{j + 1}")
        # Texts that are all numbers are how arrays of texts, and files read cell by cell, hold numbers.
        if cells.kind in ("category", "mixed") and all(is_number(text) for text in cells.texts):
            numbers = np.array([float(text) for text in cells.texts] + [np.nan])
            return Cells("number", numbers[cells.values])
        return cells


def arrow_cells(column, name):
    """The cells of a pyarrow.ChunkedArray."""
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        return arrow_cells(column.cast(kind.value_type), name)
    if types.is_null(kind):
        return nothing(len(column))
    if types.is_boolean(kind):
        return Cells("boolean", arrow_floats(column.cast("uint8")))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return Cells("number", arrow_floats(column))
    if types.is_date(kind) or types.is_timestamp(kind):
        stamps = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        return Cells("date", arrow_floats(stamps.cast("int64")) / MICROSECONDS - ORIGIN_DAYS)
    if types.is_duration(kind):
        spans = column.cast(pa.duration("us"), safe=False)
        return Cells("number", arrow_floats(spans.cast("int64")) / MICROSECONDS)
    if str(kind) in ("string", "large_string", "string_view"):
        found = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
        found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Cells("category", codes, found.dictionary.to_pylist())
    raise unsupported(name, kind)


def arrow_floats(column):
    """Numbers of an Arrow column, NaN where it is null."""
    return column.cast("float64", safe=False).to_numpy()


def object_cells(values, name):
    """The cells of an array of Python's objects: numbers, truth values, dates or texts, or a mixture that stays text."""
    kinds = {kind: kind_of(kind) for kind in set(map(type, values))}
    strange = {kind for kind, holds in kinds.items() if holds is None}
    if strange:
        row = next(i for i, value in enumerate(values) if type(value) in strange)
        raise TypeError(
            f"column '{name}' holds {values[row]!r} (row {row + 1}); every cell of the argument must be a string, a number, a "
            "truth value or a date"
        )
    held = set(kinds.values()) - {"gap"}
    if "number" in held and held - {"number", "boolean"}:
        # NaN, which is a number, is how a gap is written beside texts and dates.
        values = np.array([None if is_nan(value) else value for value in values], dtype=object)
        held = {kind_of(kind) for kind in set(map(type, values))} - {"gap"}
    if held <= {"number", "boolean"}:
        absent = {kind for kind, holds in kinds.items() if holds == "gap"}
        floats = (np.nan if type(value) in absent else float(value) for value in values)
        return Cells("boolean" if held == {"boolean"} else "number", np.fromiter(floats, np.float64, len(values)))
    if held == {"date"}:
        return Cells("date", days(np.array([instant(value) for value in values], dtype="datetime64[us]")))
    texts = {}
    codes = np.fromiter((code_of(value, texts) for value in values), np.int64, len(values))
    return Cells("category" if held == {"text"} else "mixed", codes, list(texts))


def kind_of(type_):
    """What an object of this type is in a table: 'gap', 'boolean', 'number', 'date' or 'text'; None for anything else."""
    if type_.__name__ in ("NoneType", "NAType", "NaTType"):
        return "gap"
    return next((kind for kind, types in KINDS.items() if issubclass(type_, types)), None)


def code_of(value, texts):
    """The code of a value in a dictionary of texts, which grows; -1 for a gap."""
    if type(value) is not str:
        if kind_of(type(value)) == "gap":
            return -1
        value = text_of(value)
    return texts.setdefault(value, len(texts))


def instant(value):
    """A date as numpy reads it, in UTC; None for a gap."""
    if kind_of(type(value)) == "gap":
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    return value


def days(stamps):
    """Days since the beginning of the year 2000, with the time of day as fraction; NaT becomes NaN."""
    return (stamps - ORIGIN) / DAY


def nothing(rows):
    """A column of gaps."""
    return Cells("number", np.full(rows, np.nan))


def is_number(text):
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_nan(value):
    """Whether an object is the number NaN."""
    return isinstance(value, (float, np.floating)) and value != value


def text_of(value):
    """How a level is written: whole numbers without a fraction, as the command writes them."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return f"{value:.0f}" if whole else str(value)


def texts_of(values):
    """The texts of levels."""
    return [text_of(value) for value in values]


def unsupported(name, dtype):
    """The error of a column that is no numbers, truth values, texts or dates."""
    return ValueError(f"column '{name}' is of the type {dtype}, which is not supported; convert it, or leave the column out")
