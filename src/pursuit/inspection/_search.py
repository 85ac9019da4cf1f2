"""What a fit compared: widths and ridges, or rounds of a learned kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import check_choice

from ._drawing import SHADES, axes, class_style, last_step

KINDS = ("auto", "grid", "rounds")


class SearchDisplay:
    """Held-out errors of the settings that a fit compared.

    Two kinds: a grid of `gamma` and `alpha`, of which a search visits a part only, or
    the rounds in which a kernel was learned, a line for each family and metric. The
    error is the lowest at any size. Drawing needs matplotlib, the extra
    ``pursuit[plot]``.

    Parameters
    ----------
    trials : list of dict
        Settings with their errors, as in ``search_``.
    chosen : tuple of float, default=None
        `gamma` and `alpha` of the model.
    kind : {"auto", "grid", "rounds"}, default="auto"
        What to draw. "auto" is "rounds" if there are any.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture, after :meth:`plot`.
    figure_ : matplotlib Figure
        Figure that contains these axes.
    errors_ : ndarray of shape (n_alphas, n_gammas) or dict
        The errors drawn: of a grid, NaN where nothing was tried; of rounds, the errors
        of each line by its label.
    mesh_ : matplotlib QuadMesh or None
        The grid.
    lines_ : list of matplotlib containers
        Lines of rounds, with bars of one standard error.
    chosen_ : matplotlib artist or None
        The mark of the chosen setting; of rounds, of the best.

    See Also
    --------
    PathDisplay : Error against size, for the chosen setting.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from pursuit import KMPRegressor
    >>> from pursuit.inspection import SearchDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KMPRegressor("rbf", max_support=20).fit(X, y)
    >>> display = SearchDisplay.from_estimator(model)
    """

    def __init__(
        self,
        *,
        trials: Sequence[Mapping[str, Any]],
        chosen: tuple[float, float] | None = None,
        kind: str = "auto",
    ) -> None:
        self.trials = trials
        self.chosen = chosen
        self.kind = kind

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the errors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        **kwargs : dict
            Passed on to ``pcolormesh`` for a grid, to ``errorbar`` for rounds.

        Returns
        -------
        display : SearchDisplay
            This object, with its attributes set.
        """
        check_choice("kind", self.kind, KINDS)
        rounds = [t for t in self.trials if "round" in t]
        others = [t for t in self.trials if "round" not in t]
        draws_rounds = bool(rounds) if self.kind == "auto" else self.kind == "rounds"
        trials = rounds if draws_rounds else others
        if not trials:
            there = "only rounds" if rounds else "no rounds" if others else "nothing"
            raise ValueError(f"kind={self.kind!r}: the search has {there} to draw.")
        self.errors_: Any
        self.mesh_: Any = None
        self.lines_: list[Any] = []
        self.chosen_: Any = None
        self.ax_ = axes(ax)
        if draws_rounds:
            self._plot_rounds(trials, kwargs)
        else:
            self._plot_grid(trials, kwargs)
        self.figure_ = self.ax_.figure
        return self

    def _plot_grid(
        self, trials: Sequence[Mapping[str, Any]], kwargs: dict[str, Any]
    ) -> None:
        gammas = sorted({_width(trial) for trial in trials})
        alphas = sorted({float(trial["alpha"]) for trial in trials})
        self.errors_ = errors = np.full((len(alphas), len(gammas)), np.nan)
        for trial in trials:  # the last of a pair had most rows
            row, column = alphas.index(trial["alpha"]), gammas.index(_width(trial))
            errors[row, column] = _lowest(trial)[0]
        self.mesh_ = self.ax_.pcolormesh(
            np.ma.masked_invalid(errors),
            **{"cmap": SHADES, "edgecolor": "white", "lw": 1, **kwargs},
        )
        bar = self.ax_.figure.colorbar(self.mesh_, ax=self.ax_)
        middles = np.arange(len(gammas)) + 0.5, np.arange(len(alphas)) + 0.5
        self.ax_.set_xticks(middles[0], _texts(gammas), rotation=45, ha="right")
        self.ax_.set_yticks(middles[1], _texts(alphas))
        self.ax_.set(xlabel="gamma", ylabel="alpha")
        self.ax_.set_facecolor("0.93")
        place = self._chosen_place(gammas, alphas)
        if place is not None:
            (self.chosen_,) = self.ax_.plot(
                *place, "*", ms=16, mfc="white", mec="black"
            )
        # Not in a legend, which would hide settings.
        key = "" if place is None else " (star: chosen)"
        bar.set_label(f"Lowest held-out error{key}")

    def _chosen_place(
        self, gammas: list[float], alphas: list[float]
    ) -> tuple[float, float] | None:
        if self.chosen is None:
            return None
        gamma, alpha = _width({"gamma": self.chosen[0]}), self.chosen[1]
        if gamma not in gammas or alpha not in alphas:
            return None
        return gammas.index(gamma) + 0.5, alphas.index(alpha) + 0.5

    def _plot_rounds(
        self, trials: Sequence[Mapping[str, Any]], kwargs: dict[str, Any]
    ) -> None:
        starts = {t["kernel"]: t for t in trials if t["metric"] is None}
        chains: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for trial in trials:
            if trial["metric"] is not None:
                start = [starts[trial["kernel"]]] if trial["kernel"] in starts else []
                key = trial["kernel"], str(trial["metric"])
                chains.setdefault(key, start).append(trial)
        for kernel, trial in starts.items():
            if not any(kernel == of for of, _ in chains):
                chains[kernel, "given"] = [trial]
        self.errors_ = {}
        for c, ((kernel, metric), chain) in enumerate(chains.items()):
            label = f"{kernel}, {metric} metric"
            lowest, spread = np.transpose([_lowest(trial) for trial in chain])
            rounds = [trial["round"] for trial in chain]
            how = {"capsize": 3, "ls": "-", **class_style(c), **kwargs}
            # Beside each other, so that the bars do not hide each other.
            places = np.add(rounds, 0.06 * (c - (len(chains) - 1) / 2))
            self.lines_.append(
                self.ax_.errorbar(places, lowest, spread, label=label, **how)
            )
            self.errors_[label] = lowest
        best = min(self.errors_, key=lambda label: self.errors_[label].min())
        line = self.lines_[list(self.errors_).index(best)][0]
        place = int(self.errors_[best].argmin())
        (self.chosen_,) = self.ax_.plot(
            line.get_xdata()[place],
            line.get_ydata()[place],
            "o",
            ms=16,
            mfc="none",
            mec="black",
            label="lowest",
        )
        last = max(trial["round"] for trial in trials)
        self.ax_.set_xticks(range(last + 1))
        self.ax_.set(xlabel="Round", ylabel="Lowest held-out error")
        self.ax_.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: str = "auto", ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw what the fit of a model compared.

        Parameters
        ----------
        estimator : KMPClassifier, KMPRanker, KMPRegressor or Pipeline
            Fitted model, or a fitted pipeline that ends in one.
        kind : {"auto", "grid", "rounds"}, default="auto"
            What to draw: the grid of `gamma` and `alpha`, or the rounds in which the
            kernel was learned. "auto" is "rounds" if there are any.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        **kwargs : dict
            Passed on to ``pcolormesh`` for a grid, to ``errorbar`` for rounds.

        Returns
        -------
        display : SearchDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        if not hasattr(model, "staged_score"):
            raise TypeError(
                f"{type(model).__name__} keeps no such search: SearchDisplay is for "
                "KMPClassifier, KMPRanker and KMPRegressor, and for pipelines that end "
                "in one."
            )
        check_is_fitted(model, "dual_coef_")
        if not model.search_:
            raise ValueError(
                f"This {type(model).__name__} has compared nothing (selection="
                f"{model.selection!r}, gamma={model.gamma!r}, alpha={model.alpha!r}): "
                'leave one of gamma and alpha at "cv", or let the kernel be learned.'
            )
        chosen = (model.gamma_, model.alpha_)
        return cls(trials=model.search_, chosen=chosen, kind=kind).plot(ax, **kwargs)


def _lowest(trial: Mapping[str, Any]) -> tuple[float, float]:
    """Return the lowest error over the sizes, and its standard error."""
    size = int(np.argmin(trial["errors"]))
    return trial["errors"][size], trial["standard_errors"][size]


def _width(trial: Mapping[str, Any]) -> float:
    """Return the width; 0, which no width is, for functions without one."""
    gamma = trial["gamma"]
    return 0.0 if gamma is None or np.ndim(gamma) else float(gamma)


def _texts(values: list[float]) -> list[str]:
    return [f"{value:.2g}" if value else "–" for value in values]
