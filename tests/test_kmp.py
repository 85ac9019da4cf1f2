"""The estimators as scikit-learn's users meet them."""

import pickle
import re
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naming import named
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import KMPClassifier, KMPRegressor
from pursuit.dictionaries import Features, Precomputed, Transformed
from pursuit.kernels import Gaussian, Linear
from pursuit.methods import Redrawn
from pursuit.path import SeparatePaths
from pursuit.selection import CrossValidation, LeaveOneOut, Validation

ESTIMATORS = [KMPRegressor, KMPClassifier]
# One width and one ridge: enough for all that is not about their choice.
FIXED = {"gamma": 0.1, "alpha": 1e-3}
FAST = {**FIXED, "selection": None, "max_support": 12}
# The same for kernels that have their own width.
OWN = {name: value for name, value in FAST.items() if name != "gamma"}


@pytest.fixture(scope="module")
def blobs():
    """Three classes that overlap, named."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [45, 30, 20])
    X = rng.standard_normal((95, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[codes]
    return X, np.array(["ash", "elm", "oak"])[codes]


@pytest.fixture(params=["regressor", "classifier", "ovr"])
def case(request, regression, blobs):
    """An estimator class with some parameters, and data for it."""
    if request.param == "regressor":
        return KMPRegressor, *regression
    multiclass = "ovr" if request.param == "ovr" else "shared"
    return partial(KMPClassifier, multiclass=multiclass), *blobs


def values(model, X):
    """What a model says before it is rounded to classes."""
    return getattr(model, "decision_function", model.predict)(X)


# -- scikit-learn's own checks -----------------------------------------------------

VARIANTS = [
    # Learned kernels of small models: the checks fit some hundred times.
    KMPRegressor(max_support=10),
    KMPRegressor(kernel="rbf"),
    KMPClassifier(max_support=10),
    KMPClassifier(kernel="rbf"),
    *(
        make(**{"gamma": "median", "alpha": 1e-3, "max_support": 30, **how})
        for make, how in [
            (KMPRegressor, {"method": "basic", "selection": "validation"}),
            (KMPRegressor, {"method": "back-fitting", "selection": "loo"}),
            (KMPRegressor, {"kernel": "linear", "dtype": "float32"}),
            (KMPRegressor, {"n_candidates": 0.5, "selection": None}),
            (KMPClassifier, {"method": "basic", "selection": None}),
            (KMPClassifier, {"method": "back-fitting", "gamma": "auto", "alpha": 0.1}),
            (KMPClassifier, {"multiclass": "ovr", "selection": "loo"}),
            (KMPClassifier, {"selection": "validation"}),
            (KMPClassifier, {"kernel": "laplacian"}),
        ]
    ),
]


@parametrize_with_checks(VARIANTS)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- life among other estimators ---------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_linear_kernel_has_weights_of_the_features(form, regression):
    X, y = regression
    Y = np.column_stack([y, X[:, 0]])
    model = KMPRegressor("linear", max_support=3).fit(form(X), Y)
    assert model.coef_.shape == (2, X.shape[1])
    expected = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(form(X)), expected)
    assert clone(model).set_params(max_support=2).fit(X, y).coef_.shape == (1, 5)
    for kernel in ("rbf", "cosine", "poly"):
        with pytest.raises(AttributeError, match="kernel='linear' only"):
            KMPRegressor(kernel, gamma=0.1, max_support=2).fit(X, y).coef_  # noqa: B018
    assert not hasattr(KMPRegressor("linear"), "coef_")


def test_fitted_attributes(case):
    make, X, y = case
    model = make(**FAST).fit(X, y)
    n_outputs = 1 if isinstance(model, KMPRegressor) else 3
    n = model.n_support_
    assert isinstance(n, int)
    assert model.support_.shape == (n,)
    assert len(np.unique(model.support_)) == n
    assert model.dual_coef_.shape == (n_outputs, n)
    assert model.intercept_.shape == (n_outputs,)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_iter_ == len(model.path_) == 12
    assert model.stop_reason_.startswith("max_support")
    assert (model.gamma_, model.alpha_, model.selection_) == (0.1, 1e-3, None)
    assert model.n_features_in_ == X.shape[1]
    K = rbf_kernel(X, X[model.support_], gamma=0.1)
    wanted = K @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(np.squeeze(wanted), values(model, X), atol=1e-10)


def test_clone_and_refit_are_the_same(case):
    make, X, y = case
    model = make(**FAST).fit(X, y)
    again = clone(model)
    assert not hasattr(again, "support_")
    np.testing.assert_array_equal(again.fit(X, y).support_, model.support_)
    before = model.get_params()
    model.fit(X[::2], y[::2])
    assert model.get_params() == before


def test_pickle(case):
    make, X, y = case
    model = make(**FAST).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(values(again, X), values(model, X))
    np.testing.assert_array_equal(
        values(again.truncate(3), X), values(model.truncate(3), X)
    )


def test_grid_search_and_pipeline(case):
    make, X, y = case
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), make(**FAST)).set_params(),
        [
            {f"{step(make)}__gamma": [0.05, 0.5], f"{step(make)}__max_support": [3, 9]},
            {
                f"{step(make)}__kernel": ["linear", Gaussian(0.3), gp.RBF(1.5)],
                f"{step(make)}__gamma": ["cv"],
            },
        ],
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert grid.best_score_ > 0.4
    assert len(grid.predict(X)) == len(X)


def step(make):
    return type(make()).__name__.lower()


def test_kernel_objects_parameters_can_be_searched(regression):
    model = KMPRegressor(kernel=Gaussian(0.3), **OWN)
    assert model.get_params()["kernel__gamma"] == 0.3
    grid = GridSearchCV(model, {"kernel__gamma": [0.01, 0.1]}, cv=2).fit(*regression)
    assert grid.best_estimator_.gamma_ == grid.best_params_["kernel__gamma"]


def test_cross_val_score(case):
    make, X, y = case
    assert cross_val_score(make(**FAST), X, y, cv=3).mean() > 0.4


# -- forms of input ----------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(regression, frame):
    X, y = regression
    names = [f"f{j}" for j in range(X.shape[1])]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = KMPRegressor(**FAST).fit(table, frame({"y": y})["y"])
    if not hasattr(model, "feature_names_in_"):
        pytest.skip("this scikit-learn does not know the names of such frames")
    assert model.feature_names_in_.tolist() == names
    plain = KMPRegressor(**FAST).fit(X, y)
    np.testing.assert_allclose(model.predict(table), plain.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[names[::-1]])


def test_frames_of_labels(blobs):
    X, y = blobs
    model = KMPClassifier(**FAST).fit(pd.DataFrame(X, columns=["a", "b"]), pd.Series(y))
    np.testing.assert_array_equal(
        model.predict(pd.DataFrame(X, columns=["a", "b"])),
        KMPClassifier(**FAST).fit(X, y).predict(X),
    )


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array]
)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "cosine"])
def test_sparse_input_is_the_same(case, form, kernel):
    make, X, y = case
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = make(kernel, **{**FAST, "max_support": 2})
    dense = clone(model).fit(X, y)
    model.fit(form(X), y)
    np.testing.assert_array_equal(model.support_, dense.support_)
    np.testing.assert_allclose(values(model, form(X)), values(dense, X), atol=1e-8)
    np.testing.assert_allclose(values(dense, form(X)), values(dense, X), atol=1e-8)
    assert sparse.issparse(model.support_vectors_)
    for sized, wanted in zip(
        model.staged_predict(form(X)), dense.staged_predict(X), strict=True
    ):
        assert sized.shape == wanted.shape


def test_sparse_and_dense_choose_the_same_size_and_width(regression):
    X, y = regression
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    how = {"alpha": 1e-2, "max_support": 10, "selection": CrossValidation(3)}
    dense = KMPRegressor(**how).fit(X, y)
    model = KMPRegressor(**how).fit(sparse.csr_array(X), y)
    assert model.gamma_ == pytest.approx(dense.gamma_)
    np.testing.assert_array_equal(model.support_, dense.support_)


@pytest.mark.parametrize("selection", ["cv", "loo", "validation", None])
def test_precomputed(case, selection):
    make, X, y = case
    how = {**FIXED, "selection": selection, "max_support": 10}
    K = rbf_kernel(X, gamma=0.1)
    model = make("precomputed", **how).fit(K, y)
    K_test = rbf_kernel(X[:7] + 0.1, X, gamma=0.1)
    whole = values(model, K_test)
    np.testing.assert_array_equal(values(model, K_test[:, model.support_]), whole)
    if selection in ("loo", None):
        plain = make("rbf", **how).fit(X, y)
        np.testing.assert_array_equal(model.support_, plain.support_)
        np.testing.assert_allclose(values(plain, X[:7] + 0.1), whole, atol=1e-9)
    small = model.truncate(2)
    np.testing.assert_array_equal(
        values(small, K_test[:, small.support_]), values(small, K_test)
    )


def test_precomputed_in_cross_validation(regression):
    X, y = regression
    K = rbf_kernel(X, gamma=0.1)
    how = {"selection": None, "max_support": 12, "alpha": 1e-3}
    ours = cross_val_score(KMPRegressor("precomputed", **how), K, y, cv=3)
    wanted = cross_val_score(KMPRegressor(gamma=0.1, **how), X, y, cv=3)
    np.testing.assert_allclose(ours, wanted, rtol=1e-7)


@pytest.mark.parametrize(
    "kernel",
    [
        "rbf",
        lambda A, B: rbf_kernel(A, B, gamma=0.1),
        partial(rbf_kernel, gamma=0.1),
        Gaussian(0.1),
        gp.RBF(np.sqrt(5.0)),
    ],
    ids=["name", "callable", "partial", "kernel object", "GP kernel"],
)
def test_kernels_in_every_form_are_the_same(regression, kernel):
    X, y = regression
    wanted = KMPRegressor("rbf", **FAST).fit(X, y)
    how = FAST if isinstance(kernel, str) else OWN
    model = KMPRegressor(kernel, **how).fit(X, y)
    np.testing.assert_array_equal(model.support_, wanted.support_)
    np.testing.assert_allclose(model.predict(X), wanted.predict(X), atol=1e-8)


def test_other_kernels(case):
    make, X, y = case
    kernels = [
        "laplacian",
        "cosine",
        partial(laplacian_kernel, gamma=0.3),
        Gaussian("median") + 0.1 * Linear(),
        gp.Matern(2.0, nu=1.5) + gp.ConstantKernel(0.5),
        lambda A, B: np.tanh(A @ np.triu(np.ones((A.shape[1], A.shape[1]))) @ B.T),
    ]
    for kernel in kernels:
        model = make(kernel, **(FAST if isinstance(kernel, str) else OWN)).fit(X, y)
        assert model.score(X, y) > 0.5
        assert np.all(np.isfinite(values(model, X)))


def test_default_search_works_with_any_kernel(regression):
    X, y = regression
    for kernel in ("linear", "poly", Gaussian(0.1), partial(rbf_kernel, gamma=0.1)):
        model = KMPRegressor(kernel, max_support=8, selection=CrossValidation(2))
        model.fit(X, y)
        assert len(model.search_) > 1
        assert model.score(X, y) > 0.5


# -- outputs and classes -----------------------------------------------------------


def test_several_outputs_share_their_support(regression):
    X, y = regression
    Y = np.column_stack([y, -2 * y + 1, X[:, 0] ** 2])
    model = KMPRegressor(**FAST).fit(X, Y)
    assert model.predict(X).shape == (90, 3)
    assert model.dual_coef_.shape == (3, 12)
    assert model.intercept_.shape == (3,)
    assert all(p.shape == (90, 3) for p in model.staged_predict(X))
    np.testing.assert_allclose(
        model.predict(X)[:, 1], -2 * model.predict(X)[:, 0] + 1, atol=1e-9
    )


def test_one_column_stays_a_column(regression):
    X, y = regression
    model = KMPRegressor(**FAST).fit(X, y[:, None])
    assert model.predict(X).shape == (90, 1)
    single = KMPRegressor(**FAST).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X)[:, 0], single)


def test_shapes_of_three_classes(blobs):
    X, y = blobs
    for multiclass in ("shared", "ovr"):
        model = KMPClassifier(multiclass=multiclass, **FAST).fit(X, y)
        assert model.classes_.tolist() == ["ash", "elm", "oak"]
        assert model.decision_function(X).shape == (95, 3)
        assert model.score(X, y) > 0.75
        best = model.decision_function(X).argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[best])


def test_shared_support_is_one_path_and_ovr_one_for_each_class(blobs):
    X, y = blobs
    shared = KMPClassifier(**FAST).fit(X, y)
    ovr = KMPClassifier(multiclass="ovr", **FAST).fit(X, y)
    assert shared.n_support_ == 12
    assert isinstance(ovr.path_, SeparatePaths)
    assert 12 <= ovr.n_support_ <= 36
    for t, name in enumerate(ovr.classes_):
        alone = KMPRegressor(**FAST).fit(X, np.where(y == name, 1.0, -1.0))
        assert ovr.path_.paths[t].atoms.tolist() == alone.support_.tolist()
        np.testing.assert_allclose(ovr.decision_function(X)[:, t], alone.predict(X))


def test_two_classes_are_regression_on_signs(breast_cancer):
    X, y = breast_cancer[0][:150], breast_cancer[1][:150]
    for multiclass in ("shared", "ovr"):
        model = KMPClassifier(multiclass=multiclass, **FAST).fit(X, y)
        signs = KMPRegressor(**FAST).fit(X, 2.0 * y - 1)
        np.testing.assert_array_equal(model.support_, signs.support_)
        np.testing.assert_allclose(model.decision_function(X), signs.predict(X))
        np.testing.assert_array_equal(model.predict(X), signs.predict(X) > 0)


def test_class_weight(blobs):
    X, y = blobs
    counts = {name: np.sum(y == name) for name in np.unique(y)}
    balanced = {name: 95 / (3 * n) for name, n in counts.items()}
    weight = np.array([balanced[name] for name in y])
    wanted = KMPClassifier(**FAST).fit(X, y, sample_weight=weight)
    plain = KMPClassifier(**FAST).fit(X, y)
    for given in ("balanced", balanced):
        model = KMPClassifier(class_weight=given, **FAST).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), wanted.decision_function(X)
        )
        assert np.sum(model.predict(X) == "oak") > np.sum(plain.predict(X) == "oak")


@pytest.mark.parametrize("absent", [(), ("oak",)])
def test_balanced_classes_count_weighted_rows_as_repeated(blobs, absent):
    X, y = blobs
    times = np.random.default_rng(0).integers(0, 4, len(y))
    times[np.isin(y, absent)] = 0
    rows = np.repeat(np.arange(len(y)), times)
    how = {"class_weight": "balanced", **FAST}
    weighted = KMPClassifier(**how).fit(X, y, sample_weight=times)
    repeated = KMPClassifier(**how).fit(X[rows], y[rows])
    there = np.isin(weighted.classes_, repeated.classes_)
    found = weighted.staged_decision_function(X)
    for f, wanted in zip(found, repeated.staged_decision_function(X), strict=True):
        f = f[:, there] if wanted.ndim == 2 else f[:, there][:, 1]
        np.testing.assert_allclose(f, wanted, atol=1e-9)


# -- sizes -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting", "basic"])
def test_stages_are_the_truncated_models(case, method):
    make, X, y = case
    model = make(method=method, **FAST).fit(X, y)
    chosen, before = model.support_.copy(), values(model, X)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.path_)
    if hasattr(model, "staged_decision_function"):
        continuous = list(model.staged_decision_function(X))
    else:
        continuous = stages
    for n, (stage, value) in enumerate(zip(stages, continuous, strict=True), start=1):
        small = model.truncate(n)
        np.testing.assert_allclose(value, values(small, X), atol=1e-8)
        np.testing.assert_array_equal(small.support_, model.path_.coefficients(n)[0])
        assert small.n_support_ == len(small.support_) == len(small.support_vectors_)
        assert small.n_iter_ == len(small.path_) == n
        is_whole = n == len(stages)
        reason = model.stop_reason_ if is_whole else "truncated"
        assert small.stop_reason_.startswith(reason)
        assert small.path_.stop_reason == (
            model.path_.stop_reason if is_whole else "truncated"
        )
        assert stage.shape == small.predict(X).shape
    np.testing.assert_array_equal(model.support_, chosen)
    np.testing.assert_array_equal(values(model, X), before)


@pytest.mark.parametrize("method", ["pre-fitting", "basic"])
def test_the_truncated_model_is_the_same_without_the_rest(case, method):
    make, X, y = case
    how = {"max_support": 60, "selection": CrossValidation(3)}
    model = make(method=method, gamma=0.1, alpha=0.1, **how).fit(X, y)
    small = model.truncate()
    np.testing.assert_allclose(values(small, X), values(model, X), rtol=1e-12)
    # Several outputs list theirs in turn, which goes on as long as the paths do.
    assert set(small.support_) == set(model.support_)
    assert small.n_iter_ == len(small.path_) < len(model.path_)
    assert small.stop_reason_.startswith("truncated")
    assert len(pickle.dumps(small)) < 0.8 * len(pickle.dumps(model))
    again = small.truncate()
    np.testing.assert_array_equal(values(again, X), values(small, X))
    assert len(pickle.dumps(again)) == len(pickle.dumps(small))


def test_truncated_models_are_refits(regression):
    X, y = regression
    model = KMPRegressor(**FAST).fit(X, y)
    for n in (1, 5, 12):
        refit = KMPRegressor(**{**FAST, "max_support": n}).fit(X, y)
        np.testing.assert_array_equal(model.truncate(n).support_, refit.support_)
        np.testing.assert_allclose(model.truncate(n).predict(X), refit.predict(X))
    # A small model keeps what it needs and no more.
    small = model.truncate(5)
    assert len(small.path_) == len(small._path_functions) == 5
    assert small.truncate(2).n_support_ == 2
    assert len(pickle.dumps(small)) < len(pickle.dumps(model))
    np.testing.assert_allclose(model.truncate(0).predict(X), y.mean())


def test_given_splits_are_taken_as_they_are(regression):
    X, y = regression
    rows = np.arange(len(y))
    errors = []
    for train in (rows[:60], rows[:20]):
        selection = CrossValidation([(train, rows[80:])])
        model = KMPRegressor(selection=selection, gamma=0.1, alpha=0.1)
        errors.append(model.fit(X, y).search_[0]["errors"])
        mean = y[train].mean()
        assert errors[-1][0] == pytest.approx(np.mean((y[80:] - mean) ** 2))
    assert errors[0][0] != errors[1][0]


@pytest.mark.parametrize("n", [-1, 13, 2.0, "3", True])
def test_truncate_outside_the_path(regression, n):
    model = KMPRegressor(**FAST).fit(*regression)
    with pytest.raises(ValueError, match=f"n={n!r} must be.*0 to 12"):
        model.truncate(n)


@pytest.mark.parametrize("selection", ["cv", "loo", "validation"])
def test_the_size_is_chosen_on_the_path(sinc, selection):
    X, y = sinc
    model = KMPRegressor(gamma=0.3, alpha=1e-6, selection=selection).fit(X, y)
    assert model.selection_ == selection
    assert 4 <= model.n_support_ <= 40
    assert model.n_support_ <= len(model.path_)
    grid = np.linspace(-7, 7, 50)[:, None]
    assert np.max(np.abs(model.predict(grid) - np.sinc(grid[:, 0] / np.pi))) < 0.15


@pytest.mark.parametrize("rule", [CrossValidation, Validation, LeaveOneOut])
def test_tolerance_makes_smaller_models(sinc, rule):
    how = {"gamma": 0.3, "alpha": 1e-6}
    sizes = [
        KMPRegressor(selection=rule(tolerance=t), **how).fit(*sinc).n_support_
        for t in (0.0, 0.05, 0.5, "1se")
    ]
    assert sizes[0] >= sizes[1] >= sizes[2] >= 1
    assert sizes[3] <= sizes[0]
    # One path has no standard error.
    assert rule is CrossValidation or sizes[3] == sizes[0]


def test_the_search_is_told(sinc):
    selection = CrossValidation(3, tolerance=0.0)
    model = KMPRegressor(kernel="rbf", max_support=15, selection=selection).fit(*sinc)
    assert len(model.search_) > 1
    lowest = min(model.search_, key=lambda row: row["errors"].min())
    assert (model.gamma_, model.alpha_) == (lowest["gamma"], lowest["alpha"])
    assert model.n_support_ == lowest["errors"].argmin()


def test_folds_may_be_given(regression):
    X, y = regression
    cuts = KFold(4, shuffle=True, random_state=1)
    models = [
        KMPRegressor(selection=CrossValidation(folds), max_support=10, **FIXED)
        for folds in (cuts, list(cuts.split(X)))
    ]
    searches = [model.fit(X, y).search_ for model in models]
    for ours, theirs in zip(*searches, strict=True):
        np.testing.assert_array_equal(ours["errors"], theirs["errors"])


def test_groups_stay_together_in_folds(case):
    make, X, y = case
    groups, cuts = np.arange(len(y)) % 7, GroupKFold(3)
    given = list(cuts.split(X, y, groups))
    how = {"max_support": 10, **FIXED}
    wanted = make(selection=CrossValidation(given), **how).fit(X, y)
    model = make(selection=CrossValidation(cuts), **how)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(clone(model).set_fit_request(groups=True))
        routed.fit(X, y, groups=groups)
    piped = make_pipeline(clone(model)).fit(X, y, **{f"{step(make)}__groups": groups})
    for found in (model.fit(X, y, groups=groups), routed[-1], piped[-1]):
        for ours, theirs in zip(found.search_, wanted.search_, strict=True):
            np.testing.assert_array_equal(ours["errors"], theirs["errors"])


def test_max_support_as_a_share(regression):
    X, y = regression
    model = KMPRegressor(max_support=0.1, selection=None, **FIXED).fit(X, y)
    assert model.n_support_ == 9


def test_basic_may_use_fewer_points_than_steps(sinc):
    how = {"gamma": 0.3, "alpha": 0.0, "selection": None, "max_support": 60}
    model = KMPRegressor(method="basic", **how).fit(*sinc)
    assert len(model.path_) == 60
    assert model.n_support_ < 60
    assert len(np.unique(model.support_)) == model.n_support_


def test_why_a_path_ends_where_candidates_do(regression):
    X, y = regression
    how = {"selection": None, "alpha": 1e-3, "gamma": 0.1}
    model = KMPRegressor(max_support=len(X) + 10, **how).fit(X, y)
    assert model.stop_reason_.startswith("complete: every candidate")
    assert model.path_.stop_reason == "complete"
    few = KMPRegressor(max_support=40, n_candidates=15, **how).fit(X, y)
    assert few.n_support_ == 15
    assert few.stop_reason_.startswith("complete")
    some = KMPRegressor(max_support=10, **how).fit(X, y)
    assert some.stop_reason_.startswith("max_support")
    chosen = KMPRegressor(kernel="rbf", max_support=60).fit(X, y)
    assert chosen.stop_reason_.startswith(chosen.path_.stop_reason)


# -- weights -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"selection": CrossValidation(3), **FIXED},
        {"selection": "loo", **FIXED},
        {"selection": None, **FIXED},
        {"selection": None, "gamma": 0.1, "alpha": 0.0},
        {"method": "basic", "gamma": "median", "alpha": 1e-2},
        {"method": "back-fitting", "gamma": "scale", "alpha": 1e-2},
    ],
    ids=named,
)
def test_weights_are_repetitions(case, rng, how):
    make, X, y = case
    X, y = X[::2], y[::2]
    times = rng.integers(0, 4, len(X))
    how = {"max_support": 10, "selection": CrossValidation(3), **how}
    weighted = make(**how).fit(X, y, sample_weight=times)
    order = rng.permutation(times.sum())
    repeated = make(**how).fit(
        np.repeat(X, times, axis=0)[order], np.repeat(y, times)[order]
    )
    assert weighted.gamma_ == pytest.approx(repeated.gamma_)
    assert weighted.alpha_ == pytest.approx(repeated.alpha_)
    np.testing.assert_allclose(
        weighted.support_vectors_, repeated.support_vectors_, atol=1e-12
    )
    np.testing.assert_allclose(values(weighted, X), values(repeated, X), atol=1e-6)


def test_duplicated_rows_under_a_ridge_are_candidates_once(regression):
    """A point that comes twice must not be penalized half as much."""
    X, y = regression
    how = {"gamma": 0.1, "alpha": 0.5, "selection": None, "max_support": 40}
    once = KMPRegressor(**how).fit(X[:30], y[:30], sample_weight=np.full(30, 2.0))
    twice = KMPRegressor(**how).fit(np.tile(X[:30], (2, 1)), np.tile(y[:30], 2))
    assert once.n_support_ == twice.n_support_ == 30
    np.testing.assert_allclose(once.predict(X), twice.predict(X), atol=1e-8)


def test_equal_weights_without_a_ridge_change_nothing(case):
    make, X, y = case
    how = {**FAST, "alpha": 0.0, "gamma": 0.5}
    plain = make(**how).fit(X, y)
    weighted = make(**how).fit(X, y, sample_weight=np.full(len(X), 0.25))
    np.testing.assert_array_equal(plain.support_, weighted.support_)
    np.testing.assert_allclose(values(plain, X), values(weighted, X), atol=1e-6)


def test_the_order_of_rows_does_not_matter(case, rng):
    make, X, y = case
    order = rng.permutation(len(X))
    how = {"max_support": 12, "selection": CrossValidation(3), **FIXED}
    first, second = make(**how).fit(X, y), make(**how).fit(X[order], y[order])
    np.testing.assert_array_equal(first.support_vectors_, second.support_vectors_)
    np.testing.assert_allclose(values(first, X), values(second, X), atol=1e-8)


# -- resources ---------------------------------------------------------------------


def test_a_small_memory_gives_the_same_model(rng):
    X = rng.standard_normal((700, 3))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    how = {**FAST, "max_support": 8}
    wanted = KMPRegressor(**how).fit(X, y)
    with pytest.raises(ValueError, match="max_memory allows 1 MiB, but") as told:
        KMPRegressor(max_memory="1 MiB", **how).fit(X, y)
    needed = re.search(r"needs ([\d.]+ MiB)", str(told.value))[1]
    model = KMPRegressor(max_memory=needed, **how).fit(X, y)
    np.testing.assert_array_equal(model.support_, wanted.support_)
    np.testing.assert_allclose(model.predict(X), wanted.predict(X), atol=1e-9)


def test_float32_storage(case):
    make, X, y = case
    model = make(dtype="float32", **FAST).fit(X, y)
    wanted = make(**FAST).fit(X, y)
    assert model.dual_coef_.dtype == np.float64
    np.testing.assert_allclose(values(model, X), values(wanted, X), atol=1e-3)


def test_jobs_change_nothing(case):
    make, X, y = case
    how = {"max_support": 6, "selection": CrossValidation(2), "alpha": 1e-2}
    alone = make(n_jobs=1, **how).fit(X, y)
    several = make(n_jobs=2, **how).fit(X, y)
    np.testing.assert_array_equal(alone.support_, several.support_)
    np.testing.assert_array_equal(alone.dual_coef_, several.dual_coef_)


@pytest.mark.parametrize("n_candidates", [20, 0.3, Redrawn(), Redrawn(0.3)], ids=named)
def test_random_candidates_follow_random_state(regression, n_candidates):
    X, y = regression
    how = {**FAST, "n_candidates": n_candidates}
    models = [KMPRegressor(random_state=s, **how).fit(X, y) for s in (0, 0, 1)]
    np.testing.assert_array_equal(models[0].support_, models[1].support_)
    assert models[0].support_.tolist() != models[2].support_.tolist()
    again = KMPRegressor(random_state=np.random.RandomState(0), **how).fit(X, y)
    np.testing.assert_array_equal(models[0].support_, again.support_)


def test_redrawing_all_candidates_is_the_greedy_choice(case):
    make, X, y = case
    model = make(n_candidates=Redrawn(1.0), **FAST).fit(X, y)
    np.testing.assert_array_equal(model.support_, make(**FAST).fit(X, y).support_)


def test_the_shared_generator_is_left_alone_where_nothing_is_drawn(regression):
    X, y = regression
    shared = check_random_state(None)
    before = shared.get_state()
    KMPRegressor(gamma="median", max_support=3).fit(X, y)
    after = shared.get_state()
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2] == after[2]


def test_folds_follow_random_state(regression):
    X, y = regression
    how = {"max_support": 15, **FIXED}
    errors = [
        KMPRegressor(random_state=s, **how).fit(X, y).search_[0]["errors"][:5]
        for s in (None, None, 1, 2)
    ]
    np.testing.assert_array_equal(errors[0], errors[1])
    assert not np.allclose(errors[2], errors[3])


def test_verbose_shows_a_bar(regression, capfd):
    KMPRegressor(verbose=1, **FAST).fit(*regression)
    shown = "".join(capfd.readouterr())
    assert re.search(r"12/12.*loss", shown)
    KMPRegressor(verbose=0, **FAST).fit(*regression)
    assert "".join(capfd.readouterr()) == ""


def test_verbose_without_tqdm(regression, capfd, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    KMPRegressor(verbose=True, **FAST).fit(*regression)
    assert re.search(r"12/12 points, \S+/s loss", capfd.readouterr().err)


# -- options that meet others, or unusual data -------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("method", ["basic", "back-fitting", "pre-fitting"])
def test_functions_far_from_zero(method, alpha):
    """Their squared norms do not tell them from constants, their values do."""
    X = np.random.default_rng(0).standard_normal((40, 2)) + 1e8
    how = {"method": method, "alpha": alpha, "selection": None, "max_support": 10}
    model = KMPRegressor(dictionary=Features(), **how).fit(X, X[:, 0] - 1e8)
    assert model.path_.errors[0] > 0.5
    assert model.path_.errors[1:].max() < 1e-8
    constant = np.column_stack([X, np.full(40, 1e8)])
    model = KMPRegressor(dictionary=Features(), **how).fit(constant, X[:, 0] - 1e8)
    assert 2 not in model.support_
    assert model.path_.errors[1:].max() < 1e-8


@pytest.mark.parametrize("constant", [0.1, -1 / 3, 1e9 + 0.7, 0.0])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_constant_target_is_predicted_exactly(regression, constant, is_weighted):
    X, _ = regression
    y = np.full(len(X), constant)
    weight = np.linspace(0, 1, len(X)) if is_weighted else None
    how = {"max_support": 8, "selection": CrossValidation(3), **FIXED}
    model = KMPRegressor(**how).fit(X, y, weight)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.score(X, y) == 1.0
    assert model.truncate(0).predict(X[:1])[0] == constant


def test_a_mean_far_from_zero(regression):
    X, y = regression
    how = {"max_support": 8, "selection": CrossValidation(3), **FIXED}
    wanted = KMPRegressor(**how).fit(X, y)
    model = KMPRegressor(**how).fit(X, y + 1e6)
    np.testing.assert_array_equal(model.support_, wanted.support_)
    np.testing.assert_allclose(model.predict(X) - 1e6, wanted.predict(X), atol=1e-6)


def test_a_model_of_all_steps_is_chosen_by_its_last_error():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 3))
    y = np.sin(X[:, 0]) + rng.standard_normal(200)
    model = KMPRegressor(kernel="rbf", selection=None, max_support=100).fit(X, y)
    lengths = {len(row["errors"]) for row in model.search_}
    assert lengths == {101}
    last = {(row["gamma"], row["alpha"]): row["errors"][-1] for row in model.search_}
    assert last[model.gamma_, model.alpha_] == min(last.values())


def test_patience_of_a_held_out_part_where_widths_are_compared():
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    how = {"alpha": 0.01, "max_support": 90}
    short = KMPRegressor(selection=Validation(patience=3), **how).fit(X, y)
    long = KMPRegressor(selection=Validation(patience=1000), **how).fit(X, y)
    assert len(short.path_) < len(long.path_) == 90


def test_leave_one_out_leaves_copies_out_whatever_their_class_weighs():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] + rng.standard_normal(40) > 0.8).astype(int)
    weight = rng.integers(1, 4, 40)
    how = {"selection": "loo", "class_weight": "balanced", "gamma": 1.0, "alpha": 0.01}
    once = KMPClassifier(**how).fit(X, y, weight)
    rows = np.repeat(np.arange(40), weight)
    again = KMPClassifier(**how).fit(X[rows], y[rows])
    assert once.n_support_ == again.n_support_
    np.testing.assert_allclose(
        once.decision_function(X), again.decision_function(X), rtol=1e-6
    )


@pytest.mark.parametrize(
    "scoring", [lambda model, X, y: model.score(X, y), "neg_max_error"]
)
def test_scorers_that_take_no_weights(scoring):
    X, y = make_friedman1(60, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    selection = CrossValidation(scoring=scoring)
    model = KMPRegressor(selection=selection, max_support=5, gamma=1.0, alpha=0.1)
    assert model.fit(X, y, weight).n_support_ > 0


def test_leave_one_out_with_redrawn_candidates(regression):
    X, y = regression
    how = {"gamma": 0.1, "alpha": 0.1, "selection": "loo"}
    drawn = KMPRegressor(n_candidates=Redrawn(1.0), **how).fit(X, y)
    every = KMPRegressor(**how).fit(X, y)
    np.testing.assert_array_equal(drawn.support_, every.support_)


def test_redrawn_functions_that_are_computed_together():
    X, y = make_friedman1(200, n_features=8, random_state=0)
    splines = Transformed(SplineTransformer(n_knots=6))
    model = KMPRegressor(dictionary=splines, n_candidates=Redrawn(), max_support=20)
    assert model.fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("seed", range(4))
def test_redrawn_candidates_come_back_after_a_step(seed):
    # The second column is of use only after the first was chosen.
    X = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0.5, 0.5, -1.5, -1.5, 0, 0, 0, 0]]).T
    y = np.array([3.0, 3, 1, 1, 0, 0, 0, 0])
    model = KMPRegressor(
        dictionary=Precomputed(),
        alpha=0,
        fit_intercept=False,
        selection=None,
        max_support=2,
        n_candidates=Redrawn(1),
        random_state=seed,
    ).fit(X, y)
    assert sorted(model.support_) == [0, 1]


def test_a_model_of_a_kernel_matrix_stays_one(rng):
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    K = rbf_kernel(X)
    model = KMPRegressor("precomputed", alpha=0.1, selection=None, max_support=5)
    expected = model.fit(K, y).predict(K[:, model.support_])
    model.set_params(kernel="rbf")
    np.testing.assert_array_equal(model.predict(K[:, model.support_]), expected)


def test_words_become_components_when_these_are_searched(regression):
    model = KMPRegressor(kernel="rbf", max_support=5)
    model.set_params(selection__tolerance=0.5, method__refit_every=2)
    assert model.selection.get_params() == CrossValidation(tolerance=0.5).get_params()
    assert model.method.refit_every == 2
    model.set_params(selection=None, method="basic")
    model.set_params(selection__n_folds=3).fit(*regression)
    assert model.selection.n_folds == 3
