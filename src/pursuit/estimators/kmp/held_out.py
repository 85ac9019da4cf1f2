"""What the models of the folds tell of a fitted model, at its size or another."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import probability
from pursuit.fitting.held_out import FoldModel, FoldPath, known_at
from pursuit.fitting.plan import Plan


class HeldOut(BaseEstimator):
    """Mixin of the estimators: models with the same settings that never saw some rows.

    The fit leaves one for each fold in ``_folds``. A truncated or saved model keeps
    those of its size.
    """

    _folds: Sequence[FoldPath] = ()
    _outputs: Any

    def _check_plan(self, plan: Plan) -> None:
        """Raise a ValueError if what is asked for needs rows that are held out."""

    def _keep_folds(self, folds: Sequence[FoldPath]) -> None:
        """Keep these models, and what follows from them."""
        self._folds = list(folds)

    def _outputs_of(self, sizes: Sequence[int]) -> Any:
        """Return what turns the values of a model of these sizes into predictions."""
        return self._outputs

    @property
    def _has_folds(self) -> bool:
        """Whether models of the folds are known, from which intervals and sets come."""
        return known_at(self._folds, self._sizes)

    def _without_larger_folds(self) -> Self:
        """Return the same model, with the models of the folds up to its size only."""
        check_is_fitted(self, "dual_coef_")
        model = copy.copy(self)
        model._folds = self._folds_of(self._sizes)
        return model

    def _folds_of(self, sizes: Sequence[int]) -> list[FoldPath]:
        """Return the models of the folds up to these sizes; none if not known."""
        if not known_at(self._folds, sizes):
            return []
        return [fold.truncate(sizes) for fold in self._folds]

    def _fold_models(self, sizes: Sequence[int] | None = None) -> list[FoldModel]:
        """Return the models of the folds, of the size of the model by default.

        Raises
        ------
        ValueError
            If the fit held out no rows, or did not compare models as large.
        """
        check_is_fitted(self, "dual_coef_")
        sizes = self._sizes if sizes is None else sizes
        if not self._folds:
            raise ValueError(
                "No model of this size is known that did not see some of the rows, "
                "from whose errors this is computed: fit with selection='cv' or "
                "'validation', not by batches, to rows that differ, and truncate to "
                "sizes that these compared, with folds=True."
            )
        if not known_at(self._folds, sizes):
            most = np.min([f.longest for f in self._folds], axis=0).tolist()
            raise ValueError(
                f"The folds have models of up to {most} functions, this model has "
                f"{list(sizes)}: truncate it to a size that they have, or fit with "
                "selection='cv' or 'validation', which choose no larger one."
            )
        return [fold.at(sizes) for fold in self._folds]

    @property
    def _largest_known(self) -> int:
        """The largest size of which all folds have a model."""
        longest = [min(fold.longest) for fold in self._folds]
        return min([len(self.path_), *longest]) if longest else 0


def as_coverages(coverage: Any) -> np.ndarray:
    """Return coverages as a vector; raise a ValueError unless all are shares."""
    given = np.atleast_1d(np.asarray(coverage))
    if given.ndim != 1 or not len(given):
        raise ValueError(
            f"coverage={coverage!r} must be a number above 0 and below 1, or several."
        )
    return np.array([probability("coverage", c) for c in given.tolist()])
