"""Limits and sets against their definitions, and against MAPIE on the same models."""

import numpy as np
import pytest
import reference
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import make_blobs
from sklearn.model_selection import PredefinedSplit

from pursuit import CrossValidation, KMPClassifier, KMPRegressor, kernels
from pursuit.conformal import Scores
from pursuit.losses import Quantile

GIVEN = {"kernel": kernels.Gaussian(gamma=0.5), "alpha": 0.01, "max_support": 12}
COVERAGES = [0.3, 0.5, 0.8, 0.9, 0.97]
PART = np.arange(97) % 4  # the fold of each row
FOLDS = CrossValidation(
    [(np.flatnonzero(k != PART), np.flatnonzero(k == PART)) for k in range(4)]
)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(97, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=97)


@pytest.fixture(scope="module")
def classes():
    return make_blobs(97, centers=3, cluster_std=2.5, random_state=0)


@pytest.fixture(scope="module")
def new():
    return np.random.default_rng(1).normal(size=(40, 2)) * [1.5, 1.5]


def in_rows(model, get):
    """Return what each row's own fold says, row by row."""
    folds = model._fold_models()
    return np.stack([get(folds[k], np.sum(PART[:i] == k)) for i, k in enumerate(PART)])


# -- definitions -------------------------------------------------------------------


@pytest.mark.parametrize("coverage", COVERAGES)
@pytest.mark.parametrize("seed", range(3))
def test_limits_are_those_of_the_definition(coverage, seed):
    rng = np.random.default_rng(seed)
    part = rng.integers(3, size=40)
    # Rounded, so that many are equal.
    scores = np.round(rng.exponential(size=40), 1)
    centers, scales = np.round(rng.normal(size=(2, 7, 3)), 1)
    scales = np.abs(scales) + 0.1
    known = Scores.of(
        [scores[part == k] for k in range(3)],
        [np.ones(40)[part == k] for k in range(3)],
    )
    found = known.limits(centers, scales, coverage)
    for i in range(7):
        _, expected = reference.cross_conformal_interval(
            centers[i, part],
            scales[i, part],
            scores,
            np.zeros(40),
            np.ones(40),
            coverage,
        )
        assert found[i] == pytest.approx(expected)
    new = np.round(rng.exponential(size=(9, 3)), 1)
    expected = reference.cross_conformal_set(scores, new[:, part], coverage)
    assert known.are_likely(new, coverage).tolist() == expected


def test_the_least_coverage_has_the_lowest_limit():
    scores = Scores.of(
        [np.array([2.0, 1.0]), np.array([3.0])], [np.ones(2), np.ones(1)]
    )
    centers, scales = np.array([[0.0, 5.0]]), np.ones((1, 2))
    assert scores.limits(centers, scales, 1e-10).tolist() == [1.0]


@pytest.mark.parametrize("coverage", COVERAGES)
def test_intervals_are_those_of_the_definition(numbers, new, coverage):
    X, y = numbers
    model = KMPRegressor(**GIVEN, selection=FOLDS).fit(X, y)

    def spread(fold, X):
        return np.sqrt(1.0 + fold.leverage(X))

    own = in_rows(model, lambda f, j: f.values[j, 0])
    own_spreads = in_rows(model, lambda f, j: np.sqrt(1.0 + f.leverages[j]))
    predicted = in_rows(model, lambda f, j: f.expansion(new)[:, 0])
    spreads = in_rows(model, lambda f, j: spread(f, new))
    _, found = model.predict_interval(new, coverage)
    for i in range(len(new)):
        expected = reference.cross_conformal_interval(
            predicted[:, i], spreads[:, i], y, own, own_spreads, coverage
        )
        assert found[i, :, 0] == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("coverage", COVERAGES)
def test_sets_are_those_of_the_definition(classes, new, loss, coverage):
    X, y = classes
    model = KMPClassifier(
        "rbf", gamma=0.1, alpha=0.1, max_support=8, loss=loss, selection=FOLDS
    ).fit(X, y)

    def wrongness(values):
        """One minus the probability, or by how much another class is ahead."""
        if loss == "logistic":
            return 1.0 - model.loss_.probabilities(values[None].T)[:, 0]
        return [max(np.delete(values, c)) - values[c] for c in range(3)]

    new = new * 5.0
    scores = in_rows(model, lambda f, j: wrongness(f.values[j]))[np.arange(97), y]
    _, sets = model.predict_set(new, coverage)
    of_folds = [[wrongness(v) for v in f.expansion(new)] for f in model._fold_models()]
    of_folds = np.array(of_folds)[PART]  # (97, 40, 3)
    for i in range(len(new)):
        expected = reference.cross_conformal_set(scores, of_folds[:, i].T, coverage)
        assert sets[i, :, 0].tolist() == expected


# -- MAPIE -------------------------------------------------------------------------


class OfFold(BaseEstimator):
    """Fits to all rows but those of a fold by taking the model that never saw these.

    ``known`` returns the fitted model; as a function, so that `clone` leaves it alone.
    """

    def __init__(self, known, X):
        self.known = known
        self.X = X

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.values_ = self.known()._expansion  # for MAPIE's fit to all rows
        if len(X) < len(self.X):
            is_seen = (self.X[:, None] == X[None]).all(axis=2).any(axis=1)
            (k,) = np.unique(PART[~is_seen])
            self.values_ = self.known()._fold_models()[k].expansion
        return self


class NumbersOfFold(RegressorMixin, OfFold):
    def predict(self, X):
        return self.values_(X)[:, 0]


class ClassesOfFold(ClassifierMixin, OfFold):
    def predict_proba(self, X):
        return self.known().loss_.probabilities(self.values_(X).T).T

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class Answers(RegressorMixin, BaseEstimator):
    """Predicts by a function, fitted as it is."""

    fitted_ = True

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.answer(X)


@pytest.fixture
def mapie():
    """Skip without MAPIE, which the extra `compare` installs."""
    reason = "mapie is not installed (extra: compare)"
    return pytest.importorskip("mapie", reason=reason)


@pytest.mark.parametrize("method", ["plus", "minmax", "base"])
def test_mapie_has_the_same_cross_conformal_intervals(mapie, numbers, new, method):
    from mapie.regression import CrossConformalRegressor

    X, y = numbers
    # Without the optimum of all coefficients there is no leverage, as in MAPIE.
    model = KMPRegressor(**GIVEN, method="basic", selection=FOLDS).fit(X, y)
    theirs = CrossConformalRegressor(
        NumbersOfFold(lambda: model, X),
        confidence_level=COVERAGES,
        method=method,
        cv=PredefinedSplit(PART),
    ).fit_conformalize(X, y)
    _, expected = theirs.predict_interval(new)
    found = model.predict_interval(new, COVERAGES, method=method)[1]
    assert found.shape == expected.shape
    assert found == pytest.approx(expected)


def test_mapie_has_the_same_split_conformal_intervals(mapie, numbers, new):
    """With errors relative to the standard deviation."""
    from mapie.conformity_scores import ResidualNormalisedScore
    from mapie.regression import SplitConformalRegressor

    X, y = numbers
    model = KMPRegressor(**GIVEN, selection="validation").fit(X, y)
    (fold,) = model._fold_models()
    rows = [np.flatnonzero(np.isclose(y, value))[0] for value in fold.Y[:, 0]]
    spread = Answers(lambda X: np.sqrt(1.0 + fold.leverage(X)))
    theirs = SplitConformalRegressor(
        model,
        confidence_level=[0.5, 0.8, 0.85],
        conformity_score=ResidualNormalisedScore(spread, prefit=True),
    ).conformalize(X[rows], y[rows])
    y_theirs, expected = theirs.predict_interval(new)
    y_ours, found = model.predict_interval(new, [0.5, 0.8, 0.85])
    assert y_ours == pytest.approx(y_theirs)
    assert found == pytest.approx(expected)


def test_mapie_moves_quantiles_by_as_much(mapie, numbers, new):
    from mapie.regression import ConformalizedQuantileRegressor

    X, y = numbers
    loss = Quantile([0.1, 0.9])
    model = KMPRegressor(**GIVEN, loss=loss, selection="validation").fit(X, y)
    (fold,) = model._fold_models()
    rows = [np.flatnonzero(np.isclose(y, value))[0] for value in fold.Y[:, 0]]

    def ends(X):
        return np.sort(model.predict(X), axis=1)

    parts = [
        Answers(lambda X: ends(X)[:, 0]),
        Answers(lambda X: ends(X)[:, 1]),
        Answers(lambda X: ends(X).mean(axis=1)),
    ]
    theirs = ConformalizedQuantileRegressor(parts, confidence_level=0.8, prefit=True)
    theirs.conformalize(X[rows], y[rows])
    _, expected = theirs.predict_interval(new, symmetric_correction=True)
    assert model.predict_interval(new, 0.8)[1] == pytest.approx(expected)


@pytest.mark.parametrize("how", ["cross", "split"])
def test_mapie_has_the_same_sets(mapie, classes, how):
    from mapie.classification import CrossConformalClassifier, SplitConformalClassifier

    X, y = classes
    new = X + 0.5
    selection = FOLDS if how == "cross" else "validation"
    model = KMPClassifier(
        "rbf", gamma=0.1, max_support=8, loss="logistic", selection=selection
    ).fit(X, y)
    # So many of the 97 rows must be as wrong: at least (1 - c) 96 in MAPIE's sets by
    # folds, more than (1 - c) 98 - 1 in the paper's. Here these are the same.
    coverages = [0.505, 0.794, 0.897]
    if how == "cross":
        theirs = CrossConformalClassifier(
            ClassesOfFold(lambda: model, X),
            confidence_level=coverages,
            cv=PredefinedSplit(PART),
        ).fit_conformalize(X, y)
        _, expected = theirs.predict_set(new, agg_scores="crossval")
    else:
        (fold,) = model._fold_models()
        rows = [
            np.argmin(np.abs(v - model._expansion(X)).sum(axis=1)) for v in fold.values
        ]
        theirs = SplitConformalClassifier(
            model, confidence_level=coverages, prefit=True
        ).conformalize(X[rows], y[rows])
        _, expected = theirs.predict_set(new)
    found = model.predict_set(new, coverages)[1]
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)
