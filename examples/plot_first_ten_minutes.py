"""
The first ten minutes
=====================

From the installation to a model in a file: a first model, a first mistake, a first
picture, a first saved model. Install pursuit with the pictures, in a clone of its
repository::

    pip install ".[plot]"

The first fit on a machine compiles for some seconds, and says so. Later ones do not.
"""

# %%
# A first model
# -------------
#
# Thirty measurements of cells, in all kinds of units, and a diagnosis. Say how many
# points the model may keep; it finds out by itself which measurements count.

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from pursuit import KMPClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = KMPClassifier(max_support=20).fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.1%} right, from {model.n_support_} points")

# %%
# What was chosen, and why:

print(model.summary())

# %%
# A first mistake
# ---------------
#
# Real tables have holes. The model does not guess what belongs there, but says where
# they are:

X_holes = X_train.copy()
X_holes.iloc[::20, 3] = float("nan")
try:
    KMPClassifier(max_support=20).fit(X_holes, y_train)
except ValueError as error:
    print(error)

# %%
# So fill them first, in a pipeline, which then fills those of new rows too:

from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

filled = make_pipeline(SimpleImputer(), KMPClassifier(max_support=20))
filled.fit(X_holes, y_train)
print(f"{filled.score(X_test, y_test):.1%} right")

# %%
# A first picture
# ---------------
#
# Which measurements does the model go by, and how good would it be with fewer points?
# One fit holds the models of every size.

import matplotlib.pyplot as plt

from pursuit.inspection import ImportancesDisplay, PathDisplay

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ImportancesDisplay.from_estimator(model, n_features=8, ax=left)
PathDisplay.from_estimator(model, X_test, y_test, ax=right)
plt.show()

# %%
# A first saved model
# -------------------
#
# The file holds numbers and words, never code, and later versions of pursuit read it.

import tempfile
from pathlib import Path

import pursuit

file = Path(tempfile.mkdtemp()) / "diagnosis.pursuit"
pursuit.save(filled, file)
again = pursuit.load(file)
same = (again.predict(X_test) == filled.predict(X_test)).all()
print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB, same answers: {same}")

# %%
# Where to go next: :doc:`how to prepare your own table </how_to/index>`,
# :doc:`which estimator suits your problem </choosing>`, and
# :doc:`how it works </kernel_matching_pursuit>`.
