"""How the papers split data and compare methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.stats import t as student


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


@dataclass(frozen=True)
class TTest:
    """A paired comparison: mean difference, its standard error, p-value."""

    difference: float
    standard_error: float
    p_value: float


def resampled_t_test(a: Any, b: Any, test_share: float) -> TTest:
    r"""Compare two methods over random splits of one data set.

    The corrected resampled t-test: :math:`t = \bar d / \sqrt{(1/J + q) s^2}` with J - 1
    degrees of freedom, for differences d over J splits and q the number of test rows
    over that of training rows. The term q stands for the overlap of the splits, without
    which the test finds differences where there are none.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Errors of the two methods on the same splits.
    test_share : float
        q.

    Returns
    -------
    TTest
        Difference of the means of `a` and `b`; two-sided p-value.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine Learning
    52, 239-281, 2003.
    """
    d = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    mean, n = float(d.mean()), len(d)
    error = float(np.sqrt((1.0 / n + test_share) * d.var(ddof=1)))
    if error <= 1e-12 * abs(mean):  # all differences are equal
        return TTest(mean, 0.0, 1.0 if mean == 0.0 else 0.0)
    return TTest(mean, error, float(2.0 * student.sf(abs(mean) / error, n - 1)))


def mean_and_error(
    values: Any, n_published: int | None = None
) -> tuple[float, float | None]:
    """Return a mean over splits and a standard error, None of a single split.

    Parameters
    ----------
    values : array-like of shape (n_splits,)
        What was measured on each split.
    n_published : int, optional
        Of how many splits the published figure is the mean. The error is then that of
        the difference of both means, which differ by the choice of the splits only:
        the data are the same.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return float(values.mean()), None
    share = 1.0 / len(values) + (1.0 / n_published if n_published else 0.0)
    return float(values.mean()), float(np.sqrt(share * values.var(ddof=1)))


def smoothed(images: np.ndarray, background: float = -1.0) -> np.ndarray:
    """Smooth square images, rows of pixels, by a Gaussian of 0.75 pixel.

    USPS was smoothed so before the experiments of chapters 9, 11 and 13; outside the
    image there is background.
    """
    side = int(np.sqrt(images.shape[1]))
    raised = images.reshape(-1, side, side) - background
    blurred = gaussian_filter(raised, (0.0, 0.75, 0.75), mode="constant")
    return blurred.reshape(images.shape) + background
