"""What made a prediction: exact answers, since a sparse model is a short sum.

===========================  ==========================================================
`shapley`                    Shapley values: what each feature adds to a prediction
`shapley_interactions`       what pairs of features add together
`base_value`                 the prediction from which these start
`partial_dependence`         the model along one or two features
`reasons`                    support points that speak for and against a prediction
===========================  ==========================================================

The first four need a model whose functions are products of functions of one feature
each, for then sums over subsets of the features take polynomial time. Gaussian and
L1-Laplacian kernels are such products, in a diagonal metric or none; so are their
products with each other, monomials, and sums of all these. A full metric mixes
features: fit with ``metric="diagonal"``.

What is explained are the values of the model: predictions of a regressor before its
link, scores of a ranker, the decision function of a classifier, which is half the
log-odds under the logistic loss.
"""

from .dependence import partial_dependence
from .reasons import Reasons, reasons
from .values import base_value, shapley, shapley_interactions

__all__ = [
    "Reasons",
    "base_value",
    "partial_dependence",
    "reasons",
    "shapley",
    "shapley_interactions",
]
