"""Functions of x that are not kernels: features, transformers, any callable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations, combinations_with_replacement
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from pursuit.dictionaries._base import Dictionary, Sample, check_count
from pursuit.functions import Columns, Functions, Monomials, Outputs, as_columns, join


class Constant(Dictionary):
    """The constant 1, as one more function.

    For a constant that is chosen and penalised like any other, as in the papers, with
    ``fit_intercept=False``.
    """

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the constant."""
        return [Monomials(((),), sample.feature_names)]


class Features(Dictionary):
    """The features themselves, and their products.

    Parameters
    ----------
    columns : sequence of int or str, optional
        Which features; all of them if not given.
    degree : int
        Products of up to so many features.
    interaction_only : bool
        Whether a product has each feature at most once.
    """

    def __init__(
        self, columns: Any = None, *, degree: int = 1, interaction_only: bool = True
    ) -> None:
        self.columns = columns
        self.degree = degree
        self.interaction_only = interaction_only

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the products, the shorter ones first."""
        degree = check_count("degree", self.degree, 1, self)
        chosen = self._chosen(sample)
        products = (
            combinations if self.interaction_only else combinations_with_replacement
        )
        factors = chain.from_iterable(products(chosen, n) for n in range(1, degree + 1))
        return [Monomials(tuple(factors), sample.feature_names)]

    def _chosen(self, sample: Sample) -> list[int]:
        names, n = list(sample.feature_names), sample.X.shape[1]
        if self.columns is None:
            return list(range(n))
        chosen = [self._number(column, names, n) for column in list(self.columns)]
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"columns={self.columns!r} must be different features.")
        return chosen

    def _number(self, column: Any, names: list[str], n: int) -> int:
        if isinstance(column, str) and column in names:
            return names.index(column)
        is_whole = isinstance(column, (int, np.integer)) and not isinstance(
            column, bool
        )
        if is_whole and -n <= column < n:
            return int(column) % n
        raise ValueError(
            f"columns has {column!r}, which is no feature of X: give names of columns, "
            f"or numbers from 0 to {n - 1}."
        )


class Transformed(Dictionary):
    """What a scikit-learn transformer makes of X: splines, bins, polynomials.

    Parameters
    ----------
    transformer : transformer
        A copy of it is fitted to the training rows (with their weights, where it
        takes some); each of its outputs is a function.  The fitted model keeps that
        copy, and of its outputs the chosen ones.
    """

    accepts_sparse = False

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the outputs."""
        if not hasattr(self.transformer, "transform"):
            raise ValueError(
                f"transformer={self.transformer!r} must have fit and transform; for a "
                "function of X use Callables([function])."
            )
        used = sample.weight > 0
        fitted = clone(self.transformer)
        how = {}
        if has_fit_parameter(fitted, "sample_weight"):
            how["sample_weight"] = sample.weight[used]
        fitted.fit(sample.X[used], **how)
        title = type(fitted).__name__
        n = as_columns(fitted.transform(sample.X[:1]), 1, title).shape[1]
        names = self._names(fitted, sample, title, n)
        return [Outputs(fitted.transform, title, names, np.arange(n), n)]

    def _names(
        self, fitted: Any, sample: Sample, title: str, n: int
    ) -> tuple[str, ...]:
        try:
            given = fitted.get_feature_names_out(np.array(sample.feature_names, object))
        except (AttributeError, ValueError, TypeError):
            return tuple(f"{title} output {j}" for j in range(n))
        return tuple(f"{title} {name}" for name in given)


class Callables(Dictionary):
    """Any functions of X.

    Parameters
    ----------
    functions : sequence of callables
        Each is called with an array of shape (n, d) and returns n values, or an array
        of shape (n, m) for m functions.
    """

    accepts_sparse = False

    def __init__(self, functions: Sequence[Callable[[Any], Any]]) -> None:
        self.functions = functions

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions, after a trial of each on the training rows."""
        functions = self.functions
        if callable(functions) or not len(functions):
            raise ValueError(
                f"functions={functions!r} must be a list of one or more callables."
            )
        return [join([self._outputs(function, sample) for function in functions])]

    def _outputs(self, function: Any, sample: Sample) -> Functions:
        if not callable(function):
            raise ValueError(f"functions has {function!r}, which cannot be called.")
        title = getattr(function, "__name__", type(function).__name__)
        n = as_columns(function(sample.X), sample.X.shape[0], title).shape[1]
        names = (title,) if n == 1 else tuple(f"{title}[{j}]" for j in range(n))
        return Outputs(function, title, names, np.arange(n), n)


class Precomputed(Dictionary):
    """X is the matrix of the functions' values, a function a column.

    ``predict`` takes a matching matrix: all columns, or those that were chosen.

    Parameters
    ----------
    is_kernel : bool
        Whether X is square and column i belongs to training row i; it is then not
        chosen where row i is held out.
    """

    is_matrix = True
    accepts_sparse = False

    def __init__(self, is_kernel: bool = False) -> None:
        self.is_kernel = is_kernel

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the columns."""
        n = sample.X.shape[1]
        numbers = sample.rows if self.is_kernel else np.arange(n)
        return [Columns(numbers, n, bool(self.is_kernel))]
