"""A density from a Gaussian fitted anew around each query (thesis §14.3).

    p(x) = Z(x) N(x; μ(x), V(x)),   Z(x) = mean of k_h(x, x_i) over the data,

where k_h(x, z) = exp(-‖x - z‖²/(2h²)), and μ, V are the mean and covariance of the data
weighted by k_h(x, ·); V may be reduced to its d leading directions, and gets σ² on its
diagonal. Nothing is trained, and the mass need not be 1. As Z(x) is (2πh²)^(n/2) times
Parzen's density P_h(x), the mass is

    ∫ p = (2πh²)^(n/2) E[N(x; μ(x), V(x))]   over x drawn from P_h.

Letters: l points X, n features, m queries, s values of σ².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from pursuit._distances import paired_rows, squared_distances
from pursuit._threads import allowed_threads, deal

from .gaussians import log_gaussians


@dataclass(frozen=True)
class PointwiseGaussians:
    """The data and the kernel's variance.

    Attributes
    ----------
    X : ndarray of shape (l, n)
    log_weights : ndarray of shape (l,)
        Logarithms of the rows' weights.
    width : float
        h.
    n_components : int or None
        Directions kept; None is all.
    memory, n_threads : int
    """

    X: np.ndarray
    log_weights: np.ndarray
    width: float
    n_components: int | None
    memory: int
    n_threads: int

    def log_density(
        self, Z: np.ndarray, variances: np.ndarray, left_out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return log p at the rows of Z for each σ², (m, s).

        Parameters
        ----------
        Z : ndarray of shape (m, n)
        variances : ndarray of shape (s,)
        left_out : ndarray of int of shape (m,), optional
            For each query the point that is left out.

        Notes
        -----
        O(l n min(l, n) + min(l, n)³) time a query, in blocks within the memory.
        """
        return self._blocks(Z, variances, left_out, with_mass=True)

    def log_shapes(self, Z: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Return log N(x; μ(x), V(x)) at the rows of Z, (m, s)."""
        return self._blocks(Z, variances, None, with_mass=False)

    def _blocks(
        self,
        Z: np.ndarray,
        variances: np.ndarray,
        left_out: np.ndarray | None,
        with_mass: bool,
    ) -> np.ndarray:
        out = np.empty((len(Z), len(variances)))
        n_rows, n = self.X.shape
        n_threads = min(self.n_threads, allowed_threads())
        each = 8 * (3 * n_rows * n + 2 * min(n_rows, n) ** 2 + 4 * n_rows)
        height = int(np.clip(self.memory // (2 * each * n_threads), 1, 128))
        starts = range(0, len(Z), height)

        def work(mine: Sequence[int]) -> None:
            for a in mine:
                here = slice(a, a + height)
                out_of = None if left_out is None else left_out[here]
                shapes, log_masses = self._parts(Z[here], variances, out_of)
                out[here] = shapes + log_masses[:, None] if with_mass else shapes

        deal(work, starts, min(n_threads, len(starts)))
        return out

    def _parts(
        self, Z: np.ndarray, variances: np.ndarray, left_out: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log N(x; μ, V), (m, s), and log Z(x), (m,)."""
        log_kernel, log_total = self._log_kernel(Z, left_out)
        log_masses = logsumexp(log_kernel, axis=1)
        weights = np.exp(log_kernel - log_masses[:, None])
        means = weights @ self.X
        A = self.X - means[:, None]
        A *= np.sqrt(weights)[:, :, None]
        d = min(self.X.shape) if self.n_components is None else self.n_components
        return log_gaussians(A, Z - means, d, variances), log_masses - log_total

    def _log_kernel(
        self, Z: np.ndarray, left_out: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log of weight times kernel, (m, l), and log of the total weight."""
        left, right = paired_rows(np.ascontiguousarray(Z), self.X)
        D = np.empty((len(Z), len(self.X)))
        log_kernel = squared_distances(left, right, D)
        log_kernel *= -0.5 / self.width**2
        log_kernel += self.log_weights
        total = np.exp(self.log_weights)
        log_total = np.full(len(Z), np.log(total.sum()))
        if left_out is not None:
            log_kernel[np.arange(len(Z)), left_out] = -np.inf
            log_total = np.log(total.sum() - total[left_out])
        return log_kernel, log_total


def mass(
    gaussians: PointwiseGaussians,
    variance: float,
    n_samples: int,
    rng: np.random.RandomState,
) -> tuple[float, float]:
    """Return an estimate of ∫ p and its standard error, by drawing from P_h."""
    n_rows, n = gaussians.X.shape
    p = np.exp(gaussians.log_weights - logsumexp(gaussians.log_weights))
    Z = gaussians.X[rng.choice(n_rows, size=n_samples, p=p / p.sum())]
    Z = Z + gaussians.width * rng.standard_normal((n_samples, n))
    logs = gaussians.log_shapes(Z, np.array([variance]))[:, 0]
    ratios = np.exp(logs + 0.5 * n * np.log(2.0 * np.pi * gaussians.width**2))
    return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(n_samples))
