"""
More rows than memory holds
===========================

``fit_batches`` reads Parquet files block by block, and keeps sums only. Here 80 000
rows of very noisy targets are in sixteen files; one model is fitted to the first of
them, one to all. The curves are errors on other rows, without noise, of the models of
all sizes. From more rows, in the same memory, the same number of points is placed and
weighted better.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pursuit import KMPRegressor
from pursuit.batches import ParquetRows

NAMES = list("abcde")


def rows_of_a_file(seed, noise=5.0):
    rng = np.random.default_rng(seed)
    X = rng.random((5_000, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + noise * rng.normal(size=len(X))
    return pd.DataFrame(X, columns=NAMES).assign(target=y)


folder = Path(tempfile.mkdtemp())
for i in range(16):
    rows_of_a_file(i).to_parquet(folder / f"part-{i:02d}.parquet")

# %%
# Files are given one by one, or as a folder.

test = rows_of_a_file(99, noise=0.0)
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for paths, label in (
    (folder / "part-00.parquet", "5000 rows"),
    (folder, "80 000 rows"),
):
    rows = ParquetRows(paths, target="target")
    model = KMPRegressor(max_support=40).fit_batches(rows)
    predictions = model.staged_predict(test[NAMES])
    errors = [np.sqrt(np.mean((y - test["target"]) ** 2)) for y in predictions]
    (line,) = axes.plot(np.arange(1, len(errors) + 1), errors, label=label)
    n = model.n_support_
    axes.plot(n, errors[n - 1], "o", color=line.get_color())
    print(f"{label}: {n} points, error {errors[n - 1]:.2f}")
axes.set(xlabel="number of points", ylabel="root mean squared error", ylim=(0, 3))
axes.legend()
plt.show()

# %%
# Neither the order of the rows nor their division into blocks matters: a function that
# gives the files from the last to the first, in blocks of another length, leads to the
# same points.


def blocks():
    for path in sorted(folder.glob("*.parquet"), reverse=True):
        frame = pd.read_parquet(path).iloc[::-1]
        for start in range(0, len(frame), 700):
            part = frame.iloc[start : start + 700]
            yield part[NAMES], part["target"]


other = KMPRegressor(max_support=40).fit_batches(blocks)
print(
    "the same points:", np.array_equal(other.support_vectors_, model.support_vectors_)
)
difference = np.abs(other.dual_coef_ - model.dual_coef_) / np.abs(model.dual_coef_)
print(f"largest relative difference of coefficients: {difference.max():.0e}")
