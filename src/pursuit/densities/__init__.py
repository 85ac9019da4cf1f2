"""Densities of local Gaussians: the mathematics behind the estimators."""

from .sparse_mixtures import MixturePath

__all__ = ["MixturePath"]
