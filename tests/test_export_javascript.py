"""Models in JavaScript, run by node."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import exported_models
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pursuit import save
from pursuit.export import UnsupportedError, formula_of, to_javascript
from pursuit.export.javascript import script_source

# With drop=, scikit-learn warns of categories that it ignores as asked.
pytestmark = pytest.mark.filterwarnings("ignore:Found unknown categories")

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

# Runs all models in one process: a node takes 50 ms to start.
RUN_ALL = """
const fs = require("fs");
const cases = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const results = cases.map(({ file, rows }) => {
  const model = require(file);
  const names = model.inputs.map((input) => input.name);
  const asObject = (row) =>
    Object.fromEntries([...row.entries()].map(([i, value]) => [names[i], value]));
  return {
    inputs: names,
    values: rows.map((row) => Array.from(model.values(row))),
    byName: rows.map((row) => Array.from(model.values(asObject(row)))),
    predictions: rows.map((row) => model.predict(row)),
    probabilities: rows.map((row) => model.probabilities(row)),
  };
});
fs.writeFileSync(process.argv[3], JSON.stringify(results));
"""


def _node(*arguments: Any) -> str:
    command = [str(NODE), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What JavaScript computes for every model."""
    if NODE is None:
        pytest.skip("node is not installed")
    folder = tmp_path_factory.mktemp("javascript")
    cases = []
    for i, name in enumerate(exported_models.NAMES):
        model, X = exported_models.fitted(name)
        file = folder / f"model_{i}.cjs"
        to_javascript(model, file, module="commonjs")
        cases.append({"file": str(file), "rows": exported_models.raw_rows(X)})
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    (folder / "run.cjs").write_text(RUN_ALL, encoding="utf-8")
    _node(folder / "run.cjs", folder / "cases.json", folder / "results.json")
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return dict(zip(exported_models.NAMES, found, strict=True))


@pytest.mark.parametrize("name", exported_models.NAMES)
def test_javascript_agrees_with_predict(name: str, results: dict[str, Any]) -> None:
    model, X = exported_models.fitted(name)
    formula, found = formula_of(model), results[name]
    assert found["inputs"] == [each.name for each in formula.inputs]
    values = formula.values(formula.coded(X))
    scale = np.abs(values).max()
    for way in ("values", "byName"):
        np.testing.assert_allclose(found[way], values, rtol=0, atol=1e-13 * scale)
    predictions = np.array(found["predictions"])
    if formula.answer.kind == "numbers":
        np.testing.assert_allclose(predictions, model.predict(X), atol=1e-12 * scale)
        assert found["probabilities"][0] is None
        return
    assert (predictions == model.predict(X)).all()
    if formula.answer.has_probabilities:
        expected = model.predict_proba(X)
        np.testing.assert_allclose(found["probabilities"], expected, atol=1e-13)
    else:
        assert found["probabilities"][0] is None


def test_no_word_leaves_its_string() -> None:
    source = to_javascript(exported_models.fitted("hostile")[0], module="script")
    runtime = script_source("runtime.js")
    data = source.replace(runtime, "")
    assert not re.search(r"</|<!--|[^\x20-\x7e\n]", data)
    assert "</script" not in runtime
    assert "<!--" not in runtime


@needs_node
def test_kinds_of_modules(tmp_path: Any) -> None:
    model, X = exported_models.fitted("classes two, logistic")
    to_javascript(model, tmp_path / "esm.mjs", name="first")
    to_javascript(model, tmp_path / "common.cjs", module="commonjs")
    to_javascript(model, tmp_path / "script.js", name="$third", module="script")
    row = json.dumps(X[0].tolist())
    (tmp_path / "run.mjs").write_text(
        f"""
        import fs from "fs";
        import vm from "vm";
        import standard, {{ first }} from "./esm.mjs";
        import common from "./common.cjs";
        const file = {json.dumps(str(tmp_path / "script.js"))};
        const script = fs.readFileSync(file, "utf8");
        const third = vm.runInThisContext(script + "; $third");
        const models = [standard, first, common, third];
        console.log(JSON.stringify(models.map((m) => m.probabilities({row}))));
        """,
        encoding="utf-8",
    )
    found = np.array(json.loads(_node(tmp_path / "run.mjs")))
    np.testing.assert_allclose(found, np.tile(model.predict_proba(X[:1]), (4, 1)))


@needs_node
def test_rows_without_an_answer_are_refused(tmp_path: Any) -> None:
    frame = exported_models.table()[["color", "town", "size"]].fillna("a")
    model = make_pipeline(OneHotEncoder(), exported_models.regressor())
    model.fit(frame, np.arange(len(frame)))
    to_javascript(model, tmp_path / "model.cjs", module="commonjs")
    rows = [
        '["red", "a", 1]',
        '["red", "a", "1"]',
        '["puce", "a", 1]',
        '["red", null, 1]',
        '["red", "a"]',
        '["red", "a", "much"]',
        '["red", "a", " "]',
        '["red", "a", []]',
        '{ color: "red", town: "a" }',
        '{ color: "red", town: "a", size: 1, more: 2 }',
    ]
    calls = ", ".join(f"() => model.predict({row})" for row in rows)
    (tmp_path / "run.cjs").write_text(
        f"""
        const model = require("./model.cjs");
        const told = (call) => {{
          try {{ return call(); }} catch (error) {{ return error.message; }}
        }};
        console.log(JSON.stringify([{calls}].map(told)));
        """,
        encoding="utf-8",
    )
    found = json.loads(_node(tmp_path / "run.cjs"))
    expected = model.predict(frame.iloc[:1].assign(color="red", town="a", size=1.0))[0]
    for place in (0, 1, 9):
        assert found[place] == pytest.approx(expected, rel=1e-12)
    for place in (2, 3):
        assert "no answer" in found[place]
    assert "2 values instead of 3" in found[4]
    assert found[5] == '"size" must be a number, not "much".'
    assert found[6] == '"size" must be a number, not " ".'
    assert found[7] == '"size" must be a number, not [].'
    assert found[8] == 'The row lacks "size"; null is a missing value.'


@needs_node
def test_other_sizes_of_the_path_and_single_functions(tmp_path: Any) -> None:
    model, X = exported_models.fitted("outputs")
    small, formula = model.truncate(3), formula_of(model)
    coef = np.zeros((3, 7))
    coef[:, :3] = small.dual_coef_
    to_javascript(model, tmp_path / "model.cjs", module="commonjs")
    rows, flat = X[:5].tolist(), coef.ravel().tolist()
    short = small.dual_coef_.ravel().tolist()
    intercept = small.intercept_.tolist()
    (tmp_path / "run.cjs").write_text(
        f"""
        const model = require("./model.cjs");
        const rows = {rows};
        const list = (array) => Array.from(array);
        console.log(JSON.stringify({{
          padded: rows.map((r) => list(model.values(r, {flat}, {intercept}, 3))),
          short: rows.map((r) => list(model.values(r, {short}, {intercept}))),
          functions: rows.map((r) => list(model.functionValues(model.prepare(r)))),
        }}));
        """,
        encoding="utf-8",
    )
    found = json.loads(_node(tmp_path / "run.cjs"))
    expected = small.predict(X[:5])
    np.testing.assert_allclose(found["padded"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["short"], expected, rtol=1e-12)
    functions = formula.groups[0](X[:5])
    np.testing.assert_allclose(found["functions"], functions, rtol=1e-12)


@needs_node
def test_the_reader_of_model_files(tmp_path: Any) -> None:
    model, X = exported_models.fitted("table")
    save(model, tmp_path / "saved")
    good = (tmp_path / "saved").read_bytes()
    files = {
        "good": good,
        "cut": good[:-8],
        "empty": b"",
        "other": b"PK" + good[2:],
        "later": good[:8] + struct.pack("<I", 2) + good[12:],
        "long": good[:12] + struct.pack("<I", 2**31) + good[16:],
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    source = script_source("runtime.js") + script_source("reader.js")
    rows = json.dumps(exported_models.raw_rows(X))
    (tmp_path / "run.cjs").write_text(
        f"""
        {source}
        const fs = require("fs");
        const read = (name) => {{
          const file = fs.readFileSync(__dirname + "/" + name);
          const {{ buffer, byteOffset: start, length }} = file;
          const {{ formula }} = readModelFile(buffer.slice(start, start + length));
          const model = new Model(formula);
          return {rows}.map((row) => model.values(row)[0]);
        }};
        const told = (name) => {{
          try {{ return read(name); }} catch (error) {{ return error.message; }}
        }};
        console.log(JSON.stringify({json.dumps(list(files))}.map(told)));
        """,
        encoding="utf-8",
    )
    found = dict(zip(files, json.loads(_node(tmp_path / "run.cjs")), strict=True))
    np.testing.assert_allclose(found["good"], model.decision_function(X), atol=1e-13)
    assert "cut off" in found["cut"]
    assert "cut off" in found["long"]
    assert "not a model file" in found["empty"]
    assert "not a model file" in found["other"]
    assert "knows format 1" in found["later"]


@needs_node
def test_the_page_says_what_its_javascript_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = Path(__file__).parents[1] / "docs" / "export.md"
    blocks = re.findall(r"```(python|js)\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {"print": lambda *_: None}
    monkeypatch.delitem(sys.modules, "buying", raising=False)
    exec("".join(text for kind, text in blocks if kind == "python"), names)
    monkeypatch.delitem(sys.modules, "buying")
    (script,) = (text for kind, text in blocks if kind == "js")
    calls = re.findall(r"^(model\..*); //", script, re.MULTILINE)
    printed = "".join(f"console.log(JSON.stringify({call}));\n" for call in calls)
    file = names["folder"] / "page.mjs"
    file.write_text('import model from "./model.mjs";\n' + printed, encoding="utf-8")
    answer, other, probabilities, inputs = map(json.loads, _node(file).splitlines())
    model = names["model"]
    unknown = pd.DataFrame({"age": [31], "income": [np.nan], "town": ["Oslo"]})
    assert answer == "yes"
    assert other == model.predict(unknown)[0]
    np.testing.assert_allclose(probabilities, model.predict_proba(unknown)[0])
    assert inputs[0]["name"] == "age"


def test_bad_parameters_of_the_exporter() -> None:
    model, X = exported_models.fitted("kernel rbf")
    for name in ("1st", "a b", "class", "x;y", ""):
        with pytest.raises(ValueError, match="must be a name in JavaScript"):
            to_javascript(model, name=name)
    with pytest.raises(ValueError, match="module"):
        to_javascript(model, module="amd")
    labels = np.where(X[:, 0] > 0, 2**60, 0)
    with pytest.raises(UnsupportedError, match="labels of words"):
        to_javascript(exported_models.classifier().fit(X, labels))
