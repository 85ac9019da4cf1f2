"""Decompositions, log-densities, exponents of kernels and blocks for all densities.

Letters: c matrices A (K, n), where AᵀA is the covariance of a Gaussian without σ²; r
eigenvalues; s values of σ².
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from pursuit._limits import Limits
from pursuit.kernels import Gaussian, Kernel, Laplacian
from pursuit.kernels.distances import (
    absolute_distances,
    paired_rows,
    squared_distances,
)

from .points import EPS, LARGEST_COORDINATE, START

# Queries in a block: their inner products with a neighborhood stay in the cache.
BLOCK = 128
# Number of features up to which covariances are used instead of Gram matrices.
FEW_FEATURES = 8
# Largest possible error of a log-density, in nats, at which fast forms are used.
LARGEST_ERROR = 1e-8


def descending(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return non-negative eigenvalues, largest first, and eigenvectors."""
    values, vectors = np.linalg.eigh(C)
    return np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]


def singular(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return n eigenvalues and eigenvectors, as rows, of AᵀA, from A itself.

    Without forming the squares, in which small eigenvalues would be lost.
    """
    c, K, n = A.shape
    if n > K:
        A = np.concatenate([A, np.zeros((c, n - K, n))], axis=1)
    _, s, V = np.linalg.svd(A, full_matrices=False)
    return s**2, V


def covers_features(n_neighbors: int, n_features: int) -> bool:
    """Return whether to decompose covariances instead of Gram matrices."""
    return n_neighbors > 0 and n_features <= max(n_neighbors, FEW_FEATURES)


def decomposed(
    A: np.ndarray, is_direct: bool, is_sharp: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (c, r) and eigenvectors as rows, of AᵀA or of A Aᵀ.

    If ``is_sharp``, those of AᵀA are computed without forming squares.
    """
    if is_direct and is_sharp:
        return singular(A)
    At = A.transpose(0, 2, 1)
    spectrum, vectors = descending(At @ A if is_direct else A @ At)
    return spectrum, np.ascontiguousarray(vectors.transpose(0, 2, 1))


def log_gaussians(
    A: np.ndarray,
    x: np.ndarray,
    d: int,
    variances: np.ndarray,
    tolerance: float = LARGEST_ERROR,
) -> np.ndarray:
    """Return log N(x; 0, d directions of AᵀA, plus σ²) for each A, x and σ².

    If squares of A might cost more than ``tolerance`` nats, A itself is decomposed.
    """
    n = x.shape[1]
    largest = max(squared_sizes(A).max(), np.einsum("ij,ij->i", x, x).max())
    if EPS * largest / variances.min() > tolerance:
        return _log_gaussians_sharply(A, x, d, variances)
    is_direct = covers_features(*A.shape[1:])
    spectrum, axes = decomposed(A, is_direct)
    d = min(d, spectrum.shape[1])
    along = x if is_direct else np.einsum("ijk,ik->ij", A, x)
    coordinates = np.einsum("ijk,ik->ij", axes, along)[:, :, None] ** 2
    kept = spectrum[:, :d, None] + variances
    if is_direct:
        q = (coordinates[:, :d] / kept).sum(axis=1)
        q += coordinates[:, d:].sum(axis=1) / variances
    else:
        square = np.einsum("ij,ij->i", x, x)[:, None]
        q = np.maximum(square - (coordinates[:, :d] / kept).sum(axis=1), 0) / variances
    log_det = np.log(kept).sum(axis=1) + (n - d) * np.log(variances)
    return -0.5 * (n * np.log(2.0 * np.pi) + log_det + q)


def _log_gaussians_sharply(
    A: np.ndarray, x: np.ndarray, d: int, variances: np.ndarray
) -> np.ndarray:
    n = x.shape[1]
    _, s, V = np.linalg.svd(A, full_matrices=False)
    kept, V = s[:, :d, None] ** 2 + variances, V[:, :d]
    along = np.einsum("ijk,ik->ij", V, x)
    across = x - np.einsum("ijk,ij->ik", V, along)
    q = (along[:, :, None] ** 2 / kept).sum(axis=1)
    q += np.einsum("ij,ij->i", across, across)[:, None] / variances
    log_det = np.log(kept).sum(axis=1) + (n - V.shape[1]) * np.log(variances)
    return -0.5 * (n * np.log(2.0 * np.pi) + log_det + q)


def squared_sizes(A: np.ndarray) -> np.ndarray:
    """Return the sum of squares of each matrix, (c,)."""
    return np.einsum("ijk,ijk->i", A, A)


class LogSums:
    """Running log-sum-exps, one for each query of a model.

    Attributes
    ----------
    top : ndarray
        Largest term so far.
    total : ndarray
        Sum of exp(term - top).
    """

    def __init__(self, *shape: int) -> None:
        self.top, self.total = np.full(shape, START), np.zeros(shape)

    def logs(self) -> np.ndarray:
        """Return the logarithms of the sums.

        NaN, which is inf - inf of a distance that overflows, means density 0.
        """
        with np.errstate(divide="ignore"):
            logs = self.top + np.log(self.total)
        logs[np.isnan(logs)] = -np.inf
        return logs


def log_sum_exp(terms: np.ndarray) -> np.ndarray:
    """Return log Σ exp(term) over the last axis; -inf if all terms are -inf.

    ``scipy.special.logsumexp`` takes longer than the rest of a query of few points.
    """
    largest = terms.max(axis=-1, keepdims=True)
    largest[np.isneginf(largest)] = 0.0
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(terms - largest).sum(axis=-1))
    return np.asarray(sums + largest[..., 0])


def are_far(Z: np.ndarray) -> np.ndarray:
    """Return whether each row is so far from the origin that squares may overflow."""
    return ~(np.abs(Z).max(axis=1) <= LARGEST_COORDINATE)


def mass_of_others(counts: np.ndarray) -> np.ndarray:
    """Return for each entry the sum of all others in its row, without cancellation.

    ``counts`` has the shape (l,) or (c, l).
    """
    out = np.zeros(counts.shape)
    out[..., 1:] = np.cumsum(counts[..., :-1], axis=-1)
    out[..., :-1] += np.cumsum(counts[..., :0:-1], axis=-1)[..., ::-1]
    return out


def normalized(log_masses: np.ndarray) -> np.ndarray:
    """Return weights that sum to 1 in each row, or to 0 if there is no mass.

    Logarithms keep the ratios of masses that are all too small for a number.
    """
    masses = relative_masses(log_masses)
    total = masses.sum(axis=1, keepdims=True)
    return masses / np.where(total > 0, total, 1.0)


def relative_masses(log_masses: np.ndarray) -> np.ndarray:
    """Return masses in units of the largest of each row, 0 if there is no mass."""
    largest = log_masses.max(axis=1, keepdims=True, initial=-np.inf)
    return np.exp(log_masses - np.where(np.isneginf(largest), 0.0, largest))


def is_exponential(kernel: Kernel) -> bool:
    """Return whether the kernel is exp(-gamma D) with D of `exponent_distances`."""
    return type(kernel) in (Gaussian, Laplacian)


def exponent_distances(kernel: Kernel, Z: Any, X: Any) -> np.ndarray | None:
    """Return D where the kernel is exp(-gamma D), None if it is not of this form.

    Ratios of such values are well defined where the values themselves underflow.
    """
    if not is_exponential(kernel):
        return None
    if kernel.metric == "manhattan":
        return absolute_distances(Z, X)
    left, right = paired_rows(Z, X)
    return squared_distances(left, right, np.empty((Z.shape[0], X.shape[0])))


def row_blocks(n_rows: int, n_numbers: int, memory: int) -> Iterator[slice]:
    """Yield slices of rows, of ``n_numbers`` each, that fit a quarter of the memory."""
    height = max(1, min(memory // (4 * 8 * max(n_numbers, 1)), 4096))
    for a in range(0, n_rows, height):
        yield slice(a, min(a + height, n_rows))


def query_blocks(n_queries: int, n_centers: int, limits: Limits) -> list[slice]:
    """Return even, small slices of queries that together fit the memory."""
    if n_queries == 1:
        return [slice(0, 1)]
    n_threads = limits.usable_threads
    allowed = limits.memory // (4 * 8 * n_centers * n_threads)
    size = max(1, min(allowed, BLOCK))
    n_blocks = max(-(-n_queries // size), min(n_threads, n_queries))
    edges = np.linspace(0, n_queries, n_blocks + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
