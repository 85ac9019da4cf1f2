"""
A decision boundary, beside a support vector machine
====================================================

Both models classify by a weighted sum of the same Gaussians. A support vector machine
keeps every point on the wrong side of its margin, so noise makes it large; kernel
matching pursuit keeps the points that help most, and stops when more do not.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from pursuit import KMPClassifier

X, y = make_moons(1000, noise=0.3, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
models = [SVC(gamma=1.0), KMPClassifier(gamma=1.0)]

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axes, model in zip(panels, models, strict=True):
    model.fit(X_train, y_train)
    error = 1 - model.score(X_test, y_test)
    support = X_train[model.support_]
    DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="predict", alpha=0.25, cmap="coolwarm", ax=axes
    )
    axes.scatter(*X_train.T, c=y_train, s=6, cmap="coolwarm")
    axes.scatter(*support.T, s=40, facecolors="none", edgecolors="black")
    axes.set_title(
        f"{type(model).__name__}: {len(support)} points, test error {error:.1%}"
    )
plt.show()
