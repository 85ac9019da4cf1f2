"""Figure 9.5: losses as functions of the margin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pursuit import losses
from reproduction.experiment import Experiment, Report, Row, Task

CODE_VERSION = 1

# Formulas as printed (§9.3.2), and the corresponding losses of this library.
PRINTED: dict[str, tuple[Callable[[np.ndarray], np.ndarray], losses.Loss]] = {
    "exponential (AdaBoost)": (lambda m: np.exp(-m), losses.Exponential()),
    "logistic (LogitBoost)": (
        lambda m: np.log2(1.0 + np.exp(-2.0 * m)),
        losses.Logistic(),
    ),
    "hinge (SVM)": (lambda m: np.maximum(1.0 - m, 0.0), losses.Hinge()),
    "Doom II": (lambda m: 1.0 - np.tanh(m), losses.Doom2()),
    "squared": (lambda m: (1.0 - m) ** 2, losses.Squared()),
    "squared after tanh": (
        lambda m: (0.65 - np.tanh(m)) ** 2,
        losses.SquaredTanh(0.65),
    ),
}
# Losses in the left panel of the figure; the others are on the right.
BOOSTING = list(PRINTED)[:4]
WHY_HINGE = (
    "a loss must be differentiable here: a parabola takes the place of the hinge's "
    "corner, which lowers its straight part by half the parabola's width"
)


def margin_losses(low: float, high: float, n_points: int) -> dict[str, Any]:
    """Return the values of each loss over margins, as printed and as implemented."""
    m = np.linspace(low, high, n_points)
    values = {}
    for name, (formula, loss) in PRINTED.items():
        ours = loss.value(np.ones((1, n_points)), m[np.newaxis])[0]
        values[name] = {"printed": formula(m).tolist(), "ours": ours.tolist()}
    return {"margin": m.tolist(), "losses": values}


def _tasks(quick: bool) -> list[Task]:
    n_points = 19 if quick else 91
    arguments = {"low": -1.5, "high": 3.0, "n_points": n_points}
    return [Task("losses", margin_losses, arguments)]


def _report(results: Mapping[str, dict[str, Any]]) -> Report:
    result = results["losses"]
    rows = [
        Row(
            name,
            "largest distance from the printed formula",
            float(np.abs(np.subtract(curves["ours"], curves["printed"])).max()),
            published=0.0,
            why=WHY_HINGE if "hinge" in name else "",
            digits=6,
        )
        for name, curves in result["losses"].items()
    ]

    def draw(figure: Any) -> None:
        figure.set_size_inches(9, 3.8)
        left, right = figure.subplots(1, 2, sharey=True)
        for name, curves in result["losses"].items():
            axes = left if name in BOOSTING else right
            axes.plot(result["margin"], curves["ours"], label=name)
        for axes in (left, right):
            axes.set(xlabel="margin m = y f(x)", ylim=(-0.1, 3.5))
            axes.legend(fontsize="small")
        left.set(ylabel="loss", title="boosting and SVM")
        right.set(title="traditional")

    return Report(rows, draw=draw)


EXPERIMENTS = (
    Experiment(
        "figure-9.5",
        "Margin losses",
        "Vincent (2003), Figure 9.5",
        needs=(),
        tasks=_tasks,
        report=_report,
        seeds="Nothing is random.",
    ),
)
