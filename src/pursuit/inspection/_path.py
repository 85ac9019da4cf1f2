"""Score of a model against its size."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import check_choice
from pursuit.selection import as_selection

from ._drawing import SCALES, as_seen, axes, chosen_size, last_step, scale_sizes


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

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        size_scale: str = "linear",
        **kwargs: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in the legend.
        size_scale : {"linear", "log"}, default="linear"
            Scale of the sizes; "log" leaves size 0 out.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : PathDisplay
            This object, with its attributes set.
        """
        check_choice("size_scale", size_scale, SCALES)
        ax = axes(ax)
        is_shown = np.asarray(self.sizes) > (0 if size_scale == "log" else -1)
        sizes = np.asarray(self.sizes)[is_shown]
        scores = np.asarray(self.scores)[is_shown]
        (self.line_,) = ax.plot(sizes, scores, label=name, **kwargs)
        color = self.line_.get_color()
        self.band_ = self.chosen_ = None
        if self.spread is not None:
            spread = np.asarray(self.spread)[is_shown]
            band = scores - spread, scores + spread
            label = "± 1 standard error"
            self.band_ = ax.fill_between(
                sizes, *band, color=color, alpha=0.2, lw=0, label=label
            )
        if self.chosen is not None:
            label = f"chosen: {self.chosen}"
            label = label if name is None else f"{name}, {label}"
            self.chosen_ = ax.axvline(
                self.chosen, color=color, ls=":", lw=1.5, label=label
            )
        scale_sizes(ax, size_scale)
        ax.set(xlabel="Number of support points", ylabel=self.score_name)
        if ax.get_legend_handles_labels()[1]:
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
        groups: Any = None,
        scoring: Any = None,
        score_name: str | None = None,
        negate_score: bool = False,
        ax: Any = None,
        name: str | None = None,
        size_scale: str = "linear",
        **kwargs: Any,
    ) -> Self:
        """Draw the scores of all sizes on some rows.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRanker, KMPRegressor or Pipeline
            Fitted model, or a fitted pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        groups : array-like of shape (n_samples,), default=None
            Groups of the rows, for `KMPRanker`.
        scoring : str or callable, default=None
            A scorer of scikit-learn, or for `KMPRanker` what its ``staged_score``
            takes; by default the ``score`` of the estimator: accuracy, R² or NDCG.
        score_name : str, default=None
            Label of the vertical axis; by default a name for `scoring`.
        negate_score : bool, default=False
            Whether to draw the negative scores, for scorers such as
            "neg_mean_squared_error".
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in the legend.
        size_scale : {"linear", "log"}, default="linear"
            Scale of the sizes; "log" leaves size 0 out.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : PathDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        if not hasattr(model, "staged_score"):
            raise _without_path(model)
        X = as_seen(estimator, X)
        of_rows = {"sample_weight": sample_weight, "groups": groups}
        given = {key: value for key, value in of_rows.items() if value is not None}
        scores = [*model.staged_score(X, y, scoring=scoring, **given)]
        return cls(
            sizes=np.arange(1, len(scores) + 1),
            scores=np.multiply(scores, -1.0 if negate_score else 1.0),
            chosen=chosen_size(model),
            score_name=score_name or _name_of(model, scoring, negate_score),
        ).plot(ax, name=name, size_scale=size_scale, **kwargs)

    @classmethod
    def from_search(
        cls,
        estimator: Any,
        *,
        ax: Any = None,
        name: str | None = None,
        size_scale: str = "linear",
        **kwargs: Any,
    ) -> Self:
        """Draw the held-out errors by which a fit chose its size.

        The band reaches one standard error over the folds to each side.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRanker, KMPRegressor or Pipeline
            Model whose size was chosen by folds (``selection="cv"`` or a
            `CrossValidation`), or a pipeline that ends in one.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        name : str, default=None
            Label of the curve in the legend.
        size_scale : {"linear", "log"}, default="linear"
            Scale of the sizes; "log" leaves size 0 out.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        display : PathDisplay
            The display, drawn.
        """
        model = last_step(estimator)
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
            chosen=chosen_size(model),
            score_name="Held-out loss" if scoring is None else f"Negated {scoring}",
        ).plot(ax, name=name, size_scale=size_scale, **kwargs)


def _without_path(model: Any) -> TypeError:
    return TypeError(
        f"{type(model).__name__} has no path of sizes: PathDisplay is for "
        "KMPClassifier, KMPRanker and KMPRegressor, and for pipelines that end "
        "in one."
    )


def _is_of(trial: dict[str, Any], model: Any) -> bool:
    """Return whether a trial has the width and the ridge of the model."""
    is_same_width = np.array_equal(trial["gamma"], model.gamma_)
    return bool(is_same_width and trial["alpha"] == model.alpha_)


def _name_of(model: Any, scoring: Any, is_negated: bool) -> str:
    others = "R²" if is_regressor(model) else "NDCG"
    default = "Accuracy" if is_classifier(model) else others
    name = default if scoring is None else scoring
    name = name if isinstance(name, str) else getattr(name, "__name__", "score")
    if is_negated:
        is_error = name.startswith("neg_")
        name = name.removeprefix("neg_") if is_error else f"negated {name}"
    return name if name == default else name.replace("_", " ").capitalize()
