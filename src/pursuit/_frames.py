"""Turn validated arrays back into pandas or polars frames."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Framer:
    """Turn arrays into frames with the original column names, in the same library.

    Attributes
    ----------
    library : {"pandas", "polars"}
    names : tuple of str
        Names of all columns.
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
    """Return the `Framer` for arrays made from X; None if X is no frame.

    ``names`` are the column names that scikit-learn found, None if there are none.
    """
    library = type(X).__module__.partition(".")[0]
    if names is None or library not in ("pandas", "polars"):
        return None
    return Framer(library, tuple(map(str, names)))
