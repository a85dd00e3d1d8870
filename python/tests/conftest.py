"""Data and helpers the tests share."""

import os

# Before scikit-learn is imported: some of its checks look at it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest


@pytest.fixture
def curve():
    """300 rows of 5 columns, of which the first two matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=300)
    return X, y


@pytest.fixture
def skewed():
    """300 rows of 4 columns: skewed to the right, to the left, even with long tails, even."""
    rng = np.random.default_rng(2)
    u = rng.normal(size=(300, 4))
    X = np.column_stack([np.exp(1.2 * u[:, 0]), -np.exp(u[:, 1]), np.sinh(3 * u[:, 2]), u[:, 3]]).astype(np.float32)
    return X, np.sin(2 * u[:, 0]) + u[:, 1] + 0.5 * np.tanh(u[:, 2]) + 0.1 * rng.normal(size=300)


@pytest.fixture
def stairs():
    """400 rows of 4 columns, and a sum of steps of the first three."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    y = 2 * (X[:, 0] > 0.3) - (X[:, 1] > -0.2) * (X[:, 2] > 0.1) + 0.1 * rng.normal(size=400)
    return X, y


@pytest.fixture
def ring():
    """300 rows of 4 columns, and whether they lie within a circle of the first two."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    return X, np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 1.4, "in", "out")
