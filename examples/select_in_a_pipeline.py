"""Select columns inside a scikit-learn pipeline, so that cross-validation scores the selection as well.

Two classes, inside and outside of a circle in the first two of twenty columns; a nearest-neighbour classifier gets lost in
the other eighteen.
"""

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from rffnet import RFFNetClassifier, TopKSelector

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 20))
y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 1.4, "inside", "outside")
folds = StratifiedKFold(5, shuffle=True, random_state=0)

# Every fold selects its columns from its own training rows; the scores never see rows that were selected on.
neighbours = KNeighborsClassifier(15)
selector = TopKSelector(RFFNetClassifier(effort="quick", linear=False))
selected = make_pipeline(selector, neighbours)
scores = {
    "all columns": cross_val_score(neighbours, X, y, cv=folds).mean(),
    "selected columns": cross_val_score(selected, X, y, cv=folds).mean(),
}
for name, score in scores.items():
    print(f"{name:17} {score:.3f} accuracy")

columns = selected.fit(X, y)[0].get_support(indices=True)
print("columns selected from all rows:", columns.tolist())
assert {0, 1} <= set(columns) and scores["selected columns"] > scores["all columns"]
