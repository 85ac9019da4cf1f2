"""Random splits as in the thesis, and comparisons of methods over random splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student


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


@dataclass(frozen=True)
class TTest:
    """A paired comparison: mean difference, its standard error, p-value."""

    difference: float
    standard_error: float
    p_value: float


def resampled_t_test(a: Any, b: Any, test_share: float) -> TTest:
    r"""Compare two methods over random splits of one data set.

    This is the corrected resampled t-test, :math:`t = \bar d / \sqrt{(1/J + q) s^2}`
    with J - 1 degrees of freedom, for differences d over J splits, where q is the ratio
    of test to training rows. The term q accounts for the overlap of the splits, without
    which the test finds differences that do not exist.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Errors of the two methods on the same splits.
    test_share : float
        Ratio q of test to training rows.

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
    """Return the mean over splits and its standard error, None for a single split.

    Parameters
    ----------
    values : array-like of shape (n_splits,)
        Measurement on each split.
    n_published : int, optional
        Number of splits of the published mean. The error is then that of the difference
        of both means, which differ only by the choice of the splits: the data are the
        same.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return float(values.mean()), None
    share = 1.0 / len(values) + (1.0 / n_published if n_published else 0.0)
    return float(values.mean()), float(np.sqrt(share * values.var(ddof=1)))
