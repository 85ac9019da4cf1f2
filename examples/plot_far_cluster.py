"""
A far cluster
=============

Least squares wants every point of a class at the same distance from the boundary. A
cluster that is far away, though on the right side, has too large a margin: the boundary
turns towards the cluster until points near the boundary are on the wrong side. A
support vector machine does not see points beyond its margin, and neither does a pursuit
with a loss that levels off for large margins, such as "squared-tanh". The kernel is the
dot product, so that the boundaries are lines; mistakes are circled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.svm import SVC

from pursuit import KMPClassifier

rng = np.random.default_rng(0)
upper = rng.uniform((-2.5, 0.2), (2.5, 1.5), size=(40, 2))
lower = rng.uniform((-2.5, -1.5), (2.5, -0.2), size=(30, 2))
far = rng.normal((9.0, -6.0), 0.6, size=(30, 2))
X = np.concatenate([upper, lower, far])
y = np.repeat([1, 0, 0], [len(upper), len(lower), len(far)])

settings = {"kernel": "linear", "alpha": 1e-3, "selection": None, "max_support": 2}
models = {
    "SVC": SVC(kernel="linear", C=100),
    'loss="squared"': KMPClassifier(loss="squared", **settings),
    'loss="squared-tanh"': KMPClassifier(loss="squared-tanh", **settings),
}

figure, panels = plt.subplots(
    1, 3, figsize=(11, 3.6), sharey=True, layout="constrained"
)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    wrong = model.predict(X) != y
    DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="predict", alpha=0.25, cmap="coolwarm", ax=axes
    )
    axes.scatter(*X.T, c=y, s=12, cmap="coolwarm")
    axes.scatter(*X[wrong].T, s=60, facecolors="none", edgecolors="black")
    axes.set(title=f"{name}: {wrong.sum()} mistakes", aspect="equal")
plt.show()
