"""Steps of fitted imputers and encoders, which take numbers or words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn import impute, preprocessing

from .coding import is_missing, is_nan
from .columns import Column, Vocabularies
from .errors import UnsupportedError
from .steps import Branches, Encode, Fill, Flag, OneHot, Step, Take

__all__ = ["ENCODERS", "Converted"]


class Converted(NamedTuple):
    """Steps of a transformer, and the columns after them."""

    steps: list[Step]
    columns: list[Column]


def _simple_imputer(
    imputer: Any, columns: Sequence[Column], words: Vocabularies
) -> Converted:
    fills = imputer.statistics_
    keeps_all = imputer.keep_empty_features
    kept = [i for i, fill in enumerate(fills) if keeps_all or not is_nan(fill)]
    missing = _missing_codes(imputer.missing_values, columns, words)
    values = [words.code(columns[i], fills[i]) for i in kept]
    filling = _filling(kept, values, missing)
    if is_missing(imputer.missing_values):
        after = [columns[i].filled() for i in kept]
    else:
        after = [columns[i] for i in kept]
    # Numbers are computed, so that no encoder of words may follow.
    if imputer.strategy in ("mean", "median"):
        after = words.as_numbers(after)
    if imputer.indicator_ is None or len(imputer.indicator_.features_) == 0:
        return Converted(filling, after)
    flagged = [int(i) for i in imputer.indicator_.features_]
    words.read(columns[i] for i in flagged)
    branches = (tuple(filling), tuple(_flags(flagged, missing)))
    return Converted([Branches(branches)], after + [Column()] * len(flagged))


def _missing_indicator(
    indicator: Any, columns: Sequence[Column], words: Vocabularies
) -> Converted:
    flagged = [int(i) for i in indicator.features_]
    words.read(columns[i] for i in flagged)
    missing = _missing_codes(indicator.missing_values, columns, words)
    return Converted(_flags(flagged, missing), [Column()] * len(flagged))


def _missing_codes(
    marker: Any, columns: Sequence[Column], words: Vocabularies
) -> np.ndarray:
    """Return what stands for a missing value, for each column."""
    return np.array([words.code(column, marker) for column in columns])


def _filling(kept: list[int], values: list[float], missing: np.ndarray) -> list[Step]:
    return _by_marker(
        kept,
        missing,
        lambda places, marker: Fill(np.array([values[p] for p in places]), marker),
    )


def _flags(flagged: list[int], missing: np.ndarray) -> list[Step]:
    return _by_marker(flagged, missing, lambda _, marker: Flag(marker))


def _by_marker(
    taken: list[int],
    missing: np.ndarray,
    make: Callable[[Sequence[int], float], Step],
) -> list[Step]:
    """Return one step for all columns, or one for each if their markers differ."""
    markers = missing[taken]
    places = range(len(taken))
    if len(taken) == 0:
        return [Take(np.array([], dtype=np.int64))]
    if len(np.unique(markers)) == 1:
        take = [] if taken == list(range(len(missing))) else [_take(taken)]
        return [*take, make(places, float(markers[0]))]
    branches = [(_take([taken[p]]), make([p], float(markers[p]))) for p in places]
    return [Branches(tuple(branches))]


def _take(columns: Sequence[int]) -> Take:
    return Take(np.array(columns, dtype=np.int64))


def _one_hot_encoder(
    encoder: Any, columns: Sequence[Column], words: Vocabularies
) -> Converted:
    known, places, unknown, first = [], [], [], 0
    drops = encoder.drop_idx_
    for i, column in enumerate(columns):
        categories = encoder.categories_[i]
        groups, n_groups = _groups(_infrequent(encoder, i))
        dropped = None if drops is None or drops[i] is None else groups[drops[i]]
        place = groups + first
        if dropped is not None:
            place = np.where(groups > dropped, place - 1, place)
            place[groups == dropped] = -1
        known.append(_known(categories, column, words))
        places.append(place)
        unknown.append(_unknown_place(encoder, i, place))
        first += n_groups - (dropped is not None)
    step = OneHot(tuple(known), tuple(places), tuple(unknown), first)
    return Converted([step], [Column()] * first)


def _unknown_place(encoder: Any, i: int, place: np.ndarray) -> int:
    if encoder.handle_unknown == "error":
        return -2
    infrequent = _infrequent(encoder, i)
    if encoder.handle_unknown == "ignore" or not infrequent.any():
        return -1
    return int(place[infrequent][0])


def _ordinal_encoder(
    encoder: Any, columns: Sequence[Column], words: Vocabularies
) -> Converted:
    is_error = encoder.handle_unknown == "error"
    unknown = np.nan if is_error else float(encoder.unknown_value)
    known, codes = [], []
    for i, column in enumerate(columns):
        categories = encoder.categories_[i]
        # Only NaN is a missing value here; None is a category like others.
        hole = np.array([is_nan(c) for c in categories])
        groups, _ = _groups(_infrequent(encoder, i)[~hole])
        numbers = np.empty(len(categories))
        numbers[~hole] = groups
        numbers[hole] = encoder.encoded_missing_value
        known.append(_known(categories, column, words))
        codes.append(numbers)
    step = Encode(tuple(known), tuple(codes), (unknown,) * len(columns))
    return Converted([step], [Column()] * len(columns))


def _known(categories: np.ndarray, column: Column, words: Vocabularies) -> np.ndarray:
    """Return the categories as numbers or codes."""
    missing = [c for c in categories if is_missing(c)]
    if len(missing) > 1 or (missing and column.is_filled):
        raise UnsupportedError(
            f"The categories {list(categories)} tell None from NaN, and a formula "
            "does not: replace one by the other before the fit."
        )
    is_words = categories.dtype.kind in "OU" and all(
        isinstance(c, str | bytes) or is_missing(c) for c in categories
    )
    if is_words:
        words.list_words(column, [str(c) for c in categories if isinstance(c, str)])
    elif column.source is not None:
        words.as_numbers([column])
    return np.array([words.code(column, c) for c in categories], dtype=np.float64)


def _infrequent(encoder: Any, i: int) -> np.ndarray:
    """Return whether each category of column i is infrequent."""
    categories = encoder.categories_[i]
    groups = (
        encoder.infrequent_categories_
        if encoder.max_categories is not None or encoder.min_frequency is not None
        else None
    )
    if groups is None or groups[i] is None:
        return np.zeros(len(categories), dtype=bool)
    rare = list(groups[i])
    has_missing = any(is_missing(c) for c in rare)
    return np.array([has_missing if is_missing(c) else c in rare for c in categories])


def _groups(rare: np.ndarray) -> tuple[np.ndarray, int]:
    """Return each category's group, the last for rare ones, and the number of them."""
    groups = np.cumsum(~rare) - 1
    n_frequent = int((~rare).sum())
    groups[rare] = n_frequent
    return groups, n_frequent + int(rare.any())


# By type, not by descent: a subclass may compute something else.
ENCODERS: dict[type, Callable[[Any, Sequence[Column], Vocabularies], Converted]] = {
    impute.SimpleImputer: _simple_imputer,
    impute.MissingIndicator: _missing_indicator,
    preprocessing.OneHotEncoder: _one_hot_encoder,
    preprocessing.OrdinalEncoder: _ordinal_encoder,
}
