"""Nearest neighbours by local subspaces: the mathematics under the estimators."""

from .tangents import ImageTangents

__all__ = ["ImageTangents"]
