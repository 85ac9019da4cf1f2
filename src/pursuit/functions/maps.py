"""Functions without centers: products of features, outputs of maps, columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from pursuit.engine.atoms import Atoms, Evaluate, StoredAtoms
from pursuit.engine.image import image_size

from ._base import Functions, is_hollow, median_square, spread


@dataclass(frozen=True, eq=False, repr=False)
class Monomials(Functions):
    """Products of features; the empty product is the constant 1.

    Attributes
    ----------
    factors : tuple of tuples of int
        Features in each product.
    feature_names : tuple of str
        Names of all features.
    """

    factors: tuple[tuple[int, ...], ...]
    feature_names: tuple[str, ...]

    @property
    def rows(self) -> np.ndarray:
        """-1 for each function: none is centered on a row."""
        return np.full(len(self.factors), -1)

    def __getitem__(self, index: Any) -> Monomials:
        chosen = np.arange(len(self))[index]
        return replace(self, factors=tuple(self.factors[i] for i in chosen))

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) of the functions at the rows of X."""
        out = np.ones((X.shape[0], len(self)))
        # Take the features in use at once: single columns of CSR are slow.
        used = sorted({feature for factors in self.factors for feature in factors})
        columns = X[:, used]
        columns = columns.toarray() if sp.issparse(columns) else columns
        at = {feature: i for i, feature in enumerate(used)}
        with np.errstate(over="ignore"):
            for j, factors in enumerate(self.factors):
                for feature in factors:
                    out[:, j] *= columns[:, at[feature]]
        return out

    @property
    def names(self) -> list[str]:
        """A short description of each function."""
        return [self._name(factors) for factors in self.factors]

    def _name(self, factors: tuple[int, ...]) -> str:
        if not factors:
            return "constant"
        powers = {i: factors.count(i) for i in factors}
        names = [
            self.feature_names[i] + (f"^{power}" if power > 1 else "")
            for i, power in powers.items()
        ]
        return "feature " + " × ".join(names)


@dataclass(frozen=True, eq=False, repr=False)
class Outputs(Functions):
    """Some columns of the output of a map.

    Attributes
    ----------
    apply : callable
        ``apply(X)`` returns an array (n, P), or (n,) for P = 1.
    title : str
        Name of the map.
    column_names : tuple of str
        Names of the chosen columns.
    columns : ndarray of int of shape (M,)
        Indices of the chosen columns.
    n_columns : int
        Number P of all columns.
    """

    apply: Callable[[Any], Any]
    title: str
    column_names: tuple[str, ...]
    columns: np.ndarray
    n_columns: int

    @property
    def rows(self) -> np.ndarray:
        """-1 for each function: none is centered on a row."""
        return np.full(len(self.columns), -1)

    def __getitem__(self, index: Any) -> Outputs:
        chosen = np.arange(len(self))[index]
        names = tuple(self.column_names[i] for i in chosen)
        return replace(self, columns=self.columns[chosen], column_names=names)

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) of the functions at the rows of X."""
        if not len(self):
            return np.empty((X.shape[0], 0))
        values = as_columns(self.apply(X), X.shape[0], self.title)
        if values.shape[1] != self.n_columns:
            raise ValueError(
                f"{self.title} returned {values.shape[1]} columns, but "
                f"{self.n_columns} when the model was fitted."
            )
        is_all = np.array_equal(self.columns, np.arange(self.n_columns))
        return values if is_all else values[:, self.columns]

    @property
    def names(self) -> list[str]:
        """A short description of each function."""
        return list(self.column_names)

    def held_bytes(self, n_rows: int) -> int:
        """Return the bytes of all columns, computed at once, and of their transpose."""
        return 8 * n_rows * (self.n_columns + len(self))

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return a function that looks up columns of the output, computed once."""
        values = np.ascontiguousarray(self(X).T, dtype=dtype)

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            if out is None:
                return values[index]
            out[...] = values[index]
            return out

        return evaluate


def as_columns(values: Any, n_rows: int, title: str) -> np.ndarray:
    """Return the output of a map as a finite array (n, P), or raise a ValueError."""
    values = values.toarray() if sp.issparse(values) else values
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{title} returned values that are not numbers.") from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n_rows:
        raise ValueError(
            f"{title} returned an array of shape {values.shape} for {n_rows} rows: "
            "return a value, or a row of values, for each row of X."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{title} returned NaN or inf.")
    return values


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Functions):
    """Columns of a matrix that is given in place of X.

    Attributes
    ----------
    numbers : ndarray of int of shape (M,)
        Indices of the columns.
    n_columns : int
        Number of columns of the whole matrix.
    on_rows : bool
        Whether column i belongs to training row i, as in a kernel matrix.
    """

    numbers: np.ndarray
    n_columns: int
    on_rows: bool

    @property
    def rows(self) -> np.ndarray:
        """The training row on which each function is centered, -1 for none."""
        return self.numbers if self.on_rows else np.full(len(self.numbers), -1)

    def __getitem__(self, index: Any) -> Columns:
        return replace(self, numbers=self.numbers[index])

    def __call__(self, X: Any) -> np.ndarray:
        """Return these columns of X, or X itself if it has no others."""
        return X[:, self.numbers] if X.shape[1] == self.n_columns else X

    @property
    def names(self) -> list[str]:
        """A short description of each function."""
        return [f"column {number}" for number in self.numbers]

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return the squared mean of the diagonal of a kernel matrix.

        If that is 0, it is the median of the columns' weighted mean squares.
        """
        if not self.on_rows:
            return super().scale(X, weight)
        some = self.numbers[spread(len(self))]
        if is_hollow(X[np.ix_(some, some)]):
            return median_square(X[:, self.numbers], weight)
        mean = weight @ np.abs(np.diagonal(X)) / weight.sum()
        with np.errstate(over="ignore", under="ignore"):
            return float(np.square(mean))

    def on(
        self, X: Any, memory: int, dtype: Any = np.float64, n_images: int = 1
    ) -> Atoms:
        """Return a copy of the columns as atoms; images get the rest of the memory."""
        stored = np.ascontiguousarray(X[:, self.numbers].T, dtype=dtype)
        size = image_size(X.shape[0], len(self), (memory - stored.nbytes) // n_images)
        return StoredAtoms(stored, size)
