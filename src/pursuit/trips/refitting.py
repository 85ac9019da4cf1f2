"""Coefficients under a loss, of points that the squared loss has chosen.

Those of the chosen size minimize the loss on all rows, by further trips
(:mod:`.refining`); those of other sizes minimize it on the part that was drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pursuit.engine.loss_model import LossModel
from pursuit.engine.problem import Problem
from pursuit.fitting.curves import HeldOutError
from pursuit.functions import Functions
from pursuit.losses import Loss
from pursuit.path import OrthogonalPath, RefittedPath

from .blocks import CodedRows, Coding
from .drawing import Contents
from .refining import Slope, refined
from .visits import Visits


@dataclass(frozen=True, eq=False)
class Refit:
    """What coefficients are fitted to.

    Attributes
    ----------
    coding : Coding
    contents : Contents
    functions : Functions
        The candidates.
    loss : Loss
    alpha : float
    part : CodedRows
        The rows that were drawn.
    total : float
        Weight of all rows.
    """

    coding: Coding
    contents: Contents
    functions: Functions
    loss: Loss
    alpha: float
    part: CodedRows
    total: float

    def run(
        self, visits: Visits, choices: Iterable[tuple[OrthogonalPath, int, slice]]
    ) -> tuple[list[RefittedPath], HeldOutError | None]:
        """Return paths, each given with its size and outputs, and the held-out error.

        The error is a sum over the paths.
        """
        paths, errors, constants = [], [], []
        for squared, size, outputs in choices:
            path = self._on_part(squared, outputs)
            functions = self.functions[path.atoms[:size]]
            start = Slope(
                *(self.coding, self.contents, functions, self.loss),
                *(path.coefs[size], outputs),
            )
            coef, tally = refined(visits, start, self.alpha, path.has_intercept)
            coefs = (*path.coefs[:size], coef, *path.coefs[size + 1 :])
            paths.append(replace(path, coefs=coefs))
            if tally.held_out_total > 0:
                errors.append(tally.held_out / tally.held_out_total)
                constants.append(self._constant_error(outputs))
        if not errors:
            return paths, None
        return paths, HeldOutError(sum(errors), None, sum(constants))

    def _on_part(self, path: OrthogonalPath, outputs: slice) -> RefittedPath:
        """Return the path with coefficients that minimize the loss on the part."""
        part = self.part.some(np.flatnonzero(~self._are_held_out))
        # As the sums over all rows are to their ridge, so are those over the part.
        share = part.weight.sum() / max(self.total, part.weight.sum())
        problem = Problem(
            Y=np.ascontiguousarray(part.Y[outputs]),
            weight=part.weight,
            held_out=np.zeros(len(part)),
            candidates=np.ones(len(path), dtype=bool),
            alpha=self.alpha * share,
            fit_intercept=path.has_intercept,
            max_steps=max(1, len(path)),
            loss=self.loss,
        )
        model = LossModel(problem)
        values = self.functions[path.atoms].evaluator(part.X, np.float64)
        coefs, errors = [model.coef[:, : model.size].copy()], [model.errors[0]]
        for k in range(len(path)):
            model.extend([k], values(slice(k, k + 1)))
            coefs.append(model.coef[:, : model.size].copy())
            errors.append(model.errors[0])
        return RefittedPath(
            atoms=path.atoms,
            errors=np.array(errors) / part.weight.sum(),
            gains=path.gains,
            has_intercept=path.has_intercept,
            stop_reason=path.stop_reason,
            coefs=tuple(coefs),
        )

    def _constant_error(self, outputs: slice) -> float:
        """Return the error of the best constant on the held-out rows of the part."""
        is_held_out = self._are_held_out
        weight, Y = self.part.weight, self.part.Y[outputs]
        start = self.loss.start(Y[:, ~is_held_out], weight[~is_held_out])
        F = np.repeat(start[:, None], int(is_held_out.sum()), axis=1)
        losses = np.atleast_2d(self.loss.value(Y[:, is_held_out], F)).sum(axis=0)
        return float(losses @ weight[is_held_out] / weight[is_held_out].sum())

    @property
    def _are_held_out(self) -> np.ndarray:
        return self.contents.are_held_out(self.part.X)
