"""Densities of local Gaussians: the mathematics behind the estimators."""

from .mixture_pursuit import MixturePath

__all__ = ["MixturePath"]
