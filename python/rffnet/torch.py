"""The paper's layer for PyTorch: random Fourier features with learnable relevances, and the network made of them.

PyTorch is not among the package's dependencies: `pip install torch`.
"""

import copy
import json
import math
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rffnet import _rffnet
from rffnet._file import estimator_of

try:
    import torch
    from torch import nn
except ImportError as error:
    raise ImportError("rffnet.torch needs PyTorch: pip install torch") from error

__all__ = ["RFFLayer", "RFFNet"]

# Rows that importances are computed from, at most, where there are partitions; and rows at a time.
STEP_ROWS, CHUNK = 2_000, 256


class RFFLayer(nn.Module):
    """Random Fourier features with learnable relevances: sqrt(2/s) cos(omega . (theta o x) + phase).

    A drop-in for a linear layer and its activation. The relevances `theta` are a parameter; frequencies and phases are
    buffers, drawn as the estimators draw them.

    Parameters
    ----------
    in_features : int
        Columns of the input.
    out_features : int
        Random features.
    kernel : {'gaussian', 'laplace', 'cauchy', 'matern32', 'matern52'}, default='gaussian'
        The ARD kernel that inner products of the output approximate.
    sampling : {'iid', 'orthogonal'}, default='iid'
        How frequencies are drawn; 'orthogonal' is for the Gaussian kernel.
    relevances : float or array-like of shape (in_features,), default=None
        Where theta starts; None is 1/sqrt(in_features).
    seed : int, default=0
        The seed of the frequencies.
    device, dtype : optional
        As for any module.

    Examples
    --------
    >>> import torch
    >>> from rffnet.torch import RFFLayer
    >>> layer = RFFLayer(3, 50)
    >>> layer(torch.zeros(2, 3)).shape
    torch.Size([2, 50])
    """

    def __init__(
        self,
        in_features,
        out_features,
        kernel="gaussian",
        *,
        sampling="iid",
        relevances=None,
        seed=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.in_features, self.out_features, self.kernel = in_features, out_features, kernel
        omega, phase = _rffnet.frequencies(kernel, sampling, in_features, out_features, seed)
        start = 1 / math.sqrt(in_features) if relevances is None else relevances
        theta = torch.as_tensor(start, dtype=torch.float32).expand(in_features).clone()
        place = {"device": device, "dtype": torch.get_default_dtype() if dtype is None else dtype}
        self.theta = nn.Parameter(theta.to(**place))
        self.register_buffer("omega", torch.from_numpy(omega).to(**place))
        self.register_buffer("phase", torch.from_numpy(phase).to(**place))

    @property
    def relevances(self):
        """|theta|, without a gradient."""
        return self.theta.detach().abs()

    def forward(self, x):
        """The features of rows, (..., in_features) to (..., out_features)."""
        return math.sqrt(2 / self.out_features) * torch.cos((x * self.theta) @ self.omega + self.phase)

    def extra_repr(self):
        """What `print` shows."""
        return f"in_features={self.in_features}, out_features={self.out_features}, kernel={self.kernel}"


class _Encoding(NamedTuple):
    """How an estimator encodes the columns of a table, which the network gets encoded."""

    encoder: list | None
    """As the model file has it; None where all columns are numbers that stay as they are."""
    origin: list[int]
    """For each encoded column, the column of the table."""

    @classmethod
    def of(cls, estimator):
        """That of a fitted estimator."""
        return cls(estimator._card.get("encoder"), estimator._model.origin)

    def indicators(self):
        """Whether each encoded column is an indicator, of a level or of a gap."""
        indicators = torch.zeros(len(self.origin), dtype=torch.bool)
        ends = np.cumsum(np.bincount(self.origin))
        for column, first, end in zip(self.encoder or [], [0, *ends], ends):
            indicators[first:end] = column["encoding"]["as"] == "indicators"
            indicators[end - 1] |= column["gap_indicator"]
        return indicators


class _Partitions(nn.Module):
    """Partitions of the rows into cells: by its cuts a row lies in one cell of each, and the values of these cells are added.

    The values are a parameter, being coefficients like the head's. The cuts are buffers: comparisons have no gradient.
    """

    cuts, cells_of = 6, 64
    # Half a unit of a transformed column, and a little more: of a column of 0 and 1, the cut between them is near both.
    half = 0.52

    def __init__(self, count, outputs, device=None, dtype=None):
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.register_buffer("column", torch.zeros(count, self.cuts, dtype=torch.long, device=device))
        self.register_buffer("place", torch.full((count, self.cuts), math.inf, **place))
        self.cells = nn.Parameter(torch.zeros(count, self.cells_of, outputs, **place))

    def forward(self, x):
        """The sums of the cells' values, of transformed rows."""
        number = sum((x[..., self.column[:, b]] >= self.place[:, b]).long() << b for b in range(self.cuts))
        number = number + torch.arange(0, self.cells[..., 0].numel(), self.cells_of, device=x.device)
        flat = number.reshape(-1, len(self.cells))
        sums = nn.functional.embedding_bag(flat, self.cells.flatten(0, 1), mode="sum")
        return sums.reshape(*x.shape[:-1], self.cells.shape[-1])

    def changes(self, x):
        """By how much outputs change as a column goes from half a unit below a row to half a unit above it, (rows, columns,
        outputs): the slopes of steps."""
        near = (x[:, self.column] - self.place).abs() <= self.half
        same = self.column[:, :, None] == self.column[:, None]
        # Cuts of one column move together, and the first one that is near stands for all.
        first = near & ~(near[:, :, None] & same.tril(-1)).any(-1)
        row, partition, cut = first.nonzero(as_tuple=True)
        at, place = x[row[:, None], self.column[partition]], self.place[partition]
        moved, bits = self.half * same[partition, cut], 1 << torch.arange(self.cuts, device=x.device)
        low, high = (((values >= place) * bits).sum(-1) for values in (at - moved, at + moved))
        change = self.cells[partition, high] - self.cells[partition, low]
        sums = x.new_zeros(x.numel(), change.shape[-1])
        sums.index_add_(0, row * x.shape[1] + self.column[partition, cut], change)
        return sums.reshape(*x.shape, change.shape[-1])


class _Network(nn.Module):
    """A member of the ensemble: features, head and, if wanted, linear terms and partitions."""

    def __init__(self, features, outputs, linear, partitions):
        super().__init__()
        place = {"device": features.theta.device, "dtype": features.theta.dtype}
        self.features = features
        self.head = nn.Linear(features.out_features, outputs, **place)
        self.linear = nn.Linear(features.in_features, outputs, bias=False, **place) if linear else None
        self.partitions = _Partitions(partitions, outputs, **place) if partitions else None

    def forward(self, x):
        f = self.head(self.features(x))
        for part in (self.linear, self.partitions):
            f = f if part is None else f + part(x)
        return f

    def tensors(self):
        """Views of what is learned, named and shaped as in the model file."""
        features, head, partitions = self.features, self.head, self.partitions
        tensors = {"theta": features.theta, "omega": features.omega, "phase": features.phase}
        tensors |= {"beta": head.weight.T, "intercept": head.bias}
        if self.linear is not None:
            tensors["linear"] = self.linear.weight.T
        if partitions is not None:
            tensors |= {"cut.column": partitions.column, "cut.place": partitions.place, "cells": partitions.cells}
        return tensors


class RFFNet(nn.Module):
    """The paper's network: standardised columns, random features, a linear head; or an ensemble of them.

    Parameters
    ----------
    in_features : int
        Columns; those of the estimator's `encode`, where the network belongs to an estimator that encodes its columns.
    out_features : int, default=1
        Outputs: numbers, one logit for two classes, or one logit per class.
    n_random_features : int, default=300
        Random features of each member of the ensemble.
    kernel : str, default='gaussian'
        As in `RFFLayer`.
    sampling : str, default='iid'
        As in `RFFLayer`.
    linear : bool, default=False
        Linear terms beside the features.
    committee : int, default=1
        Members of the ensemble, whose outputs are averaged.
    partitions : int, default=0
        Partitions of the rows into cells beside the features of each member. They have no cuts until a state dict or an
        estimator brings them; the cuts are not trained, the values of the cells are.
    seed : int, default=0
        The seed of the frequencies; further members have the seeds that follow.
    device, dtype : optional
        As for any module.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from rffnet import RFFNetRegressor
    >>> from rffnet.torch import RFFNet
    >>> X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    >>> model = RFFNetRegressor(effort="quick").fit(X, X[:, 0] ** 2)
    >>> net = RFFNet.from_estimator(model).eval()
    >>> bool(np.allclose(net(torch.from_numpy(X)).detach()[:, 0], model.predict(X), atol=1e-3))
    True
    """

    def __init__(
        self,
        in_features,
        out_features=1,
        n_random_features=300,
        kernel="gaussian",
        *,
        sampling="iid",
        linear=False,
        committee=1,
        partitions=0,
        seed=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self._encoding = None
        place = {"device": device, "dtype": torch.get_default_dtype() if dtype is None else dtype}
        layers = [
            RFFLayer(in_features, n_random_features, kernel, sampling=sampling, seed=seed + m, **place)
            for m in range(committee)
        ]
        self.networks = nn.ModuleList(_Network(layer, out_features, linear, partitions) for layer in layers)
        for name, shape, value in (
            ("mean", (in_features,), 0.0),
            ("inverse", (in_features,), 1.0),
            ("warp", (5, in_features), 0.0),
            ("bend", (in_features,), 0.0),
            ("target_mean", (out_features,), 0.0),
            ("target_scale", (out_features,), 1.0),
            ("low", (out_features,), -math.inf),
            ("high", (out_features,), math.inf),
        ):
            self.register_buffer(name, torch.full(shape, value, **place))

    @property
    def relevances(self):
        """|theta|, averaged over the members, without a gradient."""
        return torch.stack([network.features.relevances for network in self.networks]).mean(0)

    def forward(self, x):
        """Outputs of rows: numbers or logits, (..., in_features) to (..., out_features)."""
        return self._outputs(self._transformed(x))

    def _transformed(self, x):
        """The column transforms: standardisation, Yeo-Johnson, soft clip (see the model file's page)."""
        z = (x - self.mean) * self.inverse
        # A gap is read as the column's mean.
        z = self._yeo_johnson(torch.where(torch.isnan(z), torch.zeros_like(z), z))
        near = torch.clamp(z, -1e6, 1e6)
        return torch.where(self.bend > 0, near / torch.sqrt(1 + self.bend * near * near), z)

    def _yeo_johnson(self, z):
        power, low, high, centre, inverse = self.warp
        transforms = power != 0
        # Columns without a power have a range of 0 alone, and here the power 1: gradients stay finite.
        near, power = torch.clamp(z, low, high), torch.where(transforms, power, 1)
        side = torch.where(near < 0, -1.0, 1.0).to(z.dtype)
        exponent = torch.where(near < 0, 2 - power, power)
        # (1 + |z|)^e - 1, without the loss of digits where that is small.
        u = side * torch.expm1(exponent * torch.log1p(side * near)) / exponent
        u = torch.where(power == 1, near, u)
        return torch.where(transforms, (u - centre) * inverse, z)

    def _outputs(self, x):
        f = sum(network(x) for network in self.networks) / len(self.networks)
        f = self.target_mean + self.target_scale * f
        # The range that predictions of an exact fit are kept in; gradients would end there.
        return f if self.training else torch.clamp(f, self.low, self.high)

    @classmethod
    def from_estimator(cls, estimator):
        """The network of a fitted estimator, column transforms and partitions included.

        Where the estimator encodes columns (categories, dates, common gaps), the network takes `estimator.encode(X)`.

        Parameters
        ----------
        estimator : RFFNetRegressor or RFFNetClassifier
            Fitted.

        Returns
        -------
        net : RFFNet
            float32, on the CPU; in `eval` mode it predicts what the estimator's `predict` or `decision_function` does.
        """
        check_is_fitted(estimator)
        card = json.loads(estimator._model.card)
        tensors = {name: torch.from_numpy(value.copy()) for name, value in estimator._model.tensors().items()}
        omega = tensors["omega"]
        stacked = omega.ndim == 3
        members = omega.shape[0] if stacked else 1
        columns, features = omega.shape[-2:]
        outputs = tensors["intercept"].shape[-1]
        partitions = tensors["cells"].shape[-3] if "cells" in tensors else 0
        parts = {"linear": "linear" in tensors, "committee": members, "partitions": partitions}
        net = cls(columns, outputs, features, **parts, dtype=torch.float32)
        net._encoding = _Encoding.of(estimator)
        with torch.no_grad():
            for m, network in enumerate(net.networks):
                network.features.kernel = card["kernel"]
                for name, tensor in network.tensors().items():
                    tensor.copy_(tensors[name][m] if stacked else tensors[name])
                # The head is stated for features with another factor in the paper's preset.
                network.head.weight *= card["feature_scale"] / math.sqrt(2 / features)
            for name, tensor in net._scale().items():
                if name in tensors:
                    tensor.copy_(tensors[name])
            if card["guard"]:
                low, high = zip(*card["guard"], strict=True)
                net.low.copy_(torch.tensor(low))
                net.high.copy_(torch.tensor(high))
        return net

    def to_estimator(self, estimator, X, y):
        """An estimator that predicts what this network does.

        Parameters
        ----------
        estimator : RFFNetRegressor or RFFNetClassifier
            What to make; it is copied. Columns are encoded as by the estimator that the network was made of, or else by this
            one, if it is fitted.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, not encoded: their columns name the model's, and importances are measured on them.
        y : array-like
            Their target, which names the classes.

        Returns
        -------
        estimator : RFFNetRegressor or RFFNetClassifier
            Fitted, with `save`, `predict` and everything else.
        """
        # One epoch of descent writes everything that is not a number: classes, names, the loss.
        like = clone(estimator).set_params(solver="adam", n_random_features=1, max_iter=1, spectrum=None, linear=None)
        like.set_params(committee=None, partitions=None, budget=None, recipe=None, warm_start=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of an epoch that nobody is interested in
            like.fit(X, y)
        encoding = self._encoding or _Encoding.of(estimator if hasattr(estimator, "_model") else like)
        net = copy.deepcopy(self).to(device="cpu", dtype=torch.float32)
        found = net.mean.numel(), net.target_mean.numel()
        needed = len(encoding.origin), like._model.outputs
        if found != needed or max(encoding.origin) + 1 != like.n_features_in_:
            raise ValueError(
                f"the network has {found[0]} columns and {found[1]} outputs, but the data need {needed[0]} and {needed[1]}"
            )
        card = json.loads(like._model.card)
        features = net.networks[0].features.out_features
        card["feature_scale"] = math.sqrt(2 / features)
        card["kernel"] = net.networks[0].features.kernel
        card["params"]["random-features"] = features
        bounded = bool(torch.isfinite(net.low).all() and torch.isfinite(net.high).all())
        card["guard"] = list(zip(net.low.tolist(), net.high.tolist(), strict=True)) if bounded else []
        card["encoder"] = encoding.encoder
        tensors = like._model.tensors() | net._tensors()
        made = net._estimator(card, tensors, like)
        rows = torch.from_numpy(made.encode(X))
        return net._estimator(card, tensors | {"importance": net._importances(rows, encoding)}, like)

    @staticmethod
    def _estimator(card, tensors, like):
        """The estimator of a model file's contents, with what only the fitted estimator `like` knows."""
        made = estimator_of(_rffnet.Model.from_tensors(json.dumps(card), tensors))
        for name in ("feature_names_in_", "classes_", "_flat"):
            if hasattr(like, name):
                setattr(made, name, getattr(like, name))
        return made

    def _tensors(self):
        """As the model file has them; in it, a cut that no row is above is at the largest number."""
        members = [network.tensors() for network in self.networks]

        def stack(name):
            parts = [member[name].detach().float() for member in members]
            parts = [(torch.nan_to_num(part) if name == "cut.place" else part).numpy() for part in parts]
            return np.ascontiguousarray(np.stack(parts) if len(parts) > 1 else parts[0])

        tensors = {name: stack(name) for name in members[0]}
        for name, tensor in self._scale().items():
            # The model file leaves out transforms that no column has.
            if name not in ("scale.warp", "scale.bend") or bool((tensor != 0).any()):
                tensors[name] = (tensor.double() if "target" in name else tensor).numpy()
        return tensors

    def _scale(self):
        """The buffers of the column transforms and of the target, named as in the model file."""
        names = ("mean", "inverse", "warp", "bend", "target_mean", "target_scale")
        return {f"scale.{name}": getattr(self, name) for name in names}

    def _importances(self, rows, encoding):
        """Root mean square slopes along the transformed columns; of a column that is encoded as several, the root of the sum
        of their squares, where a slope along an indicator counts times the indicator's deviation. A step counts by its height
        where it is near.
        """
        deviation = torch.where(encoding.indicators(), rows.nan_to_num().std(0, correction=0), torch.ones(()))
        steps = [network.partitions for network in self.networks if network.partitions is not None]
        # As many rows as the fit looks at.
        rows = self._transformed(rows[:: -(-len(rows) // STEP_ROWS)] if steps else rows)
        # Of several outputs, each in units of its own deviation.
        unit = self.target_scale if len(self.target_scale) == 1 else 1.0
        squares = torch.zeros(rows.shape[1])
        for part in rows.split(CHUNK):
            part.requires_grad_()
            outputs = sum(network(part) for network in self.networks) / len(self.networks)
            with torch.no_grad():
                changes = sum(partitions.changes(part) for partitions in steps) / len(self.networks)
            for c, output in enumerate(outputs.unbind(1)):
                (slopes,) = torch.autograd.grad(output.sum(), part, retain_graph=True)
                squares += (unit * (slopes + (changes[..., c] if steps else 0.0))).square().sum(0) / len(rows)
        origin = torch.tensor(encoding.origin)
        sums = torch.zeros(int(origin.max()) + 1).index_add_(0, origin, squares * deviation.square())
        return sums.sqrt().numpy()
