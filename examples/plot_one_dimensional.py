"""
A curve from a few points
=========================

Kernel matching pursuit adds one Gaussian at a time, centered on a training point, and
then optimizes the coefficients of all Gaussians. One fit holds the models of
every size; cross-validation chooses among them.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import KMPRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-10, 10, size=(150, 1))
y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(150)
X_plot = np.linspace(-10, 10, 400)[:, np.newaxis]

model = KMPRegressor(gamma=0.5).fit(X, y)
stages = list(model.staged_predict(X_plot))
print(f"{model.n_support_} support points of {len(X)}")

# %%
# Small sizes are on the way to the chosen one: no model is fitted twice.

figure, panels = plt.subplots(
    1, 3, figsize=(10, 3.2), sharey=True, layout="constrained"
)
sizes = [1, max(1, model.n_support_ // 2), model.n_support_]
for axes, size in zip(panels, sizes, strict=True):
    chosen = model.support_[:size]
    axes.plot(X, y, ".", color="0.75", label="training points")
    axes.plot(X_plot, stages[size - 1], color="C0", label="model")
    axes.plot(X[chosen], y[chosen], "o", color="C3", fillstyle="none", label="support")
    axes.set(title=f"size {size}", xlabel="x")
panels[0].set_ylabel("y")
panels[0].legend(fontsize="small")
plt.show()
