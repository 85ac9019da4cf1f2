"""How the papers compare methods: a paired test, means and their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student


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
