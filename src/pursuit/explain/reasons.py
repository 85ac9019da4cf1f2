"""Support points that speak for and against predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit._parameters import whole_between, whole_number

from .subjects import model_and_rows


@dataclass(frozen=True, eq=False)
class Reasons:
    """Support points that speak most for and against the values of some rows.

    A point "speaks for" a row if it raises the value of the model there. Places are
    those among ``atoms_`` (and ``support_vectors_``, ``support_``); -1 where there are
    no more.

    Attributes
    ----------
    raising, lowering : ndarray of int of shape (n_samples, n_points)
        Places of the points that raise, and lower, the value most.
    raised, lowered : ndarray of shape (n_samples, n_points)
        By how much; 0 where there are no more.
    raised_shares, lowered_shares : ndarray of shape (n_samples, n_points)
        The same, as shares of what all points add, counted without signs.
    values : ndarray of shape (n_samples,)
        The values of the model: all contributions and the intercept.
    """

    raising: np.ndarray
    raised: np.ndarray
    raised_shares: np.ndarray
    lowering: np.ndarray
    lowered: np.ndarray
    lowered_shares: np.ndarray
    values: np.ndarray

    def __str__(self) -> str:
        lines = []
        for r, value in enumerate(self.values):
            lines.append(f"row {r}: value {value:.4g}")
            for sign, places, amounts, shares in (
                ("+", self.raising, self.raised, self.raised_shares),
                ("-", self.lowering, self.lowered, self.lowered_shares),
            ):
                lines.extend(
                    f"  {sign} {abs(amount):.4g} ({share:.0%}) by point {place}"
                    for place, amount, share in zip(
                        places[r], amounts[r], shares[r], strict=True
                    )
                    if place >= 0
                )
        return "\n".join(lines)


def reasons(
    model: Any, X: Any, *, n_points: int = 3, output: int | None = None
) -> Reasons:
    """Return the support points that speak most for and against predictions.

    Parameters
    ----------
    model : KMPClassifier, KMPRanker, KMPRegressor or Pipeline
        Fitted model, with any kernel or dictionary, or a pipeline that ends in one.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    n_points : int, default=3
        Number of points on each side.
    output : int, optional
        Which of several outputs or classes is meant.

    Returns
    -------
    reasons : Reasons
        To print, or to look into: the contribution of a point is its coefficient times
        its kernel value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pursuit import KMPClassifier
    >>> from pursuit.explain import reasons
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KMPClassifier("rbf", max_support=10).fit(X, y)
    >>> why = reasons(model, X[:2], n_points=1, output=0)
    >>> why.raising.shape
    (2, 1)
    """
    n = int(whole_number("n_points", n_points, 1) or 1)
    last, (rows,) = model_and_rows(model, X)
    coef, n_outputs = last.dual_coef_, len(last.intercept_)
    if n_outputs == 1:
        t = 0
    elif output is None:
        raise ValueError(
            f"The model has {n_outputs} outputs: name the one to explain, as output=0."
        )
    else:
        t = whole_between("output", output, 0, n_outputs - 1, "the last output")
    parts = last.atoms_(rows) * coef[t]
    total = np.abs(parts).sum(axis=1, keepdims=True)
    raising, raised = _largest(parts, n)
    lowering, lowered = _largest(-parts, n)
    some = np.where(total > 0, total, 1.0)
    return Reasons(
        raising=raising,
        raised=raised,
        raised_shares=raised / some,
        lowering=lowering,
        lowered=-lowered,
        lowered_shares=lowered / some,
        values=parts.sum(axis=1) + last.intercept_[t],
    )


def _largest(parts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places and values of the ``n`` largest positive parts of each row."""
    places = np.full((len(parts), n), -1)
    values = np.zeros((len(parts), n))
    m = min(n, parts.shape[1])
    order = np.argsort(-parts, axis=1, kind="stable")[:, :m]
    largest = np.take_along_axis(parts, order, axis=1)
    places[:, :m] = np.where(largest > 0, order, -1)
    values[:, :m] = np.maximum(largest, 0.0)
    return places, values
