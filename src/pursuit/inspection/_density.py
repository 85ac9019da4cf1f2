"""Contours of a density in two columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import positive_number, whole_number

from ._drawing import (
    SHADES,
    axes,
    column_numbers,
    last_step,
    names_seen,
    rows_seen,
    without_name_warnings,
)

# Share of the range of the rows by which the picture is wider.
_MARGIN = 0.08


class DensityDisplay:
    """Contours of a logarithmic density over two columns.

    Further columns stay at their medians, so that the picture is a slice through the
    density there. Drawing needs matplotlib, the extra ``pursuit[plot]``.

    Parameters
    ----------
    x0, x1 : ndarray of shape (resolution,)
        Values of the two columns.
    log_density : ndarray of shape (resolution, resolution)
        Logarithm of the density; rows belong to `x1`, columns to `x0`.
    points : array-like of shape (n_samples, 2), default=None
        Rows to draw.
    axis_names : pair of str, default=("x0", "x1")
        Names of the columns.
    slice_text : str, default=None
        Where the other columns are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the contours, after :meth:`plot`.
    figure_ : matplotlib Figure
        Figure that contains these axes.
    contours_ : matplotlib QuadContourSet
        The contours.
    points_ : matplotlib PathCollection or None
        The rows.

    See Also
    --------
    ManifoldParzen : A density that follows the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pursuit import ManifoldParzen
    >>> from pursuit.inspection import DensityDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> density = ManifoldParzen().fit(X[:, 2:])
    >>> display = DensityDisplay.from_estimator(density, X[:, 2:])
    """

    def __init__(
        self,
        *,
        x0: np.ndarray,
        x1: np.ndarray,
        log_density: np.ndarray,
        points: Any = None,
        axis_names: tuple[str, str] = ("x0", "x1"),
        slice_text: str | None = None,
    ) -> None:
        self.x0 = x0
        self.x1 = x1
        self.log_density = log_density
        self.points = points
        self.axis_names = axis_names
        self.slice_text = slice_text

    def plot(self, ax: Any = None, *, depth: float = 10.0, **kwargs: Any) -> Self:
        """Draw the contours.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        depth : float, default=10.0
            How far below the highest logarithm in the picture contours are drawn.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.contourf``.

        Returns
        -------
        display : DensityDisplay
            This object, with its attributes set.
        """
        depth = positive_number("depth", depth)
        ax = axes(ax)
        values = np.asarray(self.log_density, dtype=np.float64)
        if not np.isfinite(values).any():
            raise ValueError(
                "The density is zero, or unknown, everywhere in the picture: draw it "
                "where its rows are."
            )
        top = float(values[np.isfinite(values)].max())
        levels = np.linspace(top - depth, top, 11)
        levels[-1] += 1e-9 * (1 + abs(top))
        clipped = np.where(np.isfinite(values), values, -np.inf)
        self.contours_ = ax.contourf(
            self.x0,
            self.x1,
            np.maximum(clipped, top - 2 * depth),
            **{"levels": levels, "cmap": SHADES, **kwargs},
        )
        bar = ax.figure.colorbar(self.contours_, ax=ax, format="%.1f")
        bar.set_label("Log-density")
        self.points_ = None
        if self.points is not None:
            # White rims show points on dark ground, dark centers on white ground.
            self.points_ = ax.scatter(
                *np.asarray(self.points).T, s=12, c="black", edgecolors="white", lw=0.5
            )
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        if self.slice_text:
            ax.set_title(self.slice_text, fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        features: Any = None,
        resolution: int = 100,
        depth: float = 10.0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted density around some rows.

        Parameters
        ----------
        estimator : ManifoldParzen, ParzenWindows, KernelDensity, … or Pipeline
            Fitted density, with ``score_samples``, or a fitted pipeline that ends in
            one.
        X : array-like of shape (n_samples, n_features)
            Rows that say where to draw. With two columns they are drawn too.
        features : pair of str or int, default=None
            Two columns to draw, of more than two. The others stay at their medians.
        resolution : int, default=100
            Number of values of each column; the density is computed at its square.
        depth : float, default=10.0
            How far below the highest logarithm in the picture contours are drawn.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.contourf``.

        Returns
        -------
        display : DensityDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        if not hasattr(model, "score_samples"):
            raise TypeError(
                f"{type(model).__name__} has no score_samples: DensityDisplay is for "
                "densities, such as ManifoldParzen and scikit-learn's KernelDensity, "
                "and for pipelines that end in one."
            )
        check_is_fitted(model)
        n = whole_number("resolution", resolution, 2)
        X = rows_seen(estimator, X)
        names = names_seen(estimator, model, X.shape[1])
        if features is None and X.shape[1] != 2:
            raise ValueError(
                f"X has {X.shape[1]} columns: name the two to draw, as features=(0, 1);"
                " the others stay at their medians."
            )
        pair = [0, 1] if features is None else [*column_numbers(features, names)]
        low, high = X[:, pair].min(axis=0), X[:, pair].max(axis=0)
        reach = np.where(high > low, high - low, 1.0) * _MARGIN
        x0, x1 = np.linspace(low - reach, high + reach, n).T
        grid = np.tile(np.median(X, axis=0), (n * n, 1))
        grid[:, pair] = np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)
        with without_name_warnings():
            values = np.asarray(model.score_samples(grid)).reshape(n, n)
        is_slice = X.shape[1] > 2
        return cls(
            x0=x0,
            x1=x1,
            log_density=values,
            points=None if is_slice else X[:, pair],
            axis_names=(names[pair[0]], names[pair[1]]),
            slice_text="Slice at the medians of the other columns"
            if is_slice
            else None,
        ).plot(ax, depth=depth, **kwargs)
