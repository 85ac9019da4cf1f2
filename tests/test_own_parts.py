"""Kernels, losses and dictionaries of the user's own, as the pages describe them."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pursuit import KMPClassifier, KMPRegressor
from pursuit.dictionaries import Callables, Dictionary, Features
from pursuit.kernels import DotProduct, Gaussian, Kernel, Radial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
FAST = {"alpha": 1e-3, "max_support": 10}


class LargestDifference(Kernel):
    """A kernel by its values alone."""

    accepts_sparse = False

    def __init__(self, gamma="cv"):
        self.gamma = gamma

    def values(self, X, Y):
        return np.exp(-self.gamma * np.abs(X[:, None, :] - Y).max(axis=2))


class Cauchy(Radial):
    """A kernel by its profile."""

    def __init__(self, gamma="cv"):
        self.gamma = gamma

    def profile(self, D):
        D *= self.gamma
        D += 1.0
        np.reciprocal(D, out=D)

    def slope(self, D):
        self.profile(D)
        np.square(D, out=D)
        D *= -self.gamma


class Cubic(DotProduct):
    """A kernel of products, without a width."""

    def profile(self, G):
        G **= 3


def waves(X, n):
    return np.sin(np.outer(X[:, 0], np.arange(1, n + 1)))


class Waves(Dictionary):
    """Sines of the first feature."""

    def __init__(self, n=3):
        self.n = n

    def learn(self, sample):
        return Callables([partial(waves, n=self.n)]).learn(sample)


@pytest.mark.parametrize(
    "kernel",
    [
        LargestDifference(),
        LargestDifference("median"),
        LargestDifference(0.5),
        Cauchy(),
        Cauchy("scale"),
        Cubic(),
        Cauchy("median") + 0.5 * Gaussian("median"),
    ],
    ids=repr,
)
def test_a_kernel_of_ones_own_is_chosen_saved_and_searched(kernel):
    model = KMPRegressor(kernel, **FAST).fit(X, Y)
    assert model.score(X, Y) > 0.4
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert repr(clone(model).kernel) == repr(kernel)
    chosen = getattr(kernel, "gamma", None)
    assert len(model.search_) > 1 if chosen == "cv" else model.search_
    found = model.kernel_(X, model.support_vectors_) @ model.dual_coef_[0]
    np.testing.assert_allclose(found + model.intercept_[0], model.predict(X), atol=1e-9)


def test_widths_of_ones_own_kernels_are_compared_by_held_out_rows():
    model = KMPRegressor(Cauchy(), **FAST).fit(X, Y)
    gammas = {trial["gamma"] for trial in model.search_}
    assert len(gammas) > 2
    assert model.gamma_ in gammas
    grid = GridSearchCV(KMPRegressor(Cauchy(), **FAST), {"kernel__gamma": [0.1, 1.0]})
    assert grid.fit(X, Y).best_estimator_.gamma_ in (0.1, 1.0)


def test_a_slope_lets_a_metric_be_learned():
    labels = Y > 0
    model = KMPClassifier(Cauchy(), metric="diagonal", max_support=10).fit(X, labels)
    assert model.metric_.shape == (3,)
    assert model.feature_importances_.argmin() == 2
    with pytest.raises(ValueError, match="gradients of the kernel"):
        KMPClassifier(LargestDifference(), metric="diagonal").fit(X, labels)


@pytest.mark.parametrize("base, method", [(Kernel, "values"), (Radial, "profile")])
def test_a_kernel_that_lacks_its_method_says_which(base, method):
    empty = type("Empty", (base,), {})()
    with pytest.raises(NotImplementedError, match=f"Empty does not define {method}"):
        KMPRegressor(empty, **FAST).fit(X, Y)


def test_dictionaries_of_ones_own_can_be_pickled():
    model = KMPRegressor(dictionary=Waves() + Features(), **FAST).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.dictionary.get_params()
