"""Short images of the atoms: they only guess, but they must guess well."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from pursuit._atoms import Atoms
from pursuit._sketch import Sketch, sketch_size
from pursuit.problem import Problem
from pursuit.pursuit import Pursuit
from pursuit.running import run


def images(sketch):
    return sketch._Z.astype(np.float64)


def sketch_of(A, weight):
    sketch = Sketch(weight, A.shape[1], len(A))
    half = len(A) // 2
    sketch.add(slice(half, len(A)), A[half:])
    sketch.add(slice(0, half), A[:half])
    return sketch


def random_atoms(n_atoms=60, n_rows=1500):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n_atoms, n_rows)) + rng.standard_normal(n_rows)
    return A, rng.uniform(0, 3, n_rows)


def gap(sketch, A, weight):
    """How far inner products of images are from those of the atoms, by length."""
    Z, exact = images(sketch), (A * weight) @ A.T
    size = np.sqrt(np.diag(exact))
    return np.abs(Z @ Z.T - exact) / np.outer(size, size)


@pytest.mark.parametrize("n_rows", [1, 100, 1000, 10**6])
def test_images_are_short(n_rows):
    assert 16 <= sketch_size(n_rows) <= 256
    assert sketch_size(n_rows) <= max(16, n_rows / 8)


def test_images_have_the_inner_products_of_the_atoms():
    A, weight = random_atoms()
    size = sketch_size(A.shape[1])
    found = gap(sketch_of(A, weight), A, weight)
    assert np.sqrt(np.mean(found**2)) < 2 / np.sqrt(size)
    assert found.max() < 6 / np.sqrt(size)


def test_float32_atoms_have_the_same_images():
    A, weight = random_atoms()
    first, second = sketch_of(A, weight), sketch_of(A.astype(np.float32), weight)
    np.testing.assert_allclose(images(first), images(second), atol=1e-4)


def test_directions_are_taken_out_as_of_the_atoms():
    A, weight = random_atoms()
    root = np.sqrt(weight)
    Q = np.linalg.qr((A[:7] * root).T)[0].T / root
    P = Q @ (A * weight).T
    sketch = sketch_of(A, weight)
    sketch.take_out(P, Q)
    np.testing.assert_allclose(
        images(sketch), images(sketch_of(A - P.T @ Q, weight)), atol=1e-3
    )
    before = images(sketch)
    sketch.take_out(P[:0], Q[:0])
    np.testing.assert_array_equal(images(sketch), before)


def kernel_pursuit(method, n_steps, speculate=True):
    """A pursuit on all of diabetes, and how many vectors it had correlated."""
    X, y = load_diabetes(return_X_y=True)
    A = rbf_kernel(scale(X), gamma=0.05)
    atoms = Atoms(*A.shape, lambda index: A[index], len(A), A)
    problem = Problem(
        Y=scale(y)[None],
        weight=np.ones(len(y)),
        held_out=np.zeros(len(y)),
        candidates=np.ones(len(y), bool),
        method=method,
        alpha=1e-3,
        max_steps=n_steps,
    )
    n_vectors = []
    correlate = atoms.correlate
    atoms.correlate = lambda V: n_vectors.append(len(V)) or correlate(V)
    pursuit = Pursuit(atoms, problem, speculate)
    run(atoms, [pursuit])
    return pursuit, sum(n_vectors)


@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting", "basic"])
def test_guesses_are_few_and_good(method):
    """Fewer passes, and few vectors in vain."""
    alone, _ = kernel_pursuit(method, 80, speculate=False)
    pursuit, n_vectors = kernel_pursuit(method, 80)
    assert pursuit.chosen.tolist() == alone.chosen.tolist()
    assert n_vectors <= 2 * 80
    assert pursuit.atoms.n_passes <= alone.atoms.n_passes / 2


def test_foreseen_are_the_winners_to_come():
    """On orthogonal atoms nothing changes but who is taken: the best come up."""
    A, weight = np.eye(40, 640) + 0.0, np.ones(640)
    c = np.linspace(2, 1, 40)[None]
    norms = np.ones(40)
    is_known = np.arange(40) < 3
    found = sketch_of(A, weight).foresee(
        c.copy(), norms.copy(), norms, c[0] ** 2, is_known, True, False, 5, 2
    )
    assert sorted(found.tolist()) == list(range(3, 13))


def test_fewer_candidates_than_asked_for():
    A, weight = random_atoms(3, 50)
    norms = (A**2) @ weight
    gain = np.array([1.0, 0.0, 2.0])
    found = sketch_of(A, weight).foresee(
        np.ones((1, 3)), norms.copy(), norms, gain, gain == 0.0, True, False, 5, 9
    )
    assert sorted(found.tolist()) == [0, 2]
