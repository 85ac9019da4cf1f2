"""Nearest neighbors by local subspaces: the mathematics behind the estimators."""

from .tangents import ImageTangents

__all__ = ["ImageTangents"]
