"""The scikit-learn estimators of the library, one module per family."""

from .bayes import DensityClassifier
from .cca import SparseKernelCCA
from .kmp import KMPClassifier, KMPRegressor
from .local_density import LocalGaussianDensity
from .neighbors import CKNNClassifier, HKNNClassifier, HKNNRegressor
from .outliers import DensityOutlierDetector
from .parzen import ManifoldParzen, ParzenWindows
from .pca import SparseKernelPCA
from .smoothers import KernelCentroidClassifier, NadarayaWatson

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
