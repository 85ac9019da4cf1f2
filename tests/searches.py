"""Searches for neighbors that a user may write, good ones and bad ones."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors


class Shuffled:
    """A search that is no estimator and returns its neighbors in no order."""

    def fit(self, X):
        self.X = X
        return self

    def kneighbors(self, X, n_neighbors):
        d = np.linalg.norm(X[:, None] - self.X, axis=2)
        found = np.argsort(d, axis=1)[:, :n_neighbors][:, ::-1]
        return np.take_along_axis(d, found, axis=1), found


class Squared:
    """A search that returns squared distances, in other units, as some indexes do."""

    def fit(self, X):
        self.search = NearestNeighbors().fit(X)

    def kneighbors(self, X, n_neighbors):
        distance, found = self.search.kneighbors(X, n_neighbors)
        return 1e-30 * distance**2, found


class Padded:
    """A search that finds all but the last ``lost`` and pads, as some indexes do."""

    def __init__(self, lost, distance):
        self.lost, self.distance = lost, distance

    def fit(self, X):
        self.search = NearestNeighbors().fit(X)

    def kneighbors(self, X, n_neighbors):
        distance, found = self.search.kneighbors(X, n_neighbors)
        distance[:, n_neighbors - self.lost :] = self.distance
        found[:, n_neighbors - self.lost :] = -1
        return distance, found


class Wrong(BaseEstimator):
    """Answers with one distance for all, and with indices of another shape."""

    def __init__(self, d, i):
        self.d, self.i = d, i

    def fit(self, X):
        return self

    def kneighbors(self, X, n_neighbors):
        return np.full((len(X), n_neighbors), self.d), np.full(self.i, -1)


class Answering(BaseEstimator):
    """Answers with nothing, or with one number for all indices."""

    def __init__(self, index):
        self.index = index

    def fit(self, X):
        return self

    def kneighbors(self, X, n_neighbors):
        if self.index is None:
            return None
        shape = len(X), n_neighbors
        return np.ones(shape), np.full(shape, self.index)
