"""
A density along a spiral
========================

Parzen windows put the same round Gaussian on every training point. Where the data lie
near a curve, the sum is bumpy along it and too wide across it. Manifold Parzen windows
shape each Gaussian by the point's neighbors, so that it lies along the curve. The
density is above one in the shaded area, as in Figure 13.2 of Vincent's thesis. The
leave-one-out likelihood chooses both widths.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import ManifoldParzen, ParzenWindows
from pursuit.datasets import make_spiral, spiral_log_density

X = make_spiral(300, random_state=0)
X_new = make_spiral(10_000, random_state=1)
models = {
    "Parzen windows": ParzenWindows().fit(X),
    "Manifold Parzen windows": ManifoldParzen(n_components=1).fit(X),
}
for name, model in models.items():
    print(f"{name}: {-model.score(X_new):.3f} nats (width {model.bandwidth_:.4f})")
print(f"the true density: {-spiral_log_density(X_new).mean():.3f} nats")

# %%
# The average negative log-likelihood of new points is lower along the curve, and the
# true density's entropy bounds it from below. The lower panels enlarge a part.

figure, panels = plt.subplots(2, 2, figsize=(8, 8), layout="constrained")
areas = [(-0.66, 0.66, -0.66, 0.66), (0.2, 0.6, -0.2, 0.2)]
for column, (name, model) in zip(panels.T, models.items(), strict=True):
    for axes, (left, right, low, high) in zip(column, areas, strict=True):
        x, y = np.meshgrid(np.linspace(left, right, 300), np.linspace(low, high, 300))
        logs = model.score_samples(np.column_stack([x.ravel(), y.ravel()]))
        axes.contourf(x, y, logs.reshape(x.shape), levels=[0, 99], colors=["0.75"])
        axes.plot(*X.T, ".", color="black", markersize=3)
        axes.set(xlim=(left, right), ylim=(low, high), aspect="equal")
        axes.set(xticks=[], yticks=[])
    column[0].set_title(name)
plt.show()

# %%
# ``search_`` keeps every setting that the search compared.

figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
table = models["Manifold Parzen windows"].search_
for k in sorted({row["n_neighbors"] for row in table}):
    rows = sorted(
        (row["bandwidth"], row["score"]) for row in table if row["n_neighbors"] == k
    )
    axes.plot(*zip(*rows, strict=True), ".-", label=f"{k} neighbors")
axes.set(xscale="log", xlim=(1e-3, 0.1), ylim=(0, 1.6))
axes.set(xlabel="bandwidth", ylabel="leave-one-out log-density")
axes.legend(fontsize="small", loc="lower center")
plt.show()
