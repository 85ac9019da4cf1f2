"""Bounds on how often a function, or a pair of them, errs by more than alpha."""

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

    A term ``k log(./k)`` or ``t log(./t)`` is 0 at 0, and ``d + 1`` counts as at most
    ``4 (m-k-t)``, beyond which the first term would fall again: the inequality of
    Sauer behind it ends there.

    Parameters
    ----------
    n_samples : int
        ``m``.
    n_chosen : int
        ``k``, training points that the model's kernels are centred on.
    n_errors : int
        ``t``, rows outside these with a training error above ``alpha``.
    dimension : int, optional
        ``d``, functions in the span; ``k`` if not given, ``k + 1`` with a constant.
    n_candidates : int, optional
        ``M``, functions that the ``k`` were chosen from; ``m``, one for each row, if
        not given: more with several kernels or widths.
    delta : float
        The probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows, and ``alpha`` and the kernels with their widths fixed
    beforehand.  It holds for every function in the span of the chosen kernels, so for
    any loss, ridge or weights, and for all ``k`` and ``t`` at once.  Logarithms are to
    base 2.

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

    The same form as :func:`vc`.

    Parameters
    ----------
    n_samples, n_chosen, n_errors
        As in :func:`vc`; ``n_errors`` counts pairs outside the chosen ones.
    dimension : int, optional
        ``d`` in :func:`vc`; ``k`` if not given, as printed.
    delta : float
        The probability with which the bound may fail.

    Notes
    -----
    Assumes independent pairs and an ``alpha`` fixed beforehand.  The proof is that of
    Theorem 3, but here both projections have ``k`` coefficients (and a constant, where
    they are centred): it supports ``dimension=2 * k`` (``2 * k + 1``), which
    :meth:`pursuit.SparseKernelCCA.bound` uses.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    """
    return vc(n_samples, n_chosen, n_errors, dimension=dimension, delta=delta)


def _times_log2(n: int, numerator: float) -> float:
    return n * log2(numerator / n) if n else 0.0
