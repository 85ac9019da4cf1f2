"""Turn fitted estimators and pipelines into a `Formula`."""

from __future__ import annotations

from collections import UserList
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from pursuit.estimators.kmp import KMPClassifier, KMPRanker, KMPRegressor

from .columns import Column, Vocabularies
from .encoders import ENCODERS, Converted
from .errors import UnsupportedError
from .formula import Formula
from .models import formula_of_model
from .steps import Affine, Branches, Step, Take
from .transformers import NUMERIC

__all__ = ["formula_of"]


def formula_of(model: Any) -> Formula:
    """Return what a fitted model, or a pipeline that ends in one, computes.

    Parameters
    ----------
    model : KMPClassifier, KMPRanker, KMPRegressor or Pipeline
        Fitted. A pipeline may hold scikit-learn's usual preprocessing before the model;
        a search such as GridSearchCV stands for its best estimator, and a
        TransformedTargetRegressor may scale the target or take its logarithm.

    Returns
    -------
    formula : Formula
        Plain numbers and words; ``formula.values(formula.coded(X))`` are the model's
        values.

    Raises
    ------
    UnsupportedError
        If a step, a kernel or a loss has no formula; the message says what to do.
    """
    if isinstance(model, Formula):
        return model
    names = _names(model)
    draft = Vocabularies(names)
    _read(model, draft, draft.columns())
    # Again, with codes in the order of the encoders, which users see.
    words = Vocabularies(names, draft.orders())
    reading = _read(model, words, words.columns())
    formula = formula_of_model(reading.model, words.inputs(), reading.steps)
    for transformer in reading.targets:
        formula = _with_target(formula, transformer)
    return formula


class Reading(NamedTuple):
    """A model at the end of pipelines.

    Attributes
    ----------
    model : KMPClassifier, KMPRanker or KMPRegressor
    steps : list of Step
        Preparation of its rows.
    targets : list of transformers
        Those of its target, the innermost first.
    """

    model: Any
    steps: list[Step]
    targets: list[Any]


def _read(model: Any, words: Vocabularies, columns: list[Column]) -> Reading:
    """Return the model behind pipelines, searches and transformed targets."""
    if _is_search(model):
        return _read(_best(model), words, columns)
    if isinstance(model, Pipeline):
        *before, (_, last) = model.steps
        done = _in_turn(before, columns, words)
        reading = _read(last, words, done.columns)
        return reading._replace(steps=done.steps + reading.steps)
    if isinstance(model, TransformedTargetRegressor):
        check_is_fitted(model)
        reading = _read(model.regressor_, words, columns)
        return reading._replace(targets=[*reading.targets, model.transformer_])
    # By type, not by descent: a subclass may predict otherwise.
    if type(model) not in (KMPClassifier, KMPRanker, KMPRegressor):
        raise UnsupportedError(
            f"{type(model).__name__} cannot be exported: KMPClassifier, KMPRanker, "
            "KMPRegressor and pipelines that end in one can."
        )
    words.as_numbers(columns)
    return Reading(model, [], [])


def _is_search(model: Any) -> bool:
    searches = (GridSearchCV, RandomizedSearchCV)
    return isinstance(model, searches) or hasattr(model, "best_estimator_")


def _best(search: Any) -> Any:
    if not hasattr(search, "best_estimator_"):
        raise UnsupportedError(
            f"{type(search).__name__} has no best_estimator_: fit it with refit=True."
        )
    return search.best_estimator_


def _names(model: Any) -> list[str]:
    """Return the names of the raw columns, as the first step that knows them."""
    if _is_search(model):
        return _names(_best(model))
    candidates = [model]
    if isinstance(model, Pipeline):
        candidates += [step for _, step in model.steps]
    for each in candidates:
        names = getattr(each, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        n_features = getattr(each, "n_features_in_", None)
        if n_features is not None:
            return [f"x{i}" for i in range(n_features)]
    check_is_fitted(model)
    raise UnsupportedError(
        f"{type(model).__name__} does not know its columns: n_features_in_ is missing."
    )


def _converted(
    transformer: Any, columns: list[Column], words: Vocabularies
) -> Converted:
    """Return the steps of a transformer of the columns."""
    if transformer is None or _is(transformer, "passthrough"):
        return Converted([], columns)
    if isinstance(transformer, Pipeline):
        return _in_turn(transformer.steps, columns, words)
    if isinstance(transformer, ColumnTransformer):
        return _column_transformer(transformer, columns, words)
    if isinstance(transformer, FeatureUnion):
        return _feature_union(transformer, columns, words)
    if type(transformer) in ENCODERS:
        check_is_fitted(transformer)
        return ENCODERS[type(transformer)](transformer, columns, words)
    if type(transformer) in NUMERIC:
        check_is_fitted(transformer)
        return _numeric(transformer, columns, words)
    known = sorted(each.__name__ for each in {**ENCODERS, **NUMERIC})
    raise UnsupportedError(
        f"The step {transformer!r} cannot be exported. These can: {', '.join(known)}, "
        "ColumnTransformer, FeatureUnion, Pipeline. Do the others' work before the "
        "pipeline, or save the model with pursuit.save."
    )


def _numeric(transformer: Any, columns: list[Column], words: Vocabularies) -> Converted:
    steps = NUMERIC[type(transformer)](transformer)
    if not steps:
        return Converted([], columns)
    words.as_numbers(columns)
    width = len(columns)
    for step in steps:
        width = getattr(step, "matrix", np.empty((0, width))).shape[1]
    return Converted(steps, [Column()] * width)


def _in_turn(
    named: Sequence[tuple[str, Any]], columns: list[Column], words: Vocabularies
) -> Converted:
    steps: list[Step] = []
    for _, transformer in named:
        more, columns = _converted(transformer, columns, words)
        steps += more
    return Converted(steps, columns)


def _column_transformer(
    transformer: Any, columns: list[Column], words: Vocabularies
) -> Converted:
    check_is_fitted(transformer)
    names = list(getattr(transformer, "feature_names_in_", []))
    weights = transformer.transformer_weights or {}
    parts = []
    for name, part, chosen in transformer.transformers_:
        places = _places(chosen, len(columns), names)
        if not _is(part, "drop") and len(places):
            taken = Take(places)
            steps, after = _converted(part, [columns[i] for i in places], words)
            done = Converted([taken, *steps], after)
            parts.append(_weighted(done, weights.get(name), words))
    return _side_by_side(parts)


def _feature_union(union: Any, columns: list[Column], words: Vocabularies) -> Converted:
    weights = union.transformer_weights or {}
    parts = []
    for name, part in union.transformer_list:
        if not _is(part, "drop"):
            done = _converted(part, columns, words)
            parts.append(_weighted(done, weights.get(name), words))
    return _side_by_side(parts)


def _weighted(done: Converted, weight: Any, words: Vocabularies) -> Converted:
    if weight is None:
        return done
    d = len(done.columns)
    scale = Affine(np.full(d, float(weight)), np.zeros(d))
    return Converted([*done.steps, scale], words.as_numbers(done.columns))


def _side_by_side(parts: list[Converted]) -> Converted:
    columns = [column for part in parts for column in part.columns]
    if len(parts) == 1:
        return Converted(parts[0].steps, columns)
    return Converted([Branches(tuple(tuple(p.steps) for p in parts))], columns)


def _places(chosen: Any, n_columns: int, names: list[str]) -> np.ndarray:
    """Return the indices of columns chosen by names, indices, slices or a mask."""
    everything = np.arange(n_columns)
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        if isinstance(start, str):
            start = names.index(start)
        if isinstance(stop, str):
            stop = names.index(stop) + 1  # names include the last
        return everything[slice(start, stop, chosen.step)]
    if isinstance(chosen, UserList):
        chosen = chosen.data  # whose items scikit-learn 1.6 warns of
    each: list[Any] = [chosen] if np.isscalar(chosen) else list(chosen)
    if all(isinstance(c, bool | np.bool_) for c in each):
        return everything[np.array(each, dtype=bool)] if each else everything[:0]
    return np.array(
        [names.index(c) if isinstance(c, str) else everything[c] for c in each],
        dtype=np.int64,
    )


def _is(part: Any, word: str) -> bool:
    return isinstance(part, str) and part == word


def _with_target(formula: Formula, transformer: Any) -> Formula:
    """Return the formula of predictions whose target was transformed."""
    is_function = type(transformer) is FunctionTransformer
    if is_function and transformer.inverse_func is None:
        return formula
    if formula.answer.link == "identity":
        if is_function and _is_logarithm(transformer):
            return replace(formula, answer=replace(formula.answer, link="exp"))
        if type(transformer) in (
            StandardScaler,
            RobustScaler,
            MinMaxScaler,
            MaxAbsScaler,
        ) and not getattr(transformer, "clip", False):
            return _unscaled(formula, NUMERIC[type(transformer)](transformer))
    raise UnsupportedError(
        f"The target's transformer {transformer!r} cannot be exported: scalers that do "
        "not clip, and the pair func=np.log, inverse_func=np.exp, can."
    )


def _is_logarithm(transformer: Any) -> bool:
    return transformer.func is np.log and transformer.inverse_func is np.exp


def _unscaled(formula: Formula, scaling: list[Any]) -> Formula:
    """Return the formula of values before the affine steps of a scaling."""
    coef, intercept = formula.coef, formula.intercept
    for step in reversed(scaling):
        coef = coef / step.scale[:, None]
        intercept = (intercept - step.shift) / step.scale
    return formula.with_coefficients(coef, intercept)
