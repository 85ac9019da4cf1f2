"""Small fitted models of every kind that exporters write, with rows to compare on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from pursuit import KMPClassifier, KMPRanker, KMPRegressor, kernels
from pursuit.dictionaries import Constant, Features, ManyWidths, OneKernel

N = 60

# Words that would break out of a string, a comment, a script or a template.
HOSTILE = (
    "</script><script>throw 1</script>",
    "'; raise SystemExit(1) #",
    '"; process.exit(1); //',
    '"""',
    "a\\",
    "line\nbreak\r",
    "${process.exit(1)}`",
    "\u2028\u2029",
    "<!-- *//* -->",
    "naïve λ 🙂",
    "__proto__",
    "{name}",
    "%s\t\0 end",
)

KERNELS = {
    "rbf": kernels.Gaussian(gamma=0.3),
    "laplacian": kernels.Laplacian(gamma=0.3),
    "matern 0.5": kernels.Matern(gamma=0.3, nu=0.5),
    "matern 1.5": kernels.Matern(gamma=0.3, nu=1.5),
    "matern 2.5": kernels.Matern(gamma=0.3, nu=2.5),
    "inverse multiquadric": kernels.InverseMultiquadric(gamma=0.3),
    "polynomial": kernels.Polynomial(gamma=0.3, degree=3, coef0=1.0),
    "sigmoid": kernels.Sigmoid(gamma=0.1, coef0=0.2),
    "linear": kernels.Linear(),
    "cosine": kernels.Cosine(),
    "sum": kernels.Gaussian(gamma=0.3) + 0.1 * kernels.Linear(),
    "product": kernels.Gaussian(gamma=0.1) * (kernels.Linear() + 2.0),
    "scales": kernels.InMetric(kernels.Gaussian(gamma=0.3), np.arange(1.0, 5.0)),
    "directions": kernels.InMetric(
        kernels.Laplacian(gamma=0.3), np.arange(8.0).reshape(4, 2) / 5 - 1
    ),
}

PREPARATIONS = {
    "scaler": StandardScaler(),
    "clip": MinMaxScaler(clip=True),
    "yeo-johnson": PowerTransformer(),
    "uniform": QuantileTransformer(n_quantiles=9),
    "normal": QuantileTransformer(n_quantiles=9, output_distribution="normal"),
    "pca": PCA(2, whiten=True),
    "union": FeatureUnion([("a", StandardScaler()), ("b", "passthrough")]),
    "box-cox": make_pipeline(
        FunctionTransformer(),
        MinMaxScaler((1, 2), clip=True),
        PowerTransformer("box-cox"),
    ),
}

# Parameters and labels of classifiers.
CLASSIFIERS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "two, squared": ({"loss": "squared"}, ["no", "yes"]),
    "three, squared": ({"loss": "squared"}, [3, 5, 7]),
    "two, logistic": ({"loss": "logistic"}, [False, True]),
    "three, logistic": ({"loss": "logistic"}, ["a", "b", "c"]),
    "three, one by one": ({"loss": "logistic", "multiclass": "ovr"}, [1.0, 2.0, 4.0]),
    "two, calibrated": (
        {"probability": "temperature", "selection": "cv"},
        ["no", "yes"],
    ),
    "three, calibrated": (
        {"loss": "hinge", "probability": "temperature", "selection": "validation"},
        [3, 5, 7],
    ),
    "many, hinge": ({"loss": "squared-hinge"}, list(HOSTILE)),
}

DICTIONARIES = {
    "widths": ManyWidths(kernels.Gaussian(gamma=0.3)),
    "features": Features(degree=2) + OneKernel(kernels.Gaussian(gamma=0.3)),
    "constant": Constant() + OneKernel(kernels.Laplacian(gamma=0.3)),
}

NAMES = (
    *(f"kernel {name}" for name in KERNELS),
    *(f"preparation {name}" for name in PREPARATIONS),
    *(f"classes {name}" for name in CLASSIFIERS),
    *(f"dictionary {name}" for name in DICTIONARIES),
    "outputs",
    "poisson",
    "ranker",
    "table",
    "table, ordinal",
    "hostile",
)


def numbers(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    X[:, 3] = np.round(X[:, 3])
    return X


def table(seed: int = 0) -> pd.DataFrame:
    """Return rows with missing values and, but for seed 0, with unknown words."""
    rng = np.random.default_rng(seed)
    words = ["red", "green", "blue", *(["puce", "RED"] if seed else [])]
    frame = pd.DataFrame(
        {
            "length": rng.normal(size=N),
            "color": rng.choice(words, N),
            "unused": rng.choice(["x", "y"], N),
            "size": rng.integers(0, 5, N).astype(float),
            "town": rng.choice(list("abcdef"), N),
        }
    )
    for name in ("length", "color", "town"):
        frame[name] = frame[name].mask(rng.random(N) < 0.1)
    return frame.astype({"color": object, "town": object})


def _hostile_table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=N) for name in HOSTILE}
    words = rng.permutation(np.resize(np.array(HOSTILE, dtype=object), N))
    return pd.DataFrame({**columns, "words": words})


def _table_preparation(encoder: Any) -> ColumnTransformer:
    length = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    color = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
    many = OneHotEncoder(min_frequency=9, handle_unknown="infrequent_if_exist")
    return ColumnTransformer(
        [
            ("length", length, ["length"]),
            ("color", color, ["color"]),
            ("many", many, ["town", "size"]),
        ]
    )


def regressor(kernel: Any = KERNELS["rbf"], **parameters: Any) -> KMPRegressor:
    return KMPRegressor(kernel, max_support=7, selection=None, **parameters)


def classifier(**parameters: Any) -> KMPClassifier:
    kernel = KERNELS["rbf"]
    parameters = {"selection": None, **parameters}
    return KMPClassifier(kernel, max_support=7, **parameters)


def _target() -> np.ndarray:
    X = numbers()
    return X[:, 0] * X[:, 1] + X[:, 2]


@cache
def fitted(name: str) -> tuple[Any, Any]:
    """Return a fitted model and new rows."""
    kind, _, which = name.partition(" ")
    X, y, new = numbers(), _target(), numbers(1) * 2.0
    if kind == "kernel":
        return regressor(KERNELS[which]).fit(X, y), new
    if kind == "preparation":
        return make_pipeline(PREPARATIONS[which], regressor()).fit(X, y), new
    if kind == "dictionary":
        model = KMPRegressor(
            dictionary=DICTIONARIES[which], max_support=9, selection=None
        )
        return model.fit(X, y), new
    if kind == "classes":
        parameters, labels = CLASSIFIERS[which]
        places = np.digitize(
            y, np.quantile(y, np.linspace(0, 1, len(labels) + 1)[1:-1])
        )
        return classifier(**parameters).fit(X, np.array(labels)[places]), new
    return _fitted_otherwise(name)


def _fitted_otherwise(name: str) -> tuple[Any, Any]:
    X, y, new = numbers(), _target(), numbers(1) * 2.0
    if name == "outputs":
        return regressor().fit(X, np.column_stack([y, y**2, -y])), new
    if name == "poisson":
        counts = np.round(np.exp(y / 2))
        return regressor(loss="poisson").fit(X, counts), new
    if name == "ranker":
        model = KMPRanker(KERNELS["rbf"], max_support=7, selection=None)
        return model.fit(X, np.round(y), groups=np.arange(len(y)) % 4), new
    if name == "hostile":
        encoder = OneHotEncoder(handle_unknown="ignore")
        prepared = ColumnTransformer(
            [("w", encoder, ["words"])], remainder="passthrough"
        )
        labels = np.array(HOSTILE)[np.arange(N) % len(HOSTILE)]
        model = make_pipeline(prepared, classifier(loss="squared"))
        return model.fit(_hostile_table(), labels), _hostile_table(1)
    if name == "table":
        encoder: Any = OneHotEncoder(drop="first", handle_unknown="ignore")
    else:
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(_table_preparation(encoder), classifier(loss="logistic"))
    return model.fit(table(), np.where(y > 0, "up", "down")), table(1)


def raw_rows(X: Any) -> list[list[Any]]:
    """Return rows as JSON can hold them, with None for missing values."""
    rows = X.to_numpy(dtype=object).tolist() if hasattr(X, "columns") else X.tolist()
    return [[None if value != value else value for value in row] for row in rows]
