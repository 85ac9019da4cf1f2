"""Settings that were compared, with their held-out errors, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .curves import TIE, Curve
from .engines import Workbench

# Least share of the constant's error by which a width must be better to be followed.
_PROMISING = 0.1


@dataclass(frozen=True, eq=False)
class Trial:
    """A width and a ridge with their held-out errors.

    Attributes
    ----------
    width : int
        Index of the dictionary.
    gamma : float or None
        Its width, if it has one.
    alpha : float
        Ridge.
    curves : list of Curve
        One for each problem.
    takes_last : bool
        Whether the model will have all steps, so that the last error counts and not
        the lowest.
    labels : dict
        What else tells it from others.
    bench : Workbench or None
        Its inner products, if they suit the final model.
    """

    width: int
    gamma: float | None
    alpha: float
    curves: list[Curve]
    takes_last: bool = False
    labels: Mapping[str, Any] = field(default_factory=dict)
    bench: Workbench | None = None

    def reduced(self) -> Trial:
        """Return the trial without what only the best of all is asked for."""
        curves = [replace(curve, paths=()) for curve in self.curves]
        return replace(self, curves=curves, bench=None)

    @property
    def error(self) -> float:
        """The error by which trials are compared, summed over problems."""
        if self.takes_last:
            return float(sum(curve.mean[-1] for curve in self.curves))
        return sum(curve.lowest for curve in self.curves)

    @property
    def is_promising(self) -> bool:
        """Whether it is clearly better than the constant, on some curve."""
        return any(
            curve.lowest < curve.mean[0] - _PROMISING * abs(curve.mean[0])
            for curve in self.curves
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values: gamma, alpha, errors at sizes 0, 1, ..."""
        return {
            **self.labels,
            "gamma": self.gamma,
            "alpha": self.alpha,
            "errors": _summed([curve.mean for curve in self.curves]),
            "standard_errors": _summed([c.standard_error for c in self.curves]),
        }


def lowest(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the lowest error, the first of those that tie."""
    least = min(trial.error for trial in trials)
    limit = least + TIE * abs(least)
    return next(trial for trial in trials if trial.error <= limit)


def steadiest(trials: Sequence[Trial], clear: float) -> Trial:
    """Return the largest ridge whose error is near the lowest of the same width.

    ``clear`` is the share of the error by which a smaller ridge must be better.
    """
    best = lowest(trials)
    limit = best.error + clear * abs(best.error)
    close = [t for t in trials if t.width == best.width and t.error <= limit]
    return max(close, key=lambda trial: trial.alpha) if clear else best


def _summed(values: list[np.ndarray]) -> np.ndarray:
    length = max(len(v) for v in values)
    return np.sum([np.pad(v, (0, length - len(v)), "edge") for v in values], axis=0)
