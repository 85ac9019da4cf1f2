"""Warn of useless or unfinished models, and of features that rule the distances."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pursuit._ranges import SMALLEST_TO_SQUARE
from pursuit._warnings import warn
from pursuit.fitting import Fit
from pursuit.functions import Functions
from pursuit.functions._base import spread
from pursuit.kernels import Laplacian, Radial
from pursuit.sample import Sample

# A model is far from done with less than this share of the rows, or fewer steps.
_FAR, _FEW_STEPS = 0.1, 5
# A function with this share of its sum of squares on one row is too narrow.
_MOST = 0.9
# How many times more than others a feature must vary to rule the distances: its share
# of squared distances is then larger by the square.
_RULING = 100.0
# Number of columns that a warning names.
_NAMED = 3

_EMPTY = (
    "The model has no support points: on held-out rows nothing was better than the "
    "constant."
)


def tell_what_is_useless(result: Fit, sample: Sample) -> None:
    """Warn if the model is empty, or if few features rule its distances.

    Raises
    ------
    ValueError
        If the model is empty because the values of its functions underflow.
    """
    is_empty = not any(result.sizes)
    ruling = _ruling_features(result.dictionary, sample)
    if not is_empty:
        if ruling:
            warn(ruling)
        return
    if result.stop_reason == "exhausted":
        _check_not_tiny(_some_values(result.dictionary, sample))
    if result.stop_reason == "empty":
        warn(f"{_EMPTY} {ruling or _narrowness(result.dictionary, sample)}")


def tell_of_time(result: Fit, n_rows: int) -> None:
    """Warn if time was so short that the model is far from what it would be.

    Parameters
    ----------
    result : Fit
    n_rows : int
        Number of rows of the data.
    """
    plan = result.plan
    if plan.deadline.reason != "time":
        return
    n_fitted, n_steps = len(plan.sample), sum(len(path) for path in result.paths)
    lacks = []
    if n_fitted < _FAR * n_rows:
        lacks.append(f"only {n_fitted} of {n_rows} rows were used")
    if not result.trials and plan.grid.has_choice:
        lacks.append("no widths or ridges were compared")
    if n_steps < _FEW_STEPS and plan.template.max_steps > n_steps:
        lacks.append(f"the path has {n_steps} steps")
    if lacks:
        warn(
            f"max_time was too short for this fit: {', and '.join(lacks)}. The model "
            "may be far from what more time gives."
        )


def _narrowness(dictionary: Functions, sample: Sample) -> str:
    """Return the advice for an empty model whose features are of comparable scale."""
    # A common gamma was set by the user, or is the best of those compared.
    if dictionary.gamma is not None and _is_narrow(_some_values(dictionary, sample)):
        return (
            "Each of its functions is nearly zero on all training rows but one, and so "
            "cannot generalize to others: try a smaller gamma or degree, features of "
            "comparable scale (StandardScaler), or another kernel."
        )
    return (
        "Perhaps the features say nothing of the target, the rows are too few, or the "
        "kernel does not suit them: model.summary() and model.search_ tell what was "
        "tried."
    )


def _some_values(dictionary: Functions, sample: Sample) -> np.ndarray:
    """Return the values (n, m) of some functions on the rows of positive weight."""
    some = dictionary[spread(len(dictionary))]
    return np.abs(some(sample.X)[sample.weight > 0])


def _check_not_tiny(values: np.ndarray) -> None:
    largest = float(values.max())
    if 0 < largest < SMALLEST_TO_SQUARE:
        raise ValueError(
            "The functions of the dictionary (kernels on training points, features …) "
            f"have values up to {largest:.3g} only, whose squares underflow: scale the "
            "features, for instance with StandardScaler."
        )


def _is_narrow(values: np.ndarray) -> bool:
    """Return whether functions are nearly zero on all rows but one."""
    largest = np.maximum(values.max(axis=0), SMALLEST_TO_SQUARE)
    shares = 1.0 / np.maximum(np.square(values / largest).sum(axis=0), 1.0)
    return len(values) > 2 and bool(np.median(shares) > _MOST)


def _ruling_features(dictionary: Functions, sample: Sample) -> str:
    """Return which features rule the distances of a kernel, "" if none do.

    Kernels in a metric have scales of their own.
    """
    kernel, X = getattr(dictionary, "kernel", None), sample.X
    if sparse.issparse(X) or not isinstance(kernel, Radial | Laplacian):
        return ""
    spreads = _spreads(X[sample.weight > 0])
    varies, widest = spreads > 0, int(spreads.argmax())
    is_drowned = varies & (spreads * _RULING < spreads[widest])
    # A few narrow columns, such as flags of rare events, may well be meant so.
    if 2 * is_drowned.sum() < varies.sum() or not is_drowned.any():
        return ""
    names = sample.feature_names
    drowned = [repr(names[j]) for j in np.flatnonzero(is_drowned)]
    more = f" and {len(drowned) - _NAMED} more" if len(drowned) > _NAMED else ""
    return (
        f"Distances hardly depend on the features {', '.join(drowned[:_NAMED])}{more}: "
        f"feature {names[widest]!r} varies more than {_RULING:g} times as much. Scale "
        "them, for instance with StandardScaler, or let the kernel be learned "
        "(kernel='auto')."
    )


def _spreads(X: np.ndarray) -> np.ndarray:
    """Return the standard deviations of dense columns, without overflow."""
    unit = np.abs(X).max(axis=0, initial=0.0)
    safe = np.where(unit > 0, unit, 1.0)
    return np.asarray((X / safe).std(axis=0) * unit)
