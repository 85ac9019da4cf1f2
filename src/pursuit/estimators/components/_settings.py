"""Parameters that sparse kernel PCA and CCA share: kernels, samples, checks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from pursuit._limits import budget
from pursuit._parameters import (
    check_verbose,
    is_number,
    is_word,
    random_numbers,
    row_count,
    whole_number,
)
from pursuit._removed import RemovedParameters
from pursuit._rows import STRIDE, mixed, row_digests
from pursuit.components.choosing import Choosing
from pursuit.estimators._saving import Saved
from pursuit.kernels import Kernel, as_kernel
from pursuit.kernels.given import (
    TRIAL_ROWS,
    bound_to,
    check_given,
    is_precomputed,
)

# Above this many rows, subsample="auto" draws a sample of this size.
SAMPLED_ROWS = 5000


class SparseComponents(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Saved, RemovedParameters
):
    """Transformer whose components lie in the span of a few training points."""

    _removed: ClassVar[dict[str, str]] = {
        "degree": "kernel=Polynomial(degree=...)",
        "coef0": "kernel=Polynomial(coef0=...) or kernel=Sigmoid(coef0=...)",
    }

    kernel: Any
    subsample: int | float | str | None
    n_candidates: int | None
    tol: float
    max_memory: int | str | None
    random_state: Any
    verbose: int | bool
    n_components_: int

    def _choosing(self, contents: Any, n_rows: int, wanted: int | None) -> Choosing:
        """Return the checked settings of the choice of points.

        ``contents`` are the rows by which a sample is drawn, None if rows differ by
        their index only; ``wanted`` is the number of points to choose, None for no
        limit.
        """
        seed = self._seed()
        sample = _sample(self.subsample, contents, n_rows, seed)
        n_sampled = n_rows if sample is None else len(sample)
        return self._choosing_among(n_sampled, sample, seed, wanted)

    def _seed(self) -> int:
        """Return the seed of the sample and of the candidates drawn."""
        rng = random_numbers(self.random_state)
        return 0 if self.random_state is None else int(rng.randint(2**31 - 1))

    def _choosing_among(
        self, n_sampled: int, sample: np.ndarray | None, seed: int, wanted: int | None
    ) -> Choosing:
        """Return the checked settings of a choice among some rows."""
        n_drawn = whole_number("n_candidates", self.n_candidates, 1, (None,))
        if not is_number(self.tol) or not 0 <= self.tol < 1:
            raise ValueError(
                f"tol={self.tol!r} must be a number from 0 to less than 1."
            )
        check_verbose(self.verbose)
        return Choosing(
            max_steps=n_sampled if wanted is None else min(wanted, n_sampled),
            sample=sample,
            n_drawn=n_drawn,
            tol=float(self.tol),
            memory=budget(self.max_memory),
            seed=seed,
            verbose=int(self.verbose or 0),
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def bound_kernel(
    kernel: Any, gamma: Any, X: Any, view: str = "X", weight: Any = None
) -> Kernel | None:
    """Return the kernel with a numeric gamma; None if it is precomputed.

    ``view`` is "y" for the second view; ``weight`` are weights of the rows.
    """
    # None is KernelPCA's word for 1 / n_features.
    gamma = "auto" if gamma is None else gamma
    check_given(
        kernel,
        gamma,
        names=("precomputed",),
        words=(None,) if view == "X" else (None, "same"),
        suffix="" if view == "X" else f"_{view}",
    )
    if is_precomputed(kernel):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs a square matrix at fit, got {X.shape}."
            )
        _check_symmetric(X[:TRIAL_ROWS, :TRIAL_ROWS], kernel)
        return None
    described = as_kernel(kernel, gamma)
    if isinstance(kernel, str) and hasattr(described, "coef0"):
        # The default of KernelPCA.
        described = clone(described).set_params(coef0=1.0)
    bound = bound_to(described, X, weight, name=view)
    if not bound.symmetric:
        _check_symmetric(bound(X[:TRIAL_ROWS]), kernel)
    return bound


def _check_symmetric(K: np.ndarray, kernel: Any) -> None:
    if not np.allclose(K, K.T):
        raise ValueError(
            f"kernel={kernel!r} gives a matrix that is not symmetric; a positive "
            "semi-definite kernel is needed."
        )


def check_square_or_support(
    X: Any, n_features: int, support: np.ndarray, name: str = "X"
) -> np.ndarray:
    """Return the kernel values with the support points.

    ``X`` holds them with all training rows, or with the support points only.
    """
    if X.shape[1] == n_features:
        return X[:, support]
    if X.shape[1] == len(support):
        return X
    raise ValueError(
        f"{name} has {X.shape[1]} columns; kernel='precomputed' needs the kernel with "
        f"all {n_features} training rows, or with the {len(support)} support points."
    )


def _sample(value: Any, contents: Any, n_rows: int, seed: int) -> np.ndarray | None:
    """Return the rows on which the choice is made, None for all rows."""
    n = sample_size(value, n_rows)
    return None if n >= n_rows else drawn_by_content(contents, n, seed, n_rows)


def drawn_by_content(
    contents: Any, n: int, seed: int, n_rows: int | None = None
) -> np.ndarray:
    """Return ``n`` random rows in order; the order of all rows does not matter.

    ``contents`` may be None if rows differ by their index only.
    """
    every = np.arange(contents.shape[0] if n_rows is None else n_rows)
    digests = _told_apart(row_digests(contents, every, seed))
    return np.sort(np.argsort(digests, kind="stable")[:n])


def _told_apart(digests: np.ndarray) -> np.ndarray:
    """Return equally random numbers that differ between equal rows.

    Otherwise a sample would hold all of some equal rows, or none.
    """
    _, group, sizes = np.unique(digests, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    place = np.empty(len(group), dtype=np.uint64)
    place[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return mixed(digests + place * STRIDE)


def sample_size(value: Any, n_rows: int) -> int:
    """Return the number of rows on which the choice is made."""
    if value is None:
        return n_rows
    if is_word(value, "auto"):
        return SAMPLED_ROWS
    return row_count("subsample", value, n_rows, ("auto", None))
