r"""Losses for ranking: they compare the rows of a group, such as answers to a query.

With grades y, larger is better, and predictions f, a loss of pairs is

.. math::

    \sum_g \frac{1}{W_g} \sum_{i, j \in g,\; y_i > y_j} w_i w_j \, \ell(f_i - f_j),

where :math:`W_g` is the weight of the group: a group counts as much as its rows do, not
as its pairs. No loss changes if a number is added to all predictions of a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from . import _group_loops as loops
from ._base import Loss


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows sorted by group, and in a group by grade.

    Attributes
    ----------
    order : ndarray of int of shape (n,)
        Places of the sorted rows.
    weight : ndarray of shape (n,)
    starts : ndarray of int of shape (G + 1,)
        First row of each group.
    lower : ndarray of int of shape (n,)
        First row of the grade of each row: those before it in the group are lower.
    level : ndarray of int of shape (n,)
        Number of lower grades in the group.
    total : ndarray of shape (n,)
        Weight of the group of each row.
    """

    order: np.ndarray
    weight: np.ndarray
    starts: np.ndarray
    lower: np.ndarray
    level: np.ndarray
    total: np.ndarray

    @classmethod
    def of(cls, groups: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Rows:
        """Return the rows of these groups, grades and weights."""
        order = np.lexsort((y, groups))
        groups, y, weight = groups[order], y[order], weight[order]
        places = np.arange(len(order))
        begins_group = np.diff(groups, prepend=groups[:1] - 1) != 0
        begins_grade = begins_group.copy()
        begins_grade[1:] |= y[1:] != y[:-1]
        starts = np.flatnonzero(begins_group)
        lower = np.maximum.accumulate(np.where(begins_grade, places, 0))
        grade, group = np.cumsum(begins_grade), np.cumsum(begins_group) - 1
        totals = np.bincount(group, weights=weight)
        return cls(
            order=order,
            weight=weight,
            starts=np.append(starts, len(order)),
            lower=lower,
            level=grade - grade[starts][group],
            total=np.where(totals > 0, totals, 1.0)[group],
        )

    @property
    def n_lower(self) -> np.ndarray:
        """The number of rows of lower grades in the group of each row, (n,)."""
        return self.lower - np.repeat(self.starts[:-1], np.diff(self.starts))

    def window_sums(self, f: np.ndarray, *columns: np.ndarray) -> np.ndarray:
        """Return sums over lower and higher rows within the margin, (2, c, n).

        ``f`` (n,) are predictions and ``columns`` what is summed, of the sorted rows.
        """
        group = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        order = np.lexsort((f, group))
        out = np.zeros((2, len(columns), len(f)))
        Z = np.array(columns)
        loops.window_sums(f, order, self.starts, self.level, Z, *out)
        return out

    def back(self, *values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return values of the sorted rows, each (1, n) in the order of the rows."""
        out = np.empty((len(values), 1, len(self.order)))
        out[:, 0, self.order] = values
        return tuple(out)


class GroupLoss(Loss):
    """A loss of groups of rows, which compares the predictions of a group.

    `within` tells it the groups, the grades and the weights; after that, values and
    derivatives are those of each row, such that their sum times the weights is the
    whole.
    """

    fits_numbers = False
    _rows: Rows
    _seen: tuple[np.ndarray, tuple[np.ndarray, ...]] | None = None

    @property
    def couples_rows(self) -> bool:
        """Whether the loss of a row depends on others: it does."""
        return True

    def within(self, groups: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Self:
        """Return the loss for these rows, of which it compares those of a group."""
        loss = clone(self)
        loss._rows = Rows.of(groups, y, weight)
        return loss

    def _look(self, f: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return values, slopes, curvatures of the sorted rows, and maybe `weights`."""
        raise NotImplementedError(f"{type(self).__name__} does not define _look(f).")

    def _bent(self, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the second derivatives times v, divided by the weights."""
        raise NotImplementedError(f"{type(self).__name__} does not define _bent(f, v).")

    def _at(self, f: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return values, slopes and curvatures (1, n); those of the last f are kept."""
        seen = self._seen
        if seen is None or not np.array_equal(seen[0], f):
            found = self._rows.back(*self._look(f[0, self._rows.order]))
            self._seen = seen = f.copy(), found
        return seen[1]

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the part of each row: that of a pair goes to the better one."""
        return self._at(f)[0]

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivatives of the weighted sum, divided by the weights."""
        return self._at(f)[1]

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the diagonal second derivatives, divided by the weights."""
        return self._at(f)[2]

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of the parabola by which pre-fitting models the loss.

        It is the same for a row of weight 2 as for two copies.
        """
        return self._at(f)[-1]

    def bent(self, y: np.ndarray, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return all second derivatives times v, divided by the weights."""
        order = self._rows.order
        return self._rows.back(self._bent(f[0, order], v[0, order]))[0]

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return 0: a constant changes nothing."""
        return np.zeros(len(y))


class PairwiseLogistic(GroupLoss):
    """Logistic loss of pairs, ``log(1 + exp(-(f_i - f_j)))`` where ``y_i > y_j``.

    That of RankNet: the negative log-likelihood of the pairs' order, if the odds of i
    before j are ``exp(f_i - f_j)``. Its sums over pairs do not split into sums over
    rows, so that each pair is visited: O(m²) time for a group of m rows, O(m) memory.

    References
    ----------
    .. [1] C. Burges et al., "Learning to Rank using Gradient Descent", ICML, 2005.
    """

    def _look(self, f: np.ndarray) -> tuple[np.ndarray, ...]:
        rows, out = self._rows, np.zeros((3, len(f)))
        loops.look_at_logistic_pairs(f, rows.weight, rows.starts, rows.lower, *out)
        return tuple(out)

    def _bent(self, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        rows, out = self._rows, np.zeros(len(f))
        loops.bend_logistic_pairs(f, rows.weight, rows.starts, rows.lower, v, out)
        return out


class PairwiseSquaredHinge(GroupLoss):
    """Squared hinge loss of pairs, ``max(0, 1 - (f_i - f_j))**2`` where ``y_i > y_j``.

    That of a ranking SVM with squared slacks. Where a pair is closer than the margin,
    it is a polynomial, whose sums over pairs are those of powers over windows of the
    sorted predictions: no pair is formed, O(m log m) for a group of m rows.

    References
    ----------
    .. [1] C.-P. Lee and C.-J. Lin, "Large-scale Linear RankSVM", Neural Computation 26,
       2014.
    """

    def _look(self, f: np.ndarray) -> tuple[np.ndarray, ...]:
        rows, w = self._rows, self._rows.weight
        # Only differences in a group count; smaller numbers cancel less.
        starts, sizes = rows.starts[:-1], np.diff(rows.starts)
        f = f - np.repeat(np.add.reduceat(f, starts) / sizes, sizes)
        below, above = self._rows.window_sums(f, w, w * f, w * f * f)
        gap = 1.0 - f
        value = (below[0] * gap + 2.0 * below[1]) * gap + below[2]
        slope = above[0] * (1.0 + f) - above[1] - below[0] * gap - below[1]
        bend = below[0] + above[0]
        total = rows.total
        return np.maximum(value, 0.0) / total, 2.0 * slope / total, 2.0 * bend / total

    def _bent(self, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        w = self._rows.weight
        both = self._rows.window_sums(f, w, w * v).sum(axis=0)
        return 2.0 * (both[0] * v - both[1]) / self._rows.total


class PlackettLuce(GroupLoss):
    r"""Loss of lists, :math:`\log(e^{f_i} + \sum_{y_j < y_i} w_j e^{f_j}) - f_i`.

    Each row is to be drawn before all of lower grades, with odds of ``exp(f)``. With
    distinct grades it is the negative log-likelihood of the whole order in the model of
    Plackett and Luce (ListMLE); rows of equal grades do not compete. Cumulative sums of
    the sorted rows give it in O(m) for a group of m rows.

    References
    ----------
    .. [1] F. Xia et al., "Listwise Approach to Learning to Rank", ICML, 2008.
    """

    def _look(self, f: np.ndarray) -> tuple[np.ndarray, ...]:
        rows, out = self._rows, np.zeros((4, len(f)))
        loops.look_at_lists(f, rows.weight, rows.starts, rows.lower, *out)
        return tuple(out)

    def _bent(self, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        rows, out = self._rows, np.zeros(len(f))
        loops.bend_lists(f, rows.weight, rows.starts, rows.lower, v, out)
        return out
