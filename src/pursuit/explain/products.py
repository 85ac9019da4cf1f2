"""Models as sums of products of functions of one feature each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.export import UnsupportedError
from pursuit.export.formula import Combination, Comparison, KernelGroup, MonomialGroup
from pursuit.export.models import groups_of


class Products(ABC):
    """Weighted products of functions of one feature each.

    Attributes
    ----------
    coef : ndarray of shape (T, m)
        Weight of each product in each output.
    columns : ndarray of int of shape (c,)
        Features on which some of the products depend.
    """

    coef: np.ndarray

    @property
    @abstractmethod
    def columns(self) -> np.ndarray:
        """Features on which some of the products depend."""

    @abstractmethod
    def factors(self, X: np.ndarray) -> np.ndarray:
        """Return the factors (n, m, c) of the products at the rows of X."""

    @abstractmethod
    def __getitem__(self, some: slice) -> Products:
        """Return some of the products."""

    def __len__(self) -> int:
        return int(self.coef.shape[1])


@dataclass(frozen=True, eq=False)
class KernelProducts(Products):
    """Products of exponentials, such as Gaussian and Laplacian kernels on points.

    Attributes
    ----------
    coef : ndarray of shape (T, m)
    leaves : tuple of Comparison
        Kernels that are multiplied; none for constants.
    n_features : int
    """

    coef: np.ndarray
    leaves: tuple[Comparison, ...]
    n_features: int

    @cached_property
    def columns(self) -> np.ndarray:
        """Features of a weight above 0 in the metric of some kernel."""
        is_used = np.zeros(self.n_features, dtype=bool)
        for leaf in self.leaves:
            is_used |= True if leaf.factor is None else leaf.factor != 0.0
        return np.flatnonzero(is_used)

    def factors(self, X: np.ndarray) -> np.ndarray:
        """Return the factors (n, m, c) of the products at the rows of X."""
        columns = self.columns
        exponents = np.zeros((len(X), len(self), len(columns)))
        with np.errstate(over="ignore", under="ignore"):
            for leaf in self.leaves:
                Y = X if leaf.origin is None else X - leaf.origin
                Y = Y if leaf.factor is None else Y * leaf.factor
                D = Y[:, None, columns] - leaf.centers[:, columns]
                is_squared = leaf.quantity == "squared-distance"
                D = np.square(D, out=D) if is_squared else np.abs(D, out=D)
                D *= leaf.gamma[:, None]
                exponents -= D
            return np.asarray(np.exp(exponents, out=exponents))

    def __getitem__(self, some: slice) -> KernelProducts:
        leaves = tuple(
            replace(
                leaf,
                centers=leaf.centers[some],
                gamma=leaf.gamma if len(leaf.gamma) == 1 else leaf.gamma[some],
            )
            for leaf in self.leaves
        )
        return replace(self, coef=self.coef[:, some], leaves=leaves)


@dataclass(frozen=True, eq=False)
class MonomialProducts(Products):
    """Products of features.

    Attributes
    ----------
    coef : ndarray of shape (T, m)
    products : tuple of tuples of int
        Features in each product.
    """

    coef: np.ndarray
    products: tuple[tuple[int, ...], ...]

    @cached_property
    def columns(self) -> np.ndarray:
        """Features in some product."""
        return np.array(sorted({j for p in self.products for j in p}), dtype=int)

    def factors(self, X: np.ndarray) -> np.ndarray:
        """Return the factors (n, m, c) of the products at the rows of X."""
        place = {column: c for c, column in enumerate(self.columns)}
        factors = np.ones((len(X), len(self), len(place)))
        for i, product in enumerate(self.products):
            for j in product:
                factors[:, i, place[j]] *= X[:, j]
        return factors

    def __getitem__(self, some: slice) -> MonomialProducts:
        return MonomialProducts(self.coef[:, some], self.products[some])


@dataclass(frozen=True, eq=False)
class SumOfProducts:
    """A fitted model, f_t(x) = intercept_t + Σ_i coef[t, i] Π_j g_ij(x_j).

    Attributes
    ----------
    parts : tuple of Products
    intercept : ndarray of shape (T,)
    n_features : int
    """

    parts: tuple[Products, ...]
    intercept: np.ndarray
    n_features: int

    @classmethod
    def of(cls, model: Any) -> SumOfProducts:
        """Return a fitted KMP model as products; raise an error if it is none."""
        d = model.n_features_in_
        groups, order = groups_of(model.atoms_)
        coef = np.asarray(model.dual_coef_, dtype=np.float64)[:, order]
        parts: list[Products] = []
        first = 0
        for group in groups:
            last = first + group.n_functions
            weights = coef[:, first:last]
            if isinstance(group, MonomialGroup):
                parts.append(MonomialProducts(weights, group.products))
            else:
                parts.extend(_kernel_parts(group, weights, d))
            first = last
        kept = tuple(part for part in parts if len(part))
        return cls(kept, np.asarray(model.intercept_, dtype=np.float64), d)

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return len(self.intercept)


def _kernel_parts(group: KernelGroup, coef: np.ndarray, d: int) -> list[Products]:
    if isinstance(group.kernel, Comparison) and group.kernel.quantity == "product":
        return [_linear(group.kernel, coef, d)]
    return [
        KernelProducts(coef * number, leaves, d)
        for number, leaves in _expanded(group.kernel)
    ]


def _linear(leaf: Comparison, coef: np.ndarray, d: int) -> Products:
    """Return a linear kernel as a sum over features."""
    if leaf.profile != "identity":
        raise _unsupported(f"a kernel of the profile {leaf.profile!r}")
    Z = leaf.centers
    if leaf.factor is not None:
        Z = Z * leaf.factor if leaf.factor.ndim == 1 else Z @ leaf.factor.T
    return MonomialProducts(coef @ Z, tuple((j,) for j in range(d)))


def _expanded(
    node: Comparison | Combination,
) -> Sequence[tuple[float, tuple[Comparison, ...]]]:
    """Return a tree of kernels as a sum of numbers times products of leaves."""
    if isinstance(node, Comparison):
        return [(1.0, (_separable(node),))]
    if node.operation == "constant":
        return [(node.number, ())]
    operands = [_expanded(operand) for operand in node.operands]
    if node.operation == "sum":
        return [term for terms in operands for term in terms]
    if node.operation == "scaled":
        return [(node.number * number, leaves) for number, leaves in operands[0]]
    return [
        (one * other, left + right)
        for one, left in operands[0]
        for other, right in operands[1]
    ]


def _separable(leaf: Comparison) -> Comparison:
    """Return a leaf that is a product over features; raise an error if it is none."""
    if leaf.profile != "exponential" or not leaf.quantity.endswith("distance"):
        raise _unsupported(f"a kernel of the profile {leaf.profile!r}")
    A = leaf.factor
    if A is None or A.ndim == 1:
        return leaf
    if A.shape[0] == A.shape[1] and np.array_equal(A, np.diag(np.diagonal(A))):
        return replace(leaf, factor=np.diagonal(A))
    raise _unsupported("a kernel in a full metric, where features mix")


def _unsupported(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"The model has {what}: it is no product over features, so that there is no "
        "exact explanation in polynomial time. Fit with metric='diagonal' and "
        "kernel='auto', 'rbf' or 'laplacian', or use what calls the model, such as "
        "shap.KernelExplainer or sklearn.inspection."
    )
