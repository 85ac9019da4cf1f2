"""Densities of local Gaussians: equal to the literal algorithm, and true densities."""

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from naming import named
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from pursuit import LocalGaussianDensity, ManifoldParzen, ParzenWindows, datasets
from pursuit._threads import allowed_threads, deal
from pursuit.datasets import make_spiral, spiral_log_density
from pursuit.densities import left_out, local_weights, mixtures
from pursuit.densities.downdates import corrected
from pursuit.densities.local_weights import nearest
from pursuit.kernels import Gaussian, Laplacian

# Settings of a density on rows near a curve in few or many dimensions.
SETTINGS = [
    {"n_neighbors": 6, "bandwidth": 0.2},
    {"n_neighbors": 6, "n_components": 1, "bandwidth": 0.2},
    {"n_neighbors": 6, "n_components": 4, "bandwidth": 0.2},
    {"n_neighbors": 25, "n_components": 2, "bandwidth": 0.1},
    {"n_neighbors": 25, "bandwidth": 0.1},
    {"n_neighbors": 6, "n_components": 0, "bandwidth": 0.3},
    {"n_neighbors": 6, "bandwidth": 1e-4},
    {"n_neighbors": 6, "n_components": 2, "bandwidth": 1e-4},
]
DENSITIES = [ParzenWindows, ManifoldParzen, LocalGaussianDensity]
SOFT = {"neighborhood": Gaussian(0.5), "n_neighbors": None, "bandwidth": 0.2}


def curve(n_rows, n_features, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n_rows)
    waves = np.sin(np.outer(t, np.arange(1, n_features + 1)) / 2)
    return waves + 0.05 * rng.standard_normal((n_rows, n_features))


@pytest.fixture(scope="module")
def spiral():
    X = make_spiral(300, random_state=0)
    X.setflags(write=False)
    return X


# -- scikit-learn's own checks -----------------------------------------------------


@parametrize_with_checks(
    [
        ManifoldParzen(),
        ManifoldParzen(5, 1, 0.5),
        ManifoldParzen(neighborhood="rbf", bandwidth=0.5),
        ParzenWindows(),
        LocalGaussianDensity(),
        LocalGaussianDensity(1.0, 0.5, 1),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- the same numbers as the literal algorithm -------------------------------------


@pytest.mark.parametrize("n_features", [2, 12, 40])
@pytest.mark.parametrize("setting", SETTINGS, ids=named)
def test_equals_the_algorithm_box(setting, n_features):
    X, Z = curve(60, n_features), curve(150, n_features, seed=1)
    Z[:5] = X[:5]
    d = setting.get("n_components")
    found = ManifoldParzen(**setting).fit(X).score_samples(Z)
    expected = reference.manifold_parzen(
        X, Z, setting["n_neighbors"], d, setting["bandwidth"] ** 2
    )
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n_features", [2, 12, 40])
@pytest.mark.parametrize("d", [None, 1, 3])
def test_soft_neighborhoods_equal_equation_13_3(n_features, d):
    X, Z = curve(50, n_features), curve(20, n_features, seed=1)
    found = ManifoldParzen(**SOFT, n_components=d).fit(X).score_samples(Z)
    expected = reference.manifold_parzen(X, Z, 49, d, 0.04, kernel=SOFT["neighborhood"])
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_a_constant_kernel_is_a_hard_neighborhood():
    X, Z = curve(40, 12), curve(20, 12, seed=1)
    soft = ManifoldParzen(
        7, None, 0.2, neighborhood=lambda A, B: np.ones((len(A), len(B)))
    )
    hard = ManifoldParzen(7, None, 0.2)
    assert_allclose(
        soft.fit(X).score_samples(Z), hard.fit(X).score_samples(Z), rtol=1e-12
    )


@pytest.mark.parametrize("n_features", [1, 3, 30])
def test_no_directions_is_parzen(n_features):
    X, Z = curve(80, n_features), curve(30, n_features, seed=1)
    manifold = ManifoldParzen(5, 0, 0.2).fit(X).score_samples(Z)
    parzen = ParzenWindows(0.2).fit(X).score_samples(Z)
    theirs = KernelDensity(bandwidth=0.2, leaf_size=len(X)).fit(X).score_samples(Z)
    assert_array_equal(manifold, parzen)
    assert_allclose(parzen, theirs, rtol=1e-10)


@pytest.mark.parametrize("setting", SETTINGS, ids=named)
def test_little_memory_and_threads_change_nothing(setting):
    X, Z = curve(60, 12), curve(300, 12, seed=1)
    plenty = ManifoldParzen(**setting, n_jobs=1).fit(X)
    little = ManifoldParzen(**setting, n_jobs=2, max_memory="4 KiB").fit(X)
    assert_allclose(
        little.score_samples(Z), plenty.score_samples(Z), rtol=1e-10, atol=1e-10
    )
    assert_allclose(little.loo_score_samples(), plenty.loo_score_samples(), rtol=1e-8)


@pytest.mark.parametrize("d", [None, 0, 1])
@pytest.mark.parametrize("n_features", [2, 12])
def test_local_density_equals_the_formula(n_features, d):
    X, Z = curve(60, n_features), curve(30, n_features, seed=1)
    found = LocalGaussianDensity(0.6, 0.1, d).fit(X).score_samples(Z)
    expected = [reference.local_density(X, z, 0.6, 0.01, d) for z in Z]
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_local_density_with_more_features_than_rows():
    X, Z = curve(20, 40), curve(10, 40, seed=1)
    found = LocalGaussianDensity(0.9, 0.1).fit(X).score_samples(Z)
    expected = [reference.local_density(X, z, 0.9, 0.01) for z in Z]
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shape", [(30, 2), (4, 10), (8, 20)])
def test_more_components_than_directions_are_all(shape):
    X, Z = curve(*shape), curve(6, shape[1], seed=1)
    everything = LocalGaussianDensity(2.0, 0.3).fit(X).score_samples(Z)
    for d in (min(shape), min(shape) + 1, 50):
        found = LocalGaussianDensity(2.0, 0.3, d).fit(X).score_samples(Z)
        assert_allclose(found, everything, rtol=1e-12)


def literal(X, Z, k, d, sigma):
    """As the algorithm box, without squares: singular vectors of the neighbors."""
    logs = []
    for x in X:
        near = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[1 : k + 1]
        _, s, V = np.linalg.svd((X[near] - x) / np.sqrt(len(near)))
        spectrum = np.zeros(X.shape[1])
        spectrum[: len(s)] = s**2
        spectrum[X.shape[1] if d is None else d :] = 0.0
        spectrum += sigma**2
        squares = (((Z - x) @ V.T) ** 2 / spectrum).sum(axis=1)
        logs.append(-0.5 * (squares + np.log(2 * np.pi * spectrum).sum()))
    return logsumexp(logs, axis=0) - np.log(len(X))


@pytest.mark.parametrize("sigma", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("d", [None, 1, 2])
@pytest.mark.parametrize("n_features, k", [(3, 8), (4, 2), (12, 4), (12, 18)])
def test_tiny_widths_where_columns_depend_on_others(n_features, k, d, sigma):
    rng = np.random.default_rng(0)
    plane = rng.standard_normal((2, n_features))
    X, Z = rng.standard_normal((25, 2)) @ plane, rng.standard_normal((9, 2)) @ plane
    Z[5:] = rng.standard_normal((4, n_features))
    model = ManifoldParzen(k, d, sigma).fit(X)
    expected = literal(X, Z, k, d, sigma)
    assert_allclose(model.score_samples(Z), expected, rtol=1e-8)
    left_out = [
        literal(np.delete(X, i, axis=0), X[i : i + 1], k, d, sigma)[0]
        for i in range(len(X))
    ]
    assert_allclose(model.loo_score_samples(), left_out, rtol=1e-8)


FAR = [
    ManifoldParzen(3, None, 0.3),
    ManifoldParzen(5, 1, 0.3),
    ParzenWindows(0.3),
    LocalGaussianDensity(1.0, 0.3),
    LocalGaussianDensity(1.0, 1e-9),
]


@pytest.mark.parametrize("model", FAR, ids=named)
@pytest.mark.parametrize("n_features", [2, 12])
def test_no_density_where_distances_overflow(model, n_features):
    model = clone(model).fit(curve(30, n_features))
    near = np.full((1, n_features), 3.0)
    distances = [1e3, 1e10, 1e70, 1e100, 1e149, 1e152, 1e160, 1e300]
    logs = [model.score_samples(x * near)[0] for x in (1, *distances)]
    assert np.isneginf(logs[-3:]).all()
    assert all(a > b or a == b == -np.inf for a, b in pairwise(logs))


# -- threads and memory ------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, 1.5])
def test_distances_keep_to_threads_and_memory(weight, monkeypatch):
    used = []

    def spy(work, items, n_threads):
        used.append(n_threads)
        deal(work, items, n_threads)

    monkeypatch.setattr("pursuit._limits.deal", spy)
    X = curve(1500, 3)
    weights = None if weight is None else np.where(np.arange(1500) % 9, 1.0, weight)
    model = ManifoldParzen(5, None, 0.1, max_memory="2 MiB")
    model.fit(X[:50])
    tracemalloc.start()
    model.fit(X, sample_weight=weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used
    assert max(used) <= allowed_threads()
    assert peak < 3 * 2**20
    assert_array_equal(
        model.score_samples(X[:9]),
        ManifoldParzen(5, None, 0.1).fit(X, sample_weight=weights).score_samples(X[:9]),
    )


def test_no_neighbors_need_no_distances(monkeypatch):
    monkeypatch.setattr(local_weights, "_each_block", None)
    ParzenWindows(0.3).fit(curve(20, 2), sample_weight=np.arange(20))


def test_factors_are_kept_only_if_they_fit_the_memory():
    X, Z = curve(1500, 12), curve(100, 12, seed=1)
    found, peaks = [], []
    for memory in ("1 GiB", "1 MiB"):
        model = ManifoldParzen(16, None, 0.1, max_memory=memory, n_jobs=1)
        model.fit(X[:50]).score_samples(Z)
        tracemalloc.start()
        found.append(model.fit(X).score_samples(Z))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # A factor is a matrix of 12 rows and as many columns.
    assert peaks[0] > X.nbytes * 12
    assert peaks[1] < 2 * 2**20
    assert_allclose(*found, rtol=1e-10)


@pytest.mark.parametrize(
    "model",
    [ManifoldParzen(5, None, 0.3), ParzenWindows(0.3), LocalGaussianDensity(1.0, 0.3)],
    ids=named,
)
def test_memory_and_threads_are_asked_at_the_call(model):
    X, Z = curve(60, 3), curve(40, 3, seed=1)
    model = clone(model).fit(X)
    expected, left_out = model.score_samples(Z), model.loo_score_samples()
    model.set_params(max_memory=20_000, n_jobs=1)
    assert_allclose(model.score_samples(Z), expected, rtol=1e-12)
    assert_allclose(model.loo_score_samples(), left_out, rtol=1e-12)
    for wrong in ({"max_memory": "foo"}, {"max_memory": None, "n_jobs": 0}):
        model.set_params(**wrong)
        for call in (lambda: model.score_samples(Z), model.loo_score_samples):
            with pytest.raises(ValueError, match="max_memory='foo'|n_jobs=0"):
                call()


@pytest.mark.parametrize(
    "model", [ManifoldParzen(5, None, 0.3), LocalGaussianDensity(1.0, 0.3)], ids=named
)
def test_a_later_change_of_parameters_does_not_change_the_density(model):
    X, Z = curve(60, 3), curve(40, 3, seed=1)
    model = clone(model).fit(X)
    expected = model.score_samples(Z)
    model.set_params(bandwidth=7.0, n_components=0)
    assert_array_equal(model.score_samples(Z), expected)


def test_careful_form_keeps_to_the_memory():
    X, Z = curve(12, 40), curve(20_000, 40, seed=1)
    model = ManifoldParzen(5, None, 1e-6, max_memory="1 MiB").fit(X)
    assert model._mixture.gaussians.is_delicate
    expected = model.score_samples(Z[-3:])
    tracemalloc.start()
    found = model.score_samples(Z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * Z.nbytes + 2**21  # the queries as given, in the frame, contiguous
    assert_allclose(found[-3:], expected, rtol=1e-14)


def test_leave_one_out_keeps_blas_to_one_thread(monkeypatch):
    seen = []

    def spy(*given):
        blas = threadpool_info()
        seen.append(max(b["num_threads"] for b in blas if b["user_api"] == "blas"))
        return corrected(*given)

    monkeypatch.setattr(left_out, "corrected", spy)
    model = ManifoldParzen(5, None, 0.3).fit(curve(60, 3))
    with threadpool_limits(2):
        found = model.loo_score_samples()
    assert set(seen) == {1}
    assert_allclose(found, model.set_params(n_jobs=1).loo_score_samples(), rtol=1e-12)


# -- densities ---------------------------------------------------------------------

MIXTURES = [
    ParzenWindows(0.3),
    ManifoldParzen(4, None, 0.2),
    ManifoldParzen(4, 1, 0.2),
    ManifoldParzen(None, 1, 0.2, neighborhood=Gaussian(1.0)),
    ManifoldParzen(),
]


@pytest.mark.parametrize("model", MIXTURES, ids=named)
def test_integrates_to_one_on_the_line(model):
    X = curve(30, 1)
    x = np.linspace(-12, 12, 100_001)
    density = np.exp(clone(model).fit(X).score_samples(x[:, None]))
    assert trapezoid(density, x) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("model", MIXTURES[:4], ids=named)
def test_integrates_to_one_in_the_plane(model):
    X = curve(30, 2)
    x = np.linspace(-6, 6, 401)
    Z = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    density = np.exp(clone(model).fit(X).score_samples(Z)).reshape(401, 401)
    assert trapezoid(trapezoid(density, x), x) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("n_features", [1, 2])
def test_mass_of_the_local_density(n_features):
    X = curve(40, n_features)
    model = LocalGaussianDensity(0.4, 0.1).fit(X)
    x = np.linspace(-4, 4, 20_001 if n_features == 1 else 301)
    grid = np.meshgrid(*[x] * n_features)
    Z = np.stack(grid, axis=-1).reshape(-1, n_features)
    density = np.exp(model.score_samples(Z)).reshape(grid[0].shape)
    mass = trapezoid(density, x)
    mass = trapezoid(mass, x) if n_features == 2 else mass
    found = model.normalizer(20_000, random_state=0)
    assert abs(found.mass - mass) < 4 * found.standard_error + 1e-3
    normal = LocalGaussianDensity(0.4, 0.1, normalize=True, random_state=0).fit(X)
    assert_allclose(
        normal.score_samples(X), model.score_samples(X) - normal.log_mass_, rtol=1e-12
    )
    assert normal.log_mass_ == pytest.approx(np.log(mass), abs=0.05)


@pytest.mark.parametrize("n_features", [2, 10])
def test_mass_of_wide_neighborhoods_is_that_of_one_gaussian(n_features):
    X = np.random.default_rng(0).standard_normal((100, n_features))
    found = LocalGaussianDensity(300.0, 0.3).fit(X).normalizer(4000, random_state=0)
    assert found.standard_error < 0.1
    assert abs(found.mass - 1.0) < 4 * found.standard_error


@pytest.mark.parametrize("n_features", [2, 10])
def test_estimates_of_the_mass_differ_by_their_errors(n_features):
    X = np.random.default_rng(0).standard_normal((100, n_features))
    model = LocalGaussianDensity(5.0, 0.3).fit(X)
    one, other = (model.normalizer(4000, random_state=seed) for seed in (0, 1))
    error = np.hypot(one.standard_error, other.standard_error)
    assert 0 < abs(one.mass - other.mass) < 4 * error < 0.5
    assert 0.5 < one.mass < 2.0


def test_a_mass_that_is_not_to_be_trusted_is_told():
    X = np.random.default_rng(0).standard_normal((30, 60))
    model = LocalGaussianDensity(50.0, 0.5, normalize=True, random_state=0)
    with pytest.warns(UserWarning, match="relative standard error .* smaller width"):
        model.fit(X)
    assert np.isfinite(model.log_mass_)


@pytest.mark.parametrize(
    "model, trained",
    [
        (ParzenWindows(0.3), (1, 0, 0.09)),
        (ManifoldParzen(6, None, 0.1), (6, None, 0.01)),
        (ManifoldParzen(6, 1, 0.1), (6, 1, 0.01)),
        (
            ManifoldParzen(None, 2, 0.1, neighborhood=Gaussian(1.0)),
            (24, 2, 0.01, Gaussian(1.0)),
        ),
    ],
    ids=named,
)
def test_samples_follow_the_density(model, trained):
    """Mean of f(x) over samples is ∫ f p; here f are moments and q / p."""
    X = curve(25, 3)
    model = clone(model).fit(X)
    Z = model.sample(20_000, random_state=0)
    assert Z.shape == (20_000, 3)
    variance = trained[2]
    within = [
        (V.T * (eigenvalues - variance)) @ V
        for V, eigenvalues in zip(
            *reference.train_manifold_parzen(X, *trained), strict=True
        )
    ]
    within = np.mean(within, axis=0) + variance * np.eye(3)
    assert_allclose(Z.mean(axis=0), X.mean(axis=0), atol=0.03)
    assert_allclose(np.cov(Z.T), np.cov(X.T, bias=True) + within, atol=0.03)
    # Another density, narrower than this one, integrates to 1 as well.
    ratio = np.exp(ParzenWindows(0.09).fit(X).score_samples(Z) - model.score_samples(Z))
    error = ratio.std() / np.sqrt(len(Z))
    assert error < 0.02
    assert abs(ratio.mean() - 1.0) < 4 * error


def test_samples_fill_cells_as_the_density_says():
    """Two-sample check on a grid: counts of samples against integrals (chi-square)."""
    X = make_spiral(60, random_state=0)
    model = ManifoldParzen(6, 1, 0.05).fit(X)
    edges = np.linspace(-0.8, 0.8, 9)
    Z = model.sample(40_000, random_state=0)
    counts, *_ = np.histogram2d(Z[:, 0], Z[:, 1], bins=[edges, edges])
    fine = (np.arange(160) + 0.5) / 100 - 0.8
    grid = np.stack(np.meshgrid(fine, fine, indexing="ij"), axis=-1).reshape(-1, 2)
    cells = np.exp(model.score_samples(grid)).reshape(8, 20, 8, 20).sum(axis=(1, 3))
    expected = cells * 1e-4 * len(Z)
    used = expected > 20
    chi2 = ((counts - expected)[used] ** 2 / expected[used]).sum()
    assert chi2 < used.sum() + 5 * np.sqrt(2 * used.sum())


@pytest.mark.parametrize(
    "model",
    [*MIXTURES[:3], ManifoldParzen(), LocalGaussianDensity(0.8, 0.2)],
    ids=named,
)
@pytest.mark.parametrize("n_features", [3, 12])
def test_shift_rotation_and_scale(model, n_features):
    X, Z = curve(50, n_features), curve(20, n_features, seed=1)
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n_features,) * 2))
    expected = clone(model).fit(X).score_samples(Z)
    moved = clone(model).fit(X @ Q + 1e4).score_samples(Z @ Q + 1e4)
    assert_allclose(moved, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e6, 1e200])
@pytest.mark.parametrize("make", [ManifoldParzen, ParzenWindows, LocalGaussianDensity])
def test_units_of_the_data(make, scale):
    X, Z = curve(40, 3), curve(20, 3, seed=1)
    expected = make().fit(X).score_samples(Z) - 3 * np.log(scale)
    assert_allclose(make().fit(scale * X).score_samples(scale * Z), expected, rtol=1e-6)


# -- leave-one-out -----------------------------------------------------------------


@pytest.mark.parametrize("n_features", [2, 12, 40])
@pytest.mark.parametrize(
    "setting",
    [*SETTINGS[:6], {"n_neighbors": 60, "bandwidth": 0.3}, SOFT],
    ids=named,
)
def test_leave_one_out_is_exact(setting, n_features):
    X = curve(30, n_features)
    model = ManifoldParzen(**setting).fit(X)
    expected = [
        ManifoldParzen(**setting)
        .fit(np.delete(X, i, axis=0))
        .score_samples(X[i : i + 1])
        for i in range(len(X))
    ]
    assert_allclose(model.loo_score_samples(), np.concatenate(expected), rtol=1e-8)


def left_out_by_fits(make, X):
    """The log-density of each row under a fit to the others."""
    fits = (make().fit(np.delete(X, i, axis=0)) for i in range(len(X)))
    return np.concatenate(
        [model.score_samples(X[i : i + 1]) for i, model in enumerate(fits)]
    )


# The closest pair has almost all, or in numbers all, of each other's mass.
@pytest.mark.parametrize("far", [6.0, 46.0])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(8.0)], ids=named)
def test_leave_one_out_where_one_neighbor_has_all_the_mass(kernel, far):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)), [[far, far], [far + 0.1, far]]])

    def make(sigma=0.3):
        return ManifoldParzen(None, None, sigma, kernel)

    found = make().fit(X).loo_score_samples()
    assert_allclose(found, left_out_by_fits(make, X), rtol=1e-8)
    searched = make("auto").fit(X)
    expected = left_out_by_fits(lambda: make(searched.bandwidth_), X).mean()
    best = max(row["score"] for row in searched.search_)
    assert best == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("far", [20.0, 27.0, 40.0, 1e3])
def test_soft_neighborhoods_where_kernel_values_underflow(far):
    X = np.vstack([0.2 * curve(20, 2), [[far, 0.0]]])
    logs = -((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    z, expected = np.array([far + 1.0, 0.0]), []
    for x, w in zip(X, weights, strict=True):
        C = (X - x).T @ (w[:, None] * (X - x)) + 0.01 * np.eye(2)
        q = (z - x) @ np.linalg.solve(C, z - x)
        expected.append(-0.5 * (q + np.linalg.slogdet(2 * np.pi * C)[1]))
    model = ManifoldParzen(None, None, 0.1, Gaussian(1.0)).fit(X)
    truth = np.logaddexp.reduce(expected) - np.log(len(X))
    assert_allclose(model.score_samples([z]), truth, rtol=1e-9)
    twice = ManifoldParzen(None, None, 0.1, Gaussian(1.0))
    twice.fit(np.repeat(X, 2, axis=0))
    weighted = clone(twice).fit(X, sample_weight=np.full(21, 2.0))
    assert_allclose(weighted.score_samples([z]), twice.score_samples([z]), rtol=1e-9)


def test_neighbors_come_first_in_a_kernel_that_is_not_symmetric():
    X, Z = curve(30, 2), curve(10, 2, seed=1)

    def by_neighbor(A, B):
        return np.exp(-A[:, :1]) * np.exp(B[:, 1])

    soft = ManifoldParzen(None, None, 0.3, by_neighbor).fit(X)
    # What depends on the center only cancels in the weights.
    same = ManifoldParzen(
        None, None, 0.3, lambda A, B: np.exp(-A[:, :1]) * np.ones(len(B))
    ).fit(X)
    assert_allclose(soft.score_samples(Z), same.score_samples(Z), rtol=1e-10)
    assert_allclose(soft.loo_score_samples(), same.loo_score_samples(), rtol=1e-10)


def test_leave_one_out_of_the_local_density():
    X = curve(30, 3)
    make = LocalGaussianDensity(0.5, 0.2, 2)
    expected = [
        clone(make).fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])
        for i in range(len(X))
    ]
    assert_allclose(
        make.fit(X).loo_score_samples(), np.concatenate(expected), rtol=1e-8
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: ParzenWindows(0.3),
        lambda: LocalGaussianDensity(0.5, 0.3),
        # With all neighbors, each weighs the same whatever the weights are.
        lambda: ManifoldParzen(None, 0, 0.3),
    ],
)
def test_leave_one_out_has_the_weights(make):
    X = curve(25, 3)
    weight = np.random.default_rng(0).uniform(0.01, 5.0, 25)
    weight[3] = 1e20
    expected = []
    for i in range(25):
        rest = np.arange(25) != i
        model = make().fit(X[rest], sample_weight=weight[rest])
        expected.append(model.score_samples(X[i : i + 1])[0])
    model = make().fit(X, sample_weight=weight)
    assert_allclose(model.loo_score_samples(), expected, rtol=1e-9)


def test_a_search_has_the_weights():
    """The narrow half of the data decides when it weighs almost everything."""
    rng = np.random.default_rng(0)
    X = np.vstack([0.01 * rng.standard_normal((60, 2)), rng.standard_normal((60, 2))])
    weight = np.repeat([100.0, 0.01], 60)
    for make in (ParzenWindows, LocalGaussianDensity):
        narrow = make().fit(X, sample_weight=weight)
        wide = make().fit(X, sample_weight=weight[::-1])
        assert narrow.bandwidth_ < wide.bandwidth_
        best = max(row["score"] for row in narrow.search_)
        mean = np.average(narrow.loo_score_samples(), weights=weight)
        assert best == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize("scale", [1 / 60, 0.5, 2.0, 7.0])
def test_the_scale_of_weights_changes_no_search(scale):
    X, Z = curve(60, 3), curve(20, 3, seed=1)
    plain = ManifoldParzen().fit(X)
    scaled = ManifoldParzen().fit(X, sample_weight=np.full(60, scale))
    assert scaled.n_neighbors_ == plain.n_neighbors_
    assert_allclose(scaled.score_samples(Z), plain.score_samples(Z), rtol=1e-10)
    weight = np.arange(60) % 3
    weighted = ManifoldParzen().fit(X, sample_weight=weight)
    repeated = ManifoldParzen().fit(np.repeat(X, weight, axis=0))
    assert_allclose(weighted.score_samples(Z), repeated.score_samples(Z), rtol=1e-9)


def test_a_search_looks_for_neighbors_once(monkeypatch):
    """Whether it compares many numbers of neighbors, or only widths for one."""
    asked = []

    def spy(*given):
        asked.append(given)
        return nearest(*given)

    for module in (local_weights, mixtures):
        monkeypatch.setattr(module, "nearest", spy)
    n_asked = []
    for n_neighbors in (8, "auto"):
        model = ManifoldParzen(n_neighbors).fit(curve(80, 3))
        n_asked.append(len(asked))
        asked.clear()
    assert len({row["n_neighbors"] for row in model.search_}) > 3
    assert 0 < n_asked[1] <= n_asked[0]


@pytest.mark.parametrize("make", [ParzenWindows, LocalGaussianDensity])
@pytest.mark.parametrize("jitter", [1e-6, 1e-9, 1e-12])
def test_widths_where_most_rows_have_a_near_twin(make, jitter):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((100, 2)), rng.standard_normal((500, 2))
    twins = X[:60] + jitter * rng.standard_normal((60, 2))
    X = np.vstack([X, twins])
    found = make().fit(X).score(Z)
    assert found > max(ParzenWindows(s).fit(X).score(Z) for s in (0.2, 0.4, 0.8)) - 1.5
    spread = np.sqrt(X.var(axis=0).mean())
    grid = make().tuning_grid(X)
    assert max(grid["bandwidth"]) > 0.25 * spread
    assert len(grid["bandwidth"]) <= 10


@pytest.mark.parametrize("make", DENSITIES)
def test_nearest_distances_that_underflow_leave_a_width(make):
    rng = np.random.default_rng(0)
    X = np.vstack([1e-200 * rng.standard_normal((30, 2)), rng.standard_normal((5, 2))])
    model = make().fit(X)
    assert model.bandwidth_ > 0
    assert min(model.tuning_grid(X)["bandwidth"]) > 0
    assert np.isfinite(model.score_samples(X)).all()


def test_local_density_searches_beyond_its_grid():
    X = np.random.default_rng(0).standard_normal((60, 5))
    model = LocalGaussianDensity().fit(X)
    widths = sorted({row["width"] for row in model.search_})
    best = max(model.search_, key=lambda row: row["score"])
    assert (best["width"], best["bandwidth"]) == (model.width_, model.bandwidth_)
    again = LocalGaussianDensity(2 * model.width_, model.bandwidth_).fit(X)
    assert again.loo_score_samples().mean() < best["score"] + 1e-3
    assert widths[-1] > 60 * widths[0]


@pytest.mark.parametrize("make", [ManifoldParzen, LocalGaussianDensity])
@pytest.mark.parametrize(
    "column, reason",
    [
        ([0.0, 0.0], "column 2 .counted from 0. is constant"),
        ([1.0, 1.0], "the rows lie in planes of fewer dimensions .by about 1.0."),
    ],
    ids=["constant", "sum"],
)
def test_a_likelihood_without_bound_is_told(make, column, reason):
    X = np.random.default_rng(0).standard_normal((50, 2))
    X = np.column_stack([X, X @ column])
    with pytest.warns(UserWarning, match=f"goes to 0: {reason}.* or give bandwidth"):
        assert make().fit(X).bandwidth_ > 0.01


@pytest.mark.parametrize("model", [ParzenWindows(), ManifoldParzen(2)], ids=named)
def test_constant_columns_that_do_no_harm_are_not_told(model):
    model.fit(np.column_stack([curve(80, 8), np.ones(80)]))


@pytest.mark.parametrize("make", DENSITIES)
@pytest.mark.filterwarnings("ignore:The leave-one-out likelihood grows")
def test_constant_columns_change_no_choice(make):
    X = curve(80, 3)
    rounded = np.full(80, 0.3) + np.repeat([0.0, 5e-17], 40)
    wide = np.column_stack([X, np.full(80, 7.0), rounded])
    plain, model = make().fit(X), make().fit(wide)
    for name in ("bandwidth_", "width_", "n_neighbors_"):
        assert getattr(model, name, 0) == pytest.approx(getattr(plain, name, 0))
    row = next(r for r in model.search_ if r["bandwidth"] == model.bandwidth_)
    given = make(**{n: v for n, v in row.items() if n in make().get_params()})
    mean = given.fit(wide).loo_score_samples().mean()
    assert row["score"] == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize("make", [ManifoldParzen, LocalGaussianDensity])
@pytest.mark.filterwarnings("ignore:The leave-one-out likelihood grows")
def test_rows_in_a_plane_have_the_width_of_the_plane(make):
    X = curve(80, 3)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    plain, model = make().fit(X), make().fit(X @ Q[:3])
    inside = make(bandwidth=model.bandwidth_).fit(X).loo_score_samples().mean()
    assert inside > plain.loo_score_samples().mean() - 0.01
    assert model.bandwidth_ > 1e-4


def test_rows_that_are_in_planes_around_each_point_have_a_width():
    """Pixels that are 0 for most rows: no column is constant, many are near a point."""
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((150, 12)) - 1.5 * rng.integers(0, 2, 12), 0)
    with pytest.warns(UserWarning, match="planes of fewer dimensions"):
        model = ManifoldParzen().fit(X)
    assert 0.01 < model.bandwidth_ < 1


@pytest.mark.filterwarnings("ignore:The leave-one-out likelihood grows")
@pytest.mark.parametrize("make", DENSITIES)
def test_no_setting_is_compared_twice(make):
    """Not on the grid, nor beyond its narrow end, nor around the best."""
    X = np.random.default_rng(0).standard_normal((50, 2))
    model = make().fit(np.column_stack([X, X.sum(axis=1)]))
    settings = [
        tuple(None if v is None else f"{v:.6g}" for n, v in row.items() if n != "score")
        for row in model.search_
    ]
    assert len(settings) > 10
    assert len(set(settings)) == len(settings)


@pytest.mark.parametrize("make", DENSITIES)
@pytest.mark.parametrize("n_rows", [600, 1200])
def test_the_order_of_rows_changes_no_choice(make, n_rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 2)) * np.linspace(0.01, 3, n_rows)[:, None]
    one, other = make().fit(X), make().fit(X[::-1])
    for name in ("bandwidth_", "width_", "n_neighbors_"):
        found = getattr(other, name, 0)
        assert found == pytest.approx(getattr(one, name, 0), rel=1e-9)
    grids = one.tuning_grid(X), one.tuning_grid(X[rng.permutation(n_rows)])
    for name, values in grids[0].items():
        if values != grids[1][name]:
            assert_allclose(values, grids[1][name], rtol=1e-9)


def test_neighbors_used():
    X = curve(10, 2)
    with pytest.warns(UserWarning, match="n_neighbors=1000 is more than .*, 9, are"):
        assert ManifoldParzen(1000, None, 0.3).fit(X).n_neighbors_ == 9
    assert ManifoldParzen(bandwidth=0.3).fit(X[:2]).n_neighbors_ == 1


def test_grids_need_a_table_of_numbers():
    with pytest.raises(ValueError, match="NaN"):
        LocalGaussianDensity().tuning_grid([[np.nan], [1.0]])


@pytest.mark.parametrize("make", DENSITIES)
def test_a_single_row_has_the_unit_of_its_coordinates_for_a_width(make):
    X = np.full((1, 2), 1e200)
    width = make().fit(X).bandwidth_
    assert 1e199 < width < 1e201
    for value in (width, *make().tuning_grid(X)["bandwidth"]):
        assert np.isfinite(make(bandwidth=value).fit(X).score_samples(X)).all()


def test_leaving_out_the_own_gaussian_only_is_wrong(spiral):
    """It prefers two neighbors, which new points refute; the exact one does not."""
    new = make_spiral(2000, random_state=1)
    exact, naive, test = [], [], []
    for k in (2, 11):
        model = ManifoldParzen(k, 2, 0.003).fit(spiral)
        exact.append(model.loo_score_samples().mean())
        rows = range(0, len(spiral), 3)
        own = own_heights(spiral, k, 2, 0.003**2)
        naive.append(np.mean([without_own(model, spiral, i, own[i]) for i in rows]))
        test.append(model.score(new))
    assert naive[0] > naive[1]
    assert test[0] < test[1]
    assert exact[0] < exact[1]
    assert naive[0] > test[0] + 0.5
    assert exact[1] == pytest.approx(test[1], abs=0.15)


def own_heights(X, k, d, variance):
    """The logarithm of each Gaussian at its own center."""
    trained = reference.train_manifold_parzen(X, k, d, variance)
    return [
        reference.local_gaussian(x, x, V, eigenvalues, variance)
        for x, V, eigenvalues in zip(X, *trained, strict=True)
    ]


def without_own(model, X, i, own):
    whole = model.score_samples(X[i : i + 1])[0] + np.log(len(X))
    return whole + np.log1p(-np.exp(own - whole)) - np.log(len(X) - 1)


def test_auto_finds_the_best_of_its_table(spiral):
    model = ManifoldParzen(n_components="auto").fit(spiral)
    best = max(model.search_, key=lambda row: row["score"])
    assert best == {
        "n_neighbors": model.n_neighbors_,
        "n_components": model.n_components_,
        "bandwidth": model.bandwidth_,
        "score": best["score"],
    }
    assert best["score"] == pytest.approx(model.loo_score_samples().mean())
    assert {0, 1, None} <= {row["n_components"] for row in model.search_}
    assert model.n_components_ == 1
    given = ManifoldParzen(model.n_neighbors_, 1, model.bandwidth_).fit(spiral)
    assert given.search_ == []
    assert_array_equal(given.score_samples(spiral), model.score_samples(spiral))


def test_the_score_is_a_mean_and_kernel_densitys_a_sum(spiral):
    for n in (10, 300):
        score = ParzenWindows(0.05).fit(spiral).score(spiral[:n])
        total = KernelDensity(bandwidth=0.05).fit(spiral).score(spiral[:n])
        assert score * n == pytest.approx(total)


def test_grid_search_uses_the_score(spiral):
    grid = GridSearchCV(
        ManifoldParzen(8, 1), {"bandwidth": [1e-3, 0.008, 0.3]}, cv=3
    ).fit(spiral)
    assert grid.best_params_ == {"bandwidth": 0.008}


# -- weights, bad input, other libraries -------------------------------------------


@pytest.mark.parametrize("setting", [*SETTINGS[:6], SOFT], ids=named)
def test_a_weight_of_two_is_the_row_twice(setting):
    X, Z = curve(30, 12), curve(20, 12, seed=1)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    weighted = ManifoldParzen(**setting).fit(X, sample_weight=weight)
    repeated = ManifoldParzen(**setting).fit(np.repeat(X, weight, axis=0))
    assert_allclose(weighted.score_samples(Z), repeated.score_samples(Z), rtol=1e-9)


def test_repeated_rows_are_neighbors_as_in_the_algorithm_box():
    X = np.repeat(curve(12, 5), [1, 3, 1, 2, 1, 1, 4, 1, 1, 1, 2, 1], axis=0)
    Z = curve(10, 5, seed=1)
    found = ManifoldParzen(4, None, 0.2).fit(X).score_samples(Z)
    assert_allclose(found, reference.manifold_parzen(X, Z, 4, None, 0.04), rtol=1e-8)


@pytest.mark.parametrize(
    "make",
    [
        ManifoldParzen,
        lambda: ManifoldParzen(3, 1, 0.1),
        lambda: ManifoldParzen(n_components="auto"),
        lambda: ManifoldParzen(neighborhood="rbf"),
        ParzenWindows,
        LocalGaussianDensity,
    ],
)
@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 3)),
        np.ones((6, 3)),
        np.array([[0.0, 0, 0], [1, 1, 1]]),
        np.repeat(np.eye(3), 4, axis=0),
        np.column_stack([curve(20, 2), np.full(20, 7.0)]),
        np.arange(12.0)[:, None] * np.ones(3),
    ],
    ids=["one row", "equal rows", "two rows", "duplicates", "constant", "a line"],
)
@pytest.mark.filterwarnings("ignore:The leave-one-out likelihood grows")
def test_degenerate_data(make, X):
    model = make().fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.score_samples(X + 0.5)).all()
    if hasattr(model, "sample"):
        assert np.isfinite(model.sample(5, random_state=0)).all()
    left_out = model.loo_score_samples()
    n_distinct = len(np.unique(X, axis=0))
    assert (
        np.isneginf(left_out).all() if n_distinct == 1 else np.isfinite(left_out).all()
    )


@pytest.mark.parametrize(
    "model, message",
    [
        (ManifoldParzen(0), "n_neighbors=0 must be a whole number of at least 1"),
        (ManifoldParzen("many"), "n_neighbors='many'"),
        (ManifoldParzen(2.5), "n_neighbors=2.5"),
        (ManifoldParzen(n_components=-1), "n_components=-1"),
        (ManifoldParzen(n_components=True), "n_components=True"),
        (ManifoldParzen(bandwidth=0), "bandwidth=0 must be a positive finite number"),
        (ManifoldParzen(bandwidth=np.nan), "bandwidth=nan"),
        (ManifoldParzen(bandwidth="scott"), "bandwidth='scott'"),
        (ManifoldParzen(neighborhood="soft"), "neighborhood='soft'.*is unknown"),
        (ManifoldParzen(neighborhood=3), "neighborhood=3 must be 'hard' or a kernel"),
        (ManifoldParzen(neighborhood="linear"), "gives negative weights"),
        (ManifoldParzen(max_memory="much"), "max_memory='much'"),
        (ManifoldParzen(n_jobs=0), "n_jobs=0 must be a whole number of threads"),
        (ParzenWindows(bandwidth=-1), "bandwidth=-1"),
        (ParzenWindows(bandwidth=1e300), "bandwidth=1e.300 is too far .* overflows"),
        (ManifoldParzen(bandwidth=1e200), "bandwidth=1e.200 is too far"),
        (ManifoldParzen(bandwidth=1e-200), "bandwidth=1e-200 is too far"),
        (LocalGaussianDensity(bandwidth=1e300), "bandwidth=1e.300 is too far"),
        (LocalGaussianDensity(1.0, 1e-200), "bandwidth=1e-200 is too far"),
        (LocalGaussianDensity(width=0), "width=0"),
        (LocalGaussianDensity(normalize="yes"), "normalize='yes'"),
    ],
    ids=named,
)
def test_bad_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(curve(20, 2) - 0.5)


def test_frames_and_pickles(spiral):
    model = ManifoldParzen(8, 1, 0.01)
    expected = model.fit(spiral).score_samples(spiral)
    for frame in (pd.DataFrame, pl.DataFrame):
        X = (
            frame(spiral, ["x", "y"])
            if frame is pl.DataFrame
            else frame(spiral, columns=["x", "y"])
        )
        named = clone(model).fit(X)
        assert named.feature_names_in_.tolist() == ["x", "y"]
        assert_array_equal(named.score_samples(X), expected)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.score_samples(spiral), expected)


@pytest.mark.parametrize(
    "make, label", [(ManifoldParzen, "neighbors"), (LocalGaussianDensity, "widths")]
)
def test_verbose_shows_progress(spiral, capsys, make, label):
    make(verbose=1).fit(spiral[:50])
    shown = capsys.readouterr().err
    assert label in shown
    assert "100%" in shown


# -- published figures -------------------------------------------------------------


def test_density_of_the_spiral_itself():
    """The true density integrates to one, and its entropy is about -1.79 nats."""
    x = np.linspace(-1, 1, 161)
    Z = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    density = np.exp(spiral_log_density(Z, noise=0.05)).reshape(161, 161)
    assert trapezoid(trapezoid(density, x), x) == pytest.approx(1.0, abs=1e-3)
    entropy = -spiral_log_density(make_spiral(20_000, random_state=0)).mean()
    assert entropy == pytest.approx(-1.79, abs=0.02)


def test_table_13_1_in_one_draw(spiral):
    new = make_spiral(10_000, random_state=1)
    parzen, manifold = (
        ParzenWindows().fit(spiral),
        ManifoldParzen("auto", 1).fit(spiral),
    )
    limit = spiral_log_density(new).mean()
    assert parzen.score(new) + 0.1 < manifold.score(new) < limit


@pytest.mark.slow
def test_table_13_1_over_ten_draws():
    """Test ANLL: Parzen -1.183, d = 1 -1.466, d = 2 -1.419; the entropy is -1.79."""
    models = {
        "parzen": ParzenWindows(),
        "one": ManifoldParzen("auto", 1),
        "two": ManifoldParzen("auto", 2),
        "local": LocalGaussianDensity(normalize=True, random_state=0),
        "truth": None,
    }
    found = {name: [] for name in models}
    for draw in range(10):
        X = make_spiral(300, random_state=draw)
        new = make_spiral(10_000, random_state=1000 + draw)
        for name, model in models.items():
            logs = spiral_log_density(new).mean() if model is None else None
            found[name].append(model.fit(X).score(new) if logs is None else logs)
    anll = {name: -np.mean(scores) for name, scores in found.items()}
    assert anll["parzen"] == pytest.approx(-1.33, abs=0.05)
    assert anll["truth"] < anll["one"] < anll["two"] < anll["parzen"] - 0.08
    assert anll["one"] < -1.466
    assert all(m < t for m, t in zip(found["one"], found["truth"], strict=True))


def needs(name):
    missing = name not in datasets.available()
    return pytest.mark.skipif(missing, reason=f"no {name}.npz in PURSUIT_DATA")


@pytest.mark.slow
@needs("mnist")
def test_table_13_2():
    """MNIST "2": test ANLL -197.19 for Parzen, -695.15 for d = 50, k = 80."""
    mnist = datasets.load("mnist")
    X = mnist.data_train[mnist.target_train == 2][:5400] / 255.0
    new = mnist.data_test[mnist.target_test == 2] / 255.0
    parzen = ParzenWindows(0.19).fit(X)
    manifold = ManifoldParzen(80, 50, 0.008**0.5).fit(X)
    everything = ManifoldParzen(80, None, 0.008**0.5).fit(X)
    assert -parzen.score(new) == pytest.approx(-197.19, abs=0.5)
    assert -manifold.score(new) == pytest.approx(-695.15, abs=1.0)
    assert everything.score(new) > manifold.score(new) + 20
