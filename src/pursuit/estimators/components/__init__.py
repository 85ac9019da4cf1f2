"""Sparse kernel PCA and CCA, and outliers by the distance from a subspace."""

from .cca import SparseKernelCCA
from .outliers import SubspaceOutlierDetector
from .pca import SparseKernelPCA

__all__ = ["SparseKernelCCA", "SparseKernelPCA", "SubspaceOutlierDetector"]
