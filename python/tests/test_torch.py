"""The PyTorch layer; a step of its own, since PyTorch is large."""

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from rffnet import RFFNetClassifier, RFFNetRegressor, RFFTransformer, load  # noqa: E402
from rffnet.torch import RFFLayer, RFFNet  # noqa: E402


def test_the_layer_is_the_transformer():
    X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    layer = RFFLayer(3, 40, "matern32", relevances=[0.5, 1.0, 0.0], seed=4)
    same = RFFTransformer("matern32", 40, [0.5, 1.0, 0.0], random_state=4).fit_transform(X)
    assert np.allclose(layer(torch.from_numpy(X)).detach(), same, atol=1e-5)


def test_gradients_reach_the_relevances_alone():
    layer = RFFLayer(3, 8, dtype=torch.float64)
    assert [name for name, _ in layer.named_parameters()] == ["theta"]
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)

    def forward(x, theta):
        return torch.func.functional_call(layer, {"theta": theta}, (x,))

    assert torch.autograd.gradcheck(forward, (x, layer.theta.detach().clone().requires_grad_()))


def test_state_and_moves():
    net = RFFNet(4, 2, 30, linear=True, committee=2, seed=1)
    other = RFFNet(4, 2, 30, linear=True, committee=2, seed=9)
    other.load_state_dict(net.state_dict())
    x = torch.randn(6, 4)
    assert torch.equal(net(x), other(x))
    wide = other.to(torch.float64)
    assert wide(x.double()).dtype == torch.float64
    assert all(b.dtype == torch.float64 for b in wide.buffers())
    meta = RFFLayer(4, 3).to("meta")
    assert meta.omega.device.type == meta.theta.device.type == "meta"
    assert net(torch.randn(2, 3, 4)).shape == (2, 3, 2)


def test_it_trains_inside_a_network():
    torch.manual_seed(0)
    x = torch.rand(512, 6) * 4 - 2
    y = torch.sin(2 * x[:, :1]) + x[:, 1:2] ** 2
    net = torch.nn.Sequential(RFFLayer(6, 200), torch.nn.Linear(200, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    before = net[0].relevances.clone()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(300):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimiser.step()
    assert loss < 0.1 * y.var()
    after = net[0].relevances
    assert after[:2].min() > 2 * after[2:].max() and not torch.equal(before, after)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_it_compiles(backend):
    if backend == "inductor" and shutil.which("c++") is None:
        pytest.skip("inductor needs a C++ compiler")
    net = RFFNet(4, 1, 30)
    compiled = torch.compile(net, fullgraph=True, backend=backend)
    x = torch.randn(9, 4)
    value = compiled(x)
    assert torch.allclose(value, net(x), atol=1e-6)
    value.sum().backward()
    gradients = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net(x).sum().backward()
    assert all(torch.allclose(g, p.grad, atol=1e-5) for g, p in zip(gradients, net.parameters()))


@pytest.mark.parametrize("options", [{"effort": "quick"}, {}, {"preset": "paper", "max_iter": 3}, {"solver": "adam"}])
def test_from_an_estimator_and_back(options, curve, tmp_path):
    X, y = curve
    model = RFFNetRegressor(**options).fit(X, y)
    net = RFFNet.from_estimator(model).eval()
    expected = model.predict(X)
    assert np.allclose(net(torch.from_numpy(X)).detach()[:, 0], expected, atol=1e-3)
    assert np.allclose(net.relevances, model.relevances_, atol=1e-6)
    again = net.to_estimator(RFFNetRegressor(), X, y)
    assert np.allclose(again.predict(X), expected, atol=1e-4)
    assert np.allclose(again.feature_importances_, model.feature_importances_, rtol=1e-2, atol=1e-3)
    again.save(tmp_path / "m.rffnet")
    assert np.array_equal(load(tmp_path / "m.rffnet").predict(X), again.predict(X))


def test_skewed_columns_and_long_tails(skewed, tmp_path):
    X, y = skewed
    model = RFFNetRegressor(effort="quick").fit(X, y)
    tensors = model._model.tensors()
    net = RFFNet.from_estimator(model).eval()
    far = np.concatenate([X, 100 * X[:20], tensors["scale.mean"][None]])
    expected = model.predict(far)
    assert np.allclose(net(torch.from_numpy(far)).detach()[:, 0], expected, atol=1e-3)
    again = net.to_estimator(RFFNetRegressor(), X, y)
    assert np.allclose(again.predict(far), expected, atol=1e-4)
    for name in ("scale.warp", "scale.bend"):
        assert np.array_equal(again._model.tensors()[name], tensors[name])
    again.save(tmp_path / "m.rffnet")
    assert np.array_equal(load(tmp_path / "m.rffnet").predict(X), again.predict(X))


def test_encoded_columns(tmp_path):
    """Categories, dates and gaps: the network takes what the estimator's `encode` makes of a table."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 400
    table = pandas.DataFrame({
        "city": rng.choice(["Bern", "Graz", "Pisa", "Rome"], n),
        "shop": rng.integers(0, 40, n).astype(str),
        "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 90, n), "D"),
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
    })  # fmt: skip
    y = table["city"].map({"Bern": 0.0, "Graz": 2.0, "Pisa": -1.0, "Rome": 1.0}) + table["size"].fillna(2.0)
    model = RFFNetRegressor(effort="quick").fit(table, y)
    net = RFFNet.from_estimator(model).eval()
    encoded = model.encode(table)
    assert encoded.shape[1] > 4
    expected = model.predict(table)
    assert np.allclose(net(torch.from_numpy(encoded)).detach()[:, 0], expected, atol=1e-3)
    # Other rows than those of the fit: the encoder stays that of the fit.
    again = net.to_estimator(RFFNetRegressor(), table[50:], y[50:])
    assert np.allclose(again.predict(table), expected, atol=1e-4)
    assert again.column_types_ == model.column_types_
    assert np.allclose(again.feature_importances_, model.feature_importances_, rtol=0.1, atol=1e-2)
    again.save(tmp_path / "m.rffnet")
    assert np.array_equal(load(tmp_path / "m.rffnet").predict(table), again.predict(table))
    own = RFFNet(encoded.shape[1], 1, 50)
    assert own.to_estimator(model, table, y).predict(table).shape == (n,)
    with pytest.raises(ValueError, match="columns and"):
        RFFNet(4, 1, 50).to_estimator(model, table, y)


def test_gradients_of_skewed_columns():
    power = torch.tensor([0.0, -2.0, 0.125, 1.5, 4.0, 1.0])
    net = RFFNet(6, 1, 5, dtype=torch.float64)
    net.warp.copy_(torch.stack([power, *(power != 0) * torch.tensor([[-2.0], [3.0], [0.3], [1.7]])]))
    net.bend[3] = 0.1
    x = torch.linspace(-1.9, 2.9, 9, dtype=torch.float64)[:, None].repeat(1, 6).requires_grad_()
    assert torch.autograd.gradcheck(net._transformed, x)
    # At 0, beyond the range, and far out.
    x = torch.tensor([0.0, -5.0, 5.0, 1e30, -1e30], dtype=torch.float64)[:, None].repeat(1, 6).requires_grad_()
    z = net._transformed(x)
    z.sum().backward()
    assert torch.isfinite(z).all() and torch.isfinite(x.grad).all()
    assert torch.equal(z[:, 0], x[:, 0]) and (x.grad[:, 0] == 1).all()
    assert torch.allclose(x.grad[0, [1, 2, 4, 5]], torch.tensor(1.7, dtype=torch.float64))
    assert (x.grad[1:, [1, 2, 4, 5]] == 0).all()


def test_classes(ring):
    X, y = ring
    three = np.where(X[:, 2] > 1, "up", y)
    for target in (y, three):
        model = RFFNetClassifier(effort="quick").fit(X, target)
        net = RFFNet.from_estimator(model).eval()
        f = net(torch.from_numpy(X)).detach().numpy()
        assert np.allclose(f[:, 0] if f.shape[1] == 1 else f, model.decision_function(X), atol=1e-2, rtol=1e-3)
        again = net.to_estimator(RFFNetClassifier(), X, target)
        assert np.array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="columns and"):
        net.to_estimator(RFFNetClassifier(), X[:, :2], three)


def decision(model, X):
    f = model.predict(X) if isinstance(model, RFFNetRegressor) else model.decision_function(X)
    return f.reshape(len(X), -1)


@pytest.mark.parametrize("target", ["number", "numbers", "two classes", "three classes"])
@pytest.mark.parametrize("committee", [1, 3])
def test_partitions(target, committee, stairs, tmp_path):
    X, y = stairs
    options = {"effort": "quick", "partitions": 40, "committee": committee}
    if "class" in target:
        y = np.digitize(y, [0.5] if target == "two classes" else [-0.5, 1.5])
        model = RFFNetClassifier(**options).fit(X, y)
    else:
        y = y if target == "number" else np.column_stack([y, 50 * X[:, 3]])
        model = RFFNetRegressor(**options).fit(X, y)
    tensors = model._model.tensors()
    expected = decision(model, X)
    net = RFFNet.from_estimator(model).eval()
    found = net(torch.from_numpy(X)).detach().numpy()
    assert (np.abs(found - expected) < 1e-5 * np.maximum(1.0, np.abs(expected).max(axis=0))).all()
    # The cells matter, so that this says something.
    without = RFFNet.from_estimator(model).eval()
    for network in without.networks:
        torch.nn.init.zeros_(network.partitions.cells)
    assert np.abs(without(torch.from_numpy(X)).detach().numpy() - expected).max() > 0.1
    again = net.to_estimator(type(model)(), X, y)
    assert np.allclose(decision(again, X), expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(again.feature_importances_, model.feature_importances_, rtol=1e-2, atol=1e-3)
    for name in ("cut.column", "cut.place", "cells"):
        assert np.array_equal(again._model.tensors()[name], tensors[name])
    again.save(tmp_path / "m.rffnet")
    assert np.array_equal(decision(load(tmp_path / "m.rffnet"), X), decision(again, X))


def test_partitions_of_skewed_and_encoded_columns(skewed):
    """Cuts are in units of the transformed columns."""
    pandas = pytest.importorskip("pandas")
    X, y = skewed
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["e"] = np.array(["x", "y", "z"])[np.arange(len(y)) % 3]
    y = y + (X[:, 0] > 1) + (frame["e"] == "y")
    model = RFFNetRegressor(effort="quick", partitions=40).fit(frame, y)
    assert "scale.warp" in model._model.tensors()
    net = RFFNet.from_estimator(model).eval()
    assert np.allclose(net(torch.from_numpy(model.encode(frame))).detach()[:, 0], model.predict(frame), atol=1e-5)
    again = net.to_estimator(RFFNetRegressor(), frame, y)
    assert np.allclose(again.predict(frame), model.predict(frame), atol=1e-5)
    assert np.allclose(again.feature_importances_, model.feature_importances_, rtol=1e-2, atol=1e-3)


def test_state_and_moves_with_partitions(stairs):
    X, y = stairs
    x = torch.from_numpy(X)
    model = RFFNetRegressor(effort="quick", partitions=10, n_random_features=30).fit(X, y)
    net = RFFNet.from_estimator(model).eval()
    parts = {"n_random_features": 30, "linear": True, "committee": len(net.networks), "partitions": 10}
    other = RFFNet(4, 1, **parts).eval()
    # No row is above a cut before there are cuts.
    assert other(x).shape == (len(X), 1) and other.networks[0].partitions(x).eq(0).all()
    other.load_state_dict(net.state_dict())
    assert torch.equal(net(x), other(x))
    assert net(x.reshape(4, 100, 4)).shape == (4, 100, 1) and net(x[0]).shape == (1,) and net(x[:0]).shape == (0, 1)
    wide = other.to(torch.float64)
    assert wide(x.double()).dtype == torch.float64
    assert np.allclose(wide(x.double()).detach()[:, 0], model.predict(X), atol=1e-4)
    assert torch.equal(net(x), torch.compile(net, fullgraph=True, backend="eager")(x))
    # Half precision makes the places of missing cuts infinite; in the model file they are numbers.
    assert np.isfinite(other.to(torch.bfloat16).to_estimator(RFFNetRegressor(), X, y).predict(X)).all()
    assert RFFNet(4, 1, **parts, dtype=torch.float16).to_estimator(RFFNetRegressor(), X, y).n_random_features_ == 30


def test_training_goes_on_with_the_same_cuts(stairs):
    X, y = stairs
    x, t = torch.from_numpy(X), torch.from_numpy(y.astype(np.float32))
    model = RFFNetRegressor(effort="quick", partitions=20).fit(X[:200], y[:200])
    net = RFFNet.from_estimator(model)
    trained = {name for name, _ in net.named_parameters()}
    assert "networks.0.partitions.cells" in trained and not any("place" in name or "column" in name for name in trained)
    before = torch.nn.functional.mse_loss(net(x)[:, 0], t).item()
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(30):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x)[:, 0], t)
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.9 * before
    again = net.to_estimator(RFFNetRegressor(), X, y)
    old, new = model._model.tensors(), again._model.tensors()
    assert all(np.array_equal(old[name], new[name]) for name in ("cut.column", "cut.place"))
    assert not np.array_equal(old["cells"], new["cells"])
    # Within the range that predictions are kept in, they are those of the network.
    assert np.allclose(again.predict(X), net.eval()(x).detach()[:, 0], atol=1e-4)


def test_a_network_trained_here_becomes_an_estimator(ring):
    X, y = ring
    x, t = torch.from_numpy(X), torch.from_numpy((y == "out").astype(np.float32))
    torch.manual_seed(0)
    net = RFFNet(4, 1, 100)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(200):
        optimiser.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], t).backward()
        optimiser.step()
    model = net.to_estimator(RFFNetClassifier(), X, y)
    assert model.score(X, y) > 0.9
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
