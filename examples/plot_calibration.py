"""
Probabilities and prediction sets, without another fit
======================================================

The squared loss has values, not probabilities. The models that the folds left tell
what the values mean: rows that these never saw set a temperature, or a rising step
function. The same rows say which classes a new row may be of, at a coverage that holds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from pursuit import KMPClassifier

X, y = make_moons(600, noise=0.35, random_state=0)
X_new, y_new = make_moons(20_000, noise=0.35, random_state=1)
models = {
    'probability="temperature"': KMPClassifier("rbf", probability="temperature"),
    'probability="isotonic"': KMPClassifier("rbf", probability="isotonic"),
    'loss="logistic"': KMPClassifier("rbf", loss="logistic"),
}

figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
axes.plot([0, 1], [0, 1], color="0.7", lw=1)
for marker, (name, model) in zip("osv", models.items(), strict=True):
    P = model.fit(X, y).predict_proba(X_new)[:, 1]
    happened, said = calibration_curve(y_new, P, n_bins=10)
    label = f"{name}: log-loss {log_loss(y_new, P):.3f}"
    axes.plot(said, happened, f"{marker}-", ms=5, label=label)
axes.set(
    xlabel="probability of the second class",
    ylabel="share of new rows that are of it",
    aspect="equal",
)
axes.legend(frameon=False, loc="upper left")
plt.show()

# %%
# Where the classes overlap, a set that is to hold 95 % of them holds both; where no
# class fits, it may be empty. The coverage is that of new rows.

model = models['probability="temperature"']
grid = [np.linspace(-2.2, 3.2, 217), np.linspace(-1.8, 2.3, 165)]
points = np.column_stack([axis.ravel() for axis in np.meshgrid(*grid)])

figure, panels = plt.subplots(
    1, 2, figsize=(9, 3.9), sharex=True, sharey=True, layout="constrained"
)
for axes, coverage in zip(panels, [0.8, 0.95], strict=True):
    _, sets = model.predict_set(points, coverage)
    # 0 for none, 1 and 2 for one class, 3 for both.
    which = (sets[..., 0] @ [1, 2]).reshape(165, 217)
    axes.contourf(
        *grid,
        which,
        levels=[-0.5, 0.5, 1.5, 2.5, 3.5],
        colors=["0.35", "C0", "C1", "0.85"],
        alpha=0.45,
    )
    axes.scatter(*X.T, c=np.array(["C0", "C1"])[y], s=7)
    _, of_new = model.predict_set(X_new, coverage)
    held = of_new[np.arange(len(y_new)), y_new, 0].mean()
    axes.set(title=f"asked for {coverage:.0%}, held {held:.1%}")
plt.show()

# %%
# Light gray is the set of both classes, dark gray the empty one.
