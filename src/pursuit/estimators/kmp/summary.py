"""What became of a fit, in a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pursuit._parameters import is_number
from pursuit.engine.running import CUT_OFF
from pursuit.fitting.curves import HeldOutError
from pursuit.kernels import InMetric, Kernel
from pursuit.selection import Selection

# Number of features that a summary names.
_NAMED_FEATURES = 5

_STYLE = "font-size:0.9em;border-collapse:collapse;margin-top:0.5em"
_CELL = "text-align:left;vertical-align:top;padding:0.1em 1em 0.1em 0"


@dataclass(frozen=True)
class Summary:
    """A fitted model in a few lines; ``print`` it, or let a notebook show it.

    Attributes
    ----------
    title : str
    lines : tuple of (str, str)
        Names and values.
    """

    title: str
    lines: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines)
        return "\n".join(
            [self.title, *(f"  {name:<{width}}  {text}" for name, text in self.lines)]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="{_CELL}">{escape(name)}</th>'
            f'<td style="{_CELL}">{escape(text)}</td></tr>'
            for name, text in self.lines
        )
        return (
            f'<table style="{_STYLE}"><caption style="text-align:left">'
            f"{escape(self.title)}</caption>{rows}</table>"
        )


def summary_of(model: Any) -> Summary:
    """Return the summary of a fitted KMP estimator."""
    lines = [
        _judgement(model._held_out, model.selection_),
        ("size", model.size_reason_),
        ("path", f"{len(model.path_)} steps; {model.stop_reason_}"),
        ("kernel", _kernel(model)),
        ("loss, ridge", f"{type(model.loss_).__name__}, {model.alpha_:.3g}"),
        ("features", _features(model)),
        ("data", _data(model)),
        ("fit", _duration(model)),
    ]
    points = "1 point" if model.n_support_ == 1 else f"{model.n_support_} points"
    shown = tuple((name, text) for name, text in lines if text)
    return Summary(f"{type(model).__name__} of {points}", shown)


def _duration(model: Any) -> str:
    """Return how long the fit took; nothing for a model from a file."""
    return f"{model._seconds:.2g} s" if hasattr(model, "_seconds") else ""


def size_reason(
    selection: Selection, sizes: Sequence[int], n_steps: int, n_folds: int, reason: str
) -> str:
    """Return what chose the size.

    Parameters
    ----------
    selection : Selection
        With its tolerance a number or "1se".
    sizes : sequence of int
        Size on each path.
    n_steps : int
        Length of the longest path.
    n_folds : int
        Number of folds, or of held-out parts.
    reason : str
        Why the paths ended.
    """
    how_many = f"{max(sizes, default=0)} of {n_steps} steps"
    if reason in CUT_OFF and max(sizes, default=0) == n_steps:
        return f"{how_many}: all that were taken before the fit was stopped"
    if selection.word is None:
        return f"{how_many}: all, because selection=None"
    if selection.word == "bound":
        return f"{how_many}: where the generalization bound is lowest"
    judge = {
        "cv": f"over {n_folds} folds",
        "validation": "on the held-out part",
        "loo": "by leave-one-out",
    }[selection.word]
    kind = "error" if selection.scoring is None else "score"
    best = "lowest" if selection.scoring is None else "best"
    near = {0.0: f"at the {best}", "1se": f"within one standard error of the {best}"}
    within = near.get(selection.tolerance)
    if within is None:
        within = f"within {100 * float(selection.tolerance):g} % of the {best}"
    return f"{how_many}: the smallest model with its {kind} {judge} {within}"


def _judgement(held_out: HeldOutError | None, selection: str | None) -> tuple[str, str]:
    """Return what held-out rows, or the bound, say: its name and its value."""
    if held_out is None:
        return "", ""
    if selection == "bound":
        return "bound", f"{held_out.error:.3g}"
    name, sign = ("score", -1.0) if held_out.is_score else ("error", 1.0)
    spread = held_out.standard_error
    text = f"{sign * held_out.error:.3g}"
    if spread is not None:
        text += f" ± {spread:.2g}"
    return (
        f"held-out {name}",
        f"{text} ({sign * held_out.of_constant:.3g} without points)",
    )


def _kernel(model: Any) -> str:
    kernel = getattr(model.atoms_, "kernel", None)
    if kernel is None:
        return f"{type(model.atoms_).__name__}"
    if not isinstance(kernel, InMetric):
        return repr(_rounded(kernel))
    shape = "diagonal" if np.ndim(kernel.factor) == 1 else "full"
    return f"{_rounded(kernel.kernel)!r} in a {shape} metric"


def _rounded(kernel: Kernel) -> Kernel:
    """Return the kernel with a width that is easy to read."""
    gamma = getattr(kernel, "gamma", None)
    return kernel.with_gamma(float(f"{gamma:.3g}")) if is_number(gamma) else kernel


def _features(model: Any) -> str:
    shares = model._importances
    if shares is None or not shares.any():
        return ""
    names = getattr(model, "feature_names_in_", None)
    names = [f"feature {i}" for i in range(len(shares))] if names is None else names
    order = np.argsort(-shares, kind="stable")[:_NAMED_FEATURES]
    some = ", ".join(f"{names[i]} {100 * shares[i]:.0f} %" for i in order)
    more = len(shares) - len(order)
    return f"{some} and {more} more" if more > 0 else some


def _data(model: Any) -> str:
    text = f"{model._n_rows} rows × {model.n_features_in_} columns"
    if is_classifier(model):
        return f"{text}, {len(model.classes_)} classes"
    return text if len(model.intercept_) == 1 else f"{text}, {len(model.intercept_)} y"
