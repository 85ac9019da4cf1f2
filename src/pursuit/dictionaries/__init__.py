"""Where the functions of a model come from.

A dictionary describes functions of x; the estimators' ``dictionary=`` takes one, and a
kernel is the shorthand for the simplest.  Dictionaries add: ``Features() +
OneKernel()`` holds the functions of both.

=================  ================================================================
OneKernel          one kernel on training points, given centers or means of clusters
ManyKernels        several kernels on each point
ManyWidths         one kernel at several widths on each point
KernelPerClass     on each point the kernel of its class
AdaptiveGaussian   on each point a Gaussian of its own width (adaptive KMP)
OrientedGaussians  Gaussians along the local principal directions
Constant           the constant
Features           features and their products
Transformed        the outputs of a scikit-learn transformer
Callables          any functions of X
Precomputed        X is the matrix of the functions' values
=================  ================================================================

A new one derives from `Dictionary` and needs one method, ``learn(sample)``, which
returns a list of `pursuit.functions.Functions`.
"""

from ._base import Dictionary, Sample, Union
from .adaptive import AdaptiveGaussian
from .kernel_based import (
    KernelPerClass,
    ManyKernels,
    ManyWidths,
    OneKernel,
)
from .maps import (
    Callables,
    Constant,
    Features,
    Precomputed,
    Transformed,
)
from .oriented import OrientedGaussians

__all__ = [
    "AdaptiveGaussian",
    "Callables",
    "Constant",
    "Dictionary",
    "Features",
    "KernelPerClass",
    "ManyKernels",
    "ManyWidths",
    "OneKernel",
    "OrientedGaussians",
    "Precomputed",
    "Sample",
    "Transformed",
    "Union",
]
