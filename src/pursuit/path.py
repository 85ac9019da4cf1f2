"""Every step of a pursuit, in order, and why it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular


@dataclass(frozen=True, eq=False)
class Path:
    """The nested models of one pursuit, from the empty one to the largest.

    A path is a value: nothing changes it.  ``len(path)`` is the number of steps.

    Attributes
    ----------
    atoms : ndarray of shape (n_steps,)
        The atom chosen at each step, as an index into the dictionary.
    triangle : ndarray
        Upper triangular: the chosen atoms (after the constant, where there is one) in
        terms of the orthonormal directions.
    loads : ndarray of shape (n_directions, n_outputs)
        The directions' coefficients.
    errors : ndarray of shape (n_steps + 1,)
        Mean squared training error (summed over outputs) at sizes 0, 1, ..., n_steps.
    gains : ndarray of shape (n_steps,)
        The score that won each step: the drop of the (penalised) squared error for
        pre-fitting and basic, the basic criterion for back-fitting.
    has_intercept : bool
    stop_reason : str
    means : ndarray of shape (n_outputs,), optional
        The intercept of the empty model, exact where a target is a constant.
    """

    atoms: np.ndarray
    triangle: np.ndarray
    loads: np.ndarray
    errors: np.ndarray
    gains: np.ndarray
    has_intercept: bool
    stop_reason: str
    means: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def support(self) -> np.ndarray:
        """The distinct atoms, in the order of their first choice."""
        return _first_occurrences(self.atoms)[0]

    @property
    def positions(self) -> np.ndarray:
        """Where each step's atom stands in :attr:`support`."""
        return _first_occurrences(self.atoms)[1]

    def coefficients(self, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return support, coefficients and intercept of the model after ``size`` steps.

        Returns
        -------
        support : ndarray of shape (n_support,)
            Distinct atoms in the order of their first choice.
        coef : ndarray of shape (n_outputs, n_support)
        intercept : ndarray of shape (n_outputs,)
        """
        size = self._checked(size)
        if not size and self.means is not None:
            return self.atoms[:0], np.zeros((len(self.means), 0)), self.means
        first = int(self.has_intercept)
        b = size + first
        solved = solve_triangular(self.triangle[:b, :b], self.loads[:b]) if b else None
        n_outputs = self.loads.shape[1]
        intercept = np.zeros(n_outputs) if not first or solved is None else solved[0]
        if not size or solved is None:
            return self.atoms[:0], np.zeros((n_outputs, 0)), intercept
        # The basic method may choose an atom again: its coefficients add up.
        support, position = _first_occurrences(self.atoms[:size])
        coef = np.zeros((n_outputs, len(support)))
        np.add.at(coef.T, position, solved[first:])
        return support, coef, intercept

    def truncate(self, size: int) -> Path:
        """Return the path's first ``size`` steps."""
        size = self._checked(size)
        b = size + int(self.has_intercept)
        return replace(
            self,
            atoms=self.atoms[:size],
            triangle=self.triangle[:b, :b],
            loads=self.loads[:b],
            errors=self.errors[: size + 1],
            gains=self.gains[:size],
        )

    def _checked(self, size: int) -> int:
        if not 0 <= size <= len(self):
            raise ValueError(
                f"size={size!r} is not on the path, which has sizes 0 to {len(self)}."
            )
        return int(size)


@dataclass(frozen=True, eq=False)
class SeparatePaths:
    """One path for each output, read as one: a model of size n has n steps of each.

    Attributes
    ----------
    paths : tuple of Path
    """

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return max(len(path) for path in self.paths)

    @property
    def support(self) -> np.ndarray:
        """The distinct atoms of all paths, in the order of steps, then of outputs."""
        steps = np.concatenate([np.arange(len(path)) for path in self.paths])
        atoms = np.concatenate([path.atoms for path in self.paths])
        return _first_occurrences(atoms[np.argsort(steps, kind="stable")])[0]

    def truncate(self, size: int) -> SeparatePaths:
        """Return the first ``size`` steps of each path."""
        return SeparatePaths(tuple(p.truncate(min(size, len(p))) for p in self.paths))

    @property
    def errors(self) -> np.ndarray:
        """Mean squared training error, summed over outputs, at sizes 0, 1, ..."""
        size = len(self) + 1
        return np.sum(
            [np.pad(p.errors, (0, size - len(p.errors)), "edge") for p in self.paths],
            axis=0,
        )

    @property
    def stop_reason(self) -> str:
        """Why the longest path ended."""
        return max(self.paths, key=len).stop_reason

    def coefficients(
        self, size: int | Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return support, coefficients and intercept, as :meth:`Path.coefficients`.

        ``size`` may give each output a size of its own.
        """
        sizes = [size] * len(self.paths) if isinstance(size, int) else list(size)
        if isinstance(size, int) and not 0 <= size <= len(self):
            raise ValueError(
                f"size={size!r} is not on the path, which has sizes 0 to {len(self)}."
            )
        parts = [
            path.coefficients(min(n, len(path)))
            for path, n in zip(self.paths, sizes, strict=True)
        ]
        used = np.concatenate([support for support, _, _ in parts])
        support = self.support[np.isin(self.support, used)]
        place = {int(atom): j for j, atom in enumerate(support)}
        coef = np.zeros((len(parts), len(support)))
        for row, (own, values, _) in zip(coef, parts, strict=True):
            row[[place[int(atom)] for atom in own]] = values[0]
        return support, coef, np.concatenate([b for _, _, b in parts])


def _first_occurrences(atoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct atoms in order of appearance, and where each one went."""
    distinct, first, inverse = np.unique(atoms, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[inverse]
