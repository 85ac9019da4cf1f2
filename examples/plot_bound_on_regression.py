"""
Where a bound would stop a regression
=====================================

Theorem 3 of "Theory of matching pursuit" bounds the share of new points whose error
exceeds a given alpha, at every size of a path. The bound is vacuous at a few hundred
points, but the paper proposes to stop at its minimum (Figure 2, where the minimum is at
the lowest test error, after 17 points). Here too the minimum comes after some 17
points, but the test error goes on falling slowly. The model has no constant and no
ridge, as in the paper. The data are Boston's housing data if they are available, 450
rows to fit and 56 to test, otherwise scikit-learn's diabetes data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from pursuit import KMPRegressor, datasets
from pursuit.kernels import median_gamma


def housing():
    """Return rows in random order, the targets, and the error to tolerate."""
    if "boston" in datasets.available():
        data = datasets.load("boston")
        X, y, alpha = scale(data.data), data.target, 4.0
    else:
        X, y = load_diabetes(return_X_y=True)
        X, alpha = scale(X), y.std() / 2
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order], alpha


def curves(X, y, alpha, width, n):
    """Return test errors and Theorem 3 at sizes 1, 2, ..."""
    A, b = X[:n], y[:n]
    model = KMPRegressor(
        gamma=median_gamma(X) / width,
        alpha=0.0,
        selection=None,
        max_support=80,
        fit_intercept=False,
    ).fit(A, b)
    errors = [np.mean((f - y[n:]) ** 2) for f in model.staged_predict(X[n:])]
    return np.array(errors), np.asarray(model.bound(A, b, "vc", alpha=alpha))[1:]


# %%
# A kernel of the median squared width, and one of 64 times that.

X, y, alpha = housing()
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axes, width in zip(panels, (1.0, 64.0), strict=True):
    errors, bound = curves(X, y, alpha, width, int(0.89 * len(X)))
    sizes = np.arange(1, len(errors) + 1)
    axes.plot(sizes, errors / y.var(), color="black", label="test error, relative")
    axes.plot(sizes, bound / 5, color="tab:blue", label="bound, divided by 5")
    axes.axvline(sizes[bound.argmin()], color="tab:blue", linestyle=":")
    axes.axvline(sizes[errors.argmin()], color="black", linestyle=":")
    axes.set(
        title=f"{width:g} × median squared distance",
        xlabel="support points",
        ylim=(0, 2),
    )
    print(
        f"width {width:g}: bound {sizes[bound.argmin()]}, test {sizes[errors.argmin()]}"
    )
panels[0].legend(fontsize="small")
plt.show()
