"""
The same model on a cluster
===========================

Rows of Dask are fitted where they are. Each trip over them is a task for each
partition; what comes back is merged on the workers, so that neither their number nor
the partitions change the model. Here two workers are started in this process;
``Client("address of a scheduler")`` is all that a real cluster needs.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

from pursuit import KMPRegressor
from pursuit.dask import DaskKMPRegressor

rng = da.random.default_rng(0)
X = rng.uniform(-6, 6, size=(60_000, 2), chunks=(5_000, 2))
radius = da.sqrt((X**2).sum(axis=1))
y = da.sin(radius) + 0.2 * rng.normal(size=60_000, chunks=5_000)

params = {"kernel": "rbf", "gamma": 0.5, "alpha": 1e-3, "max_support": 60}

with Client(processes=False, n_workers=2, dashboard_address=":0"):
    model = DaskKMPRegressor(**params).fit(X, y)
    print(model.predict(X))  # not computed yet
    print("R²:", round(model.score(X, y), 3))

# %%
# The same rows in memory, block by block: the same points, in the same order.

rows, targets = X.compute(), y.compute()
ordinary = KMPRegressor(**params).fit_batches(lambda: iter([(rows, targets)]))
print("the same points:", np.array_equal(model.support_, ordinary.support_))
difference = np.abs(model.dual_coef_ - ordinary.dual_coef_).max()
print("the same coefficients:", difference < 1e-8 * np.abs(ordinary.dual_coef_).max())

# %%
# ``local_`` is an ordinary model, which predicts in memory.

side = np.linspace(-6, 6, 150)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = model.local_.predict(grid).reshape(len(side), -1)
plt.figure(figsize=(5, 4), layout="constrained")
plt.pcolormesh(side, side, values, cmap="RdBu", vmin=-1, vmax=1)
plt.scatter(*model.support_vectors_.T, s=8, color="k")
plt.title(
    f"{model.n_support_} points of {len(rows)} rows in {X.numblocks[0]} partitions"
)
plt.show()
