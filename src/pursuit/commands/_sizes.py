"""Models of other sizes, from the path that a model file holds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pursuit._user_errors import CommandError, UsageError

from ._talk import counted

__all__ = ["largest_within", "last_step", "of_size", "size_of", "to_write"]


def size_of(model: Any) -> int:
    """Return the number of steps of a model on its path."""
    return len(last_step(model).truncate().path_)


def of_size(model: Any, n: int) -> Any:
    """Return a model, or a pipeline, with the first points of its path."""
    last = last_step(model)
    if not hasattr(last, "truncate"):
        raise UsageError(f"a {type(last).__name__} has one size only")
    if n > len(last.path_):
        raise UsageError(
            f"--points {n}: the file holds models of up to "
            f"{counted(len(last.path_), 'point')}; fit again with --points {n}"
        )
    return _with_last(model, last.truncate(n))


def to_write(model: Any) -> Any:
    """Return what a file holds: all sizes, but of the folds only up to the chosen one.

    Intervals need them, which `--interval` gives for this size; larger ones would make
    the file several times larger.
    """
    last = last_step(model)
    if not hasattr(last, "_without_larger_folds"):
        return model
    return _with_last(model, last._without_larger_folds())


def _with_last(model: Any, last: Any) -> Any:
    if not hasattr(model, "steps"):
        return last
    pipeline = copy.copy(model)
    pipeline.steps = [*model.steps[:-1], (model.steps[-1][0], last)]
    return pipeline


def largest_within(model: Any, n_bytes: Callable[[Any], int], max_bytes: int) -> Any:
    """Return the largest model, up to the given one, that takes so many bytes."""
    if n_bytes(model) <= max_bytes:
        return model
    low, least = 1, n_bytes(of_size(model, 1))
    high = size_of(model)  # is too large
    if least > max_bytes:
        raise CommandError(
            f"--max-bytes {max_bytes}: the model of one point takes {least}"
        )
    while high - low > 1:
        middle = (low + high) // 2
        fits = n_bytes(of_size(model, middle)) <= max_bytes
        low, high = (middle, high) if fits else (low, middle)
    return of_size(model, low)


def last_step(model: Any) -> Any:
    """Return the estimator of a pipeline, or a model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model
