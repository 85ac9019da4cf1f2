"""Dictionaries: sources of the functions of a model.

A dictionary describes functions of x. It is passed to the estimators as
``dictionary=``; a kernel is the shorthand for the simplest. Dictionaries can be added:
``Features() + OneKernel()`` holds the functions of both.

=================  ================================================================
OneKernel          one kernel on training points, given centers or means of clusters
ManyKernels        several kernels on each point
ManyWidths         one kernel at several widths on each point
KernelPerClass     the kernel of its class on each point
AdaptiveGaussian   a Gaussian of its own width on each point (adaptive KMP)
OrientedGaussians  Gaussians along the local principal directions
Constant           the constant
Features           features and their products
Transformed        the outputs of a scikit-learn transformer
Callables          any functions of X
Precomputed        X is the matrix of the functions' values
=================  ================================================================

A new dictionary derives from `Dictionary` and needs one method, ``learn(sample)``,
which returns a list of `pursuit.functions.Functions`.
"""

from pursuit.sample import Sample

from ._base import Dictionary, Union
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
