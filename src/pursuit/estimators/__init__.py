"""The scikit-learn estimators of the library, one module per family."""

from .components import SparseKernelCCA, SparseKernelPCA
from .densities import (
    DensityClassifier,
    DensityOutlierDetector,
    KernelCentroidClassifier,
    LocalGaussianDensity,
    ManifoldParzen,
    NadarayaWatson,
    ParzenWindows,
)
from .kmp import KMPClassifier, KMPRegressor
from .neighbor_regression import HKNNRegressor
from .neighbors import CKNNClassifier, HKNNClassifier

__all__ = [
    "CKNNClassifier",
    "DensityClassifier",
    "DensityOutlierDetector",
    "HKNNClassifier",
    "HKNNRegressor",
    "KMPClassifier",
    "KMPRegressor",
    "KernelCentroidClassifier",
    "LocalGaussianDensity",
    "ManifoldParzen",
    "NadarayaWatson",
    "ParzenWindows",
    "SparseKernelCCA",
    "SparseKernelPCA",
]
