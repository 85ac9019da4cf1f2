"""Bayes' rule: posterior probabilities from the log-densities of the classes.

    log P(c|x) = log p_c(x) / T + log π_c - log Σ_c' exp(…)

With many features, posteriors are far too confident. One temperature T for all,
chosen on left-out rows, corrects that and changes few decisions.
"""

from __future__ import annotations

import numpy as np

from pursuit._quantiles import lower_quantile
from pursuit._temperatures import likeliest

from .gaussians import log_sum_exp

# Lower limit of log-probabilities in a mean, so that one impossible row does not
# dominate.
FLOOR = -700.0


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
    return logits - log_sum_exp(logits)[:, None]


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
    n_distinct: int,
) -> float:
    """Return the temperature of the lowest `ancll`, one pretended row being missed.

    The row misses its class by the typical difference of log-densities. It has the
    average weight of the ``n_distinct`` different rows, so that neither the
    scale of weights nor repeated rows change anything. 1 if no class differs.
    """
    miss = float(weight.sum()) / n_distinct
    # A row without a density of its class is impossible at any temperature: its
    # constant would only cost digits.
    is_possible = np.isfinite(log_densities[np.arange(len(codes)), codes])
    log_densities, codes, weight = (
        values[is_possible] for values in (log_densities, codes, weight)
    )
    margins = _margins(log_densities, codes)
    is_known = np.isfinite(margins) & (margins > 0)
    if not is_known.any():
        return 1.0
    typical = lower_quantile(margins[is_known], weight[is_known], 0.5)

    def surprise(temperature: float) -> float:
        posterior = log_posteriors(log_densities, log_priors, temperature)
        return ancll(posterior, codes, weight) * float(weight.sum())

    return likeliest(surprise, typical, miss)


def _margins(log_densities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return how far the right class is from the best other one, (m,)."""
    is_right = np.arange(log_densities.shape[1]) == codes[:, None]
    others = np.where(is_right, -np.inf, log_densities).max(axis=1)
    return np.abs(log_densities[is_right] - others)
