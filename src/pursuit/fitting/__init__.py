"""From data to a path and a size on it: what every pursuit estimator's ``fit`` does."""

from .procedure import REASONS, Fit, fit

__all__ = ["REASONS", "Fit", "fit"]
