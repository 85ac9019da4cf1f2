"""Bounds on the expected residual of a subspace of the feature space."""

from __future__ import annotations

from math import e, inf, lgamma, log, sqrt

import numpy as np
from scipy.special import betaincinv

from pursuit._parameters import positive_number, probability

from ._bound import Bound, BoundCurve
from ._checks import check_amounts, check_counts, check_share

# How far a symmetric matrix may be from its transpose, as a share of its values.
_ROUNDING = 1e-8


def kpca_compression(
    n_samples: int,
    n_chosen: int,
    mean_residual: float,
    *,
    sup: float = 1.0,
    delta: float = 0.05,
) -> Bound:
    r"""Bound the expected residual of a subspace spanned by training points.

    .. math:: \hat r_t + \sqrt{\frac{R^2}{2(m-t)} \left[
        t \ln\frac{em}{t} + \ln\frac{2m}{\delta} \right]}

    This is Theorem 2, and with ``R = 1`` (Gaussian kernel) Corollary 1, without the
    minimum over ``t``. They hold for all ``t`` at once, and more points only lower the
    residual, so the lowest value so far bounds every larger subspace.

    Parameters
    ----------
    n_samples : int
        Number ``m`` of training rows.
    n_chosen : int
        Number ``t`` of points that span the subspace.
    mean_residual : float
        Mean of ``|phi(x) - P phi(x)|**2`` over the ``m - t`` other rows.
    sup : float
        Largest possible residual ``R``, that is, the largest ``k(x, x)``.
    delta : float
        Probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows and a known ``sup``. The choice of the points may depend
    on the rows in any way. The paper has ``R`` under the root, which Hoeffding's
    inequality gives only for ``R = 1``.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    """
    check_counts(n_samples=n_samples, n_chosen=n_chosen)
    check_amounts(mean_residual=mean_residual)
    check_share("n_chosen", n_chosen, "n_samples", n_samples)
    penalty = compression_penalty(n_samples, n_chosen, sup=sup, delta=delta)
    return Bound(mean_residual + penalty, sup)


def compression_penalty(
    n_samples: int, n_chosen: int, *, sup: float, delta: float
) -> float:
    """Return the term that :func:`kpca_compression` adds; it grows with the size."""
    m, t, delta = n_samples, n_chosen, probability("delta", delta)
    positive_number("sup", sup)
    if m == t:
        return inf
    nats = t * log(e * m / t) if t else 0.0
    nats += log(2 * m / delta)
    return sup * sqrt(nats / (2 * (m - t)))


def false_alarms(
    n_samples: int, n_chosen: int, n_alarms: int, *, delta: float = 0.05
) -> Bound:
    r"""Bound how often new rows are farther from a subspace than a training row is.

    The largest rate ``p`` for which ``n_alarms`` or fewer among the other rows are not
    too few,

    .. math:: \Pr[\mathrm{Bin}(m - t - 1, p) \le e] \ge
        \frac{\delta}{m (m - t) \binom{m}{t}}.

    It is Theorem 2 of [1]_ for the indicator of an alarm: the ``t`` points and the row
    that sets the threshold are the compression set, and the binomial tail itself takes
    the place of Hoeffding's inequality.

    Parameters
    ----------
    n_samples : int
        Number ``m`` of training rows.
    n_chosen : int
        Number ``t`` of points that span the subspace.
    n_alarms : int
        Number ``e`` of other training rows that are farther than the threshold.
    delta : float
        Probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows, and a kernel that was fixed before. It holds for all sizes
    and thresholds at once, so that both may depend on the rows in any way.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    """
    check_counts(n_samples=n_samples, n_chosen=n_chosen, n_alarms=n_alarms)
    m, t, k = int(n_samples), int(n_chosen), int(n_alarms)
    n_others = m - t - 1
    if n_others < 0:
        raise ValueError(f"n_chosen={t} must be less than n_samples={m}.")
    check_share("n_alarms", k, "n_samples - n_chosen - 1", n_others)
    nats = log(m) + log(m - t) - log(probability("delta", delta))
    nats += lgamma(m + 1) - lgamma(t + 1) - lgamma(m - t + 1)
    if k == n_others:
        return Bound(1.0)
    if not k:
        # The quantile of the tail, which underflows where there are many nats.
        return Bound(-np.expm1(-nats / n_others))
    return Bound(1.0 - _least_miss(n_others, k, nats))


def _least_miss(n: int, k: int, nats: float) -> float:
    """Return the lowest q = 1 - p at which Bin(n, p) <= k has exp(-nats)."""
    share = np.exp(-nats)
    if share > 0:
        return float(betaincinv(n - k, k + 1, share))
    # Where the probability underflows: Chernoff's bound, which is not smaller.
    low, high = 0.0, 1.0 - k / n
    for _ in range(200):
        q = 0.5 * (low + high)
        kept, alarms = (n - k) / n, k / n
        divergence = kept * log(kept / q) + alarms * log(alarms / (1.0 - q))
        low, high = (q, high) if n * divergence > nats else (low, q)
    return low


def kpca_eigenvalues(
    n_samples: int,
    n_components: int,
    tail: float,
    mean_squared_diagonal: float,
    *,
    sup: float = 1.0,
    delta: float = 0.05,
) -> Bound:
    r"""Bound the expected residual of kernel PCA by the eigenvalues it leaves out.

    .. math:: \frac1m \sum_{j>t} \lambda_j + \frac{1+\sqrt t}{\sqrt m}
        \sqrt{\frac2m \sum_i k(x_i, x_i)^2} + R^2 \sqrt{\frac{18}{m}
        \ln\frac{2m}{\delta}}

    without the minimum over ``t``, as in :func:`kpca_compression`.

    Parameters
    ----------
    n_samples : int
        Number ``m`` of training rows.
    n_components : int
        Number ``t`` of components.
    tail : float
        Sum of the eigenvalues of the (not centered) kernel matrix after the first
        ``t``.
    mean_squared_diagonal : float
        Mean of ``k(x, x)**2`` over the rows.
    sup : float
        Largest ``k(x, x)``, that is, ``R**2``.
    delta : float
        Probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows and a known ``sup``.

    References
    ----------
    .. [1] J. Shawe-Taylor, C. Williams, N. Cristianini and J. Kandola, "On the
       eigenspectrum of the Gram matrix and the generalization error of kernel-PCA",
       IEEE Transactions on Information Theory 51, 2510-2522, 2005.
    """
    check_counts(n_samples=n_samples, n_components=n_components)
    check_amounts(tail=tail, mean_squared_diagonal=mean_squared_diagonal)
    check_share("n_components", n_components, "n_samples", n_samples)
    positive_number("sup", sup)
    m, t = n_samples, n_components
    value = tail / m + (1 + sqrt(t)) / sqrt(m) * sqrt(2 * mean_squared_diagonal)
    value += sup * sqrt(18 / m * log(2 * m / probability("delta", delta)))
    return Bound(value, sup)


def kpca_curve(
    K: np.ndarray,
    n_components: int | None = None,
    *,
    sup: float | None = None,
    delta: float = 0.05,
) -> BoundCurve:
    """Return the bound by eigenvalues at 0, 1, ... components of a kernel matrix.

    Each value is the lowest of :func:`kpca_eigenvalues` up to its size, and assumes
    what that does; ``terms`` of the curve are these before the minimum is taken.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Kernel values of the training rows, not centered.
    n_components : int, optional
        Maximum number of components; by default all.
    sup : float, optional
        Largest possible ``k(x, x)``; by default the largest among the rows.
    delta : float
        Probability with which the bound may fail.

    Notes
    -----
    The assumptions are those of :func:`kpca_eigenvalues`. The cost is O(m³), for all
    eigenvalues.

    References
    ----------
    .. [1] As :func:`kpca_eigenvalues`.
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all():
        raise ValueError(f"K of shape {K.shape} must be square and finite.")
    largest_gap = float(np.abs(K - K.T).max())
    if largest_gap > _ROUNDING * np.abs(K).max():
        raise ValueError(
            f"K must be symmetric; values across the diagonal differ by up to "
            f"{largest_gap:g}."
        )
    m = len(K)
    diagonal = np.diagonal(K)
    sup = float(diagonal.max()) if sup is None else sup
    values = np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0)
    tails = np.append(values[::-1].cumsum()[::-1], 0.0)
    last = m
    if n_components is not None:
        check_counts(n_components=n_components)
        last = min(int(n_components), m)
    square = float(np.mean(diagonal**2))
    curve = [
        kpca_eigenvalues(m, t, float(tails[t]), square, sup=sup, delta=delta)
        for t in range(last + 1)
    ]
    return BoundCurve.lowest_so_far("eigenvalues", curve, sup)
