"""Preparation of a row before the functions see it, as plain numbers and words.

A row is a vector of numbers. A column of words enters as a code: its place among
``Input.categories``, -1 for a word that is not there, NaN for a missing one. Each step
maps a row to a row; `Branches` runs several lists of steps on the same row and joins
their results.

A row that has no answer ends as NaN: it misses a value that nothing fills, or holds a
category that an encoder with ``handle_unknown="error"`` does not know. Code that hands
out predictions must look for NaN in the outputs and refuse such a row, since the
largest of several NaN would still be a class.

What follows the imports needs NumPy alone: `to_numpy` copies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "HIGHEST",
    "LOWEST",
    "Affine",
    "Branches",
    "Clip",
    "Encode",
    "Fill",
    "Flag",
    "Input",
    "Linear",
    "OneHot",
    "Power",
    "Quantiles",
    "Step",
    "Take",
    "apply_steps",
]


@dataclass(frozen=True)
class Input:
    """A column of the raw row.

    Attributes
    ----------
    name : str
    categories : tuple of str, optional
        Words of the column, whose places are its codes; None for a column of numbers.
    is_used : bool
        Whether any step reads the column. If none does, it may hold anything.
    """

    name: str
    categories: tuple[str, ...] | None = None
    is_used: bool = True


@dataclass(frozen=True, eq=False)
class Affine:
    """x * scale + shift, column by column."""

    scale: np.ndarray
    shift: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        return X * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class Linear:
    """x A, with A of shape (d, r)."""

    matrix: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        return np.asarray(X @ self.matrix)


@dataclass(frozen=True, eq=False)
class Clip:
    """The nearest number between low and high, column by column; NaN stays."""

    low: np.ndarray
    high: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        return np.clip(X, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Take:
    """Some columns, in the given order."""

    columns: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        return X[:, self.columns]


@dataclass(frozen=True, eq=False)
class Fill:
    """Missing values replaced, column by column.

    Attributes
    ----------
    values : ndarray of shape (d,)
    missing : float
        What counts as missing: NaN, or a number.
    """

    values: np.ndarray
    missing: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        return np.where(_is_missing(X, self.missing), self.values, X)


@dataclass(frozen=True, eq=False)
class Flag:
    """1 where a column is missing, else 0; ``missing`` as in `Fill`."""

    missing: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        return _is_missing(X, self.missing).astype(np.float64)


@dataclass(frozen=True, eq=False)
class OneHot:
    """1 in the column of a row's category, else 0.

    Attributes
    ----------
    categories : tuple of ndarray
        Numbers (or codes) that are known, for each column; NaN stands for missing.
    places : tuple of ndarray of int
        Output column of each category; -1 for none (dropped). Several may share one.
    unknown : tuple of int
        Output column of other numbers, for each column; -1 for none; -2 where there
        must be no others: then all outputs are NaN.
    n_outputs : int
        Number of all output columns.
    """

    categories: tuple[np.ndarray, ...]
    places: tuple[np.ndarray, ...]
    unknown: tuple[int, ...]
    n_outputs: int

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        out = np.zeros((len(X), self.n_outputs))
        parts = zip(X.T, self.categories, self.places, self.unknown, strict=True)
        for x, known, places, unknown in parts:
            place = _looked_up(x, known, places, unknown).astype(int)
            rows = np.flatnonzero(place >= 0)
            out[rows, place[rows]] = 1.0
            out[place == -2] = np.nan
        return out


@dataclass(frozen=True, eq=False)
class Encode:
    """A number for each category.

    Attributes
    ----------
    categories : tuple of ndarray
        As in `OneHot`.
    codes : tuple of ndarray
        Number of each category; may be NaN.
    unknown : tuple of float
        Number of all others, for each column; NaN also where there must be no others.
    """

    categories: tuple[np.ndarray, ...]
    codes: tuple[np.ndarray, ...]
    unknown: tuple[float, ...]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        parts = zip(X.T, self.categories, self.codes, self.unknown, strict=True)
        return np.column_stack([_looked_up(*part) for part in parts])


@dataclass(frozen=True, eq=False)
class Power:
    """Yeo-Johnson's or Box-Cox's transform, column by column.

    Attributes
    ----------
    powers : ndarray of shape (d,)
        λ. Yeo-Johnson: ((1 + x)^λ - 1) / λ for x >= 0, log(1 + x) for λ = 0;
        -((1 - x)^(2 - λ) - 1) / (2 - λ) for x < 0, -log(1 - x) for λ = 2. Box-Cox:
        (x^λ - 1) / λ, log(x) for λ = 0.
    method : {"yeo-johnson", "box-cox"}
    """

    powers: np.ndarray
    method: str

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        if self.method == "box-cox":
            with np.errstate(divide="ignore", invalid="ignore"):
                return _power_of(np.log(X), self.powers)
        up = _power_of(np.log1p(np.maximum(X, 0.0)), self.powers)
        down = -_power_of(np.log1p(np.maximum(-X, 0.0)), 2.0 - self.powers)
        return np.where(X >= 0, up, np.where(X < 0, down, X))


@dataclass(frozen=True, eq=False)
class Quantiles:
    """The share of the training rows below a value, or its normal quantile.

    Attributes
    ----------
    quantiles : ndarray of shape (q, d)
        Values of each column at the references, increasing.
    references : ndarray of shape (q,)
        Shares, from 0 to 1.
    is_normal : bool
        Whether shares become quantiles of the normal law, cut at `LOWEST` and
        `HIGHEST`.

    Notes
    -----
    A value between quantiles is interpolated; where several quantiles are equal, the
    mean of the interpolations from below and from above counts. The largest quantile
    has share 1 and the smallest has 0, also if they are equal: then 0. For the normal
    law this holds for all values above or below them, and up to 1e-7 inside.
    """

    quantiles: np.ndarray
    references: np.ndarray
    is_normal: bool

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        columns = zip(X.T, self.quantiles.T, strict=True)
        shares = np.column_stack([self._shares(x, q) for x, q in columns])
        return np.clip(_normal(shares), LOWEST, HIGHEST) if self.is_normal else shares

    def _shares(self, x: np.ndarray, q: np.ndarray) -> np.ndarray:
        above = np.interp(x, q, self.references)
        below = -np.interp(-x, -q[::-1], -self.references[::-1])
        share = 0.5 * (above + below)
        is_first, is_last = x == q[0], x == q[-1]
        if self.is_normal:
            is_first, is_last = x - _NEAR < q[0], x + _NEAR > q[-1]
        share = np.where(is_first, 0.0, np.where(is_last, 1.0, share))
        return np.where(np.isnan(x), np.nan, share)


# How near to the ends counts as the end, and the normal quantiles at which scikit-learn
# cuts: those of 1e-7 and 1 - 1e-7, whose sizes differ in the tenth digit.
_NEAR = 1e-7
LOWEST = -5.199337582605575
HIGHEST = 5.19933758270342


@dataclass(frozen=True, eq=False)
class Branches:
    """Several lists of steps on the same row; their results stand side by side."""

    branches: tuple[tuple[Step, ...], ...]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows after the step."""
        return np.hstack([apply_steps(steps, X) for steps in self.branches])


Step = (
    Affine
    | Linear
    | Clip
    | Take
    | Fill
    | Flag
    | OneHot
    | Encode
    | Power
    | Quantiles
    | Branches
)


def apply_steps(steps: Sequence[Step], X: np.ndarray) -> np.ndarray:
    """Return the rows after all steps."""
    for step in steps:
        X = step(X)
    return X


def _is_missing(X: np.ndarray, missing: float) -> np.ndarray:
    return np.isnan(X) if np.isnan(missing) else np.equal(X, missing)


def _looked_up(x: np.ndarray, known: np.ndarray, results: Any, other: Any) -> Any:
    """Return the result of each category in x, ``other`` for unknown ones."""
    out = np.full(len(x), other, dtype=np.float64)
    for category, result in zip(known, results, strict=True):
        out[_is_missing(x, category)] = result
    return out


def _power_of(logs: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return (exp(λ log) - 1) / λ, the logarithm itself for λ = 0."""
    is_zero = np.abs(powers) < np.spacing(1.0)
    safe = np.where(is_zero, 1.0, powers)
    with np.errstate(over="ignore"):
        return np.where(is_zero, logs, np.expm1(safe * logs) / safe)


def _normal(shares: np.ndarray) -> np.ndarray:
    """Return the quantiles of the normal law, by Wichura's algorithm AS 241 (1988).

    Relative errors are below 1e-15.
    """
    q = shares - 0.5
    center = 0.180625 - q * q
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.sqrt(-np.log(np.minimum(shares, 1.0 - shares)))
        tail = np.where(
            r <= 5.0, _quotient(r - 1.6, _MIDDLE), _quotient(r - 5.0, _TAIL)
        )
        tail = np.where(np.isinf(r), np.inf, tail)
        inside = q * _quotient(center, _CENTER)
    return np.where(np.abs(q) <= 0.425, inside, np.sign(q) * tail)


def _quotient(x: np.ndarray, polynomials: Sequence[Sequence[float]]) -> np.ndarray:
    above, below = (np.polyval(p[::-1], x) for p in polynomials)
    return np.asarray(above / below)


_CENTER = (
    (
        3.387132872796366608,
        133.14166789178437745,
        1971.5909503065514427,
        13731.693765509461125,
        45921.953931549871457,
        67265.770927008700853,
        33430.575583588128105,
        2509.0809287301226727,
    ),
    (
        1,
        42.313330701600911252,
        687.1870074920579083,
        5394.1960214247511077,
        21213.794301586595867,
        39307.89580009271061,
        28729.085735721942674,
        5226.495278852854561,
    ),
)
_MIDDLE = (
    (
        1.42343711074968357734,
        4.6303378461565452959,
        5.7694972214606914055,
        3.64784832476320460504,
        1.27045825245236838258,
        0.24178072517745061177,
        0.0227238449892691845833,
        7.7454501427834140764e-4,
    ),
    (
        1,
        2.05319162663775882187,
        1.6763848301838038494,
        0.68976733498510000455,
        0.14810397642748007459,
        0.0151986665636164571966,
        5.475938084995344946e-4,
        1.05075007164441684324e-9,
    ),
)
_TAIL = (
    (
        6.6579046435011037772,
        5.4637849111641143699,
        1.7848265399172913358,
        0.29656057182850489123,
        0.026532189526576123093,
        0.0012426609473880784386,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1,
        0.59983220655588793769,
        0.13692988092273580531,
        0.0148753612908506148525,
        7.868691311456132591e-4,
        1.8463183175100546818e-5,
        1.4215117583164458887e-7,
        2.04426310338993978564e-15,
    ),
)
