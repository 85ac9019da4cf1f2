"""From an estimator's parameters to a plan: every check, name and default, once."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from pursuit._memory import budget
from pursuit._parameters import (
    WHOLE,
    check_choice,
    check_flag,
    check_whole,
    finite_number,
    is_number,
    is_whole,
    positive_number,
    probability,
    row_count,
    whole_number,
)
from pursuit._quantiles import lower_quantile
from pursuit._rows import distinct_rows, row_digests
from pursuit.dictionaries import Sample
from pursuit.estimators._learning import (
    dictionary_of,
    feature_names,
    is_precomputed,
    labels,
    learned,
    relearner,
    sets_of_atoms,
)
from pursuit.estimators._splits import check_groups, held_out_rows
from pursuit.functions import Functions
from pursuit.losses import Loss, Squared
from pursuit.path_bounds import KINDS, BoundRule, check_rule, default_kind
from pursuit.plan import Plan
from pursuit.problem import METHODS, Judge
from pursuit.selection import CV_PATIENCE, Sites
from pursuit.stopping import Patience

SELECTIONS = ("cv", "loo", "validation", "bound", None)

# Ridges compared by alpha="cv", for a kernel with k(x, x) = 1.
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Other losses, flat where least squares are steep, want stronger ones.
LOSS_RIDGE = 10.0

# Above this many rows, "cv" holds out one part instead of trying k folds.
CV_ROWS = 10_000


def make_plan(
    estimator: Any,
    X: Any,
    Y: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    groups: Any,
    loss: Loss,
    score: Judge | None,
    is_class: bool,
    is_shared: bool,
) -> Plan:
    """Return what the estimator's parameters ask for on these data.

    ``Y`` (T, l) are the targets; ``y`` (l,) is what folds are balanced in: class
    codes, or a target.
    """
    _check_words(estimator)
    _check_loss_words(estimator, loss, score)
    check_groups(estimator, groups)
    rng = check_random_state(estimator.random_state)
    seed = 0 if estimator.random_state is None else int(rng.randint(2**31 - 1))
    dictionary = dictionary_of(estimator)
    contents = None if is_precomputed(estimator) else X
    distinct, set_of_row = distinct_rows(contents, weight)
    drawn, n_redrawn = _candidates(estimator, contents, distinct, rng)
    selection = _selection(estimator, len(distinct))
    sample = Sample(
        X=X,
        Y=Y,
        labels=estimator.classes_[y.astype(int)] if is_class else None,
        weight=weight,
        seen=weight,
        rows=distinct[drawn],
        feature_names=feature_names(estimator, X),
        fit_intercept=bool(estimator.fit_intercept) and loss.frees_constant,
        memory=budget(estimator.max_memory),
        seed=seed,
        verbose=estimator.verbose,
        framer=estimator._framer,
    )
    dictionaries = learned(dictionary, sample)
    first = _middle_three(len(dictionaries))
    middle = dictionaries[first[len(first) // 2]]
    alphas = _alphas(estimator.alpha, middle, X, weight, loss, Y)
    compares = len(dictionaries) * len(alphas) > 1
    folds = []
    if selection in ("cv", "validation") or compares:
        folds = held_out_rows(
            estimator, contents, X, y, weight, groups, selection, seed, is_class
        )
    return Plan(
        dictionaries=dictionaries,
        relearn=relearner(dictionary, sample),
        first_widths=first,
        alphas=alphas,
        sites=Sites(set_of_row, sets_of_atoms(middle, set_of_row)),
        labels=labels(middle),
        folds=folds,
        selection=selection,
        tolerance=_tolerance(estimator.size_tolerance),
        patience=_patience(estimator.patience, selection),
        bound=_bound(estimator, is_class, len(Y) if is_shared else 1, loss),
        loss=loss,
        score=score,
        method=estimator.method,
        backfit_every=int(estimator.backfit_every),
        fit_intercept=bool(estimator.fit_intercept) and loss.frees_constant,
        tol=_number("tol", estimator.tol, low=0.0, high=1.0),
        max_steps=_max_steps(estimator, len(distinct), len(middle)),
        is_class=is_class,
        is_shared=is_shared,
        n_redrawn=n_redrawn,
        seed=int(rng.randint(2**31 - 1)),
        memory=budget(estimator.max_memory),
        dtype=_dtype(estimator.dtype),
        n_jobs=estimator.n_jobs,
        verbose=estimator.verbose,
    )


def _check_words(estimator: Any) -> None:
    """Check the parameters that are words or flags, and that they go together."""
    check_choice("method", estimator.method, METHODS)
    check_choice("selection", estimator.selection, SELECTIONS)
    for name in ("fit_intercept", "redraw_candidates"):
        check_flag(name, getattr(estimator, name))
    whole_number("degree", estimator.degree, 1)
    finite_number("coef0", estimator.coef0)
    probability("validation_fraction", estimator.validation_fraction)
    check_whole("n_jobs", estimator.n_jobs, "a whole number, or None")
    check_whole("verbose", estimator.verbose, "True, False or a whole number")
    if estimator.selection == "loo" and estimator.method == "basic":
        raise ValueError(
            "selection='loo' needs a least-squares fit at each step, which "
            "method='basic' does not make: use method='back-fitting' or "
            "'pre-fitting', or selection='cv'."
        )


def _check_loss_words(estimator: Any, loss: Loss, score: Judge | None) -> None:
    """Check what has to do with the loss, and that it goes together."""
    every = estimator.backfit_every
    if not is_whole(every, 1):
        raise ValueError(
            f"backfit_every={every!r} must be a whole number of at least 1: after how "
            "many steps all coefficients are optimised again."
        )
    if estimator.selection != "loo":
        return
    if type(loss) is not Squared or every != 1:
        raise ValueError(
            "selection='loo' needs loss='squared' and backfit_every=1, for which "
            "leave-one-out errors have a closed form: use selection='cv'."
        )
    if score is not None:
        raise ValueError(
            "selection='loo' knows the squared leave-one-out error only, not "
            f"scoring={estimator.scoring!r}: use selection='cv'."
        )


def _middle_three(n: int) -> range:
    """Return with which of the widths the search begins."""
    middle = (n - 1) // 2
    return range(max(0, middle - 1), min(n, middle + 2))


# -- sample weights ----------------------------------------------------------------


def check_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return sample weights as a float64 array, or say what is wrong with them."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one "
            "weight for each sample."
        )
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight has negative values (the lowest is {weight.min():g}); "
            "weights must be 0 or more."
        )
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for all samples: nothing to fit.")
    return weight


# -- one parameter each ------------------------------------------------------------


def _number(
    name: str, value: Any, low: float, high: float = np.inf, word: str | None = None
) -> float:
    """Return a number in the range; ``word`` is what may be said instead of one."""
    if not is_number(value) or not low <= value <= high or not np.isfinite(value):
        upper = "" if high == np.inf else f" and at most {high:g}"
        instead = "" if word is None else f", or {word!r}"
        raise ValueError(
            f"{name}={value!r} must be a finite number of at least {low:g}{upper}"
            f"{instead}."
        )
    return float(value)


def _max_steps(estimator: Any, n_distinct: int, n_candidates: int) -> int:
    value = estimator.max_support
    if value is None:
        wanted = int(np.clip(10 * np.sqrt(n_distinct), 100, 1000))
    else:
        wanted = row_count("max_support", value, n_distinct, (None,))
    # The basic method may come back to a point any number of times.
    return wanted if estimator.method == "basic" else min(wanted, n_candidates)


def _candidates(
    estimator: Any, contents: Any, distinct: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, int | None]:
    """Return which distinct rows may be chosen, and how many are drawn at each step."""
    value, n_distinct = estimator.n_candidates, len(distinct)
    if value is None:
        return np.arange(n_distinct), 59 if estimator.redraw_candidates else None
    n = min(row_count("n_candidates", value, n_distinct, (None,)), n_distinct)
    if estimator.redraw_candidates:
        return np.arange(n_distinct), n
    # By content, so that neither the order of rows nor repeated rows matter.
    seed = int(rng.randint(2**31 - 1))
    return np.sort(np.argsort(row_digests(contents, distinct, seed))[:n]), None


def _tolerance(value: Any) -> float | str:
    if isinstance(value, str) and value == "1se":
        return value
    return _number("size_tolerance", value, low=0.0, word="1se")


def _patience(value: Any, selection: str | None) -> Patience:
    if value is None:
        return Patience(5) if selection == "loo" else CV_PATIENCE
    if not is_whole(value, 1):
        raise ValueError(
            f"patience={value!r} must be a whole number of at least 1, or None."
        )
    return Patience(int(value))


def _bound(estimator: Any, is_class: bool, n_outputs: int, loss: Loss) -> BoundRule:
    """Return which bound chooses the size; checked only where one does."""
    check_choice("bound", estimator.bound, ("auto", *KINDS))
    alpha = estimator.bound_alpha
    if alpha is not None:
        positive_number("bound_alpha", alpha)
    delta = probability("delta", estimator.delta)
    is_named = estimator.bound != "auto"
    rule = BoundRule(
        estimator.bound if is_named else default_kind(is_class), alpha, delta
    )
    if estimator.selection == "bound":
        check_rule(rule, is_class, n_outputs)
        if not is_class and not loss.is_identity_linked:
            raise ValueError(
                f"selection='bound' is about functions in the span of kernels, which "
                f"loss={estimator.loss!r} transforms: use selection='cv'."
            )
    return rule


def _dtype(value: Any) -> np.dtype:
    for dtype in (np.dtype("float64"), np.dtype("float32")):
        try:
            if value is not None and np.dtype(value) == dtype:
                return dtype
        except TypeError:
            break
    raise ValueError(f"dtype={value!r} must be 'float64' or 'float32'.")


def _selection(estimator: Any, n_distinct: int) -> str | None:
    """Return how the size is chosen: many rows are not tried in folds."""
    is_large = n_distinct > CV_ROWS and isinstance(estimator.cv, WHOLE)
    if estimator.selection == "cv" and is_large:
        return "validation"
    return estimator.selection


def _alphas(
    alpha: Any,
    dictionary: Functions,
    X: Any,
    weight: np.ndarray,
    loss: Loss,
    Y: np.ndarray,
) -> list[float]:
    if isinstance(alpha, str) and alpha == "cv":
        # A kernel s times as large has coefficients s times as small.
        scale = dictionary.scale(X, weight)
        scale = scale if 0 < scale < np.inf else 1.0
        if type(loss) is not Squared:
            scale *= LOSS_RIDGE * _loss_unit(loss, Y, weight)
        return [scale * a for a in ALPHAS]
    return [_number("alpha", alpha, low=0.0, word="cv")]


def _loss_unit(loss: Loss, Y: np.ndarray, weight: np.ndarray) -> float:
    """Return the loss's typical curvature at the start, that of squared loss being 1.

    A loss s times as curved takes a ridge s times as large for the same effect.
    """
    F = np.broadcast_to(loss.start(Y, weight)[:, None], Y.shape)
    half = 0.5 * loss.weights(Y, np.array(F)).mean(axis=0)
    return float(max(lower_quantile(half, weight, 0.5), 1e-300))
