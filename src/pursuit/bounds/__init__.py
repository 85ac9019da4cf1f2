r"""Generalization bounds, as plain functions of numbers.

Each bound holds with probability ``1 - delta`` over the draw of ``m`` independent
training rows, under the assumptions stated in its docstring. The result is a
:class:`Bound`: a float that knows the largest value of its loss, and therefore whether
it is vacuous (``is_vacuous``). Vacuous values are returned unchanged: their curve
along a path may still show where to stop.

``KMPClassifier.bound(X, y)`` and ``SparseKernelPCA``'s ``path_.bound()`` compute bounds
of fitted models at every size.
"""

from ._bound import Bound, BoundCurve
from .classes import finite_class, mdl, svm_leave_one_out
from .regression import cca, vc
from .subspaces import false_alarms, kpca_compression, kpca_curve, kpca_eigenvalues

__all__ = [
    "Bound",
    "BoundCurve",
    "cca",
    "false_alarms",
    "finite_class",
    "kpca_compression",
    "kpca_curve",
    "kpca_eigenvalues",
    "mdl",
    "svm_leave_one_out",
    "vc",
]
