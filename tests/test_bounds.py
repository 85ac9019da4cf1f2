"""Bounds: values computed by hand, laws, and draws from known distributions."""

import pickle
from functools import partial
from math import e, exp, inf, log, log2, sqrt

import numpy as np
import pytest
from sklearn.svm import SVC

from pursuit import KMPRegressor, SparseKernelCCA, SparseKernelPCA, bounds
from pursuit.bounds import (
    Bound,
    BoundCurve,
    cca,
    finite_class,
    kpca_compression,
    kpca_curve,
    kpca_eigenvalues,
    mdl,
    svm_leave_one_out,
    vc,
)
from pursuit.bounds._rounding import fewest_bits, rounded
from pursuit.kernels import Gaussian

# -- by hand -----------------------------------------------------------------------

# Binomials and logarithms are chosen so that each line can be checked on paper.
BY_HAND = [
    # 8 rows, none wrong; 1 of 4 atoms in 2 bits, a weight of 1 bit: 3 bits in 8.
    (mdl(8, 0, 4, 1, 1, delta=exp(-1)), 2 * 3 / 8 * log(2) + 2 / 8),
    # 1 of 8 rows wrong: 3 bits more.
    (mdl(8, 1, 4, 1, 1, delta=exp(-1)), 2 * 6 / 8 * log(2) + 2 / 8),
    # Three weights of 2 bits instead of one of 1.
    (mdl(8, 1, 4, 1, 2, n_weights=3, delta=exp(-1)), 2 * 11 / 8 * log(2) + 2 / 8),
    # Five classes: 2 bits to name the right one, log2(5) bits a label.
    (
        mdl(8, 1, 4, 1, 1, n_classes=5, delta=exp(-1)),
        2 * 8 / (8 * log2(5)) * log(2) + 2 / 8,
    ),
    (mdl(8, 1, 4, 1, 1, n_classes=5, label_bits=1, delta=exp(-1)), 2 * log(2) + 2 / 8),
    # No error: twice a = (ln 8 + 1) / 8.
    (finite_class(8, 0, 4, 1, 1, delta=exp(-1)), 2 * (log(8) + 1) / 8),
    # a = (ln 1 + 2) / 8 and an error rate of 3/8 = 1.5 a: a (1.5 + 1 + 2).
    (finite_class(8, 3, 4, 0, 1, delta=exp(-2)), 4.5 / 4),
    (svm_leave_one_out(3, 12), 0.25),
    # 2 / 16 of: log2(4 e 16) and log2(2 * 16**2 / (1/2)).
    (vc(16, 0, 0, delta=0.5), (6 + log2(e) + 10) / 8),
    # 2 / 15 of: 2 log2(4 e 15 / 2), 1 log2(16 e), log2(1024).
    (vc(16, 1, 0, delta=0.5), 2 / 15 * (2 * log2(30 * e) + log2(16 * e) + 10)),
    # With a constant: 3 log2(4 e 15 / 3).
    (
        vc(16, 1, 0, dimension=2, delta=0.5),
        2 / 15 * (3 * log2(20 * e) + log2(16 * e) + 10),
    ),
    # Two errors of the 15 outside: 13 rows are left.
    (
        vc(16, 1, 2, delta=0.5),
        2 / 13 * (2 * log2(26 * e) + log2(16 * e) + 2 * log2(7.5 * e) + 10),
    ),
    # Two functions at each row: 1 log2(32 e).
    (
        vc(16, 1, 0, n_candidates=32, delta=0.5),
        2 / 15 * (2 * log2(30 * e) + log2(32 * e) + 10),
    ),
    # 8 of 9 chosen: the dimension counts as 4 of the one row that is left.
    (
        vc(9, 8, 0, delta=0.5),
        2 * (4 * log2(e) + 8 * log2(9 * e / 8) + log2(4 * 81)),
    ),
    (vc(4, 2, 2), inf),
    (cca(16, 1, 2, delta=0.5), float(vc(16, 1, 2, delta=0.5))),
    # No point chosen: Hoeffding's term, with ln(2 m / delta) = 4.
    (kpca_compression(8, 0, 0.25, delta=16 * exp(-4)), 0.25 + sqrt(4 / 16)),
    # One of two points: ln(2 e) + ln(4 / delta) = 1 + 2.5, over 2.
    (kpca_compression(2, 1, 0.5, delta=8 * exp(-2.5)), 0.5 + sqrt(3.5 / 2)),
    (kpca_compression(2, 1, 0.5, sup=3, delta=8 * exp(-2.5)), 0.5 + 3 * sqrt(3.5 / 2)),
    (kpca_compression(5, 5, 0.0), inf),
    # 4 of 8 components, tail 2: 1/4 + 3/sqrt(8) sqrt(2) + sqrt(18/8 * 4).
    (kpca_eigenvalues(8, 4, 2.0, 1.0, delta=16 * exp(-4)), 0.25 + 1.5 + 3),
]


@pytest.mark.parametrize("found, expected", BY_HAND)
def test_by_hand(found, expected):
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_regularities():
    """More errors, more atoms, more bits and more certainty cost something."""
    for bound in (mdl, finite_class):
        value = partial(bound, 100, 5, 50, 4, 6)
        assert bound(100, 6, 50, 4, 6) > value() > bound(200, 5, 50, 4, 6)
        assert value(delta=0.01) > value() < bound(100, 5, 50, 5, 6)
        assert bound(100, 5, 50, 4, 7) > value() < value(n_weights=5)
    assert vc(1000, 3, 5) < vc(1000, 4, 5) < vc(1000, 4, 6) < vc(900, 4, 6)
    assert vc(1000, 3, 5) < vc(1000, 3, 5, dimension=4) < vc(1000, 3, 5, delta=1e-9)
    penalties = [kpca_compression(50, t, 0.0) for t in range(51)]
    assert np.all(np.diff(penalties) > 0)


def test_no_bound_gets_better_by_doing_worse():
    """To the very ends: all rows wrong, all rows chosen."""
    for n_classes in (2, 3, 10):
        curve = [mdl(60, t, 40, 2, 3, n_classes=n_classes) for t in range(61)]
        assert np.all(np.diff(curve) >= 0)
        assert curve[-1].is_vacuous
    curves = [
        [finite_class(60, t, 40, 2, 3) for t in range(61)],
        [vc(60, 5, t) for t in range(56)],
        [vc(60, k, 3) for k in range(58)],
        [vc(60, 0, 0, dimension=d) for d in range(500)],
        [cca(60, k, 3, dimension=2 * k + 1) for k in range(58)],
    ]
    for curve in curves:
        assert np.all(np.diff(curve) >= 0)
        assert curve[0] > 0


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: vc(0, 0, 0), "n_samples=0"),
        (lambda: vc(10, 8, 3), "n_chosen . n_errors=11 must be at most n_samples=10"),
        (lambda: vc(10, -1, 3), "n_chosen=-1"),
        (lambda: vc(450, 17.5, 60), "n_chosen=17.5 must be a whole number"),
        (lambda: vc(450, 17, 60.2), "n_errors=60.2 must be a whole number"),
        (lambda: finite_class(10, 1, 5.5, 1, 1), "n_candidates=5.5"),
        (lambda: kpca_compression(10.5, 1, 0.1), "n_samples=10.5"),
        (lambda: vc(10, 1, 1, delta=0), "delta=0"),
        (lambda: vc(10, 1, 1, delta="a"), "delta='a'"),
        (lambda: vc("10", 1, 1), "n_samples='10'"),
        (lambda: vc(10, 1, 1, dimension=-1), "dimension=-1"),
        (lambda: vc(10, 4, 1, n_candidates=3), "n_chosen=4 .* n_candidates=3"),
        (lambda: mdl(10, 1, 5, 1, 1, label_bits=0), "label_bits=0"),
        (lambda: svm_leave_one_out(11, 10), "n_support=11"),
        (lambda: kpca_compression(10, 10, 0.0, delta=2), "delta=2"),
        (lambda: kpca_compression(10, 1, 0.1, sup=0), "sup=0"),
        (lambda: kpca_eigenvalues(10, 11, 1.0, 1.0), "n_components=11"),
        (lambda: kpca_eigenvalues(10, 1, 1.0, -1.0), "mean_squared_diagonal=-1.0"),
        (lambda: kpca_curve(np.ones((3, 2))), r"shape \(3, 2\)"),
        (lambda: kpca_curve(np.eye(3), -1), "n_components=-1"),
        (lambda: kpca_curve(np.eye(3), [1, 2]), "n_components=.1, 2. must be a whole"),
        (lambda: kpca_curve(np.triu(np.ones((3, 3)))), "K must be symmetric"),
        (lambda: mdl(10, 11, 5, 1, 1), "n_errors=11 must be at most n_samples=10"),
        (lambda: mdl(10, 1, 5, 6, 1), "n_chosen=6 must be at most n_candidates=5"),
        (lambda: mdl(10, 1, 5, 1, 1, n_classes=1), "n_classes=1"),
        (lambda: finite_class(10, 1, 5, 1, -1), "weight_bits=-1"),
        (lambda: finite_class(10, 1, 5, 1, 1, delta=1), "delta=1"),
        (lambda: kpca_compression(10, 11, 0.1), "n_chosen=11"),
        (lambda: kpca_compression(10, 1, float("nan")), "mean_residual=nan"),
        (lambda: kpca_eigenvalues(10, 1, -1.0, 1.0), "tail=-1.0"),
    ],
)
def test_numbers_that_cannot_be(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# -- values that say whether they say something ------------------------------------


def test_vacuous():
    assert not Bound(0.3).is_vacuous
    assert repr(Bound(0.3)) == str(Bound(0.3)) == "Bound(0.3)"
    assert Bound(1.0).is_vacuous
    assert Bound(inf).is_vacuous
    assert Bound(float("nan")).is_vacuous
    assert "vacuous: the loss is at most 1" in repr(Bound(2.5))
    assert not Bound(2.5, ceiling=3).is_vacuous
    assert Bound(0.25) + 1 == 1.25


def test_bounds_survive_pickling():
    again = pickle.loads(pickle.dumps(Bound(2.5, ceiling=3)))
    assert again == 2.5
    assert again.ceiling == 3


def test_curves():
    curve = BoundCurve("vc", np.array([2.0, 0.7, 0.5, 0.5, 0.9]))
    assert (curve.best_size, curve.lowest, len(curve)) == (2, 0.5, 5)
    assert curve[0].is_vacuous
    assert not curve.is_vacuous
    assert curve[1:3].tolist() == [0.7, 0.5]
    assert np.asarray(curve).sum() == pytest.approx(4.6)
    assert "lowest Bound(0.5) at size 2 of 4" in repr(curve)
    assert BoundCurve("vc", np.array([2.0, 3.0])).is_vacuous


# -- weights in few bits -----------------------------------------------------------


def test_levels():
    weights = np.array([-4.0, -1.0, 0.5, 4.0])
    assert rounded(weights, 1).tolist() == [-0.5, -0.5, 0.5, 0.5]
    assert rounded(weights, 2).tolist() == [-0.75, -0.25, 0.25, 0.75]
    for bits in (1, 3, 8, 20):
        levels = rounded(np.linspace(-3, 3, 1001), bits)
        assert len(np.unique(levels)) <= 2**bits
        assert np.abs(levels - np.linspace(-1, 1, 1001)).max() <= 0.5**bits + 1e-12
    assert rounded(np.zeros(3), 4).tolist() == [0.0, 0.0, 0.0]


def test_fewest_bits():
    weights = np.array([1.0, 0.6, -0.3])
    wanted = {bits: rounded(weights, bits) for bits in (1, 2, 5, 19)}
    for bits, levels in wanted.items():
        exactly = lambda tried, levels=levels: (tried == levels).all(axis=1)  # noqa: E731
        assert fewest_bits(exactly, weights) == bits
    assert fewest_bits(lambda tried: np.arange(len(tried)) > 2, weights) == 4
    assert fewest_bits(lambda tried: np.zeros(len(tried), bool), weights) == 64


# -- draws from known distributions ------------------------------------------------

DRAWS = 400


def share_of_failures(draw, n_draws=DRAWS):
    rng = np.random.default_rng(0)
    return np.mean([draw(rng) for _ in range(n_draws)])


def coin_flips(rng, bound, delta, m=60, M=32):
    """Labels are coin flips, so any classifier errs half of the time.

    The class: one of M features, with a sign of one bit.
    """
    X, y = rng.choice([-1, 1], (m, M)), rng.choice([-1, 1], m)
    wrong = (X * y[:, None] < 0).sum(axis=0)
    errors = min(wrong.min(), m - wrong.max())
    return bound(m, int(errors), M, 1, 1, delta=delta) < 0.5


@pytest.mark.parametrize("delta", [0.5, 0.05])
@pytest.mark.parametrize("bound", [mdl, finite_class])
def test_classes_in_draws(bound, delta):
    assert share_of_failures(partial(coin_flips, bound=bound, delta=delta)) <= delta
    # A bound that took the best feature for one fixed beforehand would fail.
    too_low = lambda *given, **how: finite_class(*given[:2], 1, 0, 0, **how)  # noqa: E731
    blind = partial(coin_flips, bound=too_low, delta=0.5)
    assert share_of_failures(blind) > 0.5


def test_theorem_3_in_draws():
    """Ten equally likely inputs and a noise of three values: the loss is exact."""
    grid, noise = np.linspace(0, 1, 10)[:, None], np.array([-0.5, 0.0, 0.5])
    alpha, delta, m = 0.4, 0.2, 800

    def draw(rng):
        i = rng.integers(10, size=m)
        y = np.sin(5 * grid[i, 0]) + rng.choice(noise, m, p=[0.005, 0.99, 0.005])
        model = KMPRegressor(
            gamma=5.0, alpha=0.0, selection=None, max_support=4, fit_intercept=False
        ).fit(grid[i], y)
        errors = np.abs(model.predict(grid)[:, None] - np.sin(5 * grid) - noise) > alpha
        loss = (errors * [0.005, 0.99, 0.005]).sum(axis=1).mean()
        found = model.bound(grid[i], y, "vc", alpha=alpha, delta=delta)[4]
        assert not found.is_vacuous
        return found < loss

    assert share_of_failures(draw, 40) <= delta


def test_theorem_4_in_draws():
    angles = np.linspace(0, 3, 12)
    delta, m = 0.2, 700

    def draw(rng):
        i = rng.integers(12, size=m)
        X, Y = np.c_[np.cos(angles[i]), np.sin(angles[i])], np.c_[angles[i]]
        model = SparseKernelCCA(1, max_support=3, subsample=60).fit(X, Y)
        T, U = model.transform(np.c_[np.cos(angles), np.sin(angles)], np.c_[angles])
        loss = np.mean(np.abs(T - U) > 0.5)
        found = model.bound(0.5, delta=delta)
        assert not found.is_vacuous
        return found < loss

    assert share_of_failures(draw, 20) <= delta


def test_compression_in_draws():
    """Forty equally likely points: the expected residual is a mean over them."""
    points = np.random.default_rng(1).standard_normal((40, 2))
    K = Gaussian(1.0)(points)
    delta, m = 0.3, 60

    def draw(rng):
        X = points[rng.integers(40, size=m)]
        model = SparseKernelPCA(12, gamma=1.0, center=False).fit(X)
        curve = model.path_.bound(delta=delta).values
        for size in range(1, model.n_support_ + 1):
            k = Gaussian(1.0)(points, model.support_vectors_[:size])
            k_ii = Gaussian(1.0)(model.support_vectors_[:size])
            loss = np.mean(
                np.diag(K) - np.einsum("ij,ij->i", k @ np.linalg.inv(k_ii), k)
            )
            if curve[size] < loss:
                return True
        return False

    assert share_of_failures(draw, 60) <= delta


def test_the_supremum_enters_squared():
    """Printed with R instead of R²: fails far more often than it may."""
    R, m, delta = 25.0, 40, 0.05

    def draw(rng, sup):
        mean = R * rng.integers(2, size=m).mean()
        return kpca_compression(m, 0, mean, sup=sup, delta=delta) < R / 2

    assert share_of_failures(partial(draw, sup=R)) <= delta
    assert share_of_failures(partial(draw, sup=sqrt(R))) > 3 * delta


def test_eigenvalues_in_draws():
    points = np.random.default_rng(1).standard_normal((40, 2))
    K_all, delta, m, t = Gaussian(1.0)(points), 0.3, 60, 5

    def draw(rng):
        i = rng.integers(40, size=m)
        values, V = np.linalg.eigh(K_all[np.ix_(i, i)])
        top = V[:, -t:] / np.sqrt(values[-t:])
        loss = np.mean(1 - ((K_all[:, i] @ top) ** 2).sum(axis=1))
        tail = max(values[:-t].sum(), 0.0)
        return kpca_eigenvalues(m, t, tail, 1.0, delta=delta) < loss

    assert share_of_failures(draw, 60) <= delta


def test_curve_of_kernel_pca(rng):
    K = Gaussian(1.0)(rng.standard_normal((30, 2)))
    values = np.sort(np.linalg.eigvalsh(K))[::-1]
    curve = kpca_curve(2 * K, 12)
    assert len(curve) == 13
    terms = [
        kpca_eigenvalues(30, t, 2 * values[t:].sum(), 4.0, sup=2.0) for t in range(13)
    ]
    np.testing.assert_allclose(curve.terms, terms)
    np.testing.assert_allclose(curve.values, np.minimum.accumulate(terms))
    assert curve.ceiling == 2.0
    assert len(kpca_curve(K)) == 31


def test_support_vectors_in_draws():
    """In expectation only: the error of a machine on l - 1 rows."""
    rng = np.random.default_rng(0)
    m, shares, errors = 20, [], []
    for _ in range(60):
        y = rng.permutation(np.repeat([-1, 1], m // 2))
        X = rng.standard_normal((m, 1)) + y[:, None]
        shares.append(
            svm_leave_one_out(SVC(kernel="linear").fit(X, y).n_support_.sum(), m)
        )
        model = SVC(kernel="linear").fit(X[1:], y[1:])
        y_new = rng.choice([-1, 1], 500)
        X_new = rng.standard_normal((500, 1)) + y_new[:, None]
        errors.append(np.mean(model.predict(X_new) != y_new))
    assert np.mean(errors) < np.mean(shares)


def test_every_bound_has_its_assumptions():
    for name in bounds.__all__[2:]:
        doc = getattr(bounds, name).__doc__
        assert "References" in doc
        assert "ssumes" in doc or "expectation" in doc
