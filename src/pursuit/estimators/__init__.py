"""The scikit-learn faces of the library, a file a family."""

from .bayes import DensityClassifier
from .density import ManifoldParzen, ParzenWindows
from .kmp import KMPClassifier, KMPRegressor
from .local_density import LocalGaussianDensity
from .outliers import DensityOutlierDetector
from .smoothers import KernelCentroidClassifier, NadarayaWatson

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
]
