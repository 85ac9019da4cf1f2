"""Checks of the arguments of bounds."""

from __future__ import annotations

from math import inf

from pursuit._parameters import is_number


def check_counts(**values: float) -> None:
    """Raise a ValueError unless these are whole numbers of at least 0 (1 for rows)."""
    for name, value in values.items():
        least = 1 if name == "n_samples" else 0
        if not (is_number(value) and least <= value < inf and value == int(value)):
            raise ValueError(
                f"{name}={value!r} must be a whole number of at least {least}."
            )


def check_amounts(**values: float) -> None:
    """Raise a ValueError unless these are finite numbers of at least 0."""
    for name, value in values.items():
        if not (is_number(value) and 0 <= value < inf):
            raise ValueError(f"{name}={value!r} must be a finite number of at least 0.")


def check_share(name: str, part: float, of: str, whole: float) -> None:
    """Raise a ValueError if a part is more than the whole."""
    if part > whole:
        raise ValueError(f"{name}={part!r} must be at most {of}={whole!r}.")
