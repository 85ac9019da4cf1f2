"""Compiled C beside `predict`, and beside the bounds that each header states.

    python benchmarks/bench_round_trips_c.py [--sets NAME ...] [--rows 500]

The models of ``bench_round_trips.py``: every kernel behind a preparation in turn, on
every data set. For each kind of numbers: the largest error of a value, relative to the
largest value; the largest share of the stated bound (in double precision `predict`
itself is as far from exact numbers as the header); labels other than the model's, and
how many of these are farther from another class than the bound (none may be). Fixed
point leaves out what it cannot write. Needs gcc.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench_round_trips import SETS, load, models

from pursuit import datasets
from pursuit.export import UnsupportedError, formula_of, to_c

NUMBERS = ("double", "float", "fixed")
LOOP = """
#include "model.h"
void many(const {T} *rows, {T} *out, int n);
void many(const {T} *rows, {T} *out, int n)
{{
    int i;
    for (i = 0; i < n; i++)
        model_values(rows + i * MODEL_N_INPUTS, out + i * MODEL_N_OUTPUTS);
}}
"""


def device_values(code: Any, X: Any) -> np.ndarray:
    """Return the values of the compiled header, as real numbers."""
    T = "int32_t" if code.number == "fixed" else code.number
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code.save(folder / "model.h")
        (folder / "loop.c").write_text(LOOP.format(T=T))
        command = "gcc -std=c99 -O1 -shared -fPIC loop.c -o loop.so -lm"
        subprocess.run(command.split(), cwd=folder, check=True)
        many = ctypes.CDLL(str(folder / "loop.so")).many
    rows = np.ascontiguousarray(code.rows(X))
    out = np.empty((len(rows), len(code.error_bound)), dtype=rows.dtype)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (rows, out)]
    many(*pointers, len(rows))
    bits = 0 if code.output_bits is None else code.output_bits
    return np.ldexp(out.astype(np.float64), -bits)


def margins(f: np.ndarray) -> np.ndarray:
    """Return how far each row is from another class."""
    if f.shape[1] == 1:
        return np.abs(f[:, 0])
    ordered = np.sort(f, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def tried(model: Any, X: Any, number: str) -> dict[str, float]:
    """Return errors and counts of a model in C."""
    code = to_c(model, X=X, number=number)
    answer = formula_of(model).answer
    is_classes = answer.kind == "classes"
    values = device_values(code, X)
    exact = (model.decision_function if is_classes else model.predict)(X)
    exact = np.asarray(exact).reshape(values.shape)
    error = np.abs(values - exact)
    found = {
        "error": float(error.max() / np.abs(exact).max()),
        "share": float((error / code.error_bound).max()),
    }
    if is_classes:
        differ = answer.classes(values) != answer.classes(exact)
        found["labels"] = int(differ.sum())
        limit = 2.0 * code.error_bound.max()
        found["wrong"] = int((margins(exact)[differ] > limit).sum())
    return found


def compare(name: str, n_rows: int) -> tuple[int, dict[str, Counter[str]]]:
    """Return the number of models, and the worst figures for each kind of numbers."""
    task = load(name, n_rows)
    fitted = list(models(task))
    worst: dict[str, Counter[str]] = {number: Counter() for number in NUMBERS}
    for number, total in worst.items():
        for model in fitted:
            try:
                found = tried(model, task.test, number)
            except UnsupportedError:
                continue
            total["models"] += 1
            for key, value in found.items():
                if key in ("error", "share"):
                    total[key] = max(total[key], value)  # type: ignore[assignment]
                else:
                    total[key] += int(value)
    return len(fitted), worst


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=[*SETS, *datasets.tables()])
    parser.add_argument("--rows", type=int, default=500)
    options = parser.parse_args(arguments)
    print("| set | numbers | models | error | share of bound | other labels | wrong |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in options.sets:
        n_models, worst = compare(name, options.rows)
        for number, total in worst.items():
            print(
                f"| {name} | {number} | {total['models']} of {n_models} | "
                f"{total['error']:.1e} | {total['share']:.2f} | {total['labels']} | "
                f"{total['wrong']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
