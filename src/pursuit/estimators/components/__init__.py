"""Sparse kernel PCA and CCA."""

from .cca import SparseKernelCCA
from .pca import SparseKernelPCA

__all__ = ["SparseKernelCCA", "SparseKernelPCA"]
