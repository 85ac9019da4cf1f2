"""Models as Python files that need NumPy alone."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import exported_models
import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pursuit.export import UnsupportedError, formula_of, to_javascript, to_numpy

# With drop=, scikit-learn warns of categories that it ignores as asked.
pytestmark = pytest.mark.filterwarnings("ignore:Found unknown categories")

# Imports every model where only NumPy and the standard library can be found.
RUN_ALL = """
import importlib.util, json, sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first != "numpy" and first not in sys.stdlib_module_names:
            raise ImportError(f"{name} must not be needed")

sys.meta_path.insert(0, Refusing())
results = []
for i, case in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))):
    spec = importlib.util.spec_from_file_location(f"model_{i}", case["file"])
    model = sys.modules[f"model_{i}"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    found = {"inputs": [each.name for each in model.inputs]}
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(case["rows"]).tolist()
    found["classes"] = getattr(model, "classes", None)
    results.append(found)
json.dump(results, open(sys.argv[2], "w", encoding="utf-8"))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the written modules compute for every model."""
    folder = tmp_path_factory.mktemp("numpy")
    cases = []
    for i, name in enumerate(exported_models.NAMES):
        model, X = exported_models.fitted(name)
        file = folder / f"model_{i}.py"
        to_numpy(model, file)
        cases.append({"file": str(file), "rows": exported_models.raw_rows(X)})
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    (folder / "run.py").write_text(RUN_ALL, encoding="utf-8")
    files = [folder / file for file in ("run.py", "cases.json", "results.json")]
    command = [sys.executable, "-I", "-W", "error", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(files[-1].read_text(encoding="utf-8"))
    return dict(zip(exported_models.NAMES, found, strict=True))


@pytest.mark.parametrize("name", exported_models.NAMES)
def test_the_module_agrees_with_predict(name: str, results: dict[str, Any]) -> None:
    model, X = exported_models.fitted(name)
    answer, found = formula_of(model).answer, results[name]
    predictions = np.array(found["predict"])
    if answer.kind == "numbers":
        expected = model.predict(X)
        assert predictions.shape == expected.shape
        scale = np.abs(expected).max()
        np.testing.assert_allclose(predictions, expected, rtol=0, atol=1e-12 * scale)
        assert not {"decision_function", "predict_proba"} & set(found)
        return
    assert found["classes"] == model.classes_.tolist()
    assert (predictions == model.predict(X)).all()
    values, expected = np.array(found["decision_function"]), model.decision_function(X)
    assert values.shape == expected.shape
    scale = np.abs(expected).max()
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * scale)
    assert ("predict_proba" in found) == hasattr(model, "predict_proba")
    if "predict_proba" in found:
        expected = model.predict_proba(X)
        np.testing.assert_allclose(found["predict_proba"], expected, atol=1e-13)


def _imported(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    file = folder / "written_model.py"
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("written_model", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "written_model", module)
    spec.loader.exec_module(module)
    return module


def test_frames_go_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, frame = exported_models.fitted("table")
    module = _imported(to_numpy(model), tmp_path, monkeypatch)
    expected = model.predict_proba(frame)
    shuffled = frame[["town", "size", "color", "length"]]
    np.testing.assert_allclose(module.predict_proba(shuffled), expected, atol=1e-13)
    other = pl.from_pandas(frame)
    np.testing.assert_allclose(module.predict_proba(other), expected, atol=1e-13)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = exported_models.fitted("kernel rbf")
    module = _imported(to_numpy(model), tmp_path, monkeypatch)
    many = np.tile(X, (1000, 1))
    tracemalloc.start()
    predictions = module.predict(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(predictions, np.tile(model.predict(X), 1000))
    # Values of all rows at all functions at once would take twice the rows' 4 columns.
    assert peak < 1.9 * many.nbytes


def test_rows_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = exported_models.table()[["color", "town"]].fillna("a")
    model = make_pipeline(OneHotEncoder(), exported_models.classifier())
    model.fit(frame, np.arange(len(frame)) % 3)
    module = _imported(to_numpy(model), tmp_path, monkeypatch)
    bad = frame.copy()
    bad.loc[[3, 8], "color"] = ["puce", None]
    with pytest.raises(ValueError, match=r"Rows \[3, 8\] of 2 have no answer"):
        module.predict(bad)
    with pytest.raises(ValueError, match=r"\['town'\] are missing"):
        module.predict(frame[["color"]])


def test_an_empty_table_has_no_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X = exported_models.fitted("outputs")
    module = _imported(to_numpy(model), tmp_path, monkeypatch)
    assert module.predict(X[:0]).shape == (0, 3)


def test_labels_that_are_no_words_or_numbers() -> None:
    formula = formula_of(exported_models.fitted("classes two, squared")[0])
    odd = replace(formula, answer=replace(formula.answer, labels=(b"a", b"b")))
    for export in (to_numpy, to_javascript):
        with pytest.raises(UnsupportedError, match="words, numbers or Booleans"):
            export(odd)


def test_no_definition_replaces_another() -> None:
    tree = ast.parse(to_numpy(exported_models.fitted("kernel rbf")[0]))
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    assert len(names) == len(set(names))
