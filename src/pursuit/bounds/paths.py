"""Bounds along a path, from the predictions of its models on the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from pursuit._parameters import did_you_mean, positive_number

from . import finite_class, mdl, vc
from ._bound import BoundCurve
from ._rounding import fewest_bits

KINDS = ("finite-class", "mdl", "vc")

# Default error that Theorem 3 tolerates in regression, as a share of the targets'
# standard deviation.
TOLERATED = 0.5
# The same for classes -1 and +1: slightly below 1, so that a value of 0 is an error.
NO_CLASS = 1.0 - 1e-9


class NestedModels(Protocol):
    """What bounds read off a path (:class:`pursuit.path.Path`)."""

    @property
    def has_intercept(self) -> bool:
        """Whether there is a constant."""

    @property
    def support(self) -> np.ndarray:
        """The distinct atoms, in the order of their first choice."""

    @property
    def positions(self) -> np.ndarray:
        """Position in ``support`` of the atom chosen at each step."""

    def coefficients(self, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return support, coefficients and intercept after ``size`` steps."""

    def staged_values(self, K: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the values of the models of sizes 1, 2, ..."""


@dataclass(frozen=True, eq=False)
class BoundRule:
    """Kind and parameters of a bound.

    Attributes
    ----------
    kind : {"finite-class", "mdl", "vc"}
    alpha : float or None
        Error that "vc" tolerates; None is 1 for classes (a wrong sign is an error of 1
        or more), otherwise half of the targets' standard deviation.
    delta : float
        Probability with which the bound may fail.
    """

    kind: str
    alpha: float | None = None
    delta: float = 0.05


@dataclass(frozen=True, eq=False)
class Training:
    """Training data that bounds need besides a path.

    Attributes
    ----------
    Y : ndarray of shape (n_outputs, m)
        Targets; -1 and +1 for classes.
    rows : ndarray of shape (n_distinct_atoms,)
        Rows, among the ``m``, on which the path's atoms are centered; -1 for none.
    n_candidates : int
        Size of the dictionary.
    is_class : bool
    """

    Y: np.ndarray
    rows: np.ndarray
    n_candidates: int
    is_class: bool


def default_kind(is_class: bool) -> str:
    """Return the default bound."""
    return "finite-class" if is_class else "vc"


def bound_curve(
    path: NestedModels, K: np.ndarray, training: Training, rule: BoundRule
) -> BoundCurve:
    """Return a bound at sizes 0, 1, ... of a path.

    Parameters
    ----------
    path : Path
    K : ndarray of shape (m, n_distinct_atoms)
        Values of ``path.support`` on the training rows.
    training : Training
    rule : BoundRule
    """
    check_rule(rule, training.is_class, len(training.Y))
    reading = _theorem_3 if rule.kind == "vc" else _description
    values = [float(value) for value in reading(path, K, training, rule)]
    return BoundCurve(rule.kind, np.array(values))


def check_rule(rule: BoundRule, is_class: bool, n_outputs: int) -> None:
    """Raise a ValueError unless the bound applies to such models."""
    if rule.kind not in KINDS:
        known = ", ".join(map(repr, KINDS))
        raise ValueError(
            f"kind={rule.kind!r} is not known: choose one of {known}."
            f"{did_you_mean(rule.kind, KINDS)}"
        )
    if rule.kind != "vc" and not is_class:
        raise ValueError(f"kind={rule.kind!r} is about classifiers: use 'vc'.")
    if rule.kind == "vc" and n_outputs > 1:
        raise ValueError(
            f"kind='vc' is about one output, not {n_outputs}: use 'finite-class' or "
            "'mdl' for classes, or a model for each output."
        )
    if rule.alpha is not None:
        positive_number("alpha", rule.alpha)


# -- Theorem 3 ---------------------------------------------------------------------


def _theorem_3(
    path: NestedModels, K: np.ndarray, training: Training, rule: BoundRule
) -> Iterator[float]:
    y = training.Y[0]
    alpha = rule.alpha
    if alpha is None:
        alpha = NO_CLASS if training.is_class else TOLERATED * float(y.std())
    for size, values in _stages(path, K):
        k = _n_distinct(path, size)
        if k > len(y):
            # No row is left on which the theorem counts errors.
            yield inf
            continue
        is_wrong = np.abs(values[:, 0] - y) > alpha
        chosen = training.rows[:k]
        is_wrong[chosen[chosen >= 0]] = False
        # Atoms that are not centered on a row count as if they were, so there may be
        # more errors than other rows.
        yield vc(
            len(y),
            k,
            min(int(is_wrong.sum()), len(y) - k),
            dimension=k + int(path.has_intercept),
            n_candidates=max(len(y), training.n_candidates),
            delta=rule.delta,
        )


# -- description length and finite classes -----------------------------------------


def _description(
    path: NestedModels, K: np.ndarray, training: Training, rule: BoundRule
) -> Iterator[float]:
    labels = _classes(training.Y.T)
    n_outputs = len(training.Y)
    for size, values in _stages(path, K):
        k = _n_distinct(path, size)
        n_errors = int((_classes(values) != labels).sum())
        numbers: dict[str, Any] = {
            "n_samples": len(labels),
            "n_errors": n_errors,
            "n_candidates": max(training.n_candidates, k),
            "n_chosen": k,
            "weight_bits": _weight_bits(path, size, K[:, :k], labels, n_errors),
            "n_weights": n_outputs * (k + int(path.has_intercept)),
            "delta": rule.delta,
        }
        if rule.kind == "finite-class":
            yield finite_class(**numbers)
        else:
            n_classes = 2 if n_outputs == 1 else n_outputs
            yield mdl(n_classes=n_classes, label_bits=1.0, **numbers)


def _weight_bits(
    path: NestedModels, size: int, K: np.ndarray, labels: np.ndarray, n_errors: int
) -> int:
    """Return the fewest bits per weight that add no training errors."""
    _, coef, intercept = path.coefficients(size)
    weights = np.column_stack([coef, intercept]) if path.has_intercept else coef

    def are_kept(tried: np.ndarray) -> np.ndarray:
        n_tried, n_outputs, _ = tried.shape
        k = K.shape[1]
        values = K @ tried[:, :, :k].reshape(n_tried * n_outputs, k).T
        if path.has_intercept:
            values += tried[:, :, -1].ravel()
        values = values.reshape(len(K), n_tried, n_outputs)
        wrong = [(_classes(values[:, b]) != labels).sum() for b in range(n_tried)]
        return np.array(wrong) <= n_errors

    return fewest_bits(are_kept, weights)


def _classes(values: np.ndarray) -> np.ndarray:
    """Return the classes predicted by values (m, n_outputs)."""
    if values.shape[1] == 1:
        return (values[:, 0] > 0).astype(int)
    return values.argmax(axis=1)


# -- sizes -------------------------------------------------------------------------


def _stages(path: NestedModels, K: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    yield 0, np.tile(path.coefficients(0)[2], (len(K), 1))
    yield from enumerate(path.staged_values(K), start=1)


def _n_distinct(path: NestedModels, size: int) -> int:
    """Return the number of distinct atoms; the basic method repeats some."""
    return int(path.positions[:size].max(initial=-1)) + 1


def counted_rows(counts: np.ndarray) -> np.ndarray:
    """Return the rows that bounds count: those of positive weight.

    Weights that are whole numbers are repetitions; others say only which rows count.
    """
    rows = np.flatnonzero(counts > 0)
    times = counts[rows]
    are_whole = np.all(times == np.round(times)) and times.sum() < 2**31
    return np.repeat(rows, times.astype(np.int64)) if are_whole else rows


def positions_of(atoms: np.ndarray, row_numbers: np.ndarray) -> np.ndarray:
    """Return the positions of atoms' rows in ``row_numbers``, -1 if absent."""
    place = {int(row): j for j, row in reversed(list(enumerate(row_numbers)))}
    return np.array([place.get(int(atom), -1) for atom in atoms], dtype=int)
