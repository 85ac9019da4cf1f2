"""The fit of a KMP estimator: from data to a path and a size on it."""

from .procedure import REASONS, Fit, fit

__all__ = ["REASONS", "Fit", "fit"]
