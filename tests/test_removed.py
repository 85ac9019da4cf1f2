"""Removed parameters name their successors."""

import pickle
import re
from importlib import import_module
from inspect import signature
from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from pursuit import (
    KernelCentroidClassifier,
    KMPClassifier,
    KMPRegressor,
    NadarayaWatson,
    SparseKernelCCA,
    SparseKernelPCA,
)
from pursuit._removed import RemovedParameters
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


# -- parameters of KMP that became parts of components -----------------------------

# Where each is now: parameter, module, component, parameter of that.
SUCCESSORS = {
    "degree": ("kernel", "kernels", "Polynomial", "degree"),
    "coef0": ("kernel", "kernels", "Polynomial", "coef0"),
    "backfit_every": ("method", "methods", "PreFitting", "refit_every"),
    "tol": ("method", "methods", "PreFitting", "tol"),
    "redraw_candidates": ("n_candidates", "methods", "Redrawn", None),
    "cv": ("selection", "selection", "CrossValidation", "n_folds"),
    "scoring": ("selection", "selection", "CrossValidation", "scoring"),
    "size_tolerance": ("selection", "selection", "CrossValidation", "tolerance"),
    "validation_fraction": ("selection", "selection", "Validation", "fraction"),
    "patience": ("selection", "selection", "Validation", "patience"),
    "bound": ("selection", "selection", "MinimalBound", "kind"),
    "bound_alpha": ("selection", "selection", "MinimalBound", "alpha"),
    "delta": ("selection", "selection", "MinimalBound", "delta"),
}


@pytest.mark.parametrize("name", SUCCESSORS)
@pytest.mark.parametrize("cls", [KMPRegressor, KMPClassifier])
def test_removed_parameters_of_kmp(cls, name):
    place, module, component, inner = SUCCESSORS[name]
    call = f"{place}={component}({'n' if inner is None else f'{inner}=...'}"
    begins = f"{cls.__name__} has no parameter {name!r} any more: use {call}"
    says = rf"^{re.escape(begins)}.* pursuit\.{module}\b.*\.$"
    with pytest.raises(TypeError, match=says):
        cls(**{name: 3})
    model = cls()
    with pytest.raises(ValueError, match=says):
        model.set_params(**{name: 3})
    with pytest.raises(ValueError, match=says):
        model.set_params(**{"gamma": 0.5, name: 3})
    # Nothing is set if one of them is wrong.
    assert model.gamma == "cv"
    with pytest.raises(ValueError, match=says):
        make_pipeline(cls()).set_params(**{f"{cls.__name__.lower()}__{name}": 3})


@pytest.mark.parametrize("name", SUCCESSORS)
def test_successors_exist(name):
    """What an error proposes can be written."""
    place, module, component, inner = SUCCESSORS[name]
    assert place in KMPRegressor().get_params()
    kind = getattr(import_module(f"pursuit.{module}"), component)
    assert inner is None or inner in signature(kind).parameters


def test_every_removed_parameter_is_tested():
    assert set(KMPRegressor._removed) == set(KMPClassifier._removed) == set(SUCCESSORS)


def test_there_are_few_parameters():
    assert len(signature(KMPClassifier).parameters) <= 20
    assert len(signature(KMPRegressor).parameters) <= 17
    assert not set(SUCCESSORS) & set(signature(KMPClassifier).parameters)


def test_misspelled_parameters_of_kmp_keep_their_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
        KMPRegressor(gama=3)
    with pytest.raises(ValueError, match="Invalid parameter 'gama'"):
        KMPRegressor().set_params(gama=3)
