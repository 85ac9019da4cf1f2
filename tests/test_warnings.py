"""Warnings point at the line of whoever called, by whatever way."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from naming import named
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pursuit import KMPClassifier, KMPRegressor, LocalGaussianDensity, ManifoldParzen
from pursuit._warnings import warn
from pursuit.selection import CrossValidation

X = np.random.default_rng(0).standard_normal((60, 3))
X[:, 2] = 0.0
Y = X[:, 0] > 0
NO_POINTS, NO_WIDTH = "no support points", "grows as bandwidth goes to 0"
# Functions of one row each; a column that is constant.
LOUD = [
    (KMPRegressor(gamma=1e6, alpha=1e-3, selection=CrossValidation(3)), NO_POINTS),
    (KMPClassifier(gamma=1e6, alpha=1e-3, selection=CrossValidation(3)), NO_POINTS),
    (ManifoldParzen(), NO_WIDTH),
    (LocalGaussianDensity(0.5), NO_WIDTH),
]


def in_grid(model):
    return GridSearchCV(model, [{}], cv=2, n_jobs=1)


def in_pipeline(model):
    return make_pipeline(FunctionTransformer(), model)


WAYS = {
    "fit": lambda model: model,
    "pipeline": in_pipeline,
    "grid": in_grid,
    "grid of pipelines": lambda model: in_grid(in_pipeline(model)),
    "pipeline of grids": lambda model: in_pipeline(in_grid(model)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model, message", LOUD, ids=named)
def test_the_line_of_the_fit_is_told(model, message, way):
    with pytest.warns(UserWarning, match=message) as seen:
        WAYS[way](model).fit(X, Y)
    lines = Path(__file__).read_text().splitlines()
    assert {w.filename for w in seen} == {__file__}
    assert {lines[w.lineno - 1].strip() for w in seen} == {"WAYS[way](model).fit(X, Y)"}


@pytest.mark.parametrize("category", [UserWarning, RuntimeWarning])
def test_the_category_is_as_asked_for(category):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn("so", category)
    assert [(str(w.message), w.category) for w in seen] == [("so", category)]
