"""Importances of the features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import whole_number

from ._drawing import axes, last_step, names_seen


class ImportancesDisplay:
    """Importances of the features, as bars, the largest at the top.

    Drawing needs matplotlib, the extra ``pursuit[plot]``.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        Importance of each feature.
    feature_names : sequence of str
        Names of the features.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars, after :meth:`plot`.
    figure_ : matplotlib Figure
        Figure that contains these axes.
    bars_ : matplotlib BarContainer
        The bars.

    See Also
    --------
    KMPClassifier : Its ``feature_importances_`` are drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pursuit import KMPClassifier
    >>> from pursuit.inspection import ImportancesDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = KMPClassifier(max_support=20).fit(X, y)
    >>> display = ImportancesDisplay.from_estimator(model, n_features=10)
    """

    def __init__(self, *, importances: Any, feature_names: Any) -> None:
        self.importances = importances
        self.feature_names = feature_names

    def plot(self, ax: Any = None, *, n_features: int = 20, **kwargs: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        n_features : int, default=20
            Maximum number of features to draw, those of the largest importances.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        display : ImportancesDisplay
            This object, with its attributes set.
        """
        n = whole_number("n_features", n_features, 1)
        values = np.asarray(self.importances)
        largest = np.argsort(-values, kind="stable")[:n][::-1]
        ax = axes(ax, figsize=(6.4, max(2.4, 0.8 + 0.28 * len(largest))))
        names = [str(self.feature_names[j]) for j in largest]
        places = np.arange(len(largest))
        self.bars_ = ax.barh(places, values[largest], **kwargs)
        # Positions, because names may be equal.
        ax.set_yticks(places, names)
        ax.set(xlabel="Share of how much the model varies")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any = None,
        n_features: int = 20,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the importances of a fitted model's features.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRanker, KMPRegressor, LearnedMetric or Pipeline
            Fitted model, or a fitted pipeline that ends in one.
        feature_names : sequence of str, default=None
            Names of the features; by default those that the model saw, x0, x1, … if
            they had none.
        n_features : int, default=20
            Maximum number of features to draw, those of the largest importances.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        display : ImportancesDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        check_is_fitted(model)
        importances = model.feature_importances_
        if feature_names is None:
            feature_names = names_seen(estimator, model, model.n_features_in_)
        if len(feature_names) != len(importances):
            raise ValueError(
                f"There are {len(feature_names)} feature_names, but the model has "
                f"{len(importances)} features."
            )
        display = cls(importances=importances, feature_names=feature_names)
        return display.plot(ax, n_features=n_features, **kwargs)
