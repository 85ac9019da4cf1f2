"""Densities of local Gaussians, what is built on densities, and kernel smoothers."""

from .classifier import DensityClassifier
from .local_density import LocalGaussianDensity
from .outliers import DensityOutlierDetector
from .parzen import ManifoldParzen, ParzenWindows
from .smoothers import KernelCentroidClassifier, NadarayaWatson
from .sparse import SparseManifoldParzen

__all__ = [
    "DensityClassifier",
    "DensityOutlierDetector",
    "KernelCentroidClassifier",
    "LocalGaussianDensity",
    "ManifoldParzen",
    "NadarayaWatson",
    "ParzenWindows",
    "SparseManifoldParzen",
]
