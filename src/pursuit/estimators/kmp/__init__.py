"""Kernel matching pursuit.

regressor.py, classifier.py, ranker.py   the estimators: what `fit` and `predict` do
               with y
base.py        what all share: the fit, sizes, values
settings.py    parameters, checked and resolved
planning.py    settings and data into the plan of a fit
outputs.py     values of the fitted functions into predictions
scoring.py     scikit-learn's scorers on held-out values
callbacks.py   scikit-learn's callbacks
empty.py       why a model has no points
"""

from .classifier import KMPClassifier
from .ranker import KMPRanker
from .regressor import KMPRegressor

__all__ = ["KMPClassifier", "KMPRanker", "KMPRegressor"]
