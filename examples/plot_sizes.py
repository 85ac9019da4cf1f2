"""
Every size from one fit
=======================

A fit holds the models of every size up to the end of its path.
:class:`~pursuit.inspection.PathDisplay` draws how good each of them is. The left panel
shows the held-out errors by which cross-validation chose the size, the right one the
accuracy on training and test data. Dotted lines mark the chosen size, the smallest
within 1 % of the lowest held-out loss. Errors are flat there: a much smaller model is
often almost as good, and ``truncate`` returns it without another fit.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pursuit import KMPClassifier
from pursuit.inspection import PathDisplay

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), KMPClassifier("rbf")).fit(X_train, y_train)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
PathDisplay.from_search(model, ax=left)
for part, X_part, y_part in (("train", X_train, y_train), ("test", X_test, y_test)):
    PathDisplay.from_estimator(model, X_part, y_part, ax=right, name=part)
plt.show()

# %%
# The models of a few sizes on the way:

scores = list(model[-1].staged_score(model[:-1].transform(X_test), y_test))
for size in (5, 10, 20, 50, model[-1].n_support_):
    print(f"{size:4d} points: test accuracy {scores[size - 1]:.3f}")
