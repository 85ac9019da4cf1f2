"""Density from a Gaussian fitted around each query (thesis §14.3).

    p(x) = Z(x) N(x; μ(x), V(x)),   Z(x) = mean of k_h(x, x_i) over the data,

where k_h(x, z) = exp(-‖x - z‖²/(2h²)), and μ, V are the mean and covariance of the data
weighted by k_h(x, ·); V may be reduced to its d leading directions, and σ² is added to
its diagonal. Nothing is trained, and the mass need not be 1. It is estimated from
points drawn from Parzen windows q around the data,

    ∫ p = E[p(x) / q(x)]   over x drawn from q,

whose width in each feature is h, or the spread of the data plus σ if that is less: p
decays at least as fast, and few points from much wider windows would fall where p is
large.

Letters: l points X, n features, m queries, s values of σ².
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit._limits import Limits
from pursuit.kernels.distances import FixedPoints, paired_rows, squared_distances

from .gaussians import (
    LARGEST_ERROR,
    are_far,
    log_gaussians,
    log_sum_exp,
    mass_of_others,
    row_blocks,
)

# Queries that are computed at a time, at most.
_BLOCK = 128


@dataclass(frozen=True)
class PointwiseGaussians:
    """The data and the width of the window; see the module docstring.

    Attributes
    ----------
    X : ndarray of shape (l, n)
    log_weights : ndarray of shape (l,)
        Logarithms of the rows' weights.
    width : float
        Width h of the window.
    n_components : int or None
        Number of directions kept; None means all.
    """

    X: np.ndarray
    log_weights: np.ndarray
    width: float
    n_components: int | None

    @cached_property
    def _fixed(self) -> FixedPoints:
        return FixedPoints.of(self.X)

    @cached_property
    def _log_total(self) -> float:
        return float(log_sum_exp(self.log_weights))

    def log_density(
        self,
        Z: np.ndarray,
        variances: np.ndarray,
        limits: Limits,
        left_out: np.ndarray | None = None,
        tolerance: float = LARGEST_ERROR,
    ) -> np.ndarray:
        """Return log p at the rows of Z for each σ², (m, s).

        Parameters
        ----------
        Z : ndarray of shape (m, n)
        variances : ndarray of shape (s,)
        limits : Limits
        left_out : ndarray of int of shape (m,), optional
            Index of the point that is left out for each query.
        tolerance : float
            Largest error, in nats, for which the fast form is used.

        Notes
        -----
        A query costs O(l n min(l, n) + min(l, n)³), in blocks within the memory.
        """
        n_rows, n = self.X.shape
        each = 8 * (3 * n_rows * n + 2 * min(n_rows, n) ** 2 + 4 * n_rows)
        at_a_time = 2 * each * limits.usable_threads
        height = max(1, min(limits.memory // at_a_time, _BLOCK))
        if len(Z) <= height:
            return self._some(Z, variances, left_out, tolerance)
        out = np.empty((len(Z), len(variances)))

        def work(starts: Iterable[int]) -> None:
            for a in starts:
                here = slice(a, a + height)
                out_of = None if left_out is None else left_out[here]
                out[here] = self._some(Z[here], variances, out_of, tolerance)

        limits.deal(work, range(0, len(Z), height))
        return out

    def _some(
        self,
        Z: np.ndarray,
        variances: np.ndarray,
        left_out: np.ndarray | None,
        tolerance: float,
    ) -> np.ndarray:
        """Return log p; -inf if distances overflow."""
        far = are_far(Z)
        Z = np.where(far[:, None], 0.0, Z)
        with np.errstate(over="ignore", invalid="ignore"):
            log_kernel, log_total = self._log_kernel(Z, left_out)
            log_masses = log_sum_exp(log_kernel)
            far |= np.isneginf(log_masses)
            weights = np.exp(log_kernel - log_masses[:, None])
            weights[far] = 0.0
            means = weights @ self.X
            A = self.X - means[:, None]
            A *= np.sqrt(weights)[:, :, None]
            d = min(self.X.shape) if self.n_components is None else self.n_components
            logs = log_gaussians(A, Z - means, d, variances, tolerance)
            logs += (log_masses - log_total)[:, None]
        return np.where(far[:, None] | np.isnan(logs), -np.inf, logs)

    def _log_kernel(
        self, Z: np.ndarray, left_out: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log of weight times kernel, (m, l), and of the total weight."""
        log_kernel = self._fixed.squared_distances(np.ascontiguousarray(Z))
        log_kernel *= -0.5 / self.width**2
        log_kernel += self.log_weights
        log_total = np.full(len(Z), self._log_total)
        if left_out is not None:
            log_kernel[np.arange(len(Z)), left_out] = -np.inf
            log_total = np.log(mass_of_others(np.exp(self.log_weights))[left_out])
        return log_kernel, log_total

    def log_mass(
        self,
        variance: float,
        n_samples: int,
        rng: np.random.RandomState,
        limits: Limits,
    ) -> tuple[float, float]:
        """Return an estimate of log ∫ p, and the relative standard error of ∫ p."""
        p = np.exp(self.log_weights - self._log_total)
        p /= p.sum()
        spread = np.sqrt(p @ (self.X - p @ self.X) ** 2)
        widths = np.minimum(self.width, spread + np.sqrt(variance))
        Z = self.X[rng.choice(len(self.X), size=n_samples, p=p)]
        Z = Z + widths * rng.standard_normal(Z.shape)
        logs = self.log_density(Z, np.array([variance]), limits)[:, 0]
        logs -= self._log_windows(Z, widths, np.log(p), limits.memory)
        log_mass = float(log_sum_exp(logs) - np.log(n_samples))
        ratios = np.exp(logs - log_mass)
        return log_mass, float(ratios.std(ddof=1) / np.sqrt(n_samples))

    def _log_windows(
        self, Z: np.ndarray, widths: np.ndarray, log_p: np.ndarray, memory: int
    ) -> np.ndarray:
        """Return the log-density of Parzen windows with a width for each feature."""
        logs = np.empty(len(Z))
        X = np.ascontiguousarray(self.X / widths)
        for here in row_blocks(len(Z), len(X), memory):
            left, right = paired_rows(np.ascontiguousarray(Z[here] / widths), X)
            D = squared_distances(left, right, np.empty((len(Z[here]), len(X))))
            logs[here] = log_sum_exp(log_p - 0.5 * D)
        return logs - np.log(widths).sum() - 0.5 * len(widths) * np.log(2.0 * np.pi)
