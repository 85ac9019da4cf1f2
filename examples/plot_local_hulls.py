"""
Decision surfaces of neighbors, a linear SVM and local hulls
=============================================================

Figure 11.2 of the thesis, redrawn: few points leave holes between them, and nearest
neighbors (K = 1) let the other class in. A linear support vector machine keeps the
largest margin, but only a straight one. The convex hulls of the two nearest points of
each class (CKNN with K = 2) close the holes and keep the margin large locally.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pursuit import CKNNClassifier

rng = np.random.default_rng(0)
along = np.linspace(-2, 2, 9) + rng.uniform(-0.2, 0.2, size=(2, 9))
X = np.concatenate(
    [np.c_[a, 0.4 * a**2 + shift] for a, shift in zip(along, (0.3, -0.3), strict=True)]
)
y = np.repeat([0, 1], 9)
models = {
    "neighbors, K = 1": KNeighborsClassifier(1),
    "linear SVM": SVC(kernel="linear", C=1e3),
    "local hulls, K = 2": CKNNClassifier(2),
}

figure, panels = plt.subplots(
    1, 3, figsize=(10, 3.4), sharey=True, layout="constrained"
)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(
        model.fit(X, y),
        X,
        response_method="predict",
        grid_resolution=250,
        alpha=0.3,
        cmap="coolwarm",
        ax=axes,
    )
    axes.scatter(*X.T, c=y, s=20, cmap="coolwarm", edgecolors="black", linewidths=0.5)
    axes.set_title(name)
plt.show()
