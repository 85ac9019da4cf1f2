"""Laws of the estimators' docstrings."""

import ast
import inspect
import re
import textwrap

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import pursuit
from pursuit import methods, selection
from pursuit.estimators.neighbors.selectors import PrototypeSelector

NAMED = [getattr(pursuit, name) for name in pursuit.__all__]
PUBLIC = [kind for kind in NAMED if inspect.isclass(kind)]
ESTIMATORS = [kind for kind in PUBLIC if hasattr(kind, "fit")]
# Classes whose parameters users set: estimators, and what these take.
CLASSES = [
    *ESTIMATORS,
    *(getattr(selection, name) for name in selection.__all__),
    *(getattr(methods, name) for name in methods.__all__),
]

# Sister classes, and the parameters that mean something else in each.
SISTERS = [
    (pursuit.KMPRegressor, pursuit.KMPClassifier, {"loss"}),
    (
        pursuit.KMPRegressor,
        pursuit.KMPRanker,
        {"loss", "selection", "alpha", "max_time"},
    ),
    (pursuit.HKNNClassifier, pursuit.CKNNClassifier, set()),
    (
        pursuit.SparseKernelPCA,
        pursuit.SparseKernelCCA,
        {"n_components", "kernel", "gamma", "max_support", "center"},
    ),
    (methods.PreFitting, methods.BackFitting, set()),
    (selection.LeaveOneOut, selection.MinimalBound, {"patience"}),
    (selection.MinimalBound, selection.FixedSize, set()),
    (selection.CrossValidation, selection.Validation, {"tolerance"}),
]


def test_every_public_class_is_checked():
    assert set(PUBLIC) <= set(CLASSES)


def literal(estimator):
    """Return the docstring that an editor sees, without running the code."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(estimator))).body
    return ast.get_docstring(node)


def described(estimator, title="Parameters"):
    """Return the text of each entry of a section, by name and in order."""
    section = rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)"
    text = re.search(section, f"{literal(estimator)}\n", re.DOTALL | re.MULTILINE)[1]
    entries = re.findall(r"^(\w.*?) : (.*\n(?:^ .*\n|^\n)*)", text, re.MULTILINE)
    return {
        name: entry.strip() for names, entry in entries for name in names.split(", ")
    }


@pytest.mark.parametrize("estimator", CLASSES)
def test_docstrings_are_literals(estimator):
    assert literal(estimator) == inspect.getdoc(estimator)


@pytest.mark.parametrize("estimator", CLASSES)
def test_exactly_the_parameters_are_documented(estimator):
    names = list(inspect.signature(estimator).parameters)
    assert (list(described(estimator)) if names else []) == names


def fitted_attributes(estimator):
    """Return the public attributes that a fit to a frame sets, and properties."""
    needed = {"density": pursuit.ParzenWindows(1.0)}
    names = inspect.signature(estimator).parameters
    model = estimator(**{name: v for name, v in needed.items() if name in names})
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=[*"abc"])
    needs_classes = is_classifier(model) or isinstance(model, PrototypeSelector)
    y = X["a"] > 0 if needs_classes else X["a"] ** 2
    if "kernel_y" in names:
        y = X[["b"]] ** 2
    model.fit(X, y)
    properties = [n for n, v in inspect.getmembers(estimator) if not callable(v)]
    public = [n for n in (*vars(model), *properties) if n[0] != "_" and n[-1] == "_"]
    return {name for name in public if hasattr(model, name)}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exactly_the_fitted_attributes_are_documented(estimator):
    documented = described(estimator, "Attributes")
    only_linear = {"coef_"} & set(documented)
    assert set(documented) - only_linear == fitted_attributes(estimator)


@pytest.mark.parametrize("first, second, different", SISTERS)
def test_sisters_describe_shared_parameters_alike(first, second, different):
    one, other = described(first), described(second)
    shared = one.keys() & other.keys()
    assert {name for name in shared if one[name] != other[name]} == different
