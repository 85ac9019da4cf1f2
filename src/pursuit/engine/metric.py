"""The metric of a pursuit under any loss, and functions orthonormal in it.

Letters as in :mod:`.loss_pursuit`. The loss is replaced by its parabola at the current
fit, which weights row i by ``w_i`` times half its curvature. Distances between
functions are measured with these weights.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from pursuit._compiling import REORDER, compiled
from pursuit.losses import Loss

from ._loops import SMALLEST, squares, take_out_span

# The metric is renewed when the model has grown by this share, at least by one step.
GROWTH = 0.25

# Lower limit of a row's curvature, as a share of the mean: without curvature, the
# parabola would not constrain the row.
LEAST_CURVATURE = 1e-3

# Cholesky factors are precise enough if each row has at least this share of its square
# outside the span of those before.
_LEAST_OUTSIDE = 1e-4

# If less than this share of a squared norm is left, directions are projected out again.
_LEAST_LEFT = 0.01


def parabola(
    loss: Loss, Y: np.ndarray, F: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the weights (l,) of the rows in the loss's parabola at ``F`` (T, l).

    Several outputs share the mean of their curvatures, so that they share directions.
    """
    half = 0.5 * loss.weights(Y, F).mean(axis=0)
    least = LEAST_CURVATURE * (half @ weight) / weight.sum()
    return weight * np.maximum(half, max(least, SMALLEST))


def is_renewal_due(n_steps: int, renewed_at: int) -> bool:
    """Return whether a metric that was computed after ``renewed_at`` steps is old."""
    return n_steps - renewed_at >= max(1.0, GROWTH * renewed_at)


def next_renewal(renewed_at: int) -> int:
    """Return the size at which a renewal after ``renewed_at`` steps is due."""
    size = renewed_at + 1
    while not is_renewal_due(size, renewed_at):
        size += 1
    return size


class Basis:
    """Functions, and the same functions made orthonormal in a metric.

    There is room for more functions than are in use; methods are told how many are.

    Parameters
    ----------
    n_rows : int

    Attributes
    ----------
    C : ndarray of shape (room, l + tail)
        The functions.
    Q : ndarray of shape (room, l + tail)
        The same, orthonormal in the metric.
    tri : ndarray of shape (room, room)
        Upper triangle with ``C = tri.T @ Q``.
    metric : ndarray of shape (l + tail,)
        Weights of the rows, and 1 on the tail.
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self.C, self.Q = np.zeros((0, n_rows)), np.zeros((0, n_rows))
        self.tri = np.zeros((0, 0))
        self.metric = np.zeros(n_rows)

    def reserve(self, size: int, width: int) -> None:
        """Make room for ``size`` functions of ``width`` values, rows and tail."""
        self.C, self.Q = enlarged(self.C, size, width), enlarged(self.Q, size, width)
        self.tri = enlarged(self.tri, size, size)
        self.metric = enlarged(self.metric[None], 1, width)[0]
        self.metric[self._n_rows :] = 1.0

    def renew(self, rows: np.ndarray, b: int, n_new: int = 0) -> bool:
        """Change the weights of the rows; return whether anything has changed.

        The first ``b`` functions are made orthonormal in the new metric. The last
        ``n_new`` of them have no directions yet.
        """
        if not n_new and np.array_equal(rows, self.metric[: self._n_rows]):
            return False
        self.metric[: self._n_rows] = rows
        new = slice(b - n_new, b)
        self.Q[new], self.tri[new, new] = self.C[new], np.eye(n_new)
        self.Q[:b], R = orthonormal(self.Q[:b], self.metric)
        self.tri[:b, :b] = R @ self.tri[:b, :b]
        return True

    def append(self, b: int) -> tuple[float, float]:
        """Write direction ``b``, the part of ``C[b]`` outside those before it.

        Returns its squared norm, and that of ``C[b]``.
        """
        u, h, whole = self.Q[b], np.zeros(b), np.empty(1)
        u[:] = self.C[b]
        squared = take_out_span(u, self.Q[:b], self.metric, h, 0, _LEAST_LEFT)
        root = np.sqrt(squared) if squared > 0 else 1.0
        u /= root
        self.tri[:b, b], self.tri[b, b] = h, root
        squares(self.C[b : b + 1], self.metric, whole)
        return squared, float(whole[0])


def enlarged(A: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return a matrix padded with zeros to shape (n, m)."""
    out = np.zeros((n, m))
    out[: A.shape[0], : A.shape[1]] = A
    return out


def orthonormal(C: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``Q`` with rows orthonormal in the metric, and R with ``C = R.T @ Q``.

    If rows of ``C`` are nearly dependent, this is done twice, because one pass does not
    give orthogonality to working precision.
    """
    Z = C * np.sqrt(metric)
    L = _cholesky(Z @ Z.T)
    if L is not None:
        return np.linalg.inv(L) @ C, L.T
    R = np.asarray(np.linalg.qr(Z.T, mode="r"))
    R = R * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
    Q, again = orthonormal(solve_triangular(R, C, trans="T"), metric)
    return Q, again @ R


def _cholesky(G: np.ndarray) -> np.ndarray | None:
    """Return the lower triangle L with ``G = L @ L.T`` if it is precise, else None.

    It mostly is, as the directions were orthonormal in the metric before.
    """
    try:
        L = np.linalg.cholesky(G)
    except np.linalg.LinAlgError:
        return None
    return L if np.all(np.diag(L) ** 2 > _LEAST_OUTSIDE * np.diag(G)) else None


@compiled(fastmath=REORDER)
def solve_triangle(R: np.ndarray, x: np.ndarray) -> None:
    """Set ``x.T = R^-1 x.T`` for an upper triangle R, or its leading corner."""
    n_targets, b = x.shape
    for i in range(b - 1, -1, -1):
        for t in range(n_targets):
            total = x[t, i]
            for j in range(i + 1, b):
                total -= R[i, j] * x[t, j]
            x[t, i] = total / R[i, i]
