"""Manifold Parzen windows against the algorithm box, one big product, KernelDensity.

    python benchmarks/bench_density.py [--queries 2007] [--literal 20]

USPS (7291 training images of 256 pixels, smoothed as in Table 13.3), k = d = 11,
sigma² = 0.1: log-densities of test images under one mixture of all training images.
Times are the best of three, of one run, with the threads that BLAS is allowed; the
algorithm box runs on fewer queries, its time scaled up. All must agree. Without
usps.npz, random data of the same shape.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
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
    usps = datasets.load("usps")
    return smoothed(usps.data_train), smoothed(usps.data_test)


def smoothed(X: np.ndarray) -> np.ndarray:
    images = X.reshape(-1, 16, 16) + 1.0
    sd = (0.0, 0.75, 0.75)
    return gaussian_filter(images, sd, mode="constant").reshape(len(X), -1) - 1.0


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def algorithm_box(
    X: np.ndarray, Z: np.ndarray, V: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """MParzen::Test: for each query, LocalGaussian of each centre in turn."""
    out = np.empty(len(Z))
    for i, z in enumerate(Z):
        logs = [
            reference.local_gaussian(z, X[j], V[j], values[j], VARIANCE)
            for j in range(len(X))
        ]
        out[i] = logsumexp(logs) - np.log(len(X))
    return out


def algorithm_box_vectorised(
    X: np.ndarray, Z: np.ndarray, V: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """The same with the loop over centres outside, each for all queries at once."""
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
    """All directions of all centres as one matrix, times blocks of queries."""
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
        f"{agree:.1e} | {storage} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=2007)
    parser.add_argument("--literal", type=int, default=20)
    args = parser.parse_args()
    X, Z = data()
    Z = Z[: args.queries]
    V, values = map(np.array, reference.train_manifold_parzen(X, K, K, VARIANCE))
    fit, model = timed(
        lambda: ManifoldParzen(K, bandwidth=VARIANCE**0.5).fit(X), repeats=1
    )
    model.score_samples(Z[:1])  # factors, compiled loops
    ours, logs = timed(lambda: model.score_samples(Z))
    kept = model._gaussians.kept.values.nbytes
    storage = f"{V.nbytes / 2**20:.0f} against {kept / 2**20:.0f} MiB"
    print(
        f"l = {len(X)}, n = {X.shape[1]}, m = {len(Z)}, k = d = {K}, sigma² = "
        f"{VARIANCE}, {allowed_threads()} threads; fit {fit:.2f} s\n"
    )
    print("| against | theirs | ours | ratio | difference | storage |")
    print("|---|---|---|---|---|---|")
    few = Z[: args.literal]
    literal, found = timed(lambda: algorithm_box(X, few, V, values), repeats=1)
    literal *= len(Z) / len(few)
    row("the algorithm box, a query and a centre at a time",
        literal, ours, difference(found, logs), storage)  # fmt: skip
    boxes, found = timed(lambda: algorithm_box_vectorised(X, Z, V, values), repeats=1)
    row("the algorithm box, all queries of a centre at a time",
        boxes, ours, difference(found, logs), storage)  # fmt: skip
    product, found = timed(lambda: big_product(X, Z, V, values))
    row("one matrix product over stored directions",
        product, ours, difference(found, logs), storage)  # fmt: skip
    sigma = VARIANCE**0.5
    parzen = ParzenWindows(sigma).fit(X)
    parzen.score_samples(Z[:1])
    ours, logs = timed(lambda: parzen.score_samples(Z))
    for leaf in (len(X), 40):
        theirs = KernelDensity(bandwidth=sigma, leaf_size=leaf).fit(X)
        seconds, found = timed(lambda theirs=theirs: theirs.score_samples(Z), repeats=1)
        row(f"`KernelDensity(leaf_size={leaf})`, d = 0",
            seconds, ours, difference(found, logs), "the data")  # fmt: skip


def difference(found: np.ndarray, logs: np.ndarray) -> float:
    logs = logs[: len(found)]
    return float(np.abs((found - logs) / logs).max())


if __name__ == "__main__":
    main()
