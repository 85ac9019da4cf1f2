"""The image of the atoms: it only foretells, but it must do so well."""

from dataclasses import replace

import numpy as np
import pytest
from given_matrices import evaluate_rows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from pursuit.engine.atoms import ComputedAtoms, StoredAtoms
from pursuit.engine.foresight import LOOKS, Foresight, largest
from pursuit.engine.gains import Scores
from pursuit.engine.image import Image, image_size
from pursuit.engine.problem import METHODS, Problem
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run
from pursuit.functions import KernelFunctions
from pursuit.kernels import Gaussian


def image_of(A, size=None):
    image = Image(*A.shape, size or A.shape[1])
    half = len(A) // 2
    image.add(slice(half, len(A)), A[half:])
    image.add(slice(0, half), A[:half])
    return image


def scanned(image, v):
    out = np.empty(len(image._Z))
    image.correlate(slice(0, len(out)), *image.rounded(v), out)
    return out


def seen(image):
    """The atoms as the image has them."""
    return image._Z * image._scale[:, None]


@st.composite
def matrices_and_vectors(draw):
    """Atoms of any scale, peaked, constant or zero, and a vector."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_atoms = draw(st.integers(1, 5000)), draw(st.integers(1, 9))
    A = rng.standard_normal((n_atoms, n_rows)) ** draw(st.sampled_from([1, 3, 9]))
    A *= 10.0 ** rng.uniform(-60, 60, n_atoms)[:, None]
    A[rng.random(n_atoms) < 0.2] = draw(st.sampled_from([0.0, 3.0, 1e-300]))
    return A, rng.standard_normal(n_rows) * 10.0 ** draw(st.integers(-60, 60))


@given(matrices_and_vectors())
def test_law_the_error_is_bounded(given):
    """By the roundings of atom and vector, and roundings are half a unit at most."""
    A, v = given
    image = image_of(A)
    rounded, unit = image.rounded(v)
    top = np.abs(A).max(axis=1)
    is_seen = top > 1e-290
    gap = np.abs(A - seen(image))[is_seen]
    assert (gap <= 0.5001 * top[is_seen, None] / 127).all()
    assert (np.abs(v - unit * rounded) <= 0.5001 * np.abs(v).max() / 8191).all()
    bound = np.linalg.norm(A - seen(image), axis=1) * np.linalg.norm(v)
    bound += np.linalg.norm(seen(image), axis=1) * np.linalg.norm(v - unit * rounded)
    lengths = np.linalg.norm(A, axis=1) * np.linalg.norm(v)
    found = scanned(image, v)
    assert (np.abs(found - A @ v) <= bound + 1e-10 * lengths)[is_seen].all()
    assert (found[~is_seen] == 0.0).all()


def test_largest_sums_do_not_overflow():
    A, v = np.ones((3, 10_000)), np.ones(10_000)
    np.testing.assert_allclose(scanned(image_of(A), v), 10_000, rtol=1e-12)
    np.testing.assert_allclose(scanned(image_of(-A), v), -10_000, rtol=1e-12)


def test_what_is_not_finite_is_not_seen():
    A = np.ones((3, 20))
    A[1, 3] = np.inf
    assert scanned(image_of(A), np.ones(20))[1] == 0.0
    assert (scanned(image_of(A), np.full(20, np.inf)) == 0.0).all()
    assert (scanned(image_of(A), np.zeros(20)) == 0.0).all()


def test_kernel_atoms_are_seen_to_a_thousandth():
    X = scale(load_diabetes(return_X_y=True)[0])
    A, rng = rbf_kernel(X, gamma=0.05), np.random.default_rng(0)
    for v in rng.standard_normal((5, len(A))):
        gap = scanned(image_of(A), v) - A @ v
        lengths = np.linalg.norm(A, axis=1) * np.linalg.norm(v)
        assert np.sqrt(np.mean((gap / lengths) ** 2)) < 1e-3


def test_float32_atoms_have_the_same_image():
    A = np.random.default_rng(0).standard_normal((20, 300))
    gap = seen(image_of(A)) - seen(image_of(A.astype(np.float32)))
    assert (np.abs(gap) <= 1.01 * np.abs(A).max(axis=1)[:, None] / 127).all()
    assert np.mean(np.abs(gap) > 1e-6) < 1e-3


@pytest.mark.parametrize("size", [100, 256, 700])
def test_short_images_have_about_the_inner_products(size):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 1500)) + rng.standard_normal(1500)
    v = rng.standard_normal(1500)
    gap = scanned(image_of(A, size), v) - A @ v
    gap /= np.linalg.norm(A, axis=1) * np.linalg.norm(v)
    assert np.sqrt(np.mean(gap**2)) < 2 / np.sqrt(size)


def test_sizes_fit_the_memory():
    assert image_size(1000, 500, 10**9) == 1000
    assert image_size(1000, 500, 200 * 500) == 200
    assert image_size(1000, 500, 15 * 500) == 0
    assert image_size(1000, 500, 0) == 0
    assert image_size(1000, 500, -5) == 0
    assert image_size(4, 500, 10**9) == 4


@pytest.mark.parametrize("n_images", [1, 6])
@pytest.mark.parametrize("memory", [10**4, 10**5, 10**6, 10**7])
def test_bound_functions_leave_room_for_images(memory, n_images):
    X = np.random.default_rng(0).standard_normal((300, 3))
    rows = np.arange(300)
    atoms = KernelFunctions(X, rows, True, Gaussian(1.0)).on(
        X, memory, np.float64, n_images
    )
    images = n_images * 300 * atoms.image_size
    assert images + isinstance(atoms, StoredAtoms) * 8 * 300**2 <= memory
    assert atoms.image_size > 0 or memory < 300 * 16 * 2 * n_images


# -- pursuits that see by it -------------------------------------------------------


def kernel_pursuit(method, n_steps, speculate=True, gamma=0.05, alpha=1e-3, **how):
    """A pursuit on all of diabetes, and how many vectors it had correlated."""
    X, y = load_diabetes(return_X_y=True)
    A = rbf_kernel(scale(X), gamma=gamma)
    weight = np.ones(len(y))
    weight[::5] = 0.0
    problem = Problem(
        Y=scale(y)[None],
        weight=weight,
        held_out=1.0 - weight,
        candidates=weight > 0,
        method=method,
        alpha=alpha,
        max_steps=n_steps,
    )
    atoms = StoredAtoms(A, **how)
    n_vectors = []
    correlate = atoms.correlate
    atoms.correlate = lambda V: n_vectors.append(len(V)) or correlate(V)
    pursuit = Pursuit(atoms, problem, speculate)
    run([pursuit])
    return pursuit, sum(n_vectors)


@pytest.mark.parametrize("size", [None, 100, 0])
@pytest.mark.parametrize("gamma, alpha", [(0.05, 1e-3), (0.005, 1e-6), (0.2, 0.0)])
@pytest.mark.parametrize("method", METHODS)
def test_steps_are_those_of_one_pass_each(method, gamma, alpha, size):
    """Whatever the image shows, or if there is none."""
    how = {"gamma": gamma, "alpha": alpha}
    alone, _ = kernel_pursuit(method, 80, speculate=False, **how)
    pursuit, _ = kernel_pursuit(method, 80, image_size=size, **how)
    assert pursuit.chosen.tolist() == alone.chosen.tolist()
    np.testing.assert_allclose(pursuit.errors, alone.errors, rtol=1e-8)


@pytest.mark.parametrize("gamma, alpha", [(0.05, 1e-3), (0.005, 1e-6), (0.2, 0.0)])
@pytest.mark.parametrize("method", METHODS)
def test_few_passes_and_few_vectors_in_vain(method, gamma, alpha):
    pursuit, n_vectors = kernel_pursuit(method, 80, gamma=gamma, alpha=alpha)
    # The basic method's scores differ by little on wide kernels: rounding decides how
    # many steps are foreseen.
    assert n_vectors <= (2.5 if method == "basic" else 1.5) * 80
    assert pursuit.atoms.n_passes <= 80 / 4


@pytest.mark.parametrize("n_rows, speculates", [(60, False), (1200, True)])
def test_steps_are_foreseen_where_a_pass_takes_longer(n_rows, speculates):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, n_rows))
    problem = Problem(
        Y=rng.standard_normal((1, n_rows)),
        weight=np.ones(n_rows),
        held_out=np.zeros(n_rows),
        candidates=np.ones(400, bool),
        max_steps=5,
    )
    assert Pursuit(StoredAtoms(A), problem).needs_image == speculates
    blocks = ComputedAtoms(*A.shape, evaluate_rows(A), 33)
    assert Pursuit(blocks, problem).needs_image


def test_a_pursuit_near_the_span_gets_an_image_of_its_own():
    pursuit, _ = kernel_pursuit("pre-fitting", 80, gamma=0.005, alpha=1e-6)
    assert pursuit._image is not None
    sharp, _ = kernel_pursuit("pre-fitting", 20, gamma=0.2, alpha=1e-3)
    assert sharp._image is None


def test_images_of_rests_are_of_what_is_left():
    rng = np.random.default_rng(0)
    A, P = rng.standard_normal((150, 40)), rng.standard_normal((3, 150))
    Q, used = rng.standard_normal((3, 44)), (np.arange(44) % 5 > 0) + 0.0
    rests = (np.pad(A, ((0, 0), (0, 4))) - P.T @ Q) * used
    for atoms in (StoredAtoms(A), ComputedAtoms(150, 40, evaluate_rows(A), 33)):
        image = atoms.image_of_rests(P, Q, used)
        unit = np.abs(rests).max(axis=1)[:, None] / 127
        assert (np.abs(seen(image) - rests) <= 0.51 * unit).all()


def test_foreseen_are_the_winners_to_come():
    """On orthogonal atoms nothing changes but who is taken: the best come up."""
    A = np.eye(40, 640)
    atoms = StoredAtoms(A)
    atoms.squared_norms(np.ones((1, 640)), needs_image=True)
    c = np.linspace(1, 2, 40)[None]
    problem = Problem(np.ones((1, 640)), np.ones(640), np.zeros(640), np.ones(40, bool))
    problem = replace(problem, fit_intercept=False)
    scores = Scores(problem, c, np.ones(40), 0.0, None)
    ahead = Foresight(atoms, atoms.image, problem, scores, problem.weight)
    found = []
    for _ in range(12):
        found.append(ahead.best())
        ahead.choose(found[-1], A[found[-1]], 1.0)
    assert found == list(range(39, 27, -1))
    np.testing.assert_array_equal(ahead.vectors, A[found])


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0, 9.0]), max_size=40))
def test_law_largest_are_the_largest(values):
    gain = np.array(values)
    top = largest(gain, LOOKS)
    assert len(top) == min(LOOKS, np.count_nonzero(gain))
    assert (np.diff(top) > 0).all()
    assert sorted(gain[top]) == sorted(gain)[len(gain) - len(top) :]


def test_an_atom_that_turns_out_to_be_in_the_span_is_passed_over():
    """Whole numbers: what is left of it is exactly 0."""
    D = np.array([[2.0, 0, 0, 0], [0, 2, 0, 0], [2, 2, 0, 0], [0, 0, 1, 0]])
    atoms = StoredAtoms(D)
    problem = Problem(
        Y=np.array([[3.0, 2.0, 0.5, 1.0]]),
        weight=np.ones(4),
        held_out=np.zeros(4),
        candidates=np.ones(4, bool),
        fit_intercept=False,
        max_steps=4,
    )
    for speculate in (True, False):
        pursuit = Pursuit(atoms, problem, speculate)
        run([pursuit])
        assert pursuit.chosen[: pursuit.n_steps].tolist() == [2, 0, 3]
        assert pursuit.stop_reason == "exhausted"
