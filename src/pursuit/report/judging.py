"""Errors of a model of every size on some rows, from its predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier

__all__ = ["ClassJudge", "NumberJudge", "judge_for", "predictions"]

N_BINS = 10
# Pairs of classes whose confusions are listed, the most frequent ones.
MAX_CONFUSIONS = 400


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says about some rows.

    Attributes
    ----------
    answer : ndarray
        What ``predict`` returns.
    probabilities : ndarray of shape (n, n_classes) or None
    """

    answer: np.ndarray
    probabilities: np.ndarray | None = None


def predictions(model: Any, Z: Any) -> Iterator[Prediction]:
    """Yield the predictions of the models of sizes 0, 1, ... for prepared rows."""
    empty = model.truncate(0)
    has_probabilities = hasattr(model, "predict_proba")
    yield of_model(empty, Z)
    if not len(model.path_):
        return
    if not has_probabilities:
        yield from map(Prediction, model.staged_predict(Z))
        return
    both = zip(model.staged_predict(Z), model.staged_predict_proba(Z), strict=True)
    for answer, probabilities in both:
        yield Prediction(answer, probabilities)


def of_model(model: Any, Z: Any) -> Prediction:
    """Return the predictions of one model for prepared rows."""
    proba = model.predict_proba(Z) if hasattr(model, "predict_proba") else None
    return Prediction(model.predict(Z), proba)


def judge_for(model: Any, y: Any) -> ClassJudge | NumberJudge:
    """Return who compares predictions with the targets y."""
    if is_classifier(model):
        return ClassJudge.of(model.classes_, y)
    return NumberJudge.of(y)


@dataclass(frozen=True, eq=False)
class ClassJudge:
    """Judges predicted classes.

    Attributes
    ----------
    classes : ndarray
    codes : ndarray of int
        True classes of the rows.
    """

    classes: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, classes: np.ndarray, y: Any) -> ClassJudge:
        """Return the judge for true classes y; raise if the model knows one not."""
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}: classes are one for each row.")
        number = {label: i for i, label in enumerate(classes.tolist())}
        unknown = sorted({str(v) for v in y.tolist() if v not in number})
        if unknown:
            raise ValueError(
                f"y holds {unknown[0]!r}, which is not a class of the model "
                f"({', '.join(map(str, list(number)[:5]))} ...): leave such rows out."
            )
        return cls(classes, np.array([number[v] for v in y.tolist()], dtype=int))

    def of_same_kind(self, y: Any) -> ClassJudge:
        """Return the judge for other rows of the same classes."""
        return ClassJudge.of(self.classes, y)

    @property
    def name(self) -> str:
        """What :meth:`error` is called."""
        return "Error rate"

    @property
    def targets(self) -> np.ndarray:
        """The true classes (n, 1), as numbers."""
        return self.codes[:, None].astype(np.float64)

    def error(self, prediction: Prediction) -> float:
        """Return the share of rows whose class is wrong."""
        return float(np.mean(self._predicted(prediction) != self.codes))

    def judge(self, prediction: Prediction) -> dict[str, Any]:
        """Return figures, confusions and calibration as plain values."""
        predicted = self._predicted(prediction)
        hits = predicted == self.codes
        present = np.unique(self.codes)
        recalls = [hits[self.codes == c].mean() for c in present]
        figures = [
            ["Error rate", float(np.mean(~hits)), "share"],
            ["Mean recall of the classes", float(np.mean(recalls)), "share"],
        ]
        P = prediction.probabilities
        if P is not None:
            own = np.maximum(P[np.arange(len(P)), self.codes], 1e-300)
            figures.append(["Log loss", float(-np.log(own).mean()), "number"])
            if len(self.classes) == 2 and len(present) == 2:
                figures.append(["Area under the ROC", self._area(P[:, 1]), "number"])
        return {
            "figures": figures,
            "confusions": self._confusions(predicted),
            "calibration": None if P is None else self._calibration(P),
        }

    def _predicted(self, prediction: Prediction) -> np.ndarray:
        return np.searchsorted(self.classes, prediction.answer)

    def _confusions(self, predicted: np.ndarray) -> list[list[int]]:
        """Return [true, predicted, number of rows] for pairs that occur."""
        pairs = np.column_stack([self.codes, predicted])
        found, counts = np.unique(pairs, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MAX_CONFUSIONS]
        return np.column_stack([found, counts])[order].tolist()

    def _calibration(self, P: np.ndarray) -> list[list[float]]:
        """Return [mean probability, share that is so, rows] for bins that have rows.

        Of the second of two classes; of the predicted class if there are more.
        """
        if P.shape[1] == 2:
            stated, happens = P[:, 1], self.codes == 1
        else:
            stated, happens = P.max(axis=1), P.argmax(axis=1) == self.codes
        bins = np.minimum((stated * N_BINS).astype(int), N_BINS - 1)
        rows = [np.flatnonzero(bins == b) for b in range(N_BINS)]
        return [
            [float(stated[r].mean()), float(happens[r].mean()), len(r)]
            for r in rows
            if len(r)
        ]

    def _area(self, scores: np.ndarray) -> float:
        is_second = self.codes == 1
        n, m = is_second.sum(), (~is_second).sum()
        return float((rankdata(scores)[is_second].sum() - n * (n + 1) / 2) / (n * m))


@dataclass(frozen=True, eq=False)
class NumberJudge:
    """Judges predicted numbers.

    Attributes
    ----------
    targets : ndarray of shape (n, n_outputs)
    """

    targets: np.ndarray

    @classmethod
    def of(cls, y: Any) -> NumberJudge:
        """Return the judge for true numbers y."""
        targets = np.asarray(y, dtype=np.float64)
        targets = targets[:, None] if targets.ndim == 1 else targets
        if targets.ndim != 2 or not np.isfinite(targets).all():
            raise ValueError("y must hold finite numbers, a row of them for each row.")
        return cls(targets)

    def of_same_kind(self, y: Any) -> NumberJudge:
        """Return the judge for other rows."""
        return NumberJudge.of(y)

    @property
    def name(self) -> str:
        """What :meth:`error` is called."""
        one = self.targets.shape[1] == 1
        return "Root mean squared error" if one else "1 − R², mean of the outputs"

    def error(self, prediction: Prediction) -> float:
        """Return the root mean squared error; of several outputs the mean 1 - R²."""
        squares = np.mean(self._residuals(prediction) ** 2, axis=0)
        if len(squares) == 1:
            return float(np.sqrt(squares[0]))
        return float(np.mean(squares / np.where(self._spread > 0, self._spread, 1.0)))

    def judge(self, prediction: Prediction) -> dict[str, Any]:
        """Return figures for each output as plain values."""
        r = self._residuals(prediction)
        squares = np.mean(r**2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            determined = np.where(
                self._spread > 0, 1.0 - squares / self._spread, np.nan
            )
        return {
            "figures": [
                ["Root mean squared error", np.sqrt(squares).tolist(), "number"],
                ["Mean absolute error", np.abs(r).mean(axis=0).tolist(), "number"],
                ["R²", determined.tolist(), "number"],
            ]
        }

    @property
    def _spread(self) -> np.ndarray:
        return self.targets.var(axis=0)

    def _residuals(self, prediction: Prediction) -> np.ndarray:
        answer = np.asarray(prediction.answer, dtype=np.float64)
        return self.targets - answer.reshape(self.targets.shape)
