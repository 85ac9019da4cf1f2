r"""Generalization bounds: plain functions of numbers.

Each holds with probability ``1 - delta`` over the draw of ``m`` independent training
rows, under the assumptions that its docstring states.  The answer is a
:class:`Bound`: a float that knows the largest value its loss can take, and so whether
it says anything (``is_vacuous``).  A value above that is returned as it is: its course
along a path may still tell where to stop.

``path_.bound(...)`` of a fitted model reads the numbers off its path.
"""

from ._bound import Bound, BoundCurve
from .classes import finite_class, mdl, svm_leave_one_out
from .regression import cca, vc
from .subspaces import kpca_compression, kpca_curve, kpca_eigenvalues

__all__ = [
    "Bound",
    "BoundCurve",
    "cca",
    "finite_class",
    "kpca_compression",
    "kpca_curve",
    "kpca_eigenvalues",
    "mdl",
    "svm_leave_one_out",
    "vc",
]
