"""Mixtures of few Gaussians: equal to the literal pursuit, nested, true densities."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import (
    DensityClassifier,
    DensityOutlierDetector,
    ManifoldParzen,
    SparseManifoldParzen,
    _interrupts,
)
from pursuit._limits import Limits
from pursuit.datasets import make_spiral
from pursuit.densities import mixture_pursuit, sparse_mixtures
from pursuit.densities.mixture_pursuit import MixturePath, pursue_mixture, refitted
from pursuit.densities.oriented_mixtures import log_mixture, oriented
from pursuit.densities.sparse_mixtures import (
    SparseSettings,
    dictionary_of,
    gaussians_of,
)

LIMITS = Limits(1 << 30, 1)
FAST = {"bandwidth": 0.2, "cv": None, "max_support": 6}


def curve(n_rows, n_features, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n_rows)
    waves = np.sin(np.outer(t, np.arange(1, n_features + 1)) / 2)
    return waves + 0.05 * rng.standard_normal((n_rows, n_features))


@pytest.fixture(scope="module")
def spiral():
    X = make_spiral(200, random_state=0)
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def on_spiral(spiral):
    return SparseManifoldParzen(25, bandwidth=0.01).fit(spiral)


# -- scikit-learn's own checks -----------------------------------------------------


@parametrize_with_checks(
    [SparseManifoldParzen(5), SparseManifoldParzen(n_neighbors=[2, 4], **FAST)]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- the same mixture as the literal algorithm -------------------------------------


@pytest.mark.parametrize("d", [None, 1, 0])
@pytest.mark.parametrize("n_features", [2, 12])
def test_chooses_what_the_literal_pursuit_does(n_features, d):
    X = curve(30, n_features)
    counts = np.random.default_rng(0).integers(1, 4, 30).astype(float)
    everything = np.arange(30)
    settings = SparseSettings(7, (3, 8), d, None, None)
    data = dictionary_of(X, counts, everything, everything, settings, 0.01, LIMITS)
    path = pursue_mixture(data, 7, LIMITS)
    chosen, weights = reference.sparse_mixture(X, counts, (3, 8), d, 0.01, 7)
    # The largest numbers of rows and neighbors tell the pairs apart.
    found = list(zip(path.rows.tolist(), path.n_neighbors.tolist(), strict=True))
    if d == 0:
        chosen = [(j, 0) for j, _ in chosen]  # all are round, whatever the neighbors
    assert found == chosen
    for w, expected in zip(path.weights, weights, strict=True):
        assert_allclose(w, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_features", [1, 2, 12, 40])
@pytest.mark.parametrize("d", [None, 1, 3])
def test_rows_judge_gaussians_made_without_them(n_features, d):
    X = curve(25, n_features)
    d = d if d is None else min(d, n_features)
    everything = np.arange(25)
    settings = SparseSettings(1, (5, 24), d, None, None)
    data = dictionary_of(
        X, np.ones(25), everything, everything[3:9], settings, 0.04, LIMITS
    )
    for j, k, own, logs in zip(
        data.rows, data.n_neighbors, data.own, data.logs, strict=True
    ):
        expected = reference.judged_gaussian(X, j, k, d, 0.04)
        others = np.arange(25) != own
        assert own == j
        assert_allclose(logs[others], expected[others], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("d", [None, 2, 0])
@pytest.mark.parametrize("n_features", [2, 12, 40])
def test_all_gaussians_of_equal_weight_are_manifold_parzen(n_features, d):
    X, Z = curve(40, n_features), curve(15, n_features, seed=1)
    everything = np.arange(40)
    path = MixturePath(everything, np.full(40, 6), (), np.empty(0), None, "")
    parts = gaussians_of(X, path, SparseSettings(40, (6,), d, None, None), 0.04)
    found = log_mixture(parts.log_densities(Z, LIMITS), np.full(40, 1 / 40))
    full = ManifoldParzen(6, d, 0.2).fit(X)
    assert_allclose(found, full.score_samples(Z), rtol=1e-9)


@pytest.mark.parametrize("n_features", [2, 12])
@pytest.mark.parametrize("variance", [0.04, 1e-14])
def test_a_part_is_a_gaussian(n_features, variance):
    X = curve(9, n_features)
    parts = oriented(X[:1], (X[1:] - X[0])[None], None, variance)
    C = (X[1:] - X[0]).T @ (X[1:] - X[0]) / 8 + variance * np.eye(n_features)
    Z = np.vstack([X, X + 0.1])
    if variance > 1e-9:
        expected = multivariate_normal(X[0], C).logpdf(Z)
        assert_allclose(parts.log_densities(Z, LIMITS)[0], expected, rtol=1e-9)
    # On the plane of the neighbors all is finite, however thin the Gaussian is.
    assert np.all(parts.log_densities(X, LIMITS) > -1e6)


# -- what a density is -------------------------------------------------------------


def test_integrates_to_one(on_spiral):
    x = np.linspace(-1.2, 1.2, 500)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    mass = np.exp(on_spiral.score_samples(grid)).sum() * (x[1] - x[0]) ** 2
    assert mass == pytest.approx(1.0, abs=1e-3)


def test_parts_are_as_the_attributes_say(on_spiral, spiral):
    total = np.zeros(len(spiral))
    for w, mean, C in zip(
        on_spiral.weights_, on_spiral.means_, on_spiral.covariances_, strict=True
    ):
        total += w * multivariate_normal(mean, C).pdf(spiral)
    assert_allclose(np.log(total), on_spiral.score_samples(spiral), rtol=1e-8)
    assert_allclose(on_spiral.means_, spiral[on_spiral.support_], atol=1e-12)
    assert on_spiral.weights_.sum() == pytest.approx(1.0)


def test_samples_have_the_moments(on_spiral):
    X = on_spiral.sample(20_000, random_state=0)
    assert_allclose(X.mean(axis=0), on_spiral.weights_ @ on_spiral.means_, atol=0.02)
    assert on_spiral.score(X) == pytest.approx(
        on_spiral.score(on_spiral.sample(20_000, random_state=1)), abs=0.03
    )


def test_units_do_not_matter(spiral):
    model = SparseManifoldParzen(**{**FAST, "bandwidth": 0.02}).fit(spiral)
    large = SparseManifoldParzen(**{**FAST, "bandwidth": 0.02 * 1e150})
    large = large.fit(spiral * 1e150)
    assert_array_equal(large.support_, model.support_)
    volume = 2 * np.log(1e150)
    assert_allclose(
        large.score_samples(spiral * 1e150) + volume,
        model.score_samples(spiral),
        atol=1e-6,
    )


# -- the path ----------------------------------------------------------------------


def test_smaller_mixtures_are_the_beginnings_of_larger_ones(on_spiral, spiral):
    path = on_spiral.path_
    stages = list(on_spiral.staged_score_samples(spiral))
    assert len(stages) == len(path) == 25
    assert on_spiral.n_support_ == 1 + int(path.held_out.argmax())
    chosen = stages[on_spiral.n_support_ - 1]
    assert_allclose(chosen, on_spiral.score_samples(spiral), rtol=1e-9)
    for size in (1, 7, 25):
        cut = on_spiral.truncate(size)
        assert (cut.n_support_, len(cut.path_)) == (size, size)
        assert_array_equal(cut.support_, path.rows[:size])
        assert_allclose(cut.score_samples(spiral), stages[size - 1], rtol=1e-9)
        shorter = SparseManifoldParzen(size, bandwidth=0.01, cv=None).fit(spiral)
        assert_array_equal(shorter.support_, cut.support_)
    with pytest.raises(ValueError, match="size=26 is not on the path"):
        on_spiral.truncate(26)


def test_em_never_lowers_the_likelihood():
    rng = np.random.default_rng(0)
    logs, counts = rng.normal(size=(6, 80)) * 5, rng.uniform(0.5, 2.0, 80)
    w = np.full(6, 1 / 6)
    fitted = refitted(logs, counts, w)

    def likelihood(w):
        return counts @ np.logaddexp.reduce(logs + np.log(w)[:, None])

    assert fitted.sum() == pytest.approx(1.0)
    assert likelihood(fitted) >= likelihood(w)
    nudged = fitted + 0.01 * (w - fitted)
    assert likelihood(fitted) >= likelihood(nudged)


def test_held_out_rows_are_likelier_than_under_em_alone(on_spiral):
    new = make_spiral(2000, random_state=1)
    size = on_spiral.n_support_
    theirs = GaussianMixture(size, random_state=0).fit(make_spiral(200, random_state=0))
    assert on_spiral.score(new) > theirs.score(new)


# -- leave-one-out -----------------------------------------------------------------


def test_rows_are_left_out_of_what_they_shaped(on_spiral, spiral):
    logs = on_spiral.loo_score_samples()
    assert logs.shape == (200,)
    w = on_spiral.weights_
    for i in [int(on_spiral.support_[0]), 5, 17]:
        terms = []
        for weight, j, k in zip(
            w, on_spiral.support_, on_spiral.path_.n_neighbors, strict=False
        ):
            if j != i:
                log = reference.judged_gaussian(spiral, j, k, None, 1e-4)[i]
                terms.append(np.log(weight) + log)
        rest = 1.0 - w[on_spiral.support_ == i].sum()
        assert logs[i] == pytest.approx(np.logaddexp.reduce(terms) - np.log(rest))


def test_a_truncated_density_does_not_know_the_rows(on_spiral):
    assert not hasattr(on_spiral.truncate(3), "loo_score_samples")
    with pytest.raises(AttributeError, match="a truncated density"):
        on_spiral.truncate(3).loo_score_samples()


def test_serves_classifiers_and_detectors():
    rng = np.random.default_rng(0)
    X = np.vstack([make_spiral(80, random_state=0), rng.normal(size=(80, 2))])
    y = np.repeat(["spiral", "cloud"], 80)
    density = SparseManifoldParzen(10, cv=None)
    model = DensityClassifier(density, param_grid={"bandwidth": [0.01, 0.1]}).fit(X, y)
    assert model.score(X, y) > 0.8
    assert len(model.search_) == 2
    assert DensityClassifier(density)._grid is not None
    detector = DensityOutlierDetector(density.set_params(bandwidth=0.1)).fit(X[:80])
    assert detector.predict([[9.0, 9.0]])[0] == -1


# -- inputs ------------------------------------------------------------------------


def test_weights_are_repeated_rows():
    X = curve(40, 3)
    weight = np.random.default_rng(1).integers(0, 3, 40)
    how = SparseManifoldParzen(8, n_candidates=None)
    weighted = clone(how).fit(X, sample_weight=weight)
    repeated = clone(how).fit(np.repeat(X, weight, axis=0))
    assert weighted.bandwidth_ == pytest.approx(repeated.bandwidth_)
    assert_array_equal(
        X[weighted.support_], np.repeat(X, weight, axis=0)[repeated.support_]
    )
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-6)
    assert np.isnan(weighted.loo_score_samples()[weight == 0]).all()
    assert weight[weighted.path_.rows].all()


def test_repeating_all_rows_changes_nothing():
    X = curve(30, 3)
    once = SparseManifoldParzen(8).fit(X)
    twice = SparseManifoldParzen(8).fit(np.repeat(X, 2, axis=0))
    assert_array_equal(twice.support_, 2 * once.support_)
    assert_allclose(twice.score_samples(X), once.score_samples(X), rtol=1e-6)


def test_folds_may_be_given():
    X = curve(30, 3)
    splits = list(KFold(3).split(X))
    given = SparseManifoldParzen(8, cv=splits).fit(X)
    splitter = SparseManifoldParzen(8, cv=KFold(3)).fit(X)
    assert_array_equal(given.path_.held_out, splitter.path_.held_out)
    with pytest.raises(ValueError, match="must test every row exactly once"):
        SparseManifoldParzen(8, cv=splits[:2]).fit(X)


def test_frames_and_pickles():
    X = curve(30, 3)
    plain = SparseManifoldParzen(**FAST).fit(X)
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, list("abc"))):
        model = SparseManifoldParzen(**FAST).fit(frame)
        assert_array_equal(model.score_samples(frame), plain.score_samples(X))
        assert list(model.feature_names_in_) == ["a", "b", "c"]
    copied = pickle.loads(pickle.dumps(plain))
    assert_array_equal(copied.score_samples(X), plain.score_samples(X))
    assert "6 steps" in repr(plain.path_)


def test_few_rows():
    one = SparseManifoldParzen().fit([[1.0, 2.0]])
    assert_array_equal(one.support_, [0])
    assert np.isneginf(one.loo_score_samples()).all()
    two = SparseManifoldParzen(bandwidth=1.0).fit([[0.0], [1.0], [1.0]])
    assert 1 <= two.n_support_ <= 2
    assert np.isfinite(two.score_samples([[0.5]])).all()
    equal = SparseManifoldParzen().fit(np.ones((5, 2)))
    assert_array_equal(equal.support_, [0])


def test_threads_and_memory_change_nothing():
    X = curve(80, 12)
    plain = SparseManifoldParzen(**FAST, n_jobs=1).fit(X)
    other = SparseManifoldParzen(**FAST, n_jobs=2, max_memory="64 KiB").fit(X)
    assert_array_equal(plain.support_, other.support_)
    assert_allclose(plain.score_samples(X), other.score_samples(X), rtol=1e-9)


def test_constant_columns_do_not_choose_the_width():
    X = np.column_stack([curve(60, 2), np.full(60, 3.0)])
    with pytest.warns(UserWarning, match="column 2 .* is constant"):
        model = SparseManifoldParzen(8, cv=None).fit(X)
    plain = SparseManifoldParzen(8, cv=None).fit(X[:, :2])
    assert model.bandwidth_ == pytest.approx(plain.bandwidth_)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"max_support": 0}, "max_support=0 must be"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be"),
        ({"n_neighbors": []}, "n_neighbors=\\[\\] must be"),
        ({"n_neighbors": "all"}, "n_neighbors='all' must be"),
        ({"n_components": -1}, "n_components=-1 must be"),
        ({"bandwidth": 0.0}, "bandwidth=0.0 must be"),
        ({"bandwidth": 1e-200}, "bandwidth=1e-200 is too far"),
        ({"cv": 1}, "cv=1 must be"),
        ({"n_candidates": 0}, "n_candidates=0 must be"),
        ({"verbose": "yes"}, "verbose='yes' must be"),
        ({"max_memory": "little"}, "max_memory='little' is not"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseManifoldParzen(**parameters).fit(curve(20, 2))


def test_of_many_rows_some_judge(spiral, monkeypatch):
    monkeypatch.setattr(sparse_mixtures, "_MOST_JUDGES", 100)
    made = []
    monkeypatch.setattr(
        sparse_mixtures,
        "pursue_mixture",
        lambda data, *how: (
            made.append(data.logs.shape[1]) or pursue_mixture(data, *how)
        ),
    )
    model = SparseManifoldParzen(25, bandwidth=0.01).fit(spiral)
    assert made == [100] * 4
    assert model.score(make_spiral(1000, random_state=1)) > 1.0
    # Those that do not judge are left out too.
    left_out = model.loo_score_samples()
    assert np.all(np.isfinite(left_out))
    assert -1.0 < left_out.mean() < model.score(spiral)


# -- interrupts --------------------------------------------------------------------


@pytest.fixture
def ctrl_c(monkeypatch):
    """Return what lets the n-th choice of a Gaussian be interrupted."""

    def at(number, again=None):
        best, n_calls = mixture_pursuit._best, []

        def interrupted(*args):
            n_calls.append(1)
            if len(n_calls) in (number, again):
                raise KeyboardInterrupt
            return best(*args)

        monkeypatch.setattr(mixture_pursuit, "_best", interrupted)
        # No interrupt of another test came shortly before.
        monkeypatch.setattr(_interrupts, "_latest", [-np.inf])

    return at


def test_an_interrupt_keeps_the_gaussians_so_far(spiral, ctrl_c):
    whole = SparseManifoldParzen(10, bandwidth=0.01).fit(spiral)
    ctrl_c(4)
    with pytest.warns(UserWarning, match="interrupted; .* the 4 Gaussians found"):
        part = SparseManifoldParzen(10, bandwidth=0.01).fit(spiral)
    assert_array_equal(part.support_, whole.path_.rows[:4])
    assert part.path_.stop_reason == "interrupted"
    assert part.path_.held_out is None
    expected = whole.truncate(4).score_samples(spiral)
    assert_allclose(part.score_samples(spiral), expected, rtol=1e-12)


def test_an_interrupt_of_the_folds_keeps_all_gaussians(spiral, ctrl_c):
    everything = SparseManifoldParzen(10, bandwidth=0.01, cv=None).fit(spiral)
    ctrl_c(9 + 9 + 3)
    with pytest.warns(UserWarning, match="the 10 Gaussians"):
        part = SparseManifoldParzen(10, bandwidth=0.01).fit(spiral)
    assert_array_equal(part.weights_, everything.weights_)
    assert part.path_.stop_reason == "max_support"


def test_an_interrupt_of_the_bandwidths_keeps_the_best_so_far(spiral, ctrl_c):
    whole = SparseManifoldParzen(4).fit(spiral)
    ctrl_c(2 * 9 + 5)
    with pytest.warns(UserWarning, match="best bandwidth"):
        part = SparseManifoldParzen(4).fit(spiral)
    assert part.search_ == whole.search_[: len(part.search_)]
    assert len(part.search_) == 2
    best = max(part.search_, key=lambda trial: trial["score"])
    assert part.bandwidth_ == best["bandwidth"]


@pytest.mark.parametrize("at", [(1, None), (12, 13)])
def test_an_interrupt_before_anything_was_found_or_a_second_one_ends_all(
    spiral, ctrl_c, at
):
    ctrl_c(*at)
    model = SparseManifoldParzen(4)
    with pytest.raises(KeyboardInterrupt):
        model.fit(spiral)
    assert not hasattr(model, "weights_")
