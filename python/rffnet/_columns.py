"""From the cells of a table to the float32 rows that Rust takes, and the types that say what they mean.

A type is 'number', 'boolean' or 'date', or the list of levels of a category. Cells of a category are indices into the levels,
dates are days since the beginning of the year 2000, gaps are NaN.
"""

from typing import NamedTuple

import numpy as np

from rffnet._tables import ORIGIN_DAYS, Cells, days, is_number, texts_of

# A level that the model does not know.
UNKNOWN_LEVEL = -1.0
# float32 counts no further than this without leaving numbers out.
MOST_LEVELS = 1 << 24
# A column of fewer rows than this does not look like an id.
FEW_ROWS = 20
# Numbers and texts in one column are levels where both are so few.
FEW_LEVELS = 20
# Columns that are written into the rows together: a cache line of float32.
GROUP = 16


class Columns(NamedTuple):
    """Rows as Rust takes them; `types` is None where all columns are numbers."""

    x: np.ndarray
    types: list[str | list[str]] | None = None
    names: list[str] | None = None
    warnings: tuple[str, ...] = ()


class Filling:
    """Rows that are filled column by column.

    Some columns are gathered before they are written: one by one, each would touch every cache line of the rows.
    """

    def __init__(self, rows, columns):
        self.x = np.empty((rows, columns), dtype=np.float32)
        self.gathered = np.empty((min(GROUP, columns), rows), dtype=np.float32)

    def put(self, j, values):
        """Takes column `j`; columns come in order."""
        k = j % GROUP
        # What float32 cannot hold becomes infinite, which is refused later, by name.
        with np.errstate(over="ignore"):
            self.gathered[k] = values
        if k + 1 == GROUP or j + 1 == self.x.shape[1]:
            self.x[:, j - k : j + 1] = self.gathered[: k + 1].T


def learn_columns(table, categorical, remedy):
    """Rows of a table whose types follow from its dtypes, or from a mask of the columns that are categories."""
    names = table.names or default_names(table.shape[1])
    filling, types, warnings = Filling(*table.shape), [], []
    for j, name in enumerate(names):
        cells = table.cells(j)
        if categorical is None:
            holds = type_of(cells, name)
        elif categorical[j]:
            holds = levels_of(as_texts(cells), name)
        else:
            holds = "number" if cells.kind in ("category", "mixed") else cells.kind
        filling.put(j, numbers(cells, holds, name, remedy))
        types.append(holds)
        if cells.kind == "category" and holds != "number" and len(holds) == (cells.values >= 0).sum() >= FEW_ROWS:
            warnings.append(
                f"column '{name}' has another text in every row, like an id, and says nothing about new rows; leave it out"
            )
    plain = all(holds == "number" for holds in types)
    return Columns(filling.x, None if plain else types, table.names, tuple(warnings))


def known_columns(table, types, remedy):
    """Rows of a table whose columns are what a model says they are."""
    if len(types) != table.shape[1]:
        raise ValueError(f"the model was fitted on {len(types)} columns but the data have {table.shape[1]}")
    filling = Filling(*table.shape)
    names = table.names or default_names(table.shape[1])
    for j, (name, holds) in enumerate(zip(names, types)):
        filling.put(j, numbers(table.cells(j), holds, name, remedy))
    return Columns(filling.x, types, table.names)


def default_names(columns):
    """The names of columns that have none, as in the model file."""
    return [f"x{j + 1}" for j in range(columns)]


def type_of(cells, name):
    """The type of a column that nothing is said about."""
    if cells.kind == "category":
        return levels_of(cells, name)
    if cells.kind != "mixed":
        return cells.kind
    wholes = [text for text in cells.texts if is_number(text)]
    odd = [is_number(text) for text in cells.texts].count(False)
    texts = np.array([not is_number(text) for text in cells.texts] + [False])[cells.values]
    few = max(len(wholes), odd) <= FEW_LEVELS and all(float(text).is_integer() for text in wholes)
    if few or 2 * texts.sum() > (cells.values >= 0).sum():
        return levels_of(cells, name)
    row = int(texts.argmax())
    raise ValueError(
        f"column '{name}' holds numbers, but '{cells.texts[cells.values[row]]}' in row {row + 1} is not a number "
        f"({texts.sum():,} such cells); make them gaps (pandas.to_numeric(..., errors='coerce')), name the column in "
        "categorical_features, or leave it out"
    )


def levels_of(cells, name):
    """The levels of a category that occur, sorted."""
    codes = np.unique(cells.values)
    levels = sorted({cells.texts[code] for code in codes[codes >= 0]})
    if len(levels) > MOST_LEVELS:
        raise ValueError(f"column '{name}' has {len(levels):,} different texts, which are too many; leave it out")
    return levels


def as_texts(cells):
    """Any column as a category: the texts of its values."""
    if cells.kind in ("category", "mixed"):
        return cells
    present = ~np.isnan(cells.values)
    values, codes = np.unique(cells.values[present], return_inverse=True)
    if cells.kind == "boolean":
        values = values.astype(bool)
    elif cells.kind == "date":
        stamps = np.round((values + ORIGIN_DAYS) * 86_400).astype("datetime64[s]")
        values = [str(stamp).replace("T00:00:00", "") for stamp in stamps]
    all_codes = np.full(len(cells.values), -1)
    all_codes[present] = codes
    return Cells("category", all_codes, texts_of(values))


def numbers(cells, holds, name, remedy):
    """The cells of a column of the given type, as numbers."""
    if isinstance(holds, list):
        cells = as_texts(cells)
        place = {level: index for index, level in enumerate(holds)}
        return np.array([place.get(text, UNKNOWN_LEVEL) for text in cells.texts] + [np.nan])[cells.values]
    if cells.kind in ("category", "mixed"):
        return parsed(cells, holds, name, remedy)
    if (cells.kind == "date") == (holds == "date") or np.isnan(cells.values).all():
        return cells.values
    row = int((~np.isnan(cells.values)).argmax())
    value = as_texts(Cells(cells.kind, cells.values[row : row + 1])).texts[0]
    raise not_a(holds, name, value, row, remedy)


def parsed(cells, holds, name, remedy):
    """The numbers, truth values or dates that texts stand for."""
    parse = {"number": float, "boolean": truth, "date": stamp}[holds]
    table, strange = np.full(len(cells.texts) + 1, np.nan), []
    codes = np.unique(cells.values)
    for code in codes[codes >= 0]:
        try:
            table[code] = parse(cells.texts[code])
        except ValueError:
            strange.append(code)
    if strange:
        row = int(np.isin(cells.values, strange).argmax())
        raise not_a(holds, name, cells.texts[cells.values[row]], row, remedy)
    return table[cells.values]


def truth(text):
    """1 or 0."""
    found = {"true": 1.0, "false": 0.0}.get(text.lower())
    return float(text) if found is None else found


def stamp(text):
    """Days since 2000 of a date as ISO 8601 writes it."""
    return days(np.datetime64(text.removesuffix("Z"), "us"))


def not_a(holds, name, value, row, remedy):
    """The error of a cell that is not what its column holds."""
    what = {"number": "number", "boolean": "truth value", "date": "date"}[holds]
    return ValueError(f"column '{name}' holds '{value}' (row {row + 1}), which is not a {what}; {remedy}")


def categorical_mask(chosen, names, columns):
    """Which columns `categorical_features` declares to be categories; None where dtypes decide."""
    if isinstance(chosen, str):
        if chosen == "from_dtype":
            return None
        raise ValueError(
            f"categorical_features is {chosen!r}; it must be 'from_dtype', None, or a list of names, indices or truth values"
        )
    mask = np.zeros(columns, dtype=bool)
    if chosen is None or len(chosen) == 0:
        return mask
    chosen = np.asarray(chosen)
    if chosen.dtype.kind == "b":
        if chosen.shape != (columns,):
            raise ValueError(f"categorical_features has {chosen.size} truth values, but there are {columns} columns")
        return chosen
    for column in chosen.tolist():
        if isinstance(column, str):
            if names is None or column not in names:
                raise ValueError(f"categorical_features names '{column}', but X has no column of that name")
            mask[names.index(column)] = True
        elif isinstance(column, int) and 0 <= column < columns:
            mask[column] = True
        else:
            raise ValueError(f"categorical_features has {column!r}; X has {columns} columns, counted from 0")
    return mask


def check_cells(x, names, *, gaps, advice):
    """Refuses infinite cells, and gaps unless they are allowed, by the name of the column."""
    step = max(1, 1_000_000 // max(1, x.shape[1]))
    for first in range(0, len(x), step):
        block = x[first : first + step]
        bad = np.isinf(block) if gaps else ~np.isfinite(block)
        if bad.any():
            row, j = np.argwhere(bad)[0]
            name = (names or default_names(x.shape[1]))[j]
            value = block[row, j]
            what = advice if np.isnan(value) else "every number must be finite and fit into float32"
            shown = "NaN" if np.isnan(value) else f"{value}"
            raise ValueError(f"column '{name}' holds {shown} (row {first + row + 1}); {what}")
