"""How the size of a model is chosen, and gamma and alpha where these are "cv".

The estimators take these objects, or words for them with their defaults:
``selection="cv"`` is ``selection=CrossValidation()``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from ._parameters import (
    check_choice,
    is_whole,
    is_word,
    number_from_zero,
    positive_number,
    probability,
)
from ._words import Auto, BoundKind
from .bounds.paths import KINDS, BoundRule, default_kind

__all__ = ["CrossValidation", "FixedSize", "LeaveOneOut", "MinimalBound", "Validation"]


class Selection(BaseEstimator):
    """How the size of a model is chosen.

    Attributes
    ----------
    word : str or None
        What stands for the object with its defaults.
    n_folds : int, splitter or iterable
        Folds that compare gamma and alpha, and sizes where folds choose them.
    scoring : str, callable or None
        Score of held-out rows; None is the loss.
    tolerance : float, "1se" or "auto"
        By how much a smaller model may be worse.
    patience : int or None
        Number of steps without improvement after which a path stops.
    """

    word: ClassVar[str | None]
    n_folds: Any = 10
    scoring: Any = None
    tolerance: float | Auto = 0.0
    patience: int | None = None

    def check(self) -> None:
        """Raise a ValueError if a parameter is wrong."""
        number_from_zero("tolerance", self.tolerance, ("1se", "auto"))
        if self.patience is not None and not is_whole(self.patience, 1):
            raise ValueError(
                f"patience={self.patience!r} must be a whole number of at least 1, or "
                "None."
            )


class CrossValidation(Selection):
    """Choose the size with the lowest error of k-fold paths, then fit all rows.

    Above 10 000 distinct rows, an integer `n_folds` means one held-out part, as in
    `Validation`.

    Parameters
    ----------
    n_folds : int, "auto", splitter or iterable, default="auto"
        Folds; "auto" is 10, or 5 if the kernel is learned, of which each fold learns
        its own. An integer makes folds that are balanced in y, keep equal rows
        together, and do not depend on the order of the rows. Equal rows go to different
        folds only if many of them differ in y (a fifth of the weight, as where X holds
        categories). On many rows only as many of these folds are used as hold out 5000
        rows. All folds of a scikit-learn splitter, or of an iterable of (train, test)
        indices, are used; a splitter that keeps groups together gets those passed as
        ``fit(X, y, groups=...)``.
    tolerance : float, "1se" or "auto", default="auto"
        The smallest size is chosen whose error exceeds the lowest by at most this
        share, or by one standard error over the folds. "auto" is 0.01; if the kernel
        is learned, 0.02 for two classes, and 0 for several under the margin loss.
    scoring : str, callable or None, default=None
        scikit-learn scorer that compares sizes, widths and ridges; None compares the
        loss.
    """

    word = "cv"

    def __init__(
        self,
        n_folds: Any = "auto",
        *,
        tolerance: float | Auto = "auto",
        scoring: Any = None,
    ) -> None:
        self.n_folds = n_folds
        self.tolerance = tolerance
        self.scoring = scoring


class Validation(Selection):
    """Hold out a part, fit the rest, and keep the size that is best on that part.

    The same part compares gamma and alpha.

    Parameters
    ----------
    fraction : float, default=0.2
        Share of the rows that is held out.
    patience : int or None, default=None
        Number of steps without improvement after which the path stops; None is 30 plus
        the best size so far.
    tolerance : float, "1se" or "auto", default="auto"
        The smallest size is chosen whose error exceeds the lowest by at most this
        share. "1se" acts as 0, because one part has no standard error; "auto" is as in
        `CrossValidation`.
    scoring : str, callable or None, default=None
        scikit-learn scorer that compares sizes, widths and ridges; None compares the
        loss.
    """

    word = "validation"

    def __init__(
        self,
        fraction: float = 0.2,
        *,
        patience: int | None = None,
        tolerance: float | Auto = "auto",
        scoring: Any = None,
    ) -> None:
        self.fraction = fraction
        self.patience = patience
        self.tolerance = tolerance
        self.scoring = scoring

    def check(self) -> None:
        """Raise a ValueError if a parameter is wrong."""
        probability("fraction", self.fraction)
        super().check()


class LeaveOneOut(Selection):
    """Stop a single path by its leave-one-out error, which has a closed form.

    This needs the squared loss and a refit at each step.

    Parameters
    ----------
    patience : int or None, default=5
        Number of steps without improvement after which the path stops; None is 30 plus
        the best size so far.
    tolerance : float or "1se", default=0.01
        The smallest size is chosen whose error exceeds the lowest by at most this
        share. "1se" acts as 0.
    n_folds : int, "auto", splitter or iterable, default="auto"
        Folds that compare gamma and alpha where these are "cv", as in
        `CrossValidation`.
    """

    word = "loo"

    def __init__(
        self,
        patience: int | None = 5,
        *,
        tolerance: float | Auto = 0.01,
        n_folds: Any = "auto",
    ) -> None:
        self.patience = patience
        self.tolerance = tolerance
        self.n_folds = n_folds


class MinimalBound(Selection):
    """Choose the size with the lowest generalization bound on a single path.

    Parameters
    ----------
    kind : {"auto", "vc", "mdl", "finite-class"}, default="auto"
        Bound, as in :meth:`~pursuit.KMPClassifier.bound`. "auto" is "finite-class" for
        classes, else "vc".
    alpha : float or None, default=None
        Error that the bound "vc" tolerates. None is 1 for classes, otherwise half of
        the targets' standard deviation.
    delta : float, default=0.05
        Probability with which the bound may fail.
    patience : int or None, default=None
        Number of steps without improvement after which the path stops; None is 30 plus
        the best size so far.
    n_folds : int, "auto", splitter or iterable, default="auto"
        Folds that compare gamma and alpha where these are "cv", as in
        `CrossValidation`.
    scoring : str, callable or None, default=None
        scikit-learn scorer for that comparison; None compares the loss.
    """

    word = "bound"

    def __init__(
        self,
        kind: BoundKind | Auto = "auto",
        *,
        alpha: float | None = None,
        delta: float = 0.05,
        patience: int | None = None,
        n_folds: Any = "auto",
        scoring: Any = None,
    ) -> None:
        self.kind = kind
        self.alpha = alpha
        self.delta = delta
        self.patience = patience
        self.n_folds = n_folds
        self.scoring = scoring

    def check(self) -> None:
        """Raise a ValueError if a parameter is wrong."""
        check_choice("kind", self.kind, ("auto", *KINDS))
        if self.alpha is not None:
            positive_number("alpha", self.alpha)
        probability("delta", self.delta)
        super().check()

    def rule(self, is_class: bool) -> BoundRule:
        """Return the bound to minimize."""
        kind = default_kind(is_class) if self.kind == "auto" else self.kind
        return BoundRule(kind, self.alpha, self.delta)


class FixedSize(Selection):
    """Keep all of `max_support`; folds only compare gamma and alpha.

    Parameters
    ----------
    n_folds : int, "auto", splitter or iterable, default="auto"
        Folds that compare gamma and alpha where these are "cv", as in
        `CrossValidation`.
    scoring : str, callable or None, default=None
        scikit-learn scorer for that comparison; None compares the loss.
    """

    word = None

    def __init__(self, n_folds: Any = "auto", *, scoring: Any = None) -> None:
        self.n_folds = n_folds
        self.scoring = scoring


_KINDS: dict[str | None, type[Selection]] = {
    kind.word: kind
    for kind in (CrossValidation, Validation, LeaveOneOut, MinimalBound, FixedSize)
}


def as_selection(selection: Any) -> Selection:
    """Return the selection that a word or an object stands for, checked."""
    if selection is None or isinstance(selection, str):
        check_choice("selection", selection, tuple(_KINDS))
        return _KINDS[selection]()
    if not isinstance(selection, Selection):
        raise ValueError(
            f"selection={selection!r} is not known: choose one of "
            f"{', '.join(map(repr, _KINDS))}, or an object of pursuit.selection, such "
            "as CrossValidation(n_folds=5)."
        )
    selection.check()
    return selection


def is_bounded(selection: Any) -> bool:
    """Return whether a bound chooses the size, without checking the parameter."""
    return isinstance(selection, MinimalBound) or is_word(selection, MinimalBound.word)
