"""A generalization bound against the size."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pursuit.bounds import BoundCurve

from ._drawing import as_seen, axes, chosen_size, last_step, scale_sizes


class BoundDisplay:
    """A generalization bound at every size of a path.

    Drawing needs matplotlib, the extra ``pursuit[plot]``.

    Parameters
    ----------
    curve : BoundCurve
        The bound at sizes 0, 1, …, as ``model.bound(X, y)`` or ``path_.bound()`` gives
        it.
    chosen : int, default=None
        The size of the model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curve, after :meth:`plot`.
    figure_ : matplotlib Figure
        Figure that contains these axes.
    line_ : matplotlib Line2D
        The bound.
    terms_ : matplotlib Line2D or None
        The terms of which the bound is the lowest so far, for bounds that have some.
    lowest_ : matplotlib Line2D
        The mark of the lowest value.
    ceiling_ : matplotlib Line2D or None
        The largest value of the loss, if the bound reaches it: above, it says nothing.
    chosen_ : matplotlib Line2D or None
        The mark of the chosen size.

    See Also
    --------
    KMPClassifier.bound : The bound itself.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pursuit import KMPClassifier
    >>> from pursuit.inspection import BoundDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KMPClassifier(max_support=20).fit(X, y)
    >>> display = BoundDisplay.from_estimator(model, X, y)
    """

    def __init__(self, *, curve: BoundCurve, chosen: int | None = None) -> None:
        self.curve = curve
        self.chosen = chosen

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        size_scale: str = "linear",
        **kwargs: Any,
    ) -> Self:
        """Draw the bound.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in the legend; by default the kind of the bound.
        size_scale : {"linear", "log"}, default="linear"
            Scale of the sizes; "log" leaves size 0 out.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : BoundDisplay
            This object, with its attributes set.
        """
        ax = axes(ax)
        scale_sizes(ax, size_scale)
        start = 1 if size_scale == "log" else 0
        curve = self.curve
        values = np.asarray(curve)
        sizes = np.arange(len(values))
        name = f"bound ({curve.kind})" if name is None else name
        (self.line_,) = ax.plot(sizes[start:], values[start:], label=name, **kwargs)
        color = self.line_.get_color()
        self.terms_ = self.ceiling_ = self.chosen_ = None
        if curve.terms is not None:
            (self.terms_,) = ax.plot(
                sizes[start:], curve.terms[start:], color=color, alpha=0.4, lw=1,
                label="terms, of which the bound is the lowest so far",
            )  # fmt: skip
        label = f"lowest: {float(curve.lowest):.3g} at size {curve.best_size}"
        (self.lowest_,) = ax.plot(
            curve.best_size, float(curve.lowest), "o", color=color, label=label
        )
        if np.nanmax(values[start:]) >= curve.ceiling:
            label = f"largest loss ({curve.ceiling:.3g}): no statement above"
            self.ceiling_ = ax.axhline(
                curve.ceiling, color="0.4", ls="--", lw=1, label=label
            )
        if self.chosen is not None:
            self.chosen_ = ax.axvline(
                self.chosen, color=color, ls=":", lw=1.5, label=f"chosen: {self.chosen}"
            )
        ax.set(xlabel="Number of support points", ylabel="Bound")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        name: str | None = None,
        size_scale: str = "linear",
        bound_params: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the bound of a fitted model.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRegressor, SparseKernelPCA or Pipeline
            Fitted model, or a fitted pipeline that ends in one.
        X : array-like of shape (n_samples, n_features), default=None
            The training points, as they were passed to `fit`; not needed by
            `SparseKernelPCA`.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in the legend; by default the kind of the bound.
        size_scale : {"linear", "log"}, default="linear"
            Scale of the sizes; "log" leaves size 0 out.
        bound_params : dict, default=None
            Passed on to ``model.bound`` or ``path_.bound``: `kind`, `alpha`, `delta` …
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : BoundDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        more = bound_params or {}
        if hasattr(model, "staged_score"):
            check_is_fitted(model, "dual_coef_")
            if X is None or y is None:
                raise ValueError(
                    f"The bound of {type(model).__name__} is about its training data: "
                    "pass the X and y of its fit."
                )
            curve = model.bound(as_seen(estimator, X), y, **more)
            chosen = chosen_size(model)
        else:
            check_is_fitted(model)
            path = getattr(model, "path_", None)
            if path is None or not hasattr(path, "bound"):
                raise TypeError(
                    f"{type(model).__name__} has no bound for every size: BoundDisplay "
                    "is for KMPClassifier, KMPRegressor and SparseKernelPCA, and for "
                    "pipelines that end in one."
                )
            curve, chosen = path.bound(**more), None
        display = cls(curve=curve, chosen=chosen)
        return display.plot(ax, name=name, size_scale=size_scale, **kwargs)
