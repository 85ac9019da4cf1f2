r"""Generalization bounds: plain functions of numbers.

Each holds with probability ``1 - delta`` over the draw of ``m`` independent training
rows, under the assumptions that its docstring states.  The answer is a
:class:`Bound`: a float that knows the largest value its loss can take, and so whether
it says anything (``is_vacuous``).  A value above that is returned as it is: its course
along a path may still tell where to stop.

``path_.bound(...)`` of a fitted model reads the numbers off its path.
"""

from __future__ import annotations

from math import e, inf, lgamma, log, log2, sqrt

import numpy as np

from ._bound import Bound, BoundCurve
from ._parameters import is_number, positive_number, probability

__all__ = [
    "Bound",
    "BoundCurve",
    "cca",
    "finite_class",
    "kpca_compression",
    "kpca_curve",
    "kpca_eigenvalues",
    "mdl",
    "svm_leave_one_out",
    "vc",
]

# -- classifiers -------------------------------------------------------------------


def mdl(
    n_samples: int,
    n_errors: int,
    n_candidates: int,
    n_chosen: int,
    weight_bits: float,
    *,
    n_weights: int | None = None,
    n_classes: int = 2,
    label_bits: float | None = None,
    delta: float = 0.05,
) -> Bound:
    r"""Bound the error rate of a sparse classifier by its description length.

    .. math:: 2 C \ln 2 - \frac{2}{l} \ln\delta, \qquad C = \frac{1}{l\,b} \left[
        \log_2 \binom{l}{e} + e \log_2(c - 1) + \log_2 \binom{M}{N} + W p \right]

    with ``c`` classes: which of the ``l`` rows are wrong and what they are instead,
    which of ``M`` atoms were chosen, and ``W`` weights of ``p`` bits.

    Parameters
    ----------
    n_samples : int
        ``l``.
    n_errors : int
        ``e``, training errors of the classifier with its weights rounded.
    n_candidates, n_chosen : int
        ``M`` atoms in the dictionary, ``N`` of them in the model.
    weight_bits : float
        ``p``.
    n_weights : int, optional
        ``W``; ``N`` if not given, more with a constant or several outputs.
    n_classes : int
    label_bits : float, optional
        ``b``, what a label takes uncompressed; :math:`\log_2 c` if not given.
    delta : float
        The probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows, and ``N``, ``e`` and ``p`` fixed beforehand: a code would
    have to name them too, which the report leaves out as small.  Vapnik's theorem is
    about two classes.  For more, the report divides by :math:`\log_2 c`; the union
    bound behind it supports ``label_bits=1`` only.  More errors than guessing makes,
    :math:`l (c-1)/c`, would be fewer to describe again: they count as so many.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Kernel Matching Pursuit", technical report, 2000
       (after V. Vapnik, "The Nature of Statistical Learning Theory", 1995).
    """
    _check_counts(n_samples=n_samples, n_errors=n_errors, n_candidates=n_candidates)
    _check_share("n_errors", n_errors, "n_samples", n_samples)
    delta = probability("delta", delta)
    if not n_classes >= 2:
        raise ValueError(f"n_classes={n_classes!r} must be at least 2.")
    per_label = log2(n_classes) if label_bits is None else label_bits
    positive_number("label_bits", per_label)
    n_errors = min(n_errors, n_samples * (n_classes - 1) // n_classes)
    wrong = _log_binomial(n_samples, n_errors) + n_errors * log(n_classes - 1)
    nats = wrong + _log_class_size(n_candidates, n_chosen, weight_bits, n_weights)
    return Bound(2 * nats / (n_samples * per_label) - 2 / n_samples * log(delta))


def finite_class(
    n_samples: int,
    n_errors: int,
    n_candidates: int,
    n_chosen: int,
    weight_bits: float,
    *,
    n_weights: int | None = None,
    delta: float = 0.05,
) -> Bound:
    r"""Bound the error rate of one of finitely many classifiers.

    .. math:: \hat e + a \left(1 + \sqrt{1 + 2 \hat e / a}\right), \qquad
        a = \frac{\ln F - \ln\delta}{l}, \quad
        \ln F = \ln\binom{M}{N} + W p \ln 2

    with :math:`\hat e = e / l` the training error rate.

    Parameters
    ----------
    n_samples, n_errors, n_candidates, n_chosen, weight_bits, n_weights, delta
        As in :func:`mdl`.

    Notes
    -----
    Assumes independent rows, and a class (``M`` atoms, ``N`` of them, ``W`` weights of
    ``p`` bits) fixed beforehand; it then holds for every function of the class at
    once, however it was found.  Any number of classes.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Kernel Matching Pursuit", technical report, 2000
       (after V. Vapnik, "The Nature of Statistical Learning Theory", 1995).
    """
    _check_counts(n_samples=n_samples, n_errors=n_errors, n_candidates=n_candidates)
    _check_share("n_errors", n_errors, "n_samples", n_samples)
    nats = _log_class_size(n_candidates, n_chosen, weight_bits, n_weights)
    rate = n_errors / n_samples
    a = (nats - log(probability("delta", delta))) / n_samples
    return Bound(rate + a * (1 + sqrt(1 + 2 * rate / a)))


def svm_leave_one_out(n_support: float, n_samples: int) -> Bound:
    r"""Bound a support vector machine's expected error rate by :math:`E[\#SV] / l`.

    Parameters
    ----------
    n_support : float
        The expected number of support vectors; one machine's is an estimate of it.
    n_samples : int
        ``l``.

    Notes
    -----
    In expectation over training sets (of ``l - 1`` rows), not with high probability:
    a row that is no support vector is classified rightly when it is left out.

    References
    ----------
    .. [1] V. Vapnik, "The Nature of Statistical Learning Theory", 1995.
    """
    _check_counts(n_support=n_support, n_samples=n_samples)
    _check_share("n_support", n_support, "n_samples", n_samples)
    return Bound(n_support / n_samples)


# -- regression and correlation ----------------------------------------------------


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
    _check_counts(n_samples=n_samples, n_chosen=n_chosen, n_errors=n_errors)
    delta = probability("delta", delta)
    m, k, t = n_samples, n_chosen, n_errors
    _check_share("n_chosen + n_errors", k + t, "n_samples", m)
    d = k if dimension is None else dimension
    M = m if n_candidates is None else n_candidates
    _check_counts(dimension=d, n_candidates=M)
    _check_share("n_chosen", k, "n_candidates", M)
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


# -- subspaces ---------------------------------------------------------------------


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

    Theorem 2, and with ``R = 1`` (Gaussian kernel) Corollary 1, before the minimum
    over ``t`` is taken: they hold for all ``t`` at once, and more points only lower
    the residual, so the lowest value so far bounds every larger subspace.

    Parameters
    ----------
    n_samples : int
        ``m``.
    n_chosen : int
        ``t``, points that span the subspace.
    mean_residual : float
        The mean of ``|phi(x) - P phi(x)|**2`` over the ``m - t`` other rows.
    sup : float
        ``R``, the largest value that the residual can take: that of ``k(x, x)``.
    delta : float
        The probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows and a known ``sup``.  The choice of the points may depend
    on the rows in any way.  Printed with ``R`` under the root, which Hoeffding's
    inequality gives only for ``R = 1``.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    """
    _check_counts(n_samples=n_samples, n_chosen=n_chosen, mean_residual=mean_residual)
    _check_share("n_chosen", n_chosen, "n_samples", n_samples)
    penalty = compression_penalty(n_samples, n_chosen, sup=sup, delta=delta)
    return Bound(mean_residual + penalty, sup)


def compression_penalty(
    n_samples: int, n_chosen: int, *, sup: float, delta: float
) -> float:
    """Return what :func:`kpca_compression` adds to the residual: it grows with size."""
    m, t, delta = n_samples, n_chosen, probability("delta", delta)
    positive_number("sup", sup)
    if m == t:
        return inf
    nats = t * log(e * m / t) if t else 0.0
    nats += log(2 * m / delta)
    return sup * sqrt(nats / (2 * (m - t)))


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

    before the minimum over ``t``, as in :func:`kpca_compression`.

    Parameters
    ----------
    n_samples : int
        ``m``.
    n_components : int
        ``t``.
    tail : float
        The sum of the eigenvalues of the (not centred) kernel matrix after the first
        ``t``.
    mean_squared_diagonal : float
        The mean of ``k(x, x)**2`` over the rows.
    sup : float
        ``R**2``, the largest ``k(x, x)``.
    delta : float
        The probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows and a known ``sup``.

    References
    ----------
    .. [1] J. Shawe-Taylor, C. Williams, N. Cristianini and J. Kandola, "On the
       eigenspectrum of the Gram matrix and the generalization error of kernel-PCA",
       IEEE Transactions on Information Theory 51, 2510-2522, 2005.
    """
    _check_counts(n_samples=n_samples, n_components=n_components, tail=tail)
    _check_counts(mean_squared_diagonal=mean_squared_diagonal)
    _check_share("n_components", n_components, "n_samples", n_samples)
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
    """Return :func:`kpca_eigenvalues` at 0, 1, ... components of a kernel matrix.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Kernel values of the training rows, not centred.
    n_components : int, optional
        The most components; all if not given.
    sup : float, optional
        The largest value that ``k(x, x)`` can take; that among the rows if not given.
    delta : float
        The probability with which the bound may fail.

    Notes
    -----
    Assumes what :func:`kpca_eigenvalues` does.  Costs O(m³), for all eigenvalues.

    References
    ----------
    .. [1] As :func:`kpca_eigenvalues`.
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all():
        raise ValueError(f"K of shape {K.shape} must be square and finite.")
    m = len(K)
    diagonal = np.diagonal(K)
    sup = float(diagonal.max()) if sup is None else sup
    values = np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0)
    tails = np.append(values[::-1].cumsum()[::-1], 0.0)
    last = m if n_components is None else min(n_components, m)
    _check_counts(n_components=last)
    square = float(np.mean(diagonal**2))
    found = [
        kpca_eigenvalues(m, t, float(tails[t]), square, sup=sup, delta=delta)
        for t in range(last + 1)
    ]
    return BoundCurve("eigenvalues", np.array(found, dtype=np.float64), sup)


# -- parts -------------------------------------------------------------------------


def _log_class_size(
    n_candidates: int, n_chosen: int, weight_bits: float, n_weights: int | None
) -> float:
    """Return the logarithm of the number of functions."""
    n_weights = n_chosen if n_weights is None else n_weights
    _check_counts(n_chosen=n_chosen, weight_bits=weight_bits, n_weights=n_weights)
    _check_share("n_chosen", n_chosen, "n_candidates", n_candidates)
    return _log_binomial(n_candidates, n_chosen) + n_weights * weight_bits * log(2)


def _log_binomial(n: float, k: float) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _times_log2(n: int, numerator: float) -> float:
    return n * log2(numerator / n) if n else 0.0


def _check_counts(**values: float) -> None:
    for name, value in values.items():
        least = 1 if name == "n_samples" else 0
        if not (is_number(value) and least <= value < inf):
            raise ValueError(
                f"{name}={value!r} must be a finite number of at least {least}."
            )


def _check_share(name: str, part: float, of: str, whole: float) -> None:
    if part > whole:
        raise ValueError(f"{name}={part!r} must be at most {of}={whole!r}.")
