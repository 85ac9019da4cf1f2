"""Pairs of subspaces of two views, and canonical correlations in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular, svd

from .subspaces import SubspacePath

# A direction with less than this share of the total variance is noise.
_FLAT = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class PairedPath:
    """Nested pairs of subspaces of two views of the same rows.

    Attributes
    ----------
    first, second : SubspacePath
        Subspaces of the two views, spanned by the same rows.
    cross : ndarray of shape (n_steps, n_steps)
        Mean products of the coordinates of the two views.
    """

    first: SubspacePath
    second: SubspacePath
    cross: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return (
            f"PairedPath({len(self)} steps, stopped: {self.stop_reason}):"
            f"\n  first {self.first!r}\n  second {self.second!r}"
        )

    @property
    def atoms(self) -> np.ndarray:
        """The training row chosen at each step."""
        return self.first.atoms

    @property
    def gains(self) -> np.ndarray:
        """The criterion of each chosen row."""
        return self.first.gains

    @property
    def stop_reason(self) -> str:
        """Why the path ends."""
        return self.first.stop_reason

    def cross_covariance(self, center: bool) -> np.ndarray:
        """Return the covariance of the two views' coordinates, or mean products."""
        if not center:
            return self.cross
        return self.cross - np.outer(self.first.means, self.second.means)

    def truncate(self, size: int) -> PairedPath:
        """Return the path of the first ``size`` steps."""
        return PairedPath(
            self.first.truncate(size),
            self.second.truncate(size),
            self.cross[:size, :size],
        )


def variates(
    path: PairedPath, center: bool, alpha: float, n: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return the weights of the first ``n`` pairs of variates, and their means.

    For each view: weights (n, n_steps) of the chosen points' images, and means to
    subtract (n,); fewer if there are not so many directions.
    """
    views = (path.first, path.second)
    directions = [W[:, :n] for W in canonical_directions(path, center, alpha)]
    if not directions[0].shape[1]:
        raise ValueError("One of the views is constant on the training rows.")
    pairs = list(zip(views, directions, strict=True))
    weights = tuple(solve_triangular(view.triangle.T, W).T for view, W in pairs)
    return weights, tuple(view.means @ W * float(center) for view, W in pairs)


def canonical_directions(
    path: PairedPath, center: bool, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the directions, as columns in the coordinates of the two subspaces.

    They are the singular vectors of the cross-covariance after both views are
    whitened, scaled to unit variance. Directions without variance in one of the views
    are left out: k points span k - 1 directions about their mean.
    """
    C = path.cross_covariance(center)
    roots = [_whitening(view, center, alpha) for view in (path.first, path.second)]
    U, _, Vt = svd(roots[0].T @ C @ roots[1], full_matrices=False)
    largest = np.abs(U).argmax(axis=0)
    sign = np.where(U[largest, np.arange(U.shape[1])] < 0, -1.0, 1.0)
    W = [root @ V for root, V in zip(roots, (U * sign, Vt.T * sign), strict=True)]
    views = zip((path.first, path.second), W, strict=True)
    variances = [_variances(view.covariance(center), w) for view, w in views]
    is_real = (variances[0] > 0) & (variances[1] > 0)
    first, second = (
        w[:, is_real] / np.sqrt(variance[is_real])
        for w, variance in zip(W, variances, strict=True)
    )
    return first, second


def _variances(C: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return the variances of directions, 0 for noise."""
    variances = np.einsum("ij,ik,kj->j", W, C, W)
    norms = np.einsum("ij,ij->j", W, W)
    return np.where(variances > _FLAT * np.trace(C) * norms, variances, 0.0)


def _whitening(view: SubspacePath, center: bool, alpha: float) -> np.ndarray:
    """Return ``A`` with ``A' (C + ridge I) A = I``."""
    C = view.covariance(center)
    ridge = max(alpha, _FLAT) * np.trace(C)
    L = cholesky(C + ridge * np.eye(len(C)), lower=True)
    return solve_triangular(L, np.eye(len(C)), lower=True).T


def correlations(T: np.ndarray, U: np.ndarray, center: bool) -> np.ndarray:
    """Return the correlations of the columns of two arrays, 0 if one is constant.

    Without ``center``, return their cosines, 0 if one is zero.
    """
    if center:
        T, U = T - T.mean(axis=0), U - U.mean(axis=0)
    norms = np.sqrt((T**2).sum(axis=0) * (U**2).sum(axis=0))
    out = np.zeros(T.shape[1])
    np.divide((T * U).sum(axis=0), norms, out=out, where=norms > 0)
    return out
