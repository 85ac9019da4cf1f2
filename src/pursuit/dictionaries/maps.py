"""Dictionaries of other functions: features, transformers, any callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from pursuit._parameters import WHOLE, check_flag, whole_number
from pursuit.functions import Columns, Functions, Monomials, Outputs, as_columns, join
from pursuit.sample import Framer, Sample

from ._base import Dictionary

# Bytes for the description of a product.
_PRODUCT = 200


class Constant(Dictionary):
    """The constant 1.

    With ``fit_intercept=False``, the constant is chosen and penalized like any other
    function, as in the papers.
    """

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the constant."""
        return [Monomials(((),), sample.feature_names)]


class Features(Dictionary):
    """The features themselves, and their products.

    Parameters
    ----------
    columns : int, str or sequence of these, optional
        Features, by number or by name; by default all.
    degree : int
        Maximum number of features in a product.
    interaction_only : bool
        Whether a product may contain each feature only once.
    """

    def __init__(
        self, columns: Any = None, *, degree: int = 1, interaction_only: bool = True
    ) -> None:
        self.columns = columns
        self.degree = degree
        self.interaction_only = interaction_only

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the products, in order of increasing length."""
        degree = whole_number("degree", self.degree, 1)
        check_flag("interaction_only", self.interaction_only)
        chosen = self._chosen(sample)
        degree = min(degree, len(chosen)) if self.interaction_only else degree
        self._check_number_of_products(len(chosen), degree, sample.memory)
        products = (
            combinations if self.interaction_only else combinations_with_replacement
        )
        factors = chain.from_iterable(products(chosen, n) for n in range(1, degree + 1))
        return [Monomials(tuple(factors), sample.feature_names)]

    def _chosen(self, sample: Sample) -> list[int]:
        names, n = list(sample.feature_names), sample.X.shape[1]
        if self.columns is None:
            return list(range(n))
        columns = [self.columns] if np.ndim(self.columns) == 0 else self.columns
        chosen = [self._number(column, names, n) for column in columns]
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"columns={self.columns!r} must be different features.")
        return chosen

    def _number(self, column: Any, names: list[str], n: int) -> int:
        if isinstance(column, str) and column in names:
            return names.index(column)
        is_whole = isinstance(column, WHOLE) and not isinstance(column, bool)
        if is_whole and -n <= column < n:
            return int(column) % n
        raise ValueError(
            f"columns has {column!r}, which is not a feature of X: give names of "
            f"columns, or numbers from 0 to {n - 1}."
        )

    def _check_number_of_products(self, n: int, degree: int, memory: int) -> None:
        n_products = 0
        for m in range(1, degree + 1):
            n_products += comb(n if self.interaction_only else n + m - 1, m)
            if _PRODUCT * n_products > memory:
                raise ValueError(
                    f"degree={self.degree} makes {n_products} products of {n} "
                    "features, or more, and max_memory has no room for them: lower "
                    "degree, or name fewer columns."
                )


class Transformed(Dictionary):
    """The outputs of a scikit-learn transformer: splines, bins, polynomials.

    Parameters
    ----------
    transformer : transformer
        A clone is fitted to the training rows (with their weights, if it supports
        them); each of its outputs is a function. The fitted model keeps the clone and
        the indices of the chosen outputs. If X is a pandas or polars frame, the
        transformer gets such frames, of float columns with the same names, so that a
        ``ColumnTransformer`` may select columns by name.

    Notes
    -----
    The clone is fitted once, to X of all training rows including held-out ones, as no
    targets are involved. Put a transformer that learns from targets, or that encodes
    strings, before the estimator in a pipeline.
    """

    accepts_sparse = False

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the outputs."""
        self._check()
        used = sample.weight > 0
        fitted = clone(self.transformer)
        how = {}
        if has_fit_parameter(fitted, "sample_weight"):
            how["sample_weight"] = sample.weight[used]
        try:
            fitted.fit(_as_given(sample.X[used], sample.framer), **how)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"transformer={self.transformer!r} cannot be fitted to X alone "
                f"({error}): one that learns from targets belongs before the estimator "
                "in a pipeline."
            ) from error
        title = type(fitted).__name__
        apply = _Transform(fitted, sample.framer)
        n = as_columns(apply(sample.X[:1]), 1, title).shape[1]
        names = self._names(fitted, sample, title, n)
        return [Outputs(apply, title, names, np.arange(n), n)]

    def _check(self) -> None:
        transformer = self.transformer
        if isinstance(transformer, type) or not hasattr(transformer, "transform"):
            raise ValueError(
                f"transformer={transformer!r} must be an object with fit and "
                "transform; for a function of X use Callables([function])."
            )

    def _names(
        self, fitted: Any, sample: Sample, title: str, n: int
    ) -> tuple[str, ...]:
        try:
            names = fitted.get_feature_names_out(np.array(sample.feature_names, object))
        except (AttributeError, ValueError, TypeError):
            return tuple(f"{title} output {j}" for j in range(n))
        return tuple(f"{title} {name}" for name in names)


@dataclass(frozen=True)
class _Transform:
    """Apply a fitted transformer to arrays, or to frames made from them."""

    fitted: Any
    framer: Framer | None

    def __call__(self, X: np.ndarray) -> Any:
        return self.fitted.transform(_as_given(X, self.framer))


def _as_given(X: np.ndarray, framer: Framer | None) -> Any:
    return X if framer is None else framer(X)


class Callables(Dictionary):
    """Any functions of X.

    Parameters
    ----------
    functions : sequence of callables, or mapping from names to callables
        Each is called with an array of shape (n, d) and returns n values, or an array
        of shape (n, m) for m functions. Without a mapping, their Python names are
        used.
    """

    accepts_sparse = False

    def __init__(
        self,
        functions: Sequence[Callable[[Any], Any]] | Mapping[str, Callable[[Any], Any]],
    ) -> None:
        self.functions = functions

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions, after testing each on the training rows."""
        functions: Any = self.functions
        if not isinstance(functions, (list, tuple, Mapping)) or not functions:
            raise ValueError(
                f"functions={functions!r} must be a list of one or more callables, or "
                "a mapping from names to callables."
            )
        titled = self._titled(functions)
        return [join([self._outputs(title, f, sample) for title, f in titled])]

    def _titled(self, functions: Any) -> list[tuple[str, Any]]:
        if isinstance(functions, Mapping):
            return [(str(name), function) for name, function in functions.items()]
        titles = [_name(f) for f in functions]
        # Number functions that have the same name.
        return [
            (title if titles.count(title) == 1 else f"{title} {i}", function)
            for i, (title, function) in enumerate(zip(titles, functions, strict=True))
        ]

    def _outputs(self, title: str, function: Any, sample: Sample) -> Functions:
        if not callable(function):
            raise ValueError(f"functions has {function!r}, which cannot be called.")
        n = as_columns(function(sample.X), sample.X.shape[0], title).shape[1]
        names = (title,) if n == 1 else tuple(f"{title}[{j}]" for j in range(n))
        return Outputs(function, title, names, np.arange(n), n)


class Precomputed(Dictionary):
    """The columns of X, which is the matrix of the functions' values.

    ``predict`` takes a matching matrix: with all columns, or with the chosen ones in
    the order of ``support_``.

    Parameters
    ----------
    is_kernel : bool
        Whether X is square and column i belongs to training row i. Column i is then
        not a candidate if row i is held out.
    """

    is_matrix = True
    accepts_sparse = False

    def __init__(self, is_kernel: bool = False) -> None:
        self.is_kernel = is_kernel

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the columns."""
        check_flag("is_kernel", self.is_kernel)
        n = sample.X.shape[1]
        numbers = sample.rows if self.is_kernel else np.arange(n)
        return [Columns(numbers, n, bool(self.is_kernel))]


def _name(function: Any) -> str:
    """Return the name of a function, also of one with some arguments set."""
    function = getattr(function, "func", function)
    return str(getattr(function, "__name__", type(function).__name__))
