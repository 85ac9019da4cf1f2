"""Exact one-versus-rest support vector machines on many rows, by chunking.

The machine of one class is solved on some rows; rows inside its margin are added, the
worst first, until there are none (Osuna, Freund and Girosi, 1997). The solution is that
of all rows, at the cost of some thousand columns of the kernel matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

# Up to this many rows, all are used at once; otherwise so many random ones at first.
ALL_ROWS = 8000
FIRST_ROWS = 3000
# Maximum number of rows added at a time.
MORE_ROWS = 2000
# Tolerance of the margin, as in libsvm.
TOLERANCE = 1e-3
# Maximum bytes of columns kept from one class to the next.
KEPT = 2 << 30
# Number of kernel values computed at a time.
BLOCK = 1 << 25


@dataclass(frozen=True)
class Machines:
    """One machine per class, ``f_c(x) = Σ α_ci exp(-|x - x_i|²/σ²) + b_c``.

    Attributes
    ----------
    classes : ndarray of shape (C,)
    support : ndarray of shape (n,)
        Rows that are support vectors of any machine.
    X : ndarray of shape (n, d)
        Support vectors.
    coefficients : ndarray of shape (n, C)
    intercepts : ndarray of shape (C,)
    sigma : float
    """

    classes: np.ndarray
    support: np.ndarray
    X: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    sigma: float

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the values (n, C) of the machines."""
        step = max(1, BLOCK // len(self.X))
        parts = [
            _kernel(X[a : a + step], self.X, self.sigma) @ self.coefficients
            for a in range(0, len(X), step)
        ]
        return np.concatenate(parts) + self.intercepts

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with the highest value."""
        return self.classes[self.decision_function(X).argmax(axis=1)]


@dataclass(frozen=True)
class OneVersusRest:
    """Settings of the machines: width σ of ``exp(-|x - z|²/σ²)``, and C."""

    sigma: float
    C: float

    def fit(self, X: np.ndarray, y: np.ndarray) -> Machines:
        """Fit a machine of each class against the rest."""
        return fit(X, y, self.sigma, self.C)


class Columns:
    """Columns of the kernel matrix, computed on demand.

    They are stored in single precision, as in libsvm.
    """

    def __init__(self, X: np.ndarray, sigma: float):
        self.X, self.sigma = X, sigma
        self.clear()

    def clear(self) -> None:
        """Drop all columns."""
        self.rows = np.empty(0, dtype=np.intp)
        self._blocks: list[np.ndarray] = []
        self._gram: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Number of bytes of the columns."""
        return sum(block.nbytes for block in self._blocks)

    def add(self, rows: np.ndarray) -> None:
        """Compute the columns of these rows, which must not be present yet."""
        block = np.empty((len(rows), len(self.X)), dtype=np.float32)
        step = max(1, BLOCK // max(1, len(rows)))
        for a in range(0, len(self.X), step):
            part = self.X[a : a + step]
            block[:, a : a + step] = _kernel(self.X[rows], part, self.sigma)
        self._blocks.append(block)
        self._gram = None
        self.rows = np.append(self.rows, rows)

    def gram(self) -> np.ndarray:
        """Return the kernel matrix of the rows whose columns are present."""
        if self._gram is None:
            self._gram = np.empty((len(self.rows), len(self.rows)))
            first = 0
            for block in self._blocks:
                self._gram[first : first + len(block)] = block[:, self.rows]
                first += len(block)
        return self._gram

    def combine(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the weighted sum (l,) of the columns."""
        cuts = np.cumsum([len(block) for block in self._blocks])[:-1]
        parts = np.split(coefficients.astype(np.float32), cuts)
        pairs = zip(parts, self._blocks, strict=True)
        total = np.zeros(len(self.X))
        for part, block in pairs:
            total += part @ block
        return total


def fit(
    X: np.ndarray, y: np.ndarray, sigma: float, C: float, columns: Columns | None = None
) -> Machines:
    """Fit a machine for each class against the rest.

    Parameters
    ----------
    X : ndarray of shape (l, d)
        Rows.
    y : ndarray of shape (l,)
        Class labels.
    sigma : float
        Width of the kernel ``exp(-|x - z|²/σ²)``.
    C : float
        Box constraint.
    columns : Columns, optional
        Columns for these rows and this width, from an earlier fit with another C.

    Returns
    -------
    machines : Machines
        One for each class.
    """
    classes = np.unique(y)
    columns = columns or Columns(X, sigma)
    solutions = [_solve(columns, np.where(y == c, 1.0, -1.0), C) for c in classes]
    support = np.unique(np.concatenate([rows for rows, _, _ in solutions]))
    coefficients = np.zeros((len(support), len(classes)))
    for c, (rows, values, _) in enumerate(solutions):
        coefficients[np.searchsorted(support, rows), c] = values
    intercepts = np.array([b for _, _, b in solutions])
    return Machines(classes, support, X[support], coefficients, intercepts, sigma)


def _solve(
    columns: Columns, sign: np.ndarray, C: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return support vectors, coefficients and intercept of one machine."""
    _start(columns, sign)
    is_known = np.zeros(len(sign), dtype=bool)
    while True:
        rows = columns.rows
        is_known[rows] = True
        machine = SVC(C=C, kernel="precomputed", cache_size=500, tol=TOLERANCE)
        machine.fit(columns.gram(), sign[rows])
        coefficients = np.zeros(len(rows))
        coefficients[machine.support_] = machine.dual_coef_[0]
        b = float(machine.intercept_[0])
        margin = sign * (columns.combine(coefficients) + b)
        inside = np.flatnonzero((margin < 1.0 - 2.0 * TOLERANCE) & ~is_known)
        if len(inside) == 0:
            used = machine.support_
            return rows[used], coefficients[used], b
        columns.add(inside[np.argsort(margin[inside], kind="stable")[:MORE_ROWS]])


def _start(columns: Columns, sign: np.ndarray) -> None:
    """Ensure that there are columns of both classes to start with."""
    if columns.nbytes > KEPT:
        columns.clear()
    if len(columns.rows) and len(np.unique(sign[columns.rows])) == 2:
        return
    columns.clear()
    columns.add(_first_rows(sign))


def _first_rows(sign: np.ndarray) -> np.ndarray:
    n = len(sign)
    if n <= ALL_ROWS:
        return np.arange(n)
    drawn = np.random.default_rng(0).permutation(n)[:FIRST_ROWS]
    # At least one row of each sign, also for rare classes.
    each = [np.flatnonzero(sign == s)[0] for s in (-1.0, 1.0)]
    return np.unique(np.append(drawn, each))


def _kernel(X: np.ndarray, Y: np.ndarray, sigma: float) -> np.ndarray:
    return rbf_kernel(X, Y, gamma=1.0 / sigma**2)


def choose(
    train: tuple[np.ndarray, np.ndarray],
    validation: tuple[np.ndarray, np.ndarray],
    sigmas: Sequence[float],
    Cs: Sequence[float],
) -> list[dict[str, Any]]:
    """Return the validation mistakes of every width and C, best first.

    Ties go to the smallest C, then to the largest width.
    """
    (X, y), (X_valid, y_valid) = train, validation
    trials = []
    for sigma in sigmas:
        columns = Columns(X, sigma)
        for C in Cs:
            wrong = fit(X, y, sigma, C, columns).predict(X_valid) != y_valid
            trials.append({"sigma": sigma, "C": C, "errors": int(wrong.sum())})
    return sorted(trials, key=lambda r: (r["errors"], r["C"], -r["sigma"]))
