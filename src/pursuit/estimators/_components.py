"""What sparse kernel PCA and CCA share: kernels, rows to choose among, checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._memory import budget
from pursuit._parameters import (
    check_scale,
    check_verbose,
    finite_number,
    is_number,
    is_word,
    positive_number,
    random_numbers,
    row_count,
    whole_number,
)
from pursuit._rows import row_digests
from pursuit.components.choosing import Choosing
from pursuit.kernels import Kernel, as_kernel
from pursuit.kernels.given import NAMED
from pursuit.kernels.widths import RULES

# Above this many rows, "auto" chooses on a sample of so many.
SAMPLED_ROWS = 5000
# Rows on which a function is tried.
_TRIAL_ROWS = 20


def is_precomputed(kernel: Any) -> bool:
    """Return whether a view is a matrix of kernel values."""
    return is_word(kernel, "precomputed")


def bound_kernel(
    kernel: Any, gamma: Any, degree: int, coef0: float, X: Any, view: str = "X"
) -> Kernel | None:
    """Return the kernel that the parameters ask for, its width a number.

    None for kernel values computed beforehand.  The second view is "y".
    """
    whole_number("degree", degree, 1)
    finite_number("coef0", coef0)
    if is_precomputed(kernel):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs a square matrix at fit, got {X.shape}."
            )
        _check_symmetric(X[:_TRIAL_ROWS, :_TRIAL_ROWS], kernel)
        return None
    # None is KernelPCA's word for 1 / n_features.
    gamma = "auto" if gamma is None else gamma
    check_kernel(kernel, gamma, "" if view == "X" else f"_{view}")
    described = as_kernel(kernel, gamma=gamma, degree=degree, coef0=coef0)
    if described.takes_squares:
        check_scale(X, view)
    bound = described.bind(X)
    if not bound.symmetric:
        _check_symmetric(bound(X[:_TRIAL_ROWS]), kernel)
    return bound


def check_kernel(kernel: Any, gamma: Any, suffix: str) -> None:
    """Raise a ValueError that names the parameter which no kernel knows."""
    if isinstance(kernel, str):
        if kernel not in NAMED:
            names = ", ".join(map(repr, (*NAMED, "precomputed")))
            raise ValueError(
                f"kernel{suffix}={kernel!r} is unknown; the names are {names}. A "
                "kernel object or a function k(X, Y) will do too."
            )
        if hasattr(NAMED[kernel](), "gamma"):
            words = (*RULES, None, "same") if suffix else (*RULES, None)
            positive_number(f"gamma{suffix}", gamma, words)
    elif not callable(kernel) or isinstance(kernel, type):
        raise ValueError(
            f"kernel{suffix}={kernel!r} must be a name, a kernel object such as "
            "Gaussian(), or a function k(X, Y)."
        )


def _check_symmetric(K: np.ndarray, kernel: Any) -> None:
    if not np.allclose(K, K.T):
        raise ValueError(
            f"kernel={kernel!r} gives a matrix that is not symmetric; a positive "
            "semi-definite kernel is needed."
        )


def check_square_or_support(
    X: Any, n_features: int, support: np.ndarray, name: str = "X"
) -> np.ndarray:
    """Return the support's columns of kernel values with all rows, or with it only."""
    if X.shape[1] == n_features:
        return X[:, support]
    if X.shape[1] == len(support):
        return X
    raise ValueError(
        f"{name} has {X.shape[1]} columns; kernel='precomputed' needs the kernel with "
        f"all {n_features} training rows, or with the {len(support)} support points."
    )


def choosing(
    estimator: Any, contents: Any, n_rows: int, wanted: int | None
) -> Choosing:
    """Return how the estimator's parameters ask for points to be chosen.

    ``contents`` are the rows by which a sample is drawn, None if they are told apart
    by their number only; ``wanted`` points are asked for, None for no limit.
    """
    rng = random_numbers(estimator.random_state)
    seed = 0 if estimator.random_state is None else int(rng.randint(2**31 - 1))
    sample = _sample(estimator.subsample, contents, n_rows, seed)
    n_sampled = n_rows if sample is None else len(sample)
    n_drawn = whole_number("n_candidates", estimator.n_candidates, 1, (None,))
    tol = estimator.tol
    if not is_number(tol) or not 0 <= tol < 1:
        raise ValueError(f"tol={tol!r} must be a number from 0 to less than 1.")
    check_verbose(estimator.verbose)
    return Choosing(
        max_steps=n_sampled if wanted is None else min(wanted, n_sampled),
        sample=sample,
        n_drawn=n_drawn,
        tol=float(tol),
        memory=budget(estimator.max_memory),
        seed=seed,
        verbose=int(estimator.verbose or 0),
    )


def _sample(value: Any, contents: Any, n_rows: int, seed: int) -> np.ndarray | None:
    """Return the rows on which the choice is made, None for all of them."""
    n = _sample_size(value, n_rows)
    if n >= n_rows:
        return None
    # By content, so that the order of the rows does not matter.
    digests = _told_apart(row_digests(contents, np.arange(n_rows), seed))
    return np.sort(np.argsort(digests, kind="stable")[:n])


def _told_apart(digests: np.ndarray) -> np.ndarray:
    """Return numbers that are as random, but differ between equal rows.

    Otherwise all copies of a row would be drawn, or none.
    """
    _, group, sizes = np.unique(digests, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    copy = np.empty(len(group), dtype=np.uint64)
    copy[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # The finisher of SplitMix64, a generator whose successive numbers it makes random.
    mixed = digests + copy * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _sample_size(value: Any, n_rows: int) -> int:
    if value is None:
        return n_rows
    if is_word(value, "auto"):
        return SAMPLED_ROWS
    return row_count("subsample", value, n_rows, ("auto", None))


PARAMETERS = """degree : int, default=3
        Of the kernel "poly".
    coef0 : float, default=1.0
        Of the kernel "poly" (and of "sigmoid", which is an error where it is not
        positive semi-definite).
    subsample : int, float, "auto" or None, default="auto"
        On how many random rows (a number or a share) the choice is made: they are the
        candidates, and the criterion is summed over them. All else is computed from
        all rows. "auto": all rows up to 5000, else 5000 of them. None: all.
    n_candidates : int or None, default=None
        How many candidates are drawn anew at each step; 59 find one of the best 5 %
        with 95 % certainty. None: all, for the exact choice.
    tol : float, default=1e-10
        A row whose squared distance from the span of the chosen ones is below this
        share of ``k(x, x)`` (at the least 1e-13, for rounding) counts as inside.
    max_memory : int, str or None, default=None
        What the fit may use: bytes, or a text such as "1 GiB". None: half of the free
        memory. Kernel values that do not fit are computed again at each pass, with
        the same result.
    random_state : int, RandomState instance or None, default=None
        Seeds the sample and the candidates drawn. With None they are fixed.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the choice with the points found so
        far and a warning."""
