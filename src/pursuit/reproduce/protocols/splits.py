"""Rows drawn at random, as the thesis draws them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Thirds:
    """Rows to train on, to validate on and to test on."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def thirds(n_rows: int, seed: int) -> Thirds:
    """Split rows at random into three parts of equal size (thesis §9.5.3).

    Classes are not balanced, as nothing in the text says so. What is left over by the
    division goes to the test part.
    """
    rows = np.random.default_rng(seed).permutation(n_rows)
    third = n_rows // 3
    return Thirds(rows[:third], rows[third : 2 * third], rows[2 * third :])
