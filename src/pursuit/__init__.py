"""Kernel matching pursuit: sparse kernel models for scikit-learn."""

from .estimators import (
    DensityClassifier,
    DensityOutlierDetector,
    KernelCentroidClassifier,
    KMPClassifier,
    KMPRegressor,
    LocalGaussianDensity,
    ManifoldParzen,
    NadarayaWatson,
    ParzenWindows,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "DensityClassifier",
    "DensityOutlierDetector",
    "KMPClassifier",
    "KMPRegressor",
    "KernelCentroidClassifier",
    "LocalGaussianDensity",
    "ManifoldParzen",
    "NadarayaWatson",
    "ParzenWindows",
    "__version__",
]
