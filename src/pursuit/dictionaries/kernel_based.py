"""Dictionaries of kernels on points: one, several, or one for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pursuit._parameters import is_word
from pursuit._removed import RemovedParameters
from pursuit.functions import Functions, KernelFunctions, VariedGaussians, join
from pursuit.kernels import Gaussian, Kernel, as_kernel
from pursuit.kernels.given import bound_to, check_given, is_precomputed
from pursuit.sample import Sample

from ._base import Dictionary, classes_of_points
from ._points import at_rows, points_of

# Multiples of the median rule that gamma="cv" may compare.
CV_MULTIPLES = (1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 16.0, 64.0, 256.0)
# Default multiples of gamma in `ManyWidths`.
OCTAVES = tuple(2.0**power for power in range(-4, 5))


def widths_to_compare(kernel: Any, gamma: Any, sample: Sample) -> list[Kernel]:
    """Return the kernel, bound, with each width that ``gamma`` stands for.

    ``gamma`` is for a kernel given by name; a kernel object has its own.
    """
    if is_precomputed(kernel):
        raise ValueError(
            "kernel='precomputed' stands for a matrix, which X is then: set it on the "
            "estimator, or use Precomputed(is_kernel=True) as the dictionary."
        )
    # The estimator takes a matrix, so the error lists that name with the others.
    check_given(kernel, gamma, names=("precomputed",), words=("cv",))
    if isinstance(kernel, Kernel):
        gamma = getattr(kernel, "gamma", None)
    is_searched = is_word(gamma, "cv")
    if is_searched and isinstance(kernel, Kernel):
        kernel = kernel.with_gamma("median")
    described = as_kernel(kernel, gamma="median" if is_searched else gamma)
    bound = bound_to(described, sample.X, sample.weight)
    if is_searched and hasattr(bound, "gamma"):
        return [bound.with_gamma(m * bound.gamma) for m in CV_MULTIPLES]
    return [bound]


# -- dictionaries ------------------------------------------------------------------


class OneKernel(RemovedParameters, Dictionary):
    """Functions k(., z) of one kernel on some points z.

    Parameters
    ----------
    kernel : str, Kernel or callable
        As `kernel` of the estimators; it need not be symmetric or positive definite.
    gamma : float or {"cv", "median", "scale", "auto"}
        Inverse squared width of a kernel given by name; larger is narrower. "cv"
        compares values on the estimator's folds. A kernel object has its own gamma,
        which may be "cv" too.
    centers : None, "random", "kmeans" or array of shape (n, d)
        Points z: all training points, a random sample of them, means of their
        clusters, or the given points.
    n_centers : int, optional
        Number of points for "random" and "kmeans".
    """

    _removed: ClassVar[dict[str, str]] = {
        "degree": "kernel=Polynomial(degree=...)",
        "coef0": "kernel=Polynomial(coef0=...) or kernel=Sigmoid(coef0=...)",
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "cv",
        centers: Any = None,
        n_centers: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.centers = centers
        self.n_centers = n_centers

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the kernel on the points, for each gamma to compare."""
        kernels = widths_to_compare(self.kernel, self.gamma, sample)
        points = points_of(self.centers, self.n_centers, sample)
        return [KernelFunctions(**points, kernel=kernel) for kernel in kernels]


class ManyKernels(Dictionary):
    """Several kernels on each point: the pursuit chooses kernel and point together.

    Parameters
    ----------
    kernels : sequence of str, Kernel or callable
        Kernels; those given by name use ``gamma="median"``.
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
        kernels: Any = self.kernels
        if not isinstance(kernels, (list, tuple)) or not kernels:
            raise ValueError(
                f"kernels={kernels!r} must be a list of one or more kernels."
            )
        points = points_of(self.centers, self.n_centers, sample)
        kernels = [bound_to(as_kernel(k), sample.X, sample.weight) for k in kernels]
        return [join([KernelFunctions(**points, kernel=k) for k in kernels])]


class ManyWidths(Dictionary):
    """One kernel at several widths on each point.

    The pursuit chooses width and point together: a smooth trend then takes a few wide
    functions, and a sharp bump a narrow one.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel with a parameter `gamma`, to whose value `multiples` refer.
    gamma : float or {"median", "scale", "auto"}
        Inverse squared width of a kernel given by name; larger is narrower.
    multiples : sequence of float
        The functions have these multiples of gamma.
    centers, n_centers
        As in `OneKernel`.

    Notes
    -----
    With W widths the dictionary has W times as many functions, and a fit takes about
    W times as long. Gaussians on one point share its distances: with many features,
    evaluating W widths takes little more time than one.
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
        """Return the kernel at every width on every point, point by point."""
        if is_word(self.gamma, "cv"):
            raise ValueError(
                "gamma='cv' compares one width with others, but ManyWidths puts them "
                "into one dictionary: use gamma='median', or OneKernel."
            )
        (kernel,) = widths_to_compare(self.kernel, self.gamma, sample)
        if not hasattr(kernel, "gamma"):
            raise ValueError(f"kernel={self.kernel!r} has no width gamma to vary.")
        gammas = [m * kernel.gamma for m in self._checked_multiples()]
        if not all(0 < gamma < np.inf for gamma in gammas):
            raise ValueError(
                f"multiples={self.multiples!r} of gamma={kernel.gamma:g} are too small "
                "or too large for a width."
            )
        points = points_of(self.centers, self.n_centers, sample)
        return [_at_widths(kernel, gammas, points)]

    def _checked_multiples(self) -> list[float]:
        try:
            values = np.atleast_1d(np.asarray(self.multiples, dtype=np.float64))
        except (TypeError, ValueError):
            values = np.empty(0)
        is_list = values.ndim == 1 and len(values) > 0
        if not is_list or not np.all((values > 0) & np.isfinite(values)):
            raise ValueError(
                f"multiples={self.multiples!r} must be one or more positive finite "
                "numbers."
            )
        if len(np.unique(values)) < len(values):
            raise ValueError(f"multiples={self.multiples!r} names a width twice.")
        return [float(value) for value in values]


def _at_widths(
    kernel: Kernel, gammas: Sequence[float], points: dict[str, Any]
) -> Functions:
    """Return the kernel at all widths on the points, point by point."""
    n_points, n_widths = len(points["numbers"]), len(gammas)
    place = np.repeat(np.arange(n_points), n_widths)
    if type(kernel) is Gaussian and n_widths > 1:
        # All Gaussians on a point share its distances.
        return VariedGaussians(
            points=points["points"],
            numbers=points["numbers"][place],
            on_rows=points["on_rows"],
            gammas=np.tile(gammas, n_points),
            place=place,
        )
    by_width = join(
        [KernelFunctions(**points, kernel=kernel.with_gamma(g)) for g in gammas]
    )
    return by_width[np.tile(np.arange(n_widths) * n_points, n_points) + place]


class KernelPerClass(Dictionary):
    """The kernel of its class on each training point (§9.4.1).

    Parameters
    ----------
    kernels : mapping from class to kernel, or one kernel
        Kernel of each class. For a kernel given by name, `gamma` is computed from the
        points of the class.
    gamma : float or {"median", "scale", "auto"}
        Inverse squared width of kernels given by name; larger is narrower.

    Notes
    -----
    Classes and gammas depend on the targets, so each fold has its own dictionary,
    without the held-out rows. If equal rows belong to several classes, the class of
    largest weight counts.
    """

    learns_from_targets = True

    def __init__(self, kernels: Any = "rbf", *, gamma: float | str = "median") -> None:
        self.kernels = kernels
        self.gamma = gamma

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions, in the order of the points."""
        if sample.labels is None:
            raise ValueError(
                "KernelPerClass needs classes: use it with KMPClassifier, or another "
                "dictionary for regression."
            )
        labels = classes_of_points(sample)
        by_class = join(
            [self._of_class(c, labels == c, sample) for c in np.unique(labels)]
        )
        return [by_class[np.argsort(np.argsort(labels, kind="stable"))]]

    def _of_class(self, label: Any, belongs: np.ndarray, sample: Sample) -> Functions:
        weight = np.where(sample.labels == label, sample.seen, 0.0)
        if not weight.any():
            # All rows of the class are held out: its functions cannot be chosen.
            weight = np.where(sample.labels == label, sample.weight, 0.0)
        kernel = as_kernel(self._kernel_for(label), gamma=self.gamma)
        points = at_rows(sample, sample.rows[belongs])
        return KernelFunctions(**points, kernel=bound_to(kernel, sample.X, weight))

    def _kernel_for(self, label: Any) -> Any:
        if not isinstance(self.kernels, Mapping):
            return self.kernels
        if label not in self.kernels:
            known = ", ".join(map(repr, self.kernels))
            raise ValueError(
                f"kernels has no kernel for the class {label}; it has {known}."
            )
        return self.kernels[label]
