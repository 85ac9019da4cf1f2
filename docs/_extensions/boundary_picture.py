"""The picture of the first page: the points that two models of the same data keep.

Drawn at each build from data made on the spot, once for light pages and once for dark
ones. The models are those of the code on that page.
"""

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from pursuit import KMPClassifier

MODELS = {"support vector machine": SVC(gamma=1), "pursuit": KMPClassifier(gamma=1)}
INK = {"light": "#24292f", "dark": "#d6dce4"}
CLASSES = ("#3b7dd8", "#e2703a")


def setup(app):
    app.connect("builder-inited", draw_both)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def draw_both(app):
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    X, y = make_moons(1000, noise=0.3, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    models = {name: model.fit(X_train, y_train) for name, model in MODELS.items()}
    errors = {name: 1 - each.score(X_test, y_test) for name, each in models.items()}
    for mode, ink in INK.items():
        with rc_context({"svg.fonttype": "path", "svg.hashsalt": "pursuit"}):
            figure = draw(X_train, y_train, models, errors, ink)
            figure.savefig(
                folder / f"boundary-{mode}.svg",
                transparent=True,
                metadata={"Date": None},
            )


def draw(X, y, models, errors, ink):
    """Return the figure: a panel for each model, its points ringed."""
    figure = Figure(figsize=(9, 4.1), layout="constrained")
    panels = figure.subplots(1, len(models), sharex=True, sharey=True)
    for axes, (name, model) in zip(panels, models.items(), strict=True):
        regions(axes, X, model, ink)
        colors = np.array(CLASSES)[y]
        axes.scatter(*X.T, c=colors, s=7, alpha=0.55, linewidths=0)
        rings = X[model.support_]
        axes.scatter(
            *rings.T, s=44, facecolors="none", edgecolors=ink, linewidths=1.1, zorder=3
        )
        title = f"{name}: {len(rings)} points kept"
        axes.set_title(title, color=ink, fontsize=13, fontweight="bold")
        wrong = f"{100 * errors[name]:.1f} % of new points classified wrongly"
        axes.set_xlabel(wrong, color=ink, fontsize=12)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    return figure


def regions(axes, X, model, ink):
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    across, up = (np.linspace(*ends, 160) for ends in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    values = model.decision_function(grid.reshape(-1, 2)).reshape(160, 160)
    sides = ListedColormap(CLASSES)
    axes.contourf(across, up, values > 0, levels=[-1, 0.5, 2], cmap=sides, alpha=0.14)
    axes.contour(across, up, values, levels=[0], colors=ink, linewidths=1.8)
