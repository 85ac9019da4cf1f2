"""Removed parameters name their successors."""

import pickle
from inspect import signature
from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from pursuit import (
    KernelCentroidClassifier,
    NadarayaWatson,
    SparseKernelCCA,
    SparseKernelPCA,
)
from pursuit.estimators._removed import RemovedParameters
from pursuit.kernels import Polynomial


class Example(RemovedParameters, BaseEstimator):
    """An estimator that once had a parameter ``degree``."""

    _removed: ClassVar[dict[str, str]] = {"degree": "kernel=Polynomial(degree=...)"}

    def __init__(self, kernel: str = "rbf", *, gamma: float = 1.0) -> None:
        self.kernel = kernel
        self.gamma = gamma

    def fit(self, X, y=None):
        validate_data(self, X)
        self.is_fitted_ = True
        return self


class Heir(Example):
    """A subclass without a constructor of its own."""


class Reviver(Example):
    """A subclass that has the parameter again."""

    def __init__(self, kernel="rbf", *, gamma=1.0, degree=2):
        super().__init__(kernel, gamma=gamma)
        self.degree = degree


MESSAGE = r"has no parameter 'degree' any more: use kernel=Polynomial\(degree=...\)\."


@pytest.mark.parametrize("cls", [Example, Heir])
def test_constructor_names_the_successor(cls):
    with pytest.raises(TypeError, match=f"{cls.__name__} {MESSAGE}"):
        cls(degree=3)


@pytest.mark.parametrize("cls", [Example, Heir])
def test_set_params_names_the_successor(cls):
    with pytest.raises(ValueError, match=f"{cls.__name__} {MESSAGE}"):
        cls().set_params(degree=3)


def test_nested_set_params_names_the_successor():
    with pytest.raises(ValueError, match=MESSAGE):
        make_pipeline(Example()).set_params(example__degree=3)


def test_unknown_parameters_keep_their_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'degre'"):
        Example(degre=3)
    with pytest.raises(ValueError, match="Invalid parameter 'degre'"):
        Example().set_params(degre=3)


def test_a_subclass_may_have_the_parameter_again():
    model = clone(Reviver(degree=5)).set_params(degree=4)
    assert model.get_params() == {"kernel": "rbf", "gamma": 1.0, "degree": 4}


@pytest.mark.parametrize("cls", [Example, Heir])
def test_the_constructor_stays_as_written(cls):
    assert list(signature(cls).parameters) == ["kernel", "gamma"]
    model = cls("linear", gamma=2.0)
    assert model.get_params() == {"kernel": "linear", "gamma": 2.0}
    assert clone(model).set_params(gamma=3.0).gamma == 3.0
    copied = pickle.loads(pickle.dumps(model))
    assert copied.get_params() == model.get_params()


@parametrize_with_checks([Example(), Heir()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["degree", "coef0"])
@pytest.mark.parametrize(
    "cls",
    [NadarayaWatson, KernelCentroidClassifier, SparseKernelPCA, SparseKernelCCA],
)
def test_kernel_parameters_live_in_kernels(cls, name):
    message = f"{cls.__name__} has no parameter '{name}' any more: use kernel=Polynom"
    with pytest.raises(TypeError, match=message):
        cls(**{name: 2})
    with pytest.raises(ValueError, match=message):
        cls().set_params(**{name: 2})
    model = cls(kernel=Polynomial()).set_params(**{f"kernel__{name}": 2})
    assert clone(model).get_params()[f"kernel__{name}"] == 2
