"""Sparse and local kernel models for scikit-learn."""

from .estimators import (
    CKNNClassifier,
    DensityClassifier,
    DensityOutlierDetector,
    HKNNClassifier,
    HKNNRegressor,
    KernelCentroidClassifier,
    KMPClassifier,
    KMPRegressor,
    LocalGaussianDensity,
    ManifoldParzen,
    NadarayaWatson,
    ParzenWindows,
    SparseKernelCCA,
    SparseKernelPCA,
)

__version__ = "0.1.0.dev0"

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
    "__version__",
]
