"""Exported models beside `predict`: how far their values are, on many data sets.

    python benchmarks/bench_round_trips.py [--sets NAME ...] [--rows 500]

Each set is fitted with every kernel, each behind a preparation in turn; sets with words
(adult, mushrooms) go through imputers and encoders. Values of the exported models on
held-out rows are compared with `decision_function` or `predict`; the error is relative
to the largest value of the model. JavaScript needs node.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pursuit import KMPClassifier, KMPRegressor, datasets, kernels
from pursuit.export import formula_of, to_javascript, to_numpy

WORDS = ("adult", "mushrooms")
SETS = (*WORDS, "boston", "ionosphere", "pima", "ripley", "sonar", "wisconsin")
PREPARATIONS: list[Any] = [
    StandardScaler(),
    MinMaxScaler(clip=True),
    make_pipeline(RobustScaler(), FunctionTransformer()),
    make_pipeline(PowerTransformer(), MinMaxScaler((-1, 1))),
    QuantileTransformer(n_quantiles=50, output_distribution="normal"),
    QuantileTransformer(n_quantiles=50),
]
RUN = """
const fs = require("fs");
const [files, rows] = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const results = files.map((file) => {
  const model = require(file);
  return rows.map((row) => [Array.from(model.values(row)), model.predict(row)]);
});
fs.writeFileSync(process.argv[3], JSON.stringify(results));
"""


class Task(NamedTuple):
    """Rows of a data set, as they are published."""

    train: Any
    test: Any
    y_train: np.ndarray
    is_regression: bool


def kernels_for(n_features: int) -> list[kernels.Kernel]:
    gamma = 1.0 / n_features
    scales = np.linspace(0.5, 1.5, n_features)
    return [
        kernels.Gaussian(gamma=gamma),
        kernels.Laplacian(gamma=gamma),
        kernels.Matern(gamma=gamma, nu=1.5),
        kernels.Matern(gamma=gamma, nu=2.5),
        kernels.InverseMultiquadric(gamma=gamma),
        kernels.Polynomial(gamma=gamma, degree=2, coef0=1.0),
        kernels.Linear() + kernels.Gaussian(gamma=gamma),
        kernels.InMetric(kernels.Gaussian(gamma=gamma), scales),
    ]


def load(name: str, n_rows: int) -> Task:
    data = datasets.load(name, one_hot=False)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(data.target))[: 2 * n_rows]
    y = np.asarray(data.target)[rows]
    half = len(rows) // 2
    is_regression = y.dtype.kind == "f"
    X: Any = np.asarray(data.data, dtype=np.float64)[rows]
    X = _with_words(X, data) if name in WORDS else X
    return Task(X[:half], X[half:], y[:half], is_regression)


def _with_words(X: np.ndarray, data: Any) -> pd.DataFrame:
    """Return codes as the words they stand for, and "?" as a missing value."""
    frame = pd.DataFrame(X, columns=list(data.feature_names))
    for name, categories in data.categories.items():
        words = np.array(categories, dtype=object)[frame[name].astype(int)]
        frame[name] = np.where(words == "?", np.nan, words)
    return frame


def models(task: Task) -> Iterator[Any]:
    has_words = isinstance(task.train, pd.DataFrame)
    preparations = itertools.cycle(PREPARATIONS)
    encoders = itertools.cycle(
        [
            OneHotEncoder(handle_unknown="ignore"),
            OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        ]
    )
    losses = itertools.cycle(["squared", "logistic"])
    for k in range(8):
        steps = [next(preparations)]
        if has_words:
            words = make_pipeline(
                SimpleImputer(strategy="most_frequent"), next(encoders)
            )
            is_word = make_column_selector(dtype_exclude=np.number)
            steps = [make_column_transformer((words, is_word), remainder=steps[0])]
        else:
            steps.insert(0, SimpleImputer(add_indicator=True))
        width = make_pipeline(*steps).fit_transform(task.train).shape[1]
        kernel = kernels_for(width)[k]
        settings = {"max_support": 30, "selection": None}
        model: Any = (
            KMPRegressor(kernel, **settings)
            if task.is_regression
            else KMPClassifier(kernel, loss=next(losses), **settings)
        )
        yield make_pipeline(*steps, model).fit(task.train, task.y_train)


Result = tuple[np.ndarray, np.ndarray]  # values and predictions


def by_numpy(fitted: list[Any], X: Any, folder: Path) -> Iterator[Result]:
    for i, model in enumerate(fitted):
        file = folder / f"written_{i}.py"
        to_numpy(model, file)
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module.FORMULA.answered(X), module.predict(X)


def by_javascript(fitted: list[Any], X: Any, folder: Path) -> Iterator[Result]:
    files = [str(folder / f"written_{i}.cjs") for i in range(len(fitted))]
    for model, file in zip(fitted, files, strict=True):
        to_javascript(model, file, module="commonjs")
    rows = X.to_numpy(dtype=object) if hasattr(X, "columns") else X
    plain = [[None if v != v else v for v in row] for row in rows.tolist()]
    (folder / "cases.json").write_text(json.dumps([files, plain]), encoding="utf-8")
    (folder / "run.cjs").write_text(RUN, encoding="utf-8")
    names = [str(folder / n) for n in ("run.cjs", "cases.json", "results.json")]
    subprocess.run(["node", *names], check=True)
    for pairs in json.loads(Path(names[2]).read_text(encoding="utf-8")):
        values, predictions = zip(*pairs, strict=True)
        yield np.array(values), np.array(predictions)


LANGUAGES: dict[str, Callable[[list[Any], Any, Path], Iterator[Result]]] = {
    "NumPy": by_numpy,
    **({"JavaScript": by_javascript} if shutil.which("node") else {}),
}


def compare(name: str, n_rows: int) -> tuple[dict[str, float], int, int]:
    """Return the largest relative error by language, models and other labels."""
    task = load(name, n_rows)
    fitted, n_other = list(models(task)), 0
    errors = dict.fromkeys(LANGUAGES, 0.0)
    for language, run in LANGUAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            results = list(run(fitted, task.test, Path(folder)))
        for model, (values, predictions) in zip(fitted, results, strict=True):
            is_classes = formula_of(model).answer.kind == "classes"
            expected = (model.decision_function if is_classes else model.predict)(
                task.test
            ).reshape(values.shape)
            error = np.abs(values - expected).max() / np.abs(expected).max()
            errors[language] = max(errors[language], float(error))
            if is_classes:
                n_other += int((predictions != model.predict(task.test)).sum())
    return errors, len(fitted), n_other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=[*SETS, *datasets.tables()])
    parser.add_argument("--rows", type=int, default=500)
    options = parser.parse_args()
    print(f"{'set':<22}{'models':>7}{'other labels':>14}", *LANGUAGES, sep="  ")
    for name in options.sets:
        errors, n_models, n_other = compare(name, options.rows)
        figures = "  ".join(f"{error:.1e}" for error in errors.values())
        print(f"{name:<22}{n_models:>7}{n_other:>14}  {figures}", flush=True)


if __name__ == "__main__":
    main()
