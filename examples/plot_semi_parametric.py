"""
Semi-parametric models: features beside kernels
===============================================

Gaussian kernels fade to zero beyond the data, so a model of Gaussians goes back to its
constant there. If you know that a trend goes on, put the feature itself into the
dictionary. The pursuit then takes the feature first, and Gaussians for the remainder.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import KMPRegressor
from pursuit.dictionaries import Features, OneKernel


def target(x):
    return 0.8 * x + np.sin(2 * x)


rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 300)
y = target(x) + 0.1 * rng.standard_normal(300)
grid = np.linspace(0, 15, 600)

models = {
    "kernels": KMPRegressor("rbf"),
    "the feature and kernels": KMPRegressor(dictionary=Features() + OneKernel()),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for (title, model), axis in zip(models.items(), axes, strict=True):
    model.fit(x[:, None], y)
    error = np.sqrt(np.mean((model.predict(grid[:, None]) - target(grid)) ** 2))
    axis.plot(x, y, ".", color="0.8", markersize=3)
    axis.plot(grid, target(grid), color="black", linewidth=0.8, label="the truth")
    axis.plot(grid, model.predict(grid[:, None]), color="tab:red", label="the model")
    axis.set(title=f"{title}: {model.n_support_} functions, error {error:.2f}")
    print(title, model.atoms_.names[:3])
axes[0].legend()
plt.show()
