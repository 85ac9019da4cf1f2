"""How a pursuit steps: which candidates it looks at, and what it optimizes.

The estimators take these objects, or words for them with their defaults:
``method="pre-fitting"`` is ``method=PreFitting()``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from ._parameters import did_you_mean, is_number, is_whole, row_count

__all__ = ["BackFitting", "Basic", "PreFitting", "Redrawn"]

# The best of this many is among the best 5 % of all with a probability of 95 %.
REDRAWN = 59


class Method(BaseEstimator):
    """How each point is chosen, and what is optimized with it.

    Attributes
    ----------
    word : str
        The name that stands for the method with its defaults.
    """

    word: ClassVar[str]
    refit_every: int = 1
    tol: float = 1e-14

    def check(self) -> None:
        """Raise a ValueError if a parameter is wrong."""
        if not is_whole(self.refit_every, 1):
            raise ValueError(
                f"refit_every={self.refit_every!r} must be a whole number of at least "
                "1: after how many steps all coefficients are optimized again."
            )
        if not is_number(self.tol) or not 0.0 <= self.tol < 1.0:
            raise ValueError(
                f"tol={self.tol!r} must be a number of at least 0 and below 1: the "
                "share of a function's squared norm that must lie outside the span of "
                "the chosen ones."
            )


class PreFitting(Method):
    """Choose the point that leaves the smallest error after a refit.

    This is orthogonal least squares: each candidate is judged by the error that is
    left after all coefficients are optimized together with its own. Under losses other
    than the squared one, that error is predicted from the quadratic approximation of
    the loss at the current fit.

    Parameters
    ----------
    refit_every : int, default=1
        Number of steps from one optimization of all coefficients to the next. In
        between, only the new coefficient and the intercept are set.
    tol : float, default=1e-14
        A candidate whose squared norm outside the span of the chosen ones is below
        this share of its squared norm counts as dependent and is skipped.
    """

    word = "pre-fitting"

    def __init__(self, refit_every: int = 1, *, tol: float = 1e-14) -> None:
        self.refit_every = refit_every
        self.tol = tol


class BackFitting(Method):
    """Choose the point by the residual, then optimize all coefficients.

    This is orthogonal matching pursuit.

    Parameters
    ----------
    refit_every : int, default=1
        Number of steps from one optimization of all coefficients to the next. In
        between, only the new coefficient and the intercept are set.
    tol : float, default=1e-14
        A candidate whose squared norm outside the span of the chosen ones is below
        this share of its squared norm counts as dependent and is skipped.
    """

    word = "back-fitting"

    def __init__(self, refit_every: int = 1, *, tol: float = 1e-14) -> None:
        self.refit_every = refit_every
        self.tol = tol


class Basic(Method):
    """Choose the point by the residual, and set the new coefficient only.

    This is matching pursuit. A point may be chosen several times.
    """

    word = "basic"


class Redrawn(BaseEstimator):
    """Candidates that are drawn anew at each step, for ``n_candidates``.

    The best of 59 random candidates is, with 95 % certainty, one of the best 5 % of
    all.

    Parameters
    ----------
    n : int or float, default=59
        Number of random training points that each step looks at, or their share of all
        distinct rows.
    """

    def __init__(self, n: int | float = REDRAWN) -> None:
        self.n = n

    def count(self, n_rows: int) -> int:
        """Return the number of candidates among distinct rows."""
        return min(row_count("n", self.n, n_rows, ()), n_rows)


_METHODS = {kind.word: kind for kind in (PreFitting, BackFitting, Basic)}


def as_method(method: Any) -> Method:
    """Return the method that a word or an object stands for, checked."""
    if isinstance(method, str) and method in _METHODS:
        return _METHODS[method]()
    if not isinstance(method, Method):
        words = ", ".join(map(repr, _METHODS))
        raise ValueError(
            f"method={method!r} is not known: choose one of {words}, or an object of "
            "pursuit.methods, such as PreFitting(refit_every=5)."
            f"{did_you_mean(method, _METHODS)}"
        )
    method.check()
    return method
