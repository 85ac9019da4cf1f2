"""Finite, ordered collections of functions of x, made by dictionaries.

A collection is immutable. A pursuit reads its values on the training rows through
:meth:`Functions.on`. A fitted model keeps ``functions[chosen]``, which holds only what
these functions need, and evaluates it at new points.

Letters: M functions, n rows of X, d features.
"""

from ._base import Functions
from .centered import Centered, KernelFunctions
from .gaussians import OrientedGaussianFunctions, VariedGaussians
from .joined import Joined, join
from .maps import Columns, Monomials, Outputs, as_columns

__all__ = [
    "Centered",
    "Columns",
    "Functions",
    "Joined",
    "KernelFunctions",
    "Monomials",
    "OrientedGaussianFunctions",
    "Outputs",
    "VariedGaussians",
    "as_columns",
    "join",
]
