"""How far rounding can move the values of a formula, row by row.

Every operation in floating-point numbers is right up to a relative error u, the unit.
The errors are carried along with the values, through the preparation, the kernels and
the sum, as in a running error analysis: what comes out bounds the difference between a
device and exact numbers, whatever the order in which it adds, up to terms of u².

Letters: X values, E bounds of their errors, u the unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatchmethod

import numpy as np
from scipy.special import ndtri

from pursuit.export.formula import (
    Combination,
    Comparison,
    Formula,
    KernelGroup,
    MonomialGroup,
)
from pursuit.export.steps import (
    Affine,
    Branches,
    Clip,
    Encode,
    Fill,
    Flag,
    Linear,
    OneHot,
    Power,
    Quantiles,
    Step,
    Take,
    apply_steps,
)

from .text import Number

__all__ = ["rounding_bounds"]

# Terms of u² are left out; this factor is far larger than they are.
_SECOND_ORDER = 1.05
# Relative error of functions of libm in units; good ones have one.
_LIBM = 4.0


def rounding_bounds(
    formula: Formula, X: np.ndarray, number: Number, exponential_error: float = 0.0
) -> np.ndarray:
    """Return bounds (n, T) of the error of f at raw rows.

    Parameters
    ----------
    formula : Formula
        Lowered: what the device computes.
    X : ndarray of shape (n, d)
        Raw rows, words as codes. Rounding them is part of the bound.
    number : Number
    exponential_error : float
        Relative error of an own exponential.
    """
    analysis = _Analysis(number, max(exponential_error, _LIBM * number.unit))
    with np.errstate(all="ignore"):
        return analysis.values(formula, X) * _SECOND_ORDER


@dataclass(frozen=True)
class _Analysis:
    number: Number
    exponential_error: float

    @property
    def u(self) -> float:
        return self.number.unit

    def rounding(self, values: np.ndarray) -> np.ndarray:
        """Return what is added to numbers when a device stores them."""
        if not self.number.is_float:
            return np.zeros_like(values)
        added = values.astype(np.float32) - values
        return np.asarray(np.where(np.isfinite(values), added, 0.0))

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """Return how far a device's numbers are from these."""
        return np.abs(self.rounding(values))

    # -- the whole -----------------------------------------------------------------

    def values(self, formula: Formula, X: np.ndarray) -> np.ndarray:
        Z = apply_steps(formula.steps, X)
        near = X + np.where(np.isfinite(X), self.rounding(X), 0.0)
        near, E = self.prepared(formula.steps, near, np.zeros_like(X))
        E = E + np.nan_to_num(np.abs(Z - near))
        coef, u = formula.coef, self.u
        T = formula.n_outputs
        error = np.tile(u * np.abs(formula.intercept), (len(X), 1))
        sums = np.tile(formula.intercept, (len(X), 1))
        first = 0
        for group in formula.groups:
            last = first + group.n_functions
            V, EV = self.functions(group, Z, E)
            for t in range(T):
                alpha = coef[t, first:last]
                terms = V * alpha
                error[:, t] += EV @ np.abs(alpha) + 2 * u * np.abs(terms).sum(axis=1)
                partial = sums[:, t, None] + np.cumsum(terms, axis=1)
                error[:, t] += u * np.abs(partial).sum(axis=1)
                sums[:, t] += terms.sum(axis=1)
            first = last
        return error

    def prepared(
        self, steps: Sequence[Step], X: np.ndarray, E: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return prepared rows, and how far a device may be from them.

        The rows begin as the device stores them: where a step jumps, it matters that
        rounding keeps equal numbers equal.
        """
        for step in steps:
            if isinstance(step, Branches):
                parts = [self.prepared(branch, X, E) for branch in step.branches]
                X, E = (np.hstack(part) for part in zip(*parts, strict=True))
                continue
            if isinstance(step, Quantiles):
                stored = step.quantiles + self.rounding(step.quantiles)
                step = replace(step, quantiles=stored)
            X, E = step(X), self.step(step, X, E)
        return X, E

    def functions(
        self, group: KernelGroup | MonomialGroup, Z: np.ndarray, E: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(group, KernelGroup):
            V, EV = self.kernel(group.kernel, Z, E)
            shape = (len(Z), group.n_functions)
            return np.broadcast_to(V, shape), np.broadcast_to(EV, shape)
        V = group(Z)
        wide = group(np.abs(Z) + E)
        lengths = np.array([len(p) for p in group.products])
        return V, wide - np.abs(V) + lengths * self.u * np.abs(V)

    # -- steps ---------------------------------------------------------------------

    @singledispatchmethod
    def step(self, step: Step, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(step).__name__} is no step.")

    @step.register
    def _(self, step: Affine, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        terms = np.abs(X * step.scale)
        return E * np.abs(step.scale) + 3 * self.u * (terms + np.abs(step.shift))

    @step.register
    def _(self, step: Linear, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        A = np.abs(step.matrix)
        return E @ A + (len(A) + 2) * self.u * (np.abs(X) @ A)

    @step.register
    def _(self, step: Clip, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        return _spread(step, X, E) + self.u * np.abs(step(X))

    @step.register
    def _(self, step: Take, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        return E[:, step.columns]

    @step.register
    def _(self, step: Fill, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        filled = replace(step, values=self.rounded(step.values))(X)
        return np.where(step(X) == X, E, filled)

    @step.register
    def _(self, step: Flag, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        return np.zeros_like(X)

    @step.register
    def _(self, step: OneHot, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        return np.zeros((len(X), step.n_outputs))

    @step.register
    def _(self, step: Encode, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        return self.rounded(step(X))

    @step.register
    def _(self, step: Power, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        box_cox = step.method == "box-cox"
        size = np.abs(X) if box_cox else 1.0 + np.abs(X)
        logs = np.abs(np.log(size))
        # An error of the logarithm is one of x; an error of 2 - λ moves the power.
        wide = _spread(step, X, E + 8 * self.u * size * logs)
        powers = np.where(X < 0, 2.0 - step.powers, step.powers)
        moved = 4 * self.u * logs**2 * np.maximum(np.exp(powers * logs), 1.0)
        return wide + moved + 8 * self.u * np.abs(step(X))

    @step.register
    def _(self, step: Quantiles, X: np.ndarray, E: np.ndarray) -> np.ndarray:
        plain = replace(step, is_normal=False)
        share = plain(X)
        spread = _spread(plain, X, E)
        # Beyond the ends, the share is exact.
        is_end = (spread == 0.0) & ((share == 0.0) | (share == 1.0))
        spread = np.where(is_end, 0.0, spread + 6 * self.u * share)
        if not step.is_normal:
            return spread
        ends = [ndtri(np.clip(share + e, 1e-7, 1 - 1e-7)) for e in (-spread, spread)]
        middle = step(X)
        wide = np.maximum(*(np.abs(end - middle) for end in ends))
        return wide + 1e-9 + 16 * self.u * (1.0 + np.abs(middle))

    # -- kernels -------------------------------------------------------------------

    def kernel(
        self, node: Comparison | Combination, X: np.ndarray, E: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(node, Comparison):
            return self.comparison(node, X, E)
        parts = [self.kernel(operand, X, E) for operand in node.operands]
        V = node(X)
        last = self.u * np.abs(V)
        if node.operation == "sum":
            return V, parts[0][1] + parts[1][1] + last
        if node.operation == "product":
            (A, EA), (B, EB) = parts
            return V, np.abs(A) * EB + np.abs(B) * EA + EA * EB + last
        if node.operation == "scaled":
            return V, abs(node.number) * parts[0][1] + 2 * last
        return V, last

    def comparison(
        self, leaf: Comparison, X: np.ndarray, E: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        Y, EY = self.mapped(leaf, X, E)
        q, Eq = self.quantity(leaf, Y, EY)
        return self.profile(leaf, q, Eq)

    def mapped(
        self, leaf: Comparison, X: np.ndarray, E: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if leaf.origin is not None:
            moved = X - leaf.origin
            E = E + self.rounded(leaf.origin) + self.u * np.abs(moved)
            X = moved
        if leaf.factor is None:
            return X, E
        A = np.abs(leaf.factor)
        if leaf.factor.ndim == 1:
            Y = X * leaf.factor
            return Y, E * A + 2 * self.u * np.abs(Y)
        return X @ leaf.factor, E @ A + (len(A) + 1) * self.u * (np.abs(X) @ A)

    def quantity(
        self, leaf: Comparison, Y: np.ndarray, EY: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        r, u = Y.shape[1], self.u
        q = leaf._quantities(Y)
        if leaf.quantity in ("product", "cosine"):
            Z = np.abs(leaf.centers.T)
            Eq = EY @ Z + (r + 2) * u * (np.abs(Y) @ Z)
            if leaf.quantity == "product":
                return q, Eq
            lengths = np.linalg.norm(Y, axis=1, keepdims=True)
            lengths = np.where(lengths > 0, lengths, 1.0)
            moved = np.linalg.norm(EY, axis=1, keepdims=True) / lengths
            return q, Eq / lengths + np.abs(q) * (moved + (r + 6) * u)
        Eq = (r + 1) * u * q
        is_squared = leaf.quantity == "squared-distance"
        constants = self.rounded(leaf.centers)
        for j in range(r):
            D = np.abs(Y[:, j, None] - leaf.centers[:, j])
            e = EY[:, j, None] + constants[:, j] + u * D
            Eq += 2 * D * e + e**2 if is_squared else e
        return q, Eq

    def profile(
        self, leaf: Comparison, q: np.ndarray, Eq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        u, V = self.u, leaf._profiled(q)
        if leaf.profile == "identity":
            return V, Eq
        inside = leaf.gamma * q
        Ei = leaf.gamma * Eq + 2 * u * np.abs(inside)
        if leaf.profile in ("polynomial", "tanh"):
            base = np.abs(inside + leaf.coef0)
            Ei = Ei + u * (base + abs(leaf.coef0))
            if leaf.profile == "tanh":
                return V, np.minimum(Ei, 2.0) + 8 * u + self.exponential_error
            n = leaf.degree
            power = base**n
            return V, (base + Ei) ** n - power + n * u * power
        # Kernels of a distance fall as it grows.
        wide = replace(leaf, gamma=np.ones(1))
        ends = [wide._profiled(np.maximum(inside + e, 0.0)) for e in (-Ei, Ei)]
        spread = np.maximum(np.abs(ends[0] - V), np.abs(ends[1] - V))
        error = 8 * u * V
        if leaf.profile == "exponential":
            error = self.exponential_error * V
        elif leaf.profile == "matern":
            t = np.sqrt(2.0 * leaf.nu * np.maximum(inside, 0.0))
            error = (self.exponential_error + (8 + 4 * t) * u) * V
        return V, spread + error


def _spread(step: Step, X: np.ndarray, E: np.ndarray) -> np.ndarray:
    """Return how far errors move the result of a step that is monotone by column."""
    middle = step(X)
    ends = [step(X - E), step(X + E)]
    return np.asarray(np.maximum(*(np.abs(end - middle) for end in ends)))
