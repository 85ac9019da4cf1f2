"""
Intervals that hold what they promise
=====================================

The search of a fit has left models that never saw some of the rows. Their errors there
say how far new targets will be from the predictions: an interval that asks for 90 %
holds 90 %, whatever the noise. Two quantiles instead of the mean also say where the
noise is.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import KMPRegressor
from pursuit.losses import Quantile


def wave(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n)
    noise = 0.1 + 0.5 * np.exp(-((x - 1.5) ** 2))
    return x[:, None], np.sin(2 * x) + noise * rng.normal(size=n)


X, y = wave(400, 0)
grid = np.linspace(-3.6, 3.6, 361)[:, None]
models = {
    "squared loss": KMPRegressor("rbf", max_support=20),
    "Quantile([0.05, 0.95])": KMPRegressor(
        "rbf", loss=Quantile([0.05, 0.95]), max_support=20
    ),
}

figure, panels = plt.subplots(
    1, 2, figsize=(9, 3.8), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    predicted, intervals = model.predict_interval(grid, 0.9)
    axes.fill_between(grid[:, 0], *intervals[..., 0].T, color="C0", alpha=0.3, lw=0)
    axes.plot(X, y, ".", color="0.5", ms=3)
    axes.plot(grid, predicted, color="C3", lw=1)
    axes.set(title=name, xlabel="x", ylim=(-2.6, 2.6))
plt.show()

# %%
# On 5000 new rows, the intervals of the mean hold each share that is asked for. The
# noisy rows, where ``x`` is between 0.5 and 2.5, and the quiet ones are another
# question: under the squared loss all rows have nearly the same width, and the promised
# share only together. The quantiles were fitted for 90 %, and hold it on both.

X_new, y_new = wave(5000, 1)
is_noisy = (X_new[:, 0] > 0.5) & (X_new[:, 0] < 2.5)
parts = {"all": slice(None), "noisy": is_noisy, "quiet": ~is_noisy}


def is_inside(model, coverage):
    low, high = np.moveaxis(model.predict_interval(X_new, coverage)[1], 1, 0)
    return (low <= y_new[:, None]) & (y_new[:, None] <= high)


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
asked = np.arange(0.05, 1.0, 0.05)
left.plot([0, 1], [0, 1], color="0.7", lw=1)
left.plot(asked, is_inside(models["squared loss"], asked).mean(axis=0), "o-", ms=4)
left.set(
    title="squared loss, all rows",
    xlabel="coverage that is asked for",
    ylabel="share of new targets inside",
)
right.axhline(0.9, color="0.7", lw=1)
for marker, (name, model) in zip("os", models.items(), strict=True):
    inside = is_inside(model, 0.9)
    held = [inside[rows].mean() for rows in parts.values()]
    right.plot(list(parts), held, marker, ms=9, label=name)
right.set(title="asked for 0.9", xlabel="rows", ylim=(0.5, 1.02))
right.margins(x=0.3)
right.legend(frameon=False, loc="lower right")
plt.show()

# %%
# ``predict(X, return_std=True)`` gives standard deviations under the squared loss, and
# every size of the path has intervals, up to the largest that the folds know:

model = models["squared loss"]
_, std = model.predict([[0.0], [3.4]], return_std=True)
print("standard deviations:", std.round(3))
for n in (2, 5, model.n_support_):
    _, intervals = model.truncate(n).predict_interval(X_new)
    print(f"{n:3d} points: mean width {np.ptp(intervals[..., 0], axis=1).mean():.2f}")
