"""What mixtures of Gaussians share: decompositions, logarithms, blocks of queries.

Letters: c matrices A (K, n) whose rows spread a Gaussian, AᵀA its covariance without
σ², r eigenvalues, s values of σ².
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

# Queries in a block: their inner products with a neighbourhood stay in the cache.
BLOCK = 128
# Features up to which covariances are used rather than Gram matrices.
FEW_FEATURES = 8


def descending(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues, not negative and largest first, and eigenvectors."""
    values, vectors = np.linalg.eigh(C)
    return np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]


def covers_features(n_neighbours: int, n_features: int) -> bool:
    """Return whether covariances are decomposed, rather than Gram matrices."""
    return n_neighbours > 0 and n_features <= max(n_neighbours, FEW_FEATURES)


def decomposed(A: np.ndarray, is_direct: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (c, r) and eigenvectors as rows, of AᵀA or of A Aᵀ."""
    At = A.transpose(0, 2, 1)
    spectrum, vectors = descending(At @ A if is_direct else A @ At)
    return spectrum, np.ascontiguousarray(vectors.transpose(0, 2, 1))


def log_gaussians(
    A: np.ndarray, x: np.ndarray, d: int, variances: np.ndarray
) -> np.ndarray:
    """Return log N(x; 0, d directions of AᵀA, plus σ²) for each A, x and σ²."""
    n = x.shape[1]
    is_direct = covers_features(*A.shape[1:])
    spectrum, axes = decomposed(A, is_direct)
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


def finished(top: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the logarithm that a running log-sum-exp stands for."""
    with np.errstate(divide="ignore"):
        return top + np.log(total)


def query_blocks(
    n_queries: int, n_centres: int, n_threads: int, memory: int
) -> list[slice]:
    """Return slices of queries: even, small, and within the memory together."""
    allowed = memory // (4 * 8 * n_centres * n_threads)
    size = int(np.clip(allowed, 1, BLOCK))
    n_blocks = max(-(-n_queries // size), min(n_threads, n_queries))
    edges = np.linspace(0, n_queries, n_blocks + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
