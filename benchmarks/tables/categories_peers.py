"""The boosting libraries of categories.py, each with its defaults and its own way with categories and gaps."""
from categories_prepare import frame

METHODS = ["hist", "lightgbm", "catboost"]


def categories(train, test, text):
    """Both frames with text columns of a categorical type; a category that the training rows lack is a gap."""
    import pandas

    parts = [train.copy(), test.copy()]
    for name in text:
        kind = pandas.CategoricalDtype(sorted(train[name].dropna().unique()))
        for part in parts:
            part[name] = part[name].astype(object).where(part[name].isin(kind.categories)).astype(kind)
    return parts


def model(method, task, text, seed, threads):
    regression = task == "regression"
    if method == "hist":
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        return kind(categorical_features="from_dtype", random_state=seed)
    if method == "lightgbm":
        from lightgbm import LGBMClassifier, LGBMRegressor

        return (LGBMRegressor if regression else LGBMClassifier)(random_state=seed, n_jobs=threads, verbose=-1)
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostRegressor if regression else CatBoostClassifier
    return kind(cat_features=text, random_seed=seed, thread_count=threads, verbose=0, allow_writing_files=False)


def inputs(method, table, train, test):
    """Training and test inputs as the method takes them, and which columns are categories; `train` and `test` are a header and
    rows as they are written."""
    text, at = table["text"], train[0].index(table["target"])
    parts = [frame(header, rows, at, text) for header, rows in (train, test)]
    if method == "catboost":
        # CatBoost takes gaps in numbers as they are, and wants a word for gaps in categories.
        parts = [part.fillna({name: "gap" for name in text}) for part in parts]
    else:
        parts = categories(*parts, text)
    # LightGBM refuses some characters in names.
    names = {name: f"x{i}" for i, name in enumerate(parts[0])}
    return [part.rename(columns=names) for part in parts], [names[name] for name in text]


def score(method, table, train, test, seed, threads):
    """R2 or AUC on the test rows; `train` and `test` are a header and rows as they are written."""
    from sklearn.metrics import r2_score, roc_auc_score

    parts, text = inputs(method, table, train, test)
    at = train[0].index(table["target"])
    targets = [[row[at] for row in rows] for _, rows in (train, test)]
    if table["task"] == "regression":
        targets = [[float(cell) for cell in part] for part in targets]
    fitted = model(method, table["task"], text, seed, threads).fit(parts[0], targets[0])
    if table["task"] == "regression":
        return float(r2_score(targets[1], fitted.predict(parts[1])))
    chances = fitted.predict_proba(parts[1])
    if len(fitted.classes_) == 2:
        return float(roc_auc_score([label == fitted.classes_[1] for label in targets[1]], chances[:, 1]))
    return float(roc_auc_score(targets[1], chances, multi_class="ovr", average="macro", labels=fitted.classes_))
