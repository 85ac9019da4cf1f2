"""
What made a prediction
======================

The Shapley values of a prediction say what each feature added to it. For kernels that
are products over the features they are exact, and take milliseconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from pursuit import KMPRegressor
from pursuit.explain import base_value, partial_dependence, shapley

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = KMPRegressor(metric="diagonal", max_support=30).fit(X, y)
background = X.sample(100, random_state=0)

values = shapley(model, X, background)
base = base_value(model, background)

# %%
# On the left, one patient: from the usual value, features lead to the prediction, one
# after the other. On the right, all patients: what the body mass index adds to each
# prediction, and the average of the model along it.

patient = 9
order = np.argsort(np.abs(values[patient]))
steps = values[patient][order]
starts = base + np.concatenate([[0.0], np.cumsum(steps)[:-1]])

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
colors = np.where(steps > 0, "C0", "C1")
left.barh(np.arange(len(order)), steps, left=starts, color=colors)
names = [f"{X.columns[j]} = {X.iloc[patient, j]:.3g}" for j in order]
left.set_yticks(np.arange(len(order)), names)
left.axvline(base, color="0.5", lw=1, ls=":")
left.set(
    xlabel="Predicted progression of the disease",
    title=f"From the usual {base:.0f} to {model.predict(X[9:10])[0]:.0f}",
)

result = partial_dependence(model, X, "bmi")
right.scatter(X["bmi"], values[:, X.columns.get_loc("bmi")], s=8, alpha=0.6)
right.plot(result.grid_values[0], result.average[0] - base, color="C1")
right.set(
    xlabel="Body mass index",
    ylabel="Added to the prediction",
    title="Shapley values, and partial dependence",
)
plt.show()

# %%
# Values of a row add up to its prediction.

print(np.abs(values.sum(axis=1) + base - model.predict(X)).max())
