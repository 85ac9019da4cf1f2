"""Score held-out predictions with a scikit-learn scorer instead of the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from pursuit.estimators._available import available_unless
from pursuit.ranking import ndcg, pairwise_accuracy

from .outputs import ClassOutputs, NumberOutputs, Outputs

Scorer = Callable[..., float]


# -- models of known values --------------------------------------------------------


class KnownNumbers(RegressorMixin, BaseEstimator):
    """Regressor whose function is known on the rows to predict.

    Parameters
    ----------
    outputs : NumberOutputs
    values : ndarray of shape (n, T)
    """

    def __init__(self, outputs: NumberOutputs, values: np.ndarray) -> None:
        self.outputs = outputs
        self.values = values

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions, whatever X is."""
        return self.outputs.predict(self.values)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the predictions, whatever X is."""
        return self.outputs.score(y, self.predict(X), sample_weight)


def _lacks_probabilities(model: KnownClasses) -> None:
    if not model.outputs.has_probabilities:
        raise AttributeError(
            f"{type(model).__name__} has no probabilities under {model.outputs.loss!r}."
        )


class KnownClasses(ClassifierMixin, BaseEstimator):
    """Classifier whose functions are known on the rows to predict.

    Parameters
    ----------
    outputs : ClassOutputs
    values : ndarray of shape (n, T)
    """

    def __init__(self, outputs: ClassOutputs, values: np.ndarray) -> None:
        self.outputs = outputs
        self.values = values

    @property
    def classes_(self) -> np.ndarray:
        """The class labels."""
        return self.outputs.classes

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted classes, whatever X is."""
        return self.outputs.predict(self.values)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the values, whatever X is."""
        return self.outputs.decide(self.values)

    @available_unless(_lacks_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities, whatever X is."""
        return self.outputs.probabilities(self.values)


def known_model(outputs: Outputs, values: np.ndarray) -> KnownNumbers | KnownClasses:
    """Return a model that predicts from values (n, T), for scorers."""
    if isinstance(outputs, ClassOutputs):
        return KnownClasses(outputs, values)
    return KnownNumbers(outputs, values)


# -- scores of rankings ------------------------------------------------------------

MEASURES: dict[str, Scorer] = {"ndcg": ndcg, "pairwise-accuracy": pairwise_accuracy}


def measure_of(scoring: Any) -> Scorer:
    """Return the function of grades, scores and groups that `scoring` stands for."""
    measure = MEASURES.get(scoring) if isinstance(scoring, str) else scoring
    if not callable(measure):
        raise ValueError(
            f"scoring={scoring!r} is not a score of rankings: choose one of "
            f"{', '.join(map(repr, MEASURES))}, give a function "
            "scoring(y, scores, groups), or None for the loss."
        )
    return cast(Scorer, measure)


@dataclass(frozen=True, eq=False)
class RankScore:
    """A score of rankings with its sign reversed: lower is better.

    Attributes
    ----------
    measure : callable
        ``measure(y, scores, groups)``.
    y : ndarray of shape (l,)
    groups : ndarray of int of shape (l,)
    """

    measure: Scorer
    y: np.ndarray
    groups: np.ndarray

    def some(self, rows: np.ndarray) -> RankScore:
        """Return the score of a part of the rows, which are numbered anew."""
        return replace(self, y=self.y[rows], groups=self.groups[rows])

    def __call__(
        self, rows: np.ndarray, values: np.ndarray, weight: np.ndarray
    ) -> float:
        """Return the negative score of the model with values (1, n) on the rows."""
        return -finite_score(self.measure(self.y[rows], values[0], self.groups[rows]))


# -- scores ------------------------------------------------------------------------


def _accuracy(model: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def _squares(model: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
    errors = (model.predict(X) - y) ** 2
    return -float(np.mean(np.average(errors, axis=0, weights=sample_weight)))


def _absolutes(model: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
    errors = np.abs(model.predict(X) - y)
    return -float(np.mean(np.average(errors, axis=0, weights=sample_weight)))


# Common scores without scikit-learn's checks, which take a hundred times as long as the
# score itself: each size of each fold is scored. They do not check whether they suit
# the targets.
QUICK_CLASS_SCORERS: dict[str, Scorer] = {"accuracy": _accuracy}
QUICK_NUMBER_SCORERS: dict[str, Scorer] = {
    "neg_mean_squared_error": _squares,
    "neg_mean_absolute_error": _absolutes,
}


def scorer_of(scoring: Any, estimator: Any, is_class: bool) -> Scorer:
    """Return the scorer that `scoring` stands for."""
    quick = QUICK_CLASS_SCORERS if is_class else QUICK_NUMBER_SCORERS
    if isinstance(scoring, str) and scoring in quick:
        return quick[scoring]
    from sklearn.metrics import check_scoring  # slow to import

    try:
        return cast(Scorer, check_scoring(estimator, scoring=scoring))
    except (TypeError, ValueError):
        raise ValueError(
            f"scoring={scoring!r} is not a score: give one of the names that "
            "sklearn.metrics.get_scorer_names() lists, a function "
            "scorer(model, X, y), or None for the loss."
        ) from None


def finite_score(result: Any) -> float:
    """Return what a scorer gave as a number; raise a ValueError if it is none."""
    try:
        score = float(result)
    except (TypeError, ValueError):
        raise ValueError(f"scoring gave {result!r}, which is no number.") from None
    if not np.isfinite(score):
        raise ValueError(
            f"scoring gave {score} on held-out rows: choose a score that is "
            "defined on every fold, or other folds."
        )
    return score


@dataclass(frozen=True, eq=False)
class HeldOutScore:
    """A scikit-learn scorer with its sign reversed: lower is better.

    Attributes
    ----------
    scorer : callable
        ``scorer(model, X, y)``, with ``sample_weight`` if it takes that; otherwise all
        rows count alike.
    outputs : NumberOutputs or ClassOutputs
    X, y
        Training data.
    """

    scorer: Scorer
    outputs: Outputs
    X: Any
    y: np.ndarray

    def some(self, rows: np.ndarray) -> HeldOutScore:
        """Return the score of a part of the rows, which are numbered anew."""
        return replace(self, X=self.X[rows], y=self.y[rows])

    def __call__(
        self, rows: np.ndarray, values: np.ndarray, weight: np.ndarray
    ) -> float:
        """Return the negative score of the model with values (T, n) on the rows."""
        model = known_model(self.outputs, values.T)
        case = model, self.X[rows], self.y[rows]
        try:
            result = self._scored(case, weight)
        except AttributeError as error:
            if type(model).__name__ not in str(error):
                raise
            raise AttributeError(
                f"scoring asks for what the model does not have: {error} "
                "Probabilities need loss='logistic'; those of probability= are "
                "calibrated after the choice."
            ) from error
        return -finite_score(result)

    def _scored(self, case: tuple[Any, Any, np.ndarray], weight: np.ndarray) -> Any:
        if np.ptp(weight) == 0:
            return self.scorer(*case)
        try:
            return self.scorer(*case, sample_weight=weight)
        except TypeError:
            return self.scorer(*case)
