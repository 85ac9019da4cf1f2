"""Dictionaries in the estimators: laws over a list of them, and each kind's own."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import KMPClassifier, KMPRegressor
from pursuit.dictionaries import (
    AdaptiveGaussian,
    Callables,
    Constant,
    Dictionary,
    Features,
    KernelPerClass,
    ManyKernels,
    ManyWidths,
    OneKernel,
    OrientedGaussians,
    Precomputed,
    Transformed,
    Union,
)
from pursuit.functions import Functions
from pursuit.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from pursuit.methods import Redrawn
from pursuit.selection import CrossValidation

FAST = {"alpha": 1e-3, "selection": None, "max_support": 8}


def waves(X):
    return np.sin(2.0 * X[:, :2])


def skewed(A, B):
    return np.tanh(A @ np.triu(np.ones((3, 3))) @ B.T)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 3))
    X[60:] = X[50:60]  # equal rows
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(70)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def classes_of(y):
    return np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]


# Each with the matrix that it stands for, written down in the plainest way.
def gaussian(X, Z, gamma):
    return np.exp(-gamma * np.square(X[:, None] - Z[None]).sum(axis=2))


def median_gamma(X):
    squared = np.square(X[:, None] - X[None]).sum(axis=2)
    apart = np.sort(squared[np.triu_indices(len(X), 1)])
    return 1.0 / apart[apart > 0][(np.sum(apart > 0) - 1) // 2]


def by_points(matrices):
    """The columns of several matrices, those of one point together."""
    return np.stack(matrices, axis=2).reshape(len(matrices[0]), -1)


CENTERS = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5], [0.2, 0.3, -2.0]])


def oriented(X, Z, k, r, gamma):
    columns = []
    for z in Z:
        squared = np.square(Z - z).sum(axis=1)
        delta = Z[np.argsort(squared)[1 : k + 1]] - z
        values, vectors = np.linalg.eigh(delta.T @ delta / k)
        V, variances = vectors[:, ::-1][:, :r], values[::-1][:r]
        C = np.eye(3) / (2 * gamma) + V @ np.diag(variances) @ V.T
        d = X - z
        columns.append(np.exp(-0.5 * np.einsum("ni,ij,nj->n", d, np.linalg.inv(C), d)))
    return np.column_stack(columns)


ORACLES = {
    "one kernel": (OneKernel("rbf", gamma=0.3), lambda X, Z: gaussian(X, Z, 0.3)),
    "median width": (
        OneKernel("rbf", gamma="median"),
        lambda X, Z: gaussian(X, Z, median_gamma(X)),
    ),
    "centers": (
        OneKernel(Gaussian(0.3), centers=CENTERS),
        lambda X, Z: gaussian(X, CENTERS, 0.3),
    ),
    "asymmetric": (OneKernel(skewed), skewed),
    "indefinite": (
        OneKernel(Sigmoid(gamma=0.5, coef0=-1.0)),
        lambda X, Z: np.tanh(0.5 * X @ Z.T - 1.0),
    ),
    "many kernels": (
        ManyKernels([Gaussian(0.3), Linear(), Laplacian(0.5)]),
        lambda X, Z: np.hstack(
            [
                gaussian(X, Z, 0.3),
                X @ Z.T,
                np.exp(-0.5 * np.abs(X[:, None] - Z[None]).sum(axis=2)),
            ]
        ),
    ),
    "many widths": (
        ManyWidths(gamma=0.3, multiples=(0.25, 1.0, 4.0)),
        lambda X, Z: by_points([gaussian(X, Z, g) for g in (0.075, 0.3, 1.2)]),
    ),
    "many widths of another kernel": (
        ManyWidths(Laplacian(0.5), multiples=(4.0, 1.0)),
        lambda X, Z: by_points(
            [np.exp(-g * np.abs(X[:, None] - Z).sum(axis=2)) for g in (2.0, 0.5)]
        ),
    ),
    "one of many widths": (
        ManyWidths(gamma=0.3, multiples=2.0),
        lambda X, Z: gaussian(X, Z, 0.6),
    ),
    "features": (
        Features(degree=2, interaction_only=False),
        lambda X, Z: np.column_stack(
            [X, *(X[:, i] * X[:, j] for i in range(3) for j in range(i, 3))]
        ),
    ),
    "callables": (
        Callables([waves, np.cos]),
        lambda X, Z: np.hstack([waves(X), np.cos(X)]),
    ),
    "splines": (
        Transformed(SplineTransformer(5)),
        lambda X, Z: SplineTransformer(5).fit_transform(X),
    ),
    "oriented": (
        OrientedGaussians(6, 2, gamma=0.5),
        lambda X, Z: oriented(X, Z, 6, 2, 0.5),
    ),
    "union": (
        Constant() + Features(["x1"]) + OneKernel("rbf", gamma=0.3),
        lambda X, Z: np.hstack([np.ones((len(X), 1)), X[:, [1]], gaussian(X, Z, 0.3)]),
    ),
}


def distinct(X):
    return X[np.sort(np.unique(X, axis=0, return_index=True)[1])]


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_pursuit_is_that_of_the_matrix(data, name, fit_intercept):
    X, y = data
    dictionary, matrix = ORACLES[name]
    D = matrix(X, distinct(X))
    model = KMPRegressor(dictionary=dictionary, fit_intercept=fit_intercept, **FAST)
    model.fit(X, y)
    expected = reference.pursue(
        "pre-fitting", D, y[:, None], 8, alpha=1e-3, fit_intercept=fit_intercept
    )
    np.testing.assert_array_equal(model.path_.atoms, expected[0])
    np.testing.assert_allclose(model.atoms_(X), D[:, expected[0]], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ORACLES)
def test_memory_precision_and_random_candidates(data, name):
    X = np.random.default_rng(5).standard_normal((800, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    dictionary, _ = ORACLES[name]
    how = {**FAST, "dictionary": dictionary}
    stored = KMPRegressor(**how).fit(X, y)
    # Too little to store a function on each row.
    memory = "10 MiB" if "many" in name else "5 MiB"
    blocks = KMPRegressor(**how, max_memory=memory).fit(X, y)
    np.testing.assert_array_equal(stored.support_, blocks.support_)
    np.testing.assert_allclose(stored.predict(X), blocks.predict(X), rtol=1e-8)
    single = KMPRegressor(**how, dtype="float32").fit(X, y)
    assert np.mean((single.predict(X) - y) ** 2) < 1.01 * np.mean(
        (stored.predict(X) - y) ** 2
    )
    drawn = KMPRegressor(**how, n_candidates=Redrawn(), random_state=0).fit(X, y)
    assert np.mean((drawn.predict(X) - y) ** 2) < np.var(y)


DICTIONARIES = {
    **{name: dictionary for name, (dictionary, _) in ORACLES.items()},
    "k-means": OneKernel(gamma=0.3, centers="kmeans", n_centers=12),
    "random": OneKernel(gamma=0.3, centers="random", n_centers=12),
    "searched": Features() + OneKernel(),
    "global": AdaptiveGaussian("global"),
    "local": AdaptiveGaussian("local"),
    "stochastic": AdaptiveGaussian(n_subsets=5) + Features(),
}


@pytest.fixture(params=DICTIONARIES.values(), ids=DICTIONARIES.keys())
def dictionary(request):
    return request.param


def test_clone_pickle_and_repr(data, dictionary):
    X, y = data
    model = KMPRegressor(dictionary=dictionary, **FAST)
    twin = clone(model)
    assert twin.dictionary is not dictionary
    assert repr(twin.dictionary) == repr(dictionary)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), twin.fit(X, y).predict(X))
    assert again.atoms_.names == model.atoms_.names
    assert "dictionary" in model._repr_html_()


def test_sizes_on_the_path(data, dictionary):
    X, y = data
    model = KMPRegressor(dictionary=dictionary, **FAST).fit(X, y)
    stages = list(model.staged_predict(X))
    for n, stage in enumerate(stages, 1):
        small = model.truncate(n)
        np.testing.assert_allclose(small.predict(X), stage, rtol=1e-6, atol=1e-8)
        assert len(small.atoms_) == small.n_support_ == len(small._path_functions)
    assert np.all(np.diff(model.path_.errors) < 1e-12)


def test_searches_and_losses(data, dictionary):
    X, y = data
    folds = CrossValidation(3)
    model = KMPRegressor(dictionary=dictionary, max_support=10, selection=folds)
    model.fit(X, y)
    assert len({row["alpha"] for row in model.search_}) >= 5
    assert model.score(X, y) >= 0.0
    labels = classes_of(y)
    for loss in ("logistic", "squared-hinge"):
        classifier = KMPClassifier(dictionary=dictionary, loss=loss, **FAST)
        assert classifier.fit(X, labels).score(X, labels) > 0.45
    robust = KMPRegressor(dictionary=dictionary, loss="huber", **FAST).fit(X, y)
    assert robust.score(X, y) > 0.0
    held = {**FAST, "selection": "validation"}
    assert KMPRegressor(dictionary=dictionary, **held).fit(X, y).n_support_ > 0


def test_weights_are_repetitions(data, dictionary):
    X, y = data
    times = np.random.default_rng(3).integers(0, 3, len(y))
    weighted = KMPRegressor(dictionary=dictionary, **FAST).fit(X, y, times)
    repeated = KMPRegressor(dictionary=dictionary, **FAST).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    if "Spline" in repr(dictionary):
        # Its knots, at quantiles or not, are its own affair.
        assert weighted.score(X, y) > 0.0
        return
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_the_order_of_rows_does_not_matter(data, dictionary):
    X, y = data
    order = np.random.default_rng(4).permutation(len(y))
    first = KMPRegressor(dictionary=dictionary, **FAST).fit(X, y)
    second = KMPRegressor(dictionary=dictionary, **FAST).fit(X[order], y[order])
    np.testing.assert_allclose(first.predict(X), second.predict(X), rtol=1e-6)


# -- scikit-learn's own checks -----------------------------------------------------

CHECKED = {"alpha": 1e-3, "selection": None, "max_support": 10}


@parametrize_with_checks(
    [
        KMPRegressor(dictionary=Features() + OneKernel(), max_support=10),
        KMPRegressor(dictionary=ManyWidths(), **CHECKED),
        KMPRegressor(dictionary=AdaptiveGaussian(n_subsets=5), **CHECKED),
        KMPRegressor(dictionary=OneKernel(centers="kmeans", n_centers=16), **CHECKED),
        KMPClassifier(dictionary=KernelPerClass(), **CHECKED),
        KMPClassifier(dictionary=AdaptiveGaussian("global"), max_support=10),
        KMPClassifier(dictionary=OrientedGaussians(gamma=0.1) + Constant(), **CHECKED),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- in grids and pipelines --------------------------------------------------------


def test_nested_parameters_in_a_grid_search(data):
    X, y = data
    grid = GridSearchCV(
        KMPRegressor(dictionary=Features() + OneKernel(Gaussian(0.3)), **FAST),
        {
            "dictionary__second__kernel__gamma": [0.1, 0.5],
            "dictionary__first__degree": [1, 2],
        },
        cv=3,
    )
    grid.fit(X, y)
    assert set(grid.best_params_) == set(grid.param_grid)
    GridSearchCV(
        KMPRegressor(**FAST), {"dictionary": [Features(), ManyWidths(), None]}, cv=3
    ).fit(X, y)


def test_frames_give_names_to_features(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    one = KMPRegressor(dictionary=Features("height"), **FAST).fit(frame, y)
    assert one.atoms_.names == ["feature height"]
    model = KMPRegressor(
        dictionary=Features(["weight", 0], degree=2) + OneKernel(gamma=0.3), **FAST
    ).fit(frame, y)
    names = set(model.atoms_.names)
    assert names & {"feature age", "feature weight", "feature weight × age"}
    splines = KMPRegressor(dictionary=Transformed(SplineTransformer(4)), **FAST)
    names = splines.fit(frame, y).atoms_.names
    assert all(name.startswith("SplineTransformer ") for name in names)
    assert any("height" in name for name in names)


@pytest.mark.parametrize("library", [pd, pl])
def test_transformers_are_given_frames(data, library):
    X, y = data
    names = ["age", "height", "weight"]
    frame = library.DataFrame(dict(zip(names, X.T, strict=True)))

    def fitted(data, by_name):
        bent, plain = (["weight"], ["age", "height"]) if by_name else ([2], [0, 1])
        steps = [("bent", SplineTransformer(5), bent), ("plain", "passthrough", plain)]
        dictionary = Transformed(ColumnTransformer(steps)) + OneKernel(gamma=0.3)
        weight = np.arange(70) % 3
        model = KMPRegressor(dictionary=dictionary, **FAST)
        return model.fit(data, y, sample_weight=weight)

    with pytest.raises(ValueError, match="only supported for dataframes"):
        fitted(X, by_name=True)
    model, wanted = fitted(frame, by_name=True), fitted(X, by_name=False)
    np.testing.assert_allclose(model.predict(frame), wanted.predict(X))
    assert any("bent__weight" in name for name in model.atoms_.names)
    for same in (pickle.loads(pickle.dumps(model)), model.truncate()):
        np.testing.assert_allclose(same.predict(frame), wanted.predict(X))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_allclose(model.predict(X), wanted.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])


# -- each kind's own ---------------------------------------------------------------


def test_classes_have_kernels_of_their_own(data):
    X, y = data
    labels = classes_of(y)
    wide, narrow = Gaussian(0.05), Gaussian(2.0)
    kernels = {"low": wide, "middle": narrow, "high": "linear"}
    model = KMPClassifier(dictionary=KernelPerClass(kernels), **FAST).fit(X, labels)
    words = {"low": "rbf(γ=0.05)", "middle": "rbf(γ=2)", "high": "linear"}
    for name, row in zip(model.atoms_.names, model.atoms_.rows, strict=True):
        assert name == f"{words[labels[row]]} at row {row}"
    with pytest.raises(ValueError, match="no kernel for the class high"):
        KMPClassifier(dictionary=KernelPerClass({"low": wide})).fit(X, labels)
    with pytest.raises(ValueError, match="needs classes"):
        KMPRegressor(dictionary=KernelPerClass()).fit(X, y)


TARGETED = [KernelPerClass(), AdaptiveGaussian("global"), AdaptiveGaussian("local")]


@pytest.mark.parametrize("dictionary", TARGETED)
def test_equal_rows_in_several_classes(data, dictionary):
    """The class of the most weight counts, in any order of the rows."""
    X, y = data
    X, labels = np.concatenate([X[:50], X[:20], X[:20]]), classes_of(y[:50])
    labels = np.concatenate([labels, ["low"] * 20, ["low"] * 10, ["high"] * 10])
    first = KMPClassifier(dictionary=dictionary, **FAST).fit(X, labels)
    order = np.random.default_rng(0).permutation(90)
    second = KMPClassifier(dictionary=dictionary, **FAST).fit(X[order], labels[order])
    np.testing.assert_allclose(
        first.decision_function(X), second.decision_function(X), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("dictionary", TARGETED)
def test_classes_of_held_out_rows_are_not_seen(data, dictionary):
    """Other labels on the rows that are held out do not change the path."""
    X, y = data
    labels = classes_of(y)
    # Some rows are in both parts.
    train, test = np.arange(55), np.arange(55, 70)
    how = {"alpha": 1e-3, "max_support": 10}
    selection = CrossValidation([(train, test)], tolerance=0.0)
    model = KMPClassifier(dictionary=dictionary, selection=selection, **how)
    errors = model.fit(X, labels).search_[0]["errors"]
    alone = KMPClassifier(dictionary=dictionary, **how, selection=None)
    alone.fit(X[train], labels[train])
    signs = np.where(labels[test, None] == alone.classes_, 1.0, -1.0)
    stages = alone.staged_decision_function(X[test])
    expected = [np.square(v - signs).sum(axis=1).mean() for v in stages]
    n = min(len(errors) - 1, len(expected))
    np.testing.assert_allclose(errors[1 : n + 1], expected[:n], rtol=1e-5)


def test_clusters_are_those_of_kmeans(data):
    X, y = data
    model = KMPRegressor(
        dictionary=OneKernel(gamma=0.3, centers="kmeans", n_centers=5), **FAST
    ).fit(X, y)
    assert model.n_support_ <= 5
    assert np.all(model.atoms_.rows == -1)
    points, counts = np.unique(X, axis=0, return_counts=True)
    inertia = (
        KMeans(5, n_init=10, random_state=0).fit(points, sample_weight=counts).inertia_
    )
    nearest = np.square(X[:, None] - model.truncate(5).support_vectors_).sum(axis=2)
    assert nearest.min(axis=1).sum() < 1.3 * inertia


def test_a_given_matrix_and_its_match(data):
    X, y = data
    D = np.column_stack([X, X**2, np.sin(2 * X)])
    model = KMPRegressor(dictionary=Precomputed(), **FAST).fit(D, y)
    chosen, _ = reference.pursue(
        "pre-fitting", D, y[:, None], 8, alpha=1e-3, fit_intercept=True
    )
    np.testing.assert_array_equal(model.support_, chosen)
    few = D[:7]
    np.testing.assert_allclose(
        model.predict(few), model.predict(few[:, model.support_]), rtol=1e-12
    )
    searched = KMPRegressor(dictionary=Precomputed(), max_support=5).fit(D, y)
    assert searched.score(D, y) > 0.5
    with pytest.raises(ValueError, match="nothing can be added"):
        KMPRegressor(dictionary=Precomputed() + Features()).fit(D, y)


def test_a_given_kernel_matrix_is_what_the_kernel_is(data):
    X, y = data
    K = gaussian(X, X, 0.3)
    how = {"max_support": 8, "selection": CrossValidation(3)}
    same = [
        KMPRegressor(dictionary=Precomputed(is_kernel=True), **how),
        KMPRegressor("precomputed", **how),
    ]
    first, second = (model.fit(K, y) for model in same)
    np.testing.assert_array_equal(first.support_, second.support_)
    np.testing.assert_array_equal(first.predict(K), second.predict(K))
    scores = [cross_val_score(model, K, y, cv=3) for model in same]
    np.testing.assert_array_equal(*scores)
    with pytest.raises(ValueError, match=r"Precomputed.*needs a square matrix"):
        same[0].fit(K[:, :20], y)


@pytest.mark.parametrize("kernel", ["linear", Laplacian(0.5)])
def test_a_kernel_is_short_for_one_kernel(data, kernel):
    X, y = data
    models = [
        KMPRegressor(dictionary=kernel, **FAST),
        KMPRegressor(dictionary=OneKernel(kernel), **FAST),
        KMPRegressor(kernel, **FAST),
    ]
    values = [model.fit(X, y).predict(X) for model in models]
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])


def test_sums_of_lists():
    total = sum([Features(), Constant(), OneKernel()])
    assert repr(total) == repr(Features() + Constant() + OneKernel())


def test_names_tell_functions_apart(data):
    X, y = data

    def names(functions):
        model = KMPRegressor(dictionary=Callables(functions), **FAST)
        return set(model.fit(X, y).atoms_.names)

    assert names([lambda A: A[:, 0], lambda A: A[:, 1]]) == {"<lambda> 0", "<lambda> 1"}
    assert names({"wave": lambda A: np.sin(A[:, 0])}) == {"wave"}
    assert names([waves]) == {"waves[0]", "waves[1]"}


def test_a_constant_among_the_atoms(data):
    X, y = data
    model = KMPRegressor(
        dictionary=Constant() + OneKernel(gamma=0.3), fit_intercept=False, **FAST
    ).fit(X, y + 50.0)
    assert model.atoms_.names[0] == "constant"
    assert model.atoms_.rows[0] == -1
    assert len(model.support_vectors_) == model.n_support_ - 1
    # Beside the constant that is always there it adds nothing.
    model = KMPRegressor(dictionary=Constant() + OneKernel(gamma=0.3), **FAST)
    assert "constant" not in model.fit(X, y + 50.0).atoms_.names


def test_held_out_rows_are_not_centers(data):
    X, y = data
    fold = [(np.arange(35), np.arange(35, 50))]
    dictionary = Features() + ManyWidths()
    model = KMPRegressor(
        dictionary=dictionary, alpha=1e-3, selection="validation", max_support=20
    ).fit(X, y)
    assert model.n_support_ > 0
    how = {"alpha": 1e-3, "max_support": 12, "selection": CrossValidation(fold)}
    manual = KMPRegressor(dictionary=dictionary, **how)
    errors = manual.fit(X[:50], y[:50]).search_[0]["errors"]
    # The same paths, fitted to the first rows alone (whose median width is another).
    widths = median_gamma(X[:50])
    fixed = Features() + ManyWidths(gamma=widths)
    alone = KMPRegressor(dictionary=fixed, alpha=1e-3, selection=None, max_support=12)
    alone.fit(X[:35], y[:35])
    expected = [np.mean((p - y[35:50]) ** 2) for p in alone.staged_predict(X[35:50])]
    np.testing.assert_allclose(errors[1:], expected[: len(errors) - 1], rtol=1e-6)


class Circles(Dictionary):
    """A dictionary that somebody else wrote."""

    def __init__(self, n=4):
        self.n = n

    def learn(self, sample):
        def circles(X):
            radius = np.linalg.norm(X, axis=1)
            return radius[:, None] ** np.arange(1, self.n + 1)

        return Callables([circles]).learn(sample)


def test_own_dictionaries(data):
    X, _ = data
    model = KMPRegressor(dictionary=Circles(3), **FAST).fit(X, np.square(X).sum(axis=1))
    assert model.score(X, np.square(X).sum(axis=1)) > 0.999
    assert isinstance(model.atoms_, Functions)


# -- what they are good for --------------------------------------------------------


def two_scales(n, noise, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    bumps = ((1.5, 2.0), (-1.2, 5.1), (1.0, 7.7))
    y = np.sin(0.6 * x) + sum(a * np.exp(-(((x - c) / 0.1) ** 2)) for a, c in bumps)
    return x[:, None], y + noise * rng.standard_normal(n)


def test_two_scales_take_half_the_atoms():
    """At any error that the best single width reaches, many widths take half of it."""
    X, y = two_scales(600, 0.05, 0)
    X_test, y_test = two_scales(2000, 0.0, 1)
    octaves = 2.0 ** np.arange(-4, 13)
    how = {"alpha": 1e-3, "selection": None, "max_support": 60}

    def curve(dictionary):
        model = KMPRegressor(dictionary=dictionary, **how).fit(X, y)
        return [np.mean((p - y_test) ** 2) for p in model.staged_predict(X_test)]

    single = [curve(ManyWidths(multiples=[m])) for m in octaves]
    many = np.array(curve(ManyWidths(multiples=octaves)))
    best = np.array(min(single, key=min))
    assert many.min() <= best.min()
    for n_single, error in enumerate(best, 1):
        if n_single > 1 and error == best[:n_single].min():
            n_many = int(np.argmax(many <= error)) + 1
            assert 2 * n_many <= n_single


def test_semi_parametric_models_go_on_where_kernels_fade():
    """A trend that goes on beyond the training data, and a wave."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (300, 1))
    X_test = rng.uniform(0, 15, (1000, 1))

    def f(X):
        return 0.8 * X[:, 0] + np.sin(2 * X[:, 0])

    y = f(X) + 0.1 * rng.standard_normal(300)
    pure = KMPRegressor(kernel="rbf").fit(X, y)
    mixed = KMPRegressor(dictionary=Features() + OneKernel()).fit(X, y)
    errors = [np.mean((m.predict(X_test) - f(X_test)) ** 2) for m in (pure, mixed)]
    assert errors[1] < 0.2 * errors[0]
    assert "feature x0" in mixed.atoms_.names


@pytest.mark.parametrize(
    "kernel", [RBF(2.0), lambda A, B: np.exp(-0.125 * cdist(A, B, "sqeuclidean"))]
)
def test_any_kernel_stands_for_the_simplest_dictionary(data, kernel):
    X, y = data[:2]
    how = {"max_support": 6, "alpha": 1e-3, "selection": None}
    model = KMPRegressor(dictionary=kernel, **how).fit(X, y)
    wanted = KMPRegressor(kernel, **how).fit(X, y)
    np.testing.assert_array_equal(model.support_, wanted.support_)


# -- bad input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dictionary", "message"),
    [
        (3, "must be an object of pursuit.dictionaries"),
        (Features, "must be an object of pursuit.dictionaries"),
        ("rbff", "kernel='rbff' is unknown"),
        ("precomputed", "on the estimator, or use Precomputed"),
        (Union(Features(), "rbf"), "second='rbf' of a Union must be"),
        (OneKernel("rbff"), "kernel='rbff' is unknown"),
        (OneKernel(gamma=-1), "gamma=-1 must be a positive"),
        (OneKernel(centers="means"), "centers='means' must be"),
        (OneKernel(centers="random"), "n_centers=None must be a whole number"),
        (OneKernel(centers=np.ones((2, 5))), "centers must be an array of shape"),
        (OneKernel(centers=np.full((2, 3), np.nan)), "centers must be finite"),
        (OneKernel(centers=[["a", "b", "c"]]), "centers must be numbers"),
        (OneKernel(n_centers=3), "n_centers=3 is for centers='random'"),
        (OneKernel(centers=CENTERS, n_centers=3), "n_centers=3 is for"),
        (ManyWidths(multiples=()), "multiples=.* must be one or more"),
        (ManyWidths(multiples=(1.0, np.inf)), "multiples=.* must be one or more"),
        (ManyWidths(multiples="wide"), "multiples='wide' must be one or more"),
        (ManyWidths(gamma=1e10, multiples=(1, 1e300)), "too large for a width"),
        (ManyWidths(multiples=(1.0, 1.0)), "names a width twice"),
        (ManyWidths(gamma="cv"), "gamma='cv' compares"),
        (ManyWidths("linear"), "has no width"),
        (ManyKernels([]), "must be a list"),
        (ManyKernels("rbf"), "must be a list"),
        (ManyKernels(Gaussian(1.0)), "must be a list"),
        (ManyKernels(None), "kernels=None must be a list"),
        (Features(["size"]), "'size', which is not a feature"),
        (Features([7]), "7, which is not a feature"),
        (Features([0, 0]), "must be different features"),
        (Features(degree=0), "degree=0 must be a whole number"),
        (Features(degree=10**7, interaction_only=False), "makes .* products"),
        (Features(1.5), "1.5, which is not a feature"),
        (Features(interaction_only="no"), "interaction_only='no' must be"),
        (Transformed(np.sin), "must be an object with fit and transform"),
        (Transformed(SplineTransformer), "must be an object with fit"),
        (Transformed(SelectKBest(k=2)), "cannot be fitted to X alone"),
        (Precomputed(is_kernel=3), "is_kernel=3"),
        (Callables(np.sin), "must be a list"),
        (Callables(None), "functions=None must be a list"),
        (Callables([]), "must be a list"),
        (Callables([3]), "cannot be called"),
        (Callables([lambda A: A[:3]]), "returned an array of shape"),
        (Callables([lambda A: A[:, 0] / 0.0]), "returned NaN or inf"),
        (AdaptiveGaussian("everywhere"), "strategy='everywhere' is not known"),
        (AdaptiveGaussian(criterion="aligned"), "compares classes"),
        (AdaptiveGaussian(criterion="odd"), "criterion='odd' is not known"),
        (AdaptiveGaussian(average="mode"), "average='mode' is not known"),
        (AdaptiveGaussian(n_subsets=0), "n_subsets=0 must be"),
        (AdaptiveGaussian(subset_size=1.5), "subset_size=1.5 must be"),
        (AdaptiveGaussian(radius=0), "radius=0 must be"),
        (AdaptiveGaussian(preset="wide"), "preset='wide' must be"),
        (AdaptiveGaussian(preset=np.ones(2)), "preset=.* must be"),
        (AdaptiveGaussian(gamma_range=(2, 1)), "gamma_range="),
        (AdaptiveGaussian(gamma_range=3), "gamma_range="),
        (OrientedGaussians(0), "n_neighbors=0 must be"),
        (OrientedGaussians(n_directions=-1), "n_directions=-1 must be"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_dictionaries(data, dictionary, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        KMPRegressor(dictionary=dictionary, **FAST).fit(X, y)


@pytest.mark.parametrize(
    "given", [{"kernel": "linear"}, {"gamma": 0.5}, {"kernel": Polynomial(2, coef0=1)}]
)
def test_a_kernel_beside_a_dictionary(data, given):
    X, y = data
    with pytest.raises(ValueError, match="were both given"):
        KMPRegressor(dictionary=ManyWidths(), **given).fit(X, y)


def test_sparse_input_where_it_makes_sense(data):
    X, y = data
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    for dictionary in (ManyWidths(), Features() + OneKernel(gamma=0.3)):
        dense = KMPRegressor(dictionary=dictionary, **FAST).fit(thin, y)
        model = KMPRegressor(dictionary=dictionary, **FAST).fit(
            sparse.csr_array(thin), y
        )
        np.testing.assert_array_equal(dense.support_, model.support_)
    with pytest.raises(TypeError, match="[Ss]parse"):
        KMPRegressor(dictionary=OrientedGaussians(), **FAST).fit(
            sparse.csr_array(thin), y
        )


def test_directions_do_not_depend_on_the_origin(rng):
    """With many features, neighbors are found by inner products."""
    X = np.round(rng.normal(size=(60, 20)) * 1024) / 1024
    y = np.sin(X[:, 0])
    model = KMPRegressor(dictionary=OrientedGaussians(5, 2, gamma=0.02), **FAST)
    wanted = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(X + 2.0**26, y).predict(X + 2.0**26), wanted)


@pytest.mark.parametrize(
    "dictionary", [ManyWidths(), OrientedGaussians(), AdaptiveGaussian(), Features()]
)
def test_tiny_and_odd_data(dictionary):
    for X in (np.ones((5, 2)), np.arange(3.0)[:, None], np.array([[0.0], [1e100]])):
        model = KMPRegressor(dictionary=dictionary).fit(
            X, np.arange(len(X), dtype=float)
        )
        assert np.all(np.isfinite(model.predict(X)))
    huge, y = np.array([[0.0], [1e200], [3e199]]), np.arange(3.0)
    with pytest.raises(ValueError, match="too large to be squared|squares overflow"):
        KMPRegressor(dictionary=dictionary).fit(huge, y)


def test_scaled_features_in_a_pipeline(data):
    X, y = data
    scaled = StandardScaler().fit_transform(X)
    model = KMPRegressor(dictionary=Features(degree=2) + OneKernel(), max_support=20)
    assert model.fit(scaled, y).score(scaled, y) > 0.8
