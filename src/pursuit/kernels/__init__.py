"""Kernels: similarities k(x, z) between points, with widths computed from data.

A kernel holds its parameters and nothing else. ``k(X, Y)`` is the matrix of k(x, z)
for the rows x of X and z of Y, ``k.diag(X)`` the values k(x, x). Kernels can be added
and multiplied, with each other and with positive numbers. A rule for gamma, as in
``Gaussian(gamma="median")``, becomes a number through ``k.bind(X)``, which returns a
new kernel.

A new kernel derives from `Kernel` and needs one method, ``values(X, Y)``, called with
valid arrays. A function of the Euclidean distance derives from `Radial`, a function of
the product x·z from `DotProduct`; these need ``profile`` instead. A parameter for the
width is called ``gamma``, and larger is narrower. With ``slope``, the derivative of
the profile, such a kernel has gradients.

Letters: n rows of X, m rows of Y, d features.
"""

from ._base import Between, Constant, Kernel, Product, Scaled, Sum
from .dot_products import Cosine, DotProduct, Linear, Polynomial, Sigmoid
from .given import FunctionKernel, as_kernel
from .laplacian import Laplacian
from .metric import InMetric, factor_of
from .radial import Gaussian, InverseMultiquadric, Matern, Radial
from .widths import median_gamma, scale_gamma

__all__ = [
    "Between",
    "Constant",
    "Cosine",
    "DotProduct",
    "FunctionKernel",
    "Gaussian",
    "InMetric",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "Radial",
    "Scaled",
    "Sigmoid",
    "Sum",
    "as_kernel",
    "factor_of",
    "median_gamma",
    "scale_gamma",
]
