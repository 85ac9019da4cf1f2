"""Checks of parameters that several families share, with precise error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from ._warnings import warn

# Types of whole numbers.
WHOLE = (int, np.integer)
_FLAGS = (bool, np.bool_)


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number and not a Boolean."""
    return isinstance(value, Real) and not isinstance(value, _FLAGS)


def is_whole(value: Any, least: int) -> bool:
    """Return whether ``value`` is a whole number of at least ``least``."""
    return bool(is_number(value) and isinstance(value, WHOLE) and value >= least)


def positive_number(name: str, value: Any, words: tuple[Any, ...] = ()) -> Any:
    """Return a positive finite number as float, or one of the words unchanged."""
    if (value is None or isinstance(value, str)) and value in words:
        return value
    if is_number(value) and 0 < value < np.inf:
        return float(value)
    also = "".join(f" or {word!r}" for word in words)
    raise ValueError(f"{name}={value!r} must be a positive finite number{also}.")


def number_from_zero(
    name: str, value: Any, words: tuple[str, ...] = (), most: float = np.inf
) -> Any:
    """Return a finite number from 0 to ``most`` as float, or a word as it is."""
    if isinstance(value, str) and value in words:
        return value
    if is_number(value) and 0 <= value <= most and value < np.inf:
        return float(value)
    upper = "" if most == np.inf else f" and at most {most:g}"
    also = "".join(f" or {word!r}" for word in words)
    raise ValueError(
        f"{name}={value!r} must be a finite number of at least 0{upper}{also}."
    )


def probability(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    if is_number(value) and 0 < value < 1:
        return float(value)
    raise ValueError(f"{name}={value!r} must be a number above 0 and below 1.")


def finite_number(name: str, value: Any) -> float:
    """Return a finite number as float."""
    if is_number(value) and np.isfinite(value):
        return float(value)
    raise ValueError(f"{name}={value!r} must be a finite number.")


def row_count(name: str, value: Any, n_rows: int, words: tuple[Any, ...]) -> int:
    """Return a number of rows, given as a count or as a share of all rows.

    ``words`` are alternatives that the error message mentions.
    """
    if is_whole(value, 1):
        return int(value)
    if is_number(value) and not isinstance(value, WHOLE) and 0.0 < value <= 1.0:
        return max(1, int(np.ceil(value * n_rows)))
    also = "".join(f" or {word!r}" for word in words)
    raise ValueError(
        f"{name}={value!r} must be a whole number of at least 1, a share between 0 "
        f"and 1 of the training rows{also}."
    )


def whole_number(name: str, value: Any, least: int, words: tuple[Any, ...] = ()) -> Any:
    """Return a whole number of at least ``least``, or one of the words unchanged."""
    if any(
        value is word or (isinstance(value, str) and value == word) for word in words
    ):
        return value
    if is_whole(value, least):
        return int(value)
    also = "".join(f" or {word!r}" for word in words)
    raise ValueError(
        f"{name}={value!r} must be a whole number of at least {least}{also}."
    )


def neighbors_at_hand(n_neighbors: int, n_rows: float, what: str) -> int:
    """Return the number of neighbors to use, with a warning if there are too few rows.

    ``what`` describes the rows that can be neighbors.
    """
    if n_neighbors <= n_rows:
        return n_neighbors
    warn(
        f"n_neighbors={n_neighbors} is more than {what}: all of them, {n_rows:g}, are "
        "used instead. Lower n_neighbors, or fit more rows."
    )
    return int(n_rows)


def thread_count(n_jobs: Any, default: int | None = None) -> int:
    """Return how many threads ``n_jobs`` means: -1 all processors, -2 all but one ...

    ``default`` is what None means; if it is not given, what joblib makes of it.
    """
    if n_jobs is None and default is not None:
        return default
    is_count = is_number(n_jobs) and isinstance(n_jobs, WHOLE) and n_jobs != 0
    if n_jobs is not None and not is_count:
        raise ValueError(
            f"n_jobs={n_jobs!r} must be a whole number of threads, -1 for all "
            "processors, or None; not 0."
        )
    return int(effective_n_jobs(n_jobs))


def random_numbers(
    random_state: Any, instead_of_none: Any = None
) -> np.random.RandomState:
    """Return the generator that ``random_state`` stands for."""
    if random_state is None:
        random_state = instead_of_none
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state={random_state!r} must be a whole number from 0 to 2**32 - "
            "1, a numpy.random.RandomState, or None."
        ) from error


def check_flag(name: str, value: Any) -> None:
    """Raise a ValueError unless ``value`` is True or False."""
    if not isinstance(value, _FLAGS):
        raise ValueError(f"{name}={value!r} must be True or False.")


def did_you_mean(value: Any, choices: Iterable[Any]) -> str:
    """Return the question after a misspelt word, and before its space; else ''."""
    if not isinstance(value, str):
        return ""
    words = [choice for choice in choices if isinstance(choice, str)]
    found = get_close_matches(value.lower(), words, n=1, cutoff=0.6)
    return f" Did you mean {found[0]!r}?" if found else ""


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise a ValueError that lists the choices unless ``value`` is one of them."""
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(
            f"{name}={value!r} is not known: choose one of {listed}."
            f"{did_you_mean(value, choices)}"
        )


def check_classes(classes: np.ndarray) -> None:
    """Raise a ValueError unless there are at least two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at "
            "least two classes."
        )


def check_verbose(verbose: Any) -> None:
    """Raise a ValueError unless ``verbose`` is True, False, None or a whole number."""
    if verbose is not None and not isinstance(verbose, (*WHOLE, *_FLAGS)):
        raise ValueError(f"verbose={verbose!r} must be True, False or a whole number.")


def is_word(value: Any, word: str) -> bool:
    """Return whether ``value`` is this word; False for arrays."""
    return isinstance(value, str) and value == word


def whole_between(name: str, value: Any, least: int, most: int, what: str) -> int:
    """Return a whole number in the range; ``what`` describes the upper limit."""
    if is_whole(value, least) and value <= most:
        return int(value)
    raise ValueError(
        f"{name}={value!r} must be a whole number from {least} to {most}, {what}."
    )
