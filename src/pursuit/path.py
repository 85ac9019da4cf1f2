"""Paths: all steps of a pursuit, in order, and why it stopped.

`SeparatePaths` holds a `Path` for each output. Both have ``paths``, ``support``,
``errors``, ``coefficients``, ``staged_values`` and ``truncate``; a size may be a number
for each path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular

# The number of steps, of all paths or of each.
Size = int | Sequence[int]


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """The nested models of one pursuit, from the empty one to the largest.

    A path is immutable. ``len(path)`` is the number of steps.

    Attributes
    ----------
    atoms : ndarray of shape (n_steps,)
        Atom chosen at each step, as an index into the dictionary.
    errors : ndarray of shape (n_steps + 1,)
        Mean training loss (summed over outputs) at sizes 0, 1, ..., n_steps.
    gains : ndarray of shape (n_steps,)
        Score of the chosen atom at each step: the decrease of the penalized loss that
        pre-fitting and basic predict (for the squared loss, the decrease itself), or
        the basic criterion for back-fitting.
    has_intercept : bool
    stop_reason : str
        One word: "max_support", "patience", "exact" ..., or "truncated" for a part of
        a path.
    """

    atoms: np.ndarray
    errors: np.ndarray
    gains: np.ndarray
    has_intercept: bool
    stop_reason: str

    def __len__(self) -> int:
        return len(self.atoms)

    def __repr__(self) -> str:
        first, last = self.errors[[0, -1]]
        return (
            f"{type(self).__name__}({len(self)} steps, training loss {first:.3g} -> "
            f"{last:.3g}, stopped: {self.stop_reason})"
        )

    @property
    def paths(self) -> tuple[Self]:
        """The path itself, the only one here."""
        return (self,)

    @property
    def support(self) -> np.ndarray:
        """The distinct atoms, in the order of their first choice."""
        return _first_occurrences(self.atoms)[0]

    @property
    def positions(self) -> np.ndarray:
        """The position of each step's atom in :attr:`support`."""
        return _first_occurrences(self.atoms)[1]

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        raise NotImplementedError

    def coefficients(self, size: Size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return support, coefficients and intercept of the model after ``size`` steps.

        Returns
        -------
        support : ndarray of shape (n_support,)
            Distinct atoms in the order of their first choice.
        coef : ndarray of shape (n_outputs, n_support)
        intercept : ndarray of shape (n_outputs,)
        """
        (size,) = _sizes(self, size)
        solved = self._coefficients_of_steps(size)
        first = int(self.has_intercept)
        intercept = solved[0] if first else np.zeros(self.n_outputs)
        # The basic method may choose an atom several times: its coefficients add up.
        support, position = _first_occurrences(self.atoms[:size])
        coef = np.zeros((self.n_outputs, len(support)))
        np.add.at(coef.T, position, solved[first:])
        return support, coef, intercept

    def _coefficients_of_steps(self, size: int) -> np.ndarray:
        """Return the coefficients (b, n_outputs) of the constant and of each step."""
        raise NotImplementedError

    def staged_values(self, K: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the values (n, n_outputs) of the models of sizes 1, 2, ...

        ``K`` (n, n_distinct_atoms) holds the values of the atoms :attr:`support`.
        """
        raise NotImplementedError

    def _chosen_values(self, K: np.ndarray) -> np.ndarray:
        """Return the values of the constant, if there is one, and of each step."""
        chosen = K[:, self.positions]
        if self.has_intercept:
            chosen = np.column_stack([np.ones(len(K)), chosen])
        return chosen

    def truncate(self, size: Size) -> Self:
        """Return the path of the first ``size`` steps."""
        (size,) = _sizes(self, size)
        return replace(
            self,
            stop_reason="truncated" if size < len(self) else self.stop_reason,
            atoms=self.atoms[:size],
            errors=self.errors[: size + 1],
            gains=self.gains[:size],
            **self._shortened(size),
        )

    def _shortened(self, size: int) -> dict[str, Any]:
        """Return the additional fields of a subclass for the first ``size`` steps."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class OrthogonalPath(Path):
    """A path under squared loss, where a step does not change earlier directions.

    Attributes
    ----------
    triangle : ndarray
        Upper triangular: the chosen atoms (after the constant, if there is one) in
        terms of the orthonormal directions.
    loads : ndarray of shape (n_directions, n_outputs)
        Coefficients of the directions.
    means : ndarray of shape (n_outputs,), optional
        Intercept of the empty model, exact if a target is constant.
    """

    triangle: np.ndarray
    loads: np.ndarray
    means: np.ndarray | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: of the triangle only what is not zero."""
        upper = np.triu_indices(len(self.triangle))
        return {**self.__dict__, "triangle": self.triangle[upper]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read what a pickle holds; older ones hold all of the triangle."""
        self.__dict__.update(state)
        if self.triangle.ndim == 1:
            self.__dict__["triangle"] = upper_triangle(self.triangle)

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return self.loads.shape[1]

    def _coefficients_of_steps(self, size: int) -> np.ndarray:
        b = size + int(self.has_intercept)
        if not b:
            return self.loads[:0]
        if not size and self.means is not None:
            return self.means[None]
        return solve_triangular(self.triangle[:b, :b], self.loads[:b])

    def staged_values(self, K: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the values of the models of sizes 1, 2, ...

        One triangular solve gives the directions' values; each size adds a column.
        """
        if not len(self):
            return
        chosen = self._chosen_values(K)
        directions = solve_triangular(self.triangle, chosen.T, trans="T")
        first = int(self.has_intercept)
        values = directions[:first].T @ self.loads[:first]
        for direction, load in zip(directions[first:], self.loads[first:], strict=True):
            values = values + np.outer(direction, load)
            yield values

    def _shortened(self, size: int) -> dict[str, Any]:
        b = size + int(self.has_intercept)
        return {"triangle": self.triangle[:b, :b], "loads": self.loads[:b]}


@dataclass(frozen=True, eq=False, repr=False)
class RefittedPath(Path):
    """A path that stores all coefficients at every size.

    Attributes
    ----------
    coefs : tuple of ndarray
        At sizes 0, 1, ...: the coefficients (n_outputs, b) of the constant, if there
        is one, and of each step.
    """

    coefs: tuple[np.ndarray, ...]

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return len(self.coefs[0])

    def _coefficients_of_steps(self, size: int) -> np.ndarray:
        return self.coefs[size].T

    def staged_values(self, K: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the values of the models of sizes 1, 2, ..."""
        chosen = self._chosen_values(K)
        for coef in self.coefs[1:]:
            yield chosen[:, : coef.shape[1]] @ coef.T

    def _shortened(self, size: int) -> dict[str, Any]:
        return {"coefs": self.coefs[: size + 1]}


@dataclass(frozen=True, eq=False, repr=False)
class SeparatePaths:
    """One path for each output; a model of size n has n steps of each path.

    Attributes
    ----------
    paths : tuple of Path
    """

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return max(len(path) for path in self.paths)

    def __repr__(self) -> str:
        shown = "".join(f"\n  {path!r}" for path in self.paths[:10])
        rest = len(self.paths) - 10
        more = f"\n  ... and {rest} more" if rest > 0 else ""
        return f"SeparatePaths of {len(self.paths)} outputs:{shown}{more}"

    @property
    def support(self) -> np.ndarray:
        """The distinct atoms of all paths, ordered by step, then by output."""
        steps = np.concatenate([np.arange(len(path)) for path in self.paths])
        atoms = np.concatenate([path.atoms for path in self.paths])
        return _first_occurrences(atoms[np.argsort(steps, kind="stable")])[0]

    def truncate(self, size: Size) -> SeparatePaths:
        """Return the first ``size`` steps of each path; sizes may differ by output."""
        parts = zip(self.paths, _sizes(self, size), strict=True)
        return SeparatePaths(tuple(p.truncate(min(n, len(p))) for p, n in parts))

    @property
    def errors(self) -> np.ndarray:
        """Mean training loss, summed over outputs, at sizes 0, 1, ..."""
        size = len(self) + 1
        return np.sum(
            [np.pad(p.errors, (0, size - len(p.errors)), "edge") for p in self.paths],
            axis=0,
        )

    @property
    def stop_reason(self) -> str:
        """Why the longest path ended."""
        return max(self.paths, key=len).stop_reason

    def coefficients(self, size: Size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return support, coefficients and intercept, as :meth:`Path.coefficients`.

        ``size`` may be a sequence with one size for each output.
        """
        parts = [
            path.coefficients(min(n, len(path)))
            for path, n in zip(self.paths, _sizes(self, size), strict=True)
        ]
        used = np.concatenate([support for support, _, _ in parts])
        support = self.support[np.isin(self.support, used)]
        place = {int(atom): j for j, atom in enumerate(support)}
        coef = np.zeros((len(parts), len(support)))
        for row, (support_of_part, values, _) in zip(coef, parts, strict=True):
            row[[place[int(atom)] for atom in support_of_part]] = values[0]
        return support, coef, np.concatenate([b for _, _, b in parts])

    def staged_values(self, K: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the values (n, n_outputs) of the models of sizes 1, 2, ..."""
        place = {int(atom): j for j, atom in enumerate(self.support)}
        columns = [[place[int(atom)] for atom in p.support] for p in self.paths]
        stages = [
            p.staged_values(K[:, places])
            for p, places in zip(self.paths, columns, strict=True)
        ]
        values = [np.tile(p.coefficients(0)[2], (len(K), 1)) for p in self.paths]
        for _ in range(len(self)):
            values = [next(s, v) for s, v in zip(stages, values, strict=True)]
            yield np.column_stack(values)


def upper_triangle(numbers: np.ndarray) -> np.ndarray:
    """Return the upper triangular matrix (b, b) with these numbers, row by row."""
    b = (int(np.sqrt(8 * len(numbers) + 1)) - 1) // 2
    triangle = np.zeros((b, b), dtype=numbers.dtype)
    triangle[np.triu_indices(b)] = numbers
    return triangle


def join(paths: Sequence[Path]) -> Path | SeparatePaths:
    """Return one path as it is, or the paths of several outputs as one."""
    return paths[0] if len(paths) == 1 else SeparatePaths(tuple(paths))


def _sizes(path: Path | SeparatePaths, size: Size) -> list[int]:
    """Return the size of each path: its own, or the one that all have."""
    sizes = np.broadcast_to(np.asarray(size), len(path.paths))
    is_whole = sizes.dtype.kind in "iu"
    if not is_whole or not np.all((sizes >= 0) & (sizes <= len(path))):
        raise ValueError(
            f"size={size!r} is not on the path, which has the whole sizes 0 to "
            f"{len(path)}."
        )
    return sizes.astype(int).tolist()


def _first_occurrences(atoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct atoms in order of appearance, and each atom's position."""
    distinct, first, inverse = np.unique(atoms, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[inverse]
