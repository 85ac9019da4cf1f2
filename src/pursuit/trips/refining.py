r"""Further trips: coefficients under a loss, by Newton's method.

The objective is :math:`\sum_i w_i L(y_i, f_i) + \alpha \lVert c \rVert^2`. A trip sums
up its value, slope and curvature at given coefficients, halved as in
:mod:`pursuit.engine.objective`; the next coefficients follow from these sums alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from pursuit._warnings import warn
from pursuit.batches import Block
from pursuit.engine.gram import add_products, add_wide_products, mirrored
from pursuit.engine.moments import rows_at_once
from pursuit.engine.objective import Objective
from pursuit.functions import Functions
from pursuit.losses import Loss

from .blocks import Coding
from .drawing import Contents
from .visits import Tally, Trip, Visits

# Coefficients of all outputs whose second derivatives are summed up as one matrix, if
# the loss couples the outputs; above, those between outputs are bounded.
_MOST_COUPLED = 2048
# Maximum number of trips, and minimum length of a step that did not pay.
_MOST_TRIPS, _LEAST_LENGTH = 100, 1e-3
# The last step promises less than the first share of the objective: Newton's method
# squares what is left. A promise of the second share, and a rise by the third, are
# round-off.
_ENOUGH, _NOTHING, _ROUNDING = 1e-9, 1e-14, 1e-12


@dataclass(eq=False)
class Sloped(Tally):
    """The loss and its derivatives, summed up so far.

    Attributes
    ----------
    value, total : float
        Loss on fitted rows, and their weight.
    held_out, held_out_total : float
        The same on held-out rows.
    descent : ndarray of shape (T, b)
        Minus half the gradient in the coefficients.
    curvature : ndarray of shape (T, b, b) or (1, T b, T b)
        Half the second derivatives, of each output or of all, in upper triangles.
    """

    n_rows: int
    value: float
    total: float
    held_out: float
    held_out_total: float
    descent: np.ndarray
    curvature: np.ndarray

    def merged(self, other: Sloped) -> Sloped:
        """Return the sums over the rows of both."""
        pairs = zip(vars(self).items(), vars(other).values(), strict=True)
        return Sloped(**{name: mine + theirs for (name, mine), theirs in pairs})


@dataclass(frozen=True, eq=False)
class Slope(Trip[Sloped]):
    """Sum up a loss and its derivatives at some coefficients.

    Attributes
    ----------
    coding : Coding
    contents : Contents
    functions : Functions
        The chosen ones.
    loss : Loss
    coef : ndarray of shape (T, b)
        Coefficients of the constant, if there is one, and of the functions.
    outputs : slice
        Outputs that are fitted.
    is_cautious : bool
        Whether the curvature is that of parabolas above the loss: steps are then short,
        but never too long, even where the loss has corners.
    """

    coding: Coding
    contents: Contents
    functions: Functions
    loss: Loss
    coef: np.ndarray
    outputs: slice
    is_cautious: bool = False
    name: ClassVar[str] = "loss"

    def begin(self) -> Sloped:
        """Return the tally of no rows."""
        n_outputs, b = self.coef.shape
        shape = (1, n_outputs * b, n_outputs * b) if self._is_whole else None
        return Sloped(
            n_rows=0,
            value=0.0,
            total=0.0,
            held_out=0.0,
            held_out_total=0.0,
            descent=np.zeros((n_outputs, b)),
            curvature=np.zeros(shape or (n_outputs, b, b)),
        )

    @property
    def _is_whole(self) -> bool:
        couples = self.loss.is_coupled and self.loss.is_convex
        is_small = self.coef.size <= _MOST_COUPLED
        return couples and is_small and not self.is_cautious

    def visit(self, tally: Sloped, block: Block) -> None:
        """Add a block."""
        if not len(block):
            return
        rows = self.coding.rows(block)
        Y = np.ascontiguousarray(rows.Y[self.outputs])
        try:
            self.loss.check_targets(Y)
        except ValueError as error:
            raise ValueError(f"{block.where}: {error}") from None
        is_held_out = self.contents.are_held_out(rows.X)
        n_at_once = rows_at_once(self.coef.shape[1], rows.X.shape[1])
        for which, is_fitted in ((~is_held_out, True), (is_held_out, False)):
            some = np.flatnonzero(which)
            for start in range(0, len(some), n_at_once):
                few = some[start : start + n_at_once]
                part = rows.X[few], Y[:, few], rows.weight[few]
                self._add(tally, *part, is_fitted)
        tally.n_rows += len(block)

    def _add(
        self,
        tally: Sloped,
        X: Any,
        Y: np.ndarray,
        weight: np.ndarray,
        is_fitted: bool,
    ) -> None:
        B = self._basis(X)
        here = Objective(self.loss, Y, weight).at(np.ascontiguousarray(self.coef @ B))
        if not is_fitted:
            tally.held_out += here.value
            tally.held_out_total += float(weight.sum())
            return
        tally.value += here.value
        tally.total += float(weight.sum())
        tally.descent += here.descent @ B.T
        if not self._is_whole:
            # If the loss couples outputs, this bounds the curvature from above.
            diagonals = here.second[0]
            if self.is_cautious and not self.loss.is_coupled:
                touching = 0.5 * weight * self.loss.weights(Y, here.F)
                diagonals = np.maximum(diagonals, touching)
            for total, curvature in zip(tally.curvature, diagonals, strict=True):
                add_wide_products(total, B * np.sqrt(curvature))
            return
        diagonals, coupling = here.second
        b = len(B)
        whole = tally.curvature[0]
        for t, curvature in enumerate(diagonals):
            place = slice(t * b, (t + 1) * b)
            own = np.zeros((b, b))
            add_wide_products(own, B * np.sqrt(curvature))
            whole[place, place] += own
        joint = (coupling[:, None, :] * B).reshape(len(whole), -1)
        add_products(whole, -1.0, np.ascontiguousarray(joint))

    def _basis(self, X: Any) -> np.ndarray:
        """Return the values (b, n) of the constant and the functions."""
        m, n = len(self.functions), X.shape[0]
        B = np.ones((self.coef.shape[1], n))
        if m:
            B[-m:] = self.functions.evaluator(X, np.float64)(slice(0, m))
        return B


def refined(
    visits: Visits, trip: Slope, alpha: float, has_constant: bool
) -> tuple[np.ndarray, Sloped]:
    """Return the coefficients that minimize the loss, and the last tally.

    Parameters
    ----------
    visits : Visits
    trip : Slope
        The first trip, whose coefficients are where to start.
    alpha : float
        Ridge, on all but the constant.
    has_constant : bool
        Whether the first of the coefficients are constants.
    """
    ridge = np.full(trip.coef.shape[1], alpha)
    ridge[: int(has_constant)] = 0.0
    tally = visits.total(trip)
    value = _objective(tally, trip, ridge)
    length = 1.0
    for _ in range(_MOST_TRIPS):
        step, promise = _step(tally, trip, ridge)
        if promise <= _NOTHING * abs(value):
            return trip.coef, tally
        there = replace(trip, coef=trip.coef + length * step)
        tally_there = visits.total(there)
        new = _objective(tally_there, there, ridge)
        # NaN compares as False, so such a step is not taken.
        if new <= value + _ROUNDING * abs(value):
            is_last = promise <= _ENOUGH * abs(value) and length == 1.0
            trip, tally, value = there, tally_there, new
            if is_last and not trip.is_cautious:
                return trip.coef, tally
            length = min(1.0, 4.0 * length)
        elif length > _LEAST_LENGTH:
            length /= 4.0
        elif not trip.is_cautious:
            trip, length = replace(trip, is_cautious=True), 1.0
            tally = visits.total(trip)
        else:
            return trip.coef, tally
    warn(
        f"{_MOST_TRIPS} trips did not minimize the loss {trip.loss!r}: the "
        "coefficients are not the best. A loss with sharper corners (a smaller "
        "smoothing) and a smaller alpha need more trips.",
        ConvergenceWarning,
    )
    return trip.coef, tally


def _objective(tally: Sloped, trip: Slope, ridge: np.ndarray) -> float:
    return tally.value + float((ridge * trip.coef**2).sum())


def _step(tally: Sloped, trip: Slope, ridge: np.ndarray) -> tuple[np.ndarray, float]:
    """Return Newton's step, and the decrease that it promises."""
    g = tally.descent - ridge * trip.coef
    blocks = [mirrored(np.array(H)) for H in tally.curvature]
    sides = g.reshape(len(blocks), -1)
    step = np.array(
        [
            _solved(H + np.diag(np.tile(ridge, len(H) // len(ridge))), side)
            for H, side in zip(blocks, sides, strict=True)
        ]
    ).reshape(g.shape)
    return trip.loss.reduced(step), float(np.vdot(step, g))


def _solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    # Outputs that may all rise together leave a direction without any curvature.
    H[np.diag_indices(len(H))] += 1e-13 * max(H.trace() / len(H), 1e-300)
    try:
        return np.asarray(cho_solve(cho_factor(H), g))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, g, rcond=None)[0])
