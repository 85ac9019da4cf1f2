"""
Errors against the number of neighbors, for several penalties
==============================================================

Figure 11.3 of the thesis, on the digits that scikit-learn ships. Without a penalty the
hyperplanes of many neighbors hold nearly everything, and the error rises with K; with
weight decay, or with convex hulls, it does not. (It falls again if all planes hold the
point and ties go to the nearest neighbor.) The curves are leave-one-out errors,
which ``"auto"`` computes for every K at once and keeps in ``loo_table_``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from pursuit import CKNNClassifier, HKNNClassifier

X, y = load_digits(return_X_y=True)
hyperplanes = HKNNClassifier("auto", "auto", loo_samples=600).fit(X, y)
hulls = CKNNClassifier("auto", loo_samples=600).fit(X, y)

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
table = hyperplanes.loo_table_
for j in (0, 1, 2, 4, 6):
    label = f"HKNN, λ = {table.penalties[j]:.3g}"
    axes.plot(table.n_neighbors, 100 * table.errors[j], label=label)
table = hulls.loo_table_
axes.plot(table.n_neighbors, 100 * table.errors[0], "k--", label="CKNN")
axes.set(xlabel="neighbors K", ylabel="leave-one-out error, %", ylim=(0, 8))
axes.legend()
plt.show()

print(f"chosen: K = {hyperplanes.n_neighbors_}, λ = {hyperplanes.penalty_:.3g}")
