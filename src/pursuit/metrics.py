"""The metric in which a kernel compares points: how it is learned, or which it is.

The estimators take these objects, or words for them with their defaults:
``metric="diagonal"`` is ``metric=Diagonal()``.

A metric is a positive semi-definite matrix M, and the kernel sees the distances
(x - z)ᵀ M (x - z). It is learned by rounds: a pursuit in the metric so far, then the
average outer product of the gradients of its model, which is large in the directions
along which the targets change, as the next metric. The first round has the features'
own scales, so that the units of the columns do not matter.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from ._parameters import did_you_mean, is_whole

__all__ = ["Best", "Diagonal", "Full", "Given"]


class Metric(BaseEstimator):
    """How the metric of a kernel is found.

    Attributes
    ----------
    word : str or None
        What stands for the object with its defaults.
    shapes : tuple of {"diagonal", "full"}
        Shapes of the metrics that are learned and compared.
    may_stay : bool
        Whether the features' own scales are compared with the learned metrics too.
    n_rounds : int
        Maximum number of rounds.
    """

    word: ClassVar[str | None] = None
    shapes: ClassVar[tuple[str, ...]] = ()
    may_stay: ClassVar[bool] = False
    n_rounds: int = 0

    def check(self) -> None:
        """Raise a ValueError if a parameter is wrong."""
        if not is_whole(self.n_rounds, 1):
            raise ValueError(
                f"n_rounds={self.n_rounds!r} must be a whole number of at least 1: how "
                "often the metric is learned anew, at most."
            )


class Best(Metric):
    """The best of the features' scales, diagonal and full metrics, on held-out rows.

    Rows that judge a metric never shaped it: each fold learns its own. Among metrics
    whose errors differ by no more than one standard error of the difference, the one
    with the smallest model is chosen. The full metric is left out above 300 features,
    and for the Laplacian kernel.

    Parameters
    ----------
    n_rounds : int, default=6
        Maximum number of rounds of each shape. A round that gains less than 1 % is the
        last one.
    """

    word = "best"
    shapes = ("diagonal", "full")
    may_stay = True

    def __init__(self, n_rounds: int = 6) -> None:
        self.n_rounds = n_rounds


class Diagonal(Metric):
    """A learned weight for each feature.

    Parameters
    ----------
    n_rounds : int, default=6
        Maximum number of rounds. A round that gains less than 1 % on held-out rows is
        the last one, and the best round is chosen.
    """

    word = "diagonal"
    shapes = ("diagonal",)

    def __init__(self, n_rounds: int = 6) -> None:
        self.n_rounds = n_rounds


class Full(Metric):
    """A learned weight for each direction: a whole matrix.

    Parameters
    ----------
    n_rounds : int, default=6
        As in `Diagonal`.
    """

    word = "full"
    shapes = ("full",)

    def __init__(self, n_rounds: int = 6) -> None:
        self.n_rounds = n_rounds


class Given(Metric):
    """A metric that is known.

    Parameters
    ----------
    metric : array of shape (d,) or (d, d)
        Non-negative weights of the squared differences of the features, or a positive
        semi-definite matrix.
    """

    def __init__(self, metric: Any) -> None:
        self.metric = metric

    def check(self) -> None:
        """Raise a ValueError if the metric is none."""
        from .kernels.metric import factor_of

        factor_of(self.metric)


_METRICS = {kind.word: kind for kind in (Best, Diagonal, Full)}


def as_metric(metric: Any, is_learned: bool = True) -> Metric | None:
    """Return the metric that a value stands for, checked; None for rows as they are.

    ``is_learned`` says whether "auto" stands for a learned metric.
    """
    if isinstance(metric, str) and metric == "auto":
        return Best() if is_learned else None
    if metric is None:
        return None
    if isinstance(metric, str) and metric in _METRICS:
        return _METRICS[metric]()
    if isinstance(metric, (list, tuple, np.ndarray)):
        metric = Given(metric)
    if not isinstance(metric, Metric):
        words = ", ".join(map(repr, ["auto", *_METRICS]))
        raise ValueError(
            f"metric={metric!r} is not known: choose one of {words} or None, an array "
            "of weights of the features, a positive semi-definite matrix, or an object "
            "of pursuit.metrics, such as Diagonal(n_rounds=3)."
            f"{did_you_mean(metric, ['auto', *_METRICS])}"
        )
    metric.check()
    return metric
