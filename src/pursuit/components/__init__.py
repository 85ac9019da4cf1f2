"""Sparse kernel PCA and CCA, by greedy choice of points and deflation."""
