"""Fits that go on: more steps on a path, with the kernel and ridge of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import is_whole
from pursuit._rows import exact_digests
from pursuit.engine.running import CUT_OFF
from pursuit.fitting import Fit
from pursuit.fitting.plan import Plan
from pursuit.functions import Functions, KernelFunctions
from pursuit.methods import Redrawn
from pursuit.path import Path

from .callbacks import with_callbacks

# Relative difference of two errors of the same constant on the same rows.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Known:
    """What of a fitted model its next fit takes as known.

    Attributes
    ----------
    functions : Functions
        Those of the whole path.
    gamma : float or None
    alpha : float
    paths : sequence of Path
    was_cut_short : bool
        Whether the fit did not complete, so that it may have seen some rows only.
    search : list of dict
        What was compared.
    """

    functions: Functions
    gamma: float | None
    alpha: float
    paths: tuple[Path, ...]
    was_cut_short: bool
    search: list[dict[str, Any]]

    @classmethod
    def of(cls, model: Any) -> Known:
        """Return what is known of a fitted model."""
        return cls(
            functions=model._path_functions,
            gamma=model.gamma_,
            alpha=model.alpha_,
            paths=model.path_.paths,
            was_cut_short=model.stop_reason_.startswith(CUT_OFF),
            search=model.search_,
        )

    @property
    def n_steps(self) -> int:
        """The length of the longest path."""
        return max(len(path) for path in self.paths)

    def settle(self, plan: Plan) -> Plan:
        """Return the plan with kernel, width and ridge settled: the size is open.

        Raises
        ------
        ValueError
            If there is nothing left to do, or the data are others.
        """
        if plan.template.max_steps <= self.n_steps:
            raise ValueError(
                f"The path has {self.n_steps} steps, and max_support allows "
                f"{plan.template.max_steps}: set a larger one, as in "
                f"model.set_params(max_support={2 * self.n_steps}).continue_fit(X, y)."
            )
        width, dictionary = self._dictionary(plan)
        self._check_points(dictionary, plan.sample.X)
        relearn = plan.grid.relearn
        grid = replace(
            plan.grid,
            dictionaries=[dictionary],
            relearn=None if relearn is None else lambda w: [relearn(w)[width]],
            alphas=[self.alpha],
            least_alpha=self.alpha,
            pairs=None,
        )
        return replace(plan, grid=grid, learning=None, least_steps=self.n_steps + 1)

    def _dictionary(self, plan: Plan) -> tuple[int, Functions]:
        """Return the place of the model's functions in the grid, and the functions."""
        dictionaries = plan.grid.dictionaries
        first, known = dictionaries[0], self.functions
        if plan.learning is not None:
            assert isinstance(first, KernelFunctions)
            assert isinstance(known, KernelFunctions)
            return 0, replace(first, kernel=known.kernel)
        for width, dictionary in enumerate(dictionaries):
            gamma = dictionary.gamma
            if gamma == self.gamma or (gamma and np.isclose(gamma, self.gamma or 0)):
                return width, dictionary
        raise ValueError(
            f"The kernels that the parameters describe have other widths than the "
            f"model's gamma_={self.gamma}: go on with the parameters of its fit, and "
            "its data."
        )

    def _check_points(self, dictionary: Functions, X: Any) -> None:
        """Raise a ValueError if the path's points are not among the candidates."""
        known, wanted = self.functions.centers, dictionary.centers
        if not known.shape[0]:
            return
        digests, among, rows = (
            exact_digests(Z, np.arange(Z.shape[0])) for Z in (known, wanted, X)
        )
        if not np.isin(digests, rows).all():
            raise ValueError(
                "X does not hold all points of the model: continue_fit needs the "
                "training data, as the model saw them (in a pipeline, transformed)."
            )
        if not np.isin(digests, among).all():
            raise ValueError(
                "Not all points of the model are candidates now: n_candidates draws "
                "others at each fit unless random_state is a number."
            )

    def check(self, result: Fit) -> None:
        """Raise a ValueError if the targets or weights are those of other data."""
        if self.was_cut_short or result.plan.deadline.reason:
            return
        before = sum(float(path.errors[0]) for path in self.paths)
        now = sum(float(path.errors[0]) for path in result.paths)
        if abs(now - before) > _ROUNDING * max(abs(before), abs(now)):
            raise ValueError(
                f"Without points the training error is {now:.6g}, but it was "
                f"{before:.6g} when the model was fitted: y, sample_weight or the "
                "rows are others. continue_fit needs the data of the fit."
            )


class Continued(BaseEstimator):
    """The method of the KMP estimators that goes on from a fitted model."""

    def continue_fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Go on from a fit that ended early: more steps on the same path.

        Kernel, width and ridge stay as they are; what is saved is the search for them.
        The steps are those that the fit would have taken, had it gone on: since a model
        does not hold its data, those on the path are repeated first. The number of
        points is chosen as by :meth:`fit`, on the longer path; folds judge sizes with
        the kernel of the model. To go beyond `max_support`, or for another `max_time`,
        set these first::

            model.set_params(max_support=500).continue_fit(X, y)

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training points, as they were passed to :meth:`fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights.
        groups : array-like of shape (n_samples,), optional
            Their groups, if folds depend on them.

        Returns
        -------
        self : estimator
            The model with the longer path. If an error is raised, or the fit is
            interrupted before its first step, the model is what it was before.
        """
        check_is_fitted(self, "dual_coef_")
        model: Any = self
        if model._is_batched:
            raise ValueError(
                "This model was fitted by batches: call fit_batches again, with a "
                "larger max_support, or with its checkpoint if it was stopped."
            )
        is_drawn = isinstance(model.n_candidates, Redrawn)
        if is_drawn and not is_whole(model.random_state, 0):
            raise ValueError(
                f"n_candidates={model.n_candidates!r} draws new candidates at each "
                "step, which cannot be repeated unless random_state is a number."
            )
        before = dict(vars(model))
        try:
            model._checked(X)
            self._go_on(X, y, sample_weight, groups)
        except BaseException:
            vars(model).clear()
            vars(model).update(before)
            raise
        return self

    @with_callbacks
    def _go_on(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        model: Any = self
        model._fit(X, y, sample_weight, groups, Known.of(model))
