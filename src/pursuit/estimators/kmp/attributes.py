"""The fitted attributes that a path, and a size on it, determine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pursuit.expansions import Expansion
from pursuit.functions import Functions
from pursuit.path import Path, SeparatePaths

# Number of training rows over which importances are averaged.
IMPORTANCE_ROWS = 1000


def path_attributes(
    path: Path | SeparatePaths, sizes: Sequence[int], functions: Functions
) -> dict[str, Any]:
    """Return the fitted attributes that a path, and a size on it, determine.

    ``functions`` are those of the path, in the order of its support.
    """
    support, coef, intercept = path.coefficients(sizes)
    is_all = np.array_equal(support, path.support)
    chosen = functions if is_all else functions[places_of(path.support, support)]
    return {
        "path_": path,
        "n_iter_": len(path),
        "support_": support,
        "dual_coef_": coef,
        "intercept_": intercept,
        "n_support_": len(support),
        "_sizes": list(sizes),
        "_path_functions": functions,
        "_expansion": Expansion(chosen, coef, intercept),
    }


def places_of(labels: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the positions of wanted labels among all, which differ."""
    order = np.argsort(labels)
    return order[np.searchsorted(labels, wanted, sorter=order)]
