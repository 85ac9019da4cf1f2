"""Shapley values of the features, and of pairs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from pursuit._progress import Progress
from pursuit._threads import deal, usable_threads

from ._loops import add_interactions, add_values, gauss_rule
from .products import Products, SumOfProducts
from .subjects import model_and_rows

# Rows of the background that are visited together: what is multiplied stays in cache.
_TILE = 64
# Factors that are in memory at once, for the rows and for the background.
_AT_ONCE = 1 << 21


def shapley(
    model: Any, X: Any, background: Any = None, *, verbose: int | bool = 0
) -> np.ndarray:
    r"""Return exact Shapley values: what each feature adds to a prediction.

    A feature's value is its average contribution when features become known in random
    order. Features that are not known yet have the values of the background,

    .. math:: v(S) = \frac1B \sum_b f(x_S, b_{\bar S}),

    for each row b in turn. Without a background, the factors of unknown features are
    left out of the model's products: a feature then is compared with one that agrees
    with every support point.

    Parameters
    ----------
    model : KMPClassifier, KMPRanker, KMPRegressor or Pipeline
        Fitted model whose functions are products over features (see
        :mod:`pursuit.explain`), or a pipeline that ends in one: then the features that
        the last step sees are explained.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to explain.
    background : array-like of shape (n_background, n_features), optional
        Rows that say what is usual: some hundred training rows are enough.
    verbose : int or bool, default=0
        Whether to show a progress bar.

    Returns
    -------
    values : ndarray of shape (n_samples, n_features[, n_outputs])
        With :func:`base_value` they add up to the values of the model. The shape is
        that of ``shap``: the last axis is there for several outputs or classes.

    See Also
    --------
    base_value : The value from which these start.
    shapley_interactions : What pairs of features add together.

    Notes
    -----
    For n rows, m support points, B background rows and d features of some weight the
    cost is O(n m B d²), as each value is an integral of a polynomial of degree d - 1
    that Gauss's rule takes at d / 2 points. Subsets are never enumerated, and nothing
    is sampled. Without a background B is 1.

    References
    ----------
    .. [1] S. Lundberg and S.-I. Lee, "A unified approach to interpreting model
       predictions", NIPS 30, 2017.
    .. [2] M. Mohammadi, S. Chau, K. Muandet, "Computing exact Shapley values in
       polynomial time for product-kernel methods", arXiv:2505.16516, 2025, where the
       game without a background is defined.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import KMPRegressor
    >>> from pursuit.explain import base_value, shapley
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> model = KMPRegressor("rbf", max_support=20).fit(X, X[:, 0] + X[:, 1] ** 2)
    >>> values = shapley(model, X[:5], background=X[:50])
    >>> values.shape
    (5, 3)
    >>> total = values.sum(axis=1) + base_value(model, X[:50])
    >>> np.allclose(total, model.predict(X[:5]), rtol=0, atol=1e-10)
    True
    """
    last, (rows, usual) = model_and_rows(model, X, background)
    whole = SumOfProducts.of(last)
    out = np.zeros((len(rows), whole.n_features, whole.n_outputs))
    _visit(whole, rows, usual, out, _add_values, "shapley", verbose)
    return out[:, :, 0] if whole.n_outputs == 1 else out


def shapley_interactions(
    model: Any, X: Any, background: Any = None, *, verbose: int | bool = 0
) -> np.ndarray:
    """Return exact Shapley interaction values of all pairs of features.

    Parameters
    ----------
    model, X, background, verbose
        As in :func:`shapley`.

    Returns
    -------
    values : ndarray of shape (n_samples, n_features, n_features[, n_outputs])
        The interaction of a pair is divided equally between its two places, and the
        diagonal holds what is left of each feature's Shapley value: rows sum up to
        :func:`shapley`, as those of ``shap`` do.

    Notes
    -----
    The cost is d times that of :func:`shapley`.
    """
    last, (rows, usual) = model_and_rows(model, X, background)
    whole = SumOfProducts.of(last)
    d = whole.n_features
    values = np.zeros((len(rows), d, whole.n_outputs))
    pairs = np.zeros((len(rows), d, d, whole.n_outputs))
    _visit(whole, rows, usual, values, _add_values, "shapley", verbose)
    _visit(whole, rows, usual, pairs, _add_pairs, "interactions", verbose)
    pairs += pairs.transpose(0, 2, 1, 3)
    pairs *= 0.5
    alone = np.arange(d)
    pairs[:, alone, alone] = values - pairs.sum(axis=2)
    return pairs[..., 0] if whole.n_outputs == 1 else pairs


def base_value(model: Any, background: Any = None) -> float | np.ndarray:
    """Return the value of the model when no feature is known.

    Parameters
    ----------
    model, background
        As in :func:`shapley`.

    Returns
    -------
    value : float or ndarray of shape (n_outputs,)
        The mean of the model's values over the background; without one, the value of a
        row that agrees with every support point.
    """
    last, (usual,) = model_and_rows(model, background)
    whole = SumOfProducts.of(last)
    value = np.array(whole.intercept)
    for part in whole.parts:
        if usual is None:
            value += part.coef.sum(axis=1)
            continue
        for rows, some in _tiles(len(usual), part, _AT_ONCE):
            products = some.factors(usual[rows]).prod(axis=2)
            value += some.coef @ products.sum(axis=0) / len(usual)
    return float(value[0]) if len(value) == 1 else value


# -- tiles -------------------------------------------------------------------------

_Adder = Callable[[Products, np.ndarray, np.ndarray, float, np.ndarray], None]


def _visit(
    whole: SumOfProducts,
    rows: np.ndarray,
    usual: np.ndarray | None,
    out: np.ndarray,
    add: _Adder,
    label: str,
    verbose: int | bool,
) -> None:
    """Add what products say of rows to ``out``, tile by tile, in threads."""
    if usual is not None and not len(usual):
        raise ValueError("background has no rows: pass some, or None.")
    parts = [part for part in whole.parts if len(part.columns)]
    total = len(rows) * sum(map(len, parts))
    with Progress(total, label, verbose, unit="product") as progress:
        done = [0]

        def add_all(here: slice) -> None:
            for part in parts:
                for there, some in _tiles(here.stop - here.start, part, _AT_ONCE):
                    block = slice(here.start + there.start, here.start + there.stop)
                    P = some.factors(rows[block])
                    for Q, share in _backgrounds(some, usual):
                        add(some, P, Q, share, out[block])
                    done[0] += P.shape[0] * P.shape[1]
                    progress.show(min(done[0], total))

        def work(shares: Iterable[slice]) -> None:
            # A row has one thread: of two that add to it, one may be lost.
            for here in shares:
                add_all(here)

        shares = _parts(len(rows), usable_threads())
        deal(work, shares, min(usable_threads(), len(shares)))


def _parts(n: int, n_threads: int) -> list[slice]:
    """Return slices for the threads, several for each."""
    step = max(1, -(-n // (4 * n_threads)))
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def _tiles(n: int, part: Products, most: int) -> Iterator[tuple[slice, Products]]:
    """Yield rows, and some of the products, whose factors fit into memory."""
    c = max(1, len(part.columns))
    m = max(1, min(len(part), most // (c * _TILE)))
    step = max(1, most // (c * m))
    for first in range(0, len(part), m):
        some = part[first : first + m]
        for start in range(0, n, step):
            yield slice(start, min(start + step, n)), some


def _backgrounds(
    part: Products, usual: np.ndarray | None
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the factors (m, c, b) at some rows of the background, and their weight."""
    if usual is None:
        yield np.ones((len(part), len(part.columns), 1)), 1.0
        return
    for start in range(0, len(usual), _TILE):
        Q = part.factors(usual[start : start + _TILE])
        yield np.ascontiguousarray(Q.transpose(1, 2, 0)), 1.0 / len(usual)


def _add_values(
    part: Products, P: np.ndarray, Q: np.ndarray, share: float, out: np.ndarray
) -> None:
    (_, c, b), columns = Q.shape, part.columns
    values = np.zeros((len(P), c, len(part.coef)))
    add_values(
        P,
        Q,
        np.full(b, share),
        *gauss_rule(c - 1),
        np.ascontiguousarray(part.coef),
        np.empty((c + 1, b)),
        np.empty(b),
        np.empty(c),
        values,
    )
    out[:, columns] += values


def _add_pairs(
    part: Products, P: np.ndarray, Q: np.ndarray, share: float, out: np.ndarray
) -> None:
    (_, c, b), columns = Q.shape, part.columns
    values = np.zeros((len(P), c, c, len(part.coef)))
    add_interactions(
        P,
        Q,
        np.full(b, share),
        *gauss_rule(c - 2),
        np.ascontiguousarray(part.coef),
        np.empty((c + 1, b)),
        np.empty((c + 1, b)),
        np.empty(b),
        np.empty((c, c)),
        values,
    )
    out[:, columns[:, None], columns] += values
