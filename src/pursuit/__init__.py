"""Sparse and local kernel models for scikit-learn."""

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .estimators import (
        CKNNClassifier,
        CondensedNeighbors,
        DensityClassifier,
        DensityOutlierDetector,
        DropNeighbors,
        EditedNeighbors,
        HKNNClassifier,
        HKNNRegressor,
        KernelCentroidClassifier,
        KMPClassifier,
        KMPRanker,
        KMPRegressor,
        LearnedMetric,
        LocalGaussianDensity,
        ManifoldParzen,
        NadarayaWatson,
        ParzenWindows,
        PrototypePursuit,
        SparseKernelCCA,
        SparseKernelPCA,
        SparseManifoldParzen,
        SubspaceOutlierDetector,
    )
    from .files import load, save
    from .selection import (
        CrossValidation,
        FixedSize,
        LeaveOneOut,
        MinimalBound,
        Validation,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "CKNNClassifier",
    "CondensedNeighbors",
    "CrossValidation",
    "DensityClassifier",
    "DensityOutlierDetector",
    "DropNeighbors",
    "EditedNeighbors",
    "FixedSize",
    "HKNNClassifier",
    "HKNNRegressor",
    "KMPClassifier",
    "KMPRanker",
    "KMPRegressor",
    "KernelCentroidClassifier",
    "LearnedMetric",
    "LeaveOneOut",
    "LocalGaussianDensity",
    "ManifoldParzen",
    "MinimalBound",
    "NadarayaWatson",
    "ParzenWindows",
    "PrototypePursuit",
    "SparseKernelCCA",
    "SparseKernelPCA",
    "SparseManifoldParzen",
    "SubspaceOutlierDetector",
    "Validation",
    "__version__",
    "load",
    "save",
]

_SELECTION = (
    "CrossValidation",
    "FixedSize",
    "LeaveOneOut",
    "MinimalBound",
    "Validation",
)
_FILES = ("load", "save")
_OTHERS = (*_SELECTION, *_FILES, "__version__")
_ESTIMATORS = tuple(n for n in __all__ if n not in _OTHERS)

_SUBMODULES = (
    "batches",
    "bounds",
    "components",
    "dask",
    "datasets",
    "densities",
    "dictionaries",
    "estimators",
    "explain",
    "export",
    "files",
    "functions",
    "inspection",
    "kernels",
    "losses",
    "methods",
    "metrics",
    "neighbors",
    "path",
    "ranking",
    "report",
    "sample",
    "selection",
)

__getattr__, __dir__ = lazy_names(
    __name__,
    {"estimators": _ESTIMATORS, "files": _FILES, "selection": _SELECTION},
    _SUBMODULES,
)
