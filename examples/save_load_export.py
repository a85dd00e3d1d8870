"""Keep a model: in a file that the command `rffnet` reads too, and as an ONNX graph for any other runtime."""

import tempfile
from pathlib import Path

import numpy as np

from rffnet import RFFNetClassifier, load

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4)).astype(np.float32)
y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, "yes", "no")
model = RFFNetClassifier(effort="quick").fit(X, y)

folder = Path(tempfile.mkdtemp())

# The model file holds everything a prediction needs; reading it never runs code.
model.save(folder / "answer.rffnet")
again = load(folder / "answer.rffnet")
assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
print(f"{folder / 'answer.rffnet'} predicts the same; try: rffnet inspect {folder / 'answer.rffnet'}")

# The graph takes columns as they are and gives labels and probabilities.
(folder / "answer.onnx").write_bytes(model.to_onnx())
try:
    import onnxruntime
except ImportError:
    print("pip install onnxruntime to run the graph")
else:
    session = onnxruntime.InferenceSession(folder / "answer.onnx")
    label, probabilities = session.run(["label", "probabilities"], {"X": X})
    assert np.array_equal(label, model.predict(X))
    print(f"onnxruntime differs by at most {np.abs(probabilities - model.predict_proba(X)).max():.1e}")
