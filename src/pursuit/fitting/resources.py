"""What a fit may use, and how it draws candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Resources:
    """Memory and threads of a fit, and what it shows meanwhile.

    Attributes
    ----------
    memory : int
        Bytes that it may use.
    dtype : float64 or float32
        Type of stored kernel values.
    n_jobs : int or None
    verbose : int or bool
    """

    memory: int
    dtype: Any
    n_jobs: int | None
    verbose: int | bool

    def shared_by(self, n: int) -> Resources:
        """Return the share of each of ``n`` that run at once."""
        return replace(self, memory=self.memory // n)


@dataclass(frozen=True)
class Drawing:
    """Candidates drawn anew at each step.

    Attributes
    ----------
    n_candidates : int
        How many a step draws.
    seed : int
    """

    n_candidates: int
    seed: int

    def generator(self) -> np.random.Generator:
        """Return the random numbers of one pursuit."""
        return np.random.default_rng(self.seed)
