"""The literal pseudo-code, one obvious function an algorithm: the oracle of the engine.

``D`` (l, M) holds the atoms as columns, ``Y`` (l, T) the targets as columns.  The
figures of the papers know neither a constant, weights nor a ridge: these are put into
the matrices beforehand (:func:`prepare`), so that the figures can stay literal.
With several targets the squared scores are summed.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

# As the engine: scores this close (relative, squared) are a tie, which the lowest
# index wins; a correlation below this share of |atom| |y| is round-off.
TIE = 1e-10
NOISE = 4e-16


class Steps(NamedTuple):
    """Chosen atoms; after each step the coefficients (n, T) and the residue (l, T)."""

    chosen: list
    coefficients: list
    residues: list


def basic(D, Y, N):
    """Matching pursuit, Fig. 9.1."""
    steps, R, alphas = Steps([], [], []), Y.copy(), []
    norm = np.linalg.norm(D, axis=0)
    for _ in range(N):
        gamma = best(D.T @ R, norm, norm > 0, Y)
        if gamma is None:
            break
        alpha = D[:, gamma] @ R / norm[gamma] ** 2
        R = R - np.outer(D[:, gamma], alpha)
        alphas.append(alpha)
        record(steps, gamma, np.array(alphas), R)
    return steps


def back_fitting(D, Y, N, tol=1e-10):
    """Chosen by the residue, then all coefficients by least squares, §9.2.2."""
    steps, R = Steps([], [], []), Y.copy()
    norm = np.linalg.norm(D, axis=0)
    for _ in range(N):
        gamma = best(D.T @ R, norm, outside(D, steps.chosen, tol), Y)
        if gamma is None:
            break
        B = D[:, [*steps.chosen, gamma]]
        size = np.linalg.norm(B, axis=0)
        alphas = np.linalg.lstsq(B / size, Y, rcond=None)[0] / size[:, None]
        R = Y - B @ alphas
        record(steps, gamma, alphas, R)
    return steps


def pre_fitting(D, Y, N, tol=1e-10):
    """Matching pursuit with pre-fitting, Fig. 9.3, line by line."""
    M = D.shape[1]
    steps, R = Steps([], [], []), Y.copy()
    D_perp, D_B = D.copy(), np.zeros((0, M))
    alphas = np.zeros((0, Y.shape[1]))
    for _ in range(N):
        norm = np.linalg.norm(D_perp, axis=0)
        usable = norm**2 > tol * (D**2).sum(axis=0)
        gamma = best(D_perp.T @ R, norm, usable, Y, np.linalg.norm(D, axis=0))
        if gamma is None:
            break
        g = D_perp[:, gamma].copy()
        alpha = g @ R / norm[gamma] ** 2
        R = R - np.outer(g, alpha)
        alphas = alphas - np.outer(D_B[:, gamma], alpha)
        alphas = np.vstack([alphas, alpha])
        beta = g @ D_perp / norm[gamma] ** 2
        D_perp = D_perp - np.outer(g, beta)
        D_B = D_B - np.outer(D_B[:, gamma], beta)
        D_perp[:, gamma] = 0
        D_B[:, gamma] = 0
        beta[gamma] = 1
        D_B = np.vstack([D_B, beta])
        record(steps, gamma, alphas, R)
    return steps


METHODS = {"basic": basic, "back-fitting": back_fitting, "pre-fitting": pre_fitting}


def best(correlations, norm, usable, Y, whole_norm=None):
    """The argmax of |<D_k, R>| / |D_k|: lowest index of a tie, None if nothing is."""
    whole_norm = norm if whole_norm is None else whole_norm
    squared = (correlations**2).sum(axis=1)
    usable = usable & (squared > NOISE**2 * (Y**2).sum() * whole_norm**2)
    if not usable.any():
        return None
    score = np.where(usable, squared / np.where(usable, norm, 1) ** 2, 0)
    return int(np.argmax(score >= score.max() * (1 - TIE)))


def outside(D, chosen, tol):
    """Which atoms' squared norm outside the span of the chosen is above tol of all."""
    squared = (D**2).sum(axis=0)
    is_free = ~np.isin(np.arange(D.shape[1]), chosen)
    Q = np.linalg.qr(D[:, chosen] / np.sqrt(squared[chosen]))[0]
    perp = D - Q @ (Q.T @ D)
    perp = perp - Q @ (Q.T @ perp)
    return is_free & ((perp**2).sum(axis=0) > tol * squared)


def record(steps, gamma, alphas, R):
    steps.chosen.append(gamma)
    steps.coefficients.append(alphas)
    steps.residues.append(R)


# -- a constant, weights and a ridge, put into the matrices -------------------------


def prepare(D, Y, weight, alpha, fit_intercept):
    """Return D and Y such that plain least squares on them is what is asked for."""
    D0, Y0 = D, Y
    if fit_intercept:
        D0, Y0 = D - weight @ D / weight.sum(), Y - weight @ Y / weight.sum()
        # What is left of a constant atom is round-off.
        left, whole = weight @ D0**2, weight @ D**2
        D0[:, left <= 1e-14 * whole] = 0
    root = np.sqrt(weight)[:, None]
    D0, Y0 = root * D0, root * Y0
    if alpha > 0:
        M, T = D.shape[1], Y.shape[1]
        D0 = np.vstack([D0, np.sqrt(alpha) * np.eye(M)])
        Y0 = np.vstack([Y0, np.zeros((M, T))])
    return D0, Y0


def intercept_of(D, Y, weight, chosen, coef, fit_intercept):
    """Return the constant that goes with the coefficients (n, T)."""
    if not fit_intercept:
        return np.zeros(Y.shape[1])
    return weight @ (Y - D[:, chosen] @ coef) / weight.sum()


class Model(NamedTuple):
    """After one step: atoms and their coefficients (n, T), constant, residue (l, T)."""

    atoms: list
    coef: np.ndarray
    intercept: np.ndarray
    residue: np.ndarray


def pursue(method, D, Y, N, *, weight=None, alpha=0.0, fit_intercept=False, tol=1e-10):
    """Return the chosen atoms and the model after each step."""
    weight = np.ones(len(D)) if weight is None else weight
    how = {} if method == "basic" else {"tol": tol}
    steps = METHODS[method](*prepare(D, Y, weight, alpha, fit_intercept), N, **how)
    models = []
    for n, coef in enumerate(steps.coefficients, start=1):
        atoms = steps.chosen[:n]
        b = intercept_of(D, Y, weight, atoms, coef, fit_intercept)
        models.append(Model(atoms, coef, b, Y - D[:, atoms] @ coef - b))
    return steps.chosen, models


def ridge(D, Y, weight, alpha, fit_intercept):
    """Return coefficients and constant of (weighted) ridge regression on all of D."""
    D0, Y0 = prepare(D, Y, weight, alpha, fit_intercept)
    coef = np.linalg.lstsq(D0, Y0, rcond=None)[0]
    every = list(range(D.shape[1]))
    return coef, intercept_of(D, Y, weight, every, coef, fit_intercept)


def leave_one_out(D, Y, weight, alpha, fit_intercept):
    """Mean squared leave-one-out error on given atoms, by refitting without each row.

    Of a row of weight 3 one in three is left out; a weight below 1 is left out whole.
    """
    total = 0.0
    for i in np.flatnonzero(weight > 0):
        rest = weight.copy()
        rest[i] -= min(weight[i], 1.0)
        coef, b = ridge(D, Y, rest, alpha, fit_intercept)
        total += weight[i] * ((Y[i] - D[i] @ coef - b) ** 2).sum()
    return total / weight.sum()


# -- local hyperplanes and hulls -----------------------------------------------------


def hyperplane_by_least_squares(x, N, penalty, n_components=None, tangents=None):
    """Distance to the local hyperplane, eq. 11.5, with the explicit vectors."""
    N = N - x  # the same, with fewer digits lost far from the origin
    V = (N - N.mean(axis=0)).T
    if n_components is not None:
        U, s, _ = np.linalg.svd(V, full_matrices=False)
        if n_components < 1:
            share = np.cumsum(s**2) / (s**2).sum()
            n_components = 1 + int(np.argmax(share >= n_components))
        V = (U * s)[:, :n_components]
    if tangents is not None:
        V = np.hstack([V, np.asarray(tangents).T])
    t = -N.mean(axis=0)
    A = np.vstack([V, np.sqrt(penalty) * np.eye(V.shape[1])])
    b = np.concatenate([t, np.zeros(V.shape[1])])
    a = np.linalg.lstsq(A, b, rcond=1e-13)[0]
    return np.linalg.norm(b - A @ a)


def hull_by_programme(x, N):
    """Distance to the convex hull: the quadratic programme in the weights.

    Non-negative least squares with the sum of the weights as one more equation.
    """
    P = (N - x).T
    if not P.any():
        return 0.0
    # Any weight of that equation gives the same direction, hence the same point.
    m = np.abs(P).max()
    A = np.vstack([P, np.full(P.shape[1], m)])
    b = np.concatenate([np.zeros(len(P)), [m]])
    weights = nnls(A, b)[0]
    return np.linalg.norm(P @ weights / weights.sum())
