"""Matrices to pursue on, and what it means that a path is that of `reference`."""

from dataclasses import replace
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from pursuit.engine.atoms import ComputedAtoms, StoredAtoms
from pursuit.engine.problem import Problem
from pursuit.engine.running import run

# Residues agree to this share of |y|, coefficients (each in units of its atom's norm)
# to this share of the largest.  The figure is met with room to spare: typical
# differences are 1e-13 on the well-conditioned dictionaries.
RESIDUE = 1e-8
COEFFICIENT = 1e-6


# -- from a matrix to a path -------------------------------------------------------


def atoms_of(D, block=None, dtype=np.float64):
    """The columns of D as atoms: stored, or evaluated ``block`` at a time."""
    A = np.ascontiguousarray(D.T, dtype=dtype)
    if block is None:
        return StoredAtoms(A)
    return ComputedAtoms(*A.shape, evaluate_rows(A), block, dtype=dtype)


def evaluate_rows(A, note=lambda index: None):
    """What evaluates atoms that are rows of A; ``note`` is told which."""

    def evaluate(index, out=None):
        note(index)
        if out is None:
            return A[index]
        out[...] = A[index]
        return out

    return evaluate


def problem_of(D, Y, N, *, weight=None, held_out=None, candidates=None, **how):
    n_rows, n_atoms = D.shape
    return Problem(
        Y=np.ascontiguousarray(Y.T),
        weight=np.ones(n_rows) if weight is None else weight,
        held_out=np.zeros(n_rows) if held_out is None else held_out,
        candidates=np.ones(n_atoms, bool) if candidates is None else candidates,
        max_steps=N,
        **{"fit_intercept": False, **how},
    )


def without(problem, fold, weighting):
    """The problem with a fold held out: 1 on its rows, in between where some of the
    copies of a row are in it, -1 on rows of neither part.

    Atoms are centered on the rows, and those on rows without weight are closed.
    """
    weight = np.where(fold < 0, 0.0, problem.weight * (1.0 - fold))
    return replace(
        problem,
        weight=weight,
        held_out=problem.weight * np.maximum(fold, 0.0),
        candidates=problem.candidates & (weight > 0),
        weighting=weighting,
    )


def assert_values_of_every_size(pursuit, D):
    """Run it; it yields the held-out values of its path, of each size once."""
    rows, found = np.flatnonzero(pursuit.problem.held_out), []

    def watch(_):
        found.extend(values.copy() for values in pursuit.held_out_values())

    run([pursuit], watch)
    watch(None)
    path = pursuit.path()
    assert len(found) == len(path) + 1
    for n, values in enumerate(found):
        support, coef, intercept = path.coefficients(n)
        wanted = D[np.ix_(rows, support)] @ coef.T + intercept
        scale = np.abs(wanted).max(initial=1.0)
        np.testing.assert_allclose(values, wanted.T, rtol=0, atol=1e-8 * scale)


def residue_of(path, n, D, Y):
    """Recomputed from the coefficients, not from anything the engine carried along."""
    support, coef, intercept = path.coefficients(n)
    return Y - D[:, support] @ coef.T - intercept


def assert_same_path(path, expected, D, Y, coefficient=COEFFICIENT, residue=RESIDUE):
    """The path is that of the reference: atoms, coefficients, residues."""
    chosen, models = expected
    assert path.atoms.tolist() == chosen
    size = np.linalg.norm(D, axis=0)
    for n in sorted(
        {1, 2, len(models) // 2, len(models)} & {*range(1, len(models) + 1)}
    ):
        model = models[n - 1]
        support, coef, intercept = path.coefficients(n)
        gap = residue_of(path, n, D, Y) - model.residue
        assert np.linalg.norm(gap) <= residue * np.linalg.norm(Y)
        wanted = np.zeros((D.shape[1], Y.shape[1]))
        np.add.at(wanted, model.atoms, model.coef)
        wanted *= size[:, None]
        gap = -wanted
        gap[support] += coef.T * size[support, None]
        assert np.abs(gap).max() <= coefficient * np.abs(wanted).max()
        gap = (intercept - model.intercept) * np.sqrt(len(D))
        assert np.abs(gap).max() <= coefficient * np.abs(wanted).max()


# -- dictionaries ------------------------------------------------------------------


def random_matrix():
    rng = np.random.default_rng(0)
    return rng.standard_normal((60, 90)), rng.standard_normal((60, 1))


def several_targets():
    rng = np.random.default_rng(1)
    return rng.standard_normal((60, 90)) + 0.5, rng.standard_normal((60, 3))


def diabetes_kernel():
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)[:110]
    return rbf_kernel(X, gamma=0.1), scale(y)[:110, None]


def digits_kernel():
    X, y = load_digits(return_X_y=True)
    X = X[:120] / 16
    return rbf_kernel(X, gamma=0.1), np.where(y[:120, None] == np.arange(10), 1.0, -1)


def breast_cancer_kernel():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:110]
    return rbf_kernel(X, gamma=0.02), 2.0 * y[:110, None] - 1


def duplicated():
    """Points that come twice: equal rows, and equal columns."""
    X, y = load_diabetes(return_X_y=True)
    again = np.random.default_rng(2).integers(0, 40, 80)
    X, y = scale(X)[again], scale(y)[again]
    return rbf_kernel(X, gamma=0.1), y[:, None]


def collinear():
    """Multiples, sums, a constant, zeros: rank 27 of 60 columns on 50 rows."""
    rng = np.random.default_rng(3)
    base = rng.standard_normal((50, 26))
    sums = base[:, :20] + base[:, 1:21]
    D = np.column_stack(
        [base, -2 * base[:, :10], sums, np.full(50, 3.0), np.zeros((50, 3))]
    )
    return D[:, rng.permutation(D.shape[1])], rng.standard_normal((50, 1))


def badly_scaled():
    D, Y = random_matrix()
    return D * 10.0 ** np.random.default_rng(4).uniform(-6, 6, D.shape[1]), Y


def wildly_scaled():
    """Beyond what float32 holds: guesses may fail, the choice may not."""
    D, Y = random_matrix()
    return D * 10.0 ** np.random.default_rng(4).uniform(-45, 45, D.shape[1]), Y


def near_duplicates():
    """Each atom comes three times, the copies off by 1e-4 of it."""
    rng = np.random.default_rng(12)
    D = np.repeat(rng.standard_normal((60, 30)), 3, axis=1)
    return D + 1e-4 * rng.standard_normal(D.shape), rng.standard_normal((60, 1))


def nearly_constant_columns():
    """A large constant hides what an atom does."""
    D, Y = random_matrix()
    return D + 1e4, Y


DICTIONARIES = [
    random_matrix,
    several_targets,
    diabetes_kernel,
    digits_kernel,
    breast_cancer_kernel,
    duplicated,
    collinear,
    badly_scaled,
    near_duplicates,
]


@cache
def matrices(make):
    D, Y = make()
    D.setflags(write=False)
    Y.setflags(write=False)
    return D, Y


def weights(n_rows):
    """Weights with zeros, whole numbers and fractions among them."""
    rng = np.random.default_rng(5)
    return rng.integers(0, 4, n_rows) * rng.choice([1.0, 0.37], n_rows)
