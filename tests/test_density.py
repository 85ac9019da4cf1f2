"""Densities of local Gaussians: equal to the literal algorithm, and true densities."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import LocalGaussianDensity, ManifoldParzen, ParzenWindows, datasets
from pursuit.datasets import make_spiral, spiral_log_density
from pursuit.kernels import Gaussian

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
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
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
def test_soft_neighbourhoods_equal_equation_13_3(n_features, d):
    X, Z = curve(50, n_features), curve(20, n_features, seed=1)
    found = ManifoldParzen(**SOFT, n_components=d).fit(X).score_samples(Z)
    expected = reference.manifold_parzen(X, Z, 49, d, 0.04, kernel=SOFT["neighborhood"])
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_a_constant_kernel_is_a_hard_neighbourhood():
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


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_little_memory_and_threads_change_nothing(setting):
    X, Z = curve(60, 12), curve(300, 12, seed=1)
    plenty = ManifoldParzen(**setting, n_jobs=1).fit(X)
    little = ManifoldParzen(**setting, n_jobs=2, max_memory="4 KiB").fit(X)
    if setting.get("n_components") != 0:
        assert little._gaussians.kept is None
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


# -- densities ---------------------------------------------------------------------

MIXTURES = [
    ParzenWindows(0.3),
    ManifoldParzen(4, None, 0.2),
    ManifoldParzen(4, 1, 0.2),
    ManifoldParzen(None, 1, 0.2, neighborhood=Gaussian(1.0)),
    ManifoldParzen(),
]


@pytest.mark.parametrize("model", MIXTURES, ids=str)
def test_integrates_to_one_on_the_line(model):
    X = curve(30, 1)
    x = np.linspace(-12, 12, 100_001)
    density = np.exp(clone(model).fit(X).score_samples(x[:, None]))
    assert trapezoid(density, x) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("model", MIXTURES[:4], ids=str)
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


@pytest.mark.parametrize(
    "model",
    [
        ParzenWindows(0.3),
        ManifoldParzen(6, None, 0.1),
        ManifoldParzen(6, 1, 0.1),
        ManifoldParzen(None, 2, 0.1, neighborhood=Gaussian(1.0)),
    ],
    ids=str,
)
def test_samples_follow_the_density(model):
    """Mean of f(x) over samples is ∫ f p; here f are moments and log p itself."""
    X = curve(25, 3)
    model = clone(model).fit(X)
    Z = model.sample(20_000, random_state=0)
    again = model.sample(20_000, random_state=1)
    assert Z.shape == (20_000, 3)
    mixture = model._gaussians
    A = mixture.spreads(slice(0, 25))
    kept = [mixture._axes(a) if mixture.n_directions else a[:0] for a in A]
    within = np.mean([a.T @ a for a in kept], axis=0) + mixture.variance * np.eye(3)
    assert_allclose(Z.mean(axis=0), X.mean(axis=0), atol=0.03)
    assert_allclose(np.cov(Z.T), np.cov(X.T, bias=True) + within, atol=0.03)
    # Importance weighting by the density: two samples agree on its mean logarithm.
    logs = model.score_samples(Z), model.score_samples(again)
    spread = np.hypot(*(log.std() / np.sqrt(len(log)) for log in logs))
    assert abs(logs[0].mean() - logs[1].mean()) < 4 * spread


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
    ids=str,
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
    ids=str,
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


def test_leaving_out_the_own_gaussian_only_is_wrong(spiral):
    """It prefers two neighbours, which new points refute; the exact one does not."""
    new = make_spiral(2000, random_state=1)
    exact, naive, test = [], [], []
    for k in (2, 11):
        model = ManifoldParzen(k, 2, 0.003).fit(spiral)
        exact.append(model.loo_score_samples().mean())
        rows = range(0, len(spiral), 3)
        naive.append(np.mean([_without_own(model, spiral, i) for i in rows]))
        test.append(model.score(new))
    assert naive[0] > naive[1]
    assert test[0] < test[1]
    assert exact[0] < exact[1]
    assert naive[0] > test[0] + 0.5
    assert exact[1] == pytest.approx(test[1], abs=0.15)


def _without_own(model, X, i):
    whole = model.score_samples(X[i : i + 1])[0] + np.log(len(X))
    own = model._gaussians.kept.log_heights[i] + np.log(len(X))
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


def test_grid_search_uses_the_score(spiral):
    grid = GridSearchCV(
        ManifoldParzen(8, 1), {"bandwidth": [1e-3, 0.008, 0.3]}, cv=3
    ).fit(spiral)
    assert grid.best_params_ == {"bandwidth": 0.008}


# -- weights, bad input, other libraries -------------------------------------------


@pytest.mark.parametrize("setting", [*SETTINGS[:6], SOFT], ids=str)
def test_a_weight_of_two_is_the_row_twice(setting):
    X, Z = curve(30, 12), curve(20, 12, seed=1)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    weighted = ManifoldParzen(**setting).fit(X, sample_weight=weight)
    repeated = ManifoldParzen(**setting).fit(np.repeat(X, weight, axis=0))
    assert_allclose(weighted.score_samples(Z), repeated.score_samples(Z), rtol=1e-9)


def test_repeated_rows_are_neighbours_as_in_the_algorithm_box():
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
        (ManifoldParzen(n_jobs=0), "n_jobs=0"),
        (ParzenWindows(bandwidth=-1), "bandwidth=-1"),
        (LocalGaussianDensity(width=0), "width=0"),
        (LocalGaussianDensity(normalize="yes"), "normalize='yes'"),
    ],
    ids=str,
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


def test_verbose_shows_progress(spiral, capsys):
    ManifoldParzen(verbose=1).fit(spiral[:50])
    assert "neighbours" in capsys.readouterr().err
    LocalGaussianDensity(verbose=1).fit(spiral[:50])
    assert re.search("widths", capsys.readouterr().err)


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
