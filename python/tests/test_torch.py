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
