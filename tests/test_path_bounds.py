"""Bounds read off fitted paths, and sizes chosen by them."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import KMPClassifier, KMPRegressor, bounds, datasets
from pursuit.dictionaries import Features, ManyWidths
from pursuit.kernels import median_gamma

FIXED = {"gamma": "median", "alpha": 1e-3}


@parametrize_with_checks(
    [
        KMPClassifier(selection="bound", max_support=12, **FIXED),
        KMPRegressor(selection="bound", max_support=20, **FIXED),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def literal_theorem_3(model, X, y, alpha, delta=0.05):
    """Count the errors outside the chosen points at each size."""
    values = [np.full(len(y), model.truncate(0).intercept_[0])]
    values += list(model.staged_predict(X))
    found = []
    for size, f in enumerate(values):
        chosen = np.unique(model.path_.atoms[:size])
        outside = np.setdiff1d(np.arange(len(y)), chosen)
        t, k = int((np.abs(f - y)[outside] > alpha).sum()), len(chosen)
        dimension = k + int(model.fit_intercept)
        found.append(bounds.vc(len(y), k, t, dimension=dimension, delta=delta))
    return np.array(found, dtype=float)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting", "basic"])
def test_theorem_3_along_a_path(sinc, method, fit_intercept):
    X, y = sinc
    model = KMPRegressor(
        gamma=0.5,
        alpha=0.0,
        method=method,
        selection=None,
        max_support=12,
        fit_intercept=fit_intercept,
    ).fit(X, y)
    curve = model.path_.bound("vc", alpha=0.1, delta=0.2)
    expected = literal_theorem_3(model, X, y, 0.1, 0.2)
    np.testing.assert_allclose(curve.values, expected)
    assert curve.kind == "vc"


@pytest.mark.parametrize("how", [{"loss": "huber"}, {"kernel": "precomputed"}])
def test_theorem_3_with_other_models(sinc, how):
    X, y = sinc
    X = np.exp(-0.5 * (X - X.T) ** 2) if "kernel" in how else X
    model = KMPRegressor(selection=None, max_support=8, **FIXED, **how).fit(X, y)
    found = model.path_.bound(alpha=0.1)
    np.testing.assert_allclose(found.values, literal_theorem_3(model, X, y, 0.1))


@pytest.mark.parametrize(
    "dictionary, n_each",
    [(Features(), 0), (ManyWidths(multiples=(0.5, 1.0, 2.0)), 3)],
)
def test_theorem_3_with_atoms_that_have_no_row_of_their_own(sinc, dictionary, n_each):
    """They were chosen from more functions than rows, and leave more rows to err on."""
    X, y = sinc
    X = np.c_[X, X**2, X**3]
    model = KMPRegressor(
        dictionary=dictionary, alpha=0.0, selection=None, max_support=3
    ).fit(X, y)
    assert np.all(model.path_.bound("vc", alpha=1e-12).values == np.inf)
    is_wrong = np.abs(model.truncate(0).predict(X) - y) > 0.3
    assert model.path_.bound("vc", alpha=0.3)[0] == bounds.vc(
        120, 0, is_wrong.sum(), dimension=1, n_candidates=max(120, 120 * n_each)
    )
    curve = model.path_.bound("vc", alpha=100.0)
    expected = [
        bounds.vc(120, k, 0, dimension=k + 1, n_candidates=max(120, 120 * n_each))
        for k in range(len(curve))
    ]
    np.testing.assert_allclose(curve.values, expected)


@pytest.mark.parametrize("make", [KMPRegressor, KMPClassifier])
def test_more_functions_than_rows_have_an_infinite_bound(rng, make):
    X = rng.normal(size=(12, 30))
    y = X[:, 0] if make is KMPRegressor else np.arange(12) % 3 == 0
    how = {"dictionary": Features(), "alpha": 0.01}
    model = make(selection=None, max_support=20, **how).fit(X, y)
    assert len(model.path_) == 20
    found = model.path_.bound("vc").values
    np.testing.assert_array_equal(np.isinf(found), np.arange(21) >= 12)
    by_bound = make(selection="bound", bound="vc", **how).fit(X, y)
    assert by_bound.n_support_ == np.argmin(found)


@pytest.mark.parametrize("kernel", ["cosine", "laplacian", laplacian_kernel])
def test_a_model_without_points_has_stages_values_and_a_bound(sinc, kernel):
    X, y = sinc
    model = KMPRegressor(kernel=kernel, **FIXED).fit(X, np.ones_like(y))
    assert model.n_support_ == 0
    assert list(model.staged_predict(X)) == []
    assert model.atoms_(X).shape == (len(X), 0)
    assert len(model.path_.bound(alpha=0.1)) == 1


def test_default_alpha(sinc):
    X, y = sinc
    path = KMPRegressor(selection=None, max_support=5, **FIXED).fit(X, y).path_
    np.testing.assert_array_equal(path.bound(), path.bound("vc", alpha=y.std() / 2))


def test_rows_of_no_weight_do_not_count(sinc):
    X, y = sinc
    weight = np.ones(len(y))
    weight[::3] = 0
    how = {"selection": None, "max_support": 6, **FIXED}
    weighted = KMPRegressor(**how).fit(X, y, sample_weight=weight).path_
    without = KMPRegressor(**how).fit(X[weight > 0], y[weight > 0]).path_
    np.testing.assert_allclose(weighted.bound(alpha=0.1), without.bound(alpha=0.1))


def quantized(coef, intercept, bits):
    """The scheme of `bounds.rounded`, written anew: middles of equal parts."""
    weights = np.column_stack([coef, intercept])
    largest = np.abs(weights).max()
    edges = np.linspace(-largest, largest, 2**bits + 1)
    part = np.clip(np.searchsorted(edges, weights, side="right") - 1, 0, 2**bits - 1)
    middles = (edges[:-1] + edges[1:])[part] / 2
    return middles[:, :-1], middles[:, -1]


@pytest.mark.parametrize("case", ["breast_cancer", "iris"])
def test_classes_along_a_path(case, request):
    X, y = request.getfixturevalue(case)
    model = KMPClassifier(selection=None, max_support=6, **FIXED).fit(X, y)
    curves = {kind: model.path_.bound(kind) for kind in ("mdl", "finite-class")}
    n_classes = len(model.classes_)
    n_outputs = 1 if n_classes == 2 else n_classes
    M = len(np.unique(X, axis=0))
    for size in range(1, 7):
        small = model.truncate(size)
        errors = int((small.predict(X) != y).sum())
        for bits in range(1, 53):
            other = copy.copy(small)
            other.dual_coef_, other.intercept_ = quantized(
                small.dual_coef_, small.intercept_, bits
            )
            if (other.predict(X) != y).sum() <= errors:
                break
        numbers = (len(y), errors, M, size, bits)
        n_weights = n_outputs * (size + 1)
        assert curves["finite-class"][size] == pytest.approx(
            bounds.finite_class(*numbers, n_weights=n_weights)
        )
        assert curves["mdl"][size] == pytest.approx(
            bounds.mdl(*numbers, n_weights=n_weights, n_classes=n_classes, label_bits=1)
        )
    assert not curves["finite-class"].is_vacuous


def test_one_path_for_each_class(iris):
    X, y = iris
    model = KMPClassifier(selection=None, max_support=5, multiclass="ovr", **FIXED).fit(
        X, y
    )
    with pytest.raises(ValueError, match=r"path_\.paths\[output\]\.bound"):
        model.path_.bound("mdl")
    alone = KMPClassifier(selection=None, max_support=5, **FIXED).fit(X, y == 0)
    np.testing.assert_allclose(
        model.path_.paths[0].bound("mdl"), alone.path_.bound("mdl")
    )


def test_copies_do_not_hold_the_training_rows(sinc):
    model = KMPRegressor(selection=None, max_support=5, **FIXED).fit(*sinc)
    size = len(pickle.dumps(model))
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.truncate(3),
    ):
        with pytest.raises(ValueError, match="does not know its training rows"):
            other.path_.bound()
    many = np.repeat(sinc[0], 50, axis=0), np.repeat(sinc[1], 50)
    again = KMPRegressor(selection=None, max_support=5, **FIXED).fit(*many)
    assert len(pickle.dumps(again)) < 1.1 * size
    assert model.path_.bound().values.shape == (6,)
    assert model.path_.truncate(2).bound().values.shape == (3,)


# -- choosing by bound -------------------------------------------------------------


@pytest.mark.parametrize("bound", ["auto", "mdl", "finite-class", "vc"])
def test_classifier_by_bound(breast_cancer, bound):
    X, y = breast_cancer
    model = KMPClassifier(selection="bound", bound=bound, **FIXED).fit(X, y)
    kind = "finite-class" if bound == "auto" else bound
    curve = model.path_.bound(kind)
    assert model.n_support_ == curve.best_size
    # Patience saw enough of the path to know.
    assert len(model.path_) >= curve.best_size + 30
    longer = KMPClassifier(selection=None, max_support=100, **FIXED).fit(X, y)
    assert longer.path_.bound(kind).best_size == curve.best_size
    assert (model.selection_, model.stop_reason_[:8]) == ("bound", "patience")


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_regressor_by_bound(diabetes, loss):
    X, y = diabetes
    how = {"loss": loss, "bound_alpha": 1.0, "delta": 0.1, **FIXED}
    model = KMPRegressor(selection="bound", **how).fit(X, y)
    curve = model.path_.bound("vc", alpha=1.0, delta=0.1)
    assert model.n_support_ == curve.best_size > 0
    short = KMPRegressor(selection="bound", patience=2, **how).fit(X, y)
    assert len(short.path_) < len(model.path_)
    assert short.path_.stop_reason == "patience"
    assert short.stop_reason_.startswith("patience")


def test_widths_are_compared_by_folds(iris):
    X, y = iris
    model = KMPClassifier(selection="bound", max_support=30).fit(X, y)
    assert len(model.search_) > 5
    assert model.n_support_ == model.path_.bound().best_size


@pytest.mark.parametrize("redraw", [True, False])
def test_drawn_candidates_by_bound(iris, redraw):
    X, y = iris
    model = KMPClassifier(
        selection="bound", n_candidates=20, redraw_candidates=redraw, **FIXED
    ).fit(X, y)
    assert model.n_support_ == model.path_.bound().best_size > 0


@pytest.mark.parametrize(
    "make, how, words",
    [
        (KMPRegressor, {"bound": "mdl"}, "bound='mdl' is about classifiers"),
        (KMPRegressor, {"bound": "best"}, "bound='best' is not known"),
        (KMPRegressor, {"bound_alpha": 0}, "bound_alpha=0 must be"),
        (KMPRegressor, {"delta": 1.0}, "delta=1.0 must be"),
        (KMPRegressor, {"loss": "poisson"}, "which loss='poisson' transforms"),
        (KMPClassifier, {"bound": "vc"}, "bound='vc' is about one output, not 3"),
    ],
)
def test_what_is_wrong(iris, make, how, words):
    X, y = iris
    with pytest.raises(ValueError, match=words):
        make(selection="bound", **{**FIXED, **how}).fit(X, y)


def test_bounds_that_are_not_about_the_model(iris):
    X, y = iris
    path = KMPRegressor(selection=None, **FIXED).fit(X, y).path_
    with pytest.raises(ValueError, match="bound='mdl' is about classifiers"):
        path.bound("mdl")
    with pytest.raises(ValueError, match="bound='rademacher' is not known"):
        path.bound("rademacher")
    with pytest.raises(ValueError, match="alpha=-1 must be"):
        path.bound("vc", alpha=-1)
    counts = KMPRegressor(selection=None, loss="poisson", **FIXED).fit(X, y).path_
    with pytest.raises(ValueError, match="such as 'poisson', there is no bound"):
        counts.bound()
    both = KMPRegressor(selection=None, **FIXED).fit(X, np.c_[y, y]).path_
    with pytest.raises(ValueError, match="one output, not 2"):
        both.bound()


def test_several_outputs(sinc):
    X, y = sinc
    with pytest.raises(ValueError, match="about one output, y has 2"):
        KMPRegressor(selection="bound").fit(X, np.c_[y, y])


def test_parameters_are_cloned():
    model = KMPClassifier(selection="bound", bound="mdl", bound_alpha=2.0, delta=0.1)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.skipif("wisconsin" not in datasets.available(), reason="needs Wisconsin")
def test_wisconsin():
    """Below 1, with a clear minimum (spec §5)."""
    data = datasets.load("wisconsin")
    complete = ~np.isnan(data.data).any(axis=1)
    X, y = data.data[complete] / 10, data.target[complete]
    path = KMPClassifier(selection=None, max_support=40, **FIXED).fit(X, y).path_
    for kind in ("mdl", "finite-class"):
        curve = path.bound(kind)
        assert not curve.is_vacuous
        assert 0 < curve.best_size < 10
        assert curve.values[-1] > 1.5 * curve.lowest


def test_a_value_of_zero_is_an_error_of_classes():
    """Balanced classes: the constant is 0 and tells them apart in no case."""
    X = np.arange(40.0)[:, None]
    model = KMPClassifier(gamma=0.1, alpha=1e-3, selection=None, max_support=5)
    model.fit(X, np.arange(40) % 2)
    assert model.path_.bound("vc").values[0] == float(bounds.vc(40, 0, 40, dimension=1))


@pytest.mark.skipif("boston" not in datasets.available(), reason="needs Boston's data")
@pytest.mark.parametrize("width", [4.0, 16.0, 64.0])
def test_boston_of_figure_2(width):
    """Vacuous, with its minimum near 20 points (17 in the paper)."""
    data = datasets.load("boston")
    rows = np.random.default_rng(0).permutation(506)[:450]
    X = scale(data.data)[rows]
    model = KMPRegressor(
        gamma=median_gamma(X) / width,
        alpha=0.0,
        selection=None,
        max_support=60,
        fit_intercept=False,
    ).fit(X, data.target[rows])
    curve = model.path_.bound("vc", alpha=4.0)
    assert 14 <= curve.best_size <= 24
    assert curve.is_vacuous
    assert curve.lowest == pytest.approx(3.0, abs=0.3)
