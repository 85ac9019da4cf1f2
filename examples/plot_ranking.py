"""
Ranking: only the order within a group counts
=============================================

Each judge has seen some things and given grades. Judges differ: those who saw the
things on the right were stern. Within each judge's grades the order is the same wave;
over all judges grades fall. A regression learns the judges, a ranker compares what one
judge has seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import KMPRanker, KMPRegressor
from pursuit.ranking import ndcg, pairwise_accuracy


def judged(n_judges, seed):
    rng = np.random.default_rng(seed)
    place = rng.uniform(-2, 2, n_judges)
    judges = np.repeat(np.arange(n_judges), 12)
    x = place[judges] + 0.7 * rng.normal(size=len(judges))
    quality = np.sin(2 * x) + 0.3 * rng.normal(size=len(x))
    grades = np.round(10 + 2 * quality - 3 * place[judges])
    return x[:, None], np.maximum(grades, 0), judges


X, y, judges = judged(40, seed=0)
X_new, y_new, judges_new = judged(40, seed=1)
ranker = KMPRanker("rbf").fit(X, y, groups=judges)
regressor = KMPRegressor("rbf").fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for judge in range(8):
    mine = judges == judge
    order = np.argsort(X[mine, 0])
    left.plot(X[mine, 0][order], y[mine][order], ".-", lw=0.7, alpha=0.6)
grid = np.linspace(-3, 3, 200)[:, None]
scores = ranker.predict(grid)
left.plot(grid, scores - scores.mean() + 10, "k", lw=2.5, label="KMPRanker")
left.plot(grid, regressor.predict(grid), "k--", lw=2, label="KMPRegressor")
left.set(xlabel="x", ylabel="grade", title="grades of eight of forty judges")
left.legend()

for name, model in (("KMPRanker", ranker), ("KMPRegressor", regressor)):
    stages = [
        pairwise_accuracy(y_new, f, judges_new) for f in model.staged_predict(X_new)
    ]
    style = "k" if name == "KMPRanker" else "k--"
    right.semilogx(np.arange(1, len(stages) + 1), stages, style, label=name)
right.axhline(0.5, color="0.7", lw=0.8)
right.set(xlabel="points", ylabel="pairs in the right order", ylim=(0, 1))
right.set_title("judges that were not seen")
right.legend()
plt.show()

# %%
# Mean NDCG of the lists of new judges, of the whole list and of its first place:

scores = ranker.predict(X_new)
print(f"whole list  {ndcg(y_new, scores, judges_new):.3f}")
print(f"first place {ndcg(y_new, scores, judges_new, k=1):.3f}")

# %%
# The squared loss wants differences of scores to be those of the grades, the others
# want the order only. If judges exaggerate, which does not change any order, the
# squared loss attends to those who shout. Circles are the sizes that held-out judges
# chose.

loud = np.exp(0.7 * y)
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for loss in ("squared", "logistic", "squared-hinge", "plackett-luce"):
    model = KMPRanker("rbf", loss=loss, max_support=40).fit(X, loud, groups=judges)
    pairs = list(
        model.staged_score(X_new, y_new, judges_new, scoring="pairwise-accuracy")
    )
    (line,) = axes.plot(np.arange(1, len(pairs) + 1), pairs, label=loss)
    n = model.n_support_
    axes.plot(n, pairs[n - 1], "o", mfc="none", color=line.get_color())
axes.set(xlabel="points", ylabel="pairs in the right order")
axes.legend(title="loss")
plt.show()
