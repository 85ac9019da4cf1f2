"""Kernel-weighted means of targets, and distances to class means in feature space.

Letters: X (l, n) training points, Y (l, T) targets, Z (m, n) queries, w (l,) weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pursuit._rows import distinct_rows, row_digests
from pursuit.kernels import Kernel
from pursuit.kernels._base import KernelOn
from pursuit.kernels.distances import paired_rows, squared_distances

from .gaussians import exponent_distances, is_exponential, normalized, row_blocks
from .points import EPS, LEFT_OUT_ROWS, UNDERFLOWED

# Largest rounding error of an exponent at which distances are subtracted.
_ERROR = 1e-9
# Share of a sum of weights that may be left of it by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Smoother:
    """Training rows of a kernel-weighted mean.

    Attributes
    ----------
    values : KernelOn
        Kernel on the training points; nowhere negative.
    Y : ndarray of shape (l, T)
    w : ndarray of shape (l,)
        Weights, in units of the largest.
    """

    values: KernelOn
    Y: np.ndarray
    w: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, X: Any, Y: np.ndarray, weight: np.ndarray) -> Smoother:
        """Return the smoother of the rows of X, of these weights."""
        return cls(KernelOn(kernel, X), Y, weight / weight.max())

    def means(self, Z: Any, memory: int) -> np.ndarray:
        """Return Σ_i w_i k(z, x_i) y_i / Σ_i w_i k(z, x_i) at the rows of Z, (m, T).

        If all kernel values are 0, as for a narrow Gaussian far from the data, the
        result is the limit: for exponentials the ratio is well defined; for other
        kernels the limit is the mean of the nearest points of positive weight.
        """
        return self._means(Z, memory)[0]

    def means_of_others(
        self, rows: np.ndarray, memory: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted mean at some training rows without each, (m, T).

        The second array (m,) is Σ_i w_i k(z, x_i), in units of the largest weight.
        """
        return self._means(self.values.points[rows], memory, rows)

    def _means(
        self, Z: Any, memory: int, left_out: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means and masses, each without a training row if rows are left out."""
        kernel, n_points = self.values.kernel, len(self.values)
        least = UNDERFLOWED if is_exponential(kernel) else 0.0
        out, masses = np.empty((Z.shape[0], self.Y.shape[1])), np.empty(Z.shape[0])
        for here in row_blocks(Z.shape[0], n_points, memory):
            K = self.values(Z[here])
            if K.min() < 0:
                raise ValueError(
                    f"kernel={kernel!r} has negative values (down to {K.min():g}); a "
                    "weighted mean needs one that is nowhere negative, such as "
                    "Gaussian()."
                )
            K *= self.w
            rows = None if left_out is None else left_out[here]
            if rows is not None:
                K[np.arange(len(K)), rows] = 0.0
            masses[here] = total = K.sum(axis=1)
            is_lost = total <= least
            out[here] = (K @ self.Y) / np.where(is_lost, 1.0, total)[:, None]
            if not is_lost.any():
                continue
            lost = np.flatnonzero(is_lost)
            # Smaller blocks, since limits take several arrays.
            for part in row_blocks(len(lost), 4 * n_points, memory):
                some = lost[part]
                without = None if rows is None else rows[some]
                out[here][some] = self._limit_shares(Z[here][some], without) @ self.Y
        return out, masses

    def _limit_shares(self, Z: Any, left_out: np.ndarray | None) -> np.ndarray:
        """Return the shares of the rows of X where kernel values underflow, (m, l)."""
        kernel, X = self.values.kernel, self.values.points
        with np.errstate(divide="ignore"):
            logs = np.tile(np.log(self.w), (Z.shape[0], 1))
        if left_out is not None:
            logs[np.arange(len(logs)), left_out] = -np.inf
        D = exponent_distances(kernel, Z, X)
        if D is None:
            left, right = paired_rows(Z, X)
            D = squared_distances(left, right, np.empty(logs.shape))
            D[np.isneginf(logs)] = np.inf
            nearest = D.min(axis=1, keepdims=True)
            logs[nearest * (1.0 + 64.0 * EPS) < D] = -np.inf  # up to rounding
            return normalized(logs)
        D[np.isneginf(logs)] = np.inf
        _make_relative(D, kernel, X, Z)
        with np.errstate(over="ignore"):
            logs -= float(kernel.gamma) * D
        return normalized(logs)


def _make_relative(D: np.ndarray, kernel: Kernel, X: Any, Z: Any) -> None:
    """Subtract the smallest distance of each row of D, in place.

    Very far from the data the rounding of distances would exceed their differences;
    these are then computed directly.
    """
    nearest, least = D.argmin(axis=1), D.min(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        D -= least[:, None]
        is_rough = 16.0 * EPS * float(kernel.gamma) * least > _ERROR
    D[np.isnan(D)] = 0.0  # inf - inf: no distance is smaller
    if sparse.issparse(X) or sparse.issparse(Z):
        return  # the difference of two sparse rows may be dense
    for i in np.flatnonzero(is_rough & np.isfinite(least)):
        x = X[nearest[i]]
        some = np.isfinite(D[i])
        D[i, some] = _farther(kernel, X[some] - x, Z[i] - x)
        D[i] -= D[i].min()


def _farther(kernel: Kernel, step: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return how much farther z is from the rows of ``step`` than from the origin."""
    if kernel.metric == "manhattan":
        size = np.abs(step)
        return (size - 2.0 * np.clip(step * np.sign(z), 0.0, np.abs(z))).sum(axis=1)
    return (step * (step - 2.0 * z)).sum(axis=1)


# -- leave-one-out -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """Rows to be left out in turn, prepared for many kernels.

    Equal rows are one point. Without a row, the mean at its point is that of the other
    points and of the mass that stays at the point.

    Attributes
    ----------
    points : ndarray or CSR of shape (S, n)
        Distinct rows.
    means : ndarray of shape (S, T)
        Mean targets.
    masses : ndarray of shape (S,)
        Weights, in units of the largest.
    chosen : ndarray of int of shape (m,)
        Points whose rows are left out.
    place : ndarray of int of shape (L,)
        Index in ``chosen`` of the point of each row left out.
    targets : ndarray of shape (L, T)
    weight : ndarray of shape (L,)
    kept : ndarray of shape (L,)
        Mass that stays at the point without the row.
    kept_means : ndarray of shape (L, T)
        Mean target of that mass.
    """

    points: Any
    means: np.ndarray
    masses: np.ndarray
    chosen: np.ndarray
    place: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    kept: np.ndarray
    kept_means: np.ndarray

    @classmethod
    def of(
        cls, X: Any, Y: np.ndarray, weight: np.ndarray, removed: np.ndarray
    ) -> LeftOutRows:
        """Prepare all rows, or those of a random sample of points.

        ``removed`` (l,) is how much of the weight of its point is left out with each
        row.
        """
        first, sets = distinct_rows(X, weight)
        totals = np.bincount(sets, weight)
        # Divide before summing, so that the result does not leave the range of Y.
        shares = weight / totals[sets]
        means = np.stack([np.bincount(sets, shares * y) for y in Y.T], axis=1)
        chosen = np.argsort(row_digests(X, first, 0))[:LEFT_OUT_ROWS]
        rows = np.flatnonzero(np.isin(sets, chosen))
        place = np.empty(len(first), dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        point, removed = sets[rows], removed[rows]
        kept = totals[point] - removed
        kept[kept < _ROUNDING * totals[point]] = 0.0
        factor = removed / np.where(kept > 0, kept, np.inf)
        kept_means = means[point] - factor[:, None] * (Y[rows] - means[point])
        largest = totals.max()
        return cls(
            X[first],
            means,
            totals / largest,
            chosen,
            place[point],
            Y[rows],
            weight[rows],
            kept / largest,
            kept_means,
        )

    def error(self, kernel: Kernel, memory: int) -> float:
        """Return the mean squared error of the rows left out."""
        others = Smoother.of(kernel, self.points, self.means, self.masses)
        F, masses = others.means_of_others(self.chosen, memory)
        F, masses = F[self.place], masses[self.place]
        kept = kernel.diag(self.points[self.chosen])[self.place] * self.kept
        share = kept / np.where(kept > 0, kept + masses, 1.0)
        F += share[:, None] * (self.kept_means - F)
        errors = ((F - self.targets) ** 2).mean(axis=1)
        return float(np.average(errors, weights=self.weight))


# -- class means ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """The mean of each class in the feature space of a kernel.

    Attributes
    ----------
    values : KernelOn
        Kernel on the training points.
    shares : ndarray of shape (l, C)
        Weight of each row in each mean; columns sum to 1.
    products : ndarray of shape (C,)
        ⟨c, c⟩ of the means c.
    """

    values: KernelOn
    shares: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, X: Any, shares: np.ndarray, memory: int) -> ClassMeans:
        """Return the means of the rows of X, with O(l²) kernel values."""
        products = np.zeros(shares.shape[1])
        for here in row_blocks(X.shape[0], X.shape[0], memory):
            products += (shares[here] * (kernel(X[here], X) @ shares)).sum(axis=0)
        return cls(KernelOn(kernel, X), shares, products)

    def squared_distances(self, Z: Any, memory: int) -> np.ndarray:
        """Return ‖φ(z) - c‖² for each class mean c, (m, C) (thesis §5.3.4)."""
        out = np.empty((Z.shape[0], self.shares.shape[1]))
        for here in row_blocks(Z.shape[0], len(self.values), memory):
            out[here] = self.products - 2.0 * (self.values(Z[here]) @ self.shares)
            out[here] += self.values.kernel.diag(Z[here])[:, None]
        return out
