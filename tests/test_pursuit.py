"""Every fast engine against the literal pseudo-code of `reference`, and the laws."""

from dataclasses import FrozenInstanceError, replace
from itertools import combinations

import numpy as np
import pytest
import reference
from given_matrices import (
    DICTIONARIES,
    assert_same_path,
    assert_values_of_every_size,
    atoms_of,
    diabetes_kernel,
    digits_kernel,
    evaluate_rows,
    matrices,
    nearly_constant_columns,
    problem_of,
    random_matrix,
    residue_of,
    weights,
    wildly_scaled,
    without,
)
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import orthogonal_mp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from pursuit import _interrupts
from pursuit.engine.atoms import ComputedAtoms, StoredAtoms
from pursuit.engine.problem import METHODS
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.random_pursuit import RandomPursuit
from pursuit.engine.running import run
from pursuit.fitting.sizes import leave_one_out_errors
from pursuit.functions import Columns, KernelFunctions
from pursuit.kernels import FunctionKernel, Gaussian


def pursuit_of(D, Y, N, *, block=None, dtype=np.float64, speculate=True, **how):
    """A finished pursuit over the columns of D for the columns of Y."""
    atoms = atoms_of(D, block, dtype)
    pursuit = Pursuit(atoms, problem_of(D, Y, N, **how), speculate)
    run([pursuit])
    return pursuit


def path_of(D, Y, N, **how):
    return pursuit_of(D, Y, N, **how).path()


ENGINES = {
    "stored": {},
    "one step a pass": {"speculate": False},
    "blocked": {"block": 7},
    "blocked, one step a pass": {"block": 31, "speculate": False},
}


# -- agreement with the pseudo-code ------------------------------------------------


@pytest.mark.parametrize("is_weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "constant"])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", DICTIONARIES, ids=lambda f: f.__name__)
def test_engines_select_what_the_pseudo_code_selects(
    make, method, alpha, fit_intercept, is_weighted
):
    D, Y = matrices(make)
    how = {"method": method, "alpha": alpha, "fit_intercept": fit_intercept}
    if is_weighted:
        how["weight"] = weights(len(D))
    expected = reference.pursue(D=D, Y=Y, N=10, **how)
    for engine in ENGINES.values():
        assert_same_path(path_of(D, Y, 10, **engine, **how), expected, D, Y)


@pytest.mark.parametrize("alpha", [0.0, 1e-2])
@pytest.mark.parametrize("method", METHODS)
def test_long_paths_agree_too(method, alpha):
    """Long enough for guesses to grow old, to be dropped, and to be wrong."""
    X, y = load_diabetes(return_X_y=True)
    X, Y = scale(X)[:200], scale(y)[:200, None]
    D = rbf_kernel(X, gamma=0.1)
    how = {"method": method, "alpha": alpha, "fit_intercept": True}
    expected = reference.pursue(D=D, Y=Y, N=90, **how)
    for engine in ENGINES.values():
        assert_same_path(path_of(D, Y, 90, **engine, **how), expected, D, Y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", DICTIONARIES, ids=lambda f: f.__name__)
def test_float32_storage_is_exact_on_the_rounded_values(make, method):
    """Stored in float32, summed in float64: nothing else is lost."""
    D, Y = matrices(make)
    D = D.astype(np.float32).astype(np.float64)
    how = {"method": method, "alpha": 1e-3, "fit_intercept": True}
    expected = reference.pursue(D=D, Y=Y, N=10, **how)
    for engine in ENGINES.values():
        path = path_of(D, Y, 10, dtype=np.float32, **engine, **how)
        assert_same_path(path, expected, D, Y)


@pytest.mark.parametrize("method", METHODS)
def test_scales_beyond_single_precision(method):
    D, Y = matrices(wildly_scaled)
    expected, _ = reference.pursue(method, D, Y, 12)
    for engine in ENGINES.values():
        assert path_of(D, Y, 12, method=method, **engine).atoms.tolist() == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_large_constant_in_every_atom_is_taken_out(method):
    """Squared norms are 1e8 times those of the centered atoms: as many digits go."""
    D, Y = matrices(nearly_constant_columns)
    how = {"method": method, "fit_intercept": True}
    expected = reference.pursue(D=D, Y=Y, N=15, **how)
    for engine in ENGINES.values():
        path = path_of(D, Y, 15, **engine, **how)
        assert_same_path(path, expected, D, Y, coefficient=1e-5, residue=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_wide_and_tall_matrices(method):
    rng = np.random.default_rng(6)
    for shape in [(12, 300), (300, 12), (1, 5), (5, 1), (2, 2)]:
        D, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 1))
        N = min(shape) if min(shape) < 12 else 10
        expected = reference.pursue(method, D, Y, N)
        for engine in ENGINES.values():
            assert_same_path(path_of(D, Y, N, method=method, **engine), expected, D, Y)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_back_fitting_is_orthogonal_matching_pursuit(fit_intercept):
    D, Y = matrices(random_matrix)
    normalized = D - D.mean(axis=0) * fit_intercept
    normalized = normalized / np.linalg.norm(normalized, axis=0)
    y = Y[:, 0] - Y.mean() * fit_intercept
    path = path_of(
        normalized, y[:, None], 25, method="back-fitting", fit_intercept=fit_intercept
    )
    for n in (1, 2, 10, 25):
        theirs = orthogonal_mp(normalized, y, n_nonzero_coefs=n)
        support, coef, _ = path.coefficients(n)
        ours = np.zeros(D.shape[1])
        ours[support] = coef[0]
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_only_candidates_are_chosen():
    D, Y = matrices(random_matrix)
    candidates = np.arange(D.shape[1]) % 3 == 0
    for method in METHODS:
        chosen, _ = reference.pursue(method, D[:, candidates], Y, 12)
        for engine in ENGINES.values():
            path = path_of(D, Y, 12, method=method, candidates=candidates, **engine)
            assert path.atoms.tolist() == np.flatnonzero(candidates)[chosen].tolist()


def test_basic_chooses_again_and_sums_coefficients():
    """Two correlated atoms: the plain pursuit goes back and forth between them."""
    D = np.array([[1.0, 0.8], [0.0, 0.6], [0.0, 0.0]])
    Y = np.array([[1.0], [2.0], [0.5]])
    path = path_of(D, Y, 90, method="basic")
    assert len(path) == 90 or path.stop_reason == "exact"
    assert path.support.tolist() == [1, 0]
    _, coef, _ = path.coefficients(len(path))
    best = np.linalg.lstsq(D[:, path.support], Y, rcond=None)[0]
    np.testing.assert_allclose(coef.T, best, rtol=1e-6)


# -- passes ------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_speculation_saves_passes(method):
    X, y = load_diabetes(return_X_y=True)
    D, Y = rbf_kernel(scale(X)[:300], gamma=0.05), scale(y)[:300, None]
    passes = []
    for speculate in (False, True):
        atoms = atoms_of(D)
        problem = problem_of(D, Y, 60, method=method, alpha=1e-3, fit_intercept=True)
        run([Pursuit(atoms, problem, speculate)])
        passes.append(atoms.n_passes)
    assert passes[0] >= (60 if method != "basic" else 20)
    assert passes[1] <= passes[0] * 2 / 3


def test_bound_kernels_stored_or_in_blocks_are_the_same():
    X = np.random.default_rng(7).standard_normal((80, 3))
    Y = np.sin(X[:, :1] * 2)
    kernels = [
        Gaussian(0.3),
        FunctionKernel(lambda A, B: np.tanh(A @ np.triu(np.ones((3, 3))) @ B.T)),
    ]
    for kernel in kernels:
        for centers in (np.arange(80), np.arange(0, 80, 3)):
            D = kernel(X, X[centers])
            paths = []
            for memory in (1 << 30, 1):
                atoms = KernelFunctions(X[centers], centers, True, kernel).on(X, memory)
                assert isinstance(atoms, StoredAtoms) == (memory > 1)
                pursuit = Pursuit(atoms, problem_of(D, Y, 15, alpha=1e-6))
                run([pursuit])
                paths.append(pursuit.path())
            expected = reference.pursue("pre-fitting", D, Y, 15, alpha=1e-6)
            for path in paths:
                assert_same_path(path, expected, D, Y, 1e-4)


def test_precomputed_atoms_are_columns():
    D, Y = matrices(random_matrix)
    centers = np.arange(0, 90, 2)
    atoms = Columns(centers, 90, True).on(D, 1 << 30)
    pursuit = Pursuit(atoms, problem_of(D[:, centers], Y, 10))
    run([pursuit])
    chosen, _ = reference.pursue("pre-fitting", D[:, centers], Y, 10)
    assert pursuit.path().atoms.tolist() == chosen


def many_problems(D, Y):
    """Folds, ridges, methods, targets, weights: all over one dictionary."""
    rows = np.arange(len(D))
    base = problem_of(D, Y[:, :1], 18, fit_intercept=True)
    problems = [without(base, rows % 4 == f, weighting=1 + f) for f in range(4)]
    problems += [replace(base, method=m, alpha=a) for m in METHODS for a in (0.0, 0.1)]
    problems += [
        replace(base, Y=np.ascontiguousarray(Y.T), max_steps=7),
        replace(base, weight=weights(len(D)), weighting=5, fit_intercept=False),
    ]
    return problems


@pytest.mark.parametrize("engine", ENGINES)
def test_pursuits_that_share_passes_are_as_alone(engine):
    how = dict(ENGINES[engine])
    speculate = how.pop("speculate", True)
    D, Y = matrices(digits_kernel)
    problems = many_problems(D, Y)
    atoms = atoms_of(D, **how)
    together = [Pursuit(atoms, problem, speculate) for problem in problems]
    run(together)
    n_shared = atoms.n_passes
    for p, problem in zip(together, problems, strict=True):
        alone = Pursuit(atoms, problem, speculate)
        run([alone])
        assert p.stop_reason == alone.stop_reason
        assert p.path().atoms.tolist() == alone.path().atoms.tolist()
        for name in ("errors", "gains", "loads", "triangle"):
            np.testing.assert_allclose(
                getattr(p.path(), name), getattr(alone.path(), name), atol=1e-9
            )
        np.testing.assert_allclose(p.errors, alone.errors, atol=1e-9)
    assert n_shared < atoms.n_passes / 4


def test_weights_of_one_key_are_equal():
    D, Y = matrices(digits_kernel)
    atoms, base = atoms_of(D), problem_of(D, Y, 5)
    other = replace(base, weight=weights(len(D)))
    with pytest.raises(ValueError, match="Two weights have the key 0"):
        run([Pursuit(atoms, base), Pursuit(atoms, other)])
    other = replace(other, weighting=1)
    run([Pursuit(atoms, base), Pursuit(atoms, other)])


def test_a_finished_pursuit_is_left_alone():
    D, Y = matrices(random_matrix)
    atoms = atoms_of(D)
    pursuit = Pursuit(atoms, problem_of(D, Y, 5))
    run([pursuit])
    before, n_passes = pursuit.path(), atoms.n_passes
    run([pursuit])
    run([])
    assert pursuit.path().atoms.tolist() == before.atoms.tolist()
    assert atoms.n_passes == n_passes


# -- laws --------------------------------------------------------------------------


@st.composite
def problems(draw, methods=METHODS, alphas=(0.0, 1e-3, 1.0), max_targets=3):
    """A small dictionary with doubles and sums of atoms in it, and how to fit it."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_rows = draw(st.integers(5, 40))
    n_atoms = draw(st.integers(2, 50))
    D = rng.standard_normal((n_rows, n_atoms)) + draw(st.sampled_from([0.0, 2.0]))
    if draw(st.booleans()):
        again = rng.integers(0, n_atoms, n_atoms // 2)
        D = np.column_stack([D, 3 * D[:, again], D[:, again] + D[:, again[::-1]]])
    D *= 10.0 ** rng.uniform(-1, 1, D.shape[1]) ** draw(st.sampled_from([0, 1]))
    Y = rng.standard_normal((n_rows, draw(st.integers(1, max_targets))))
    weight = np.ones(n_rows)
    if draw(st.booleans()):
        weight = rng.integers(0, 3, n_rows) + 0.0
        weight[:3] = 1.0
    how = {
        "method": draw(st.sampled_from(methods)),
        "alpha": draw(st.sampled_from(alphas)),
        "fit_intercept": draw(st.booleans()),
        "weight": weight,
    }
    return D, Y, how


def squared_error(R, weight):
    return float(weight @ (R**2).sum(axis=1))


def objective(path, n, D, Y, how):
    _, coef, _ = path.coefficients(n)
    error = squared_error(residue_of(path, n, D, Y), how["weight"])
    return error + how["alpha"] * (coef**2).sum()


def assert_same_function(path, other, method):
    """Equal errors at every step, and equal atoms.

    Not the atoms of the basic method: as correlations fall to nothing, collinear
    atoms that are the same choice differ in what rounding left of them.
    """
    np.testing.assert_allclose(path.errors, other.errors, rtol=0, atol=1e-9)
    if method != "basic":
        assert path.atoms.tolist() == other.atoms.tolist()


@given(problems())
def test_law_the_objective_never_rises(problem):
    D, Y, how = problem
    path = path_of(D, Y, 15, **how)
    values = [objective(path, n, D, Y, how) for n in range(len(path) + 1)]
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    if how["method"] != "back-fitting":
        np.testing.assert_allclose(-np.diff(values), path.gains, atol=1e-7 * values[0])


@given(problems(methods=METHODS[:2]))
def test_law_the_residue_is_orthogonal_to_the_chosen_atoms(problem):
    """With a ridge: <D_k, R> = alpha coef_k; and the constant is always orthogonal."""
    D, Y, how = problem
    path = path_of(D, Y, 15, **how)
    for n in range(1, len(path) + 1):
        support, coef, _ = path.coefficients(n)
        R = residue_of(path, n, D, Y) * how["weight"][:, None]
        chosen = D[:, support]
        scale = np.linalg.norm(chosen, axis=0)[:, None] * np.linalg.norm(Y)
        gap = chosen.T @ R - how["alpha"] * coef.T
        assert np.all(np.abs(gap) <= 1e-7 * scale)
        if how["fit_intercept"]:
            np.testing.assert_allclose(R.sum(axis=0), 0, atol=1e-7 * scale.max())


@given(problems())
def test_law_the_path_reproduces_every_step(problem):
    D, Y, how = problem
    pursuit = pursuit_of(D, Y, 15, **how)
    path = pursuit.path()
    errors = [
        squared_error(residue_of(path, n, D, Y), how["weight"])
        for n in range(len(path) + 1)
    ]
    mean = np.array(errors) / how["weight"].sum()
    np.testing.assert_allclose(path.errors, mean, atol=1e-9 * max(1, mean[0]))
    last = residue_of(path, len(path), D, Y)
    np.testing.assert_allclose(pursuit.R[:, : len(D)].T, last, atol=1e-7)


@given(problems(), st.integers(1, 10))
def test_law_stopping_later_changes_nothing_before(problem, n):
    D, Y, how = problem
    short, long = path_of(D, Y, n, **how), path_of(D, Y, 20, **how)
    assert short.atoms.tolist() == long.atoms[:n].tolist()
    for k in range(len(short) + 1):
        for ours, theirs in zip(
            short.coefficients(k), long.coefficients(k), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


@given(problems(), st.randoms(use_true_random=False))
def test_law_the_order_of_rows_does_not_matter(problem, random):
    D, Y, how = problem
    order = np.array(random.sample(range(len(D)), len(D)))
    path = path_of(D, Y, 10, **how)
    how = {**how, "weight": how["weight"][order]}
    other = path_of(D[order], Y[order], 10, **how)
    assert_same_function(path, other, how["method"])


@given(problems(), st.randoms(use_true_random=False))
def test_law_the_order_of_atoms_matters_only_in_ties(problem, random):
    D, Y, how = problem
    order = np.array(random.sample(range(D.shape[1]), D.shape[1]))
    path, other = path_of(D, Y, 10, **how), path_of(D[:, order], Y, 10, **how)
    np.testing.assert_allclose(path.errors, other.errors, atol=1e-8)


@given(problems())
def test_law_a_weight_of_two_is_the_row_twice(problem):
    D, Y, how = problem
    times = how["weight"].astype(int)
    weighted = path_of(D, Y, 10, **how)
    how = {**how, "weight": np.ones(times.sum())}
    repeated = path_of(np.repeat(D, times, 0), np.repeat(Y, times, 0), 10, **how)
    assert_same_function(weighted, repeated, how["method"])
    n = len(weighted)
    ours, theirs = residue_of(weighted, n, D, Y), residue_of(repeated, n, D, Y)
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


@given(problems(alphas=(0.0,)))
def test_law_equal_and_collinear_atoms_do_no_harm(problem):
    """Without a ridge, more of the same gives the same function at every step."""
    D, Y, how = problem
    more = np.column_stack([D, D, -5 * D])
    path, other = path_of(D, Y, 10, **how), path_of(more, Y, 10, **how)
    assert_same_function(path, other, how["method"])


@given(problems())
def test_law_held_out_rows_are_predicted_along(problem):
    D, Y, how = problem
    held_out = np.where(how["weight"] == 0, 1.5, 0.0)
    pursuit = pursuit_of(D, Y, 10, held_out=held_out, **how)
    for n in range(pursuit.n_steps + 1):
        R = residue_of(pursuit.path(), n, D, Y)
        expected = squared_error(R, held_out)
        assert pursuit.errors[n, 1] == pytest.approx(expected, rel=1e-7, abs=1e-9)


@given(problems(), st.booleans())
def test_law_held_out_values_are_those_of_every_size(problem, is_random):
    D, Y, how = problem
    how["held_out"] = np.where(how["weight"] == 0, 1.5, 0.0)
    atoms, fit = atoms_of(D), problem_of(D, Y, 10, **how)
    if is_random:
        pursuit = RandomPursuit(atoms, fit, 5, np.random.default_rng(0))
    else:
        pursuit = Pursuit(atoms, fit)
    assert_values_of_every_size(pursuit, D)


@given(problems())
def test_law_rows_of_weight_zero_are_not_fitted(problem):
    D, Y, how = problem
    used = how["weight"] > 0
    path = path_of(D, Y, 10, **how)
    how = {**how, "weight": how["weight"][used]}
    other = path_of(D[used], Y[used], 10, **how)
    assert_same_function(path, other, how["method"])


@given(problems(methods=METHODS[:1]))
def test_law_the_second_atom_of_pre_fitting_is_the_best_of_all_pairs(problem):
    D, Y, how = problem
    path = path_of(D, Y, 2, **how)
    if len(path) < 2:
        return
    w, alpha, b = how["weight"], how["alpha"], how["fit_intercept"]

    def value(atoms):
        coef, intercept = reference.ridge(D[:, atoms], Y, w, alpha, b)
        R = Y - D[:, atoms] @ coef - intercept
        return squared_error(R, w) + alpha * (coef**2).sum()

    singles = [value([k]) for k in range(D.shape[1])]
    assert singles[path.atoms[0]] <= min(singles) * (1 + 1e-8) + 1e-12
    pairs = [
        value([i, j])
        for i, j in combinations(range(D.shape[1]), 2)
        if path.atoms[0] in (i, j)
    ]
    assert value(path.atoms.tolist()) <= min(pairs) * (1 + 1e-8) + 1e-12


@given(problems(methods=METHODS[:2]))
def test_law_press_is_leave_one_out(problem):
    D, Y, how = problem
    n = min(4, max(1, int((how["weight"] > 0).sum()) - 3))
    pursuit = pursuit_of(D, Y, n, **how)
    errors = leave_one_out_errors(pursuit, how["weight"])
    assert len(errors) == pursuit.n_steps + 1
    rest = how["weight"], how["alpha"], how["fit_intercept"]
    for k in range(pursuit.n_steps + 1):
        expected = reference.leave_one_out(D[:, pursuit.chosen[:k]], Y, *rest)
        assert errors[k] == pytest.approx(expected, rel=1e-5)


# -- the end -----------------------------------------------------------------------


def test_low_rank_is_exhausted_and_says_so():
    rng = np.random.default_rng(8)
    D = rng.standard_normal((40, 10)) @ rng.standard_normal((10, 60))
    Y = rng.standard_normal((40, 1))
    for method in METHODS[:2]:
        for engine in ENGINES.values():
            path = path_of(D, Y, 30, method=method, **engine)
            assert (len(path), path.stop_reason) == (10, "exhausted")
            best = np.linalg.lstsq(D, Y, rcond=None)[0]
            gap = residue_of(path, 10, D, Y) - (Y - D @ best)
            np.testing.assert_allclose(gap, 0, atol=1e-9)


def test_targets_in_the_span_are_exact():
    rng = np.random.default_rng(9)
    D = rng.standard_normal((40, 30))
    Y = D[:, 3:5].sum(axis=1, keepdims=True)
    for engine in ENGINES.values():
        path = path_of(D, Y, 25, **engine)
        assert path.stop_reason == "exact"
        assert len(path) < 25
        np.testing.assert_allclose(residue_of(path, len(path), D, Y), 0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_do(method):
    """Zero targets, a constant target, zero atoms: an empty path with a reason."""
    D, Y = matrices(random_matrix)
    cases = [
        (D, 0 * Y, False, "exact"),
        (D, 0 * Y + 3.7, True, "exact"),
        (0 * D, Y, False, "exhausted"),
        (0 * D + 2.5, Y, True, "exhausted"),
    ]
    for engine in ENGINES.values():
        for dictionary, target, fit_intercept, reason in cases:
            how = {"method": method, "fit_intercept": fit_intercept, **engine}
            path = path_of(dictionary, target, 5, **how)
            assert (len(path), path.stop_reason) == (0, reason)
            _, _, intercept = path.coefficients(0)
            expected = target.mean() if fit_intercept else 0.0
            np.testing.assert_allclose(intercept, expected, rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_no_steps(fit_intercept):
    D, Y = matrices(random_matrix)
    path = path_of(D, Y, 0, fit_intercept=fit_intercept)
    assert (len(path), path.stop_reason) == (0, "max_support")


def test_no_candidates():
    D, Y = matrices(random_matrix)
    path = path_of(D, Y, 5, candidates=np.zeros(D.shape[1], bool))
    assert (len(path), path.stop_reason) == (0, "exhausted")


def test_max_support_is_the_reason_when_all_steps_are_taken():
    D, Y = matrices(random_matrix)
    assert path_of(D, Y, 5).stop_reason == "max_support"


def smooth():
    """On [0, 10] these 300 atoms have a numerical rank of some thirty."""
    X = np.linspace(0, 10, 300)[:, None]
    return rbf_kernel(X, gamma=1.0), np.sin(3 * X) + np.sign(X - 5)


def smoother():
    """On [0, 2] they have one of some ten."""
    rng = np.random.default_rng(11)
    X = np.linspace(0, 2, 300)[:, None]
    Y = np.sin(3 * X) + 0.1 * rng.standard_normal((300, 1))
    return rbf_kernel(X, gamma=1.0), Y


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize("make, least", [(smooth, 25), (smoother, 7)])
def test_a_smooth_kernel_goes_on_while_any_atom_adds_something(
    make, least, method, engine
):
    """Without a ridge, as far as tol allows, and it says so; with one, all the way."""
    D, Y = matrices(make)
    how = {"method": method, **ENGINES[engine]}
    path = path_of(D, Y, 40, **how)
    assert path.stop_reason == "exhausted"
    assert least <= len(path) < 40
    left = reference.outside(D, path.atoms.tolist(), 1e-10)
    assert not left.any()
    full = path_of(D, Y, 40, alpha=1e-6, **how)
    assert (len(full), full.stop_reason) == (40, "max_support")
    assert np.abs(full.coefficients(40)[1]).max() < 100
    assert full.errors[-1] < 2 * path.errors[-1]


def test_orthogonal_mp_ends_on_a_smooth_kernel_where_we_do():
    """By the same atoms, at the same error; it warns, we have a reason."""
    D, Y = matrices(smoother)
    D = D / np.linalg.norm(D, axis=0)
    path = path_of(D, Y, 40, method="back-fitting")
    with pytest.warns(RuntimeWarning, match="linear dependence"):
        theirs = orthogonal_mp(D, Y[:, 0], n_nonzero_coefs=40)
    # The last atoms before the end are a matter of rounding.
    assert set(path.atoms[:-1]) <= set(np.flatnonzero(theirs))
    assert np.count_nonzero(theirs) <= len(path) + 2
    assert path.stop_reason == "exhausted"
    error = np.mean((Y[:, 0] - D @ theirs) ** 2)
    assert path.errors[-1] == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("alpha", [0.0, 1e-6])
@pytest.mark.parametrize("method", METHODS)
def test_a_smooth_kernel_selects_what_the_pseudo_code_selects(method, alpha):
    """Coefficients are worth little here; the functions are compared."""
    D, Y = matrices(smooth)
    how = {"method": method, "alpha": alpha, "tol": 1e-8}
    chosen, models = reference.pursue(
        method, D, Y, 40, alpha=alpha, **({} if method == "basic" else {"tol": 1e-8})
    )
    for engine in ENGINES.values():
        path = path_of(D, Y, 40, **how, **engine)
        assert path.atoms.tolist() == chosen
        for n, model in enumerate(models, start=1):
            gap = residue_of(path, n, D, Y) - model.residue
            assert np.linalg.norm(gap) <= 1e-6 * np.linalg.norm(Y)


# -- interrupts --------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_leaves_a_usable_path(method):
    D, Y = matrices(diabetes_kernel)
    whole = path_of(D, Y, 40, method=method, fit_intercept=True)
    atoms = atoms_of(D)
    pursuit = Pursuit(atoms, problem_of(D, Y, 40, method=method, fit_intercept=True))
    rounds = []

    def watch(pursuits):
        rounds.append(pursuits[0].n_steps)
        if len(rounds) == 3:
            raise KeyboardInterrupt

    run([pursuit], watch)
    path = pursuit.path()
    n = len(path)
    assert 0 < n < 40
    assert path.stop_reason == "interrupted"
    assert path.atoms.tolist() == whole.atoms[:n].tolist()
    ours, theirs = residue_of(path, n, D, Y), residue_of(whole, n, D, Y)
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_an_interrupt_inside_a_pass_leaves_a_usable_path():
    D, Y = matrices(diabetes_kernel)
    calls = []

    def note(index):
        calls.append(index)
        if len(calls) == 60:
            raise KeyboardInterrupt

    atoms = ComputedAtoms(D.shape[1], len(D), evaluate_rows(D.T, note), 10)
    pursuit = Pursuit(atoms, problem_of(D, Y, 40))
    run([pursuit])
    path = pursuit.path()
    assert path.stop_reason == "interrupted"
    assert 0 < len(path) < 40
    assert path.atoms.tolist() == path_of(D, Y, 40).atoms[: len(path)].tolist()


def test_two_interrupts_in_a_row_pass_through(monkeypatch):
    """The second is for what is around: a grid search would else go on."""
    D, Y = matrices(diabetes_kernel)

    def interrupted_at(second):
        monkeypatch.setattr(_interrupts.time, "monotonic", lambda: second)
        atoms = atoms_of(D)
        pursuit = Pursuit(atoms, problem_of(D, Y, 40))
        run([pursuit], interrupt)
        return pursuit.stop_reason

    def interrupt(pursuits):
        raise KeyboardInterrupt

    assert interrupted_at(100.0) == "interrupted"
    assert interrupted_at(110.0) == "interrupted"
    with pytest.raises(KeyboardInterrupt):
        interrupted_at(111.0)


def test_other_errors_pass_through():
    D, Y = matrices(random_matrix)

    def note(index):
        raise ZeroDivisionError

    atoms = ComputedAtoms(D.shape[1], len(D), evaluate_rows(D.T, note), 10)
    with pytest.raises(ZeroDivisionError):
        run([Pursuit(atoms, problem_of(D, Y, 5))])


def test_watch_may_stop_a_pursuit():
    D, Y = matrices(diabetes_kernel)
    atoms = atoms_of(D)
    pursuit = Pursuit(atoms, problem_of(D, Y, 40))

    def watch(pursuits):
        if pursuits[0].n_steps >= 5:
            pursuits[0].stop_reason = "enough"

    run([pursuit], watch)
    path = pursuit.path()
    assert path.stop_reason == "enough"
    assert 5 <= len(path) < 40


def test_steps_can_be_taken_back():
    D, Y = matrices(diabetes_kernel)
    whole = pursuit_of(D, Y, 12)
    whole.take_back(5, "callback")
    short = path_of(D, Y, 5)
    assert whole.path().atoms.tolist() == short.atoms.tolist()
    np.testing.assert_allclose(whole.path().errors, short.errors)


def test_a_path_is_what_a_pursuit_has_done_so_far():
    D, Y = matrices(diabetes_kernel)
    atoms = atoms_of(D)
    pursuit = Pursuit(atoms, problem_of(D, Y, 12, held_out=np.ones(len(D))))
    paths = []
    run([pursuit], lambda _: paths.append(pursuit.path()))
    *parts, whole = paths
    assert (len(whole), whole.stop_reason) == (12, "max_support")
    np.testing.assert_array_equal(whole.atoms, pursuit.chosen)
    np.testing.assert_array_equal(whole.gains, pursuit.gains)
    assert len(parts[0]) < 12
    for part in parts:
        n = len(part)
        assert part.stop_reason == "unfinished"
        np.testing.assert_array_equal(part.atoms, whole.atoms[:n])
        np.testing.assert_array_equal(part.gains, whole.gains[:n])
        np.testing.assert_array_equal(part.errors, whole.errors[: n + 1])
    pursuit.chosen[0] = -7
    assert whole.atoms[0] >= 0
    with pytest.raises(FrozenInstanceError):
        whole.stop_reason = "another"


# -- random candidates (the 59-trick) ----------------------------------------------


def random_path(D, Y, N, n_candidates, seed=0, **how):
    atoms = atoms_of(D)
    rng = np.random.default_rng(seed)
    pursuit = RandomPursuit(atoms, problem_of(D, Y, N, **how), n_candidates, rng)
    run([pursuit])
    return pursuit.path()


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", DICTIONARIES[1::2], ids=lambda f: f.__name__)
def test_all_candidates_drawn_is_the_greedy_choice(make, method, fit_intercept, alpha):
    D, Y = matrices(make)
    how = {"method": method, "fit_intercept": fit_intercept, "alpha": alpha}
    how["weight"] = weights(len(D))
    expected = reference.pursue(D=D, Y=Y, N=12, **how)
    path = random_path(D, Y, 12, D.shape[1], **how)
    assert_same_path(path, expected, D, Y)


@pytest.mark.parametrize("method", METHODS)
def test_all_candidates_drawn_have_the_gains_of_the_greedy_choice(method):
    D, Y = matrices(diabetes_kernel)
    drawn = random_path(D, Y, 12, D.shape[1], method=method)
    greedy = path_of(D, Y, 12, method=method)
    np.testing.assert_allclose(drawn.gains, greedy.gains, rtol=1e-6)


def test_random_candidates_follow_the_seed():
    D, Y = matrices(diabetes_kernel)
    first, again = random_path(D, Y, 20, 10), random_path(D, Y, 20, 10)
    other = random_path(D, Y, 20, 10, seed=1)
    assert first.atoms.tolist() == again.atoms.tolist()
    assert first.atoms.tolist() != other.atoms.tolist()
    assert len(np.unique(first.atoms)) == 20


@given(problems())
def test_law_random_candidates_never_raise_the_objective(problem):
    D, Y, how = problem
    path = random_path(D, Y, 10, 5, **how)
    values = [objective(path, n, D, Y, how) for n in range(len(path) + 1)]
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    for k in range(len(path) + 1):
        error = squared_error(residue_of(path, k, D, Y), how["weight"])
        mean = error / how["weight"].sum()
        assert path.errors[k] == pytest.approx(mean, rel=1e-7, abs=1e-9)


def test_random_candidates_end_with_a_reason():
    rng = np.random.default_rng(8)
    D = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 60))
    path = random_path(D, rng.standard_normal((40, 1)), 30, 7)
    assert (len(path), path.stop_reason) == (6, "exhausted")


@pytest.mark.parametrize("method", METHODS)
def test_random_candidates_far_from_zero_are_those_of_centered_functions(method):
    """Squared norms of unit variation around 1e8 drown in rounding by subtraction."""
    rng = np.random.default_rng(8)
    D = np.round(rng.standard_normal((60, 25)) * 2**20) / 2**20
    Y = D[:, :1] + rng.standard_normal((60, 1))
    how = {"method": method, "fit_intercept": True}
    near, far = (random_path(D + shift, Y, 8, 10, **how) for shift in (0.0, 2.0**26))
    assert near.atoms.tolist() == far.atoms.tolist()
    np.testing.assert_allclose(far.errors, near.errors, rtol=1e-6)


def test_random_candidates_make_no_pass():
    D, Y = matrices(diabetes_kernel)
    evaluated = []

    def note(index):
        evaluated.append(len(D.T[index]))

    atoms = ComputedAtoms(*D.T.shape, evaluate_rows(D.T, note), D.shape[1])
    pursuit = RandomPursuit(atoms, problem_of(D, Y, 9), 8, np.random.default_rng(0))
    run([pursuit])
    assert pursuit.n_steps == 9
    assert atoms.n_passes == 0
    assert sum(evaluated) <= 9 * 8


# -- atoms -------------------------------------------------------------------------


def test_only_stored_atoms_have_a_matrix():
    D, _ = matrices(diabetes_kernel)
    np.testing.assert_array_equal(atoms_of(D).stored, D.T)
    assert atoms_of(D, block=7).stored is None


@pytest.mark.parametrize("block", [None, 7])
def test_deviations_of_atoms_far_from_zero(block, rng):
    D = np.round(rng.standard_normal((50, 90)) * 2**20) / 2**20
    weight, index = weights(50), rng.permutation(90)[:70]
    around = D - weight @ D / weight.sum()
    found = atoms_of(D + 2.0**26, block).deviations(index, weight)
    np.testing.assert_allclose(found, weight @ around[:, index] ** 2, rtol=1e-12)


# -- folds -------------------------------------------------------------------------


def test_folds_of_one_dictionary_are_pursuits_of_their_own_rows():
    """A fold's path is the path on the other rows, atoms of the fold excluded."""
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:90], scale(y)[:90]
    D, Y = rbf_kernel(X, gamma=0.1), y[:, None]
    fold_of_row = np.random.default_rng(0).permutation(90) % 3
    folds = [fold_of_row == f for f in range(3)]
    base = problem_of(D, Y, 15, fit_intercept=True, alpha=1e-2)
    atoms = atoms_of(D)
    pursuits = [Pursuit(atoms, without(base, f, key)) for key, f in enumerate(folds)]
    run(pursuits)
    for fold, pursuit in zip(folds, pursuits, strict=True):
        rest = np.flatnonzero(~fold)
        inner = D[np.ix_(rest, rest)]
        path = path_of(inner, Y[rest], 15, fit_intercept=True, alpha=1e-2)
        assert pursuit.path().atoms.tolist() == rest[path.atoms].tolist()
        for n in (0, 1, 15):
            support, coef, b = path.coefficients(n)
            gap = Y[fold] - D[np.ix_(fold, rest[support])] @ coef.T - b
            assert pursuit.errors[n, 1] == pytest.approx(float((gap**2).sum()))
