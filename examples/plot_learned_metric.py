"""
A decision boundary before and after the metric is learned
==========================================================

The classes are stripes, so one direction tells them apart and the other one says
nothing. A Gaussian that looks the same in all directions must be as narrow along the
stripes as across them, and it takes many to cover a stripe. A learned metric is found
by rounds: gradients of the model so far show along which directions the classes change,
and Gaussians become long in the others. ``KMPClassifier()`` does the same, and also
compares other metrics and kernels.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from sklearn.inspection import DecisionBoundaryDisplay

from pursuit import KMPClassifier

ACROSS = np.array([0.6, 0.8])


def stripes(n, rng):
    X = rng.uniform(-3, 3, size=(n, 2))
    noise = 0.2 * rng.standard_normal(n)
    return X, (np.sin(2.5 * X @ ACROSS + noise) > 0).astype(int)


rng = np.random.default_rng(0)
X, y = stripes(200, rng)
X_test, y_test = stripes(5000, rng)
models = {
    'kernel="rbf"': KMPClassifier("rbf"),
    'metric="full"': KMPClassifier("rbf", metric="full"),
}


def contour(model, center):
    """Return the ellipse on which a Gaussian has half of its height."""
    metric = np.eye(2) if model.metric_ is None else model.metric_
    values, vectors = np.linalg.eigh(metric)
    width, height = 2 * np.sqrt(np.log(2) / (model.gamma_ * values))
    angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
    return Ellipse(center, width, height, angle=angle, fill=False, linewidth=2)


# %%
# Support points are circled. The line around one of them shows where its Gaussian falls
# to a half; in the learned metric it leaves the picture.

figure, panels = plt.subplots(1, 2, figsize=(9, 5), sharey=True, layout="constrained")
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    error = 1 - model.score(X_test, y_test)
    DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="predict", alpha=0.25, cmap="coolwarm", ax=axes
    )
    axes.scatter(*X.T, c=y, s=8, cmap="coolwarm")
    support = X[model.support_]
    axes.scatter(*support.T, s=45, facecolors="none", edgecolors="black")
    middle = support[np.abs(support).max(axis=1).argmin()]
    axes.add_patch(contour(model, middle))
    title = f"{name}: {model.n_support_} points, test error {error:.1%}"
    axes.set(title=title, aspect="equal", xlim=(-3.3, 3.3), ylim=(-3.3, 3.3))
plt.show()

# %%
# The direction of the largest weight is the one across the stripes:

_, vectors = np.linalg.eigh(model.metric_)
print("learned:", vectors[:, -1].round(2), "true:", ACROSS)
