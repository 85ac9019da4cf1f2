"""Models in whole numbers, for devices without floating-point numbers."""

from .program import FixedProgram

__all__ = ["FixedProgram"]
