"""What a prediction computes, as plain numbers and words: the `Formula`.

Every export (C, JavaScript, NumPy, ONNX) and the portable part of a model file are
written from a formula, never from an estimator. For a row x it says

    x     <- steps of the preparation, in order
    v_i   =  values of the functions, group by group
    f     =  coef @ v + intercept
    answer from f: a number, or a class and perhaps probabilities.

A group of functions is a kernel with its centers. A kernel is a tree whose leaves
compare the row, moved by ``origin`` and mapped by ``factor``, with centers that are
stored mapped: what a learned metric costs is one small product per row.

What follows the imports needs NumPy alone: `to_numpy` copies it.

Letters: d features after the preparation, m functions of a group, r coordinates after
the map of a leaf, T outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .coding import coded_rows
from .errors import UnsupportedError
from .steps import Input, Step, apply_steps

__all__ = [
    "Answer",
    "Combination",
    "Comparison",
    "Formula",
    "KernelGroup",
    "MonomialGroup",
    "UnsupportedError",
]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A leaf of a kernel: a profile of how near the row is to each center.

    Attributes
    ----------
    quantity : {"squared-distance", "absolute-distance", "product", "cosine"}
        q_i of the mapped row y = (x - origin) A and the center z_i: Σ (y - z_i)²,
        Σ |y - z_i|, y·z_i, or y·z_i / |y| with centers of length 1 (0 for y = 0).
    profile : {"exponential", "matern", "inverse-multiquadric", "polynomial", "tanh", \
"identity"}
        The value: exp(-gamma q); with t = sqrt(2 nu gamma q) exp(-t), (1 + t) exp(-t)
        or (1 + t + t²/3) exp(-t) for nu = 0.5, 1.5, 2.5; 1 / sqrt(1 + gamma q);
        (gamma q + coef0)^degree; tanh(gamma q + coef0); q.
    centers : ndarray of shape (m, r)
        Centers, mapped.
    gamma : ndarray of shape (1,) or (m,)
        One width for all centers, or one for each.
    factor : ndarray of shape (d,) or (d, r), optional
        A: scales of the columns, or a matrix; None for no map.
    origin : ndarray of shape (d,), optional
        Subtracted from rows before the map, so that few digits are lost; only where
        the quantity is a distance.
    nu, coef0, degree
        Parameters of profiles that have them.
    """

    quantity: str
    profile: str
    centers: np.ndarray
    gamma: np.ndarray
    factor: np.ndarray | None = None
    origin: np.ndarray | None = None
    nu: float = 0.5
    coef0: float = 0.0
    degree: int = 1

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the values (n, m) at prepared rows."""
        Y = X if self.origin is None else X - self.origin
        if self.factor is not None:
            Y = Y * self.factor if self.factor.ndim == 1 else Y @ self.factor
        return self._profiled(self._quantities(Y))

    def _quantities(self, Y: np.ndarray) -> np.ndarray:
        if self.quantity == "product":
            return np.asarray(Y @ self.centers.T)
        if self.quantity == "cosine":
            lengths = np.linalg.norm(Y, axis=1, keepdims=True)
            return np.asarray(Y @ self.centers.T / np.where(lengths > 0, lengths, 1.0))
        q = np.zeros((len(Y), len(self.centers)))
        for y, z in zip(Y.T, self.centers.T, strict=True):
            difference = y[:, None] - z
            is_squared = self.quantity == "squared-distance"
            q += difference**2 if is_squared else np.abs(difference)
        return q

    def _profiled(self, q: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            if self.profile == "exponential":
                return np.exp(-self.gamma * q)
            if self.profile == "matern":
                # Beyond 1e4 the exponential is 0, and inf * 0 would be NaN.
                t = np.sqrt(np.minimum(2.0 * self.nu * self.gamma * q, 1e8))
                square = t * t / 3.0 if self.nu == 2.5 else 0.0
                return np.exp(-t) * (1.0 + (t + square if self.nu > 0.5 else 0.0))
            if self.profile == "inverse-multiquadric":
                return np.asarray(1.0 / np.sqrt(1.0 + self.gamma * q))
            if self.profile == "polynomial":
                return np.asarray((self.gamma * q + self.coef0) ** self.degree)
            if self.profile == "tanh":
                return np.tanh(self.gamma * q + self.coef0)
        return q


@dataclass(frozen=True, eq=False)
class Combination:
    """A kernel made of kernels.

    Attributes
    ----------
    operation : {"sum", "product", "scaled", "constant"}
    operands : tuple of Comparison or Combination
        Two for sums and products, one to scale, none for a constant.
    number : float
        Factor of "scaled", value of "constant".
    """

    operation: str
    operands: tuple[Comparison | Combination, ...] = ()
    number: float = 1.0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the values (n, m) at prepared rows, (n, 1) for a constant."""
        values = [operand(X) for operand in self.operands]
        if self.operation == "sum":
            return values[0] + values[1]
        if self.operation == "product":
            return values[0] * values[1]
        if self.operation == "scaled":
            return self.number * values[0]
        return np.full((len(X), 1), self.number)


@dataclass(frozen=True, eq=False)
class KernelGroup:
    """Functions k(x, z_i) of one kernel.

    Attributes
    ----------
    kernel : Comparison or Combination
        All its comparisons have as many centers as the group has functions.
    n_functions : int
    """

    kernel: Comparison | Combination
    n_functions: int

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the values (n, m) at prepared rows."""
        return np.broadcast_to(self.kernel(X), (len(X), self.n_functions))


@dataclass(frozen=True, eq=False)
class MonomialGroup:
    """Products of features; an empty product is 1.

    Attributes
    ----------
    products : tuple of tuples of int
        Features in each product.
    """

    products: tuple[tuple[int, ...], ...]

    @property
    def n_functions(self) -> int:
        """The number of products."""
        return len(self.products)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the values (n, m) at prepared rows."""
        values = [X[:, list(p)].prod(axis=1) for p in self.products]
        return np.column_stack(values) if values else np.empty((len(X), 0))


@dataclass(frozen=True, eq=False)
class Answer:
    """What the outputs f mean.

    Attributes
    ----------
    kind : {"numbers", "classes"}
    link : {"identity", "exp", "logistic", "logistic-ovr", "softmax"}
        "exp" predicts exp(f). The last three give probabilities: 1 / (1 + exp(-2 f))
        of the second class; the same for each class, divided by their sum; the
        softmax of all outputs. A classifier with "identity" has none.
    labels : tuple of str, int, float or bool
        Classes, in order; empty for numbers. Two classes have one output: f > 0 is the
        second. More have one each: the largest is the class.
    is_single : bool
        Whether a prediction is one number rather than a row of them.
    factor : float
        By which outputs are multiplied before they become probabilities.
    """

    kind: str
    link: str
    labels: tuple[Any, ...] = ()
    is_single: bool = True
    factor: float = 1.0

    @property
    def has_probabilities(self) -> bool:
        """Whether the answer includes probabilities."""
        return self.kind == "classes" and self.link != "identity"

    def predictions(self, f: np.ndarray) -> np.ndarray:
        """Return numbers (n,) or (n, T), or labels (n,), for outputs (n, T)."""
        if self.kind == "numbers":
            numbers = np.exp(f) if self.link == "exp" else f
            return numbers[:, 0] if self.is_single else numbers
        return np.array(self.labels)[self.classes(f)]

    def classes(self, f: np.ndarray) -> np.ndarray:
        """Return the index of the class for outputs (n, T)."""
        if f.shape[1] == 1:
            return np.asarray((f[:, 0] > 0).astype(int))
        return np.asarray(f.argmax(axis=1))

    def probabilities(self, f: np.ndarray) -> np.ndarray:
        """Return the probabilities (n, n_classes)."""
        f = self.factor * f
        if self.link == "softmax":
            P = np.exp(f - f.max(axis=1, keepdims=True))
            return np.asarray(P / P.sum(axis=1, keepdims=True))
        if self.link == "logistic":
            with np.errstate(over="ignore"):
                return np.hstack([1.0 / (1.0 + np.exp(z)) for z in (2.0 * f, -2.0 * f)])
        # Logarithms, so that far from every class the quotient is still defined.
        logs = -np.logaddexp(0.0, -2.0 * f)
        P = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(P / P.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Formula:
    """A fitted model, or a pipeline that ends in one, as plain numbers and words.

    Attributes
    ----------
    inputs : tuple of Input
        Columns of a raw row.
    steps : tuple of Step
        Preparation of the row.
    groups : tuple of KernelGroup or MonomialGroup
        Functions of the prepared row.
    coef : ndarray of shape (T, M)
        Coefficients of the functions of all groups, in order.
    intercept : ndarray of shape (T,)
    answer : Answer
    """

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    groups: tuple[KernelGroup | MonomialGroup, ...]
    coef: np.ndarray
    intercept: np.ndarray
    answer: Answer

    @property
    def n_outputs(self) -> int:
        """The number T of outputs."""
        return len(self.intercept)

    @property
    def n_functions(self) -> int:
        """The number M of functions."""
        return self.coef.shape[1]

    def coded(self, X: Any) -> np.ndarray:
        """Return the numbers that `values` takes, for rows of a frame or an array.

        Words become codes, -1 if unknown; None, NaN and NA become NaN.
        """
        return coded_rows(self.inputs, X)

    def prepared(self, X: np.ndarray) -> np.ndarray:
        """Return the rows that the functions see, (n, d), for raw rows.

        Columns of categories hold codes, the places in ``Input.categories``.
        """
        return apply_steps(self.steps, np.asarray(X, dtype=np.float64))

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return f (n, T) at raw rows. The definition that every export is held to.

        A row without an answer has NaN: see `pursuit.export.steps`.
        """
        X = np.asarray(X, dtype=np.float64)
        n_rows = max(1, 2**15 // max(1, self.n_functions))  # 256 kB stay in cache
        blocks = [
            self._block_values(X[first : first + n_rows])
            for first in range(0, max(1, len(X)), n_rows)
        ]
        return np.concatenate(blocks)

    def answered(self, X: Any) -> np.ndarray:
        """Return f (n, T) at rows of a frame or an array.

        Raises
        ------
        ValueError
            If rows have no answer.
        """
        f = self.values(self.coded(X))
        rows = np.flatnonzero(np.isnan(f).any(axis=1))
        if len(rows):
            raise ValueError(
                f"Rows {rows[:10].tolist()} of {len(rows)} have no answer: they miss a "
                "value that the model needs, or hold a category that it does not know."
            )
        return f

    def _block_values(self, X: np.ndarray) -> np.ndarray:
        Z = self.prepared(X)
        f = np.tile(self.intercept, (len(Z), 1))
        first = 0
        for group in self.groups:
            last = first + group.n_functions
            f += group(Z) @ self.coef[:, first:last].T
            first = last
        return f

    def with_coefficients(self, coef: np.ndarray, intercept: np.ndarray) -> Formula:
        """Return the formula with other coefficients for the same functions."""
        return replace(self, coef=np.asarray(coef), intercept=np.asarray(intercept))
