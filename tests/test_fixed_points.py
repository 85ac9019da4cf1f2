"""Kernel values with fixed points are those of the kernel itself."""

import pickle

import numpy as np
import pytest
from naming import named
from numpy.testing import assert_array_equal
from scipy import sparse

from pursuit.kernels import Gaussian, Laplacian, Linear, Matern
from pursuit.kernels._base import KernelOn
from pursuit.kernels.distances import FixedPoints, paired_rows, squared_distances


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.7), Matern(1.5, 0.4), Laplacian(0.3), Linear()], ids=named
)
@pytest.mark.parametrize("n_rows", [1, 7, 3000])
def test_values_are_those_of_the_kernel(kernel, n_rows, rng):
    points, X = 3.0 + rng.normal(size=(40, 4)), 3.0 + rng.normal(size=(n_rows, 4))
    values = KernelOn(kernel, points)
    assert len(values) == 40
    for _ in range(2):
        assert_array_equal(values(X), kernel(X, points))
    assert_array_equal(pickle.loads(pickle.dumps(values))(X), kernel(X, points))


def test_sparse_points(rng):
    points, X = (sparse.random(n, 5, 0.4, "csr", random_state=n) for n in (20, 6))
    kernel = Gaussian(0.5)
    for P, A in ((points, X), (points.toarray(), X), (points, X.toarray())):
        assert_array_equal(KernelOn(kernel, P)(A), kernel(A, P))


def test_pickles_hold_the_points_once(rng):
    values = KernelOn(Gaussian(1.0), rng.normal(size=(500, 20)))
    values(rng.normal(size=(1, 20)))
    assert len(pickle.dumps(values)) < 1.1 * values.points.nbytes


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e200])
def test_distances(offset, rng):
    points, X = offset + rng.normal(size=(30, 3)), offset + rng.normal(size=(4, 3))
    X[0] = points[5]
    expected = squared_distances(*paired_rows(X, points), np.empty((4, 30)))
    assert_array_equal(FixedPoints.of(points).squared_distances(X), expected)
