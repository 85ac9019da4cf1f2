"""The pursuit by inner products: the same choices, wherever it is used."""

from dataclasses import replace

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
    matrices,
    problem_of,
    random_matrix,
    weights,
    without,
)
from naming import named
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale

from pursuit import KMPClassifier, KMPRegressor, _interrupts
from pursuit.engine.gram import OwnGrams, SharedGram
from pursuit.engine.gram_pursuit import LEAST_RIDGE, GramPursuit
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run
from pursuit.fitting import engines
from pursuit.methods import Redrawn
from pursuit.selection import CrossValidation

METHODS = ("pre-fitting", "back-fitting")
KINDS = (SharedGram, OwnGrams)

# For the weights alone, or beside larger ones.
GRAMS = {
    "alone": lambda A, w: SharedGram(A, {0: w}),
    "among": lambda A, w: SharedGram(A, {1: np.full_like(w, 9.0), 0: w}),
    "own": lambda A, w: OwnGrams(A, {1: np.full_like(w, 9.0), 0: w}),
}


def gram_pursuit(D, Y, N, gram="alone", dtype=np.float64, **how):
    atoms, problem = atoms_of(D, dtype=dtype), problem_of(D, Y, N, **how)
    gram = GRAMS[gram](atoms.A, problem.weight)
    pursuit = GramPursuit(atoms, problem, gram)
    run([pursuit])
    return pursuit


# -- inner products ----------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=named)
@pytest.mark.parametrize("is_even", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=named)
def test_inner_products_under_every_weighting(rng, dtype, is_even, kind):
    A = rng.standard_normal((70, 1100)).astype(dtype)
    some = [rng.integers(0, 3, 1100).astype(float) for _ in range(3)]
    some.append(np.full(1100, 2.0) if is_even else np.maximum.reduce(some))
    assert_products(kind, A, some)


@pytest.mark.parametrize("kind", KINDS, ids=named)
@pytest.mark.parametrize("n_folds", [2, 5])
def test_inner_products_without_each_of_some_folds(rng, n_folds, kind):
    A, fold_of_row = rng.standard_normal((30, 200)), rng.integers(0, 5, 200)
    w = rng.uniform(0.5, 2, 200)
    assert_products(kind, A, [w * (fold_of_row != f) for f in range(n_folds)])


def assert_products(kind, A, some):
    gram, wide = kind(A, dict(enumerate(some))), A.astype(np.float64)
    for key, w in enumerate(some):
        G, D = gram.under(key)
        assert G.dtype == D.dtype == np.float64
        np.testing.assert_array_equal(G, G.T)
        np.testing.assert_allclose(G - D.T @ D, (wide * w) @ wide.T, atol=1e-10)
    keys = range(len(some))
    arrays = {id(x): x for key in keys for x in gram.under(key)}.values()
    assert sum(x.nbytes for x in arrays) <= kind.n_bytes(len(A), some)


def test_no_more_vectors_are_taken_out_than_there_are_atoms(rng):
    A = rng.standard_normal((20, 300))
    some = [np.ones(300), rng.uniform(0, 1, 300)]
    G, D = SharedGram(A, dict(enumerate(some))).under(1)
    assert D.shape == (20, 20)
    np.testing.assert_allclose(G - D.T @ D, (A * some[1]) @ A.T, atol=1e-10)
    assert SharedGram.n_bytes(20, some) == G.nbytes + D.nbytes


# -- agreement with the pseudo-code ------------------------------------------------


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("is_weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "constant"])
@pytest.mark.parametrize("share", [1e-6, 1e-3])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", DICTIONARIES, ids=lambda f: f.__name__)
def test_it_selects_what_the_pseudo_code_selects(
    make, method, share, fit_intercept, is_weighted, gram
):
    D, Y = matrices(make)
    alpha = share * (D**2).sum(axis=0).max()
    how = {"method": method, "alpha": alpha, "fit_intercept": fit_intercept}
    if is_weighted:
        how["weight"] = weights(len(D))
    expected = reference.pursue(D=D, Y=Y, N=10, **how)
    path = gram_pursuit(D, Y, 10, gram, **how).path()
    assert_same_path(path, expected, D, Y)


@pytest.mark.parametrize("method", METHODS)
def test_long_paths_agree_at_the_least_ridge(method):
    X, y = load_diabetes(return_X_y=True)
    X, Y = scale(X)[:200], scale(y)[:200, None]
    D = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    alpha = LEAST_RIDGE * (D**2).sum(axis=0).max()
    how = {"method": method, "alpha": alpha, "fit_intercept": True}
    expected = reference.pursue(D=D, Y=Y, N=90, **how)
    path = gram_pursuit(D, Y, 90, **how).path()
    assert_same_path(path, expected, D, Y, coefficient=1e-4)


@pytest.mark.parametrize("make", DICTIONARIES, ids=lambda f: f.__name__)
def test_float32_storage_is_exact_on_the_rounded_values(make):
    D, Y = matrices(make)
    D = D.astype(np.float32).astype(np.float64)
    how = {"alpha": 1e-6 * (D**2).sum(axis=0).max(), "fit_intercept": True}
    expected = reference.pursue("pre-fitting", D, Y, 10, **how)
    path = gram_pursuit(D, Y, 10, dtype=np.float32, **how).path()
    assert_same_path(path, expected, D, Y)


# -- agreement with the other engine -----------------------------------------------


def folds(D, Y, **how):
    """Folds as problems; the last one holds out copies, too, and leaves rows out."""
    rows = np.arange(len(D))
    base = problem_of(D, Y, 25, **{"fit_intercept": True, "alpha": 1e-2, **how})
    base = replace(base, weight=1.0 + rows % 3)
    held = [(rows % 4 == f).astype(float) for f in range(4)]
    held.append(np.where(rows % 7 == 0, -1.0, np.where(rows % 2, 0.5, 0.0)))
    return [without(base, fold, key) for key, fold in enumerate(held)]


@pytest.mark.parametrize("kind", KINDS, ids=named)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "make", [diabetes_kernel, digits_kernel], ids=lambda f: f.__name__
)
def test_folds_have_the_path_and_the_held_out_errors_of_the_other_engine(
    make, method, kind
):
    D, Y = matrices(make)
    problems = folds(D, Y, method=method)
    problems += [replace(p, fit_intercept=False, alpha=0.5) for p in problems[:2]]
    atoms = atoms_of(D)
    gram = kind(atoms.A, {p.weighting: p.weight for p in problems})
    found = [GramPursuit(atoms, p, gram) for p in problems]
    wanted = [Pursuit(atoms, p) for p in problems]
    run(found)
    run(wanted)
    for p, q in zip(found, wanted, strict=True):
        assert p.stop_reason == q.stop_reason
        np.testing.assert_array_equal(p.chosen, q.chosen)
        np.testing.assert_allclose(p.errors[:, 1], q.errors[:, 1], rtol=1e-8)
        ours, theirs = p.path(), q.path()
        for name in ("errors", "gains", "triangle", "loads", "means"):
            a, b = getattr(ours, name), getattr(theirs, name)
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(np.abs(a), np.abs(b), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS, ids=named)
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "constant"])
@pytest.mark.parametrize(
    "make", [diabetes_kernel, digits_kernel], ids=lambda f: f.__name__
)
def test_held_out_values_are_those_of_every_size(make, fit_intercept, kind):
    D, Y = matrices(make)
    atoms = atoms_of(D)
    problems = folds(D, Y, fit_intercept=fit_intercept)
    gram = kind(atoms.A, {p.weighting: p.weight for p in problems})
    for problem in problems:
        assert_values_of_every_size(GramPursuit(atoms, problem, gram), D)


def test_it_ends_with_a_reason():
    D, Y = matrices(random_matrix)
    how = {"alpha": 1e-3, "fit_intercept": True}
    assert gram_pursuit(D, Y, 7, **how).stop_reason == "max_support"
    constant = np.full_like(Y, 3.0)
    found = gram_pursuit(D, constant, 7, **how)
    assert found.stop_reason == "exact"
    assert found.path().coefficients(0)[2] == 3.0
    few = np.arange(D.shape[1]) < 4
    found = gram_pursuit(D, Y, 7, candidates=few, **how)
    assert found.stop_reason == "exhausted"
    assert sorted(found.path().atoms) == [0, 1, 2, 3]
    found = gram_pursuit(D, Y, 7, candidates=few & False, **how)
    assert found.stop_reason == "exhausted"
    assert len(found.path()) == 0


def test_an_interrupt_leaves_a_usable_path(monkeypatch):
    D, Y = matrices(diabetes_kernel)
    atoms = atoms_of(D)
    problem = problem_of(D, Y, 60, alpha=1e-2, fit_intercept=True)
    gram = SharedGram(atoms.A, {0: problem.weight})
    whole = GramPursuit(atoms, problem, gram)
    run([whole])
    pursuit = GramPursuit(atoms, problem, gram)

    def stop(_):
        if pursuit.n_steps >= 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(_interrupts, "_latest", [-10.0])
    run([pursuit], stop)
    path = pursuit.path()
    assert pursuit.stop_reason == "interrupted"
    assert 20 <= len(path) < 60
    np.testing.assert_array_equal(path.atoms, whole.path().atoms[: len(path)])


# -- where it is used --------------------------------------------------------------


@pytest.fixture
def uses(monkeypatch):
    """How many pursuits went by inner products."""
    made = []

    class Watched(GramPursuit):
        def __init__(self, *args):
            made.append(args)
            super().__init__(*args)

    monkeypatch.setattr(engines, "GramPursuit", Watched)
    return made


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:150], y[:150]


def models():
    return [
        KMPClassifier(kernel="rbf", max_support=30),
        KMPClassifier(kernel="rbf", max_support=20, method="back-fitting", alpha=0.1),
        KMPClassifier(
            kernel="rbf",
            max_support=20,
            n_candidates=60,
            selection=CrossValidation(3),
            random_state=0,
        ),
        KMPClassifier(
            kernel="rbf", max_support=20, selection=CrossValidation(scoring="accuracy")
        ),
        KMPClassifier(kernel="rbf", max_support=20, selection="validation"),
        KMPClassifier(kernel="rbf", max_support=20, multiclass="ovr", dtype="float32"),
        KMPRegressor(
            kernel="rbf", max_support=30, selection=CrossValidation(tolerance="1se")
        ),
    ]


@pytest.mark.parametrize("model", models(), ids=named)
def test_models_are_those_of_the_other_engine(model, rows, uses, monkeypatch):
    X, y = rows
    found = clone(model).fit(X, y)
    n_uses = len(uses)
    assert n_uses
    monkeypatch.setattr(engines, "_gram", lambda *_: None)
    wanted = model.fit(X, y)
    assert len(uses) == n_uses
    np.testing.assert_array_equal(found.support_, wanted.support_)
    np.testing.assert_allclose(found.dual_coef_, wanted.dual_coef_, rtol=1e-6)
    for a, b in zip(found.search_, wanted.search_, strict=True):
        np.testing.assert_allclose(a["errors"], b["errors"], rtol=1e-6)


@pytest.mark.parametrize("selection", [None, "bound", "loo"])
def test_outputs_of_their_own_go_by_inner_products(selection, uses):
    X, y = matrices(digits_kernel)
    how = {"gamma": 0.1, "alpha": 1e-3, "selection": selection, "multiclass": "ovr"}
    model = KMPClassifier(max_support=12, **how).fit(X, y.argmax(axis=1))
    assert len(uses) == (0 if selection == "loo" else 10)
    assert len(model.path_.paths) == 10


@pytest.mark.parametrize(
    "how",
    [
        {"alpha": 0.0},
        {"alpha": 1e-12},
        {"method": "basic"},
        {"loss": "logistic"},
        {"selection": "loo"},
        {"n_candidates": Redrawn()},
        {"selection": None},
    ],
    ids=named,
)
def test_where_digits_or_steps_are_too_few_it_is_not_used(how, rows, uses):
    few = {"max_support": 8, "selection": CrossValidation(3)}
    KMPClassifier(**{"gamma": 0.02, "alpha": 0.1, **few, **how}).fit(*rows)
    assert not uses


def test_where_memory_is_short_it_is_not_used(rows, uses):
    X, y = rows
    X, y = np.concatenate([X + i * 1e-3 for i in range(3)]), np.tile(y, 3)
    n_uses, supports = [], []
    for budget in ("1 GiB", "9 MiB", "5 MiB"):
        uses.clear()
        model = KMPClassifier(gamma=0.02, alpha=0.1, max_support=80, max_memory=budget)
        supports.append(model.fit(X, y).support_)
        n_uses.append(len(uses))
    assert n_uses[0] == 10
    assert n_uses[-1] == 0
    np.testing.assert_array_equal(supports[0], supports[1])
    np.testing.assert_array_equal(supports[0], supports[2])
