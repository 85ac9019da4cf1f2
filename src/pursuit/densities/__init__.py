"""Densities of local Gaussians: the mathematics behind the estimators."""
