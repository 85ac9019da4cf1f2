"""Outliers by the distance from a subspace, and what is promised of false alarms."""

import pickle
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import SparseKernelPCA, SubspaceOutlierDetector
from pursuit.bounds import false_alarms
from pursuit.kernels import Gaussian


@pytest.fixture(scope="module")
def ring():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 600)
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(600, 2))
    return X[:400], X[400:]


@parametrize_with_checks([SubspaceOutlierDetector()])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_the_score_is_the_distance_from_the_span(ring):
    X, new = ring
    pca = SparseKernelPCA(20, gamma=3.0, center=False)
    model = SubspaceOutlierDetector(pca).fit(X)
    kernel, points = Gaussian(3.0), model.support_vectors_
    K = kernel(new, points)
    expected = 1 - np.einsum("ij,ji->i", K, np.linalg.solve(kernel(points), K.T))
    np.testing.assert_allclose(-model.score_samples(new), expected, atol=1e-9)
    assert model.n_support_ == len(points) == 20
    # The middle of the ring is empty, and far away is far away.
    assert model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist() == [-1, -1]
    assert (model.predict(new) == -1).mean() < 0.12


def test_false_alarms_over_many_draws():
    """The mean rate is what is promised, and not much less."""
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(60):
        X = rng.standard_t(4, size=(79, 2))
        model = SubspaceOutlierDetector(
            SparseKernelPCA(8, gamma=0.2), false_alarm_rate=0.1
        ).fit(X)
        assert model.certified_rate_ <= 0.1
        rates.append((model.predict(rng.standard_t(4, size=(500, 2))) == -1).mean())
    error = np.std(rates) / np.sqrt(len(rates))
    assert model.certified_rate_ - 3 * error < np.mean(rates)
    assert np.mean(rates) < model.certified_rate_ + 3 * error


def test_p_values_are_those_of_the_left_out_rows(ring):
    X, new = ring
    model = SubspaceOutlierDetector(false_alarm_rate=0.1).fit(X)
    p = model.p_values(new)
    assert p.min() >= 1 / 101
    assert abs((p <= 0.2).mean() - 0.2) < 0.12
    # A p-value of at most the rate is an alarm, but for ties with the threshold.
    scores = model.score_samples(new)
    ties = np.isin(scores, model._calibration)
    np.testing.assert_array_equal(
        (p <= model.certified_rate_)[~ties], (model.predict(new) == -1)[~ties]
    )


def test_order_of_the_rows_does_not_matter(ring):
    X, new = ring
    order = np.random.default_rng(1).permutation(len(X))
    one, other = (SubspaceOutlierDetector().fit(rows) for rows in (X, X[order]))
    np.testing.assert_allclose(one.score_samples(new), other.score_samples(new))
    assert one.offset_ == pytest.approx(other.offset_)
    seeded = SubspaceOutlierDetector(random_state=3).fit(X)
    assert seeded.offset_ != one.offset_


def test_the_bound_is_the_binomial_tail():
    m, t, e, delta = 200, 3, 4, 0.05
    p = float(false_alarms(m, t, e, delta=delta))
    share = delta / (m * (m - t) * comb(m, t))
    assert binom.cdf(e, m - t - 1, p) == pytest.approx(share, rel=1e-6)
    none = float(false_alarms(m, t, 0, delta=delta))
    assert (1 - none) ** (m - t - 1) == pytest.approx(share, rel=1e-9)
    assert false_alarms(m, t, m - t - 1) == 1.0
    # More points are more to choose from, also where the tail underflows.
    rates = [float(false_alarms(4000, t, 50)) for t in (10, 60, 100, 200, 400)]
    assert rates == sorted(rates)
    assert 0.0 < rates[0] < rates[-1] < 1.0


def test_chernoff_where_the_tail_underflows_is_near_the_tail():
    from pursuit.bounds.subspaces import _least_miss

    exact, above = _least_miss(5000, 40, 700.0), _least_miss(5000, 40, 760.0)
    assert 0 < exact - above < 0.02


@pytest.mark.parametrize(
    "n, t, e, match",
    [
        (10, 10, 0, "n_chosen=10 must be less"),
        (10, 2, 8, "n_alarms=8 must be at most"),
        (0, 0, 0, "n_samples=0"),
    ],
)
def test_counts_that_cannot_be(n, t, e, match):
    with pytest.raises(ValueError, match=match):
        false_alarms(n, t, e)


def test_compression_certifies_the_detector_that_is_used():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(3000, 2)), rng.normal(size=(20000, 2))
    pca = SparseKernelPCA(30, gamma=0.3, center=False)
    model = SubspaceOutlierDetector(
        pca, certificate="compression", false_alarm_rate=0.05
    ).fit(X)
    assert model.certified_rate_ <= 0.05
    assert 1 <= model.n_support_ <= 30
    n_alarms = int((model.predict(X) == -1).sum())
    bound = false_alarms(3000, model.n_support_, n_alarms, delta=0.05)
    assert model.certified_rate_ == pytest.approx(float(bound))
    assert 0 < (model.predict(new) == -1).mean() <= model.certified_rate_
    with pytest.raises(ValueError, match="p-values need"):
        model.p_values(X)
    with pytest.raises(ValueError, match="cannot promise"):
        clone(model).fit(X[:60])
    with pytest.raises(ValueError, match="gamma='median' looks at all rows"):
        SubspaceOutlierDetector(certificate="compression").fit(X)


def test_rows_of_any_kind(ring, tmp_path):
    import pursuit

    X, new = ring
    model = SubspaceOutlierDetector().fit(X)
    sparse = SubspaceOutlierDetector().fit(sp.csr_array(X))
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(new)), model.decision_function(new)
    )
    model.save(tmp_path / "model.pursuit")
    loaded = pursuit.load(tmp_path / "model.pursuit")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(new), model.predict(new))
        np.testing.assert_array_equal(other.p_values(new), model.p_values(new))
    scaled = make_pipeline(StandardScaler(), SubspaceOutlierDetector())
    scaled.fit(X * [1000.0, 1.0])
    assert scaled.predict([[0.0, 0.0]]).tolist() == [-1]


def test_bad_parameters(ring):
    X, _ = ring
    with pytest.warns(UserWarning, match="no row will be called an outlier"):
        model = SubspaceOutlierDetector(false_alarm_rate=0.01).fit(X[:40])
    assert model.certified_rate_ == 0.0
    assert (model.predict(X) == 1).all()
    for parameters, error, match in (
        ({"certificate": "none"}, ValueError, "certificate='none'"),
        ({"false_alarm_rate": 2}, ValueError, "false_alarm_rate"),
        ({"calibration_fraction": 0}, ValueError, "calibration_fraction"),
        ({"delta": 0}, ValueError, "delta"),
        ({"subspace": "rbf"}, TypeError, "must be a SparseKernelPCA"),
        (
            {"subspace": SparseKernelPCA(kernel="precomputed")},
            ValueError,
            "no points",
        ),
    ):
        with pytest.raises(error, match=match):
            SubspaceOutlierDetector(**parameters).fit(X)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        SubspaceOutlierDetector().fit(X[:1])
