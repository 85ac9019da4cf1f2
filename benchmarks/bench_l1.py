"""The Laplacian kernel's loop beside scikit-learn's distances and beside the Gaussian.

    python benchmarks/bench_l1.py [--rows 2000] [--points 2000] [--repeats 9]

Times of a dense matrix k(X, Y).  "old" is the exponential of scikit-learn's
``manhattan_distances``, which has one thread.  The kernels take turns, and the table
shows the medians of the ratios of neighbouring measurements, which a busy machine
changes less than the times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import manhattan_distances
from threadpoolctl import threadpool_limits

from pursuit.kernels import Gaussian, Laplacian
from pursuit.kernels.exponential import exponentials

FEATURES = (5, 10, 30, 100)
THREADS = (1, 2)


def old_laplacian(X: np.ndarray, Y: np.ndarray, gamma: float) -> None:
    """Compute the kernel as it was computed before."""
    D = manhattan_distances(X, Y)
    exponentials(D, -gamma)


def seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def measure(n_rows: int, n_points: int, d: int, repeats: int) -> np.ndarray:
    """Return times of old Laplacian, Laplacian and Gaussian, (repeats, 3)."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n_rows, d)), rng.normal(size=(n_points, d))
    laplacian, gaussian = Laplacian(1.0 / d), Gaussian(0.5 / d)
    old_laplacian(X, Y, 1.0 / d), laplacian(X, Y), gaussian(X, Y)
    return np.array(
        [
            [
                seconds(old_laplacian, X, Y, 1.0 / d),
                seconds(laplacian, X, Y),
                seconds(gaussian, X, Y),
            ]
            for _ in range(repeats)
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=9)
    chosen = parser.parse_args(arguments)
    print(
        "| threads | features | ms old | ms new | ms Gaussian | new/old | /Gaussian |"
    )
    print("|---|---|---|---|---|---|---|")
    for n_threads in THREADS:
        for d in FEATURES:
            with threadpool_limits(n_threads):
                times = measure(chosen.rows, chosen.points, d, chosen.repeats)
            old, new, gaussian = 1e3 * np.median(times, axis=0)
            ratios = np.median(times[:, 1:2] / times[:, ::2], axis=0)
            print(
                f"| {n_threads} | {d} | {old:.1f} | {new:.1f} | {gaussian:.1f} | "
                f"{ratios[0]:.2f} | {ratios[1]:.2f} |"
            )


if __name__ == "__main__":
    main()
