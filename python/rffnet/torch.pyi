"""The PyTorch layer, typed."""

from numpy.typing import ArrayLike
from rffnet import Kernel, RFFNetClassifier, RFFNetRegressor, Sampling
from torch import Tensor, device as Device, dtype as Dtype, nn
from typing_extensions import Self

__all__: list[str]

class RFFLayer(nn.Module):
    in_features: int
    out_features: int
    kernel: str
    theta: nn.Parameter
    omega: Tensor
    phase: Tensor
    def __init__(
        self,
        in_features: int,
        out_features: int,
        kernel: Kernel = "gaussian",
        *,
        sampling: Sampling = "iid",
        relevances: float | ArrayLike | None = None,
        seed: int = 0,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None: ...
    @property
    def relevances(self) -> Tensor: ...
    def forward(self, x: Tensor) -> Tensor: ...

class RFFNet(nn.Module):
    networks: nn.ModuleList
    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        n_random_features: int = 300,
        kernel: Kernel = "gaussian",
        *,
        sampling: Sampling = "iid",
        linear: bool = False,
        committee: int = 1,
        partitions: int = 0,
        seed: int = 0,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None: ...
    @property
    def relevances(self) -> Tensor: ...
    def forward(self, x: Tensor) -> Tensor: ...
    @classmethod
    def from_estimator(cls, estimator: RFFNetRegressor | RFFNetClassifier) -> Self: ...
    def to_estimator(
        self, estimator: RFFNetRegressor | RFFNetClassifier, X: ArrayLike, y: ArrayLike
    ) -> RFFNetRegressor | RFFNetClassifier: ...
