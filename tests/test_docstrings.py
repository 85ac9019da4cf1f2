"""Laws of the estimators' docstrings."""

import ast
import inspect
import re
import textwrap

import pytest

import pursuit

ESTIMATORS = [getattr(pursuit, name) for name in pursuit.__all__ if name[0] != "_"]

# Sister classes, and the parameters that mean something else in each.
SISTERS = [
    (pursuit.KMPRegressor, pursuit.KMPClassifier, {"loss"}),
    (pursuit.HKNNClassifier, pursuit.CKNNClassifier, set()),
    (
        pursuit.SparseKernelPCA,
        pursuit.SparseKernelCCA,
        {"n_components", "kernel", "gamma", "max_support", "center"},
    ),
]


def literal(estimator):
    """Return the docstring that an editor sees, without running the code."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(estimator))).body
    return ast.get_docstring(node)


def described(estimator):
    """Return the text of each parameter, by name and in order."""
    section = r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)"
    text = re.search(section, literal(estimator), re.DOTALL | re.MULTILINE).group(1)
    entries = re.findall(r"^(\w.*?) : (.*\n(?:^ .*\n|^\n)*)", text, re.MULTILINE)
    return {
        name: entry.strip() for names, entry in entries for name in names.split(", ")
    }


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_docstrings_are_literals(estimator):
    assert literal(estimator) == inspect.getdoc(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exactly_the_parameters_are_documented(estimator):
    assert list(described(estimator)) == list(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("first, second, different", SISTERS)
def test_sisters_describe_shared_parameters_alike(first, second, different):
    one, other = described(first), described(second)
    shared = one.keys() & other.keys()
    assert {name for name in shared if one[name] != other[name]} == different
