"""What a KMP estimator is to fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.engine.problem import Judge
from pursuit.losses import Loss


@dataclass(frozen=True, eq=False)
class Task:
    """Data and targets of a fit, checked and encoded.

    Attributes
    ----------
    X : array or CSR of shape (l, d)
    Y : ndarray of shape (T, l)
        Targets.
    folded : ndarray of shape (l,)
        Variable in which folds are balanced: class codes, or a target.
    weight : ndarray of shape (l,)
    copies : ndarray of shape (l,)
        Weights without those of the classes.
    groups : array-like or None
        Groups that a splitter keeps together.
    loss : Loss
    score : Judge or None
        Score of held-out rows, used instead of the loss.
    is_class : bool
        Whether the targets encode classes.
    is_shared : bool
        Whether all outputs share one support.
    """

    X: Any
    Y: np.ndarray
    folded: np.ndarray
    weight: np.ndarray
    copies: np.ndarray
    groups: Any
    loss: Loss
    score: Judge | None
    is_class: bool
    is_shared: bool
