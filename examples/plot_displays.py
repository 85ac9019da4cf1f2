"""
Pictures of fitted models
=========================

:mod:`pursuit.inspection` draws fitted models as scikit-learn's displays do:
``from_estimator`` draws at once, ``ax=`` says where, and the attributes ``ax_`` and
``figure_`` lead on. They take pipelines too.

What a fit has compared, and where
----------------------------------

The default learns its kernel by rounds, each of which takes the metric from the
gradients of the model before. A named kernel has a width and a ridge, of which a search
visits a part.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pursuit import HKNNClassifier, KMPClassifier, ManifoldParzen
from pursuit.inspection import (
    BoundDisplay,
    DensityDisplay,
    NeighborsDisplay,
    PathDisplay,
    SearchDisplay,
    SupportDisplay,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
learned = KMPClassifier(max_support=25).fit(X, y)
named = make_pipeline(StandardScaler(), KMPClassifier("rbf", max_support=25)).fit(X, y)

figure, panels = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
SearchDisplay.from_estimator(learned, ax=panels[0])
SearchDisplay.from_estimator(named, ax=panels[1])
panels[0].set_title("rounds of a learned kernel")
panels[1].set_title("width and ridge of a named one")

# %%
# How large the model is
# ----------------------
#
# Held-out errors chose the size on the left. On the right, a bound that holds with a
# probability of 95 % for rows of the same kind, without any held out. It is low for few
# points only.
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
PathDisplay.from_search(named, ax=panels[0], size_scale="log")
BoundDisplay.from_estimator(named, X, y, ax=panels[1], size_scale="log")

# %%
# On which points it stands
# -------------------------
#
# Thirty columns along their first principal components, and two columns by their names.
# A ring is larger where the coefficient is.
figure, panels = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
SupportDisplay.from_estimator(learned, X, y, ax=panels[0])
SupportDisplay.from_estimator(
    learned, X, y, features=("worst texture", "worst concave points"), ax=panels[1]
)

# %%
# By which neighbors a digit is decided
# -------------------------------------
#
# HKNN takes as many neighbors of each class, and the class whose hyperplane through
# them is nearest.
images, digits = load_digits(return_X_y=True)
neighbors = HKNNClassifier(8).fit(images[100:], digits[100:])
NeighborsDisplay.from_estimator(
    neighbors, images[100:], digits[100:], images[8], image_shape=(8, 8)
)

# %%
# Where data are dense
# --------------------
#
# Logarithms of a density, down to ten below the highest. Of more than two columns, the
# others stay at their medians.
petals = load_iris().data[:, 2:]
DensityDisplay.from_estimator(ManifoldParzen().fit(petals), petals)
plt.show()
