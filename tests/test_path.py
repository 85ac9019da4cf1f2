"""A path is a value: every size from one triangular solve, none of them changed."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit import SparseKernelCCA, SparseKernelPCA
from pursuit.expansions import Expansion
from pursuit.functions import KernelFunctions
from pursuit.kernels import Gaussian
from pursuit.path import OrthogonalPath, RefittedPath, SeparatePaths, join


def path_on(D, Y, atoms, fit_intercept=True, stop_reason="max_support"):
    """The path of least squares on the columns ``atoms`` of D, by Gram-Schmidt."""
    B = D[:, atoms]
    if fit_intercept:
        B = np.column_stack([np.ones(len(D)), B])
    Q, triangle = np.linalg.qr(B)
    loads = Q.T @ Y
    first = int(fit_intercept)
    errors = [
        ((Y - Q[:, : n + first] @ loads[: n + first]) ** 2).sum() / len(Y)
        for n in range(len(atoms) + 1)
    ]
    return OrthogonalPath(
        atoms=np.array(atoms, dtype=int),
        triangle=triangle,
        loads=loads,
        errors=np.array(errors),
        gains=-np.diff(errors),
        has_intercept=fit_intercept,
        stop_reason=stop_reason,
    )


@pytest.fixture
def data(rng):
    return rng.standard_normal((30, 12)) + 1, rng.standard_normal((30, 2))


@given(st.integers(0, 10**6), st.booleans(), st.integers(0, 6))
def test_law_every_size_is_least_squares_on_its_atoms(seed, fit_intercept, n):
    rng = np.random.default_rng(seed)
    D, Y = rng.standard_normal((30, 12)), rng.standard_normal((30, 2))
    path = path_on(D, Y, [3, 1, 4, 11, 5, 9], fit_intercept)
    support, coef, intercept = path.coefficients(n)
    assert support.tolist() == [3, 1, 4, 11, 5, 9][:n]
    assert coef.shape == (2, n)
    B = np.column_stack([np.full(30, float(fit_intercept)), D[:, support]])
    best = np.linalg.lstsq(B, Y, rcond=None)[0]
    np.testing.assert_allclose(intercept, best[0], atol=1e-10)
    np.testing.assert_allclose(coef.T, best[1:], atol=1e-10)
    R = Y - D[:, support] @ coef.T - intercept
    assert path.errors[n] == pytest.approx((R**2).sum() / 30)


def test_law_a_path_is_shown_in_a_line(data):
    D, Y = data
    for n in (0, 1, 6):
        path = path_on(D, Y, [3, 1, 4, 11, 5, 9][:n], stop_reason="patience")
        refitted = RefittedPath(
            path.atoms, path.errors, path.gains, True, "patience", coefs=()
        )
        for shown in (path, refitted):
            text = repr(shown)
            assert text.startswith(f"{type(shown).__name__}({n} steps, training loss ")
            assert text.endswith("stopped: patience)")
            assert f"-> {path.errors[-1]:.3g}," in text
            assert len(text) < 120


@pytest.mark.parametrize("n_outputs", [1, 10, 26])
def test_law_separate_paths_are_shown_in_a_few_lines(data, n_outputs):
    D, Y = data
    path = path_on(D, Y[:, :1], [3, 1])
    lines = repr(SeparatePaths((path,) * n_outputs)).splitlines()
    assert f"{n_outputs} outputs" in lines[0]
    assert len(lines) <= 12
    assert repr(path) in lines[1]


@pytest.mark.parametrize("n", [1, 5])
def test_paths_of_subspaces_are_shown_in_a_few_lines(data, n):
    D, Y = data
    alone = SparseKernelPCA(n).fit(D).path_
    assert repr(alone).startswith(f"SubspacePath({n} steps, mean residual ")
    assert len(repr(alone)) < 200
    pair = SparseKernelCCA(1, max_support=n).fit(D, Y).path_
    lines = repr(pair).splitlines()
    assert lines[0].startswith(f"PairedPath({n} steps")
    assert lines[1:] == [f"  first {pair.first!r}", f"  second {pair.second!r}"]


@pytest.mark.parametrize("size", range(4))
def test_law_a_truncated_path_says_so(data, size):
    D, Y = data
    path = path_on(D, Y, [3, 1, 4], stop_reason="exhausted")
    part = path.truncate(size)
    assert part.stop_reason == ("exhausted" if size == 3 else "truncated")


def test_atoms_chosen_again_are_summed():
    path = OrthogonalPath(
        atoms=np.array([5, 2, 5, 5]),
        triangle=np.eye(4),
        loads=np.array([[1.0], [10.0], [100.0], [1000.0]]),
        errors=np.zeros(5),
        gains=np.zeros(4),
        has_intercept=False,
        stop_reason="max_support",
    )
    assert path.support.tolist() == [5, 2]
    assert path.positions.tolist() == [0, 1, 0, 0]
    wanted = {0: [], 1: [1.0], 2: [1.0, 10.0], 3: [101.0, 10.0], 4: [1101.0, 10.0]}
    for n, coef in wanted.items():
        assert path.coefficients(n)[1].tolist() == [coef]
    K = np.array([[1.0, 2.0], [0.0, -1.0]])
    stages = list(path.staged_values(K))
    assert len(stages) == 4
    for n, values in enumerate(stages, start=1):
        support, coef, _ = path.coefficients(n)
        np.testing.assert_allclose(values, K[:, : len(support)] @ coef.T)


def test_truncating_keeps_the_first_steps(data):
    D, Y = data
    path = path_on(D, Y, [3, 1, 4, 11])
    for n in range(5):
        short = path.truncate(n)
        assert len(short) == n
        assert len(short.errors) == n + 1
        assert len(short.gains) == n
        for ours, theirs in zip(
            short.coefficients(n), path.coefficients(n), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    assert len(path) == 4


@pytest.mark.parametrize("size", [-1, 5, 100, 1.5, "a"])
def test_a_size_that_is_not_on_the_path(data, size):
    path = path_on(*data, [3, 1, 4, 11])
    for one in (path, SeparatePaths((path,))):
        for ask in (one.coefficients, one.truncate):
            with pytest.raises(ValueError, match=f"size={size!r}.*sizes 0 to 4"):
                ask(size)
            with pytest.raises(ValueError, match=rf"size=\[{size!r}\].*sizes 0 to 4"):
                ask([size])


def test_one_path_is_read_as_separate_ones_are(data):
    D, Y = data
    path = path_on(D, Y[:, :1], [3, 1, 4, 11])
    alone = SeparatePaths((path,))
    assert join([path]) is path
    assert join([path, path]).paths == (path, path)
    assert path.paths == alone.paths == (path,)
    for size in range(5):
        expected = path.coefficients(size)
        for one in (path, alone, path.truncate([size]), alone.truncate([size])):
            for ours, theirs in zip(one.coefficients([size]), expected, strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_a_path_cannot_be_changed(data):
    path = path_on(*data, [3, 1])
    with pytest.raises(FrozenInstanceError):
        path.stop_reason = "other"


def test_coefficients_change_nothing(data):
    path = path_on(*data, [3, 1, 4])
    before = path.triangle.copy(), path.loads.copy()
    for n in (3, 0, 2, 3):
        for array in path.coefficients(n):
            array[...] = 7
    np.testing.assert_array_equal(path.triangle, before[0])
    np.testing.assert_array_equal(path.loads, before[1])
    assert path.atoms.tolist() == [3, 1, 4]


def test_the_empty_path(data):
    D, Y = data
    for fit_intercept in (False, True):
        path = path_on(D, Y, [], fit_intercept, "exhausted")
        support, coef, intercept = path.coefficients(0)
        assert (len(path), len(support), coef.shape) == (0, 0, (2, 0))
        np.testing.assert_allclose(intercept, Y.mean(axis=0) * fit_intercept)
        assert list(path.staged_values(np.zeros((4, 0)))) == []


# -- one path for each output ------------------------------------------------------


@pytest.fixture
def separate(data):
    D, Y = data
    first = path_on(D, Y[:, :1], [3, 1, 4])
    second = path_on(D, Y[:, 1:], [1, 7], stop_reason="exhausted")
    return SeparatePaths((first, second))


def test_separate_paths_are_read_as_one(separate):
    assert len(separate) == 3
    assert separate.support.tolist() == [3, 1, 7, 4]
    assert separate.stop_reason == "max_support"
    first, second = separate.paths
    np.testing.assert_allclose(
        separate.errors, first.errors + second.errors[[0, 1, 2, 2]]
    )


@pytest.mark.parametrize("size", [0, 1, 2, 3, [1, 2], [3, 0], [0, 2]])
def test_separate_coefficients_are_those_of_each_path(separate, data, size):
    D, _ = data
    support, coef, intercept = separate.coefficients(size)
    sizes = [size, size] if isinstance(size, int) else size
    for t, (path, n) in enumerate(zip(separate.paths, sizes, strict=True)):
        own, values, b = path.coefficients(min(n, len(path)))
        np.testing.assert_allclose(D[:, support] @ coef[t], D[:, own] @ values[0])
        assert intercept[t] == pytest.approx(b[0])
        assert set(own) <= set(support)
    used = [p.atoms[:n].tolist() for p, n in zip(separate.paths, sizes, strict=True)]
    assert set(support) == {atom for atoms in used for atom in atoms}


def test_stages_of_separate_paths(separate, data):
    D, _ = data
    K = D[:, separate.support]
    stages = list(separate.staged_values(K))
    assert len(stages) == 3
    for n, values in enumerate(stages, start=1):
        support, coef, intercept = separate.coefficients(n)
        np.testing.assert_allclose(values, D[:, support] @ coef.T + intercept)


def test_equal_paths_compare_as_objects(data):
    """Arrays in a value have no truth: paths are compared by identity."""
    path = path_on(*data, [3, 1])
    assert path == path
    assert path != replace(path)


# -- the function itself -----------------------------------------------------------


def test_an_expansion_is_its_formula(rng):
    X, Z = rng.standard_normal((7, 3)), rng.standard_normal((4, 3))
    coef, intercept = rng.standard_normal((2, 4)), np.array([1.0, -2.0])
    functions = KernelFunctions(Z, np.arange(4), False, Gaussian(0.5))
    f = Expansion(functions, coef, intercept)
    squared = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(f(X), np.exp(-0.5 * squared) @ coef.T + intercept)
    nothing = Expansion(functions[:0], coef[:, :0], intercept)
    np.testing.assert_array_equal(nothing(X), np.tile(intercept, (7, 1)))
