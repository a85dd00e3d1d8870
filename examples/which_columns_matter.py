"""Fit a regression and see which columns it uses.

Ten columns, of which three matter: one through a sine, two through their product.
"""

import numpy as np
from sklearn.model_selection import train_test_split

from rffnet import RFFNetRegressor

rng = np.random.default_rng(0)
names = [f"sensor{j}" for j in range(10)]
X = rng.normal(size=(2000, 10))
y = np.sin(2 * X[:, 1]) + X[:, 4] * X[:, 7] + 0.1 * rng.normal(size=2000)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# Columns and target are scaled inside the model, and the penalty is chosen on held-out rows: there is nothing to tune.
model = RFFNetRegressor().fit(X_train, y_train)
print(f"R2 on new rows: {model.score(X_test, y_test):.3f}")

# An importance is the root mean square slope of the model along a standardised column.
for j in np.argsort(-model.feature_importances_)[:5]:
    print(f"{names[j]:8}  importance {model.feature_importances_[j]:.3f}  relevance {model.relevances_[j]:.3f}")

found = {names[j] for j in np.argsort(-model.feature_importances_)[:3]}
assert found == {"sensor1", "sensor4", "sensor7"}
