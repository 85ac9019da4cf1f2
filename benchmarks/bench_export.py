"""Size and speed of an exported model, beside a support vector machine and boosting.

    python benchmarks/bench_export.py [--points 50] [--rows 2000] [--repeats 5]

One row is predicted at a time. Bytes of C are those of the object file (gcc -Os,
``size``). The support vector machine is written in C by the same exporter, from its
vectors and coefficients, boosted trees (LightGBM) by m2cgen. What needs a tool that is
not there is left out, and said.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pursuit import KMPClassifier
from pursuit.export import Formula, formula_of, to_c, to_javascript, to_numpy
from pursuit.export.formula import Comparison, KernelGroup

WRAPPER = """
#include "model.h"
int predict(const {T} *row);
int predict(const {T} *row) {{ return model_predict(row); }}
"""
LOOP = """
#include "model.h"
void many(const {T} *rows, int *out, int n);
void many(const {T} *rows, int *out, int n)
{{
    int i;
    for (i = 0; i < n; i++)
        out[i] = model_predict(rows + i * MODEL_N_INPUTS);
}}
"""
M2CGEN_LOOP = """
#include "model.h"
void many(double *rows, int *out, int n);
void many(double *rows, int *out, int n)
{
    int i;
    for (i = 0; i < n; i++) {
        double *row = rows + i * N_INPUTS;
        ANSWER
    }
}
"""
JAVASCRIPT = """
const model = require(process.argv[2]);
const rows = JSON.parse(require("fs").readFileSync(process.argv[3], "utf8"));
let best = Infinity;
for (let k = 0; k < 7; k++) {
  const start = process.hrtime.bigint();
  for (const row of rows) model.predict(row);
  best = Math.min(best, Number(process.hrtime.bigint() - start) / 1e3 / rows.length);
}
console.log(best);
"""


class Line(NamedTuple):
    """A line of the table; None is not known, or does not apply."""

    model: str
    form: str
    n_bytes: int | None
    microseconds: float | None


class MissingError(Exception):
    """A tool that is not there."""


def microseconds(predict: Callable[[Any], Any], rows: Any, repeats: int) -> float:
    """Return the time of one row: the least over repeats of the mean over rows."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for row in rows:
            predict(row)
        times.append(time.perf_counter() - start)
    return 1e6 * min(times) / len(rows)


def compiled(
    model: Any, X: np.ndarray, number: str, repeats: int, formula: Any = None
) -> Line:
    """Return size and speed of a model in C, written by pursuit."""
    code = to_c(model if formula is None else formula, X=X, number=number)
    T = "int32_t" if number == "fixed" else number
    sources = {
        "model.h": code.code,
        "size.c": WRAPPER.format(T=T),
        "loop.c": LOOP.format(T=T),
    }
    rows = np.ascontiguousarray(code.rows(X))
    return in_c(f"C, {number}", sources, rows, X, model, repeats)


def by_m2cgen(model: Any, X: np.ndarray, repeats: int) -> Line:
    """Return size and speed of a model in C, written by m2cgen."""
    try:
        import m2cgen
    except ImportError as error:
        raise MissingError(str(error)) from None
    try:
        code = m2cgen.export_to_c(model)
    except (NotImplementedError, RecursionError) as error:
        raise MissingError(f"m2cgen and {type(model).__name__}: {error}") from None
    answer = "out[i] = score(row) > 0;"
    if "void score(" in code:
        answer = "double p[2]; score(row, p); out[i] = p[1] > p[0];"
    loop = M2CGEN_LOOP.replace("N_INPUTS", str(X.shape[1])).replace("ANSWER", answer)
    sources = {"model.h": code, "size.c": '#include "model.h"\n', "loop.c": loop}
    rows = np.ascontiguousarray(X, dtype=np.float64)
    return in_c("C, double, by m2cgen", sources, rows, X, model, repeats)


def in_c(
    form: str,
    sources: dict[str, str],
    rows: np.ndarray,
    X: np.ndarray,
    model: Any,
    repeats: int,
) -> Line:
    """Return size and speed of sources: size.c is the object, loop.c predicts rows."""
    if not all(map(shutil.which, ("gcc", "size"))):
        raise MissingError("gcc or size is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in sources.items():
            (folder / file).write_text(text)
        for command in (
            "gcc -Os -c size.c -o size.o",
            "gcc -O2 -shared -fPIC loop.c -o loop.so -lm",
        ):
            subprocess.run(command.split(), cwd=folder, check=True)
        sizes = subprocess.run(
            ["size", "size.o"], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.split()
        many = ctypes.CDLL(str(folder / "loop.so")).many
    out = np.empty(len(rows), dtype=np.int32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (rows, out)]
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        many(*pointers, len(rows))
        times.append(time.perf_counter() - start)
    wrong = int((model.classes_[out] != model.predict(X)).sum())
    told = f" ({wrong} other labels)" if wrong else ""
    return Line("", form + told, int(sizes[6]), 1e6 * min(times) / len(rows))


def formula_of_svc(svc: Any, model: Any) -> Formula:
    """Return what an SVC of two classes computes behind the same scaler as a model."""
    formula, last = formula_of(model), svc[-1]
    vectors = last.support_vectors_
    origin = vectors.mean(axis=0)
    gamma = 1 / vectors.shape[1]  # of standardized columns, whose variance is 1
    leaf = Comparison(
        "squared-distance",
        "exponential",
        vectors - origin,
        np.array([gamma]),
        origin=origin,
    )
    groups = (KernelGroup(leaf, len(vectors)),)
    coef, intercept = last.dual_coef_, last.intercept_
    return replace(formula, groups=groups, coef=coef, intercept=intercept)


def in_onnx(model: Any, X: np.ndarray, repeats: int, n_rows: int = 500) -> Line:
    """Return size and speed of a model in onnxruntime."""
    try:
        import onnxruntime

        from pursuit.export import to_onnx
    except ImportError as error:
        raise MissingError(str(error)) from None
    if isinstance(model[-1], SVC):
        from skl2onnx import to_onnx as convert

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of skl2onnx
            content = convert(model, X[:1].astype(np.float32)).SerializeToString()
    else:
        graph = to_onnx(model, dtype="float32")
        content = getattr(graph, "model", graph).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    if len(session.get_inputs()) != 1:
        raise MissingError("the graph takes a tensor for each column")
    name = session.get_inputs()[0].name
    rows = X[:n_rows, None].astype(np.float32)
    each = microseconds(lambda row: session.run(None, {name: row}), rows, repeats)
    return Line("", "ONNX, float32", len(content), each)


def in_javascript(model: Any, X: np.ndarray) -> Line:
    """Return size and speed of a model in node."""
    if shutil.which("node") is None:
        raise MissingError("node is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = to_javascript(model, folder / "model.cjs", module="commonjs")
        (folder / "run.cjs").write_text(JAVASCRIPT)
        (folder / "rows.json").write_text(json.dumps(X.tolist()))
        done = subprocess.run(
            ["node", "run.cjs", str(folder / "model.cjs"), "rows.json"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
    return Line("", "JavaScript", len(source.encode()), float(done.stdout))


def in_file(model: Any) -> Line:
    """Return the size of a model file."""
    try:
        from pursuit import save
    except ImportError as error:
        raise MissingError(str(error)) from None
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.pursuit"
        save(model, path)
        return Line("", "model file", path.stat().st_size, None)


def smallest(pipeline: Any) -> Any:
    """Return the pipeline with nothing that predictions do not need."""
    return make_pipeline(pipeline[0], pipeline[-1].truncate())


def lines(X: np.ndarray, y: np.ndarray, points: int, repeats: int) -> Iterator[Line]:
    """Yield the lines of the table."""
    X, test, y, y_test = train_test_split(X, y, random_state=0)
    kmp = KMPClassifier("rbf", max_support=points, selection=None, alpha=1e-3)
    model = smallest(make_pipeline(StandardScaler(), kmp).fit(X, y))
    svc = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    boosted = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    others = [("HistGradientBoosting, 100 trees", boosted)]
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        print(f"Left out: {error}.", file=sys.stderr)
    else:
        light = LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1).fit(X, y)
        others.append(("LightGBM, 100 trees", light))
    few = test[:200, None]
    for name, each in (
        (f"KMP, {model[-1].n_support_} points", model),
        (f"SVC, {len(svc[-1].support_vectors_)} vectors", svc),
        *others,
    ):
        error = f"{100 * (1 - each.score(test, y_test)):.1f} % wrong"
        speed = microseconds(each.predict, few, repeats)
        yield Line(f"{name}, {error}", "pickle, `predict`", pickled(each), speed)
        tries: list[Callable[[], Line]] = []
        if each is model:
            tries += [
                lambda: in_file(model),
                lambda: Line("", "NumPy alone", len(to_numpy(model).encode()), None),
                lambda: in_javascript(model, test),
                lambda: compiled(model, test, "double", repeats),
                lambda: compiled(model, test, "float", repeats),
                lambda: compiled(model, test, "fixed", repeats),
            ]
        elif each is svc:
            formula = formula_of_svc(svc, model)
            tries += [
                partial(compiled, svc, test, "double", repeats, formula),
                partial(compiled, svc, test, "float", repeats, formula),
                lambda: by_m2cgen(svc[-1], svc[0].transform(test), repeats),
            ]
        elif each is not boosted:  # which m2cgen does not know
            tries.append(partial(by_m2cgen, each, test, repeats))
        if each is model or each is svc:
            tries.append(partial(in_onnx, each, test, repeats))
        for attempt in tries:
            try:
                yield attempt()
            except MissingError as missing:
                print(f"Left out: {missing}.", file=sys.stderr)


def pickled(model: Any) -> int:
    """Return the bytes of a pickle."""
    return len(pickle.dumps(model))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args(arguments)
    X, y = make_classification(
        chosen.rows, 10, n_informative=6, flip_y=0.05, class_sep=0.8, random_state=0
    )
    print("| model | form | bytes | µs for a row |")
    print("|---|---|---:|---:|")
    with threadpool_limits(1):
        for line in lines(X, y, chosen.points, chosen.repeats):
            size = "" if line.n_bytes is None else f"{line.n_bytes}"
            speed = "" if line.microseconds is None else f"{line.microseconds:.2f}"
            print(f"| {line.model} | {line.form} | {size} | {speed} |", flush=True)


if __name__ == "__main__":
    main()
