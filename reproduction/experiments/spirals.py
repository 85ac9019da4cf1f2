"""Table 13.1 and Figure 13.2: densities of points around a spiral."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import KernelDensity

from pursuit import LocalGaussianDensity, ManifoldParzen, ParzenWindows
from pursuit._threads import limited
from pursuit.datasets import make_spiral, spiral_log_density
from reproduction.experiment import Experiment, Report, Row, Task
from reproduction.protocols.splits import mean_and_error
from reproduction.reporting import dots, labeled, parameter_text

CODE_VERSION = 1

N_TRAIN, N_VALID, N_TEST = 300, 300, 10_000
N_DRAWS, QUICK_DRAWS = 20, 2

# Parameters and test ANLL of Table 13.1; σ of the second row is printed as 0.09.
PUBLISHED: dict[str, tuple[dict[str, Any], float]] = {
    "Parzen": ({"bandwidth": 0.0173}, -1.183),
    "MParzen, d 1": ({"n_neighbors": 11, "bandwidth": 0.009}, -1.466),
    "MParzen, d 2": ({"n_neighbors": 10, "bandwidth": 0.00001}, -1.419),
}
MISPRINT = {"n_neighbors": 11, "bandwidth": 0.09}
# Grid compared on the validation points; the paper does not state its own.
NEIGHBORS = [4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 20]
WIDTHS = {
    "Parzen": np.geomspace(0.005, 0.05, 41).round(5).tolist(),
    "MParzen, d 1": np.geomspace(0.002, 0.03, 15).round(5).tolist(),
    "MParzen, d 2": [0.00001, 0.0001, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016],
}
COMPONENTS = (5, 10, 15, 20, 25, 30, 40)
WHY = "the paper's draw and grid are not known; the range of ours is given below"


def _model(name: str, params: Mapping[str, Any]) -> Any:
    if name == "Parzen":
        return ParzenWindows(**params)
    return ManifoldParzen(n_components=int(name[-1]), **params)


def _grid(name: str) -> dict[str, Sequence[Any]]:
    grid: dict[str, Sequence[Any]] = {"bandwidth": WIDTHS[name]}
    return grid if name == "Parzen" else {**grid, "n_neighbors": NEIGHBORS}


def choose(
    name: str, X: np.ndarray, X_valid: np.ndarray, grid: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """Return the parameters with the highest validation likelihood."""
    settings = list(ParameterGrid(dict(grid)))
    scores = [_model(name, params).fit(X).score(X_valid) for params in settings]
    return settings[int(np.argmax(scores))]


def draw_and_measure(
    seed: int, sizes: list[int], grids: dict[str, Any]
) -> dict[str, Any]:
    """Draw the three parts, choose on the second, and measure on the third.

    Returns the test ANLL of the chosen and published parameters, today's methods, the
    defaults and the true density.
    """
    # Threads do not pay on 300 points.
    with limited(1):
        return _measured(*_parts(seed, sizes), grids, seed)


def _measured(
    X: np.ndarray,
    X_valid: np.ndarray,
    X_test: np.ndarray,
    grids: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    chosen = {name: choose(name, X, X_valid, grid) for name, grid in grids.items()}
    models = {f"{name}, chosen": _model(name, chosen[name]) for name in grids}
    for name, (params, _) in PUBLISHED.items():
        models[f"{name}, published"] = _model(name, params)
    models["misprint"] = _model("MParzen, d 1", MISPRINT)
    models |= _of_today(X, X_valid, grids["Parzen"]["bandwidth"], seed)
    anll = {name: -float(m.fit(X).score(X_test)) for name, m in models.items()}
    anll["truth"] = -float(spiral_log_density(X_test).mean())
    return {"chosen": chosen, "anll": anll}


def _parts(
    seed: int, sizes: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    seeds = np.random.SeedSequence(seed).generate_state(3)
    pairs = zip(sizes, seeds, strict=True)
    X, X_valid, X_test = (make_spiral(n, random_state=int(s)) for n, s in pairs)
    return X, X_valid, X_test


class _MeanScore:
    """Wrap scikit-learn's kernel density, whose own score is a sum and not a mean."""

    def __init__(self, bandwidth: float):
        self.density = KernelDensity(bandwidth=bandwidth)

    def fit(self, X: np.ndarray) -> _MeanScore:
        self.density.fit(X)
        return self

    def score(self, X: np.ndarray) -> float:
        return float(self.density.score_samples(X).mean())


def _of_today(
    X: np.ndarray, X_valid: np.ndarray, widths: Sequence[float], seed: int
) -> dict[str, Any]:
    """Return today's methods, tuned on the validation points, and our defaults."""
    mixtures = [
        GaussianMixture(n, random_state=seed, n_init=3, reg_covar=1e-6)
        for n in COMPONENTS
    ]
    kernels = [_MeanScore(width) for width in widths]
    return {
        "KernelDensity": max(kernels, key=lambda m: m.fit(X).score(X_valid)),
        "GaussianMixture": max(mixtures, key=lambda m: m.fit(X).score(X_valid)),
        "ParzenWindows()": ParzenWindows(),
        "ManifoldParzen()": ManifoldParzen(),
        "LocalGaussianDensity(normalize=True)": LocalGaussianDensity(
            normalize=True, random_state=seed
        ),
    }


def _arguments(seed: int) -> dict[str, Any]:
    grids = {name: _grid(name) for name in PUBLISHED}
    return {"seed": seed, "sizes": [N_TRAIN, N_VALID, N_TEST], "grids": grids}


def _table_tasks(quick: bool) -> list[Task]:
    draws = range(QUICK_DRAWS if quick else N_DRAWS)
    return [Task(f"draw {s}", draw_and_measure, _arguments(s)) for s in draws]


def _table_report(results: Mapping[str, dict[str, Any]]) -> Report:
    draws = list(results.values())
    values = {
        name: np.array([draw["anll"][name] for draw in draws])
        for name in draws[0]["anll"]
    }
    rows = []
    for name, (params, figure) in PUBLISHED.items():
        for key, label in (
            ("chosen", "by validation"),
            ("published", f"{parameter_text(params)}, as published"),
        ):
            rows.append(_row(f"{name} ({label})", values[f"{name}, {key}"], figure))
    unpublished = {
        f"MParzen, d 1 ({parameter_text(MISPRINT)}, as printed)": "misprint",
        "KernelDensity (by validation)": "KernelDensity",
        "GaussianMixture (by validation)": "GaussianMixture",
        "ParzenWindows()": "ParzenWindows()",
        "ManifoldParzen()": "ManifoldParzen()",
        "LocalGaussianDensity(normalize=True)": "LocalGaussianDensity(normalize=True)",
        "the true density": "truth",
    }
    rows += [_row(label, values[key], None) for label, key in unpublished.items()]
    shown = [row for row in rows if "as printed" not in row.label]
    notes = list(_table_notes(draws, values))
    return Report(rows, notes, dots(shown, "test ANLL, nats"))


def _row(label: str, values: np.ndarray, published: float | None) -> Row:
    # The published figure is from one draw.
    mean, error = mean_and_error(values, None if published is None else 1)
    return Row(label, "test ANLL", mean, error, published, why=WHY, digits=3)


def _table_notes(
    draws: Sequence[dict[str, Any]], values: Mapping[str, np.ndarray]
) -> Iterator[str]:
    yield (
        f"Mean of {len(draws)} draws of {N_TRAIN} training, {N_VALID} validation and "
        f"{N_TEST} test points; the paper has one draw. The standard error of a "
        "difference is that of one draw beside so many. Models are fitted to the "
        "training points alone."
    )
    for name, (params, _) in PUBLISHED.items():
        parts = []
        for key in params:
            chosen = sorted(draw["chosen"][name][key] for draw in draws)
            parts.append(f"{parameter_text({key: chosen[0]})} to {chosen[-1]:g}")
        anll = values[f"{name}, chosen"]
        yield (
            f"{name}: validation chose {', '.join(parts)} (published: "
            f"{parameter_text(params)}); test ANLL from {anll.min():.3f} to "
            f"{anll.max():.3f}."
        )
    yield (
        "σ of MParzen with d 1 is printed as 0.09, which is worse than Parzen by far: "
        f"{values['misprint'].mean():.3f}; taken for a misprint of 0.009."
    )


# -- Figure 13.2 ---------------------------------------------------------------------

SEED = 0
SIDE = 0.75
ZOOM = (-0.02, 0.33, -0.43, -0.08)
SHOWN = ("Parzen", "MParzen, d 1")


def levels(
    seed: int, sizes: list[int], grids: dict[str, Any], resolution: int
) -> dict[str, Any]:
    """Measure the region where a density exceeds 1: its area, and new points in it."""
    with limited(1):
        return _levels(*_parts(seed, sizes), grids, resolution) | {
            "seed": seed,
            "sizes": list(sizes),
        }


def _levels(
    X: np.ndarray,
    X_valid: np.ndarray,
    X_test: np.ndarray,
    grids: dict[str, Any],
    resolution: int,
) -> dict[str, Any]:
    steps = np.linspace(-SIDE, SIDE, resolution)
    places = np.array(np.meshgrid(steps, steps)).reshape(2, -1).T
    cell = (steps[1] - steps[0]) ** 2
    models = {}
    for name, grid in grids.items():
        params = choose(name, X, X_valid, grid)
        model = _model(name, params).fit(X)
        models[name] = {
            "params": params,
            "area": cell * int((model.score_samples(places) > 0).sum()),
            "share": 100.0 * float((model.score_samples(X_test) > 0).mean()),
        }
    models["truth"] = {
        "area": cell * int((spiral_log_density(places) > 0).sum()),
        "share": 100.0 * float((spiral_log_density(X_test) > 0).mean()),
    }
    return {"models": models}


def _figure_tasks(quick: bool) -> list[Task]:
    arguments = _arguments(SEED)
    grids = {name: arguments["grids"][name] for name in SHOWN}
    arguments |= {"grids": grids, "resolution": 101 if quick else 301}
    return [Task("levels", levels, arguments)]


def _figure_report(results: Mapping[str, dict[str, Any]]) -> Report:
    result = results["levels"]
    rows = []
    for name, values in result["models"].items():
        label = "the true density"
        if "params" in values:
            label = labeled(name, values["params"])
        rows.append(Row(label, "area where it is above 1", values["area"], digits=3))
        rows.append(Row(label, "new points there, %", values["share"], digits=1))
    note = (
        f"One draw of {result['sizes'][0]} points, parameters by validation. The "
        "figure gives no numbers: measured are the area that is painted, and how many "
        f"of {result['sizes'][2]} new points fall into it. The better density needs "
        "less area for more points."
    )

    def draw(figure: Any) -> None:
        _draw_levels(figure, result)

    return Report(rows, [note], draw)


def _draw_levels(figure: Any, result: dict[str, Any]) -> None:
    X, _, _ = _parts(result["seed"], result["sizes"])
    figure.set_size_inches(8.6, 9)
    panels = figure.subplots(2, 2)
    whole = (-SIDE, SIDE, -SIDE, SIDE)
    for column, name in enumerate(SHOWN):
        params = result["models"][name]["params"]
        model = _model(name, params).fit(X)
        for row, box in enumerate((whole, ZOOM)):
            axes = panels[row, column]
            _paint(axes, model, X, box)
            if row == 0:
                axes.set_title(labeled(name, params))
                corners = (ZOOM[0], ZOOM[2]), ZOOM[1] - ZOOM[0], ZOOM[3] - ZOOM[2]
                axes.add_patch(_frame(*corners))
            else:
                axes.set_title("the framed part", fontsize="medium")
    panels[0, 0].set_ylabel("gray: estimated density above 1")


def _paint(axes: Any, model: Any, X: np.ndarray, box: Sequence[float]) -> None:
    x, y = np.linspace(box[0], box[1], 301), np.linspace(box[2], box[3], 301)
    places = np.array(np.meshgrid(x, y)).reshape(2, -1).T
    logs = model.score_samples(places).reshape(len(y), -1)
    axes.contourf(x, y, logs > 0, levels=[0.5, 1.5], colors=["0.75"])
    axes.plot(*X.T, ".", color="black", markersize=3 if box[1] - box[0] > 1 else 5)
    axes.set(xlim=box[:2], ylim=box[2:], aspect="equal")


def _frame(corner: tuple[float, float], width: float, height: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, fill=False, color="C3", linewidth=1)


EXPERIMENTS = (
    Experiment(
        "table-13.1",
        "Densities of a spiral",
        "Vincent (2003), Table 13.1",
        needs=(),
        tasks=_table_tasks,
        report=_table_report,
        seeds=(
            "`seed` draws the points, and seeds GaussianMixture and the estimated mass "
            "of LocalGaussianDensity."
        ),
    ),
    Experiment(
        "figure-13.2",
        "Two densities of a spiral",
        "Vincent (2003), Figure 13.2",
        needs=(),
        tasks=_figure_tasks,
        report=_figure_report,
        seeds="`seed` draws the points.",
    ),
)
