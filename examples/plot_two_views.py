"""
What two views have in common
=============================

Two views show the same hidden angle: a noisy circle, which the angle runs round twice,
and a noisy parabola. No linear functions of the views correlate well. Sparse kernel CCA
finds functions that do, from 30 pairs of training points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import CCA

from pursuit import SparseKernelCCA

rng = np.random.default_rng(0)
angle = rng.uniform(0, 6, 600)
X = np.c_[np.cos(2 * angle), np.sin(2 * angle)] + 0.1 * rng.standard_normal((600, 2))
Y = np.c_[angle, (angle - 3) ** 2] + 0.2 * rng.standard_normal((600, 2))
train, test = slice(0, 300), slice(300, None)

models = {
    "linear CCA": CCA(n_components=1).fit(X[train], Y[train]),
    "sparse kernel CCA": SparseKernelCCA(1, max_support=30).fit(X[train], Y[train]),
}

# %%
# The colors of the new points show the angle, which neither method saw.

figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for axes, (name, model) in zip(panels, models.items(), strict=True):
    t, u = (scores[:, 0] for scores in model.transform(X[test], Y[test]))
    axes.scatter(t, u, c=angle[test], s=8)
    axes.set(title=f"{name}: {np.corrcoef(t, u)[0, 1]:.2f}")
    axes.set(xlabel="first view", ylabel="second view")
plt.show()
