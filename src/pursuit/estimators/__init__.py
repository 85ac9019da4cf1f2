"""The scikit-learn estimators of the library, one folder per family."""

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
from .neighbors import CKNNClassifier, HKNNClassifier, HKNNRegressor

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
