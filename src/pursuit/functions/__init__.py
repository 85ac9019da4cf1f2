"""Functions of x in a finite, ordered collection: what a dictionary yields.

A collection is a value.  A pursuit reads its values on the training rows through
:meth:`Functions.on`; a fitted model keeps the part ``functions[chosen]``, which holds
what these functions need and nothing else, and evaluates it at new points.

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
