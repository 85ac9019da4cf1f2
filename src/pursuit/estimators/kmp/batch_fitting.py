"""Fits by trips over the rows.

A part of the rows, drawn by content, chooses kernel, width and ridge by a usual fit.
Trips over all rows then find the points, their number and the coefficients.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier

from pursuit._limits import amount
from pursuit._parameters import WHOLE, check_choice, is_number, is_word
from pursuit._warnings import warn
from pursuit.batches import Rows
from pursuit.dictionaries import OneKernel
from pursuit.engine.loss_model import LossModel
from pursuit.engine.problem import Problem
from pursuit.estimators._validation import (
    check_target_scale,
    check_weighted_classes,
    class_weights,
)
from pursuit.fitting import REASONS, Fit
from pursuit.fitting.curves import CV_PATIENCE, HeldOutError, Patience
from pursuit.functions import Functions, KernelFunctions
from pursuit.gradients import importances
from pursuit.losses import Loss, Squared
from pursuit.methods import Redrawn
from pursuit.path import OrthogonalPath, Path, RefittedPath, join
from pursuit.sample import PRIORITIES, Sample
from pursuit.selection import Selection
from pursuit.trips import Visits
from pursuit.trips.blocks import Coding
from pursuit.trips.drawing import (
    LEAST_OF_A_CLASS,
    Contents,
    Draw,
    Lowest,
    places_in_class,
)
from pursuit.trips.looking import Look, Looked
from pursuit.trips.procedure import Choices, least_alpha, pursue
from pursuit.trips.refining import Slope, refined
from pursuit.trips.summing import Sum

from .attributes import IMPORTANCE_ROWS, path_attributes
from .outputs import ClassOutputs, NumberOutputs, Outputs
from .planning import drawn_seed, loss_ridge
from .settings import Settings, takes_kernel_matrix
from .summary import size_reason

if TYPE_CHECKING:
    from .base import BaseKMP

# Rows that are drawn. Fewer rows than that are fitted as usual.
PART_ROWS = 20_000

# Rows among them on which kernels, widths and ridges are compared.
SEARCH_ROWS = 10_000

# Rows that are held out to choose the size, at most.
HELD_OUT_ROWS = 50_000

# Candidates for each step, at most, if their number is "auto".
CANDIDATES_PER_STEP = 6


def identity(model: Any, source: Rows) -> str:
    """Return what a checkpoint belongs to: these rows and parameters."""
    ignored = ("verbose", "n_jobs", "max_memory", "max_time")
    values = sorted(model.get_params().items())
    shown = {name: _shown(value) for name, value in values if name not in ignored}
    return json.dumps([type(model).__name__, shown, source.fingerprint()])


def _shown(value: Any) -> str:
    """Return a text that is the same for equal values in another process."""
    if isinstance(value, np.ndarray):
        return blake2b(np.ascontiguousarray(value).tobytes()).hexdigest()
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def fit_visits(model: Any, visits: Visits, names: tuple[str, ...] | None) -> None:
    """Fit the model by trips over rows that may be anywhere."""
    start = time.perf_counter()
    settings = model._settings()
    _check(model, settings)
    looked = visits.total(Look(is_classifier(model)))
    coding = _coding(model, looked)
    draw = _draw(model, settings, looked, coding)
    drawn = visits.total(draw)
    if drawn.part.is_complete:
        model.fit(drawn.part.X, targets_of(drawn.part, coding), drawn.part.weight)
    else:
        job = _Job(model, settings, visits, looked, coding, draw)
        _take(job, drawn.part, drawn.centers)
    model.n_features_in_ = looked.n_features
    _name_features(model, names)
    model._n_rows, model._is_batched = looked.n_used, True
    model._seconds = time.perf_counter() - start


def _name_features(model: Any, names: tuple[str, ...] | None) -> None:
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def _coding(model: Any, looked: Looked) -> Coding:
    """Return how targets become numbers; classes are known after the first trip."""
    if not looked.n_used:
        raise ValueError(
            f"There are no rows of positive weight to fit ({looked.n_rows} rows)."
        )
    if looked.labels is None:
        assert looked.target_low is not None
        n_targets = len(looked.target_low)
        if n_targets > 1 and not model._takes_several:
            raise ValueError(
                f"y has {n_targets} columns, but loss={model.loss!r} and "
                f"selection={model.selection!r} take one target."
            )
        bounds = np.array([looked.target_low, looked.target_high])
        check_target_scale(bounds, np.array([looked.total]), model.fit_intercept)
        return Coding(looked.n_features, n_targets)
    classes, counts = looked.labels, looked.counts
    assert counts is not None
    check_choice("multiclass", model.multiclass, ("shared", "ovr"))
    codes = np.arange(len(classes))
    factors = class_weights(model.class_weight, classes, codes, counts)
    check_weighted_classes(classes, codes, counts * factors)
    return Coding(looked.n_features, 1, classes, factors)


def _take(job: _Job, part: Lowest, centers: Lowest) -> None:
    """Fit by sums, and give the model its attributes."""
    model, chooser, fit = job.model, *job.settings_of(part)
    outputs = job.outputs_of(part)
    paths, sizes, held_out, functions, alpha = job.run(
        part, centers, chooser, fit, outputs.loss
    )
    path = join(paths)
    reason = path.stop_reason
    model._set(
        {
            **path_attributes(path, sizes, functions[path.support]),
            "alpha_": alpha,
            "gamma_": functions.gamma,
            "_outputs": outputs,
            "_was_matrix": False,
            "_n_candidates": len(functions),
            "_framer": None,
            "loss_": outputs.loss,
            "selection_": job.rule.word,
            "_held_out": held_out,
            "search_": [] if chooser is None else chooser.search_,
            "stop_reason_": REASONS[reason],
            "size_reason_": size_reason(job.rule, sizes, len(path), 1, reason),
        }
    )
    if job.coding.classes is not None:
        model.classes_ = job.coding.classes
    model._importances = _importances(model, part)


@dataclass(frozen=True, eq=False)
class _Job:
    """A fit by trips, with what is known after the first of them."""

    model: BaseKMP
    settings: Settings
    visits: Visits
    looked: Looked
    coding: Coding
    draw: Draw

    @property
    def is_shared(self) -> bool:
        """Whether all outputs share one support."""
        is_ovr = getattr(self.model, "multiclass", "shared") == "ovr"
        return not is_ovr or self.coding.n_outputs == 1

    @property
    def rule(self) -> Selection:
        """How the size is chosen."""
        return _rule(self.model, self.settings)

    @property
    def n_steps(self) -> int:
        """The maximum number of steps."""
        return self.settings.wanted_steps(self.looked.n_used)

    def weights_of(self, part: Lowest) -> np.ndarray:
        """Return the weights of rows, those of their classes included."""
        if self.coding.factors is None:
            return part.weight
        return np.asarray(part.weight * self.coding.factors[part.labels])

    def settings_of(self, part: Lowest) -> tuple[Any, Fit | None]:
        """Return a model of the part, which has chosen kernel, width and ridge.

        None if there is nothing to choose.
        """
        dictionary, alpha = self.settings.dictionary, self.settings.alpha
        if is_number(alpha) and _is_plain(dictionary):
            return None, None
        kept = self._rows_to_search(part)
        model = clone(self.model)
        model.set_params(max_support=min(self.n_steps, len(kept)))
        if is_word(model.loss, "auto"):
            model.set_params(loss="squared")
        y = targets_of(part, self.coding)[kept]
        fit = model._fit(part.X[kept], y, part.weight[kept], None)
        return model, fit

    def _rows_to_search(self, part: Lowest) -> np.ndarray:
        """Return some rows that are not held out, and a few of each class.

        The part is in a random order, so that its first rows are a sample.
        """
        fitted = np.flatnonzero(~self.draw.contents.are_held_out(part.X))
        is_kept = np.arange(len(fitted)) < SEARCH_ROWS
        if self.coding.classes is not None:
            is_kept |= places_in_class(part.labels[fitted]) < LEAST_OF_A_CLASS
        return np.asarray(fitted[is_kept])

    def outputs_of(self, part: Lowest) -> Outputs:
        """Return how values become predictions, and the loss."""
        classes = self.coding.classes
        is_joint = self.is_shared and classes is not None and self.coding.n_outputs > 1
        weight = self.weights_of(part)
        loss = self.model._bound_loss(self.settings, part.Y, weight, is_joint)
        if classes is not None:
            return ClassOutputs(classes, loss)
        return NumberOutputs(loss, is_single=self.looked.is_single)

    def run(
        self,
        part: Lowest,
        centers: Lowest,
        model: Any,
        fit: Fit | None,
        loss: Loss,
    ) -> tuple[list[Path], list[int], HeldOutError | None, Functions, float]:
        """Return paths, sizes, what held-out rows say, candidates and ridge."""
        functions = self._functions(part, centers, model, fit)
        self._check_memory(len(functions))
        intercept = self.settings.fit_intercept and loss.frees_constant
        shift = self._shift(part) if intercept else np.zeros(self.coding.n_outputs)
        contents = self.draw.contents
        summed = self.visits.total(
            Sum(self.coding, contents, functions, shift, self.settings.dtype)
        )
        alpha = model.alpha_ if model is not None else float(self.settings.alpha)
        ratio = 1.0 if loss.has_closed_form else self._loss_ridge(part, loss)
        least = least_alpha(summed)
        if alpha / ratio < least and is_number(self.settings.alpha):
            warn(
                f"alpha={alpha:.3g} is smaller than inner products, summed over "
                f"{summed.n_rows} rows, can tell from 0: alpha={least * ratio:.3g} is "
                "used instead."
            )
        squared_alpha = max(alpha / ratio, least)
        method = self.settings.method
        rule = self.rule
        pursued = pursue(
            summed,
            shift,
            Choices(
                method=method.word,
                alpha=squared_alpha,
                fit_intercept=intercept,
                max_steps=self.n_steps,
                tol=float(method.tol),
                patience=_patience(rule),
                tolerance=rule.tolerance if rule.word is not None else 0.0,
                is_shared=self.is_shared,
            ),
        )
        if loss.has_closed_form:
            squared: list[Path] = list(pursued.paths)
            return squared, pursued.sizes, pursued.held_out, functions, squared_alpha
        return self._under_loss(
            part, functions, loss, squared_alpha * ratio, pursued.paths, pursued.sizes
        )

    # -- candidates ----------------------------------------------------------------

    def _functions(
        self, part: Lowest, centers: Lowest, model: Any, fit: Fit | None
    ) -> Functions:
        """Return the candidates: the kernel on the drawn rows, or the dictionary."""
        dictionary = self.settings.dictionary
        is_kernel = dictionary is None or (
            isinstance(dictionary, OneKernel) and dictionary.centers is None
        )
        if fit is None:
            assert dictionary is not None
            rows = Sample.of(centers.X, centers.Y, centers.weight)
            (functions,) = dictionary.learn(rows)
        else:
            functions = fit.dictionary
        kernel = getattr(functions, "kernel", None)
        if not is_kernel or kernel is None:
            return functions
        numbers = np.arange(len(centers))
        return KernelFunctions(centers.X, numbers, on_rows=False, kernel=kernel)

    def _shift(self, part: Lowest) -> np.ndarray:
        """Return numbers near the means of the targets."""
        weight = self.weights_of(part)
        return np.asarray(part.Y @ weight / weight.sum())

    def _check_memory(self, n_atoms: int) -> None:
        n_sums = 2 if self.draw.contents.share else 1
        steps = min(self.n_steps, n_atoms)
        # One more of each while blocks are merged, or written to a checkpoint.
        needed = 8 * n_atoms * (2 * n_sums * n_atoms + 2 * steps)
        if needed > self.settings.memory:
            raise ValueError(
                f"max_memory allows {amount(self.settings.memory)}, but the inner "
                f"products of {n_atoms} candidates take {amount(needed)}: raise "
                "max_memory, or lower max_support or n_candidates."
            )

    # -- other losses --------------------------------------------------------------

    def _loss_ridge(self, part: Lowest, loss: Loss) -> float:
        """Return how many times larger than for the squared loss ridges are."""
        if is_number(self.settings.alpha):
            return 1.0
        return loss_ridge(loss, part.Y, self.weights_of(part))

    def _under_loss(
        self,
        part: Lowest,
        functions: Functions,
        loss: Loss,
        alpha: float,
        squared: list[OrthogonalPath],
        sizes: list[int],
    ) -> tuple[list[Path], list[int], HeldOutError | None, Functions, float]:
        """Return the paths with coefficients under a loss.

        Those of the chosen size minimize the loss on all rows, those of other sizes on
        the part.
        """
        rows = np.flatnonzero(~self.draw.contents.are_held_out(part.X))
        n = self.coding.n_outputs
        which = [slice(0, n)] if self.is_shared else [slice(t, t + 1) for t in range(n)]
        paths: list[Path] = []
        errors, constants = [], []
        for place, path, size in zip(which, squared, sizes, strict=True):
            refit = self._on_part(part, rows, functions, loss, alpha, path, place)
            trip = Slope(
                self.coding,
                self.draw.contents,
                functions[path.atoms[:size]],
                loss,
                refit.coefs[size],
                place,
            )
            coef, tally = refined(self.visits, trip, alpha, path.has_intercept)
            coefs = [*refit.coefs[:size], coef, *refit.coefs[size + 1 :]]
            paths.append(replace(refit, coefs=tuple(coefs)))
            if tally.held_out_total > 0:
                errors.append(tally.held_out / tally.held_out_total)
                constants.append(self._constant_error(part, loss, place))
        held_out = None
        if errors:
            held_out = HeldOutError(sum(errors), None, sum(constants))
        return paths, sizes, held_out, functions, alpha

    def _on_part(
        self,
        part: Lowest,
        rows: np.ndarray,
        functions: Functions,
        loss: Loss,
        alpha: float,
        path: OrthogonalPath,
        place: slice,
    ) -> RefittedPath:
        """Return the path with coefficients that minimize the loss on the part."""
        weight = self.weights_of(part)[rows]
        # As the sums over all rows are to their ridge, so are those over the part.
        share = weight.sum() / max(self.looked.total, weight.sum())
        problem = Problem(
            Y=np.ascontiguousarray(part.Y[place][:, rows]),
            weight=weight,
            held_out=np.zeros(len(rows)),
            candidates=np.ones(len(path), dtype=bool),
            alpha=alpha * share,
            fit_intercept=path.has_intercept,
            max_steps=max(1, len(path)),
            loss=loss,
        )
        model = LossModel(problem)
        values = functions[path.atoms].evaluator(part.X[rows], np.float64)
        coefs, errors = [model.coef[:, : model.size].copy()], [model.errors[0]]
        for k in range(len(path)):
            model.extend([k], values(slice(k, k + 1)))
            coefs.append(model.coef[:, : model.size].copy())
            errors.append(model.errors[0])
        return RefittedPath(
            atoms=path.atoms,
            errors=np.array(errors) / weight.sum(),
            gains=path.gains,
            has_intercept=path.has_intercept,
            stop_reason=path.stop_reason,
            coefs=tuple(coefs),
        )

    def _constant_error(self, part: Lowest, loss: Loss, place: slice) -> float:
        """Return the error of the best constant on the held-out rows of the part."""
        held_out = self.draw.contents.are_held_out(part.X)
        weight, Y = self.weights_of(part), part.Y[place]
        start = loss.start(Y[:, ~held_out], weight[~held_out])
        F = np.repeat(start[:, None], int(held_out.sum()), axis=1)
        losses = np.atleast_2d(loss.value(Y[:, held_out], F)).sum(axis=0)
        return float(losses @ weight[held_out] / weight[held_out].sum())


# -- settings ----------------------------------------------------------------------


def _check(model: Any, settings: Settings) -> None:
    """Raise a ValueError on settings that need all rows in memory, or an end."""
    if settings.deadline.is_bound:
        raise ValueError(
            f"max_time={model.max_time!r} is for fit: fit_batches visits all rows, "
            "however long that takes, and goes on from its checkpoint if it is "
            "stopped. Leave max_time at None."
        )
    why = None
    selection, method = settings.selection, settings.method
    if takes_kernel_matrix(model.kernel, model.dictionary) or model._takes_matrix:
        why = "a precomputed kernel is a matrix of all rows by all rows: give points"
    elif method.word == "basic" or method.refit_every != 1:
        why = (
            f"method={model.method!r} does not follow from sums over rows: use "
            "'pre-fitting' or 'back-fitting' with refit_every=1"
        )
    elif isinstance(settings.n_candidates, Redrawn):
        why = "candidates that are drawn at each step need all rows: give a number"
    elif selection.word in ("loo", "bound"):
        why = (
            f"selection={selection.word!r} looks at each row along the path: use 'cv', "
            "'validation' or None"
        )
    elif selection.scoring is not None:
        why = (
            f"scoring={selection.scoring!r} looks at each row along the path: leave it"
        )
    elif not (
        isinstance(selection.n_folds, WHOLE) or selection.n_folds in ("auto", None)
    ):
        why = "given folds number rows of an array: give a number of folds"
    if why is not None:
        raise ValueError(f"fit_batches visits rows block by block; {why}.")


def _rule(model: Any, settings: Settings) -> Selection:
    """Return how the size is chosen: by squared loss, whatever the loss."""
    return settings.selection_on(True, Squared(), is_classifier(model))


def _patience(rule: Selection) -> Patience:
    n = getattr(rule, "patience", None)
    return CV_PATIENCE if n is None else Patience(int(n))


def _is_plain(dictionary: Any) -> bool:
    """Return whether a dictionary is one kernel, of given width, on the rows."""
    if not isinstance(dictionary, OneKernel) or dictionary.centers is not None:
        return False
    kernel = dictionary.kernel
    width = dictionary.gamma if isinstance(kernel, str) else kernel
    if is_number(width) or (isinstance(kernel, str) and kernel == "linear"):
        return True
    return is_number(getattr(kernel, "gamma", None))


def _draw(model: Any, settings: Settings, looked: Looked, coding: Coding) -> Draw:
    """Return the second trip."""
    rng, is_seeded = settings.random_numbers, settings.is_seeded
    seed = drawn_seed(rng) if is_seeded else 0
    share = _held_out_share(model, settings, looked.n_used)
    learned = settings.learned
    scales = looked.scales if learned is not None and learned.learns_metric else None
    assert looked.low is not None
    assert looked.high is not None
    contents = Contents.of(looked.low, looked.high, scales, seed, share)
    n_centers = settings.n_fixed(looked.n_used)
    center_seed = seed + PRIORITIES
    if is_word(settings.n_candidates, "auto"):
        steps = settings.wanted_steps(looked.n_used)
        most = int(np.sqrt(settings.memory / 64.0))
        least = min(steps, PART_ROWS)
        n_centers = max(least, min(n_centers, CANDIDATES_PER_STEP * steps, most))
    elif settings.n_candidates is not None:
        center_seed = drawn_seed(rng) if is_seeded else 0
    else:
        raise ValueError(
            "n_candidates=None makes candidates of all rows: give a number, or 'auto'."
        )
    return Draw(coding, contents, center_seed, n_centers, PART_ROWS)


def _held_out_share(model: Any, settings: Settings, n_rows: int) -> float:
    rule = _rule(model, settings)
    if rule.word is None:
        return 0.0
    fraction = float(rule.fraction)
    if settings.selection.word == "validation":
        return fraction
    return min(fraction, HELD_OUT_ROWS / n_rows)


# -- results -----------------------------------------------------------------------


def targets_of(part: Lowest, coding: Coding) -> np.ndarray:
    """Return the targets of rows as the user gave them."""
    if coding.classes is not None:
        return np.asarray(coding.classes[part.labels])
    return part.Y[0] if len(part.Y) == 1 else part.Y.T


def _importances(model: Any, part: Lowest) -> np.ndarray | None:
    """Return the importances of the features, on rows of the part."""
    kernel = getattr(model.atoms_, "kernel", None)
    if kernel is None or not kernel.has_gradients:
        return None
    rows = slice(0, IMPORTANCE_ROWS)
    points, coef = model.support_vectors_, model.dual_coef_.T
    return importances(kernel, part.X[rows], points, coef, part.weight[rows])
