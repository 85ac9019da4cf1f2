"""Turn settings, and what a first trip over the rows has seen, into a plan of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pursuit._limits import amount
from pursuit._parameters import WHOLE, check_choice, is_number, is_word
from pursuit.dictionaries import OneKernel
from pursuit.estimators._validation import (
    check_target_scale,
    check_weighted_classes,
    class_weights,
)
from pursuit.losses import Squared
from pursuit.methods import Redrawn
from pursuit.sample import PRIORITIES
from pursuit.selection import Selection
from pursuit.trips.blocks import Coding
from pursuit.trips.drawing import Contents, Draw
from pursuit.trips.looking import Looked

from .planning import drawn_seed
from .settings import Settings, takes_kernel_matrix

# Rows that are drawn. Fewer different rows than that are fitted as usual.
PART_ROWS = 20_000

# Rows that are held out to choose the size, at most.
HELD_OUT_ROWS = 50_000

# Candidates for each step, at most, if their number is "auto".
CANDIDATES_PER_STEP = 6


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """The settings of a fit by trips, and what is known after the first of them.

    Attributes
    ----------
    settings : Settings
    looked : Looked
    coding : Coding
    draw : Draw
        The second trip.
    selection : Selection
        How the size is chosen: by squared loss, whatever the loss.
    is_shared : bool
        Whether all outputs share one path.
    max_steps : int
    """

    settings: Settings
    looked: Looked
    coding: Coding
    draw: Draw
    selection: Selection
    is_shared: bool
    max_steps: int

    @property
    def contents(self) -> Contents:
        """What decides which rows are held out."""
        return self.draw.contents

    @property
    def outputs_of_paths(self) -> list[slice]:
        """The outputs that each path fits."""
        n = self.coding.n_outputs
        return [slice(0, n)] if self.is_shared else [slice(t, t + 1) for t in range(n)]

    @property
    def has_choice(self) -> bool:
        """Whether kernel, width or ridge are to be chosen."""
        has_ridge = is_number(self.settings.alpha)
        return not (has_ridge and _is_plain(self.settings.dictionary))

    def check_memory(self, n_candidates: int) -> None:
        """Raise a ValueError if the sums of products are too many."""
        n_sums = 2 if self.contents.share else 1
        steps = min(self.max_steps, n_candidates)
        # One more of each while blocks are merged, or written to a checkpoint.
        needed = 8 * n_candidates * (2 * n_sums * n_candidates + 2 * steps)
        if needed > self.settings.memory:
            raise ValueError(
                f"max_memory allows {amount(self.settings.memory)}, but the inner "
                f"products of {n_candidates} candidates take {amount(needed)}: raise "
                "max_memory, or lower max_support or n_candidates."
            )


def make_batch_plan(model: Any, settings: Settings, looked: Looked) -> BatchPlan:
    """Return the plan that the settings define on rows like these."""
    coding = _coding(model, looked)
    selection = settings.selection_on(True, Squared(), is_classifier(model))
    is_ovr = getattr(model, "multiclass", "shared") == "ovr"
    return BatchPlan(
        settings=settings,
        looked=looked,
        coding=coding,
        draw=_draw(settings, selection, looked, coding),
        selection=selection,
        is_shared=not is_ovr or coding.n_outputs == 1,
        max_steps=settings.wanted_steps(looked.n_used),
    )


def check_suits_batches(model: Any, settings: Settings) -> None:
    """Raise a ValueError on settings that need all rows in memory, or an end."""
    if settings.deadline.is_bound:
        raise ValueError(
            f"max_time={model.max_time!r} is for fit: fit_batches visits all rows, "
            "however long that takes, and goes on from its checkpoint if it is "
            "stopped. Leave max_time at None."
        )
    selection, method = settings.selection, settings.method
    folds, quantile = selection.n_folds, getattr(model.loss, "quantile", 0.5)
    obstacles = {
        "a precomputed kernel is a matrix of all rows by all rows: give points": (
            takes_kernel_matrix(model.kernel, model.dictionary) or model._takes_matrix
        ),
        f"method={model.method!r} does not follow from sums over rows: use "
        "'pre-fitting' or 'back-fitting' with refit_every=1": (
            method.word == "basic" or method.refit_every != 1
        ),
        "candidates that are drawn at each step need all rows: give a number": (
            isinstance(settings.n_candidates, Redrawn)
        ),
        "n_candidates=None makes candidates of all rows: give a number, or 'auto'": (
            settings.n_candidates is None
        ),
        f"selection={selection.word!r} looks at each row along the path: use 'cv', "
        "'validation' or None": selection.word in ("loo", "bound"),
        f"scoring={selection.scoring!r} looks at each row along the path: leave it": (
            selection.scoring is not None
        ),
        "given folds number rows of an array: give a number of folds": not (
            isinstance(folds, WHOLE) or folds in ("auto", None)
        ),
        f"probability={getattr(model, 'probability', None)!r} needs the models of the "
        "folds, which fits by blocks do not keep: use loss='logistic'": (
            getattr(model, "probability", None) is not None
        ),
        f"loss={model.loss!r} has several outputs for one target: fit each quantile "
        "by itself": not is_number(quantile),
    }
    for why, is_there in obstacles.items():
        if is_there:
            raise ValueError(f"fit_batches visits rows block by block; {why}.")


def _coding(model: Any, looked: Looked) -> Coding:
    """Return how targets become numbers; raise if they cannot."""
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


def _is_plain(dictionary: Any) -> bool:
    """Return whether a dictionary is one kernel, of given width, on the rows."""
    if not isinstance(dictionary, OneKernel) or dictionary.centers is not None:
        return False
    kernel = dictionary.kernel
    width = dictionary.gamma if isinstance(kernel, str) else kernel
    if is_number(width) or (isinstance(kernel, str) and kernel == "linear"):
        return True
    return is_number(getattr(kernel, "gamma", None))


# -- what is drawn -----------------------------------------------------------------


def _draw(
    settings: Settings, selection: Selection, looked: Looked, coding: Coding
) -> Draw:
    """Return the second trip."""
    rng, is_seeded = settings.random_numbers, settings.is_seeded
    seed = drawn_seed(rng) if is_seeded else 0
    learned = settings.learned
    scales = looked.scales if learned is not None and learned.learns_metric else None
    assert looked.low is not None
    assert looked.high is not None
    share = _held_out_share(settings, selection, looked.n_used)
    is_auto = is_word(settings.n_candidates, "auto")
    # The priorities of candidates are those that `fit` gives them.
    center_seed = seed + PRIORITIES
    if not is_auto:
        center_seed = drawn_seed(rng) if is_seeded else 0
    return Draw(
        coding=coding,
        contents=Contents.of(looked.low, looked.high, scales, seed, share),
        center_seed=center_seed,
        n_centers=_n_candidates(settings, looked.n_used, is_auto),
        n_part=PART_ROWS,
    )


def _n_candidates(settings: Settings, n_rows: int, is_auto: bool) -> int:
    n = settings.n_fixed(n_rows)
    if not is_auto:
        return n
    steps = settings.wanted_steps(n_rows)
    return max(min(steps, PART_ROWS), min(n, CANDIDATES_PER_STEP * steps))


def _held_out_share(settings: Settings, selection: Selection, n_rows: int) -> float:
    """Return the share of the rows that are held out to choose the size."""
    if selection.word is None:
        return 0.0
    fraction = float(selection.fraction)
    if settings.selection.word == "validation":
        return fraction
    return min(fraction, HELD_OUT_ROWS / n_rows)
