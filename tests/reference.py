"""The literal pseudo-code, one obvious function an algorithm: the oracle of the engine.

``D`` (l, M) holds the atoms as columns, ``Y`` (l, T) the targets as columns.  The
figures of the papers know neither a constant, weights nor a ridge: these are put into
the matrices beforehand (:func:`prepare`), so that the figures can stay literal.
With several targets the squared scores are summed.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar, nnls

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


# -- targets that are renewed ---------------------------------------------------------


def to_nearest(D, Y, N, nearest, renewals, n_times, *, weight, alpha, fit_intercept):
    """Return the chosen atoms, and coefficients and constant after each step.

    Each step takes the atom that leaves the least penalized squared error to the
    targets. After the steps ``renewals`` the targets become, ``n_times``, those
    nearest to the model (or a little ahead of it, as in Nesterov's method), which is
    fitted to them again.
    """

    def fitted(atoms, targets):
        coef, b = ridge(D[:, atoms], targets, weight, alpha, fit_intercept)
        F = D[:, atoms] @ coef + b
        loss = (weight @ (targets - F) ** 2).sum() + alpha * (coef**2).sum()
        return loss, coef, b, F

    chosen, models, targets = [], [], Y
    for n in range(1, N + 1):
        others = [k for k in range(D.shape[1]) if k not in chosen]
        losses = [fitted([*chosen, k], targets)[0] for k in others]
        chosen.append(others[int(np.argmin(losses))])
        _, coef, b, here = fitted(chosen, targets)
        last, speed = here, 1.0
        for _ in range(n_times if n in renewals else 0):
            targets = nearest(here)
            _, coef, b, new = fitted(chosen, targets)
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            here = new + (speed - 1) / faster * (new - last)
            last, speed = new, faster
        models.append((coef, b))
    return chosen, models


# -- any loss ----------------------------------------------------------------------


def any_loss(D, Y, N, loss, *, p=1, weight=None, alpha=0.0, fit_intercept=False):
    """Back-fitting matching pursuit with any loss, Fig. 9.4.

    ``p`` None never back-fits.  Minima by a general optimizer.
    """
    weight = np.ones(len(D)) if weight is None else weight
    chosen, coef, b = [], np.zeros((0, Y.shape[1])), np.zeros(Y.shape[1])
    centered = D - fit_intercept * (weight @ D / weight.sum())
    norm = np.sqrt(weight @ centered**2 + alpha)
    if fit_intercept:
        b = minimized(loss, D[:, :0], Y, weight, 0.0, coef, b, True)[1]
    models = []
    for n in range(1, N + 1):
        f = D[:, chosen] @ coef + b
        slope = -weight[:, None] * loss.gradient(Y.T, f.T).T
        is_free = ~np.isin(np.arange(D.shape[1]), chosen)
        score = np.where(is_free, ((D.T @ slope) ** 2).sum(axis=1) / norm**2, 0)
        gamma = int(np.argmax(score >= score.max() * (1 - TIE)))
        chosen.append(gamma)
        coef = np.vstack([coef, np.zeros(Y.shape[1])])
        if p is not None and n % p == 0:
            coef, b = minimized(
                loss, D[:, chosen], Y, weight, alpha, coef, b, fit_intercept
            )
        else:
            coef[-1:], b = minimized(
                loss,
                D[:, [gamma]],
                Y,
                weight,
                alpha,
                coef[-1:],
                b,
                fit_intercept,
                given=D[:, chosen[:-1]] @ coef[:-1],
            )
        models.append((list(chosen), coef.copy(), b.copy()))
    return models


def minimized(loss, B, Y, weight, alpha, coef, b, fit_intercept, given=0.0):
    """Return the coefficients (n, T) and the constant that minimize the loss."""
    n, T = coef.shape

    def unpacked(x):
        return x[: n * T].reshape(n, T), x[n * T :] if fit_intercept else b

    def objective(x):
        coef, const = unpacked(x)
        f = given + B @ coef + const
        value = np.sum(loss.value(Y.T, f.T) @ weight) + alpha * (coef**2).sum()
        slope = weight[:, None] * loss.gradient(Y.T, f.T).T
        parts = [(B.T @ slope + 2 * alpha * coef).ravel()]
        if fit_intercept:
            parts.append(slope.sum(axis=0))
        return value, np.concatenate(parts)

    x = np.concatenate([coef.ravel(), b if fit_intercept else []])
    if not len(x):
        return coef, b
    for _ in range(5):  # again from where it lost its way
        how = {"gtol": 1e-10, "maxiter": 5000}
        x = minimize(objective, x, jac=True, method="BFGS", options=how).x
    return unpacked(x)


def parabolas(D, Y, N, loss, renewals, *, weight, alpha, fit_intercept, least):
    """Pre-fitting on the loss's parabola, by brute force.

    At each size in ``renewals`` the rows are weighed by the curvature at the fit; each
    candidate is then projected off the chosen atoms by weighted least squares.
    """
    M = D.shape[1]
    const = np.ones((len(D), int(fit_intercept)))
    coef, b, chosen, models = np.zeros((0, Y.shape[1])), np.zeros(Y.shape[1]), [], []
    if fit_intercept:
        b = minimized(loss, D[:, :0], Y, weight, 0.0, coef, b, True)[1]
    for n in range(N):
        f = D[:, chosen] @ coef + b
        if n in renewals:
            half = loss.weights(Y.T, f.T).mean(axis=0) / 2
            half = np.maximum(half, least * (weight @ half) / weight.sum())
            metric = weight * half
        slope = -0.5 * weight[:, None] * loss.gradient(Y.T, f.T).T
        root = np.sqrt(np.concatenate([metric, np.ones(M)]))[:, None]
        whole = np.vstack([D, np.sqrt(alpha) * np.eye(M)]) * root
        span = [np.vstack([const, np.zeros((M, const.shape[1]))]) * root]
        span = np.hstack([*span, whole[:, chosen]])
        left = whole - span @ np.linalg.lstsq(span, whole, rcond=None)[0]
        e = (left**2).sum(axis=0)
        is_free = ~np.isin(np.arange(M), chosen) & (e > 1e-10 * (whole**2).sum(axis=0))
        score = ((D.T @ slope) ** 2).sum(axis=1) / np.where(is_free, e, np.inf)
        chosen = [*chosen, int(np.argmax(score >= score.max() * (1 - TIE)))]
        coef = np.vstack([coef, np.zeros(Y.shape[1])])
        coef, b = minimized(
            loss, D[:, chosen], Y, weight, alpha, coef, b, fit_intercept
        )
        models.append((list(chosen), coef.copy(), b.copy()))
    return models


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


# -- densities ---------------------------------------------------------------------


def train_manifold_parzen(X, k, d, variance, kernel=None):
    """MParzen::Train, with the eigenvalues put right: s²/k + σ², not s²/l + σ²."""
    directions, eigenvalues = [], []
    for i, x in enumerate(X):
        distances = ((X - x) ** 2).sum(axis=1)
        distances[i] = np.inf
        near = np.argsort(distances, kind="stable")[: min(k, len(X) - 1)]
        weights = (
            np.ones(len(near)) if kernel is None else kernel(X[near], x[None])[:, 0]
        )
        M = np.sqrt(weights / weights.sum())[:, None] * (X[near] - x)
        _, s, V = np.linalg.svd(M, full_matrices=False)
        directions.append(V[:d])
        eigenvalues.append(s[:d] ** 2 + variance)
    return directions, eigenvalues


def local_gaussian(x, center, V, eigenvalues, variance):
    """LocalGaussian, put right: n ln 2π, and σ² added to the eigenvalues once."""
    n, d = len(x), len(eigenvalues)
    r = n * np.log(2 * np.pi) + np.log(eigenvalues).sum() + (n - d) * np.log(variance)
    q = ((x - center) ** 2).sum() / variance
    q += ((1 / eigenvalues - 1 / variance) * (V @ (x - center)) ** 2).sum()
    return -0.5 * (r + q)


def manifold_parzen(X, Z, k, d, variance, kernel=None):
    """MParzen::Test for every row of Z, in logarithms."""
    directions, eigenvalues = train_manifold_parzen(X, k, d, variance, kernel)
    out = []
    for z in Z:
        logs = [
            local_gaussian(z, x, V, values, variance)
            for x, V, values in zip(X, directions, eigenvalues, strict=True)
        ]
        out.append(np.logaddexp.reduce(logs) - np.log(len(X)))
    return np.array(out)


def local_density(X, x, width, variance, d=None):
    """The local density of §14.3 at one point, weighted by a Gaussian of this width."""
    n = X.shape[1]
    weights = np.exp(-((X - x) ** 2).sum(axis=1) / (2 * width**2))
    mean = weights @ X / weights.sum()
    V = (weights[:, None] * (X - mean)).T @ (X - mean) / weights.sum()
    values, vectors = np.linalg.eigh(V)
    if d is not None:
        values[: n - d] = 0.0
    C = (vectors * values) @ vectors.T + variance * np.eye(n)
    q = (x - mean) @ np.linalg.solve(C, x - mean)
    log_h = -0.5 * (n * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + q)
    return log_h + np.log(weights.mean())


# -- adaptive kernel matching pursuit ----------------------------------------------


def adapted_width(x, X, weight, z, gammas):
    """The width of eq. (14): squared loss between z and the kernel, on a grid."""
    K = np.exp(-np.outer(gammas, np.square(X - x).sum(axis=1)))
    return gammas[(weight * np.square(z - K)).sum(axis=1).argmin()]


def scaled_width(x, X, weight, Y, gammas, has_constant):
    """The width for which one Gaussian, by least squares, leaves the least error."""
    errors = []
    for gamma in gammas:
        B = np.exp(-gamma * np.square(X - x).sum(axis=1))[:, None]
        if has_constant:
            B = np.column_stack([np.ones(len(X)), B])
        root = np.sqrt(weight)[:, None]
        coef = np.linalg.lstsq(root * B, root * Y, rcond=None)[0]
        errors.append(np.square(root * (Y - B @ coef)).sum())
    return gammas[np.argmin(errors)]


def deflation(K, N, tol=1e-10):
    """Sparse KPCA, Algorithm 1 of `Theory of matching pursuit`, line by line."""
    K, first, chosen, traces = K.copy(), np.diag(K).copy(), [], [np.trace(K)]
    for _ in range(N):
        usable = np.diag(K) > tol * first
        usable[chosen] = False
        if not usable.any():
            break
        score = np.where(
            usable, (K**2).sum(axis=0) / np.where(usable, np.diag(K), 1), 0
        )
        i = int(np.argmax(score >= score.max() * (1 - TIE)))
        tau = K[:, i].copy()
        K = K - np.outer(tau, tau) / K[i, i]
        chosen.append(i)
        traces.append(np.trace(K))
    return chosen, np.array(traces)


def nystroem_residue(K, chosen):
    """K less its projection on the chosen columns, eq. 5."""
    C = K[:, chosen]
    return K - C @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ C.T


def trace_minimization(K, N):
    """At each step the point that leaves the smallest trace, by brute force."""
    chosen = []
    for _ in range(N):
        traces = [
            np.inf if i in chosen else np.trace(nystroem_residue(K, [*chosen, i]))
            for i in range(len(K))
        ]
        chosen.append(int(np.argmin(traces)))
    return chosen


def paired_deflation(K_x, K_y, N, center=False, by_covariance=False, tol=1e-10):
    """Sparse KCCA, section 4: the best pair of columns, then both are deflated."""
    K_x, K_y, chosen, scores = K_x.copy(), K_y.copy(), [], []
    first = np.diag(K_x).copy(), np.diag(K_y).copy()
    for _ in range(N):
        rho = np.full(len(K_x), -np.inf)
        for i in range(len(K_x)):
            if i in chosen or K_x[i, i] <= tol * first[0][i]:
                continue
            if K_y[i, i] <= tol * first[1][i]:
                continue
            u, v = K_x[:, i], K_y[:, i]
            if center:
                u, v = u - u.mean(), v - v.mean()
            if by_covariance:
                rho[i] = u @ v / np.sqrt(K_x[i, i] * K_y[i, i])
            else:
                rho[i] = u @ v / np.sqrt((u @ u) * (v @ v))
        i = int(np.argmax(rho))
        chosen.append(i)
        scores.append(rho[i])
        K_x = K_x - np.outer(K_x[:, i], K_x[:, i]) / K_x[i, i]
        K_y = K_y - np.outer(K_y[:, i], K_y[:, i]) / K_y[i, i]
    return chosen, np.array(scores)


def mistakes(Y):
    """Return a judge of held-out values: the weighted share put in a wrong class."""

    def class_of(values):
        return values[0] > 0 if len(values) == 1 else values.argmax(axis=0)

    def judge(rows, values, weight):
        return weight @ (class_of(values) != class_of(Y[:, rows])) / weight.sum()

    return judge


def cross_conformal_interval(predicted, spreads, y, own, own_spreads, coverage):
    """CV+ at one point, Barber et al. (2021), normalized residuals.

    ``predicted`` and ``spreads`` (l,) are those at the point of the model that never
    saw row i, ``own`` and ``own_spreads`` (l,) those of the same model at row i.
    """
    n = len(y)
    highs, lows = [], []
    for i in range(n):
        residual = abs(y[i] - own[i]) / own_spreads[i]
        highs.append(predicted[i] + spreads[i] * residual)
        lows.append(predicted[i] - spreads[i] * residual)
    rank = int(np.ceil(round(coverage * (n + 1), 9)))  # the rank-th smallest
    if rank > n:
        return -np.inf, np.inf
    return sorted(lows)[n - rank], sorted(highs)[rank - 1]


def cross_conformal_set(scores, new, coverage):
    """Classes whose scores ``new`` (C, l), by the model of each row, are no outliers.

    Romano, Sesia and Candès (2020), cross-validation+: a class is out if the scores of
    at least a share of the rows are below its own.
    """
    n = len(scores)
    least = round(coverage * (n + 1), 9)
    return [sum(scores[i] < of_class[i] for i in range(n)) < least for of_class in new]


def prototypes(X, codes, sets, size, K, penalty, unit, slope=10.0):
    """Rows chosen for local hyperplanes, by trying every row at every step."""
    C = codes.max() + 1
    rows = [
        int(np.flatnonzero(codes == c)[gap.argmin()])
        for c in range(C)
        for gap in [((X[codes == c] - X[codes == c].mean(axis=0)) ** 2).sum(axis=1)]
    ]
    equal = {
        (row.tobytes(), c): i
        for i, (row, c) in reversed(list(enumerate(zip(X, codes, strict=True))))
    }
    losses = []
    while len(rows) < size:
        left = sorted(set(equal.values()) - set(rows))
        if not left:
            break
        sums = [
            loss_of_prototypes(X, codes, sets, [*rows, j], K, penalty, unit, slope)
            for j in left
        ]
        rows.append(left[int(np.argmin(sums))])
        losses.append(min(sums) / len(X))
    return rows, losses


def loss_of_prototypes(X, codes, sets, rows, K, penalty, unit, slope):
    """The sum over all rows of the loss of their relative margin and residue."""
    total = 0.0
    for x, own, its_set in zip(X, codes, sets, strict=True):
        squared = np.full(codes.max() + 1, np.inf)
        for c in range(len(squared)):
            mine = [j for j in rows if codes[j] == c and sets[j] != its_set]
            if mine:
                gaps = ((X[mine] - x) ** 2).sum(axis=1)
                near = X[mine][np.argsort(gaps, kind="stable")[:K]]
                squared[c] = hyperplane_by_least_squares(x, near, penalty) ** 2
        other = np.delete(squared, own).min()
        if np.isinf(squared[own]):
            margin, residue = float(np.isfinite(other)), 0.0
        elif np.isinf(other):
            margin, residue = -1.0, squared[own] / unit
        else:
            both = squared[own] + other
            margin = (squared[own] - other) / both if both > 0 else 0.0
            residue = squared[own] / unit
        total += np.log1p(np.exp(slope * margin)) + residue
    return total


def condensed(X, codes, order):
    """Hart's condensed nearest-neighbor rule."""
    kept = [order[0]]
    while True:
        n_before = len(kept)
        for i in order:
            if i in kept:
                continue
            gaps = ((X[kept] - X[i]) ** 2).sum(axis=1)
            if codes[kept[int(np.argmin(gaps))]] != codes[i]:
                kept.append(i)
        if len(kept) == n_before:
            return sorted(kept)


def votes_for_own(X, codes, i, others, K):
    """Whether no class has more of the K nearest of the others than that of row i."""
    gaps = ((X[others] - X[i]) ** 2).sum(axis=1)
    near = np.asarray(others)[np.argsort(gaps, kind="stable")[:K]]
    votes = np.bincount(codes[near], minlength=codes.max() + 1)
    return votes[codes[i]] == votes.max()


def edited(X, codes, K):
    """Wilson's edited nearest-neighbor rule."""
    everything = range(len(X))
    return [
        i
        for i in everything
        if votes_for_own(X, codes, i, [j for j in everything if j != i], K)
    ]


def drop3(X, codes, K):
    """DROP3: after editing, rows far from the border go if no associate misses them."""
    start = edited(X, codes, K)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    enemy = [min(D[i, j] for j in start if codes[j] != codes[i]) for i in start]
    kept = list(start)
    for place in np.argsort(-np.asarray(enemy), kind="stable"):
        p = start[place]

        def nearest(i, n):
            others = [j for j in kept if j != i]
            return sorted(others, key=lambda j: (D[i, j], j))[:n]

        gain = 0
        for i in start:
            if i == p or p not in nearest(i, K + 1):
                continue
            near = nearest(i, K + 1)
            gain += _own_wins(codes, i, [j for j in near if j != p][:K])
            gain -= _own_wins(codes, i, near[:K])
        if gain >= 0:
            kept.remove(p)
    return kept


def _own_wins(codes, i, near):
    votes = np.bincount(codes[near], minlength=codes.max() + 1)
    return bool(len(near)) and votes[codes[i]] == votes.max()


# -- ranking: every pair, one after the other ------------------------------------------


def pairs(y, groups):
    """All pairs (i, j) of a group with y_i > y_j."""
    return [
        (i, j)
        for i in range(len(y))
        for j in range(len(y))
        if groups[i] == groups[j] and y[i] > y[j]
    ]


def pairs_loss(loss, y, f, groups, weight):
    """The sum over pairs of w_i w_j loss(f_i - f_j), over the weight of the group."""
    return sum(
        weight[i] * weight[j] * loss(f[i] - f[j]) / weight[groups == groups[i]].sum()
        for i, j in pairs(y, groups)
    )


def lists_loss(y, f, groups, weight):
    """Each row is drawn before all of lower grades (Plackett-Luce without ties)."""
    total = 0.0
    for i in range(len(y)):
        lower = (groups == groups[i]) & (y < y[i])
        others = np.sum(weight[lower] * np.exp(f[lower]))
        total += weight[i] * (np.log(np.exp(f[i]) + others) - f[i])
    return total


def pair_rows(D, y, groups, weight):
    """Differences of all pairs of a group, weighted: the design of their squares."""
    rows, targets = [], []
    for i in range(len(y)):
        for j in range(i):
            if groups[i] == groups[j]:
                share = weight[i] * weight[j] / weight[groups == groups[i]].sum()
                rows.append(np.sqrt(share) * (D[i] - D[j]))
                targets.append(np.sqrt(share) * (y[i] - y[j]))
    return np.array(rows), np.array(targets)[:, None]


def pairwise_accuracy(y, f, groups):
    """The share of the pairs of each group in the right order, ties a half."""
    shares = {}
    for i, j in pairs(y, groups):
        right = 1.0 if f[i] > f[j] else 0.5 if f[i] == f[j] else 0.0
        shares.setdefault(groups[i], []).append(right)
    return np.mean([np.mean(of_group) for of_group in shares.values()])


def sparse_mixture(X, counts, numbers, d, variance, size, n_rounds=300, least=1e-7):
    """Rows and neighbors of a mixture by pursuit, and its weights after each step.

    Every row judges every Gaussian, which is made anew without that row; a row on which
    one stands judges no more.
    """
    judges = np.array(counts, dtype=float)
    pairs = [(j, k) for k in numbers for j in range(len(X))]
    G = {pair: judged_gaussian(X, *pair, d, variance) for pair in pairs}
    chosen, w, all_weights = [], np.ones(0), []
    while len(chosen) < size and judges.any():
        best = (0.0, None, None)
        for pair in pairs:
            if pair[0] in [j for j, _ in chosen]:
                continue
            c = np.where(np.arange(len(X)) == pair[0], 0.0, judges)
            used = c > 0
            if not chosen:
                worth, share = c[used] @ G[pair][used] / c[used].sum(), 1.0
                if best[1] is None or worth > best[0]:
                    best = (worth, pair, share)
                continue
            logs = np.array([G[p][used] for p in chosen])
            p = np.log(w @ np.exp(logs - logs.max(axis=0))) + logs.max(axis=0)
            gain, share = largest_gain(G[pair][used] - p, c[used])
            if gain > best[0]:
                best = (gain, pair, share)
        if best[1] is None:
            break
        chosen.append(best[1])
        judges[best[1][0]] = 0.0
        w = np.append((1 - best[2]) * w, best[2])
        used = judges > 0
        logs = np.array([G[p][used] for p in chosen])
        w = expectation_maximization(logs, judges[used], w, n_rounds, least)
        all_weights.append(w)
    return chosen, all_weights


def judged_gaussian(X, j, k, d, variance):
    """Log-densities of all rows under the Gaussian on row j, each without that row."""
    logs = np.empty(len(X))
    for i in range(len(X)):
        others = [h for h in range(len(X)) if h not in (i, j)]
        gaps = ((X[others] - X[j]) ** 2).sum(axis=1)
        near = np.asarray(others)[np.argsort(gaps, kind="stable")[:k]]
        M = X[near] - X[j]
        C = M.T @ M / max(len(near), 1)
        values, V = np.linalg.eigh(C)
        if d is not None:
            values[: X.shape[1] - d] = 0.0
        values = values + variance
        q = ((V.T @ (X[i] - X[j])) ** 2 / values).sum()
        logs[i] = -0.5 * (np.log(2 * np.pi * values).sum() + q)
    return logs


def largest_gain(log_ratios, counts):
    """The share that a Gaussian should get, and what it then adds to the likelihood."""

    def loss(share):
        return -counts @ np.logaddexp(np.log1p(-share), np.log(share) + log_ratios)

    found = minimize_scalar(
        lambda t: loss(np.exp(t)), bounds=(-30, -1e-9), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    return -found.fun, np.exp(found.x)


def expectation_maximization(logs, counts, w, n_rounds, least):
    """Weights of the parts of a mixture, until the mean log-density stands still."""
    if len(w) == 1 or not len(counts):
        return w / w.sum()
    score = -np.inf
    for _ in range(n_rounds):
        joint = np.log(w)[:, None] + logs
        p = np.logaddexp.reduce(joint, axis=0)
        before, score = score, counts @ p / counts.sum()
        if score - before < least:
            break
        w = np.exp(joint - p) @ counts / counts.sum()
    return w
