"""Pipelines as formulas: equal to what scikit-learn computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
)
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

from pursuit import KMPClassifier, KMPRegressor, LearnedMetric, kernels
from pursuit.export import UnsupportedError, formula_of

N = 60


def _regressor(**parameters: Any) -> KMPRegressor:
    kernel = kernels.Gaussian(gamma=0.2)
    return KMPRegressor(kernel, max_support=5, selection=None, **parameters)


def _numbers(seed: int = 0, missing: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4)) * [1.0, 5.0, 0.1, 1.0] + [0.0, 3.0, 0.0, -2.0]
    X[:, 3] = np.round(X[:, 3])  # ties
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X


def _frame(seed: int = 0, missing: Any = np.nan) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(_numbers(seed), columns=["a", "b", "c", "d"])
    frame["color"] = rng.choice(["red", "green", "blue"], N, p=[0.6, 0.3, 0.1])
    frame["town"] = rng.choice(list("opqrstu"), N).astype(object)
    frame["grade"] = rng.integers(0, 4, N)
    if missing is not None:
        frame["town"] = frame["town"].mask(rng.random(N) < 0.2, missing)
        frame["b"] = frame["b"].mask(rng.random(N) < 0.2)
    return frame


def _target(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=N)


def _agrees(model: Any, X: Any, tolerance: float = 1e-12) -> None:
    formula = formula_of(model)
    values = formula.values(formula.coded(X))
    expected = np.asarray(model.predict(X)).reshape(len(values), -1)
    scale = np.abs(expected).max()
    assert np.abs(values - expected).max() <= tolerance * max(scale, 1.0)


NUMERIC = {
    "standard": StandardScaler(),
    "standard, mean only": StandardScaler(with_std=False),
    "standard, std only": StandardScaler(with_mean=False),
    "minmax": MinMaxScaler((-1, 2)),
    "minmax, clip": MinMaxScaler(clip=True),
    "maxabs": MaxAbsScaler(),
    "robust": RobustScaler(unit_variance=True),
    "robust, center only": RobustScaler(with_scaling=False),
    "yeo-johnson": PowerTransformer(),
    "yeo-johnson, raw": PowerTransformer(standardize=False),
    "uniform": QuantileTransformer(n_quantiles=20),
    "normal": QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    "pca": PCA(2),
    "pca, whiten": PCA(3, whiten=True),
    "svd": TruncatedSVD(2),
    "nothing": FunctionTransformer(),
    "passthrough": "passthrough",
    "union": FeatureUnion(
        [("s", StandardScaler()), ("q", MinMaxScaler()), ("out", "drop")],
        transformer_weights={"q": 3.0},
    ),
    "union with itself": FeatureUnion(
        [("same", "passthrough"), ("p", PowerTransformer())]
    ),
}


@pytest.mark.parametrize("name", NUMERIC)
def test_transformers_of_numbers(name: str) -> None:
    model = make_pipeline(NUMERIC[name], _regressor()).fit(_numbers(), _target())
    outside = _numbers(1) * 3.0  # beyond what was seen
    _agrees(model, _numbers())
    _agrees(model, outside)


@pytest.mark.parametrize("func", [np.log, np.log1p])
def test_logarithms(func: Any) -> None:
    X = np.abs(_numbers()) + 1e-3
    model = make_pipeline(FunctionTransformer(func), _regressor()).fit(X, _target())
    _agrees(model, X)


def test_box_cox() -> None:
    X = np.abs(_numbers()) + 0.1
    model = make_pipeline(PowerTransformer("box-cox"), _regressor())
    _agrees(model.fit(X, _target()), X)


@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_quantiles_at_their_ends_and_ties(law: str) -> None:
    X = np.column_stack([_numbers(), np.full(N, 2.0), np.arange(N) // 20])
    transformer = QuantileTransformer(n_quantiles=15, output_distribution=law).fit(X)
    (step,) = formula_of(make_pipeline(transformer, _regressor().fit(X, X[:, 0]))).steps
    ends = transformer.quantiles_[[0, -1]]
    probes = [ends, ends - 5e-8, ends + 5e-8, ends - 1e-6, ends + 1e-6, ends * 100]
    probes += [transformer.quantiles_, X, np.full((1, 6), np.nan)]
    rows = np.vstack(probes)
    np.testing.assert_allclose(step(rows), transformer.transform(rows), atol=1e-15)


@pytest.mark.parametrize("transformer", [PowerTransformer(), StandardScaler()])
def test_missing_values_pass_through_transformers(transformer: Any) -> None:
    X = _numbers(missing=True)
    model = make_pipeline(transformer, SimpleImputer(), _regressor())
    _agrees(model.fit(X, _target()), X)


def test_a_scaler_far_from_zero_loses_no_digits() -> None:
    X = _numbers() + 1e9
    model = make_pipeline(StandardScaler(), _regressor()).fit(X, _target())
    _agrees(model, X, 1e-13)


IMPUTERS = {
    "mean": SimpleImputer(),
    "median": SimpleImputer(strategy="median"),
    "frequent": SimpleImputer(strategy="most_frequent"),
    "constant": SimpleImputer(strategy="constant", fill_value=-7.0),
    "indicator": SimpleImputer(add_indicator=True),
    "number": SimpleImputer(missing_values=-2.0),
    "number, indicator": SimpleImputer(missing_values=-2.0, add_indicator=True),
    "flags": FeatureUnion([("f", SimpleImputer()), ("m", MissingIndicator())]),
    "all flags": FeatureUnion(
        [("f", SimpleImputer()), ("m", MissingIndicator(features="all"))]
    ),
}


@pytest.mark.parametrize("name", IMPUTERS)
def test_imputers(name: str) -> None:
    X = _numbers(missing="number" not in name)
    X[:, 0] = _numbers()[:, 0]  # no flag for this one
    model = make_pipeline(IMPUTERS[name], StandardScaler(), _regressor())
    _agrees(model.fit(X, _target()), X)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.filterwarnings("ignore:Skipping features")
def test_columns_without_values(keep: bool) -> None:
    X = _numbers(missing=True)
    X[:, 1] = np.nan
    imputer = SimpleImputer(keep_empty_features=keep, add_indicator=True)
    _agrees(make_pipeline(imputer, _regressor()).fit(X, _target()), X)


ENCODERS = {
    "plain": OneHotEncoder(handle_unknown="ignore"),
    "dense": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "first": OneHotEncoder(drop="first", handle_unknown="ignore"),
    "binary": OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    "named": OneHotEncoder(drop=["red", "p", 2], handle_unknown="ignore"),
    "rare": OneHotEncoder(min_frequency=9, handle_unknown="infrequent_if_exist"),
    "rare, dropped": OneHotEncoder(
        min_frequency=9, handle_unknown="infrequent_if_exist", drop="first"
    ),
    "rare, ignored": OneHotEncoder(max_categories=3, handle_unknown="ignore"),
    "one group": OneHotEncoder(max_categories=1, handle_unknown="infrequent_if_exist"),
    "ordinal": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    ),
    "ordinal, rare": OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=-1,
        encoded_missing_value=-2,
        min_frequency=9,
    ),
    "ordinal, filled": make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
        SimpleImputer(),
    ),
}


@pytest.mark.parametrize("missing", [None, np.nan, "none"])
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_encoders(name: str, missing: Any) -> None:
    columns = ["color", "town", "grade"]
    frame = _frame(missing=np.nan if missing == "none" else missing)[columns]
    if missing == "none":
        frame = frame.astype(object).where(frame.notna(), None)
    new = frame.copy()
    new.loc[:3, "color"] = ["puce", "", "RED", "blue"]
    new.loc[:3, "grade"] = [9, -1, 2, 3]
    model = make_pipeline(ENCODERS[name], _regressor())
    model.fit(frame, _target())
    _agrees(model, frame)
    _agrees(model, new)


def test_categories_of_numbers_booleans_and_given_lists() -> None:
    frame = pd.DataFrame(
        {
            "flag": np.arange(N) % 3 == 0,
            "size": (np.arange(N) % 5) * 0.5,
            "level": pd.Categorical(np.array(["low", "high"])[np.arange(N) % 2]),
        }
    )
    lists = [[False, True], np.arange(5) * 0.5, ["low", "middle", "high"]]
    encoder = OneHotEncoder(categories=lists, handle_unknown="ignore")
    model = make_pipeline(encoder, _regressor()).fit(frame, _target())
    _agrees(model, frame)
    inputs = formula_of(model).inputs
    assert [each.categories for each in inputs] == [
        None,
        None,
        ("low", "middle", "high"),
    ]


def test_a_category_of_one_missing_value_and_its_drop() -> None:
    X = np.array([[1.0], [2.0], [np.nan]] * 20)
    model = make_pipeline(OneHotEncoder(drop=[np.nan]), _regressor())
    _agrees(model.fit(X, _target()), X)


def _usual(**options: Any) -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    return ColumnTransformer(
        [("numbers", numbers, ["b", "a"]), ("words", words, ["color", "town"])],
        **options,
    )


@pytest.mark.parametrize(
    "remainder", ["drop", "passthrough", StandardScaler(), MaxAbsScaler()]
)
def test_the_usual_pipeline(remainder: Any) -> None:
    model = make_pipeline(_usual(remainder=remainder), _regressor())
    frame = _frame()
    model.fit(frame, _target())
    _agrees(model, frame)
    new = _frame(1)
    new.loc[0, ["color", "town"]] = ["puce", None if remainder == "drop" else "o"]
    formula = formula_of(model)
    coded = formula.coded(new[reversed(new.columns)])  # found by name
    new["town"] = new["town"].fillna(np.nan)  # None would be a word to scikit-learn
    expected = model.predict(new)
    np.testing.assert_allclose(formula.values(coded)[:, 0], expected, rtol=1e-12)


def test_words_have_the_order_of_their_encoder() -> None:
    frame = _frame()[["town", "color"]].astype(object)
    order = ["red", "blue", "green", "violet"]
    towns = [*"utsrqpo", "missing_value"]
    model = make_pipeline(
        SimpleImputer(strategy="constant"),
        OrdinalEncoder(categories=[towns, order]),
        _regressor(),
    )
    town, color = formula_of(model.fit(frame, _target())).inputs
    assert town.categories == tuple(towns)
    assert color.categories == (*order, "missing_value")


def test_frames_of_polars() -> None:
    frame = pl.from_pandas(_frame(missing=None))
    model = make_pipeline(_usual(remainder="passthrough"), _regressor())
    model.fit(frame, _target())
    _agrees(model, frame)
    holes = frame.with_columns(pl.when(pl.col("a") > 0).then(pl.col("a")).alias("a"))
    _agrees(model, holes)


@pytest.mark.parametrize(
    "columns",
    [
        ["a", "c"],
        [0, -4],
        slice(1, 3),
        slice("b", "d"),
        [True, False, True, False, False, False, False],
        np.array([2, 0]),
        "b",
        make_column_selector(dtype_include=np.floating),
    ],
)
def test_ways_to_choose_columns(columns: Any) -> None:
    scaler = StandardScaler()
    if isinstance(columns, str):
        columns = [columns]
    chosen = ColumnTransformer(
        [("some", scaler, columns), ("none", scaler, []), ("out", "drop", ["grade"])],
        transformer_weights={"some": 0.5},
    )
    frame = _frame(missing=None)
    model = make_pipeline(chosen, _regressor()).fit(frame, _target())
    _agrees(model, frame)
    inputs = formula_of(model).inputs
    assert [each.is_used for each in inputs[4:]] == [False] * 3
    _agrees(model, frame.drop(columns=["color", "town"]).assign(color="", town=""))


def test_nested_transformers_with_named_columns_between() -> None:
    first = ColumnTransformer(
        [("s", StandardScaler(), ["c", "a"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    second = ColumnTransformer(
        [
            ("w", OneHotEncoder(handle_unknown="ignore"), ["color"]),
            ("n", MinMaxScaler(), ["d", "c"]),
        ],
    )
    model = Pipeline([("deep", make_pipeline(first, second)), ("model", _regressor())])
    frame = _frame(missing=None)
    _agrees(model.fit(frame, _target()), frame)


def test_words_that_stand_for_missing() -> None:
    frame = _frame(missing=None)[["color", "town"]].astype(object)
    frame.iloc[::7] = "?"
    for indicator in (False, True):
        imputer = SimpleImputer(
            missing_values="?", strategy="most_frequent", add_indicator=indicator
        )
        model = make_pipeline(
            imputer, OneHotEncoder(handle_unknown="ignore"), _regressor()
        )
        _agrees(model.fit(frame, _target()), frame)


def test_a_new_word_fills() -> None:
    frame = _frame()[["town", "color"]].astype(object)
    for imputer in (
        SimpleImputer(strategy="constant"),
        SimpleImputer(strategy="constant", fill_value="new", add_indicator=True),
    ):
        model = make_pipeline(imputer, OrdinalEncoder(), _regressor())
        _agrees(model.fit(frame, _target()), frame)


def test_arrays_of_objects_and_sparse_matrices() -> None:
    frame = _frame(missing=None)
    rows = frame.to_numpy(dtype=object)
    words = ColumnTransformer(
        [("w", OneHotEncoder(), [4, 5])], remainder=StandardScaler()
    )
    _agrees(make_pipeline(words, _regressor()).fit(rows, _target()), rows)
    X = sparse.csr_array(np.maximum(_numbers(), 0.0))
    _agrees(make_pipeline(MaxAbsScaler(), _regressor()).fit(X, _target()), X)


@pytest.mark.parametrize("shape", ["diagonal", "full"])
def test_learned_metric_as_a_step(shape: str) -> None:
    X = _numbers()
    metric = LearnedMetric(shape, max_support=5, n_rounds=1)
    _agrees(make_pipeline(metric, _regressor()).fit(X, X[:, 0] * X[:, 1]), X)


@pytest.mark.parametrize(
    "transformer",
    [
        None,
        StandardScaler(),
        MinMaxScaler((2, 5)),
        RobustScaler(),
        MaxAbsScaler(),
    ],
)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_transformed_targets(transformer: Any, n_outputs: int) -> None:
    X, Y = _numbers(), np.column_stack([_target(), _target(1) * 5]) + 1e4
    y = Y[:, 0] if n_outputs == 1 else Y
    inner = make_pipeline(StandardScaler(), _regressor())
    model = TransformedTargetRegressor(inner, transformer=transformer).fit(X, y)
    _agrees(model, X)
    assert formula_of(model).answer.is_single == (n_outputs == 1)


def test_logarithm_of_the_target_inside_a_search() -> None:
    X, y = _numbers(), np.exp(_target())
    target = TransformedTargetRegressor(_regressor(), func=np.log, inverse_func=np.exp)
    pipeline = make_pipeline(StandardScaler(), target)
    grid = {"transformedtargetregressor__regressor__alpha": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    formula = formula_of(search)
    assert formula.answer.link == "exp"
    predictions = np.exp(formula.values(X)[:, 0])
    np.testing.assert_allclose(predictions, search.predict(X), rtol=1e-12)


def test_unknown_categories_where_none_may_be() -> None:
    frame = _frame(missing=None)
    for encoder in (OneHotEncoder(), OrdinalEncoder()):
        chosen = ColumnTransformer([("w", encoder, ["color"])], remainder="passthrough")
        model = make_pipeline(chosen, _regressor())
        model.fit(frame.drop(columns="town"), _target())
        formula = formula_of(model)
        new = frame.copy()
        new.loc[3, "color"] = "puce"
        values = formula.values(formula.coded(new))
        assert np.flatnonzero(np.isnan(values[:, 0])).tolist() == [3]


@pytest.mark.parametrize(
    "step, message",
    [
        (PolynomialFeatures(), "PolynomialFeatures"),
        (FunctionTransformer(np.sqrt), "func=None"),
        (FunctionTransformer(np.log1p, kw_args={"dtype": float}), "func=None"),
        (SVC(), "SVC"),
    ],
)
def test_what_has_no_formula(step: Any, message: str) -> None:
    X = np.abs(_numbers())
    if isinstance(step, SVC):
        model: Any = make_pipeline(StandardScaler(), step).fit(X, X[:, 0] > 1)
    else:
        model = make_pipeline(step, _regressor()).fit(X, _target())
    with pytest.raises(UnsupportedError, match=message):
        formula_of(model)


def test_other_refusals_say_what_to_do() -> None:
    X, y = _numbers(), np.exp(_target())
    pair = {"func": np.sqrt, "inverse_func": np.square}
    target = TransformedTargetRegressor(_regressor(), **pair, check_inverse=False)
    with pytest.raises(UnsupportedError, match="inverse_func=np.exp"):
        formula_of(target.fit(X, y))
    frame = pd.DataFrame({"w": ["a", None, np.nan] * 20}, dtype=object)
    model = make_pipeline(OneHotEncoder(), _regressor()).fit(frame, y)
    with pytest.raises(UnsupportedError, match="tell None from NaN"):
        formula_of(model)
    filled = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(), _regressor()
    )
    with pytest.raises(UnsupportedError, match="tell None from NaN"):
        formula_of(filled.fit(frame, y))
    for unfitted in (_regressor(), make_pipeline(StandardScaler(), _regressor())):
        with pytest.raises(NotFittedError):
            formula_of(unfitted)
    search = GridSearchCV(_regressor(), {"alpha": [0.1]}, cv=2, refit=False).fit(X, y)
    with pytest.raises(UnsupportedError, match="refit=True"):
        formula_of(search)


def test_rows_that_do_not_fit_the_inputs() -> None:
    frame = _frame()
    model = make_pipeline(_usual(), _regressor()).fit(frame, _target())
    formula = formula_of(model)
    with pytest.raises(ValueError, match=r"\['town'\] are missing"):
        formula.coded(frame.drop(columns="town"))
    with pytest.raises(ValueError, match="must have 7 columns"):
        formula.coded(frame.to_numpy(dtype=object)[:, :3])
    with pytest.raises(ValueError, match="'a' must hold numbers"):
        formula.coded(frame.assign(a="x"))
    with pytest.raises(ValueError, match="'a' holds dates"):
        formula.coded(frame.assign(a=pd.Timestamp("2020-01-01")))
    nullable = frame.assign(a=pd.array([None, 1] * (N // 2), dtype="Int64"))
    assert np.isnan(formula.coded(nullable)[::2, 0]).all()


def test_a_classifier_behind_a_pipeline() -> None:
    frame, labels = _frame(), np.array(["x", "y", "z"])[np.arange(N) % 3]
    kernel = kernels.Gaussian(gamma=0.2)
    classifier = KMPClassifier(kernel, max_support=5, selection=None)
    model = make_pipeline(_usual(), classifier).fit(frame, labels)
    formula = formula_of(model)
    values = formula.values(formula.coded(frame))
    np.testing.assert_allclose(values, model.decision_function(frame), rtol=1e-12)
    assert formula.answer.labels == ("x", "y", "z")
    assert formula_of(formula) is formula
