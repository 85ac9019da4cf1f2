"""Laws of what every estimator asks of its parameters and its data."""

import re
from inspect import signature
from operator import attrgetter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naming import named
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone, is_classifier

import pursuit
from pursuit import (
    CKNNClassifier,
    CondensedNeighbors,
    DensityClassifier,
    DensityOutlierDetector,
    DropNeighbors,
    EditedNeighbors,
    HKNNClassifier,
    HKNNRegressor,
    KernelCentroidClassifier,
    KMPClassifier,
    KMPRanker,
    KMPRegressor,
    LocalGaussianDensity,
    ManifoldParzen,
    NadarayaWatson,
    ParzenWindows,
    PrototypePursuit,
    SparseKernelCCA,
    SparseKernelPCA,
    SparseManifoldParzen,
)
from pursuit._ranges import check_scale
from pursuit.estimators.neighbors.selectors import PrototypeSelector
from pursuit.kernels import Gaussian, Laplacian, Matern, Polynomial
from pursuit.selection import CrossValidation

# -- the scale of the data ---------------------------------------------------------

SQUARING = [
    HKNNClassifier(3),
    CKNNClassifier(3),
    HKNNRegressor(3),
    NadarayaWatson(),
    NadarayaWatson(Matern()),
    NadarayaWatson(Gaussian() + Laplacian()),
    KernelCentroidClassifier(),
    KernelCentroidClassifier("cosine"),
    KernelCentroidClassifier("linear"),
    SparseKernelPCA(2),
    SparseKernelPCA(2, kernel="cosine"),
    SparseKernelCCA(2, max_support=5),
]
# Those of the L1 norm, and those that choose units of their own.
FREE = [
    NadarayaWatson("laplacian"),
    KernelCentroidClassifier("laplacian"),
    SparseKernelPCA(2, kernel="laplacian"),
    DensityClassifier(ParzenWindows(), param_grid=None),
    DensityClassifier(ManifoldParzen(8, 2), param_grid=None),
]


def answers(model, X):
    return (model.transform if hasattr(model, "transform") else model.predict)(X)


@pytest.mark.parametrize("model", SQUARING, ids=named)
def test_squares_that_are_no_numbers_are_refused(model, iris):
    X, y = iris
    for scale in (1e155, 1e200, 1e300):
        with pytest.raises(ValueError, match="^X holds .* overflow: scale it down"):
            model.fit(scale * X, y)
        with pytest.raises(ValueError, match="^X holds .* overflow: scale it down"):
            answers(model.fit(X, y), scale * X)
    for scale in (1e-155, 1e-200, 1e-300):
        with pytest.raises(ValueError, match="^X varies .* underflows: scale it up"):
            model.fit(scale * X, y)
        # One point after the other may well be small.
        assert np.isfinite(answers(model.fit(X, y), scale * X[:3])).all()


@pytest.mark.parametrize("model", FREE, ids=named)
@pytest.mark.parametrize("scale", [1e-200, 1e-155, 1e155, 1e200])
def test_no_scale_is_too_much_where_nothing_is_squared(model, scale, iris):
    X, y = iris
    expected = answers(model.fit(X, y), X)
    assert_allclose(answers(model.fit(scale * X, y), scale * X), expected, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_soft_neighborhoods_square_or_not(scale, iris):
    X, _ = iris
    how = {"n_neighbors": None, "bandwidth": 0.1 * scale}
    with pytest.raises(ValueError, match=r"^X (holds|varies) .* scale it (up|down)"):
        ManifoldParzen(neighborhood=Gaussian(), **how).fit(scale * X)
    plain = ManifoldParzen(None, neighborhood=Laplacian(), bandwidth=0.1).fit(X)
    scaled = ManifoldParzen(neighborhood=Laplacian(), **how).fit(scale * X)
    expected = plain.score(X) - X.shape[1] * np.log(scale)
    assert scaled.score(scale * X) == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_second_view_has_a_scale_too(scale, iris):
    X, _ = iris
    with pytest.raises(ValueError, match=r"^y (holds|varies) .* scale it (up|down)"):
        SparseKernelCCA(2).fit(X, scale * X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_scales_of_any_matrix(kind):
    for good in (
        np.zeros((3, 2)),
        np.full((3, 2), 1e-200),
        np.eye(2),
        1e150 * np.eye(2),
    ):
        check_scale(kind(good))
    with pytest.raises(ValueError, match=re.escape("Z holds values up to 2e+160")):
        check_scale(kind([[1.0, 0.0], [-2e160, 0.0]]), "Z")
    with pytest.raises(ValueError, match="Z varies by 3e-160 at most"):
        check_scale(kind([[1e-160, 0.0], [-2e-160, 0.0]]), "Z")


# -- parameters that some fits do not use ------------------------------------------

ESTIMATORS = [
    HKNNClassifier(3),
    CKNNClassifier(3),
    HKNNRegressor(3, 0.1),
    ManifoldParzen(3, 1, 0.5),
    ParzenWindows(0.5),
    SparseManifoldParzen(3, bandwidth=0.5, cv=None),
    PrototypePursuit(6),
    CondensedNeighbors(),
    EditedNeighbors(),
    DropNeighbors(),
    LocalGaussianDensity(1.0, 0.5),
    DensityClassifier(ParzenWindows(0.5)),
    NadarayaWatson(gamma=1.0),
    KernelCentroidClassifier(),
    SparseKernelPCA(2),
    SparseKernelCCA(2, max_support=5),
    KMPClassifier("rbf", alpha=1e-3, max_support=3, selection=None),
    KMPRanker("rbf", alpha=1e-3, max_support=3, selection=None),
]
WRONG = [
    ("random_state", "foo", "random_state='foo' must be a whole number from 0"),
    ("random_state", -1, "random_state=-1 must be a whole number from 0"),
    ("n_jobs", 0, "n_jobs=0 must be a whole number"),
    ("n_jobs", True, "n_jobs=True must be a whole number"),
    ("kernel", Polynomial("foo"), "degree='foo' must be a"),
    ("kernel", Polynomial(coef0=None), "coef0=None must be a finite number"),
    ("verbose", "foo", "verbose='foo' must be True, False or a whole number"),
    ("max_memory", "foo", "max_memory='foo'"),
    *(
        (name, value, f"^{name}=array.* must be|^max_memory=array")
        for name in (
            "n_neighbors",
            "n_components",
            "n_jobs",
            "verbose",
            "loo_samples",
            "max_memory",
            "random_state",
            "bandwidth",
            "width",
            "gamma",
            "max_support",
        )
        for value in (np.array([1, 2]), np.array(["auto", "auto"]))
    ),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)
def test_wrong_values_are_named_even_if_unused(model, iris):
    X, y = iris
    for name, value, words in WRONG:
        if name in model.get_params(deep=False):
            with pytest.raises(ValueError, match=words):
                clone(model).set_params(**{name: value}).fit(X, y)


# -- threads -----------------------------------------------------------------------

THREADED = [
    *(model for model in ESTIMATORS if hasattr(model, "n_jobs")),
    KMPRegressor(kernel="rbf", max_support=3, selection=CrossValidation(3)),
]


def test_all_that_have_threads_are_listed():
    public = [getattr(pursuit, name) for name in pursuit.__all__]
    found = {
        kind
        for kind in public
        if isinstance(kind, type) and "n_jobs" in signature(kind).parameters
    }
    assert found == {type(model) for model in THREADED}


@pytest.mark.parametrize("model", THREADED, ids=lambda m: type(m).__name__)
def test_threads_are_counted_as_joblib_does(model, iris):
    X, y = iris
    expected = told(clone(model).fit(X, y), X)
    for n_jobs in (-2, -1, 1, 2, None):
        found = told(clone(model).set_params(n_jobs=n_jobs).fit(X, y), X)
        assert_allclose(found, expected, rtol=1e-10)
    for wrong in (0, 1.5, "two"):
        with pytest.raises(ValueError, match=f"^n_jobs={wrong!r} must be a whole num"):
            clone(model).set_params(n_jobs=wrong).fit(X, y)


def told(model, X):
    if isinstance(model, PrototypeSelector):
        return model.support_
    return (model.predict if hasattr(model, "predict") else model.score_samples)(X)


# -- data that would be misread ----------------------------------------------------


def days(n):
    return np.datetime64("2020-01-01") + np.arange(n)


MISREAD = {
    "dates": (lambda X: days(len(X))[:, None], r"X holds dates or durations \(dat"),
    "durations": (lambda X: X.astype("m8[s]"), r"X holds dates or durations \(tim"),
    "pandas dates": (
        lambda X: pd.DataFrame({"when": days(len(X)), "what": X[:, 0]}),
        "X holds dates or durations in the columns 'when': make numbers",
    ),
    "polars dates": (
        lambda X: pl.DataFrame({"when": days(len(X)), "what": X[:, 0]}),
        "X holds dates or durations in the columns 'when': make numbers",
    ),
    "a lazy frame": (
        lambda X: pl.DataFrame(X).lazy(),
        r"LazyFrame: pass X.collect\(\)",
    ),
    "no columns": (
        lambda X: pd.DataFrame(index=range(len(X))),
        r"X is a frame of shape \(\d+, 0\): at least one column",
    ),
    "a mask": (
        lambda X: np.ma.masked_greater(X, 2.0),
        "X is a masked array, whose mask would be ignored",
    ),
}


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", MISREAD)
def test_data_that_would_be_misread_are_refused(kind, model, iris):
    X, y = iris
    made, words = MISREAD[kind]
    with pytest.raises(ValueError, match=words):
        clone(model).fit(made(X), y)
    fitted = clone(model).fit(X, y)
    methods = ("transform", "predict", "score_samples")
    for method in [m for m in methods if hasattr(fitted, m)][:1]:
        with pytest.raises(ValueError, match=words):
            getattr(fitted, method)(made(X))


def test_an_empty_mask_is_none(iris):
    X, y = iris
    model = HKNNClassifier(3).fit(np.ma.masked_array(X), y)
    np.testing.assert_array_equal(
        model.predict(X), HKNNClassifier(3).fit(X, y).predict(X)
    )


# -- targets of regression ---------------------------------------------------------

REGRESSORS = [
    KMPRegressor(gamma=1.0, alpha=1e-3, max_support=3, selection=None),
    HKNNRegressor(3, 0.1),
    NadarayaWatson(gamma=1.0),
]
NO_NUMBERS = {
    "words": (lambda y: np.where(y > 0, "u", "v"), ValueError, "that are not numbers"),
    "a series of words": (
        lambda y: pd.Series(np.where(y > 0, "u", "v"), dtype="category"),
        ValueError,
        "y holds values that are not numbers .*: a regressor needs numbers",
    ),
    "a missing one": (
        lambda y: np.array([None, *y[1:]], dtype=object),
        ValueError,
        "Input y contains NaN",
    ),
    "a missing integer": (
        lambda y: pd.Series([None, *y[1:].tolist()], dtype="Int64"),
        ValueError,
        "Input y contains NaN",
    ),
    "durations": (lambda y: y.astype("m8[s]"), ValueError, "y holds dates or durat"),
    "a sparse column": (
        lambda y: sparse.csr_array(y[:, None]),
        TypeError,
        "y is sparse, but dense targets are required",
    ),
}


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_targets_that_are_no_numbers_are_refused(kind, model, iris):
    X, y = iris
    made, error, words = NO_NUMBERS[kind]
    with pytest.raises(error, match=words):
        clone(model).fit(X, made(y))


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_numbers_in_any_dress(model, iris):
    X, y = iris
    wanted = clone(model).fit(X, y).predict(X)
    for same in (y.astype(object), y.astype(str), pd.Series(y, dtype="Int64")):
        np.testing.assert_array_equal(clone(model).fit(X, same).predict(X), wanted)


# -- classes -----------------------------------------------------------------------

CLASSIFIERS = [e for e in ESTIMATORS if is_classifier(e)]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_one_class_is_none(model, iris):
    X, y = iris
    with pytest.raises(ValueError, match="y holds one class only"):
        clone(model).fit(X[y == 1], y[y == 1])


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_labels_that_are_no_classes(model, iris):
    X, y = iris
    labels = y.astype(object)
    labels[0] = None
    with pytest.raises(ValueError, match=r"labels that are missing \(None\)"):
        clone(model).fit(X, labels)
    labels[0] = "one"
    with pytest.raises(ValueError, match=r"no common order \(int, str\): make them"):
        clone(model).fit(X, labels)


@pytest.mark.parametrize(
    "model", [KernelCentroidClassifier(), DensityClassifier(ParzenWindows())], ids=named
)
def test_one_class_of_positive_weight_is_none(model, iris):
    X, y = iris
    with pytest.raises(ValueError, match="one class only, 1"):
        model.fit(X, y, sample_weight=(y == 1).astype(float))


# -- rows that are there twice -----------------------------------------------------

CHOSEN = [
    (ParzenWindows(), "bandwidth_"),
    (ManifoldParzen(), "bandwidth_ n_neighbors_ n_components_"),
    (LocalGaussianDensity(), "bandwidth_ width_"),
    (SparseManifoldParzen(5), "bandwidth_ n_support_"),
    (DensityClassifier(ParzenWindows(), temperature="auto"), "temperature_"),
    (DensityOutlierDetector(ParzenWindows()), "offset_"),
    (NadarayaWatson(), "kernel_.gamma"),
]


@pytest.mark.parametrize("model, names", CHOSEN, ids=named)
def test_doubling_the_rows_changes_no_choice(model, names, iris):
    """Leave-one-out of densities and means leaves equal rows out together."""
    X, y = iris
    one = clone(model).fit(X, y)
    two = clone(model).fit(np.r_[X, X], np.r_[y, y])
    for name in names.split():
        value = attrgetter(name)
        wanted = value(one)
        assert value(two) == (wanted and pytest.approx(wanted, rel=1e-6))
