"""Settings of the neighbor estimators: checked parameters, and limits of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from pursuit._limits import Limits, budget
from pursuit._parameters import (
    check_verbose,
    is_number,
    is_whole,
    is_word,
    neighbors_at_hand,
    number_from_zero,
    random_numbers,
    thread_count,
    whole_number,
)
from pursuit._threads import allowed_threads, limited
from pursuit.neighbors.queries import Blocks
from pursuit.neighbors.subspaces import Hulls, Hyperplanes

Fit = TypeVar("Fit", bound=Callable[..., Any])

# Largest number of neighbors that "auto" compares.
MOST_NEIGHBORS = 80
# Numbers of neighbors that "auto" compares where each needs its own computation.
FEW_NUMBERS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45)
# The default number of neighbors of the classifiers.
USUAL_NUMBER = 15
# penalty="scale", as a share of the variance.
_PENALTY_SCALE = 0.1
# To look up points takes less time than to limit threads, if the numbers of points,
# reference points and features have a product below this.
_LITTLE_WORK = 1e6


@dataclass(frozen=True)
class Penalty:
    """The parameter ``penalty``.

    Attributes
    ----------
    value : float, "scale" or "auto"
    shares : tuple of float
        Shares of the variance that "auto" compares.
    """

    value: float | str
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        number_from_zero("penalty", self.value, ("scale", "auto"))

    @property
    def is_auto(self) -> bool:
        """Whether leave-one-out chooses it."""
        return is_word(self.value, "auto")

    def candidates(self, variance: float) -> np.ndarray:
        """Return the penalties to compare, in ascending order."""
        if not isinstance(self.value, str):
            return np.array([float(self.value)])
        if not self.is_auto:
            return np.array([self.usual(variance)])
        return variance * np.array(self.shares)

    def usual(self, variance: float) -> float:
        """Return the number if it is one, else what "scale" means."""
        if not isinstance(self.value, str):
            return float(self.value)
        return variance * _PENALTY_SCALE


NO_PENALTY = Penalty(0.0, ())


@dataclass(frozen=True)
class Settings:
    """Checked parameters of one fit.

    Attributes
    ----------
    n_neighbors : int or "auto"
    penalty : Penalty
    search : object with ``fit`` and ``kneighbors``, or None
    loo_samples : int
    random_state : int, RandomState instance or None
    shape : Hyperplanes or Hulls
        Subspaces, without their penalty.
    """

    n_neighbors: int | str
    penalty: Penalty
    search: Any
    loo_samples: int
    random_state: Any
    shape: Hyperplanes | Hulls

    def __post_init__(self) -> None:
        whole_number("n_neighbors", self.n_neighbors, 1, ("auto",))
        whole_number("loo_samples", self.loo_samples, 0)
        random_numbers(self.random_state)
        _check_search(self.search)
        if self.is_auto and self.loo_samples == 0:
            raise ValueError(
                "loo_samples=0 leaves no points by which to choose 'auto' parameters: "
                "give numbers for n_neighbors and penalty, or a positive loo_samples."
            )

    @property
    def chooses_number(self) -> bool:
        """Whether leave-one-out chooses the number of neighbors."""
        return is_word(self.n_neighbors, "auto")

    @property
    def usual_number(self) -> int:
        """The number of neighbors, the default if leave-one-out chooses it."""
        return USUAL_NUMBER if self.chooses_number else int(self.n_neighbors)

    @property
    def is_auto(self) -> bool:
        """Whether leave-one-out chooses a parameter."""
        return self.chooses_number or self.penalty.is_auto

    def numbers(self, largest: int, what: str) -> np.ndarray:
        """Return the numbers of neighbors to compare, at most ``largest``.

        ``what`` describes as many rows, for the warning if more are asked for. The
        default asks for nothing.
        """
        if not self.chooses_number:
            number = int(self.n_neighbors)
            if number == USUAL_NUMBER:
                return np.array([min(number, largest)])
            return np.array([neighbors_at_hand(number, largest, what)])
        numbers = np.arange(1, min(MOST_NEIGHBORS, largest) + 1)
        if self.shape.has_paths:
            return numbers
        return numbers[np.isin(numbers, [*FEW_NUMBERS, numbers[-1]])]

    def rows_to_leave_out(self, n_samples: int) -> np.ndarray:
        """Return the training rows that are left out in turn, sorted."""
        rng = random_numbers(self.random_state, 0)
        n = min(self.loo_samples, n_samples)
        return np.sort(rng.choice(n_samples, n, replace=False))


def _check_search(search: Any) -> None:
    """Raise a ValueError unless ``search`` can find neighbors."""
    if inspect.isclass(search):
        raise ValueError(
            f"search={search!r} is a class: give an instance, {search.__name__}(...)."
        )
    if search is None or (hasattr(search, "fit") and hasattr(search, "kneighbors")):
        return
    raise ValueError(
        f"search={search!r} must have the methods fit and kneighbors, or be None."
    )


def number_of_components(n_components: Any) -> float:
    """Return a checked ``n_components``, 0 for None."""
    is_share = is_number(n_components) and 0 < n_components < 1
    if n_components is not None and not is_share and not is_whole(n_components, 1):
        raise ValueError(
            f"n_components={n_components!r} must be a whole number of at least 1, a "
            "share below 1, or None."
        )
    return float(n_components or 0)


# -- limits of a call ----------------------------------------------------------------


def blocks_of(
    n_rows: int, max_memory: Any, n_jobs: int | None, verbose: int | bool
) -> Blocks:
    """Return the blocks in which a call processes its points.

    A number ``n_jobs`` is taken as it is; None is as many threads as BLAS may use now.
    """
    if n_rows == 1:
        # One point needs no threads and little memory, and is to be fast.
        return Blocks(Limits(0, 1), verbose)
    n_threads = thread_count(n_jobs, default=allowed_threads())
    return Blocks(Limits(budget(max_memory), n_threads), verbose)


def check_limits(max_memory: Any, n_jobs: int | None, verbose: int | bool) -> None:
    """Raise a ValueError if these limits mean nothing."""
    budget(max_memory)
    thread_count(n_jobs)
    check_verbose(verbose)


def limited_threads(
    n_jobs: int | None, n_rows: int, points: np.ndarray
) -> AbstractContextManager[None]:
    """Limit scikit-learn's search to the threads that ``n_jobs`` allows."""
    if n_jobs is None or n_rows * points.size < _LITTLE_WORK:
        return nullcontext()
    return limited(thread_count(n_jobs))


# -- weights -------------------------------------------------------------------------


def without_weights(others: str) -> Callable[[Fit], Fit]:
    """Return a decorator of ``fit`` that raises an error if weights are given.

    The signature does not change: a parameter would tell scikit-learn that weights are
    supported. ``others`` names models that support them.
    """

    def decorate(fit: Fit) -> Fit:
        @wraps(fit)
        def fit_without(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "sample_weight" in kwargs:
                raise TypeError(
                    f"{type(self).__name__}.fit() does not support sample_weight; "
                    f"{others} do."
                )
            return fit(self, *args, **kwargs)

        return cast(Fit, fit_without)

    return decorate
