"""
Several widths in one dictionary
================================

The target is a smooth trend with three sharp bumps. A single width must be narrow
enough for the bumps, and then the trend takes many narrow functions. With seventeen
widths on each point in one dictionary, the pursuit takes wide functions for the trend
and narrow ones for the bumps.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import KMPRegressor
from pursuit.dictionaries import ManyWidths


def target(x):
    bumps = ((1.5, 2.0), (-1.2, 5.1), (1.0, 7.7))
    return np.sin(0.6 * x) + sum(a * np.exp(-(((x - c) / 0.1) ** 2)) for a, c in bumps)


rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 600)
y = target(x) + 0.05 * rng.standard_normal(600)
x_test = rng.uniform(0, 10, 2000)

octaves = 2.0 ** np.arange(-4, 13)
how = {"alpha": 1e-3, "selection": None, "max_support": 60}


def fitted(multiples):
    """Return the model, and its test error at each size."""
    model = KMPRegressor(dictionary=ManyWidths(multiples=multiples), **how)
    model.fit(x[:, None], y)
    stages = model.staged_predict(x_test[:, None])
    errors = [np.sqrt(np.mean((values - target(x_test)) ** 2)) for values in stages]
    return model, np.array(errors)


single = [fitted([m]) for m in octaves]
best_model, best = min(single, key=lambda fit: fit[1].min())
model, many = fitted(octaves)
n_best = best.argmin() + 1
n_many = np.argmax(many <= best.min()) + 1

figure, (curves, functions) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
sizes = np.arange(1, 61)
for _, errors in single:
    curves.plot(sizes, errors, color="0.8", linewidth=0.8)
curves.plot(
    sizes, best, color="tab:blue", label=f"best single width: {n_best} functions"
)
curves.plot(
    sizes, many, color="tab:red", label=f"all in one: {n_many} for the same error"
)
curves.axhline(best.min(), color="black", linewidth=0.6, linestyle=":")
curves.set(yscale="log", xlabel="functions", ylabel="test error (root mean square)")
curves.legend()

grid = np.linspace(0, 10, 1000)
small = model.truncate(n_many)
functions.plot(x, y, ".", color="0.8", markersize=3)
functions.plot(grid, small.predict(grid[:, None]), color="tab:red")
for coefficient, values in zip(
    small.dual_coef_[0], small.atoms_(grid[:, None]).T, strict=True
):
    functions.plot(grid, np.clip(coefficient, -1, 1) * values - 3.5, linewidth=0.8)
functions.set(title=f"{n_many} functions, below, and their sum", xlabel="x")
plt.show()
