"""Manifold Parzen windows against the algorithm box, one big product, KernelDensity.

    python benchmarks/bench_density.py [--queries 2007] [--literal 20] [--only product]

USPS (7291 training images of 256 pixels, smoothed as in Table 13.3), k = d = 11,
sigma² = 0.1: log-densities of test images under one mixture of all training images.
Times are the best of a few, taken in turn with ours in one run, with the threads that
BLAS is allowed; the algorithm box runs on fewer queries, its time scaled up. All must
agree. Without usps.npz, random data of the same shape.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity

from pursuit import ManifoldParzen, ParzenWindows, datasets
from pursuit._threads import allowed_threads

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import reference

K, VARIANCE = 11, 0.1


def data() -> tuple[np.ndarray, np.ndarray]:
    if "usps" not in datasets.available():
        rng = np.random.default_rng(0)
        basis = rng.standard_normal((20, 256)) / 4
        X = rng.standard_normal((9298, 20)) @ basis
        X += 0.1 * rng.standard_normal(X.shape)
        return X[:7291], X[7291:]
    usps = datasets.load("usps", smooth=True)
    return usps.data_train, usps.data_test


def duel(
    theirs: Callable[[], Any], ours: Callable[[], Any], repeats: int = 3
) -> tuple[float, float, Any, Any]:
    """Return the best times of both, taken in turn, and their results."""
    best = [np.inf, np.inf]
    found: list[Any] = [None, None]
    for _ in range(repeats):
        for i, work in enumerate((theirs, ours)):
            start = time.perf_counter()
            found[i] = work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best[0], best[1], found[0], found[1]


def directions(mixture: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what MParzen::Train stores: directions (l, d, n), eigenvalues (l, d)."""
    V, values = [], []
    for a in range(0, len(mixture.X), 256):
        A = mixture.spreads(slice(a, a + 256))
        _, s, Vt = np.linalg.svd(A, full_matrices=False)
        V.append(Vt)
        values.append(s**2 + VARIANCE)
    return np.concatenate(V), np.concatenate(values)


def algorithm_box(
    X: np.ndarray, Z: np.ndarray, V: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """MParzen::Test: for each query, LocalGaussian of each center in turn."""
    out = np.empty(len(Z))
    for i, z in enumerate(Z):
        logs = [
            reference.local_gaussian(z, X[j], V[j], values[j], VARIANCE)
            for j in range(len(X))
        ]
        out[i] = logsumexp(logs) - np.log(len(X))
    return out


def algorithm_box_vectorized(
    X: np.ndarray, Z: np.ndarray, V: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """The same with the loop over centers outside, each for all queries at once."""
    n, d = X.shape[1], V.shape[1]
    out = np.empty((len(X), len(Z)))
    for j in range(len(X)):
        difference = Z - X[j]
        r = n * np.log(2 * np.pi) + (n - d) * np.log(VARIANCE)
        r += np.log(values[j]).sum()
        q = (difference**2).sum(axis=1) / VARIANCE
        q += (difference @ V[j].T) ** 2 @ (1 / values[j] - 1 / VARIANCE)
        out[j] = -0.5 * (r + q)
    return logsumexp(out, axis=0) - np.log(len(X))


def big_product(
    X: np.ndarray, Z: np.ndarray, V: np.ndarray, values: np.ndarray, block: int = 256
) -> np.ndarray:
    """All directions of all centers as one matrix, times blocks of queries."""
    n, d = X.shape[1], V.shape[1]
    stacked = V.reshape(-1, n)
    offsets = np.einsum("ijk,ik->ij", V, X).reshape(-1, 1)
    scale = (1 / values - 1 / VARIANCE)[:, :, None]
    r = n * np.log(2 * np.pi) + (n - d) * np.log(VARIANCE)
    r = r + np.log(values).sum(axis=1)
    norms = (X**2).sum(axis=1)[:, None]
    parts = []
    for a in range(0, len(Z), block):
        z = Z[a : a + block].T
        along = (stacked @ z - offsets).reshape(len(X), d, -1)
        np.square(along, out=along)
        along *= scale
        q = (norms - 2 * X @ z + (z**2).sum(axis=0)) / VARIANCE + along.sum(axis=1)
        parts.append(logsumexp(-0.5 * (r[:, None] + q), axis=0) - np.log(len(X)))
    return np.concatenate(parts)


def row(name: str, theirs: float, ours: float, agree: float, storage: str) -> None:
    print(
        f"| {name} | {theirs:.3g} s | {ours:.3f} s | {theirs / ours:.1f} | "
        f"{agree:.1e} | {storage} |",
        flush=True,
    )


def difference(found: np.ndarray, logs: np.ndarray) -> float:
    logs = logs[: len(found)]
    return float(np.abs((found - logs) / logs).max())


def against_stored_directions(
    X: np.ndarray, Z: np.ndarray, n_literal: int, only: str | None
) -> None:
    model = ManifoldParzen(K, bandwidth=VARIANCE**0.5).fit(X)
    V, values = directions(model._mixture.gaussians)
    model.score_samples(Z[:1])  # factors, compiled loops
    kept = model._mixture.gaussians.stored.values.nbytes
    storage = f"{V.nbytes / 2**20:.0f} against {kept / 2**20:.0f} MiB"
    contestants = {
        "box": ("the algorithm box, a query and a center at a time", algorithm_box, 1),
        "centers": (
            "the algorithm box, all queries of a center at a time",
            algorithm_box_vectorized,
            1,
        ),
        "product": ("one matrix product over stored directions", big_product, 5),
    }
    for key, (name, work, repeats) in contestants.items():
        if only not in (None, key):
            continue
        part = Z[:n_literal] if key == "box" else Z
        theirs, ours, found, logs = duel(
            lambda work=work, part=part: work(X, part, V, values),
            lambda: model.score_samples(Z),
            repeats,
        )
        theirs *= len(Z) / len(part)
        row(name, theirs, ours, difference(found, logs), storage)


def against_kernel_density(X: np.ndarray, Z: np.ndarray) -> None:
    sigma = VARIANCE**0.5
    parzen = ParzenWindows(sigma).fit(X)
    parzen.score_samples(Z[:1])
    for leaf in (len(X), 40):
        tree = KernelDensity(bandwidth=sigma, leaf_size=leaf).fit(X)
        theirs, ours, found, logs = duel(
            lambda tree=tree: tree.score_samples(Z), lambda: parzen.score_samples(Z), 2
        )
        name = f"`KernelDensity(leaf_size={leaf})`, d = 0"
        row(name, theirs, ours, difference(found, logs), "the data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=2007)
    parser.add_argument("--literal", type=int, default=20)
    parser.add_argument("--only", choices=("box", "centers", "product", "parzen"))
    args = parser.parse_args()
    X, Z = data()
    Z = Z[: args.queries]
    print(
        f"l = {len(X)}, n = {X.shape[1]}, m = {len(Z)}, k = d = {K}, sigma² = "
        f"{VARIANCE}, {allowed_threads()} threads\n"
    )
    print("| against | theirs | ours | ratio | difference | storage |")
    print("|---|---|---|---|---|---|")
    if args.only != "parzen":
        against_stored_directions(X, Z, args.literal, args.only)
    if args.only in (None, "parzen"):
        against_kernel_density(X, Z)


if __name__ == "__main__":
    main()
