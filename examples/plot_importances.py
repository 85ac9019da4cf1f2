"""
Which features matter
=====================

Friedman's first function depends on five features; twenty more say nothing about it.
All of them come in units of their own, from thousandths to thousands. One Gaussian that
weighs standardized features alike is lost among those that say nothing. By default the
weights are learned, and ``feature_importances_`` tells what came out: the share of each
feature in how much the model varies. Shares sum to 1 and do not depend on the units.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pursuit import KMPRegressor
from pursuit.inspection import ImportancesDisplay

X, y = make_friedman1(1300, n_features=25, noise=1.0, random_state=0)
X *= 10.0 ** np.random.default_rng(0).integers(-3, 4, size=25)
names = [f"x{j}" if j < 5 else f"nothing {j}" for j in range(25)]
train, test = slice(0, 300), slice(300, None)

models = {
    'kernel="rbf"': make_pipeline(StandardScaler(), KMPRegressor("rbf")),
    "learned": KMPRegressor(),
}

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, layout="constrained")
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X[train], y[train])
    display = ImportancesDisplay.from_estimator(
        model, feature_names=names, n_features=12, ax=axes
    )
    for bar, label in zip(display.bars_, axes.get_yticklabels(), strict=True):
        bar.set_color("C0" if label.get_text().startswith("x") else "0.7")
    axes.set_title(f"{name}: test R² {model.score(X[test], y[test]):.2f}")
plt.show()

# %%
# The twelve largest shares of each model are shown. The function is
# :math:`10 \sin(\pi x_0 x_1) + 20 (x_2 - 0.5)^2 + 10 x_3 + 5 x_4` plus noise: the first
# five features matter, the last of them least. The fit also says which kernel and which
# shape of metric it chose, and how many points the model keeps:

model = models["learned"]
kernel = model.kernel_.kernel
print(f"{kernel}, metric of shape {model.metric_.shape}, {model.n_support_} points")
