"""Bayes' rule: posterior probabilities from the log-densities of the classes.

    log P(c|x) = log p_c(x) / T + log π_c - log Σ_c' exp(…)

With many features, posteriors are far too confident. One temperature T for all,
chosen on left-out rows, corrects that and changes few decisions.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

# Lower limit of log-probabilities in a mean, so that one impossible row does not
# dominate.
FLOOR = -700.0
# Range of temperatures.
_COLDEST, _HOTTEST = 1e-2, 1e6


def log_posteriors(
    log_densities: np.ndarray, log_priors: np.ndarray, temperature: float = 1.0
) -> np.ndarray:
    """Return log P(c|x), (m, C), from log p_c(x), (m, C).

    If all densities of a point are 0, the result is the priors.
    """
    if not are_log_densities(log_densities):
        raise ValueError(
            "The density gave log-densities that are NaN or +inf: its score_samples "
            "must return numbers, or -inf where there is no density."
        )
    logits = log_densities / temperature + log_priors
    logits[np.isneginf(logits.max(axis=1))] = log_priors
    # Shift first: rounding of large logits would swallow the logarithm of the sum.
    logits -= logits.max(axis=1, keepdims=True)
    return logits - logsumexp(logits, axis=1, keepdims=True)


def are_log_densities(values: np.ndarray) -> bool:
    """Return whether no value is NaN or +inf."""
    return bool(np.all(values < np.inf))


def ancll(log_posterior: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Return the average negative log-probability of the true classes, in nats."""
    right = log_posterior[np.arange(len(codes)), codes]
    return float(-(weight @ np.maximum(right, FLOOR)) / weight.sum())


def error_rate(
    log_posterior: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> float:
    """Return the share of rows whose most probable class is wrong."""
    return float(weight @ (log_posterior.argmax(axis=1) != codes) / weight.sum())


def best_temperature(
    log_densities: np.ndarray,
    log_priors: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
) -> float:
    """Return the temperature with the lowest `ancll`, which is convex in 1/T."""

    def loss(log_inverse: float) -> float:
        temperature = float(np.exp(-log_inverse))
        return ancll(
            log_posteriors(log_densities, log_priors, temperature), codes, weight
        )

    bounds = -np.log(_HOTTEST), -np.log(_COLDEST)
    found = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(-found.x)) if found.fun < loss(0.0) else 1.0
