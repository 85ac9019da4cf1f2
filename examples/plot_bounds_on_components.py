"""
How many components a bound picks
=================================

Sparse kernel PCA is a compression scheme: the chosen points alone determine its
subspace. Hussain and Shawe-Taylor use this to bound the residual of new points, and
compare with a bound by the eigenvalues of the kernel matrix (Figure 1 of "Theory of
matching pursuit"). The left panel shows Boston's housing data if they are available,
otherwise scikit-learn's diabetes data; the right one 1000 points of 450 dimensions, 50
of them strong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import normalize, scale

from pursuit import SparseKernelPCA, bounds, datasets
from pursuit.kernels import Gaussian, Linear, median_gamma


def curves(kernel, X, X_new, n):
    """Test residuals and both bounds at 1 to n chosen points."""
    model = SparseKernelPCA(n, kernel=kernel, center=False, subsample=None).fit(X)
    sizes = np.arange(1, model.n_support_ + 1)
    residual = [model.truncate(t).reconstruction_error(X_new).mean() for t in sizes]
    # The bounds are the lowest of these terms so far; the terms show where that is.
    compression = model.path_.bound().terms[1:]
    eigenvalues = bounds.kpca_curve(kernel(X), model.n_support_).terms[1:]
    return sizes, residual, compression, eigenvalues


def housing():
    """Standardized inputs, 450 rows to fit and the rest to test."""
    name = "Boston" if "boston" in datasets.available() else "diabetes"
    X = datasets.load("boston").data if name == "Boston" else load_diabetes().data
    X = scale(X)[np.random.default_rng(0).permutation(len(X))]
    gamma = median_gamma(X) / 0.3
    n = int(0.89 * len(X))
    return name, curves(Gaussian(gamma), X[:n], X[n:], 120)


def toy():
    """Points on the unit sphere; the strong variances fall as t to the -1.35."""
    X = np.random.default_rng(0).standard_normal((1500, 450))
    X[:, :50] *= 100 * np.arange(1, 51) ** (-1.35 / 2)
    X = normalize(X)
    return "50 strong dimensions", curves(Linear(), X[:1000], X[1000:], 120)


# %%
# The compression bound is lower, and its minimum comes close to the number of strong
# dimensions. In the other bound, the term for the dimension outweighs the residual
# early on.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axes, (name, shown) in zip(panels, [housing(), toy()], strict=True):
    sizes, residual, compression, eigenvalues = shown
    axes.plot(sizes, residual, color="black", label="residual of new points")
    axes.plot(sizes, compression, color="tab:blue", label="compression bound")
    axes.plot(sizes, eigenvalues, color="tab:red", label="bound by eigenvalues")
    for curve, color in ((compression, "tab:blue"), (eigenvalues, "tab:red")):
        axes.axvline(sizes[curve.argmin()], color=color, linestyle=":")
    print(f"{name}: {sizes[compression.argmin()]} points by the compression bound")
    axes.set(title=name, xlabel="chosen points", ylim=(0, None))
panels[0].legend(fontsize="small")
plt.show()
