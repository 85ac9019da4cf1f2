"""Frames made again of the arrays that were made of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Framer:
    """Gives arrays the names of their columns back, as a frame of the same library.

    Attributes
    ----------
    library : {"pandas", "polars"}
    names : tuple of str
        Of all columns.
    """

    library: str
    names: tuple[str, ...]

    def __call__(self, X: np.ndarray) -> Any:
        """Return the frame whose columns are those of X (n, d)."""
        library: Any = import_module(self.library)
        if self.library == "pandas":
            return library.DataFrame(X, columns=list(self.names))
        return library.DataFrame(np.asarray(X), schema=list(self.names), orient="row")


def framer(X: Any, names: Any) -> Framer | None:
    """Return what makes arrays such frames as X is; None for what is no frame.

    ``names`` are those that scikit-learn found, None if there are none.
    """
    library = type(X).__module__.partition(".")[0]
    if names is None or library not in ("pandas", "polars"):
        return None
    return Framer(library, tuple(map(str, names)))
