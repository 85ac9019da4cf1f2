"""Scores of rankings within groups: how good the order of predictions is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._parameters import is_whole
from .losses.groups import Rows

__all__ = ["ndcg", "pairwise_accuracy"]

_GROUPS = "give the group of each row, such as the number of its query"


def group_codes(groups: Any, n_rows: int) -> np.ndarray:
    """Return the number of each row's group, 0 for all rows if there are no groups.

    Raises
    ------
    ValueError
        If there is not one label for each row, or labels are missing.
    """
    if groups is None:
        return np.zeros(n_rows, dtype=np.int64)
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups has the shape {labels.shape}, expected {(n_rows,)}: {_GROUPS}. "
            "(Sizes of groups, as LightGBM takes them, become labels by "
            "np.repeat(np.arange(len(sizes)), sizes).)"
        )
    are_objects = labels.dtype.kind == "O"
    missing = labels[[*map(_is_missing, labels)] if are_objects else labels != labels]
    if len(missing):
        name = "NaN" if isinstance(missing[0], float) else str(missing[0])
        raise ValueError(f"groups has {name}: {_GROUPS}, or leave these rows out.")
    if are_objects:
        known: dict[Any, int] = {}
        return np.array([known.setdefault(label, len(known)) for label in labels])
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def have_order(y: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return whether each group has rows of different grades, (n_groups,)."""
    n_groups = codes.max(initial=-1) + 1
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, codes, y)
    np.maximum.at(high, codes, y)
    return high > low


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or such as NaT and NA, equal to nothing."""
    is_equal = label == label
    return label is None or not (isinstance(is_equal, bool | np.bool_) and is_equal)


def ndcg(y: Any, scores: Any, groups: Any = None, *, k: int | None = None) -> float:
    r"""Return the mean over groups of the normalized discounted cumulative gain.

    In the order of falling scores, a row of grade y at place r = 1, 2, ... gains
    :math:`y / \log_2(1 + r)`; the sum is divided by that of the best order. The grade
    itself is the gain; for that of other libraries pass ``2.0**y - 1``. Rows of equal
    scores share what their places give, as in scikit-learn's ``ndcg_score``.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Grades of 0 or more, larger is better.
    scores : array-like of shape (n_samples,)
        Predictions.
    groups : array-like of shape (n_samples,), optional
        Labels of groups, such as queries; by default all rows are one.
    k : int, optional
        Number of places that count; by default all.

    Returns
    -------
    score : float
        1 is best. Groups whose rows have all the same grade have no order and do not
        count; if there are no others it is 1.

    Examples
    --------
    >>> from pursuit.ranking import ndcg
    >>> round(ndcg([2, 1, 0, 1, 0], [0.9, 0.3, 0.5, 0.1, 0.7], [7, 7, 7, 8, 8]), 3)
    0.791
    """
    y, scores, codes = _ranked(y, scores, groups)
    if np.any(y < 0):
        raise ValueError(
            f"ndcg needs grades of 0 or more, the lowest is {y.min():g}: add a number "
            "to all of them."
        )
    if k is not None and not is_whole(k, 1):
        raise ValueError(f"k={k!r} must be a whole number of at least 1, or None.")
    counts = have_order(y, codes)
    if not counts.any():
        return 1.0
    gained, best = (_gains(y, by, codes, k) for by in (scores, y))
    return float(np.mean(gained[counts] / best[counts]))


def pairwise_accuracy(y: Any, scores: Any, groups: Any = None) -> float:
    """Return the mean over groups of the share of pairs in the right order.

    The pairs are those of different grades in a group; equal scores count a half. For
    two grades it is the area under the ROC curve. No pair is formed: O(m log m) for a
    group of m rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Grades, larger is better.
    scores : array-like of shape (n_samples,)
        Predictions.
    groups : array-like of shape (n_samples,), optional
        Labels of groups, such as queries; by default all rows are one.

    Returns
    -------
    score : float
        1 is best, 0.5 is chance. Groups without such a pair do not count; if there are
        no others it is 1.

    Examples
    --------
    >>> from pursuit.ranking import pairwise_accuracy
    >>> pairwise_accuracy([2, 1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1, 0.7], [7, 7, 7, 8, 8])
    0.4166666666666667
    """
    y, scores, codes = _ranked(y, scores, groups)
    rows = Rows.of(codes, y, np.ones(len(y)))
    first = rows.starts[:-1]
    n_pairs = np.add.reduceat(rows.n_lower, first)
    # A margin of 1 between places holds the rows that are as high, or higher.
    place = np.unique(scores, return_inverse=True)[1][rows.order].astype(np.float64)
    n_not_above, n_not_below = (
        np.add.reduceat(rows.window_sums(p, rows.weight)[0, 0], first)
        for p in (-place, place)
    )
    counts = n_pairs > 0
    n_right = 0.5 * (n_pairs + n_not_above - n_not_below)
    return float(np.mean(n_right[counts] / n_pairs[counts])) if counts.any() else 1.0


def _ranked(
    y: Any, scores: Any, groups: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return grades, scores and numbers of groups, checked."""
    y, scores = _numbers("y", y), _numbers("scores", scores)
    if y.ndim != 1 or not len(y) or y.shape != scores.shape:
        raise ValueError(
            f"y has the shape {y.shape}, scores {scores.shape}: give a number for "
            "each row, and one row or more."
        )
    return y, scores, group_codes(groups, len(y))


def _numbers(name: str, values: Any) -> np.ndarray:
    """Return values as finite numbers."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds what are no numbers ({error}).") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds NaN or infinite values.")
    return numbers


def _gains(
    y: np.ndarray, by: np.ndarray, codes: np.ndarray, k: int | None
) -> np.ndarray:
    """Return the discounted gain of each group in the falling order of ``by``."""
    order = np.lexsort((-by, codes))
    y, by, codes = y[order], by[order], codes[order]
    place = np.arange(len(y)) - np.searchsorted(codes, codes)
    discount = 1.0 / np.log2(place + 2.0)
    if k is not None:
        discount[place >= k] = 0.0
    is_new = np.diff(codes, prepend=-1) != 0
    is_new[1:] |= by[1:] != by[:-1]
    tie = np.cumsum(is_new) - 1
    mean = np.bincount(tie, weights=y) / np.bincount(tie)
    return np.bincount(codes, weights=mean[tie] * discount)
