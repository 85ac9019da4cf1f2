"""Records of functions, and of paths through them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pursuit.dictionaries.maps import _Transform
from pursuit.functions import (
    Centered,
    Columns,
    Functions,
    Joined,
    KernelFunctions,
    Monomials,
    OrientedGaussianFunctions,
    Outputs,
    VariedGaussians,
)
from pursuit.path import (
    OrthogonalPath,
    Path,
    RefittedPath,
    SeparatePaths,
    upper_triangle,
)
from pursuit.sample import Framer

from ._basics import check_rows
from ._kernels import check_kernel
from .tree import Fields, Record, RefusalError

__all__ = ["RECORDS", "check_columns"]

# A product of more features than this takes long to no end.
_LONGEST_PRODUCT = 1000


def check_columns(functions: Functions, n_features: int, owner: str) -> None:
    """Raise a ValueError unless the functions are of rows with so many columns."""
    if isinstance(functions, Joined):
        for part in functions.parts:
            check_columns(part, n_features, owner)
        return
    needed: Any = n_features
    if isinstance(functions, Centered):
        needed = functions.points.shape[1]
    elif isinstance(functions, Columns):
        needed = functions.n_columns
    elif isinstance(functions, Monomials):
        needed = len(functions.feature_names)
    elif isinstance(functions, Outputs):
        apply: Any = functions.apply
        needed = getattr(apply.fitted, "n_features_in_", n_features)
    if needed != n_features:
        raise ValueError(
            f"The functions of {owner} need {needed} columns, the model {n_features}."
        )


# -- functions ---------------------------------------------------------------------


def _points(fields: Fields, n_points: str = "M") -> dict[str, Any]:
    points = check_rows(fields, "points", n_points, "d")
    return {
        "points": points,
        "numbers": fields.array("numbers", "i", "M", least=0),
        "on_rows": fields.flag("on_rows"),
    }


def _take_points(value: Any) -> dict[str, Any]:
    return {
        "points": value.points,
        "numbers": value.numbers,
        "on_rows": bool(value.on_rows),
    }


def _take_kernels(value: KernelFunctions) -> Mapping[str, Any]:
    return {**_take_points(value), "kernel": value.kernel}


def _make_kernels(fields: Fields) -> KernelFunctions:
    points, kernel = _points(fields), fields.any("kernel")
    check_kernel(kernel, fields.sizes["d"], fields.name)
    return KernelFunctions(**points, kernel=kernel)


def _take_varied(value: VariedGaussians) -> Mapping[str, Any]:
    return {**_take_points(value), "gammas": value.gammas, "place": value.place}


def _make_varied(fields: Fields) -> VariedGaussians:
    points = _points(fields, "P")
    n_points = fields.sizes["P"]
    return VariedGaussians(
        **points,
        gammas=fields.array("gammas", "f", "M", above=0.0),
        place=fields.array("place", "i", "M", least=0, below=n_points),
    )


def _take_oriented(value: OrientedGaussianFunctions) -> Mapping[str, Any]:
    return {
        **_take_points(value),
        "width": float(value.width),
        "directions": value.directions,
        "variances": value.variances,
    }


def _make_oriented(fields: Fields) -> OrientedGaussianFunctions:
    fields.array("points", "f", "M", "d")  # never sparse
    return OrientedGaussianFunctions(
        **_points(fields),
        width=fields.number("width", above=0.0),
        directions=fields.array("directions", "f", "M", "d", "r"),
        variances=fields.array("variances", "f", "M", "r", least=0.0),
    )


def _take_monomials(value: Monomials) -> Mapping[str, Any]:
    return {
        "factors": [list(map(int, factors)) for factors in value.factors],
        "feature_names": list(value.feature_names),
    }


def _make_monomials(fields: Fields) -> Monomials:
    names = fields.words("feature_names", "d")
    factors = fields.all_of("factors", list)
    for product in factors:
        is_right = all(type(i) is int and 0 <= i < len(names) for i in product)
        if not is_right or len(product) > _LONGEST_PRODUCT:
            raise fields.error("factors", "must be lists of the numbers of features")
    return Monomials(tuple(map(tuple, factors)), tuple(names))


def _take_columns(value: Columns) -> Mapping[str, Any]:
    return {
        "numbers": value.numbers,
        "n_columns": int(value.n_columns),
        "on_rows": bool(value.on_rows),
    }


def _make_columns(fields: Fields) -> Columns:
    n = fields.whole("n_columns")
    return Columns(
        numbers=fields.array("numbers", "i", "M", least=0, below=n),
        n_columns=n,
        on_rows=fields.flag("on_rows"),
    )


def _take_joined(value: Joined) -> Mapping[str, Any]:
    return {"parts": list(value.parts), "order": value.order}


def _make_joined(fields: Fields) -> Joined:
    parts = fields.all_of("parts", Functions)
    n = sum(len(part) for part in parts)
    if not parts:
        raise fields.error("parts", "must not be empty")
    return Joined(tuple(parts), fields.array("order", "i", "M", least=0, below=n))


def _take_outputs(value: Outputs) -> Mapping[str, Any]:
    if type(value.apply) is not _Transform:
        raise RefusalError("it calls functions of your own (Callables)")
    return {
        "fitted": value.apply.fitted,
        "framer": value.apply.framer,
        "title": value.title,
        "column_names": list(value.column_names),
        "columns": value.columns,
        "n_columns": int(value.n_columns),
    }


def _make_outputs(fields: Fields) -> Outputs:
    n = fields.whole("n_columns")
    fitted = fields.any("fitted")
    if not hasattr(fitted, "transform"):
        raise fields.error("fitted", "must be a transformer")
    return Outputs(
        _Transform(fitted, fields.only("framer", Framer, optional=True)),
        title=str(fields.text("title")),
        column_names=tuple(fields.words("column_names", "M")),
        columns=fields.array("columns", "i", "M", least=0, below=n),
        n_columns=n,
    )


def _take_framer(value: Framer) -> Mapping[str, Any]:
    return {"library": value.library, "names": list(value.names)}


def _make_framer(fields: Fields) -> Framer:
    # The library is imported by this name: no other may pass.
    library = fields.word("library", "pandas", "polars")
    return Framer(library, tuple(fields.words("names")))


# -- paths -------------------------------------------------------------------------


def _take_steps(path: Path) -> dict[str, Any]:
    return {
        "atoms": path.atoms,
        "errors": path.errors,
        "gains": path.gains,
        "has_intercept": bool(path.has_intercept),
        "stop_reason": path.stop_reason,
    }


def _steps(fields: Fields) -> dict[str, Any]:
    atoms = fields.array("atoms", "i", "n", least=0)
    n = len(atoms)
    return {
        "atoms": atoms,
        "errors": fields.array("errors", "f", n + 1, finite=False),
        "gains": fields.array("gains", "f", n, finite=False),
        "has_intercept": fields.flag("has_intercept"),
        "stop_reason": str(fields.text("stop_reason")),
    }


def _take_orthogonal(path: OrthogonalPath) -> Mapping[str, Any]:
    # Row by row without what is below the diagonal, half of the numbers.
    return {
        **_take_steps(path),
        "triangle": path.triangle[np.triu_indices(len(path.triangle))],
        "loads": path.loads,
        "means": path.means,
    }


def _make_orthogonal(fields: Fields) -> OrthogonalPath:
    steps = _steps(fields)
    b = len(steps["atoms"]) + int(steps["has_intercept"])
    upper = fields.array("triangle", "f", b * (b + 1) // 2)
    triangle = upper_triangle(upper)
    if not np.all(np.diagonal(triangle)):
        raise fields.error("triangle", "has a 0 on its diagonal")
    return OrthogonalPath(
        **steps,
        triangle=triangle,
        loads=fields.array("loads", "f", b, "T"),
        means=fields.array("means", "f", "T", optional=True),
    )


def _take_refitted(path: RefittedPath) -> Mapping[str, Any]:
    # All coefficients one after another: an array for each size would be many.
    parts = [coef.ravel() for coef in path.coefs]
    return {
        **_take_steps(path),
        "n_outputs": path.n_outputs,
        "coefs": np.concatenate(parts),
    }


def _make_refitted(fields: Fields) -> RefittedPath:
    steps = _steps(fields)
    first, n = int(steps["has_intercept"]), len(steps["atoms"])
    n_outputs = fields.whole("n_outputs", 1)
    ends = n_outputs * np.cumsum(np.arange(first, first + n + 1, dtype=object))
    flat = fields.array("coefs", "f", int(ends[-1]))
    parts = np.split(flat, ends[:-1].astype(np.int64))
    coefs = tuple(part.reshape(n_outputs, len(part) // n_outputs) for part in parts)
    return RefittedPath(**steps, coefs=coefs)


def _make_separate(fields: Fields) -> SeparatePaths:
    paths = fields.all_of("paths", Path)
    if not paths or any(path.n_outputs != 1 for path in paths):
        raise fields.error("paths", "must have one output each")
    return SeparatePaths(tuple(paths))


RECORDS = (
    Record("functions.Kernels", KernelFunctions, _take_kernels, _make_kernels),
    Record("functions.VariedGaussians", VariedGaussians, _take_varied, _make_varied),
    Record(
        "functions.OrientedGaussians",
        OrientedGaussianFunctions,
        _take_oriented,
        _make_oriented,
    ),
    Record("functions.Monomials", Monomials, _take_monomials, _make_monomials),
    Record("functions.Columns", Columns, _take_columns, _make_columns),
    Record("functions.Joined", Joined, _take_joined, _make_joined),
    Record("functions.Outputs", Outputs, _take_outputs, _make_outputs),
    Record("functions.Framer", Framer, _take_framer, _make_framer),
    Record("paths.Orthogonal", OrthogonalPath, _take_orthogonal, _make_orthogonal),
    Record("paths.Refitted", RefittedPath, _take_refitted, _make_refitted),
    Record(
        "paths.Separate",
        SeparatePaths,
        lambda value: {"paths": list(value.paths)},
        _make_separate,
    ),
)
