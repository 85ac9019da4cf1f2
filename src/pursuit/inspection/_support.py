"""Support points among the rows, in two dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ._drawing import (
    SHADES,
    axes,
    class_style,
    column_numbers,
    last_step,
    names_seen,
    rows_seen,
)

# A map of rows to points of the plane.
Flatten = Callable[[np.ndarray], np.ndarray]

# Areas of the rings of support points, of the smallest and the largest coefficient.
_AREAS = 40.0, 320.0


class SupportDisplay:
    """Rows in two dimensions, and the support points of a model among them.

    Classes have colors and markers, other targets shades. Support points have rings,
    larger for larger coefficients. Drawing needs matplotlib, the extra
    ``pursuit[plot]``.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
        The rows.
    targets : array-like of shape (n_samples,)
        Their classes or values.
    support : array-like of shape (n_support, 2)
        The support points.
    weights : array-like of shape (n_support,)
        Size of the coefficient of each support point.
    axis_names : pair of str
        What the two dimensions are.
    is_class : bool
        Whether the targets are classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the points, after :meth:`plot`.
    figure_ : matplotlib Figure
        Figure that contains these axes.
    points_ : list of matplotlib PathCollection
        The rows, of each class or all together.
    support_ : matplotlib PathCollection
        The rings of the support points.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : The classes of the whole plane.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pursuit import KMPClassifier
    >>> from pursuit.inspection import SupportDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KMPClassifier("rbf", max_support=10).fit(X, y)
    >>> display = SupportDisplay.from_estimator(model, X, y)
    """

    def __init__(
        self,
        *,
        points: Any,
        targets: Any,
        support: Any,
        weights: Any,
        axis_names: tuple[str, str],
        is_class: bool,
    ) -> None:
        self.points = points
        self.targets = targets
        self.support = support
        self.weights = weights
        self.axis_names = axis_names
        self.is_class = is_class

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw rows and support points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.scatter`` for the rows.

        Returns
        -------
        display : SupportDisplay
            This object, with its attributes set.
        """
        ax = axes(ax)
        points, targets = np.asarray(self.points), np.asarray(self.targets)
        how = {"s": 14, "alpha": 0.6, "lw": 0, **kwargs}
        if self.is_class:
            self.points_ = [
                ax.scatter(
                    *points[targets == label].T,
                    label=str(label),
                    **{**class_style(c), **how},
                )
                for c, label in enumerate(np.unique(targets))
            ]
        else:
            all_rows = ax.scatter(*points.T, c=targets, **{"cmap": SHADES, **how})
            bar = ax.figure.colorbar(all_rows, ax=ax, label="Target")
            bar.solids.set_alpha(1.0)
            self.points_ = [all_rows]
        weights = np.abs(np.asarray(self.weights, dtype=np.float64))
        largest = weights.max(initial=0.0) or 1.0
        areas = _AREAS[0] + (_AREAS[1] - _AREAS[0]) * weights / largest
        n = len(weights)
        self.support_ = ax.scatter(
            *np.asarray(self.support).reshape(n, 2).T,
            s=areas,
            facecolors="none",
            edgecolors="black",
            lw=1.2,
            label=f"{n} support point{'' if n == 1 else 's'}",
        )
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        # Beside the axes, where it hides no point, unless there are shades.
        beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        legend = ax.legend(**(beside if self.is_class else {}))
        # The rings are of one size there.
        for handle in legend.legend_handles:
            handle.set_sizes([40.0])
            handle.set_alpha(1.0)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw rows and the support points of a fitted model.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRanker, KMPRegressor, SVC, SVR or Pipeline
            Fitted model with ``support_vectors_`` and ``dual_coef_``, or a fitted
            pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Rows to draw, such as the training rows.
        y : array-like of shape (n_samples,)
            Their targets.
        features : pair of str or int, default=None
            Two columns to draw. By default all of two columns, else the first two
            principal components of the standardized rows.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.scatter`` for the rows.

        Returns
        -------
        display : SupportDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        check_is_fitted(model)
        support = getattr(model, "support_vectors_", None)
        weights = getattr(model, "dual_coef_", None)
        if support is None or weights is None:
            raise TypeError(
                f"{type(model).__name__} has no support points: SupportDisplay is for "
                "KMPClassifier, KMPRegressor and models such as SVC, and for pipelines "
                "that end in one."
            )
        names = names_seen(estimator, model, model.n_features_in_)
        X, y = rows_seen(estimator, X), np.asarray(y)
        if y.shape != (len(X),):
            raise ValueError(
                f"y has shape {y.shape}: SupportDisplay draws one target for each of "
                f"the {len(X)} rows of X."
            )
        weights = np.abs(np.asarray(_dense(weights))).max(axis=0)
        support = np.asarray(_dense(support), dtype=np.float64)
        if len(support) != len(weights):
            raise ValueError(
                f"Of the {len(weights)} functions of this model {len(support)} stand "
                "on points: SupportDisplay needs a kernel on each."
            )
        support = support.reshape(len(support), X.shape[1])
        points, axis_names = flat(X, features, names)
        return cls(
            points=points(X),
            targets=y,
            support=points(support) if len(support) else np.empty((0, 2)),
            weights=weights,
            axis_names=axis_names,
            is_class=is_classifier(model),
        ).plot(ax, **kwargs)


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


def flat(
    X: np.ndarray, features: Any, names: list[str]
) -> tuple[Flatten, tuple[str, str]]:
    """Return the map of rows to two dimensions, and the names of these."""
    if features is None and X.shape[1] == 1:
        raise ValueError(
            "X has one column, and the picture needs two: draw predict(X) against X."
        )
    if features is None and X.shape[1] > 2:
        components = make_pipeline(StandardScaler(), PCA(2)).fit(X)
        shares = components[-1].explained_variance_ratio_
        first, second = (
            f"Principal component {k + 1} ({share:.0%} of the variance)"
            for k, share in enumerate(shares)
        )
        return components.transform, (first, second)
    i, j = (0, 1) if features is None else column_numbers(features, names)
    return (lambda rows: rows[:, [i, j]]), (names[i], names[j])
