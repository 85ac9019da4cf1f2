"""What a pursuit takes of the memory is what it says that it takes."""

import tracemalloc

import numpy as np
import pytest
from given_matrices import atoms_of, problem_of
from naming import named
from sklearn.metrics.pairwise import rbf_kernel

from pursuit.engine import moments
from pursuit.engine.atoms import ComputedAtoms
from pursuit.engine.gram import SharedGram
from pursuit.engine.gram_pursuit import GramPursuit
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.moments import MomentPursuit, Moments
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.random_pursuit import RandomLossPursuit, RandomPursuit
from pursuit.engine.running import run
from pursuit.fitting.engines import DRAWN_COPIES
from pursuit.functions import KernelFunctions
from pursuit.kernels import Gaussian
from pursuit.losses import Logistic, Softmax, Squared

# Estimates are right up to this factor, either way.
FACTOR = 2.5

# Rows, atoms and steps: each of them is large in one of the cases.
SIZES = [(600, 600, 60), (2400, 600, 60), (600, 2400, 60), (600, 600, 240)]


def data(n_rows, n_atoms, n_targets, of_classes=False):
    """Gaussians (l, M), and targets (l, T): numbers, signs, or one class of several."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 5))
    D = rbf_kernel(X, rng.standard_normal((n_atoms, 5)), gamma=0.3)
    F = np.resize(X.T, (n_targets, n_rows)).T
    F = F + 0.5 * rng.standard_normal((n_rows, n_targets))
    if not of_classes:
        return D, F
    if n_targets == 1:
        return D, np.sign(F)
    is_class = F.argmax(axis=1)[:, None] == np.arange(n_targets)
    return D, np.where(is_class, 1.0, -1.0)


def assert_estimated(estimate, atoms, make):
    """The most that a pursuit takes is near the estimate.

    Neither the atoms nor their image count: both are there before.
    """
    run([make()])
    tracemalloc.start()
    pursuit = make()
    run([pursuit])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pursuit.stop_reason == "max_support"
    assert estimate / FACTOR < peak < estimate * FACTOR


@pytest.mark.parametrize("size", SIZES, ids=named)
@pytest.mark.parametrize("n_targets", [1, 5])
def test_of_least_squares(size, n_targets):
    D, Y = data(*size[:2], n_targets)
    atoms, problem = atoms_of(D), problem_of(D, Y, size[2], alpha=1e-2)
    atoms.squared_norms(problem.weight[None], needs_image=True)
    estimate = Pursuit.state_bytes(*size, n_targets)
    assert_estimated(estimate, atoms, lambda: Pursuit(atoms, problem))


@pytest.mark.parametrize("size", SIZES, ids=named)
@pytest.mark.parametrize(
    "loss, n_targets", [(Logistic(), 1), (Softmax(), 3), (Softmax(), 20)], ids=named
)
def test_of_other_losses(size, loss, n_targets):
    D, Y = data(*size[:2], n_targets, of_classes=True)
    atoms, problem = atoms_of(D), problem_of(D, Y, size[2], alpha=1e-2, loss=loss)
    estimate = LossPursuit.state_bytes(*size, n_targets)
    assert_estimated(estimate, atoms, lambda: LossPursuit(atoms, problem))


@pytest.mark.parametrize("size", SIZES, ids=named)
@pytest.mark.parametrize("n_targets", [1, 5])
@pytest.mark.parametrize("n_held_out", [0, 300])
def test_by_inner_products(size, n_targets, n_held_out):
    D, Y = data(*size[:2], n_targets)
    held_out = np.where(np.arange(len(D)) < n_held_out, 1.0, 0.0)
    how = {"weight": 1.0 - held_out, "held_out": held_out, "alpha": 1e-2}
    atoms, problem = atoms_of(D), problem_of(D, Y, size[2], **how)
    gram = SharedGram(atoms.A, {0: problem.weight})
    estimate = GramPursuit.state_bytes(*size, n_targets, n_held_out)
    assert_estimated(estimate, atoms, lambda: GramPursuit(atoms, problem, gram))


@pytest.mark.parametrize(
    "kind, counted, loss",
    [(RandomPursuit, Pursuit, Squared()), (RandomLossPursuit, LossPursuit, Logistic())],
    ids=["squared", "logistic"],
)
@pytest.mark.parametrize("n_drawn", [59, 1200])
def test_redrawn_candidates_count_as_the_only_ones(kind, counted, loss, n_drawn):
    D, Y = data(600, 2400, 1, of_classes=True)
    atoms, problem = atoms_of(D), problem_of(D, Y, 60, alpha=1e-2, loss=loss)
    # Their values are there at each step.
    values = DRAWN_COPIES * 8 * n_drawn * 600
    assert_estimated(
        counted.state_bytes(600, n_drawn, 60) + values,
        atoms,
        lambda: kind(atoms, problem, n_drawn, np.random.default_rng(0)),
    )


@pytest.mark.parametrize("n_rows, n_atoms", [(3000, 300), (40_000, 50)])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_by_moments(n_rows, n_atoms, n_targets, monkeypatch):
    """The values of the atoms on all rows at once would take more than the estimate."""
    monkeypatch.setattr(moments, "_VALUES", 30_000)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n_rows, 5)), rng.standard_normal((n_rows, n_targets))
    functions = KernelFunctions(X[:n_atoms], np.arange(n_atoms), True, Gaussian(0.3))

    def evaluate(rows):
        return functions.evaluator(X[rows], np.float64)(slice(0, n_atoms))

    def make():
        found = Moments.on_rows(evaluate, n_atoms, 5, [problem])
        return MomentPursuit(atoms, problem, found, slice(None))

    problem = problem_of(np.empty((n_rows, n_atoms)), Y, 40, alpha=1e-2)
    atoms = functions.on(X, 1)
    assert isinstance(atoms, ComputedAtoms)
    estimate = Moments.n_bytes(n_atoms, n_rows, 5, n_targets)
    estimate += GramPursuit.state_bytes(n_rows, n_atoms, 40, n_targets, 0)
    assert estimate < 8 * n_rows * n_atoms
    assert_estimated(estimate, atoms, make)
