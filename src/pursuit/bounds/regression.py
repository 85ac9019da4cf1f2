"""Bounds on how often the error of a function, or of a pair, exceeds alpha."""

from __future__ import annotations

from math import e, inf, log2

from pursuit._parameters import probability

from ._bound import Bound
from ._checks import check_counts, check_share


def vc(
    n_samples: int,
    n_chosen: int,
    n_errors: int,
    *,
    dimension: int | None = None,
    n_candidates: int | None = None,
    delta: float = 0.05,
) -> Bound:
    r"""Bound the share of rows with ``|f(x) - y| > alpha`` (Theorem 3).

    .. math:: \frac{2}{m-k-t} \left[ (d+1) \log_2 \frac{4e(m-k-t)}{d+1} +
        k \log_2 \frac{eM}{k} + t \log_2 \frac{e(m-k)}{t} +
        \log_2 \frac{2m^2}{\delta} \right]

    The terms ``k log(./k)`` and ``t log(./t)`` are 0 at 0, and ``d + 1`` counts as at
    most ``4 (m-k-t)``: beyond that, the first term would decrease again, and Sauer's
    inequality, on which it rests, does not apply.

    Parameters
    ----------
    n_samples : int
        Number ``m`` of training rows.
    n_chosen : int
        Number ``k`` of training points on which the model's kernels are centered.
    n_errors : int
        Number ``t`` of other rows with a training error above ``alpha``.
    dimension : int, optional
        Dimension ``d`` of the span; by default ``k``. It is ``k + 1`` with a constant.
    n_candidates : int, optional
        Number ``M`` of functions from which the ``k`` were chosen; by default ``m``,
        one for each row. There are more with several kernels or widths.
    delta : float
        Probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows, and ``alpha`` and the kernels with their widths fixed in
    advance. It holds for every function in the span of the chosen kernels, so for any
    loss, ridge or weights, and for all ``k`` and ``t`` at once. Logarithms are to base
    2.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    """
    check_counts(n_samples=n_samples, n_chosen=n_chosen, n_errors=n_errors)
    delta = probability("delta", delta)
    m, k, t = n_samples, n_chosen, n_errors
    check_share("n_chosen + n_errors", k + t, "n_samples", m)
    d = k if dimension is None else dimension
    M = m if n_candidates is None else n_candidates
    check_counts(dimension=d, n_candidates=M)
    check_share("n_chosen", k, "n_candidates", M)
    rest = m - k - t
    if rest == 0:
        return Bound(inf)
    bits = _times_log2(min(d + 1, 4 * rest), 4 * e * rest) + _times_log2(k, e * M)
    bits += _times_log2(t, e * (m - k)) + log2(2 * m**2 / delta)
    return Bound(2 / rest * bits)


def cca(
    n_samples: int,
    n_chosen: int,
    n_errors: int,
    *,
    dimension: int | None = None,
    delta: float = 0.05,
) -> Bound:
    r"""Bound the share of pairs with ``|f_x(x) - f_y(y)| > alpha`` (Theorem 4).

    The formula is that of :func:`vc`.

    Parameters
    ----------
    n_samples, n_chosen, n_errors
        As in :func:`vc`; ``n_errors`` counts pairs outside the chosen ones.
    dimension : int, optional
        Dimension ``d`` in :func:`vc`; by default ``k``, as in the paper.
    delta : float
        Probability with which the bound may fail.

    Notes
    -----
    Assumes independent pairs and an ``alpha`` fixed in advance. The proof is that of
    Theorem 3, but here both projections have ``k`` coefficients (and a constant, if
    they are centered): it supports ``dimension=2 * k`` (``2 * k + 1``), which
    :meth:`pursuit.SparseKernelCCA.bound` uses.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    """
    return vc(n_samples, n_chosen, n_errors, dimension=dimension, delta=delta)


def _times_log2(n: int, numerator: float) -> float:
    return n * log2(numerator / n) if n else 0.0
