"""The public API, typed."""

from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.feature_selection import SelectorMixin
from typing_extensions import Self

__version__: str
__all__: list[str]

# Arrays, data frames, Arrow tables and sparse matrices.
Table: TypeAlias = Any
Doubles: TypeAlias = NDArray[np.float64]
Seed: TypeAlias = int | np.random.RandomState | None
Preset: TypeAlias = Literal["auto", "paper"]
Solver: TypeAlias = Literal["auto", "varpro", "adam", "sgd", "palm-adam", "palm-sgd"]
Kernel: TypeAlias = Literal["gaussian", "laplace", "cauchy", "matern32", "matern52"]
Sampling: TypeAlias = Literal["iid", "orthogonal"]
Init: TypeAlias = Literal["constant", "restarter", "regressor", "varpro"]
Penalty: TypeAlias = Literal["l2", "l1", "elastic-net", "none"]
Schedule: TypeAlias = Literal["constant", "one-cycle", "cosine"]
Missing: TypeAlias = Literal["auto", "error", "mean"]
Spectrum: TypeAlias = Literal["fixed", "learned", "auto"]
Effort: TypeAlias = Literal["quick", "normal", "thorough"]
Partitions: TypeAlias = Literal["auto", "none"] | int

class _RFFNet(BaseEstimator):
    relevances_: Doubles
    feature_importances_: Doubles
    n_iter_: int
    stopped_: str
    history_: dict[str, list[Any]]
    validation_loss_: float | None
    n_random_features_: int
    column_types_: list[Literal["number", "boolean", "category", "date"]]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    @property
    def coef_(self) -> Doubles: ...
    @property
    def head_(self) -> Doubles: ...
    @property
    def linear_(self) -> Doubles: ...
    @property
    def intercept_(self) -> Doubles: ...
    def encode(self, X: Table) -> NDArray[np.float32]: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def to_onnx(self) -> bytes: ...
    def model_card(self) -> str: ...
    def set_callbacks(self, *callbacks: Any) -> Self: ...

class RFFNetRegressor(RegressorMixin, _RFFNet):
    def __init__(
        self,
        *,
        preset: Preset = "auto",
        solver: Solver = "auto",
        loss: str | None = None,
        kernel: Kernel | None = None,
        sampling: Sampling | None = None,
        init: Init | None = None,
        n_restarts: int | None = None,
        n_random_features: int | None = None,
        alpha: float | None = None,
        penalty: Penalty | None = None,
        alpha_theta: float | None = None,
        penalty_theta: Penalty | None = None,
        l1_ratio: float | None = None,
        lr: float | None = None,
        schedule: Schedule | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        early_stopping: Literal["auto"] | bool = "auto",
        n_iter_no_change: int | None = None,
        validation_fraction: float | None = None,
        missing: Missing = "auto",
        categorical_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        spectrum: Spectrum | None = None,
        linear: bool | None = None,
        committee: int | None = None,
        partitions: Partitions | None = None,
        effort: Effort | None = None,
        budget: float | None = None,
        recipe: str | None = None,
        warm_start: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None: ...
    def fit(self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def partial_fit(self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def predict(self, X: Table) -> Doubles: ...

class RFFNetClassifier(ClassifierMixin, _RFFNet):
    classes_: NDArray[Any]
    def __init__(
        self,
        *,
        preset: Preset = "auto",
        solver: Solver = "auto",
        loss: str | None = None,
        kernel: Kernel | None = None,
        sampling: Sampling | None = None,
        init: Init | None = None,
        n_restarts: int | None = None,
        n_random_features: int | None = None,
        alpha: float | None = None,
        penalty: Penalty | None = None,
        alpha_theta: float | None = None,
        penalty_theta: Penalty | None = None,
        l1_ratio: float | None = None,
        lr: float | None = None,
        schedule: Schedule | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        early_stopping: Literal["auto"] | bool = "auto",
        n_iter_no_change: int | None = None,
        validation_fraction: float | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        missing: Missing = "auto",
        categorical_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        spectrum: Spectrum | None = None,
        linear: bool | None = None,
        committee: int | None = None,
        partitions: Partitions | None = None,
        effort: Effort | None = None,
        budget: float | None = None,
        recipe: str | None = None,
        warm_start: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None: ...
    def fit(self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def partial_fit(
        self, X: Table, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self: ...
    def predict(self, X: Table) -> NDArray[Any]: ...
    def predict_proba(self, X: Table) -> Doubles: ...
    def predict_log_proba(self, X: Table) -> Doubles: ...
    def decision_function(self, X: Table) -> Doubles: ...

class TopKSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    estimator_: RFFNetRegressor | RFFNetClassifier
    support_: NDArray[np.bool_]
    n_features_: int
    order_: NDArray[np.int_]
    ranking_: NDArray[np.int_]
    scores_: Doubles
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    def __init__(
        self,
        estimator: RFFNetRegressor | RFFNetClassifier | None = None,
        *,
        selection_fraction: float = 0.2,
        min_features_to_select: int = 1,
        random_state: Seed = 0,
    ) -> None: ...
    def fit(self, X: Table, y: ArrayLike, **fit_params: Any) -> Self: ...
    def transform(self, X: Table) -> Table: ...

class RFFTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    relevances_: NDArray[np.float32]
    frequencies_: NDArray[np.float32]
    phases_: NDArray[np.float32]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    def __init__(
        self,
        kernel: Kernel = "gaussian",
        n_random_features: int = 100,
        relevances: float | ArrayLike | RFFNetRegressor | RFFNetClassifier | None = None,
        *,
        sampling: Sampling = "iid",
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> None: ...
    def fit(self, X: Table, y: Any = None) -> Self: ...
    def transform(self, X: Table) -> NDArray[np.float32]: ...

def load(path: str | PathLike[str]) -> RFFNetRegressor | RFFNetClassifier: ...
def plot_relevances(
    estimator: RFFNetRegressor | RFFNetClassifier,
    *,
    kind: Literal["importance", "relevance"] = "importance",
    max_features: int = 20,
    ax: Axes | None = None,
) -> Axes: ...
def plot_path(selector: TopKSelector, *, ax: Axes | None = None) -> Axes: ...
def plot_history(estimator: RFFNetRegressor | RFFNetClassifier, *, ax: Axes | None = None) -> Axes: ...
