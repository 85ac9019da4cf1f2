import numpy as np
import pytest

from pursuit.datasets._images import smoothed
from reproduction.protocols.splits import mean_and_error, resampled_t_test, thirds


@pytest.mark.parametrize("n_rows", [9, 208, 683])
def test_thirds_are_disjoint_and_whole(n_rows):
    parts = thirds(n_rows, seed=3)
    rows = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(rows) == list(range(n_rows))
    assert {len(parts.train), len(parts.validation)} == {n_rows // 3}
    assert 0 <= len(parts.test) - n_rows // 3 <= 2


def test_thirds_hang_on_the_seed_alone():
    first, again = thirds(50, 1), thirds(50, 1)
    np.testing.assert_array_equal(first.train, again.train)
    assert set(first.train) != set(thirds(50, 2).train)


def test_resampled_t_test_by_hand():
    # Differences 1, 2, 3: mean 2, variance 1, J = 3, q = 1/2: the standard error is
    # sqrt(1/3 + 1/2) = 0.912871, t = 2.190890 with 2 degrees of freedom, of which the
    # tail is 1/2 - t / (2 sqrt(2 + t^2)) = 0.079916.
    found = resampled_t_test([2, 4, 6], [1, 2, 3], test_share=0.5)
    assert found.difference == 2.0
    assert found.standard_error == pytest.approx(0.9128709)
    t = 2.0 / np.sqrt(5.0 / 6.0)
    assert found.p_value == pytest.approx(1.0 - t / np.sqrt(2.0 + t**2))
    assert found.p_value == pytest.approx(0.159832, abs=1e-6)


def test_resampled_t_test_of_equal_and_of_shifted_errors():
    assert resampled_t_test([1, 2], [1, 2], 1.0).p_value == 1.0
    assert resampled_t_test([2, 3], [1, 2], 1.0).p_value == 0.0


def test_the_overlap_of_splits_makes_the_test_careful(rng):
    a, b = rng.normal(size=(2, 50))
    naive = resampled_t_test(a, b, 0.0)
    assert resampled_t_test(a, b, 1.0).p_value > naive.p_value


def test_mean_and_error():
    mean, error = mean_and_error([1.0, 3.0])
    assert (mean, error) == (2.0, pytest.approx(1.0))
    _, of_both = mean_and_error([1.0, 3.0], n_published=2)
    assert of_both == pytest.approx(np.sqrt(2.0))
    assert mean_and_error([5.0]) == (5.0, None)


def test_smoothing_keeps_background_and_the_sum_of_ink():
    image = np.full((1, 256), -1.0)
    np.testing.assert_allclose(smoothed(image, -1.0), image)
    image[0, 8 * 16 + 8] = 1.0
    blurred = smoothed(image, -1.0)
    assert blurred.max() < 0.0
    assert (blurred + 1.0).sum() == pytest.approx(2.0)
