"""Kernels on points: one, several, one for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from pursuit._rows import row_digests
from pursuit._widths import RULES
from pursuit.dictionaries._base import Dictionary, Sample, check_count
from pursuit.functions import Functions, KernelFunctions, join
from pursuit.kernels import NAMED, Kernel, as_kernel

# Widths that gamma="cv" may compare, as multiples of the median rule's.
GAMMA_MULTIPLES = (1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 16.0, 64.0, 256.0)
# Widths in one dictionary, as multiples of the median rule's.
OCTAVES = tuple(2.0**power for power in range(-4, 5))


def widths_to_compare(kernel: Any, gamma: Any, sample: Sample, **more: Any) -> list:
    """Return the kernel, bound, with each width that ``gamma`` stands for."""
    if isinstance(kernel, str):
        check_named(kernel, gamma)
    is_searched = isinstance(gamma, str) and gamma == "cv"
    described = as_kernel(kernel, gamma="median" if is_searched else gamma, **more)
    bound = described.bind(sample.X, sample.weight)
    if is_searched and isinstance(kernel, str) and hasattr(bound, "gamma"):
        return [with_gamma(bound, m * bound.gamma) for m in GAMMA_MULTIPLES]
    return [bound]


def check_named(kernel: str, gamma: Any) -> None:
    """Raise a ValueError unless the kernel's name and width are known."""
    if kernel not in NAMED:
        names = ", ".join(map(repr, (*NAMED, "precomputed")))
        raise ValueError(
            f"kernel={kernel!r} is unknown; the names are {names}. A kernel object or "
            "a function k(X, Y) will do too."
        )
    is_word = isinstance(gamma, str) and gamma in ("cv", *RULES)
    is_number = isinstance(gamma, (int, float, np.integer, np.floating))
    is_width = is_number and not isinstance(gamma, bool) and 0 < gamma < np.inf
    if hasattr(NAMED[kernel](), "gamma") and not is_word and not is_width:
        words = ", ".join(map(repr, ("cv", *RULES)))
        raise ValueError(
            f"gamma={gamma!r} must be a positive finite number or one of {words}."
        )


def with_gamma(kernel: Kernel, gamma: float) -> Kernel:
    """Return the kernel with another width."""
    return type(kernel)(**{**kernel.get_params(deep=False), "gamma": gamma})


# -- points ------------------------------------------------------------------------


def points_of(centers: Any, n_centers: Any, sample: Sample, who: Any) -> dict[str, Any]:
    """Return what a collection of centred functions needs to know of its points.

    Parameters
    ----------
    centers : None, "random", "kmeans" or array of shape (n, d)
        Training points, some of them, means of clusters, or points given.
    n_centers : int or None
        Of "random" and "kmeans".
    """
    if centers is None:
        return _at_rows(sample, sample.rows)
    if not isinstance(centers, str):
        return _given(centers, sample, who)
    if centers not in ("random", "kmeans"):
        raise ValueError(
            f"centers={centers!r} must be None, 'random', 'kmeans' or an array, in "
            f"{who}."
        )
    n = min(check_count("n_centers", n_centers, 1, who), len(sample.rows))
    if centers == "random":
        # By content, so that neither the order of rows nor repeated rows matter.
        order = np.argsort(row_digests(sample.X, sample.rows, sample.seed))
        return _at_rows(sample, np.sort(sample.rows[order[:n]]))
    return {"points": _means(n, sample), "numbers": np.arange(n), "on_rows": False}


def _at_rows(sample: Sample, rows: np.ndarray) -> dict[str, Any]:
    every = len(rows) == sample.X.shape[0]
    points = sample.X if every else sample.X[rows]
    return {"points": points, "numbers": rows, "on_rows": True}


def _given(centers: Any, sample: Sample, who: Any) -> dict[str, Any]:
    points: Any = centers.tocsr() if sp.issparse(centers) else np.asarray(centers)
    n_features = sample.X.shape[1]
    if points.ndim != 2 or points.shape[1] != n_features or not points.shape[0]:
        raise ValueError(
            f"centers must be an array of shape (n, {n_features}) with n ≥ 1, as X has "
            f"{n_features} features; got shape {points.shape} in {who}."
        )
    points = points.astype(np.float64, copy=False)
    if not np.isfinite(points.data if sp.issparse(points) else points).all():
        raise ValueError(f"centers must be finite numbers, in {type(who).__name__}.")
    if sp.issparse(sample.X) and not sp.issparse(points):
        points = sp.csr_array(points)
    elif sp.issparse(points) and not sp.issparse(sample.X):
        points = points.toarray()
    numbers = np.arange(points.shape[0])
    return {"points": points, "numbers": numbers, "on_rows": False}


def _means(n: int, sample: Sample) -> np.ndarray:
    """Return the means of ``n`` clusters, by content: as for "random"."""
    used = np.flatnonzero(sample.weight > 0)
    digests = row_digests(sample.X, used, sample.seed)
    _, first, group = np.unique(digests, return_index=True, return_inverse=True)
    weight = np.bincount(group, weights=sample.weight[used])
    model = KMeans(min(n, len(first)), n_init=3, random_state=sample.seed)
    means = model.fit(sample.X[used[first]], sample_weight=weight).cluster_centers_
    return sp.csr_array(means) if sp.issparse(sample.X) else means


# -- dictionaries ------------------------------------------------------------------


class OneKernel(Dictionary):
    """k(., z) for one kernel and some points z.

    Parameters
    ----------
    kernel : str, Kernel or callable
        As the estimators' `kernel`; it need be neither symmetric nor positive
        definite.
    gamma : float or {"cv", "median", "scale", "auto"}
        The width of a kernel given by name. "cv": compared by the estimator's folds.
    degree, coef0
        Of the kernels that have them.
    centers : None, "random", "kmeans" or array of shape (n, d)
        The points: the training points, some of them at random, the means of clusters
        of them, or these.
    n_centers : int, optional
        How many with "random" and "kmeans".
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "cv",
        degree: int = 3,
        coef0: float = 0.0,
        centers: Any = None,
        n_centers: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.centers = centers
        self.n_centers = n_centers

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the kernel on the points, for each width that is compared."""
        kernels = widths_to_compare(
            self.kernel, self.gamma, sample, degree=self.degree, coef0=self.coef0
        )
        points = points_of(self.centers, self.n_centers, sample, self)
        return [KernelFunctions(**points, kernel=kernel) for kernel in kernels]


class ManyKernels(Dictionary):
    """Several kernels on each point: the pursuit picks kernel and place together.

    Parameters
    ----------
    kernels : sequence of str, Kernel or callable
        Named ones have the median rule's width.
    centers, n_centers
        As in `OneKernel`.
    """

    def __init__(
        self,
        kernels: Sequence[Any] = ("rbf", "linear"),
        *,
        centers: Any = None,
        n_centers: int | None = None,
    ) -> None:
        self.kernels = kernels
        self.centers = centers
        self.n_centers = n_centers

    def learn(self, sample: Sample) -> list[Functions]:
        """Return every kernel on every point, kernel by kernel."""
        if isinstance(self.kernels, str) or not len(self.kernels):
            raise ValueError(
                f"kernels={self.kernels!r} must be a list of one or more kernels."
            )
        points = points_of(self.centers, self.n_centers, sample, self)
        kernels = [
            as_kernel(kernel).bind(sample.X, sample.weight) for kernel in self.kernels
        ]
        return [join([KernelFunctions(**points, kernel=k) for k in kernels])]


class ManyWidths(Dictionary):
    """One kernel at several widths on each point: width and place together.

    A smooth trend then takes a few wide functions and a sharp bump a narrow one.

    Parameters
    ----------
    kernel : str or Kernel
        One with a width; its own one is what `multiples` refer to.
    gamma : float or {"median", "scale", "auto"}
        The width of a kernel given by name.
    multiples : sequence of float
        The widths in the dictionary are these multiples of gamma.
    centers, n_centers
        As in `OneKernel`.

    Notes
    -----
    With W widths the dictionary has W times as many functions, and a fit takes about
    W times as long.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "median",
        multiples: Sequence[float] = OCTAVES,
        centers: Any = None,
        n_centers: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.multiples = multiples
        self.centers = centers
        self.n_centers = n_centers

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the kernel at every width on every point, from wide to narrow."""
        if isinstance(self.gamma, str) and self.gamma == "cv":
            raise ValueError(
                "gamma='cv' compares one width with others, but ManyWidths puts them "
                "into one dictionary: use gamma='median', or OneKernel."
            )
        (kernel,) = widths_to_compare(self.kernel, self.gamma, sample)
        if not hasattr(kernel, "gamma"):
            raise ValueError(f"kernel={self.kernel!r} has no width gamma to vary.")
        gammas = [m * kernel.gamma for m in self._checked_multiples()]
        points = points_of(self.centers, self.n_centers, sample, self)
        return [
            join(
                [
                    KernelFunctions(**points, kernel=with_gamma(kernel, g))
                    for g in gammas
                ]
            )
        ]

    def _checked_multiples(self) -> list[float]:
        values = np.atleast_1d(np.asarray(self.multiples, dtype=np.float64))
        if values.ndim != 1 or not len(values) or not np.all(values > 0):
            raise ValueError(
                f"multiples={self.multiples!r} must be one or more positive numbers."
            )
        if any(a == b for a, b in pairwise(np.sort(values))):
            raise ValueError(f"multiples={self.multiples!r} names a width twice.")
        return [float(value) for value in values if np.isfinite(value)]


class KernelPerClass(Dictionary):
    """On each training point the kernel of the point's class (§9.4.1).

    Parameters
    ----------
    kernels : mapping from class to kernel, or one kernel
        A kernel given by name has, in each class, the width that `gamma` makes of the
        points of that class.
    gamma : float or {"median", "scale", "auto"}
        Of kernels given by name.
    """

    def __init__(self, kernels: Any = "rbf", *, gamma: float | str = "median") -> None:
        self.kernels = kernels
        self.gamma = gamma

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions class by class."""
        if sample.labels is None:
            raise ValueError(
                "KernelPerClass needs classes: use it with KMPClassifier, or another "
                "dictionary for regression."
            )
        labels = _labels_of_sets(sample)
        return [
            join([self._of_class(c, labels == c, sample) for c in np.unique(labels)])
        ]

    def _of_class(self, label: Any, belongs: np.ndarray, sample: Sample) -> Functions:
        rows = sample.rows[belongs]
        weight = np.where(sample.labels == label, sample.weight, 0.0)
        kernel = as_kernel(self._kernel_for(label), gamma=self.gamma)
        bound = kernel.bind(sample.X, weight)
        return KernelFunctions(**_at_rows(sample, rows), kernel=bound)

    def _kernel_for(self, label: Any) -> Any:
        if not isinstance(self.kernels, Mapping):
            return self.kernels
        if label not in self.kernels:
            known = ", ".join(map(repr, self.kernels))
            raise ValueError(
                f"kernels has no kernel for the class {label!r}; it has {known}."
            )
        return self.kernels[label]


def _labels_of_sets(sample: Sample) -> np.ndarray:
    """Return the class of each point: of equal rows in several classes, the lowest."""
    assert sample.labels is not None
    classes, codes = np.unique(sample.labels, return_inverse=True)
    used = np.flatnonzero(sample.weight > 0)
    digests = row_digests(sample.X, np.concatenate([sample.rows, used]), 0)
    _, group = np.unique(digests, return_inverse=True)
    lowest = np.full(group.max() + 1, len(classes))
    np.minimum.at(lowest, group[len(sample.rows) :], codes[used])
    of_points = lowest[group[: len(sample.rows)]]
    own = codes[sample.rows]
    return classes[np.where(of_points < len(classes), of_points, own)]
