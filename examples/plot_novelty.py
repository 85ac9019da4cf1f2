"""
Novelty, with a promise
=======================

Regular rows lie on a ring. A few of them span a subspace of feature space, and rows
that are far from it are called outliers. Rows that were left out set the threshold, so
that on average at most 5 % of new regular rows are called so.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import OneClassSVM

from pursuit import SparseKernelPCA, SubspaceOutlierDetector


def ring(n, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = 1 + 0.12 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


X, new = ring(400, 0), ring(5000, 1)
models = {
    "SubspaceOutlierDetector": SubspaceOutlierDetector(
        SparseKernelPCA(25, gamma=2.0, center=False)
    ),
    "OneClassSVM": OneClassSVM(nu=0.05, gamma=2.0),
}
grid = np.linspace(-2, 2, 201)
points = np.column_stack([axis.ravel() for axis in np.meshgrid(grid, grid)])

figure, panels = plt.subplots(
    1, 2, figsize=(9, 4.4), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X)
    values = model.decision_function(points).reshape(201, 201)
    axes.contourf(
        grid, grid, values, [-np.inf, 0, np.inf], colors=["C1", "C0"], alpha=0.2
    )
    axes.contour(grid, grid, values, [0], colors="C0")
    axes.plot(*X.T, ".", color="0.6", ms=3)
    axes.plot(*model.support_vectors_.T, "o", mfc="none", color="k", ms=6)
    alarms = np.mean(model.predict(new) == -1)
    axes.set(
        title=f"{name}\n{len(model.support_vectors_)} points, "
        f"{alarms:.1%} false alarms",
        aspect="equal",
    )
plt.show()

# %%
# Circles are the points that the models keep. The promise is about new rows, here 5000:

detector = models["SubspaceOutlierDetector"]
print(f"certified: {detector.certified_rate_:.1%}")
print(f"p-value of the middle: {detector.p_values([[0.0, 0.0]])[0]:.3f}")
