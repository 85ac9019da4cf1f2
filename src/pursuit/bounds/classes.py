"""Bounds on the error rate of classifiers."""

from __future__ import annotations

from math import lgamma, log, log2, sqrt

from pursuit._parameters import positive_number, probability

from ._bound import Bound
from ._checks import check_amounts, check_counts, check_share


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

    with ``c`` classes. The code names which of the ``l`` rows are misclassified and
    their true classes, which of ``M`` atoms were chosen, and ``W`` weights of ``p``
    bits.

    Parameters
    ----------
    n_samples : int
        Number ``l`` of training rows.
    n_errors : int
        Number ``e`` of training errors of the classifier with rounded weights.
    n_candidates, n_chosen : int
        Number ``M`` of atoms in the dictionary, and ``N`` of atoms in the model.
    weight_bits : float
        Bits ``p`` per weight.
    n_weights : int, optional
        Number ``W`` of weights; by default ``N``. There are more with a constant or
        several outputs.
    n_classes : int
        Number ``c`` of classes.
    label_bits : float, optional
        Bits ``b`` of an uncompressed label; by default :math:`\log_2 c`.
    delta : float
        Probability with which the bound may fail.

    Notes
    -----
    Assumes independent rows, and ``N``, ``e`` and ``p`` fixed in advance: a code would
    have to name them too, which the report neglects as small. Vapnik's theorem is for
    two classes. For more, the report divides by :math:`\log_2 c`, but the underlying
    union bound supports ``label_bits=1`` only. More errors than by guessing,
    :math:`l (c-1)/c`, would again have a shorter description: they count as that
    number.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Kernel Matching Pursuit", technical report, 2000
       (after V. Vapnik, "The Nature of Statistical Learning Theory", 1995).
    """
    check_counts(n_samples=n_samples, n_errors=n_errors, n_candidates=n_candidates)
    check_share("n_errors", n_errors, "n_samples", n_samples)
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
    Assumes independent rows, and a class of functions (``N`` of ``M`` atoms, ``W``
    weights of ``p`` bits) fixed in advance. It then holds for all functions of the
    class at once, however one was found, and for any number of classes.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Kernel Matching Pursuit", technical report, 2000
       (after V. Vapnik, "The Nature of Statistical Learning Theory", 1995).
    """
    check_counts(n_samples=n_samples, n_errors=n_errors, n_candidates=n_candidates)
    check_share("n_errors", n_errors, "n_samples", n_samples)
    nats = _log_class_size(n_candidates, n_chosen, weight_bits, n_weights)
    rate = n_errors / n_samples
    a = (nats - log(probability("delta", delta))) / n_samples
    return Bound(rate + a * (1 + sqrt(1 + 2 * rate / a)))


def svm_leave_one_out(n_support: float, n_samples: int) -> Bound:
    r"""Bound the expected error rate of an SVM by :math:`E[\#SV] / l`.

    Parameters
    ----------
    n_support : float
        Expected number of support vectors; that of one machine is an estimate.
    n_samples : int
        Number ``l`` of training rows.

    Notes
    -----
    The bound holds in expectation over training sets (of ``l - 1`` rows), not with
    high probability: a row that is not a support vector is classified correctly when
    it is left out.

    References
    ----------
    .. [1] V. Vapnik, "The Nature of Statistical Learning Theory", 1995.
    """
    check_counts(n_samples=n_samples)
    check_amounts(n_support=n_support)
    check_share("n_support", n_support, "n_samples", n_samples)
    return Bound(n_support / n_samples)


def _log_class_size(
    n_candidates: int, n_chosen: int, weight_bits: float, n_weights: int | None
) -> float:
    """Return the logarithm of the number of functions in the class."""
    n_weights = n_chosen if n_weights is None else n_weights
    check_counts(n_chosen=n_chosen, n_weights=n_weights)
    check_amounts(weight_bits=weight_bits)
    check_share("n_chosen", n_chosen, "n_candidates", n_candidates)
    return _log_binomial(n_candidates, n_chosen) + n_weights * weight_bits * log(2)


def _log_binomial(n: float, k: float) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
