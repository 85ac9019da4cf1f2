"""The scikit-learn estimators of the library, one folder per family."""

from typing import TYPE_CHECKING

from pursuit._lazy import lazy_names

if TYPE_CHECKING:
    from .components import (
        SparseKernelCCA,
        SparseKernelPCA,
        SubspaceOutlierDetector,
    )
    from .densities import (
        DensityClassifier,
        DensityOutlierDetector,
        KernelCentroidClassifier,
        LocalGaussianDensity,
        ManifoldParzen,
        NadarayaWatson,
        ParzenWindows,
        SparseManifoldParzen,
    )
    from .kmp import KMPClassifier, KMPRanker, KMPRegressor
    from .metric import LearnedMetric
    from .neighbors import (
        CKNNClassifier,
        CondensedNeighbors,
        DropNeighbors,
        EditedNeighbors,
        HKNNClassifier,
        HKNNRegressor,
        PrototypePursuit,
    )

_FAMILIES = {
    "components": (
        "SparseKernelCCA",
        "SparseKernelPCA",
        "SubspaceOutlierDetector",
    ),
    "densities": (
        "DensityClassifier",
        "DensityOutlierDetector",
        "KernelCentroidClassifier",
        "LocalGaussianDensity",
        "ManifoldParzen",
        "NadarayaWatson",
        "ParzenWindows",
        "SparseManifoldParzen",
    ),
    "kmp": ("KMPClassifier", "KMPRanker", "KMPRegressor"),
    "metric": ("LearnedMetric",),
    "neighbors": (
        "CKNNClassifier",
        "CondensedNeighbors",
        "DropNeighbors",
        "EditedNeighbors",
        "HKNNClassifier",
        "HKNNRegressor",
        "PrototypePursuit",
    ),
}

__all__ = [
    "CKNNClassifier",
    "CondensedNeighbors",
    "DensityClassifier",
    "DensityOutlierDetector",
    "DropNeighbors",
    "EditedNeighbors",
    "HKNNClassifier",
    "HKNNRegressor",
    "KMPClassifier",
    "KMPRanker",
    "KMPRegressor",
    "KernelCentroidClassifier",
    "LearnedMetric",
    "LocalGaussianDensity",
    "ManifoldParzen",
    "NadarayaWatson",
    "ParzenWindows",
    "PrototypePursuit",
    "SparseKernelCCA",
    "SparseKernelPCA",
    "SparseManifoldParzen",
    "SubspaceOutlierDetector",
]

__getattr__, __dir__ = lazy_names(__name__, _FAMILIES)
