"""
Losses of the margin
====================

The margin of a point is m = y f(x). It is positive if the class is right, and larger if
the model is surer. All losses punish negative margins. They differ in two places: the
squared loss also punishes margins above 1, of points that are right and far from the
boundary; the losses with tanh level off on the left, so that no point, however wrong,
can outweigh many others.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import losses

m = np.linspace(-2.5, 3, 400)[np.newaxis]
right = np.ones_like(m)
shown = {
    "squared": losses.Squared(),
    "squared-hinge": losses.SquaredHinge(),
    "exponential": losses.Exponential(),
    "logistic": losses.Logistic(),
    "hinge": losses.Hinge(),
    "doom2": losses.Doom2(),
    "squared-tanh": losses.SquaredTanh(),
}

figure, (values, pulls) = plt.subplots(
    1, 2, figsize=(10, 3.6), sharex=True, layout="constrained"
)
for name, loss in shown.items():
    style = "-" if loss.is_convex else "--"
    # Left of 1 the squared hinge lies on squared loss.
    look = {"linestyle": style, "linewidth": 4 if name == "squared" else 1.5}
    values.plot(m[0], loss.value(right, m)[0], label=name, **look)
    pulls.plot(m[0], -loss.gradient(right, m)[0], label=name, **look)
values.plot(m[0], m[0] <= 0, color="black", linewidth=0.8, label="mistakes")
values.set(title="loss", xlabel="margin m", ylim=(-0.1, 4.5))
pulls.axhline(0, color="0.6", linewidth=0.8)
pulls.set(title="pull on a point", xlabel="margin m", ylim=(-2.2, 4.5))
figure.legend(*values.get_legend_handles_labels(), loc="outside right")
plt.show()

# %%
# A pursuit follows the pull, which is minus the derivative of the loss: it takes the
# place of the residual. Least squares pulls back points that are far on the right side.
# Dashed losses are not convex.
