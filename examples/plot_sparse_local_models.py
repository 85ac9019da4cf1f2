"""
Few points for local models
===========================

Local models keep all of their training rows. A pursuit keeps a few: first Gaussians
along a spiral, as many as make held-out rows likeliest, then images of digits by whose
local hyperplanes the others are told apart. Ellipses show two standard deviations.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from sklearn.datasets import load_digits

from pursuit import (
    CondensedNeighbors,
    DropNeighbors,
    HKNNClassifier,
    ManifoldParzen,
    PrototypePursuit,
    SparseManifoldParzen,
)
from pursuit.datasets import make_spiral

X = make_spiral(300, random_state=0)
X_new = make_spiral(5000, random_state=1)
model = SparseManifoldParzen(60).fit(X)


def draw(axes, mixture):
    """Draw an ellipse for each Gaussian, the darker the larger its weight."""
    axes.plot(*X.T, ".", color="0.6", markersize=2)
    parts = zip(mixture.weights_, mixture.means_, mixture.covariances_, strict=True)
    for weight, mean, C in parts:
        variances, V = np.linalg.eigh(C)
        height, width = 4 * np.sqrt(variances)
        angle = np.degrees(np.arctan2(V[1, 1], V[0, 1]))
        shade = 0.05 + 0.7 * weight / mixture.weights_.max()
        axes.add_patch(Ellipse(mean, width, height, angle=angle, alpha=shade))
    axes.set(xticks=[], yticks=[], aspect="equal", xlim=(-0.7, 0.7), ylim=(-0.7, 0.7))
    axes.set_title(
        f"{mixture.n_support_} Gaussians: {mixture.score(X_new):.2f} nats", fontsize=10
    )


sizes = (10, 20, model.n_support_)
figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for axes, size in zip(panels, sizes, strict=True):
    draw(axes, model.truncate(size))
plt.show()

# %%
# One fit gives the mixtures of all sizes. The folds see that more Gaussians make new
# rows likelier, up to about the density with a Gaussian on each of the 300 rows.

full = ManifoldParzen().fit(X).score(X_new)
scores = [logs.mean() for logs in model.staged_score_samples(X_new)]
counts = 1 + np.arange(len(scores))

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(counts, model.path_.held_out, label="held-out rows of the folds")
axes.plot(counts, scores, label="new rows")
axes.axhline(full, color="black", linestyle=":", label="300 Gaussians, new rows")
axes.axvline(model.n_support_, color="0.7", linewidth=1)
axes.set(xlabel="Gaussians", ylabel="mean log-density", ylim=(-0.5, 1.8))
axes.legend(fontsize="small")
plt.show()

# %%
# The same for classes. The local hyperplanes of 1000 images are compared with those of
# fewer, chosen at random, by published rules, and by pursuit.

digits, labels = load_digits(return_X_y=True)
train, test = slice(0, 1000), slice(1000, None)


def error(rows):
    """Return the test error, in percent, of hyperplanes through some rows."""
    classifier = HKNNClassifier(reference=rows, loo_samples=0)
    classifier.fit(digits[train], labels[train])
    return 100 * (1 - classifier.score(digits[test], labels[test]))


def at_random(n, seed):
    """Return n rows drawn at random, as many of each class."""
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(labels[train] == c) for c in range(10)]
    return np.concatenate([rng.choice(r, n // 10, replace=False) for r in rows])


chosen = PrototypePursuit(300).fit(digits[train], labels[train]).support_
numbers = np.array([20, 30, 50, 80, 120, 200, 300])
by_chance = [np.mean([error(at_random(n, seed)) for seed in range(5)]) for n in numbers]
by_pursuit = [error(chosen[:n]) for n in numbers]

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.plot(numbers, by_chance, ".-", color="0.6", label="random")
axes.plot(numbers, by_pursuit, ".-", label="PrototypePursuit")
for rule, marker in ((CondensedNeighbors(), "s"), (DropNeighbors(), "^")):
    rows = rule.fit(digits[train], labels[train]).support_
    axes.plot(len(rows), error(rows), marker, label=type(rule).__name__)
axes.axhline(error(None), color="black", linestyle=":", label="all 1000")
axes.set(xscale="log", xlabel="images kept", ylabel="test error, %", ylim=(0, 25))
axes.set_xticks(numbers, labels=[str(n) for n in numbers])
axes.minorticks_off()
axes.legend(fontsize="small")
plt.show()
