"""Sparse kernel PCA and CCA: choose a point, deflate, go on."""
