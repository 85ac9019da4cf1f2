"""The value of a bound, and its curve along a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


class Bound(float):
    """Value of a bound, with the largest value of the loss that it bounds.

    Parameters
    ----------
    value : float
    ceiling : float
        Largest value of the loss; a bound of this or more is vacuous.
    """

    ceiling: float

    def __new__(cls, value: float, ceiling: float = 1.0) -> Bound:
        bound = super().__new__(cls, value)
        bound.ceiling = float(ceiling)
        return bound

    def __getnewargs__(self) -> Any:
        return float(self), self.ceiling

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound is at least the largest value of the loss."""
        return not self < self.ceiling

    def __repr__(self) -> str:
        note = f", vacuous: the loss is at most {self.ceiling:g}"
        return f"Bound({float(self):.6g}{note if self.is_vacuous else ''})"

    __str__ = __repr__


@dataclass(frozen=True, eq=False)
class BoundCurve:
    """A bound at sizes 0, 1, ... of a path; converts to an array.

    Attributes
    ----------
    kind : str
        Name of the bound.
    values : ndarray of shape (n_steps + 1,)
    ceiling : float
        Largest value of the loss.
    terms : ndarray of shape (n_steps + 1,) or None
        Where a value is the lowest of all terms up to its size: the terms, whose
        minimum shows in a plot.
    """

    kind: str
    values: np.ndarray
    ceiling: float = 1.0
    terms: np.ndarray | None = None

    @classmethod
    def lowest_so_far(cls, kind: str, terms: Any, ceiling: float) -> BoundCurve:
        """Return the curve of a bound that is a minimum over all smaller sizes."""
        terms = np.array(terms, dtype=np.float64)
        return cls(kind, np.minimum.accumulate(terms), ceiling, terms)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, size: Any) -> Any:
        value = self.values[size]
        return Bound(value, self.ceiling) if np.ndim(value) == 0 else value

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    @property
    def best_size(self) -> int:
        """The size with the lowest bound; ties go to the smallest."""
        return int(np.argmin(self.values))

    @property
    def lowest(self) -> Bound:
        """The lowest bound."""
        return Bound(self.values.min(), self.ceiling)

    @property
    def is_vacuous(self) -> bool:
        """Whether even the lowest bound is vacuous."""
        return self.lowest.is_vacuous

    def __repr__(self) -> str:
        return (
            f"BoundCurve({self.kind!r}, lowest {self.lowest!r} at size "
            f"{self.best_size} of {len(self) - 1})"
        )
