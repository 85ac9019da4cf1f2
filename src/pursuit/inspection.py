"""Pictures of fitted models, like scikit-learn's displays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._parameters import whole_number
from .selection import as_selection

__all__ = ["ImportancesDisplay", "PathDisplay"]


class PathDisplay:
    """Score of a model against its size.

    :meth:`from_estimator` draws the scores of all sizes on some rows,
    :meth:`from_search` the held-out errors by which a fit chose its size. Drawing needs
    matplotlib, the extra ``pursuit[plot]``.

    Parameters
    ----------
    sizes : array-like of shape (n_sizes,)
        Numbers of support points, in order; numbers of steps with ``method="basic"``,
        which may choose a point again.
    scores : array-like of shape (n_sizes,)
        Score, or error, at each size.
    spread : array-like of shape (n_sizes,), default=None
        Half the width of a band around the scores.
    chosen : int, default=None
        The size of the model.
    score_name : str, default=None
        Label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curve, after :meth:`plot`.
    figure_ : matplotlib Figure
        Figure that contains these axes.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib collection or None
        The band around the curve.
    chosen_ : matplotlib Line2D or None
        The mark of the chosen size.

    See Also
    --------
    KMPClassifier.staged_score : The scores themselves.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from pursuit import KMPClassifier
    >>> from pursuit.inspection import PathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = KMPClassifier(max_support=20).fit(X_train, y_train)
    >>> display = PathDisplay.from_estimator(model, X_test, y_test)
    """

    def __init__(
        self,
        *,
        sizes: Any,
        scores: Any,
        spread: Any = None,
        chosen: int | None = None,
        score_name: str | None = None,
    ) -> None:
        self.sizes = sizes
        self.scores = scores
        self.spread = spread
        self.chosen = chosen
        self.score_name = score_name

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in a legend.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : PathDisplay
            This object, with its attributes set.
        """
        if ax is None:
            _, ax = _pyplot().subplots()
        sizes, scores = np.asarray(self.sizes), np.asarray(self.scores)
        (self.line_,) = ax.plot(sizes, scores, label=name, **kwargs)
        color = self.line_.get_color()
        self.band_ = self.chosen_ = None
        if self.spread is not None:
            spread = np.asarray(self.spread)
            band = scores - spread, scores + spread
            self.band_ = ax.fill_between(sizes, *band, color=color, alpha=0.2, lw=0)
        if self.chosen is not None:
            self.chosen_ = ax.axvline(self.chosen, color=color, ls=":", lw=1)
        ax.set(xlabel="Number of support points", ylabel=self.score_name)
        if name is not None:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        scoring: Any = None,
        score_name: str | None = None,
        negate_score: bool = False,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores of all sizes on some rows.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRegressor or Pipeline
            Fitted model, or a fitted pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        scoring : str or callable, default=None
            A scorer of scikit-learn; by default the ``score`` of the estimator,
            accuracy or R².
        score_name : str, default=None
            Label of the vertical axis; by default a name for `scoring`.
        negate_score : bool, default=False
            Whether to draw the negative scores, for scorers such as
            "neg_mean_squared_error".
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in a legend.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : PathDisplay
            The display, drawn.
        """
        model = _last_step(estimator)
        if not hasattr(model, "staged_score"):
            raise _without_path(model)
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            X = estimator[:-1].transform(X)
        scores = [*model.staged_score(X, y, sample_weight, scoring=scoring)]
        return cls(
            sizes=np.arange(1, len(scores) + 1),
            scores=np.multiply(scores, -1.0 if negate_score else 1.0),
            chosen=_chosen_size(model),
            score_name=score_name or _name_of(model, scoring, negate_score),
        ).plot(ax, name=name, **kwargs)

    @classmethod
    def from_search(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw the held-out errors by which a fit chose its size.

        The band reaches one standard error over the folds to each side.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRegressor or Pipeline
            Model whose size was chosen by folds (``selection="cv"`` or a
            `CrossValidation`), or a pipeline that ends in one.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in a legend.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : PathDisplay
            The display, drawn.
        """
        model = _last_step(estimator)
        if not hasattr(model, "staged_score"):
            raise _without_path(model)
        check_is_fitted(model)
        selection = getattr(model, "selection_", None)
        trials = [t for t in getattr(model, "search_", []) if _is_of(t, model)]
        if not trials or selection != "cv":
            raise ValueError(
                f"{type(model).__name__} has not chosen its size by folds "
                f"(selection_={selection!r}), so there are no held-out errors: use "
                "PathDisplay.from_estimator with rows of your own."
            )
        errors = trials[-1]["errors"]
        scoring = as_selection(model.selection).scoring
        return cls(
            sizes=np.arange(len(errors)),
            scores=errors,
            spread=trials[-1]["standard_errors"],
            chosen=_chosen_size(model),
            score_name="Held-out loss" if scoring is None else f"Negated {scoring}",
        ).plot(ax, name=name, **kwargs)


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
        if ax is None:
            size = 6.4, max(2.4, 0.8 + 0.28 * len(largest))
            _, ax = _pyplot().subplots(figsize=size, layout="constrained")
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
        estimator : KMPClassifier, KMPRegressor, LearnedMetric or Pipeline
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
        model = _last_step(estimator)
        check_is_fitted(model)
        importances = model.feature_importances_
        if feature_names is None:
            feature_names = _names_seen(estimator, model)
        if len(feature_names) != len(importances):
            raise ValueError(
                f"There are {len(feature_names)} feature_names, but the model has "
                f"{len(importances)} features."
            )
        display = cls(importances=importances, feature_names=feature_names)
        return display.plot(ax, n_features=n_features, **kwargs)


def _names_seen(estimator: Any, model: Any) -> Any:
    """Return the names of the features that the last step saw."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):
            names = None
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return names


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "The displays draw with matplotlib, which is not installed: "
            'pip install "pursuit[plot]".'
        ) from error
    return plt


def _without_path(model: Any) -> TypeError:
    return TypeError(
        f"{type(model).__name__} has no path of sizes: PathDisplay is for "
        "KMPClassifier and KMPRegressor, and for pipelines that end in one."
    )


def _last_step(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _chosen_size(model: Any) -> int | None:
    """Return the number of steps; None if each class has a path of its own."""
    path = model.truncate().path_
    return len(path) if len(path.paths) == 1 else None


def _is_of(trial: dict[str, Any], model: Any) -> bool:
    """Return whether a trial has the width and the ridge of the model."""
    is_same_width = np.array_equal(trial["gamma"], model.gamma_)
    return bool(is_same_width and trial["alpha"] == model.alpha_)


def _name_of(model: Any, scoring: Any, is_negated: bool) -> str:
    default = "Accuracy" if is_classifier(model) else "R²"
    name = default if scoring is None else scoring
    name = name if isinstance(name, str) else getattr(name, "__name__", "score")
    if is_negated:
        is_error = name.startswith("neg_")
        name = name.removeprefix("neg_") if is_error else f"negated {name}"
    return name if name == default else name.replace("_", " ").capitalize()
