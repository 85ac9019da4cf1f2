"""Bounds read off fitted paths, and sizes chosen by them."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from naming import named
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import KMPClassifier, KMPRegressor, bounds, datasets
from pursuit.dictionaries import Features, ManyWidths
from pursuit.kernels import median_gamma
from pursuit.methods import Redrawn
from pursuit.selection import MinimalBound

FIXED = {"gamma": "median", "alpha": 1e-3}


@parametrize_with_checks(
    [
        KMPClassifier(selection="bound", max_support=12, **FIXED),
        KMPRegressor(selection="bound", max_support=20, **FIXED),
    ],
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
    curve = model.bound(X, y, "vc", alpha=0.1, delta=0.2)
    expected = literal_theorem_3(model, X, y, 0.1, 0.2)
    np.testing.assert_allclose(curve.values, expected)
    assert curve.kind == "vc"


@pytest.mark.parametrize("how", [{"loss": "huber"}, {"kernel": "precomputed"}])
def test_theorem_3_with_other_models(sinc, how):
    X, y = sinc
    X = np.exp(-0.5 * (X - X.T) ** 2) if "kernel" in how else X
    model = KMPRegressor(selection=None, max_support=8, **FIXED, **how).fit(X, y)
    found = model.bound(X, y, alpha=0.1)
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
    assert np.all(model.bound(X, y, "vc", alpha=1e-12).values == np.inf)
    is_wrong = np.abs(model.truncate(0).predict(X) - y) > 0.3
    assert model.bound(X, y, "vc", alpha=0.3)[0] == bounds.vc(
        120, 0, is_wrong.sum(), dimension=1, n_candidates=max(120, 120 * n_each)
    )
    curve = model.bound(X, y, "vc", alpha=100.0)
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
    found = model.bound(X, y, "vc").values
    np.testing.assert_array_equal(np.isinf(found), np.arange(21) >= 12)
    by_bound = make(selection=MinimalBound("vc"), **how).fit(X, y)
    assert by_bound.n_support_ == np.argmin(found)


@pytest.mark.parametrize("kernel", ["cosine", "laplacian", laplacian_kernel])
def test_a_model_without_points_has_stages_values_and_a_bound(sinc, kernel):
    X, y = sinc
    how = FIXED if isinstance(kernel, str) else {**FIXED, "gamma": "cv"}
    model = KMPRegressor(kernel=kernel, **how).fit(X, np.ones_like(y))
    assert model.n_support_ == 0
    assert list(model.staged_predict(X)) == []
    assert model.atoms_(X).shape == (len(X), 0)
    assert len(model.bound(X, np.ones_like(y), alpha=0.1)) == 1


def test_default_alpha(sinc):
    X, y = sinc
    model = KMPRegressor(selection=None, max_support=5, **FIXED).fit(X, y)
    np.testing.assert_array_equal(
        model.bound(X, y), model.bound(X, y, "vc", alpha=y.std() / 2)
    )


def test_rows_of_no_weight_do_not_count(sinc):
    X, y = sinc
    weight = np.ones(len(y))
    weight[::3] = 0
    how = {"selection": None, "max_support": 6, **FIXED}
    weighted = KMPRegressor(**how).fit(X, y, sample_weight=weight)
    some = X[weight > 0], y[weight > 0]
    without = KMPRegressor(**how).fit(*some).bound(*some, alpha=0.1)
    found = weighted.bound(X, y, alpha=0.1, sample_weight=weight)
    np.testing.assert_allclose(found, without)
    # Fractions of weights do not count.
    found = weighted.bound(X, y, alpha=0.1, sample_weight=0.7 * weight)
    np.testing.assert_allclose(found, without)
    assert not np.allclose(weighted.bound(X, y, alpha=0.1), without)


@pytest.mark.parametrize("selection", [None, "bound"])
def test_whole_weights_are_repetitions(sinc, selection):
    X, y = sinc
    times = np.arange(len(y)) % 3
    how = {"selection": selection, "max_support": 6, **FIXED}
    weighted = KMPRegressor(**how).fit(X, y, sample_weight=times)
    repeated = np.repeat(X, times, axis=0), np.repeat(y, times)
    model = KMPRegressor(**how).fit(*repeated)
    assert weighted.n_support_ == model.n_support_
    np.testing.assert_allclose(
        weighted.bound(X, y, alpha=0.1, sample_weight=times),
        model.bound(*repeated, alpha=0.1),
    )


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
    curves = {kind: model.bound(X, y, kind) for kind in ("mdl", "finite-class")}
    n_classes = len(model.classes_)
    n_outputs = 1 if n_classes == 2 else n_classes
    M = len(np.unique(X, axis=0))
    for size in range(1, 7):
        small = model.truncate(size)
        errors = int((small.predict(X) != y).sum())
        for bits in range(1, 53):
            coef, intercept = quantized(small.dual_coef_, small.intercept_, bits)
            values = small.atoms_(X) @ coef.T + intercept
            codes = values[:, 0] > 0 if n_classes == 2 else values.argmax(axis=1)
            if (model.classes_[codes.astype(int)] != y).sum() <= errors:
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
    with pytest.raises(ValueError, match=r"name one, as output=0 \(of 3\)"):
        model.bound(X, y, "mdl")
    for output in range(3):
        labels = y == output
        alone = KMPClassifier(selection=None, max_support=5, **FIXED).fit(X, labels)
        for kind in ("mdl", "finite-class", "vc"):
            found = model.bound(X, y, kind, output=output)
            np.testing.assert_allclose(found, alone.bound(X, labels, kind))
    for wrong in (3, -1, 0.0, "setosa", True):
        with pytest.raises(ValueError, match=f"output={wrong!r} must be .* 0 to 2"):
            model.bound(X, y, output=wrong)


def test_copies_do_not_hold_the_training_rows(sinc):
    X, y = sinc
    model = KMPRegressor(selection=None, max_support=5, **FIXED).fit(X, y)
    wanted = model.bound(X, y)
    assert len(wanted) == 6
    size = len(pickle.dumps(model))
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.truncate(3),
        pickle.loads(pickle.dumps(model.truncate(2))),
    ):
        n = len(other.path_) + 1
        np.testing.assert_array_equal(other.bound(X, y), wanted[:n])
    many = np.repeat(X, 50, axis=0), np.repeat(y, 50)
    again = KMPRegressor(selection=None, max_support=5, **FIXED).fit(*many)
    assert len(pickle.dumps(again)) < 1.1 * size


@pytest.mark.parametrize("form", [pd.DataFrame, sparse.csr_array, np.ndarray.tolist])
def test_data_may_be_asked_about_in_any_form(iris, form):
    X, y = iris
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = KMPClassifier(selection=None, max_support=5, **FIXED).fit(form(X), labels)
    wanted = KMPClassifier(selection=None, max_support=5, **FIXED).fit(X, y)
    found = model.bound(form(X), labels.tolist())
    np.testing.assert_allclose(found, wanted.bound(X, y))


def test_candidates_that_were_not_chosen_count(iris):
    X, y = iris
    how = {"selection": None, "max_support": 5, "random_state": 0, **FIXED}
    model = KMPClassifier(n_candidates=20, **how).fit(X, y)
    again = pickle.loads(pickle.dumps(model.truncate(4)))
    np.testing.assert_array_equal(again.bound(X, y), model.bound(X, y)[:5])
    errors = int((again.predict(X) != y).sum())
    least = [
        bounds.finite_class(len(y), errors, 20, 4, bits, n_weights=15)
        for bits in range(1, 53)
    ]
    assert any(again.bound(X, y)[4] == pytest.approx(value) for value in least)


@pytest.mark.parametrize("make", [KMPRegressor, KMPClassifier])
def test_other_data_than_those_of_the_fit(iris, make):
    X, y = iris
    model = make(selection=None, max_support=5, **FIXED).fit(X, y)
    for some in ((X[1:], y[1:]), (X[1:], y), (X, y[1:]), (X[:0], y[:0])):
        with pytest.raises(ValueError, match=r"rows|0 sample"):
            model.bound(*some)
    with pytest.raises(
        ValueError, match="fitted to 150: a bound is about the training"
    ):
        model.bound(X[:100], y[:100])
    with pytest.raises(ValueError, match="features"):
        model.bound(X[:, :2], y)
    with pytest.raises(ValueError, match="sample_weight.*negative"):
        model.bound(X, y, sample_weight=-np.ones(150))
    with pytest.raises(NotFittedError):
        make().bound(X, y)


@pytest.mark.parametrize(
    "labels", [np.array(["ash", "elm", "oak"]), np.array([1, 2, 3])], ids=str
)
def test_classes_that_the_model_does_not_know(iris, labels):
    X, y = iris
    model = KMPClassifier(selection=None, max_support=5, **FIXED).fit(X, labels[y])
    assert len(model.bound(X, labels[y])) == 6
    other = labels[y]
    other[7] = "yew" if other.dtype.kind == "U" else 9
    with pytest.raises(ValueError, match="classes that the model was not fitted to"):
        model.bound(X, other)


def test_targets_are_checked_as_those_of_a_fit(iris):
    X, y = iris
    model = KMPRegressor(selection=None, max_support=5, **FIXED).fit(X, y)
    for wrong in (np.where(y > 0, np.nan, 1.0), np.where(y > 0, "u", "v")):
        with pytest.raises(ValueError, match="y|NaN|convert"):
            model.bound(X, wrong)
    classifier = KMPClassifier(selection=None, max_support=5, **FIXED).fit(X, y)
    with pytest.raises(ValueError, match="y"):
        classifier.bound(X, np.c_[y, y])


# -- choosing by bound -------------------------------------------------------------


@pytest.mark.parametrize("bound", ["auto", "mdl", "finite-class", "vc"])
def test_classifier_by_bound(breast_cancer, bound):
    X, y = breast_cancer
    model = KMPClassifier(selection=MinimalBound(bound), **FIXED).fit(X, y)
    kind = "finite-class" if bound == "auto" else bound
    curve = model.bound(X, y, kind)
    assert model.n_support_ == curve.best_size
    # Patience saw enough of the path to know.
    assert len(model.path_) >= curve.best_size + 30
    longer = KMPClassifier(selection=None, max_support=100, **FIXED).fit(X, y)
    assert longer.bound(X, y, kind).best_size == curve.best_size
    assert (model.selection_, model.stop_reason_[:8]) == ("bound", "patience")


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_regressor_by_bound(diabetes, loss):
    X, y = diabetes
    how = {"loss": loss, **FIXED}
    rule = MinimalBound(alpha=1.0, delta=0.1)
    model = KMPRegressor(selection=rule, **how).fit(X, y)
    curve = model.bound(X, y, "vc", alpha=1.0, delta=0.1)
    assert model.n_support_ == curve.best_size > 0
    rule = MinimalBound(alpha=1.0, delta=0.1, patience=2)
    short = KMPRegressor(selection=rule, **how).fit(X, y)
    assert len(short.path_) < len(model.path_)
    assert short.path_.stop_reason == "patience"
    assert short.stop_reason_.startswith("patience")


def test_widths_are_compared_by_folds(iris):
    X, y = iris
    model = KMPClassifier(kernel="rbf", selection="bound", max_support=30).fit(X, y)
    assert len(model.search_) > 5
    assert model.n_support_ == model.bound(X, y).best_size


@pytest.mark.parametrize("n_candidates", [20, Redrawn(20)], ids=named)
def test_drawn_candidates_by_bound(iris, n_candidates):
    X, y = iris
    how = {"n_candidates": n_candidates, "random_state": 0, **FIXED}
    model = KMPClassifier(selection="bound", **how)
    assert model.fit(X, y).n_support_ == model.bound(X, y).best_size > 0


def test_rows_of_no_weight_do_not_choose_the_size(diabetes):
    X, y = diabetes
    weight = np.arange(len(y)) % 3
    model = KMPRegressor(selection="bound", **FIXED).fit(X, y, sample_weight=weight)
    curve = model.bound(X, y, sample_weight=weight)
    assert model.n_support_ == curve.best_size > 0


@pytest.mark.parametrize(
    "make, how, words",
    [
        (KMPRegressor, {"kind": "mdl"}, "kind='mdl' is about classifiers"),
        (KMPRegressor, {"kind": "best"}, "kind='best' is not known.*'auto'.*'vc'"),
        (KMPRegressor, {"alpha": 0}, "alpha=0 must be"),
        (KMPRegressor, {"delta": 1.0}, "delta=1.0 must be"),
        (KMPClassifier, {"kind": "vc"}, "kind='vc' is about one output, not 3"),
    ],
)
def test_what_is_wrong(iris, make, how, words):
    X, y = iris
    with pytest.raises(ValueError, match=words):
        make(selection=MinimalBound(**how), **FIXED).fit(X, y)


def test_a_loss_that_transforms_values(iris):
    X, y = iris
    with pytest.raises(ValueError, match="which loss=.*oisson.* transforms"):
        KMPRegressor(selection="bound", loss="poisson", **FIXED).fit(X, y)


def test_bounds_that_are_not_about_the_model(iris):
    X, y = iris
    model = KMPRegressor(selection=None, **FIXED).fit(X, y)
    with pytest.raises(ValueError, match="kind='mdl' is about classifiers"):
        model.bound(X, y, "mdl")
    with pytest.raises(ValueError, match="kind='rademacher' is not known"):
        model.bound(X, y, "rademacher")
    with pytest.raises(ValueError, match="alpha=-1 must be"):
        model.bound(X, y, "vc", alpha=-1)
    with pytest.raises(ValueError, match="delta=2 must be"):
        model.bound(X, y, delta=2)
    counts = KMPRegressor(selection=None, loss="poisson", **FIXED).fit(X, y)
    with pytest.raises(ValueError, match="oisson.*there is no bound"):
        counts.bound(X, y)
    Y = np.c_[y, y]
    both = KMPRegressor(selection=None, **FIXED).fit(X, Y)
    with pytest.raises(ValueError, match="one output, not 2"):
        both.bound(X, Y)


def test_several_outputs(sinc):
    X, y = sinc
    for selection in ("bound", MinimalBound("vc")):
        with pytest.raises(ValueError, match="about one output, y has 2"):
            KMPRegressor(kernel="rbf", selection=selection).fit(X, np.c_[y, y])


def test_parameters_are_cloned():
    model = KMPClassifier(
        kernel="rbf", selection=MinimalBound("mdl", alpha=2.0, delta=0.1)
    )
    ours, theirs = model.get_params(), clone(model).get_params()
    assert repr(ours.pop("selection")) == repr(theirs.pop("selection"))
    assert ours == theirs
    assert ours["selection__alpha"] == 2.0


@pytest.mark.skipif("wisconsin" not in datasets.available(), reason="needs Wisconsin")
def test_wisconsin():
    """Below 1, with a clear minimum (spec §5)."""
    data = datasets.load("wisconsin")
    complete = ~np.isnan(data.data).any(axis=1)
    X, y = data.data[complete] / 10, data.target[complete]
    model = KMPClassifier(selection=None, max_support=40, **FIXED).fit(X, y)
    for kind in ("mdl", "finite-class"):
        curve = model.bound(X, y, kind)
        assert not curve.is_vacuous
        assert 0 < curve.best_size < 10
        assert curve.values[-1] > 1.5 * curve.lowest


def test_a_value_of_zero_is_an_error_of_classes():
    """Balanced classes: the constant is 0 and tells them apart in no case."""
    X = np.arange(40.0)[:, None]
    model = KMPClassifier(gamma=0.1, alpha=1e-3, selection=None, max_support=5)
    y = np.arange(40) % 2
    curve = model.fit(X, y).bound(X, y, "vc")
    assert curve.values[0] == float(bounds.vc(40, 0, 40, dimension=1))


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
    curve = model.bound(X, data.target[rows], "vc", alpha=4.0)
    assert 14 <= curve.best_size <= 24
    assert curve.is_vacuous
    assert curve.lowest == pytest.approx(3.0, abs=0.3)


def test_a_bound_needs_the_training_points(sinc):
    X, y = sinc
    model = KMPRegressor(max_support=5, **FIXED).fit(X, y)
    with pytest.raises(ValueError, match="X does not hold all points of the model"):
        model.bound(X + 1.0, y)
    order = np.argsort(-X[:, 0])
    assert len(model.bound(X[order], y[order])) == len(model.path_) + 1
    with pytest.raises(ValueError, match="output=1 is for multiclass='ovr'"):
        model.bound(X, y, output=1)
