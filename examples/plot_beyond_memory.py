"""
More rows than memory holds
===========================

``fit_batches`` reads Parquet files block by block, and keeps sums only. More rows make
better models of the same size in the same memory. Here 80 000 rows of noisy targets are
written to eight files; models of at most 40 points are fitted to one, two, four and all
of them. A checkpoint would let a fit that is killed go on where it was.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pursuit import KMPRegressor
from pursuit.batches import ParquetRows


def rows_of_a_file(seed, noise=2.0):
    rng = np.random.default_rng(seed)
    X = rng.random((10_000, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + noise * rng.normal(size=len(X))
    return pd.DataFrame(X, columns=list("abcde")).assign(target=y)


folder = Path(tempfile.mkdtemp())
for i in range(8):
    rows_of_a_file(i).to_parquet(folder / f"part-{i}.parquet")
files = sorted(folder.glob("*.parquet"))

# %%
# The files that a fit reads may be given one by one; a folder stands for all of them.
# Errors are measured on other rows, without noise.

test = rows_of_a_file(99, noise=0.0)
numbers, errors = [10_000, 20_000, 40_000, 80_000], []
for n in numbers:
    rows = ParquetRows(files[: n // 10_000], target="target")
    model = KMPRegressor(max_support=40).fit_batches(rows)
    residuals = model.predict(test[list("abcde")]) - test["target"]
    errors.append(np.sqrt(np.mean(residuals**2)))
    print(f"{n} rows: {model.n_support_} points, error {errors[-1]:.3f}")

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.plot(numbers, errors, "o-")
axes.set(xscale="log", xlabel="rows in the files", ylabel="root mean squared error")
axes.set_xticks(numbers, [f"{n:,}".replace(",", " ") for n in numbers], minor=False)
axes.set_xticks([], minor=True)
plt.show()

# %%
# Predictions are blocks, too, which may be written as they come:

rows = ParquetRows(folder, features=list("abcde"))
print(sum(len(block) for block in model.predict_batches(rows)), "predictions")
