"""What exporters raise."""

__all__ = ["UnsupportedError"]


class UnsupportedError(ValueError):
    """A part of a model that has no formula, such as a function of the user's own."""
