"""
Quantile curves
===============

The loss "quantile" (pinball) weighs residuals above and below the curve differently, so
that a given share of the targets lies below it. Three pursuits give a median and a
band that holds four targets of five, wherever the noise is large or small.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from pursuit import KMPRegressor
from pursuit.losses import Quantile


def spread(x):
    return 0.1 + 0.9 * np.sin(x / 4) ** 2


rng = np.random.default_rng(0)
X = rng.uniform(0, 10, size=(400, 1))
y = np.sin(X[:, 0]) + spread(X[:, 0]) * rng.standard_normal(400)

x = np.linspace(0, 10, 300)
curves = {}
for q in (0.1, 0.5, 0.9):
    model = KMPRegressor(loss=Quantile(q), gamma=0.5, alpha=0.01, max_support=20)
    model.fit(X, y)
    curves[q] = model.predict(x[:, np.newaxis])
    below = (y <= model.predict(X)).mean()
    print(f"{below:.1%} of the targets below the {q} curve, {model.n_support_} points")

# %%
# The true quantiles are dotted.

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.plot(X, y, ".", color="0.75")
axes.fill_between(x, curves[0.1], curves[0.9], color="C0", alpha=0.2)
for q, curve in curves.items():
    axes.plot(x, curve, color="C0", linewidth=2 if q == 0.5 else 1)
    axes.plot(x, np.sin(x) + spread(x) * norm.ppf(q), ":", color="black", linewidth=1)
axes.set(xlabel="x", ylabel="y", title="0.1, 0.5 and 0.9 quantiles")
plt.show()
