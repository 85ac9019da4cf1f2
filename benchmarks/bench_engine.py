"""The engine against Fig. 9.3 as written, one pass a step, and scikit-learn's OMP.

Ten folds of one dictionary by inner products of its atoms are compared with the same
folds by passes.

    python benchmarks/bench_engine.py [--small]

Ratios are of times measured in one run, the best of some repetitions each; all
contestants get the same stored dictionary and must choose the same atoms.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import orthogonal_mp

from pursuit.engine.atoms import StoredAtoms
from pursuit.engine.gram import SharedGram
from pursuit.engine.gram_pursuit import GramPursuit
from pursuit.engine.problem import Problem
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run
from pursuit.kernels import Gaussian, median_gamma

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import reference

WIDTHS = (4.0, 1.0, 0.25)  # gamma, times 1 / median squared distance


def data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_friedman1(n_rows, n_features=10, noise=1.0, random_state=0)
    return X, y


def dictionary(X: np.ndarray, width: float, dtype: Any = np.float64) -> np.ndarray:
    return Gaussian(width * median_gamma(X))(X).astype(dtype)


def problem(y: np.ndarray, n_atoms: int, n_steps: int, **given: Any) -> Problem:
    return Problem(
        Y=y[None],
        weight=np.ones(len(y)),
        held_out=np.zeros(len(y)),
        candidates=np.ones(n_atoms, dtype=bool),
        max_steps=n_steps,
        **given,
    )


def pursue(
    A: np.ndarray,
    y: np.ndarray,
    n_steps: int,
    speculate: bool | None = None,
    **given: Any,
) -> tuple[np.ndarray, int]:
    """Return the chosen atoms and the number of passes over the dictionary."""
    atoms = StoredAtoms(A)
    pursuit = Pursuit(atoms, problem(y, len(A), n_steps, **given), speculate)
    run([pursuit])
    return pursuit.chosen[: pursuit.n_steps], atoms.n_passes


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def same(first: np.ndarray, second: np.ndarray) -> str:
    n = min(len(first), len(second))
    differ = np.flatnonzero(first[:n] != second[:n])
    return "same atoms" if not len(differ) else f"same up to step {differ[0]}"


def against_the_figure(n_rows: int, n_steps: int) -> None:
    X, y = data(n_rows)
    A = dictionary(X, 1.0)
    given = {"fit_intercept": False, "alpha": 0.0}
    ours, (chosen, _) = timed(lambda: pursue(A, y, n_steps, **given), repeats=3)
    literal, found = timed(
        lambda: reference.pre_fitting(A.T.copy(), y[:, None], n_steps)
    )
    print(
        f"| Fig. 9.3 literally in NumPy | l = M = {n_rows}, N = {n_steps} | "
        f"{literal:.2f} s | {ours:.3f} s | {literal / ours:.0f} | "
        f"{same(chosen, np.array(found.chosen))} |"
    )


def against_omp(n_rows: int, n_steps: int) -> None:
    X, y = data(n_rows)
    A = dictionary(X, 4.0)
    A /= np.linalg.norm(A, axis=1)[:, None]
    D = np.asfortranarray(A.T)
    given = {"fit_intercept": False, "method": "back-fitting"}
    ours, (chosen, _) = timed(lambda: pursue(A, y, n_steps, **given), repeats=3)
    theirs, coef = timed(lambda: orthogonal_mp(D, y, n_nonzero_coefs=n_steps), 2)
    overlap = len(np.intersect1d(np.flatnonzero(coef), chosen))
    print(
        f"| `orthogonal_mp` | l = M = {n_rows}, N = {n_steps} | {theirs:.2f} s | "
        f"{ours:.3f} s | {theirs / ours:.1f} | {overlap} of {len(chosen)} common |"
    )


def against_no_speculation(n_rows: int, n_steps: int, dtype: Any) -> None:
    X, y = data(n_rows)
    ratios, passes = [], []
    for width in WIDTHS:
        A = dictionary(X, width, dtype)
        given = {"alpha": 1e-3}
        off, (expected, n_off) = timed(
            lambda A=A, given=given: pursue(A, y, n_steps, speculate=False, **given), 2
        )
        on, (chosen, n_on) = timed(
            lambda A=A, given=given: pursue(A, y, n_steps, **given), 2
        )
        ratios.append(off / on)
        passes.append(n_steps / n_on)
        print(
            f"| one pass a step, gamma {width:g}/median, {np.dtype(dtype)} | "
            f"l = M = {n_rows}, N = {n_steps} | {off:.2f} s, {n_off} passes | "
            f"{on:.2f} s, {n_on} passes | {off / on:.2f} | {same(chosen, expected)} |"
        )
    mean = np.exp(np.mean(np.log(ratios)))
    print(
        f"| geometric mean, {np.dtype(dtype)} | | | | {mean:.2f} | "
        f"{np.mean(passes):.1f} steps a pass |"
    )


def against_passes(n_rows: int, n_steps: int) -> None:
    """Compare ten folds by inner products with ten folds by shared passes."""
    X, y = data(n_rows)
    A, fold_of_row = dictionary(X, 1.0), np.random.default_rng(0).permutation(n_rows)
    problems = [
        replace(
            problem(y, n_rows, n_steps, alpha=1e-2),
            weight=np.where(fold, 0.0, 1.0),
            held_out=np.where(fold, 1.0, 0.0),
            candidates=~fold,
            weighting=f,
        )
        for f, fold in enumerate(fold_of_row % 10 == f for f in range(10))
    ]
    passes, wanted = timed(lambda: folds_by_passes(A, problems), repeats=3)
    products, found = timed(lambda: folds_by_products(A, problems), repeats=3)
    print(
        f"| ten folds by shared passes | l = M = {n_rows}, N = {n_steps} | "
        f"{passes:.2f} s | {products:.3f} s | {passes / products:.1f} | "
        f"{same(found.ravel(), wanted.ravel())} |"
    )


def folds_by_passes(A: np.ndarray, problems: list[Problem]) -> np.ndarray:
    atoms = StoredAtoms(A)
    pursuits = [Pursuit(atoms, p) for p in problems]
    run(pursuits)
    return np.array([p.chosen for p in pursuits])


def folds_by_products(A: np.ndarray, problems: list[Problem]) -> np.ndarray:
    atoms = StoredAtoms(A)
    gram = SharedGram(A, {p.weighting: p.weight for p in problems})
    pursuits = [GramPursuit(atoms, p, gram) for p in problems]
    run(pursuits)
    return np.array([p.chosen for p in pursuits])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a quick look")
    parser.add_argument("--only", choices=("figure", "omp", "folds", "speculation"))
    args = parser.parse_args()
    small, n_steps = (1000, 60) if args.small else (4000, 200)
    large, n_long = (2000, 100) if args.small else (12000, 300)
    for speculate in (True, False):
        pursue(*warm_up(), n_steps=10, speculate=speculate)
    print("| against | setting | theirs | ours | ratio | choice |")
    print("|---|---|---|---|---|---|")
    if args.only in (None, "figure"):
        against_the_figure(small, n_steps)
    if args.only in (None, "omp"):
        against_omp(small, n_steps)
    if args.only in (None, "folds"):
        for n_rows in (500,) if args.small else (500, 1000, 2000, 4000):
            against_passes(n_rows, n_steps)
    if args.only in (None, "speculation"):
        against_no_speculation(large, n_long, np.float64)
        against_no_speculation(large, n_long, np.float32)


def warm_up() -> tuple[np.ndarray, np.ndarray]:
    X, y = data(100)
    return dictionary(X, 1.0), y


if __name__ == "__main__":
    main()
