"""Random splits, as in the thesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Thirds:
    """Rows for training, validation and test."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def thirds(n_rows: int, seed: int) -> Thirds:
    """Split rows at random into three parts of equal size (thesis §9.5.3).

    Classes are not balanced, as the text does not say so. The remainder of the division
    goes to the test part.
    """
    rows = np.random.default_rng(seed).permutation(n_rows)
    third = n_rows // 3
    return Thirds(rows[:third], rows[third : 2 * third], rows[2 * third :])
