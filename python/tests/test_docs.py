"""The documentation, executed."""

import ast
import doctest
import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

import rffnet
from rffnet import _rffnet
from rffnet._docs import PARAMETERS

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/python.md", "docs/coming-from.md"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run(text, name, names):
    """Runs the examples in a text; what they define is kept in `names`."""
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(report)
    return len(test.examples)


@pytest.mark.parametrize("page", PAGES)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    names, examples = {"__name__": "__main__"}, 0
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        if ">>>" in block:
            examples += run(block, page, names)
    assert examples > 0


PUBLIC = [getattr(rffnet, name) for name in rffnet.__all__ if not name.startswith("__")]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_docstrings(thing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(thing)
    assert run(text, thing.__name__, {}) > 0
    for heading in ("Parameters", "Examples"):
        assert f"\n{heading}\n---" in text
    documented = set(re.findall(r"^(\w+)(?:, \w+)* :", text, flags=re.MULTILINE))
    assert set(inspect.signature(thing).parameters) <= documented
    if not inspect.isclass(thing):
        assert "\nReturns\n---" in text
        return
    assert "\nAttributes\n---" in text
    for name, method in inspect.getmembers(thing, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("rffnet"):
            continue
        text = inspect.getdoc(method) or ""
        assert "\nReturns\n---" in text or name == "save", f"{thing.__name__}.{name}"
        for parameter in list(inspect.signature(method).parameters)[1:]:
            assert re.search(rf"^\**{parameter} :", text, flags=re.MULTILINE), f"{thing.__name__}.{name}: {parameter}"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples(example, tmp_path, monkeypatch, capsys):
    """Programs to copy: short, and they run as they stand."""
    monkeypatch.chdir(tmp_path)
    assert len(example.read_text(encoding="utf-8").splitlines()) < 40
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


# Arguments that are Python's own; all others are parameters of the library's table.
PYTHONS_OWN = {"categorical_features", "early_stopping", "warm_start", "random_state", "n_jobs", "verbose"}
TABLE = {name: (kind, choices, help) for name, kind, choices, help in _rffnet.parameters()}
# scikit-learn has a dictionary or None where the command has a name.
CLASS_WEIGHT = {"class_weight"}


@pytest.mark.parametrize("estimator", [rffnet.RFFNetRegressor, rffnet.RFFNetClassifier])
def test_constructors_take_the_parameters_of_the_table(estimator):
    table = set(TABLE) - (CLASS_WEIGHT if estimator is rffnet.RFFNetRegressor else set())
    assert set(inspect.signature(estimator).parameters) == table | PYTHONS_OWN
    assert len(TABLE) > 20 and all(help for _, _, help in TABLE.values())


def test_documentation_and_stubs_name_the_choices_of_the_table():
    documented = dict(re.findall(r"^(\w+) : (.*)$", PARAMETERS, flags=re.MULTILINE))
    assert set(documented) == set(TABLE) - CLASS_WEIGHT | PYTHONS_OWN
    stub = (Path(rffnet.__file__).parent / "__init__.pyi").read_text()
    literals = re.findall(r"^(\w+): TypeAlias = Literal\[(.*)\]", stub, flags=re.MULTILINE)
    aliases = {name: set(re.findall(r'"(.*?)"', text)) for name, text in literals}
    typed = dict(re.findall(r"^        (\w+): (\w+)", stub, flags=re.MULTILINE))
    types = {"whole number": "int", "number": "float", "switch": "bool", "loss": "str", "recipe": "str"}
    for name in TABLE.keys() - CLASS_WEIGHT:
        kind, choices, _ = TABLE[name]
        if kind == "name":
            assert set(re.findall(r"'([^']+)'", documented[name].split("}")[0])) == set(choices), name
            assert aliases[typed[name]] == set(choices), name
        elif kind == "partitions":  # a number or a name
            assert documented[name].startswith("int, 'auto' or 'none'")
            assert typed[name] == "Partitions" and aliases["Partitions"] == {"auto", "none"}
        else:
            assert documented[name].startswith(types[kind]) and typed[name] == types[kind], name


def test_pages_name_the_parameters_of_the_table():
    """Arguments and texts of every call of an estimator in the documentation."""
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for arguments in re.findall(r"RFFNet(?:Regressor|Classifier)\(([^()]*)\)", text):
            for name, value in re.findall(r"(\w+)=([^,]+)", arguments):
                assert name in TABLE or name in PYTHONS_OWN, (page, name)
                choices = TABLE[name][1] if name in TABLE else []
                assert not choices or ast.literal_eval(value) in choices, (page, name, value)


def test_the_torch_docstrings():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    module = importlib.import_module("rffnet.torch")
    for thing in (module.RFFLayer, module.RFFNet):
        assert run(inspect.getdoc(thing), thing.__name__, {}) > 0


def test_the_stubs_say_what_there_is():
    """Names of the compiled part; of the public part, every method with its arguments and defaults."""
    folder = Path(rffnet.__file__).parent
    stub = (folder / "_rffnet.pyi").read_text()
    for name in [*dir(_rffnet), *dir(_rffnet.Model)]:
        if not name.startswith("_"):
            assert f"def {name}(" in stub or f"class {name}:" in stub, name
    tree = ast.parse((folder / "__init__.pyi").read_text())
    found = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for thing in PUBLIC:
        node = found[thing.__name__]
        if isinstance(node, ast.FunctionDef):
            assert [a.arg for a in node.args.args + node.args.kwonlyargs] == list(inspect.signature(thing).parameters)
            continue
        for method in [m for m in node.body if isinstance(m, ast.FunctionDef) and not m.decorator_list]:
            typed = method.args.args + method.args.kwonlyargs + ([method.args.kwarg] if method.args.kwarg else [])
            real = inspect.signature(getattr(thing, method.name)).parameters
            assert [a.arg for a in typed] == list(real), f"{thing.__name__}.{method.name}"
            defaults = [d for d in method.args.defaults + method.args.kw_defaults if d is not None]
            given = [p.default for p in real.values() if p.default is not p.empty]
            assert [ast.literal_eval(d) for d in defaults] == given, f"{thing.__name__}.{method.name}"
